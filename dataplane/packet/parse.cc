#include "dataplane/packet/parse.h"

#include "absl/types/span.h"

namespace sluice {
namespace {

// Addresses that are bad as a source, and never plain as a destination.
bool IsSpecial4(Ipv4Address a) { return a.IsZero() || a.IsLoopback() || a.IsMulticast() || a.IsLimitedBroadcast(); }

// Linux: ip_route_input_mc and the broadcast case of ip_route_input_slow.
bool ZeroSourceAllowed(const Ipv4Header* ip) {
  const Ipv4Address destination = ip->destination;
  if (destination.IsLimitedBroadcast()) return true;
  const bool local_group = destination.ToHost() >> 8 == 0xe00000;  // 224.0.0/24
  return destination.IsMulticast() && (local_group || ip->protocol == kProtocolIgmp);
}

bool IsV4Mapped(const Ipv6Address& a) { return a.high() == 0 && a.low() >> 32 == 0xffff; }

}  // namespace

HeaderCheck CheckIpv4Carefully(const uint8_t* l3, uint32_t available, uint32_t* total_length) {
  if (available < Ipv4Header::kMinSize) return HeaderCheck::Drop(DropReason::kIpv4Truncated);
  const auto* ip = HeaderAt<Ipv4Header>(l3);
  if (ip->version() != 4) return HeaderCheck::Drop(DropReason::kIpv4BadVersion);
  const uint32_t header = ip->header_length();
  if (header < Ipv4Header::kMinSize || header > available) return HeaderCheck::Drop(DropReason::kIpv4BadHeaderLength);
  if (FoldSum(SumBytes(absl::MakeConstSpan(l3, header))) != 0xffff) {
    return HeaderCheck::Drop(DropReason::kIpv4BadChecksum);
  }
  const uint32_t length = ip->total_length.ToHost();
  if (length < header) return HeaderCheck::Drop(DropReason::kIpv4BadTotalLength);
  if (length > available) return HeaderCheck::Drop(DropReason::kIpv4Truncated);

  const Ipv4Address source = ip->source;
  const Ipv4Address destination = ip->destination;
  if (IsSpecial4(source) && !(source.IsZero() && ZeroSourceAllowed(ip))) {
    return HeaderCheck::Drop(DropReason::kIpv4MartianSource);
  }
  if (destination.IsZero() || destination.IsLoopback()) return HeaderCheck::Drop(DropReason::kIpv4MartianDestination);
  *total_length = length;
  uint16_t flags = 0;
  if (destination.IsMulticast()) flags |= HeaderCheck::kMulticast;
  if (destination.IsLimitedBroadcast()) flags |= HeaderCheck::kLimitedBroadcast;
  return HeaderCheck::Ok(flags);
}

HeaderCheck CheckIpv6Carefully(const uint8_t* l3, uint32_t available, uint32_t* total_length) {
  if (available < Ipv6Header::kSize) return HeaderCheck::Drop(DropReason::kIpv6Truncated);
  const auto* ip = HeaderAt<Ipv6Header>(l3);
  if (ip->version() != 6) return HeaderCheck::Drop(DropReason::kIpv6BadVersion);
  const uint32_t length = Ipv6Header::kSize + ip->payload_length.ToHost();
  if (length > available) return HeaderCheck::Drop(DropReason::kIpv6Truncated);

  const Ipv6Address& source = ip->source;
  const Ipv6Address& destination = ip->destination;
  const bool multicast = destination.IsMulticast();
  if (source.IsMulticast() || source.IsLoopback() || IsV4Mapped(source) || (source.IsZero() && !multicast)) {
    return HeaderCheck::Drop(DropReason::kIpv6MartianSource);
  }
  if (destination.IsZero() || destination.IsLoopback()) return HeaderCheck::Drop(DropReason::kIpv6MartianDestination);
  if (multicast && (destination.bytes[1] & 0xf) <= 1) return HeaderCheck::Drop(DropReason::kIpv6ScopeViolation);
  *total_length = length;
  uint16_t flags = 0;
  if (multicast) flags |= HeaderCheck::kMulticast;
  if (source.IsLinkLocal()) flags |= HeaderCheck::kLinkLocalSource;
  if (destination.IsLinkLocal()) flags |= HeaderCheck::kLinkLocalDestination;
  return HeaderCheck::Ok(flags);
}

TransportView WalkExtensions6(const uint8_t* l3, uint32_t length) {
  TransportView view;
  view.protocol = HeaderAt<Ipv6Header>(l3)->next_header;
  view.offset = Ipv6Header::kSize;
  view.next_header_offset = 6;
  for (int depth = 0;; ++depth) {
    uint32_t size;
    switch (view.protocol) {
      case kProtocolHopByHop:
      case kProtocolRouting:
      case kProtocolDestinationOptions:
      case kProtocolAh:
      case kProtocolFragment:
        break;
      default:
        view.status = TransportView::kFound;
        packet_internal::ReadPorts(l3, length, &view);
        return view;
    }
    if (depth == kMaxExtensionHeaders) {
      view.status = TransportView::kTooDeep;
      return view;
    }
    if (view.offset + 8 > length) return view;  // no extension header is shorter
    const uint8_t* header = l3 + view.offset;
    if (view.protocol == kProtocolFragment) {
      const auto* fragment = HeaderAt<Ipv6FragmentHeader>(header);
      view.fragment_header = view.offset;
      view.fragment |= fragment->offset() != 0 || fragment->more_fragments();
      size = Ipv6FragmentHeader::kSize;
    } else if (view.protocol == kProtocolAh) {
      size = (header[1] + 2u) * 4;  // RFC 4302 §2.2
    } else {
      size = (header[1] + 1u) * 8;  // RFC 8200 §4.2
    }
    if (size > length - view.offset) return view;
    const bool later = view.protocol == kProtocolFragment && HeaderAt<Ipv6FragmentHeader>(header)->offset() != 0;
    view.protocol = header[0];
    view.next_header_offset = view.offset;
    view.offset += size;
    if (later) {
      view.status = TransportView::kLater;
      return view;
    }
  }
}

}  // namespace sluice
