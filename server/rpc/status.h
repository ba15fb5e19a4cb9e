// The one way from an error inside to an error on the wire: a gRPC status with google.rpc.Status in its details, which
// holds exactly one ErrorInfo{reason, domain "sluice"} and, where fields are at fault, a BadRequest with their paths.
//
// Why one place: clients tell errors apart by ErrorInfo.reason, and proxies refuse headers that are too long. So the
// details are kept within 4 KiB as they travel (base64 in a header), whatever the request was.
//
//   return ToGrpc(MakeError(result.status, result.results));
//
// Threads: pure functions.
#ifndef SLUICE_SERVER_RPC_STATUS_H_
#define SLUICE_SERVER_RPC_STATUS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "server/config/objects.h"

namespace sluice::rpc {

inline constexpr int kMaxViolations = 10;
inline constexpr size_t kMaxDetailBytes = 3000;  // 4,000 in base64
inline constexpr size_t kMaxMessageBytes = 480;

// `status` is not OK. `results` are those of a refused batch: each problem becomes a field violation
// "operations[3].object.route.prefix", the first ten of them, fewer when they are long. The code and the reason are
// those of the first problem, and of `status` when there is none.
google::rpc::Status MakeError(const absl::Status& status, absl::Span<const config::OperationResult> results);

// The same for a problem that has a place of its own in the request; `field` is prefixed with `path`.
google::rpc::Status MakeError(const config::Problem& problem, absl::string_view path);

grpc::Status ToGrpc(const google::rpc::Status& status);
inline grpc::Status ToGrpc(const absl::Status& status) { return ToGrpc(MakeError(status, {})); }

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_STATUS_H_
