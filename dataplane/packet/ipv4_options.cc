#include "dataplane/packet/ipv4_options.h"

#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

// Record route and timestamp: length, then a pointer from 1 to the next free slot (RFC 791 §3.1). 0, or the distance
// of the offending byte from the option's start plus one.
uint8_t CheckRecordRoute(const uint8_t* option, uint32_t length) {
  if (length < 3) return 2;
  const uint32_t pointer = option[2];
  if (pointer < 4) return 3;
  if (pointer <= length && pointer + 3 > length) return 3;
  return 0;
}

uint8_t CheckTimestamp(const uint8_t* option, uint32_t length) {
  if (length < 4) return 2;
  const uint32_t pointer = option[2];
  if (pointer < 5) return 3;
  const uint32_t flag = option[3] & 0xf;
  if (pointer <= length) {
    if (pointer + 3 > length) return 3;
    if ((flag == 1 || flag == 3) && pointer + 7 > length) return 3;
  } else if (flag != 3 && option[3] >> 4 == 15) {
    return 4;  // the overflow counter is full (RFC 791: "the original datagram is discarded")
  }
  return 0;
}

uint8_t CheckSourceRoute(const uint8_t* option, uint32_t length) {
  if (length < 3) return 2;
  return option[2] < 4 ? 3 : 0;
}

}  // namespace

Ipv4Options ParseIpv4Options(const uint8_t* l3) {
  Ipv4Options result;
  const uint32_t end = HeaderAt<Ipv4Header>(l3)->header_length();
  for (uint32_t at = Ipv4Header::kMinSize; at < end;) {
    const uint8_t kind = l3[at];
    if (kind == kOptionEnd) break;
    if (kind == kOptionNoOperation) {
      ++at;
      continue;
    }
    const uint32_t left = end - at;
    const uint32_t length = left >= 2 ? l3[at + 1] : 0;
    uint8_t wrong = length < 2 || length > left;
    uint8_t* found = nullptr;
    if (!wrong) {
      switch (kind) {
        case kOptionRecordRoute:
          wrong = CheckRecordRoute(l3 + at, length);
          found = &result.record_route;
          break;
        case kOptionTimestamp:
          wrong = CheckTimestamp(l3 + at, length);
          found = &result.timestamp;
          break;
        case kOptionLooseSourceRoute:
        case kOptionStrictSourceRoute:
          wrong = CheckSourceRoute(l3 + at, length);
          found = &result.source_route;
          break;
        case kOptionRouterAlert:
          wrong = length < 4 ? 2 : 0;
          found = &result.router_alert;
          break;
        default:
          break;
      }
      const bool may_repeat = found == nullptr || found == &result.router_alert;
      if (!may_repeat && *found != 0) wrong = 1;
    }
    if (wrong) {
      result.bad = static_cast<uint8_t>(at + wrong - 1);
      return result;
    }
    if (found != nullptr) *found = static_cast<uint8_t>(at);
    at += length;
  }
  return result;
}

}  // namespace sluice
