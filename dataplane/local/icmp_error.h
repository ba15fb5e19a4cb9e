// ICMP errors of both families: whether one may be sent about a packet, and the error itself.
//
// Why the two questions are apart: what may not be answered must not cost a token of the rate limit, a lookup or a
// source address. The order is: MayAnswer, then the limiter (rate_limit.h), then the route back, then Build.
//
//   const IcmpError error = {.kind = IcmpErrorKind::kTooBig, .info = 1400};
//   if (MayAnswer(Family::kIpv4, error, packet) && limiter.Allow(error.kind, ...)) {
//     uint8_t reply[kMaxIcmpError];
//     const uint32_t length = BuildIcmpError4(error, packet, source, {.ip_id = next_id++}, reply);
//   }
//
// Types and codes are those of Linux 6.12 (kinds: punt.h). `packet` is the packet as it arrived, from its L3 header on,
// perhaps cut short behind PuntHeader::kMaxErrorQuote bytes; it may be any bytes.
//
// Threads: functions of their arguments. Cost: a copy of at most 1280 bytes and its checksum.
#ifndef SLUICE_DATAPLANE_LOCAL_ICMP_ERROR_H_
#define SLUICE_DATAPLANE_LOCAL_ICMP_ERROR_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/local/punt.h"
#include "dataplane/local/reply.h"

namespace sluice {

// The largest error: RFC 4443 §2.4 (c). An IPv4 error has at most 576 bytes (RFC 1812 §4.3.2.3).
inline constexpr uint32_t kMaxIcmpError = 1280;
inline constexpr uint32_t kMaxIcmpError4 = 576;

struct IcmpError {
  IcmpErrorKind kind = IcmpErrorKind::kNone;
  uint32_t info = 0;            // MTU or pointer, see IcmpErrorKind
  bool link_broadcast = false;  // the packet came as a link-layer broadcast or multicast
  bool to_broadcast = false;    // its destination is a broadcast address of a link of ours
};

struct IcmpTypeCode {
  uint8_t type;
  uint8_t code;
  friend bool operator==(IcmpTypeCode, IcmpTypeCode) = default;
};

// Type and code of a kind; nothing for kNone, and where the family has no such error.
std::optional<IcmpTypeCode> IcmpErrorCode(Family family, IcmpErrorKind kind);

// Whether an error may be sent about `packet` (RFC 1122 §3.2.2, RFC 1812 §4.3.2.7, RFC 4443 §2.4 (e), as Linux reads
// them). Never about: an ICMP error, or an ICMP message that is not known to be none (IPv4: any type but echo,
// timestamp, information and address mask; IPv6: types below 128, and redirects); a later IPv4 fragment; a link-layer
// or IP broadcast or multicast (IPv6: except too big, and an unrecognised option of kind 10xxxxxx); a source that is
// not one host. Never about bytes that are no IP header, or with more IPv6 extension headers than are followed.
bool MayAnswer(Family family, const IcmpError& error, absl::Span<const uint8_t> packet);

// The error about `packet`, for which MayAnswer is true, from `source` to the packet's source: L3 bytes in `out` (room
// for kMaxIcmpError), returning their number; 0 when MayAnswer would be false, or `out` is too small.
// IPv4: TTL 64, DF clear, TOS the packet's with precedence 6 and without the lowest ECN bit; options answered as
// reply.h says. IPv6: hop limit 64, class and flow label 0.
uint32_t BuildIcmpError4(const IcmpError& error, absl::Span<const uint8_t> packet, Ipv4Address source,
                         const ReplyContext& context, absl::Span<uint8_t> out);
uint32_t BuildIcmpError6(const IcmpError& error, absl::Span<const uint8_t> packet, const Ipv6Address& source,
                         absl::Span<uint8_t> out);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_ICMP_ERROR_H_
