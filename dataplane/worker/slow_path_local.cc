// What the slow path makes itself: answers to packets for own addresses, ICMP errors, and their way out.
#include <time.h>

#include <algorithm>

#include "dataplane/local/local_delivery.h"
#include "dataplane/packet/fragment.h"
#include "dataplane/packet/headers.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker/slow_path.h"

namespace sluice {
namespace {

uint32_t MillisecondsSinceMidnight() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint32_t>(t.tv_sec % 86400 * 1000 + t.tv_nsec / 1'000'000);
}

// The addresses of a packet whose header is there; the family kNone when it is not.
struct Endpoints {
  IpAddress source;
  IpAddress destination;
};
Endpoints EndpointsOf(Family family, absl::Span<const uint8_t> packet) {
  if (family == Family::kIpv4 && packet.size() >= Ipv4Header::kMinSize) {
    const auto* ip = HeaderAt<Ipv4Header>(packet.data());
    return {ip->source.get(), ip->destination.get()};
  }
  if (family == Family::kIpv6 && packet.size() >= Ipv6Header::kSize) {
    const auto* ip = HeaderAt<Ipv6Header>(packet.data());
    return {ip->source, ip->destination};
  }
  return {};
}

}  // namespace

void SlowPath::OnLocal(const PuntHeader& header, absl::Span<const uint8_t> packet) {
  const Endpoints ends = EndpointsOf(header.family, packet);
  if (ends.source.empty()) {
    Reject(DropReason::kBadLocalPacket);
    return;
  }
  LocalPacket local;
  local.family = header.family;
  local.bytes = packet;
  local.to_broadcast = ends.destination.is_v4() && RouteTypeOf(*snapshot_, ends.destination) == RouteType::kBroadcast;
  LocalContext context;
  context.reply = {.ip_id = ip_id_, .ms_since_midnight = MillisecondsSinceMidnight()};
  if (ends.destination.is_v6() && ends.destination.IsMulticast()) {
    const IpAddress source = SourceAddress(*snapshot_, header.link_in, ends.source);
    if (source.is_v6()) context.multicast_source = source.v6();
  }
  const LocalVerdict verdict = HandleLocal(local, context, absl::MakeSpan(reply_));
  switch (verdict.action) {
    case LocalAction::kReply: {
      ++ip_id_;
      const auto reply = absl::MakeConstSpan(reply_).first(verdict.reply_length);
      Originate(reply, RouteOutput(*snapshot_, ends.source, header.link_in));
      break;
    }
    case LocalAction::kError:
      Reject(verdict.reason);
      SendError(header.family,
                {.kind = verdict.error,
                 .info = verdict.info,
                 .link_broadcast = (header.flags & PuntHeader::kLinkBroadcast) != 0},
                packet, header.link_in);
      break;
    case LocalAction::kNd:
      // Up to where the header says that the packet ends: a checksum must not cover padding.
      if (!machine_.OnNd(
              header.link_in,
              packet.first(std::min<size_t>(
                  packet.size(), Ipv6Header::kSize + HeaderAt<Ipv6Header>(packet.data())->payload_length.ToHost())),
              Ipv6Header::kSize, header.source_mac, now_)) {
        Reject(DropReason::kBadNd);
      }
      break;
    case LocalAction::kDrop:
    case LocalAction::kFragment:
      Reject(verdict.reason);
      break;
  }
}

void SlowPath::SendError(Family family, const IcmpError& about, absl::Span<const uint8_t> packet, LinkIndex link_in) {
  const Endpoints ends = EndpointsOf(family, packet);
  if (ends.source.empty()) return;
  IcmpError error = about;
  const RouteType destination_type = RouteTypeOf(*snapshot_, ends.destination);
  error.to_broadcast = destination_type == RouteType::kBroadcast;
  if (!MayAnswer(family, error, packet)) return;
  const OutputRoute route = RouteOutput(*snapshot_, ends.source, link_in);
  if (!route.ok()) return;
  const int prefix_length = ends.source.is_v6() ? RoutePrefixLength(*snapshot_, ends.source.v6()) : 32;
  if (!limiter_.Allow({.kind = error.kind, .to = ends.source, .route_prefix_length = prefix_length},
                      static_cast<int64_t>(now_))) {
    icmp_limited_.Add(1);
    return;
  }
  // From the address that was asked, if it is ours; else from the link by which the error leaves (LINUX.md "Error
  // codes", RFC 1812 §4.3.2.4, RFC 4443 §2.2).
  IpAddress source = ends.destination;
  if (destination_type != RouteType::kLocal || ends.destination.IsMulticast()) {
    source = route.source;
    if (source.empty()) {
      const bool same_family = route.next_hop.family == family;
      source =
          SourceAddress(*snapshot_, route.link, family == Family::kIpv4 && same_family ? route.next_hop : ends.source);
    }
  }
  if (source.family != family) return;
  uint8_t message[kMaxIcmpError];
  uint32_t length = 0;
  if (family == Family::kIpv4) {
    length =
        BuildIcmpError4(error, packet, source.v4(),
                        {.ip_id = ip_id_++, .ms_since_midnight = MillisecondsSinceMidnight()}, absl::MakeSpan(message));
  } else {
    length = BuildIcmpError6(error, packet, source.v6(), absl::MakeSpan(message));
  }
  if (length == 0) return;
  icmp_sent_.Add(1);
  Originate(absl::MakeConstSpan(message, length), route);
}

void SlowPath::Originate(absl::Span<const uint8_t> packet, const OutputRoute& route) {
  if (!route.ok()) {
    output_.DropGenerated(route.reason);
    return;
  }
  if (packet.size() <= route.mtu) {
    Transmit(packet, route);
    return;
  }
  const bool v4 = packet[0] >> 4 == 4;
  if (!v4 || HeaderAt<Ipv4Header>(packet.data())->dont_fragment()) {
    output_.DropGenerated(DropReason::kTooBig);
    return;
  }
  Ipv4Fragmenter fragmenter(packet.data(), static_cast<uint32_t>(packet.size()), route.mtu);
  if (!fragmenter.ok()) {
    output_.DropGenerated(DropReason::kFragmentFailed);
    return;
  }
  std::vector<uint8_t> piece;
  for (Ipv4Fragment fragment; fragmenter.Next(&fragment);) {
    const auto header = fragment.header_bytes();
    const auto payload = packet.subspan(fragment.payload_offset, fragment.payload_length);
    piece.assign(header.begin(), header.end());
    piece.insert(piece.end(), payload.begin(), payload.end());
    Transmit(piece, route);
  }
}

void SlowPath::Transmit(absl::Span<const uint8_t> packet, const OutputRoute& route) {
  HeldPacket held;
  held.family = packet[0] >> 4 == 4 ? Family::kIpv4 : Family::kIpv6;
  held.generated = true;
  held.ring = static_cast<uint8_t>(std::min<size_t>(output_.ring(), 255));
  held.link_out = route.link;
  held.bytes = packet;
  output_.CountNexthop(route.cell, packet.size());
  const NeighborMachine::Resolution r = machine_.Resolve({route.link, route.next_hop}, held, now_);
  if (r.verdict == NeighborMachine::Verdict::kSend) {
    SendHeld(held, r.mac);
  } else if (r.verdict == NeighborMachine::Verdict::kDrop) {
    output_.DropGenerated(r.reason);
  }
}

}  // namespace sluice
