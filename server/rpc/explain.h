// Explain: from the request to a packet, and from what the pipeline says to the answer.
//
// Threads: any; the live snapshot is pinned for the moment that it takes.
#ifndef SLUICE_SERVER_RPC_EXPLAIN_H_
#define SLUICE_SERVER_RPC_EXPLAIN_H_

#include "grpcpp/support/status.h"
#include "server/engine/engine.h"
#include "sluice/v1/explain.pb.h"

namespace sluice::rpc {

// Refused for: FIELD_MISSING (no packet, no destination), UNKNOWN_LINK, INVALID_ADDRESS, INVALID_MAC, FAMILY_MISMATCH,
// VALUE_OUT_OF_RANGE, INVALID_PACKET (a frame of a length that no frame has, fields that make no packet, a frame
// without `link`).
grpc::Status ExplainPacket(engine::Engine& engine, const v1::ExplainRequest& request, v1::ExplainResponse* response);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_EXPLAIN_H_
