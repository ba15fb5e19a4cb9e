// The answer to a TCP segment for a port where nobody listens: a reset (RFC 9293 §3.5.2 group 1), as Linux sends it.
//
// Sequence and acknowledgement: to a segment with ACK, a reset at the number it acknowledges; to any other, a reset at
// 0 that acknowledges all of it. TOS or class as in the segment without ECN, TTL 64, IPv4 with DF and id 0.
//
// Threads: functions of their arguments. Cost: forty or sixty bytes written.
#ifndef SLUICE_DATAPLANE_LOCAL_TCP_RESET_H_
#define SLUICE_DATAPLANE_LOCAL_TCP_RESET_H_

#include <cstdint>

#include "absl/types/span.h"

namespace sluice {

inline constexpr uint32_t kMaxTcpReset = 60;

// `packet`: a whole packet of either family without padding, for an own unicast address, with a TCP header at `offset`
// whose data offset lies inside the packet, and no RST in it. Writes the reset to `out` and returns its length; 0 when
// `out` has less than kMaxTcpReset bytes.
uint32_t BuildTcpReset4(absl::Span<const uint8_t> packet, uint32_t offset, absl::Span<uint8_t> out);
uint32_t BuildTcpReset6(absl::Span<const uint8_t> packet, uint32_t offset, absl::Span<uint8_t> out);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_TCP_RESET_H_
