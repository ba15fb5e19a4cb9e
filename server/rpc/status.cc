#include "server/rpc/status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/engine/error.h"
#include "server/rpc/reasons.h"

namespace sluice::rpc {
namespace {

// The first `limit` bytes at most, not ending inside a UTF-8 sequence.
std::string Cut(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit - 3;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

google::rpc::Status Start(absl::StatusCode code, absl::string_view message, google::rpc::ErrorInfo info) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(code));
  out.set_message(Cut(message, kMaxMessageBytes));
  info.set_domain("sluice");
  out.add_details()->PackFrom(info);
  return out;
}

absl::string_view KnownReason(const std::string& reason, absl::StatusCode code) {
  if (!reason.empty()) return reason;
  // A status that was made below, without a reason of the API's.
  switch (code) {
    case absl::StatusCode::kResourceExhausted:
      return "OUT_OF_MEMORY";
    case absl::StatusCode::kUnavailable:
      return "NOT_READY";
    default:
      return "INTERNAL";
  }
}

}  // namespace

google::rpc::Status MakeError(const absl::Status& status, absl::Span<const config::OperationResult> results) {
  const config::OperationResult* first = nullptr;
  size_t problems = 0;
  for (const config::OperationResult& result : results) {
    if (result.problem.ok()) continue;
    if (first == nullptr) first = &result;
    ++problems;
  }
  google::rpc::ErrorInfo info;
  if (first == nullptr) {
    info.set_reason(std::string(KnownReason(engine::ReasonOf(status), status.code())));
    return Start(status.code(), status.message(), info);
  }
  info.set_reason(first->problem.reason);
  if (problems > 1) (*info.mutable_metadata())["problems"] = absl::StrCat(problems);
  google::rpc::Status out = Start(first->problem.code,
                                  absl::StrCat("operation ", first->index, ": ", first->problem.message,
                                               problems > 1 ? absl::StrCat(" (and ", problems - 1, " more)") : ""),
                                  info);
  google::rpc::BadRequest bad;
  for (const config::OperationResult& result : results) {
    if (result.problem.ok()) continue;
    if (bad.field_violations_size() == kMaxViolations) break;
    auto* violation = bad.add_field_violations();
    violation->set_field(Cut(
        absl::StrCat("operations[", result.index, "]", result.problem.field.empty() ? "" : ".", result.problem.field),
        160));
    violation->set_description(Cut(result.problem.message, kMaxMessageBytes));
    if (out.ByteSizeLong() + bad.ByteSizeLong() + 80 > kMaxDetailBytes) {
      bad.mutable_field_violations()->RemoveLast();
      break;
    }
  }
  out.add_details()->PackFrom(bad);
  return out;
}

google::rpc::Status MakeError(const config::Problem& problem, absl::string_view path) {
  google::rpc::ErrorInfo info;
  info.set_reason(problem.reason);
  google::rpc::Status out = Start(problem.code, problem.message, info);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  const bool both = !path.empty() && !problem.field.empty();
  violation->set_field(Cut(absl::StrCat(path, both ? "." : "", problem.field), 160));
  violation->set_description(Cut(problem.message, kMaxMessageBytes));
  out.add_details()->PackFrom(bad);
  return out;
}

grpc::Status ToGrpc(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(), status.SerializeAsString()};
}

}  // namespace sluice::rpc
