// How a call ended, in words that a user can act on.
#ifndef SLUICE_CLIENT_OUTCOME_H_
#define SLUICE_CLIENT_OUTCOME_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace grpc {
class Status;
}
namespace google::rpc {
class Status;
}

namespace sluice::client {

// A field at fault, and why.
struct Violation {
  std::string field;  // "operations[3].object.route.nexthops[1].gateway"
  std::string description;
};

struct Outcome {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string reason;  // of sluice.v1.Reason without REASON_; empty when the server gave none
  std::string message;
  std::vector<Violation> violations;
  bool unreachable = false;  // there was no server to answer

  bool ok() const { return code == absl::StatusCode::kOk; }
  // The message, the fields at fault and the reason, on one line and without its end.
  std::string Text() const;
};

// The outcome of a call to `server`.
Outcome OutcomeOf(const grpc::Status& status, absl::string_view server);
// The outcome that a stream reports for one of its batches.
Outcome OutcomeOf(const google::rpc::Status& status);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OUTCOME_H_
