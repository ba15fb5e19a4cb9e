// The checks a packet must pass before anything in it is believed, and the way to its transport header.
//
// Why in two parts: nearly all packets are plain (no options, unicast, sane). For them a check is one straight run of
// arithmetic into one flag, inlined into the caller, with no branch to mispredict. Whatever is not plain, whether bad
// or only unusual, goes to a cold function that decides from scratch, in Linux's order, and names the reason.
//
//   uint32_t length;
//   const HeaderCheck check = CheckIpv4(l3, available, &length);
//   if (!check.ok()) return Drop(check.reason());
//   if (check.multicast()) ...                         // else forward `length` bytes, the rest is padding
//   const TransportView t = FindTransport4(l3, length);
//   if (t.has_ports()) use t.source_port
//
// Every function may be called with any bytes and any length: nothing beyond `available` is read.
//
// Threads: functions of their arguments. Cost: CheckIpv4 about 40 instructions for a plain packet, CheckIpv6 about 25.
#ifndef SLUICE_DATAPLANE_PACKET_PARSE_H_
#define SLUICE_DATAPLANE_PACKET_PARSE_H_

#include <cstdint>
#include <cstring>

#include "dataplane/base/byte_order.h"
#include "dataplane/cells/drop_reason.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {

// The result of a header check: dropped for a reason, or fine with what is unusual about its addresses.
class HeaderCheck {
 public:
  static constexpr uint16_t kMulticast = 1;         // destination
  static constexpr uint16_t kLimitedBroadcast = 2;  // destination 255.255.255.255
  static constexpr uint16_t kLinkLocalSource = 4;   // IPv6: may not leave its link (RFC 4291 §2.5.6)
  static constexpr uint16_t kLinkLocalDestination = 8;

  static constexpr HeaderCheck Ok(uint16_t flags = 0) { return HeaderCheck(flags); }
  static constexpr HeaderCheck Drop(DropReason reason) {
    return HeaderCheck(static_cast<uint16_t>(kDrop | static_cast<uint16_t>(reason)));
  }

  constexpr bool ok() const { return !(bits_ & kDrop); }
  // ok, and unicast between addresses of wider than link scope: what the fast path forwards.
  constexpr bool plain() const { return bits_ == 0; }
  constexpr DropReason reason() const { return static_cast<DropReason>(bits_ & 0xff); }  // requires !ok()
  constexpr bool multicast() const { return ok() && (bits_ & kMulticast); }
  constexpr bool limited_broadcast() const { return ok() && (bits_ & kLimitedBroadcast); }
  constexpr bool link_local_source() const { return ok() && (bits_ & kLinkLocalSource); }
  constexpr bool link_local_destination() const { return ok() && (bits_ & kLinkLocalDestination); }

  friend constexpr bool operator==(HeaderCheck, HeaderCheck) = default;

 private:
  static constexpr uint16_t kDrop = 0x8000;
  static_assert(kDropReasons <= 0x100);
  constexpr explicit HeaderCheck(uint16_t bits) : bits_(bits) {}
  uint16_t bits_;
};

// The cold halves: complete by themselves, for every input. `total_length` is written only when the result is ok.
HeaderCheck CheckIpv4Carefully(const uint8_t* l3, uint32_t available, uint32_t* total_length);
HeaderCheck CheckIpv6Carefully(const uint8_t* l3, uint32_t available, uint32_t* total_length);

