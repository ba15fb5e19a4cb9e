// Sends one batch of operations over CommitStream, however many they are.
//
// Why: a full table does not fit into a message, and must not be built in memory first. Operations are made in an
// arena, sent in chunks while the next are made, and nothing happens before Finish().
//
//   std::unique_ptr<BatchWriter> batch = connection.StartBatch(options);
//   while (more) Fill(batch->Add());
//   v1::CommitResponse response;
//   Outcome outcome = batch->Finish(&response);
//   for (const v1::OperationResult& problem : batch->problems()) ...
//
// Destroyed without Finish(): the batch is cancelled, and nothing has changed.
//
// Threads: one per writer (it runs a second one that takes in answers). Cost: some 0.5 us an operation.
#ifndef SLUICE_CLIENT_BATCH_WRITER_H_
#define SLUICE_CLIENT_BATCH_WRITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/outcome.h"
#include "sluice/v1/commit.pb.h"

namespace sluice::client {

class BatchWriter {
 public:
  static constexpr int kChunk = 2000;

  class Stream;  // the call, and the thread that reads it
  explicit BatchWriter(std::unique_ptr<Stream> stream);
  ~BatchWriter();

  // A new operation at the end of the batch. It stays valid until the next call.
  v1::Operation* Add();
  // Takes the last Add() back.
  void RemoveLast();
  // Operations so far.
  uint64_t count() const { return count_; }
  // Whether the server has already refused the batch, so that sending more is useless.
  bool refused() const;

  // Sends the rest and waits for the answer. Once.
  Outcome Finish(v1::CommitResponse* response);
  // What was wrong with single operations; after Finish().
  const std::vector<v1::OperationResult>& problems() const;

 private:
  void SendChunk();

  std::unique_ptr<Stream> stream_;
  v1::CommitStreamRequest* chunk_ = nullptr;  // in the stream's arena
  uint64_t count_ = 0;
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_BATCH_WRITER_H_
