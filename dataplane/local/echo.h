// Echo replies: RFC 792, RFC 4443 §4.2, with Linux's particulars.
//
//   const uint32_t length = BuildEchoReply4(request, own_address, {.ip_id = id++}, out);
//
// The reply carries the request's data, identifier, sequence number and code. IPv4: TOS as in the request, TTL 64, DF
// clear, options as reply.h says. IPv6: class as in the request, hop limit 64, flow label 0, no extension headers.
//
// Threads: functions of their arguments. Cost: a copy.
#ifndef SLUICE_DATAPLANE_LOCAL_ECHO_H_
#define SLUICE_DATAPLANE_LOCAL_ECHO_H_

#include <cstdint>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/local/reply.h"

namespace sluice {

// The reply to an ICMP echo request. `packet`: a whole IPv4 packet without padding, not a fragment, that CheckIpv4
// found ok, whose ICMP message has at least 8 bytes, type 8 and a right checksum. Writes to `out`, which needs
// packet.size() bytes (no reply is longer than its request), and returns the reply's length; 0 when it is too small.
uint32_t BuildEchoReply4(absl::Span<const uint8_t> packet, Ipv4Address source, const ReplyContext& context,
                         absl::Span<uint8_t> out);

// The same for ICMPv6; the message begins at `offset`, after any extension headers.
uint32_t BuildEchoReply6(absl::Span<const uint8_t> packet, uint32_t offset, const Ipv6Address& source,
                         absl::Span<uint8_t> out);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_ECHO_H_
