#include "dataplane/local/local_delivery.h"

#include "dataplane/local/echo.h"
#include "dataplane/local/tcp_reset.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/ipv4_options.h"
#include "dataplane/packet/parse.h"

namespace sluice {
namespace {

LocalVerdict Drop(DropReason reason) { return {.action = LocalAction::kDrop, .reason = reason}; }

LocalVerdict Error(DropReason reason, IcmpErrorKind error, uint32_t info = 0) {
  return {.action = LocalAction::kError, .reason = reason, .error = error, .info = info};
}

LocalVerdict Reply(uint32_t length) {
  if (length == 0) return Drop(DropReason::kNoBuffer);
  return {.action = LocalAction::kReply, .reply_length = length};
}

bool ChecksumRight(uint64_t pseudo, absl::Span<const uint8_t> message) {
  return FoldSum(SumBytes(message, pseudo)) == 0xffff;
}

// A transport header of a packet for us, found and inside the packet.
struct Upper {
  absl::Span<const uint8_t> message;  // header and data
  uint64_t pseudo;                    // PseudoHeader(...) for all of `message`
  bool unicast;
};

// Whether a UDP datagram is what its header says. A checksum of 0 is "none" in IPv4 and forbidden in IPv6 (RFC 8200
// §8.1). A length shorter than the IP payload is fine: the rest is not covered.
bool GoodUdp(const Upper& upper, bool may_lack_checksum, uint64_t pseudo_without_length) {
  if (upper.message.size() < UdpHeader::kSize) return false;
  const auto* udp = HeaderAt<UdpHeader>(upper.message.data());
  const uint32_t length = udp->length.ToHost();
  if (length < UdpHeader::kSize || length > upper.message.size()) return false;
  if (udp->checksum.get() == be16{}) return may_lack_checksum;
  return ChecksumRight(AddWithCarry(pseudo_without_length, be32::FromHost(length).raw), upper.message.first(length));
}

bool GoodTcp(const Upper& upper) {
  if (upper.message.size() < TcpHeader::kMinSize) return false;
  const uint32_t header = (HeaderAt<TcpHeader>(upper.message.data())->data_offset >> 4) * 4u;
  if (header < TcpHeader::kMinSize || header > upper.message.size()) return false;
  return ChecksumRight(upper.pseudo, upper.message);
}

bool WantsReset(const Upper& upper) {
  return upper.unicast && !(HeaderAt<TcpHeader>(upper.message.data())->flags & TcpHeader::kRst);
}

LocalVerdict HandleIcmp4(absl::Span<const uint8_t> packet, const Upper& upper, const LocalContext& context,
                         absl::Span<uint8_t> out) {
  if (upper.message.size() < IcmpHeader::kSize || !ChecksumRight(0, upper.message)) {
    return Drop(DropReason::kBadLocalPacket);
  }
  const bool request = HeaderAt<IcmpHeader>(upper.message.data())->type == IcmpHeader::kEchoRequest;
  if (!request || !upper.unicast) return Drop(DropReason::kIcmpIgnored);
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  return Reply(BuildEchoReply4(packet, ip->destination, context.reply, out));
}

LocalVerdict Handle4(const LocalPacket& local, const LocalContext& context, absl::Span<uint8_t> out) {
  uint32_t length = 0;
  const HeaderCheck check = CheckIpv4(local.bytes.data(), static_cast<uint32_t>(local.bytes.size()), &length);
  if (!check.ok()) return Drop(DropReason::kBadLocalPacket);
  const absl::Span<const uint8_t> packet = local.bytes.first(length);
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  const uint32_t offset = ip->header_length();
  if (offset > Ipv4Header::kMinSize) {
    const Ipv4Options options = ParseIpv4Options(packet.data());
    if (!options.well_formed()) {
      return Error(DropReason::kIpv4BadOptions, IcmpErrorKind::kParameterProblem, options.bad);
    }
    if (options.source_route != 0) return Drop(DropReason::kIpv4BadOptions);
  }
  if (ip->is_fragment()) return {.action = LocalAction::kFragment};

  const uint64_t pseudo_without_length = PseudoHeader(ip->source, ip->destination, ip->protocol, 0);
  const Upper upper = {.message = packet.subspan(offset),
                       .pseudo = AddWithCarry(pseudo_without_length, be32::FromHost(length - offset).raw),
                       .unicast = !check.multicast() && !check.limited_broadcast() && !local.to_broadcast};
  switch (ip->protocol) {
    case kProtocolIcmp:
      return HandleIcmp4(packet, upper, context, out);
    case kProtocolIgmp:
      return Drop(DropReason::kIcmpIgnored);
    case kProtocolUdp:
      if (!GoodUdp(upper, /*may_lack_checksum=*/true, pseudo_without_length)) return Drop(DropReason::kBadLocalPacket);
      if (!upper.unicast) return Drop(DropReason::kPortUnreachable);
      return Error(DropReason::kPortUnreachable, IcmpErrorKind::kPortUnreachable);
    case kProtocolTcp:
      if (!GoodTcp(upper)) return Drop(DropReason::kBadLocalPacket);
      if (!WantsReset(upper)) return Drop(DropReason::kPortUnreachable);
      return Reply(BuildTcpReset4(packet, offset, out));
    default:
      if (!upper.unicast) return Drop(DropReason::kProtocolUnreachable);
      return Error(DropReason::kProtocolUnreachable, IcmpErrorKind::kProtocolUnreachable);
  }
}

// Walks the options of a hop-by-hop or destination options header of `size` bytes at `at` (RFC 8200 §4.2). True when
// the packet may go on; otherwise `*verdict` says what becomes of it.
bool OptionsPass(absl::Span<const uint8_t> packet, uint32_t at, uint32_t size, bool multicast, LocalVerdict* verdict) {
  constexpr uint8_t kPad1 = 0, kPadN = 1;
  const uint32_t end = at + size;
  for (uint32_t i = at + 2; i < end;) {
    const uint8_t type = packet[i];
    if (type == kPad1) {
      ++i;
      continue;
    }
    if (i + 2 > end || i + 2 + packet[i + 1] > end) {
      *verdict = Drop(DropReason::kBadLocalPacket);
      return false;
    }
    if (type != kPadN && type >> 6 != 0) {  // none that needs an action is known here
      const bool report = type >> 6 == 2 || (type >> 6 == 3 && !multicast);
      *verdict = report ? Error(DropReason::kIpv6BadExtension, IcmpErrorKind::kUnrecognizedOption, i)
                        : Drop(DropReason::kIpv6BadExtension);
      return false;
    }
    i += 2u + packet[i + 1];
  }
  return true;
}

// Walks the extension headers of a packet for us, obeying each. True when the upper layer is reached: then `view` has
// its protocol, its offset, and where the byte that names it lies.
bool ExtensionsPass(absl::Span<const uint8_t> packet, bool multicast, TransportView* view, LocalVerdict* verdict) {
  const auto length = static_cast<uint32_t>(packet.size());
  view->protocol = HeaderAt<Ipv6Header>(packet.data())->next_header;
  view->offset = Ipv6Header::kSize;
  view->next_header_offset = 6;
  for (int depth = 0;; ++depth) {
    const uint8_t kind = view->protocol;
    const uint32_t at = view->offset;
    const bool options = kind == kProtocolDestinationOptions || (kind == kProtocolHopByHop && at == Ipv6Header::kSize);
    if (!options && kind != kProtocolRouting && kind != kProtocolFragment) return true;
    if (depth == kMaxExtensionHeaders) {
      *verdict = Drop(DropReason::kIpv6BadExtension);
      return false;
    }
    const uint32_t size = at + 8 > length ? 8 : kind == kProtocolFragment ? 8 : (packet[at + 1] + 1u) * 8;
    if (size > length - at) {
      *verdict = Drop(DropReason::kBadLocalPacket);
      return false;
    }
    if (kind == kProtocolFragment) {
      const auto* fragment = HeaderAt<Ipv6FragmentHeader>(&packet[at]);
      if (fragment->offset() != 0 || fragment->more_fragments()) {
        *verdict = {.action = LocalAction::kFragment};
        return false;
      }
    } else if (kind == kProtocolRouting) {
      constexpr uint32_t kType = 2, kSegmentsLeft = 3;
      if (packet[at + kSegmentsLeft] != 0) {  // no type is known here (RFC 8200 §4.4, RFC 5095)
        *verdict = multicast ? Drop(DropReason::kIpv6BadExtension)
                             : Error(DropReason::kIpv6BadExtension, IcmpErrorKind::kParameterProblem, at + kType);
        return false;
      }
    } else if (!OptionsPass(packet, at, size, multicast, verdict)) {
      return false;
    }
    view->protocol = packet[at];
    view->next_header_offset = at;
    view->offset = at + size;
  }
}

LocalVerdict HandleIcmp6(absl::Span<const uint8_t> packet, const Upper& upper, const LocalContext& context,
                         absl::Span<uint8_t> out) {
  if (upper.message.size() < Icmpv6Header::kSize || !ChecksumRight(upper.pseudo, upper.message)) {
    return Drop(DropReason::kBadLocalPacket);
  }
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  const bool request = HeaderAt<Icmpv6Header>(upper.message.data())->type == Icmpv6Header::kEchoRequest;
  const Ipv6Address source = upper.unicast ? ip->destination : context.multicast_source;
  if (!request || source.IsZero() || ip->source.IsZero()) return Drop(DropReason::kIcmpIgnored);
  return Reply(BuildEchoReply6(packet, static_cast<uint32_t>(packet.size() - upper.message.size()), source, out));
}

LocalVerdict Handle6(const LocalPacket& local, const LocalContext& context, absl::Span<uint8_t> out) {
  uint32_t length = 0;
  const HeaderCheck check = CheckIpv6(local.bytes.data(), static_cast<uint32_t>(local.bytes.size()), &length);
  if (!check.ok()) return Drop(DropReason::kBadLocalPacket);
  const absl::Span<const uint8_t> packet = local.bytes.first(length);
  if (IsNd(packet)) return {.action = LocalAction::kNd};
  TransportView view;
  LocalVerdict verdict;
  if (!ExtensionsPass(packet, check.multicast(), &view, &verdict)) return verdict;

  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  const uint64_t pseudo_without_length = PseudoHeader(ip->source, ip->destination, view.protocol, 0);
  const Upper upper = {.message = packet.subspan(view.offset),
                       .pseudo = AddWithCarry(pseudo_without_length, be32::FromHost(length - view.offset).raw),
                       .unicast = !check.multicast()};
  switch (view.protocol) {
    case kProtocolIcmpv6:
      return HandleIcmp6(packet, upper, context, out);
    case kProtocolNoNext:
      return Drop(DropReason::kProtocolUnreachable);
    case kProtocolUdp:
      if (!GoodUdp(upper, /*may_lack_checksum=*/false, pseudo_without_length)) return Drop(DropReason::kBadLocalPacket);
      if (!upper.unicast) return Drop(DropReason::kPortUnreachable);
      return Error(DropReason::kPortUnreachable, IcmpErrorKind::kPortUnreachable);
    case kProtocolTcp:
      if (!GoodTcp(upper)) return Drop(DropReason::kBadLocalPacket);
      if (!WantsReset(upper)) return Drop(DropReason::kPortUnreachable);
      return Reply(BuildTcpReset6(packet, view.offset, out));
    default:
      if (!upper.unicast) return Drop(DropReason::kProtocolUnreachable);
      return Error(DropReason::kProtocolUnreachable, IcmpErrorKind::kProtocolUnreachable, view.next_header_offset);
  }
}

}  // namespace

bool IsNd(absl::Span<const uint8_t> l3) {
  if (l3.size() <= Ipv6Header::kSize) return false;
  const auto* ip = HeaderAt<Ipv6Header>(l3.data());
  if (ip->version() != 6 || ip->next_header != kProtocolIcmpv6 || ip->payload_length.ToHost() == 0) return false;
  const uint8_t type = l3[Ipv6Header::kSize];
  return type >= Icmpv6Header::kRouterSolicit && type <= Icmpv6Header::kRedirect;
}

LocalVerdict HandleLocal(const LocalPacket& packet, const LocalContext& context, absl::Span<uint8_t> out) {
  if (packet.family == Family::kIpv4) return Handle4(packet, context, out);
  if (packet.family == Family::kIpv6) return Handle6(packet, context, out);
  return Drop(DropReason::kBadLocalPacket);
}

}  // namespace sluice
