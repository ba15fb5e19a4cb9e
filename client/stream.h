// The call under a BatchWriter. Only for connection.cc and batch_writer.cc: it needs gRPC's headers.
#ifndef SLUICE_CLIENT_STREAM_H_
#define SLUICE_CLIENT_STREAM_H_

#include <google/protobuf/arena.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <string>
#include <thread>

#include "client/batch_writer.h"

namespace sluice::client {

class BatchWriter::Stream {
 public:
  using Call = grpc::ClientReaderWriterInterface<v1::CommitStreamRequest, v1::CommitStreamResponse>;

  explicit Stream(std::string server_name) : server(std::move(server_name)), arena(Options()) {}

  // Takes in answers until the batch is done or refused, or the call ends.
  void ReadAnswers();

  std::string server;
  grpc::ClientContext context;
  std::unique_ptr<Call> call;
  google::protobuf::Arena arena;
  bool write_failed = false;
  bool finished = false;

  // Written by the reader; read by the writer after it has joined, but for `refused`.
  std::thread reader;
  std::atomic<bool> refused{false};
  bool answered = false;
  Outcome outcome;
  v1::CommitResponse response;
  std::vector<v1::OperationResult> problems;

 private:
  static google::protobuf::ArenaOptions Options() {
    google::protobuf::ArenaOptions options;
    options.start_block_size = 64 << 10;
    options.max_block_size = 1 << 20;
    return options;
  }
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_STREAM_H_
