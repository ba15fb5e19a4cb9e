// One CommitStream: batches that follow each other, each answered in order.
//
// Why: a client that loads a table, or that sends thousands of small batches a second, must not wait for an answer
// before it sends the next. Up to kMaxInFlight batches of a stream wait at once; then the stream is not read on, and
// HTTP/2's flow control tells the client.
//
// Threads: gRPC's and the engine's. The object deletes itself when the call is over and the last answer is in.
#ifndef SLUICE_SERVER_RPC_COMMIT_STREAM_H_
#define SLUICE_SERVER_RPC_COMMIT_STREAM_H_

#include "grpcpp/support/server_callback.h"
#include "server/engine/engine.h"
#include "sluice/v1/commit.pb.h"

namespace sluice::rpc {

inline constexpr int kMaxInFlight = 256;
inline constexpr uint64_t kProgressEvery = 65536;  // operations

grpc::ServerBidiReactor<v1::CommitStreamRequest, v1::CommitStreamResponse>* MakeCommitStream(engine::Engine& engine);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_COMMIT_STREAM_H_
