// What all packets that we answer with have in common: their IP headers, and the answer to IPv4 options.
//
// Why: echo replies, errors and resets differ in what they carry, not in how a reply to a packet is addressed.
//
// Options of the packet that is answered (as Linux): record route and timestamp come back in the reply, and each has
// one entry of ours for the packet's arrival and one for the reply's departure, as far as there is room; a timestamp
// without room counts one overflow. A source route is not reversed: packets that carry one are refused. Other options
// are not returned.
//
// Threads: functions of their arguments. Cost: a few stores.
#ifndef SLUICE_DATAPLANE_LOCAL_REPLY_H_
#define SLUICE_DATAPLANE_LOCAL_REPLY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/packet/headers.h"

namespace sluice {

// What a reply needs that neither the packet nor the configuration says.
struct ReplyContext {
  uint16_t ip_id = 0;              // of the IPv4 header; the caller counts
  uint32_t ms_since_midnight = 0;  // UTC, for timestamp options (RFC 791)
};

// What differs between replies. `length`: bytes after the IP header.
struct ReplySpec {
  uint8_t protocol = 0;
  uint8_t tos = 0;  // or traffic class
  bool dont_fragment = false;
  uint32_t length = 0;
};

inline constexpr uint8_t kReplyTtl = 64;

// The options that a reply to the packet `l3` (well-formed options) carries: writes at most 40 bytes and returns their
// number, a multiple of 4. `own`: the reply's source.
uint32_t BuildReplyOptions(const uint8_t* l3, Ipv4Address own, uint32_t ms_since_midnight, uint8_t* out);

// Writes the header of a reply, with `options` in it, and returns its length. `out` has room for it.
uint32_t WriteReplyHeader4(Ipv4Address source, Ipv4Address destination, const ReplySpec& spec,
                           const ReplyContext& context, absl::Span<const uint8_t> options, uint8_t* out);
// Ipv6Header::kSize bytes. The flow label is 0.
uint32_t WriteReplyHeader6(const Ipv6Address& source, const Ipv6Address& destination, const ReplySpec& spec,
                           uint8_t* out);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_REPLY_H_
