#include "server/config/problem.h"

#include "absl/strings/str_cat.h"

namespace sluice::config {
namespace {

using absl::StatusCode;

struct ReasonCode {
  absl::string_view reason;
  StatusCode code;
};

constexpr ReasonCode kReasons[] = {
    {"NOT_SUPPORTED", StatusCode::kUnimplemented},
    {"INTERNAL", StatusCode::kInternal},
    {"FIELD_MISSING", StatusCode::kInvalidArgument},
    {"FIELD_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"VALUE_OUT_OF_RANGE", StatusCode::kOutOfRange},
    {"UNKNOWN_ENUM_VALUE", StatusCode::kInvalidArgument},
    {"TEXT_TOO_LONG", StatusCode::kInvalidArgument},
    {"VERB_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"KIND_MISSING", StatusCode::kInvalidArgument},
    {"TARGET_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"SELECTOR_EMPTY", StatusCode::kInvalidArgument},
    {"SELECTOR_ORIGIN", StatusCode::kInvalidArgument},
    {"UPDATE_MASK", StatusCode::kInvalidArgument},
    {"MISSING_OK_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"OBJECT_CHANGED", StatusCode::kAborted},
    {"ALREADY_EXISTS", StatusCode::kAlreadyExists},
    {"NOT_FOUND", StatusCode::kNotFound},
    {"DERIVED", StatusCode::kFailedPrecondition},
    {"LIMIT_REACHED", StatusCode::kResourceExhausted},
    {"OUT_OF_MEMORY", StatusCode::kResourceExhausted},
    {"INVALID_PREFIX", StatusCode::kInvalidArgument},
    {"HOST_BITS_SET", StatusCode::kInvalidArgument},
    {"MAC_NOT_UNICAST", StatusCode::kInvalidArgument},
    {"ADDRESS_NOT_UNICAST", StatusCode::kInvalidArgument},
    {"FAMILY_MISMATCH", StatusCode::kInvalidArgument},
    {"INVALID_LINK_NAME", StatusCode::kInvalidArgument},
    {"UNKNOWN_LINK", StatusCode::kFailedPrecondition},
    {"LINK_DOWN", StatusCode::kFailedPrecondition},
    {"LINK_KIND_CHANGED", StatusCode::kFailedPrecondition},
    {"INVALID_DEVARGS", StatusCode::kInvalidArgument},
    {"DEVICE_NOT_FOUND", StatusCode::kFailedPrecondition},
    {"DEVICE_IN_USE", StatusCode::kFailedPrecondition},
    {"DEVICE_FAILED", StatusCode::kFailedPrecondition},
    {"MTU_OUT_OF_RANGE", StatusCode::kOutOfRange},
    {"QUEUES_OUT_OF_RANGE", StatusCode::kOutOfRange},
    {"MAC_NOT_SETTABLE", StatusCode::kFailedPrecondition},
    {"MTU_BELOW_IPV6", StatusCode::kFailedPrecondition},
    {"NUD_NOT_SETTABLE", StatusCode::kInvalidArgument},
    {"GATEWAY_UNREACHABLE", StatusCode::kFailedPrecondition},
    {"GATEWAY_IS_OWN", StatusCode::kFailedPrecondition},
    {"GATEWAY_NOT_UNICAST", StatusCode::kInvalidArgument},
    {"GATEWAY_NEEDS_LINK", StatusCode::kInvalidArgument},
    {"NEXTHOP_MISSING", StatusCode::kInvalidArgument},
    {"NEXTHOP_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"PREFSRC_NOT_LOCAL", StatusCode::kFailedPrecondition},
    {"SCOPE_NOT_ALLOWED", StatusCode::kInvalidArgument},
    {"TOS_NOT_ALLOWED", StatusCode::kInvalidArgument},
};

}  // namespace

StatusCode CodeOfReason(absl::string_view reason) {
  for (const ReasonCode& r : kReasons) {
    if (r.reason == reason) return r.code;
  }
  return StatusCode::kInternal;
}

Problem Refuse(absl::string_view reason, std::string field, std::string message) {
  Problem problem;
  problem.code = CodeOfReason(reason);
  problem.reason = std::string(reason);
  problem.field = std::move(field);
  problem.message = std::move(message);
  return problem;
}

absl::Status StatusOf(const Problem& first, size_t problems) {
  std::string message = absl::StrCat(first.reason, ": ", first.message);
  if (problems > 1) absl::StrAppend(&message, " (the first of ", problems, " problems)");
  return absl::Status(first.code, message);
}

std::vector<std::pair<absl::string_view, StatusCode>> AllReasons() {
  std::vector<std::pair<absl::string_view, StatusCode>> all;
  for (const ReasonCode& r : kReasons) all.emplace_back(r.reason, r.code);
  return all;
}

}  // namespace sluice::config
