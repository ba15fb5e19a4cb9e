#include "client/outcome.h"

#include <grpcpp/support/status.h>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sluice::client {
namespace {

void ReadDetails(const google::rpc::Status& status, Outcome* outcome) {
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(&info)) {
      outcome->reason = info.reason();
    } else if (detail.Is<google::rpc::BadRequest>() && detail.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        outcome->violations.push_back({violation.field(), violation.description()});
      }
    }
  }
}

}  // namespace

std::string Outcome::Text() const {
  std::string text = message.empty() ? absl::StatusCodeToString(code) : message;
  std::string where = reason;
  if (!violations.empty() && !violations[0].field.empty()) {
    absl::StrAppend(&where, where.empty() ? "" : ", ", violations[0].field);
  }
  if (!where.empty()) absl::StrAppend(&text, " [", where, "]");
  return text;
}

Outcome OutcomeOf(const grpc::Status& status, absl::string_view server) {
  Outcome outcome;
  if (status.ok()) return outcome;
  outcome.code = static_cast<absl::StatusCode>(status.error_code());
  outcome.message = status.error_message();
  google::rpc::Status details;
  if (!status.error_details().empty() && details.ParseFromString(status.error_details())) {
    ReadDetails(details, &outcome);
  }
  // What the server says comes with a reason; without one, UNAVAILABLE is the transport's.
  if (outcome.code == absl::StatusCode::kUnavailable && outcome.reason.empty()) {
    outcome.unreachable = true;
    outcome.message = absl::StrCat("cannot reach sluiced at ", server, " (", status.error_message(),
                                   "). Is it running? --server or SLUICE_SERVER names another.");
  } else if (outcome.code == absl::StatusCode::kDeadlineExceeded && outcome.reason.empty()) {
    outcome.message = absl::StrCat("no answer from sluiced at ", server, " in time");
  }
  return outcome;
}

Outcome OutcomeOf(const google::rpc::Status& status) {
  Outcome outcome;
  if (status.code() == 0) return outcome;
  outcome.code = static_cast<absl::StatusCode>(status.code());
  outcome.message = status.message();
  ReadDetails(status, &outcome);
  return outcome;
}

}  // namespace sluice::client
