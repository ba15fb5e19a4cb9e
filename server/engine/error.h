// Errors of a whole request, with the reason that the API gives: an absl::Status that carries the name of a
// sluice.v1.Reason.
//
//   return Error(absl::StatusCode::kAborted, "GENERATION_MOVED", "the generation is 7, not 5");
//   ReasonOf(status) == "GENERATION_MOVED"
//
// Threads: values.
#ifndef SLUICE_SERVER_ENGINE_ERROR_H_
#define SLUICE_SERVER_ENGINE_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "server/config/objects.h"

namespace sluice::engine {

inline constexpr absl::string_view kReasonPayload = "sluice.v1.Reason";

inline absl::Status Error(absl::StatusCode code, absl::string_view reason, absl::string_view message) {
  absl::Status status(code, message);
  status.SetPayload(kReasonPayload, absl::Cord(reason));
  return status;
}

inline absl::Status Error(const config::Problem& problem) {
  return Error(problem.code, problem.reason, problem.message);
}

// "" for a status without reason.
inline std::string ReasonOf(const absl::Status& status) {
  auto reason = status.GetPayload(kReasonPayload);
  return reason.has_value() ? std::string(*reason) : std::string();
}

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_ERROR_H_
