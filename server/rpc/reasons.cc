#include "server/rpc/reasons.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sluice::rpc {

v1::Reason ReasonByName(absl::string_view name) {
  if (name.empty()) return v1::REASON_UNSPECIFIED;
  v1::Reason reason;
  if (!v1::Reason_Parse(absl::StrCat("REASON_", name), &reason)) return v1::REASON_INTERNAL;
  return reason;
}

absl::string_view ReasonName(v1::Reason reason) {
  absl::string_view name = v1::Reason_Name(reason);
  absl::ConsumePrefix(&name, "REASON_");
  return name;
}

absl::StatusCode ReasonCode(v1::Reason reason) {
  switch (reason) {
    case v1::REASON_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case v1::REASON_FIELD_MISSING:
    case v1::REASON_FIELD_NOT_ALLOWED:
    case v1::REASON_UNKNOWN_ENUM_VALUE:
    case v1::REASON_TEXT_TOO_LONG:
    case v1::REASON_VERB_MISSING:
    case v1::REASON_VERB_NOT_ALLOWED:
    case v1::REASON_TARGET_MISSING:
    case v1::REASON_KIND_MISSING:
    case v1::REASON_TARGET_NOT_ALLOWED:
    case v1::REASON_SELECTOR_EMPTY:
    case v1::REASON_SELECTOR_ORIGIN:
    case v1::REASON_UPDATE_MASK:
    case v1::REASON_MISSING_OK_NOT_ALLOWED:
    case v1::REASON_REQUEST_ID_REUSED:
    case v1::REASON_VISIBLE_TIMEOUT:
    case v1::REASON_STREAM_ORDER:
    case v1::REASON_STREAM_COUNT:
    case v1::REASON_INVALID_ADDRESS:
    case v1::REASON_INVALID_PREFIX:
    case v1::REASON_HOST_BITS_SET:
    case v1::REASON_INVALID_MAC:
    case v1::REASON_MAC_NOT_UNICAST:
    case v1::REASON_ADDRESS_NOT_UNICAST:
    case v1::REASON_FAMILY_MISMATCH:
    case v1::REASON_INVALID_LINK_NAME:
    case v1::REASON_INVALID_DEVARGS:
    case v1::REASON_NUD_NOT_SETTABLE:
    case v1::REASON_GATEWAY_NOT_UNICAST:
    case v1::REASON_GATEWAY_NEEDS_LINK:
    case v1::REASON_NEXTHOP_MISSING:
    case v1::REASON_NEXTHOP_NOT_ALLOWED:
    case v1::REASON_SCOPE_NOT_ALLOWED:
    case v1::REASON_TOS_NOT_ALLOWED:
    case v1::REASON_INVALID_PACKET:
      return absl::StatusCode::kInvalidArgument;
    case v1::REASON_VALUE_OUT_OF_RANGE:
    case v1::REASON_MTU_OUT_OF_RANGE:
    case v1::REASON_QUEUES_OUT_OF_RANGE:
      return absl::StatusCode::kOutOfRange;
    case v1::REASON_ALREADY_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case v1::REASON_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case v1::REASON_IN_USE:
    case v1::REASON_DERIVED:
    case v1::REASON_NOT_DURABLE:
    case v1::REASON_UNKNOWN_LINK:
    case v1::REASON_LINK_DOWN:
    case v1::REASON_LINK_KIND_CHANGED:
    case v1::REASON_DEVICE_NOT_FOUND:
    case v1::REASON_DEVICE_IN_USE:
    case v1::REASON_DEVICE_FAILED:
    case v1::REASON_MAC_NOT_SETTABLE:
    case v1::REASON_MTU_BELOW_IPV6:
    case v1::REASON_GATEWAY_UNREACHABLE:
    case v1::REASON_GATEWAY_IS_OWN:
    case v1::REASON_PREFSRC_NOT_LOCAL:
      return absl::StatusCode::kFailedPrecondition;
    case v1::REASON_OBJECT_CHANGED:
    case v1::REASON_GENERATION_MOVED:
    case v1::REASON_CONFLICT:
    case v1::REASON_READ_EXPIRED:
      return absl::StatusCode::kAborted;
    case v1::REASON_STORE_FAILED:
    case v1::REASON_NOT_READY:
    case v1::REASON_SHUTTING_DOWN:
      return absl::StatusCode::kUnavailable;
    case v1::REASON_LIMIT_REACHED:
    case v1::REASON_RETIRED_MEMORY_FULL:
    case v1::REASON_OUT_OF_MEMORY:
    case v1::REASON_TOO_MANY_REQUESTS:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

config::Problem Refuse(absl::string_view reason, absl::string_view field, std::string message) {
  config::Problem problem;
  problem.reason = std::string(reason);
  problem.code = ReasonCode(ReasonByName(reason));
  problem.field = std::string(field);
  problem.message = std::move(message);
  return problem;
}

}  // namespace sluice::rpc
