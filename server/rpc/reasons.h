// The reasons why a request is refused, by name, by number, and with the one gRPC code that each has.
//
// Why: below this folder reasons are texts ("UNKNOWN_LINK"), so that config and engine need no protobuf; on the wire
// they are sluice.v1.Reason. This is the only place that knows both, and a test compares it with the comments in
// reason.proto.
//
//   config::Problem p = Refuse("INVALID_PREFIX", "object.route.prefix", "prefix \"10.0.0.0/33\" ...");
//
// Threads: any. Cost: a hash lookup.
#ifndef SLUICE_SERVER_RPC_REASONS_H_
#define SLUICE_SERVER_RPC_REASONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/objects.h"
#include "sluice/v1/reason.pb.h"

namespace sluice::rpc {

// REASON_INTERNAL for a name that does not exist, REASON_UNSPECIFIED for "".
v1::Reason ReasonByName(absl::string_view name);
// Without "REASON_".
absl::string_view ReasonName(v1::Reason reason);
// The code of a reason; kInternal for one that does not exist.
absl::StatusCode ReasonCode(v1::Reason reason);

// A problem with the code that belongs to `reason`.
config::Problem Refuse(absl::string_view reason, absl::string_view field, std::string message);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_REASONS_H_