namespace packet_internal {

inline uint64_t Load64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
inline uint32_t Load32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// Whether one of the two IPv4 addresses at `p` begins with 0, 127, or 224 and more: all that is special, and a little
// that is not, such as 240/4, which the careful half sorts out. Both first bytes are tested at once, each in 32 bits of
// its own: bit 8 of a lane comes up where its byte is >= 224, is 0, or is 127.
[[gnu::always_inline]] inline bool AnySuspicious4(const uint8_t* p) {
  constexpr uint64_t kEach = 0x0000000100000001;
  const uint64_t first = Load64(p) & kEach * 0xff;
  const uint64_t found = (first + kEach * 32) | (kEach * 256 - first) | (kEach * 256 - (first ^ kEach * 127));
  return (found & kEach * 256) != 0;
}

// Whether an IPv6 address is in ::/16, or in fe00::/7 (link-local, site-local, multicast).
[[gnu::always_inline]] inline bool IsSuspicious6(const uint8_t* p) {
  uint16_t raw;
  std::memcpy(&raw, p, 2);
  return static_cast<uint16_t>(ByteSwap(raw) + 0x0200) <= 0x0200;
}

// Whether a 64-bit ones' complement sum, not of zeros only, folds to 0xffff: that is, whether 65535 divides it.
// Multiplying by the inverse of 65535 modulo 2^64 maps exactly its multiples onto 0 .. (2^64-1)/65535.
[[gnu::always_inline]] inline bool FoldsToAllOnes(uint64_t sum) {
  constexpr uint64_t kLargest = ~uint64_t{0} / 65535;
  return sum * (0 - kLargest) <= kLargest;
}

}  // namespace packet_internal

// Checks the IPv4 header at `l3`, of which `available` bytes are at hand: version, 5 <= IHL within the packet, total
// length between the header's and `available`, checksum (RFC 1812 §5.2.2), then addresses as Linux 6.12 judges them:
// - source multicast, 255.255.255.255, 0.0.0.0 or 127/8: martian. 0.1.2.3 and 240/4 are ordinary addresses. A source of
//   0.0.0.0 is fine towards 255.255.255.255 (a DHCP client) and, for IGMP or 224.0.0/24, towards multicast;
// - destination 0.0.0.0 or 127/8: martian. Multicast and 255.255.255.255 are ok and flagged.
// On ok `*total_length` is the packet's length without padding, in bytes.
[[gnu::always_inline]] inline HeaderCheck CheckIpv4(const uint8_t* l3, uint32_t available, uint32_t* total_length) {
  if (available < Ipv4Header::kMinSize) [[unlikely]]
    return HeaderCheck::Drop(DropReason::kIpv4Truncated);
  const uint64_t first = packet_internal::Load64(l3);
  const uint64_t second = packet_internal::Load64(l3 + 8);
  const uint32_t length = ByteSwap(static_cast<uint16_t>(first >> 16));
  const uint64_t sum = AddWithCarry(AddWithCarry(first, second), packet_internal::Load32(l3 + 16));
  const bool odd = (l3[0] != 0x45) | (length - Ipv4Header::kMinSize > available - Ipv4Header::kMinSize) |
                   !packet_internal::FoldsToAllOnes(sum) | packet_internal::AnySuspicious4(l3 + 12);
  if (odd) [[unlikely]]
    return CheckIpv4Carefully(l3, available, total_length);
  *total_length = length;
  return HeaderCheck::Ok();
}

// Checks the IPv6 header at `l3` likewise: version, payload length within `available`, addresses:
// - source multicast, ::1, v4-mapped, or :: towards anything but multicast: martian (RFC 4291 §2.5.2, §2.7);
// - destination :: or ::1: martian; multicast of scope 0 or 1: scope violation (it cannot come by a wire, §2.7);
// - link-local addresses are ok and flagged: whether the packet would leave its link is for routing to say (RFC 4007
// §9). Extension headers are not looked at. On ok `*total_length` includes the header. Jumbograms (RFC 2675) are not
// supported: payload length 0 is a packet that ends with its header.
[[gnu::always_inline]] inline HeaderCheck CheckIpv6(const uint8_t* l3, uint32_t available, uint32_t* total_length) {
  if (available < Ipv6Header::kSize) [[unlikely]]
    return HeaderCheck::Drop(DropReason::kIpv6Truncated);
  const auto* ip = HeaderAt<Ipv6Header>(l3);
  const uint32_t length = Ipv6Header::kSize + ip->payload_length.ToHost();
  const bool odd = (ip->version() != 6) | (length > available) | packet_internal::IsSuspicious6(l3 + 8) |
                   packet_internal::IsSuspicious6(l3 + 24);
  if (odd) [[unlikely]]
    return CheckIpv6Carefully(l3, available, total_length);
  *total_length = length;
  return HeaderCheck::Ok();
}

