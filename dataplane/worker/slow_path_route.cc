#include "dataplane/worker/slow_path_route.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace sluice {
namespace {

constexpr uint8_t kScopeLink = 253;  // rtnetlink: addresses beyond (254, host) are for ourselves only

bool InSubnet(Ipv4Address a, const LinkAddresses::Entry4& e) {
  const uint32_t mask = e.prefix_length == 0 ? 0 : ~uint32_t{0} << (32 - std::min<uint8_t>(e.prefix_length, 32));
  return ((a.ToHost() ^ e.address.ToHost()) & mask) == 0;
}

int CommonBits(const Ipv6Address& a, const Ipv6Address& b) {
  const uint64_t high = a.high() ^ b.high();
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(a.low() ^ b.low());
}

bool IsLinkScope(const Ipv6Address& a) { return a.IsLinkLocal() || (a.IsMulticast() && (a.bytes[1] & 0xf) <= 2); }

std::optional<Ipv4Address> OnLink4(const LinkAddresses& addresses, Ipv4Address target, uint8_t max_scope) {
  std::optional<Ipv4Address> first;
  for (int i = 0; i < std::min<int>(addresses.count4, LinkAddresses::kMax); ++i) {
    const LinkAddresses::Entry4& e = addresses.ipv4[i];
    if (e.scope > max_scope) continue;
    if (InSubnet(target, e)) return e.address;
    if (!first) first = e.address;
  }
  return first;
}

std::optional<Ipv6Address> LinkLocal6(const LinkAddresses& addresses) {
  for (int i = 0; i < std::min<int>(addresses.count6, LinkAddresses::kMax); ++i) {
    if (addresses.ipv6[i].address.IsLinkLocal()) return addresses.ipv6[i].address;
  }
  return std::nullopt;
}

std::optional<Ipv6Address> Global6(const LinkAddresses& addresses, const Ipv6Address& target) {
  std::optional<Ipv6Address> best;
  for (int i = 0; i < std::min<int>(addresses.count6, LinkAddresses::kMax); ++i) {
    const LinkAddresses::Entry6& e = addresses.ipv6[i];
    if (e.address.IsLinkLocal() || e.scope >= kScopeLink) continue;
    if (!best || CommonBits(e.address, target) > CommonBits(*best, target)) best = e.address;
  }
  return best;
}

RouteResult Lookup(const Snapshot& s, const IpAddress& a) {
  return a.is_v4() ? LookupRoute(s, a.v4()) : a.is_v6() ? LookupRoute(s, a.v6()) : RouteResult{};
}

DropReason ReasonOf(RouteType type) {
  switch (type) {
    case RouteType::kBlackhole:
      return DropReason::kBlackhole;
    case RouteType::kUnreachable:
      return DropReason::kUnreachable;
    case RouteType::kProhibit:
      return DropReason::kProhibit;
    case RouteType::kLocal:
    case RouteType::kBroadcast:
    case RouteType::kMulticast:
      return DropReason::kIcmpIgnored;
    default:
      return DropReason::kNoRoute;
  }
}

}  // namespace

const LinkEntry& LinkOrNone(const Snapshot& snapshot, LinkIndex link) {
  static constexpr LinkEntry kNone;
  return link < kMaxLinks ? snapshot.link(link) : kNone;
}

OutputRoute RouteOutput(const Snapshot& snapshot, const IpAddress& destination, LinkIndex link_in) {
  OutputRoute route;
  if (destination.is_v6() && destination.v6().IsLinkLocal()) {
    const LinkEntry& link = LinkOrNone(snapshot, link_in);
    route.link = link.index;
    route.reason = DropReason::kOutLinkDown;
    route.next_hop = destination;
    route.mtu = link.mtu;
    return route;
  }
  if (destination.IsMulticast()) {
    route.reason = DropReason::kIcmpIgnored;
    return route;
  }
  const RouteResult result = Lookup(snapshot, destination);
  if (result.nexthop == 0) return route;
  const Nexthop& nexthop = snapshot.nexthop(result.nexthop & ~kConditionalLeaf);
  if (nexthop.type != RouteType::kUnicast) {
    route.reason = ReasonOf(nexthop.type);
    return route;
  }
  const LinkEntry& link = LinkOrNone(snapshot, nexthop.link);
  route.link = link.index;
  route.reason = DropReason::kOutLinkDown;
  route.next_hop = nexthop.on_link() ? destination : nexthop.gateway;
  if (nexthop.source.family == destination.family) route.source = nexthop.source;
  route.mtu = nexthop.mtu != 0 ? std::min<uint32_t>(nexthop.mtu, link.mtu) : link.mtu;
  route.cell = nexthop.cell;
  return route;
}

IpAddress SourceAddress(const Snapshot& snapshot, LinkIndex link, const IpAddress& target) {
  if (link >= kMaxLinks) return {};
  const LinkAddresses& own = snapshot.addresses(link);
  if (target.is_v4()) {
    if (auto a = OnLink4(own, target.v4(), kScopeLink)) return *a;
    for (const LinkIndex other : snapshot.link_of_port) {
      if (other == 0) continue;
      if (auto a = OnLink4(snapshot.addresses(other), target.v4(), kScopeLink - 1)) return *a;
    }
    return {};
  }
  if (!target.is_v6()) return {};
  const std::optional<Ipv6Address> link_local = LinkLocal6(own);
  if (IsLinkScope(target.v6()) && link_local) return *link_local;
  if (auto a = Global6(own, target.v6())) return *a;
  if (!IsLinkScope(target.v6())) {
    for (const LinkIndex other : snapshot.link_of_port) {
      if (other == 0) continue;
      if (auto a = Global6(snapshot.addresses(other), target.v6())) return *a;
    }
  }
  return link_local ? IpAddress(*link_local) : IpAddress();
}

IpAddress SolicitSource(const Snapshot& snapshot, LinkIndex link, const IpAddress& target) {
  if (!target.is_v6()) return SourceAddress(snapshot, link, target);
  if (link >= kMaxLinks) return {};
  const LinkAddresses& own = snapshot.addresses(link);
  if (auto a = LinkLocal6(own)) return *a;
  if (auto a = Global6(own, target.v6())) return *a;
  return {};
}

RouteType RouteTypeOf(const Snapshot& snapshot, const IpAddress& address) {
  const RouteResult result = Lookup(snapshot, address);
  if (result.nexthop == 0) return RouteType::kNone;
  return snapshot.nexthop(result.nexthop & ~kConditionalLeaf).type;
}

bool IsOwnOnLink(const Snapshot& snapshot, LinkIndex link, const IpAddress& address) {
  if (address.is_v6() && link < kMaxLinks) {
    const LinkAddresses& own = snapshot.addresses(link);
    for (int i = 0; i < std::min<int>(own.count6, LinkAddresses::kMax); ++i) {
      if (own.ipv6[i].address == address.v6()) return true;
    }
  }
  const RouteResult result = Lookup(snapshot, address);
  if (result.nexthop == 0) return false;
  const Nexthop& nexthop = snapshot.nexthop(result.nexthop & ~kConditionalLeaf);
  return nexthop.type == RouteType::kLocal && (address.is_v4() || nexthop.link == link);
}

int RoutePrefixLength(const Snapshot& snapshot, const Ipv6Address& address) {
  for (uint32_t i = 0; i < snapshot.plan6.count; ++i) {
    const auto match = snapshot.plan6.steps[i].trie.LookupPrefix(snapshot.base, {address.high(), address.low()});
    if (match.leaf != 0 && match.leaf != kThrowNexthop) return match.length;
  }
  return 0;
}

}  // namespace sluice