// Where a packet's transport header is and what it says.
struct TransportView {
  enum Status : uint8_t {
    kFound,      // `protocol` begins at `offset`; there may be no byte of it (offset == length)
    kLater,      // a fragment other than the first: `protocol` as its header names it, no transport header
    kTruncated,  // an extension header does not fit the packet, or ports do not (RFC 8200 §4)
    kTooDeep,    // more than kMaxExtensionHeaders
  };
  Status status = kTruncated;
  uint8_t protocol = 0;   // IPv6: the first next-header value that is not an extension header
  bool fragment = false;  // any fragment, the first too; not an IPv6 "atomic fragment" (RFC 6946)
  bool ports = false;
  uint32_t offset = 0;              // of the transport header from L3, bytes
  uint32_t next_header_offset = 0;  // of the byte that names `protocol`: what a parameter problem points at
  uint32_t fragment_header = 0;     // IPv6: offset of the fragment header, 0 for none
  be16 source_port;                 // 0 without ports
  be16 destination_port;

  bool has_ports() const { return ports; }
};

// More extension headers than this before the transport header are not followed.
inline constexpr int kMaxExtensionHeaders = 8;

// TCP, UDP, UDP-Lite, DCCP, SCTP: ports are the first four bytes.
constexpr bool ProtocolHasPorts(uint8_t protocol) {
  return protocol == kProtocolTcp || protocol == kProtocolUdp || protocol == kProtocolSctp ||
         protocol == kProtocolUdpLite || protocol == kProtocolDccp;
}

namespace packet_internal {

inline void ReadPorts(const uint8_t* l3, uint32_t length, TransportView* view) {
  if (!ProtocolHasPorts(view->protocol)) return;
  if (view->offset + 4 > length) {
    view->status = TransportView::kTruncated;
    return;
  }
  view->ports = true;
  view->source_port = be16{static_cast<uint16_t>(Load32(l3 + view->offset))};
  view->destination_port = be16{static_cast<uint16_t>(Load32(l3 + view->offset) >> 16)};
}

}  // namespace packet_internal

// For a packet that CheckIpv4 found ok with this total length. Ports are read behind options, and never from a later
// fragment, whose bytes there are payload.
inline TransportView FindTransport4(const uint8_t* l3, uint32_t length) {
  const auto* ip = HeaderAt<Ipv4Header>(l3);
  TransportView view;
  view.protocol = ip->protocol;
  view.offset = ip->header_length();
  view.next_header_offset = 9;
  view.fragment = ip->is_fragment();
  if (ip->fragment_offset() != 0) {
    view.status = TransportView::kLater;
    return view;
  }
  view.status = TransportView::kFound;
  packet_internal::ReadPorts(l3, length, &view);
  return view;
}

// For a packet that CheckIpv6 found ok with this total length: walks at most kMaxExtensionHeaders extension headers
// (hop-by-hop, routing, fragment, destination options, authentication). What it calls `protocol` may be "no next
// header" (59) or ESP.
TransportView WalkExtensions6(const uint8_t* l3, uint32_t length);

inline TransportView FindTransport6(const uint8_t* l3, uint32_t length) {
  const uint8_t next = HeaderAt<Ipv6Header>(l3)->next_header;
  if (next == kProtocolUdp || next == kProtocolTcp || next == kProtocolIcmpv6) [[likely]] {
    TransportView view;
    view.status = TransportView::kFound;
    view.protocol = next;
    view.offset = Ipv6Header::kSize;
    view.next_header_offset = 6;
    packet_internal::ReadPorts(l3, length, &view);
    return view;
  }
  return WalkExtensions6(l3, length);
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_PARSE_H_
