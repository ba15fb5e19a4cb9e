// Stage 3: may it go there, how large may it be, and who is the neighbour? Part of stages.h.
//
// Nearly every packet passes one test that joins all questions. The rest is asked one by one, in Linux's order
// (LINUX.md §4.1): own source, local delivery, forwarding allowed, link-layer broadcast, route failure, hop limit,
// scope, size, neighbour. So a route failure is reported before a hop limit that ran out.
//
// Threads: the context's. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_RESOLVE_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_RESOLVE_H_

#include "dataplane/packet/fragment.h"
#include "dataplane/worker/stages_end.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// A nexthop with what its link says.
struct Exit {
  NexthopIndex index = ~NexthopIndex{0};
  bool plain = false;  // a unicast route by a port that is up and running
  bool on_link;
  uint32_t mtu;  // L3 bytes
  const Nexthop* nexthop;
  const LinkEntry* out;
};

[[gnu::noinline]] inline void FindExit(const Snapshot& s, NexthopIndex index, Exit* exit) {
  constexpr uint8_t kUp = LinkEntry::kUp | LinkEntry::kRunning;
  const Nexthop& nexthop = s.nexthop(index);
  const LinkEntry& out = s.link(nexthop.link);
  exit->index = index;
  exit->plain = nexthop.type == RouteType::kUnicast && (out.flags & kUp) == kUp && out.kind == LinkKind::kPort &&
                out.port < kMaxPorts;
  exit->on_link = nexthop.on_link();
  exit->mtu = nexthop.mtu != 0 && nexthop.mtu < out.mtu ? nexthop.mtu : out.mtu;
  exit->nexthop = &nexthop;
  exit->out = &out;
}

// The way out of one packet: its exit and its neighbour, read once.
struct Way {
  const Nexthop* nexthop;
  const LinkEntry* out;
  uint32_t mtu;
  AdjacencyIndex index;
  Adjacency adjacency;
};

// IPv6 groups that every node, or every router, belongs to on its links (RFC 4291 §2.8).
inline bool IsJoinedGroup(const Snapshot& s, const LinkEntry& in, const Ipv6Address& group) {
  if (group.high() != 0xff02000000000000ull) return false;
  if (group.low() == 1) return true;
  if (group.low() == 2) return in.flags & LinkEntry::kForward6;
  if (group.low() >> 24 != 0x1ff) return false;
  const LinkAddresses& own = s.addresses(in.index);
  for (int i = 0; i < own.count6; ++i) {
    if (own.ipv6[i].address.SolicitedNode() == group) return true;
  }
  return own.count6 == LinkAddresses::kMax;  // there may be more: the slow path looks closer
}

// Whether a link-local address is ours on this very link: the same one may exist on several (RFC 4007 §6).
inline bool IsOwnLinkLocal(const Snapshot& s, const LinkEntry& in, const Ipv6Address& address, const Nexthop& nexthop) {
  const LinkAddresses& own = s.addresses(in.index);
  for (int i = 0; i < own.count6; ++i) {
    if (own.ipv6[i].address == address) return true;
  }
  return nexthop.type == RouteType::kLocal && nexthop.link == in.index;
}

// Multicast, broadcast and own addresses: whether packet i ends here, one way or another.
template <class F, class Context>
[[gnu::noinline]] bool EndsHere(Pass<Context>& pass, const Burst<F>& b, uint32_t i, const Nexthop& nexthop) {
  Context& context = pass.context;
  rte_mbuf* m = b.mbuf[i];
  const uint8_t unusual = b.unusual[i];
  const LinkEntry& in = *b.in[i];
  const auto drop = [&](DropReason reason) {
    context.Drop(m, reason);
    return true;
  };
  const auto deliver = [&] {
    Deliver<F>(context, m, b.l3[i], b.length[i], in);
    return true;
  };
  if constexpr (F::kFamily == Family::kIpv4) {
    if (unusual & Burst<F>::kMulticast) return drop(DropReason::kMulticastNotForwarded);
    if (unusual & Burst<F>::kOwnSource) return drop(DropReason::kIpv4OwnSource);
    if (unusual & Burst<F>::kLimitedBroadcast) return deliver();
    if (nexthop.type == RouteType::kBroadcast) {
      return nexthop.link == in.index ? deliver() : drop(DropReason::kBroadcastNotForwarded);
    }
  } else {
    const Ipv6Address destination = F::Destination(b.l3[i]);
    if (unusual & Burst<F>::kMulticast) {
      return IsJoinedGroup(pass.snapshot, in, destination) ? deliver() : drop(DropReason::kMulticastNotForwarded);
    }
    if (destination.IsLinkLocal()) {
      return IsOwnLinkLocal(pass.snapshot, in, destination, nexthop) ? deliver()
                                                                     : drop(DropReason::kIpv6ScopeViolation);
    }
  }
  if (nexthop.type == RouteType::kLocal) return deliver();
  if (unusual & Burst<F>::kNotForwarding) return drop(DropReason::kForwardingOff);
  if (unusual & Burst<F>::kLinkGroup) return drop(DropReason::kBroadcastNotForwarded);
  return false;
}

// The end of a packet whose route leads nowhere.
template <class F, class Context>
[[gnu::noinline]] void NoWay(Context& context, rte_mbuf* m, uint32_t length, const LinkEntry& in, RouteType type) {
  switch (type) {
    case RouteType::kBlackhole:
      return context.Drop(m, DropReason::kBlackhole);
    case RouteType::kUnreachable:
      return Fail<F>(context, m, length, in, DropReason::kUnreachable, IcmpErrorKind::kUnreachable);
    case RouteType::kProhibit:
      return Fail<F>(context, m, length, in, DropReason::kProhibit, IcmpErrorKind::kProhibited);
    default:
      return Fail<F>(context, m, length, in, DropReason::kNoRoute, IcmpErrorKind::kNoRoute);
  }
}

// Sends each fragment of a packet to its neighbour by way of the slow path.
template <class Context>
[[gnu::noinline]] void HoldFragments(Context& context, rte_mbuf* m, uint8_t* l3, uint32_t length, const LinkEntry& in,
                                     const Way& way);

// Packet i did not pass the joined test. True: it is forwarded all the same.
template <class F, class Context>
[[gnu::noinline]] bool ResolveCarefully(Pass<Context>& pass, Burst<F>* b, uint32_t i, const Way& way) {
  Context& context = pass.context;
  rte_mbuf* m = b->mbuf[i];
  uint8_t* l3 = b->l3[i];
  const uint32_t length = b->length[i];
  const LinkEntry& in = *b->in[i];
  const Nexthop& nexthop = *way.nexthop;
  const LinkEntry& out = *way.out;
  if constexpr (Context::kRecording) {
    context.RecordRoute(pass.snapshot, IpAddress(F::AddressOf(b->destination[i])), b->nexthop[i]);
  }
  if (EndsHere<F>(pass, *b, i, nexthop)) return false;
  if (nexthop.type != RouteType::kUnicast) {
    NoWay<F>(context, m, length, in, nexthop.type);
    return false;
  }
  if constexpr (Context::kRecording) context.RecordHopLimit(F::HopLimit(l3));
  if (F::HopLimit(l3) <= 1) {
    Fail<F>(context, m, length, in, DropReason::kTtlExceeded, IcmpErrorKind::kTtlExceeded);
    return false;
  }
  if constexpr (F::kFamily == Family::kIpv6) {
    if (F::Source(l3).IsLinkLocal() && out.index != in.index) {
      Fail<F>(context, m, length, in, DropReason::kIpv6ScopeViolation, IcmpErrorKind::kSourceScope);
      return false;
    }
  }
  if (out.kind != LinkKind::kPort || out.port >= kMaxPorts || !out.up() || !out.running()) {
    context.Drop(m, DropReason::kOutLinkDown);
    return false;
  }
  uint32_t fragment = 0;
  if constexpr (Context::kRecording) context.RecordMtu(length, way.mtu);
  if (length > way.mtu) {
    if (F::kFamily == Family::kIpv6 || HeaderAt<Ipv4Header>(l3)->dont_fragment()) {
      Fail<F>(context, m, length, in, DropReason::kTooBig, IcmpErrorKind::kTooBig, way.mtu);
      return false;
    }
    fragment = way.mtu;
    if (!Ipv4Fragmenter(l3, length, fragment).ok()) {
      context.Drop(m, DropReason::kFragmentFailed);
      return false;
    }
  }
  if constexpr (Context::kRecording) {
    context.RecordNeighbor(nexthop.on_link() ? IpAddress(F::Destination(l3)) : nexthop.gateway, out, way.adjacency);
  }
  if (!way.adjacency.usable()) {
    context.Count(nexthop.cell, 1, length);
    if (fragment != 0) {
      HoldFragments(context, m, l3, length, in, way);
    } else {
      Hold<F>(context, m, l3, length, in, nexthop, way.index);
    }
    return false;
  }
  if (way.adjacency.wants_report()) ReportUse(context, way.index);
  if (fragment != 0) {
    b->fragments |= uint64_t{1} << i;
    b->fragment[i] = fragment;
  }
  return true;
}

// Moves those that go on to the front.
template <class F>
[[gnu::noinline]] void Compact(Burst<F>* b, uint64_t leaving) {
  uint32_t kept = 0;
  uint64_t fragments = 0;
  for (uint32_t i = 0; i < b->count; ++i) {
    if (leaving >> i & 1) continue;
    b->mbuf[kept] = b->mbuf[i];
    b->l3[kept] = b->l3[i];
    b->length[kept] = b->length[i];
    b->in[kept] = b->in[i];
    b->out[kept] = b->out[i];
    b->adjacency[kept] = b->adjacency[i];
    b->fragment[kept] = b->fragment[i];
    fragments |= (b->fragments >> i & 1) << kept;
    ++kept;
  }
  b->count = kept;
  b->fragments = fragments;
}

template <class F, class Context>
[[gnu::always_inline]] inline void ResolveStage(Pass<Context>& pass, Burst<F>* b) {
  const AdjacencyTable& adjacencies = pass.context.adjacencies();
  // Few nexthops carry most packets of a burst: each is looked up once.
  constexpr uint32_t kExits = 16;
  Exit exits[kExits];
  uint64_t leaving = 0;
  for (uint32_t i = 0; i < b->count; ++i) {
    const NexthopIndex index = b->nexthop[i];
    Exit& exit = exits[index % kExits];
    if (exit.index != index) [[unlikely]]
      FindExit(pass.snapshot, index, &exit);
    const AdjacencyIndex neighbor =
        exit.on_link ? adjacencies.Find(exit.out->index, F::AddressOf(b->destination[i])) : exit.nexthop->adjacency;
    const Adjacency adjacency = adjacencies.Read(neighbor);
    const bool plain = exit.plain & (b->unusual[i] == 0) & (b->length[i] <= exit.mtu) & (F::HopLimit(b->l3[i]) > 1) &
                       ((adjacency.bits() & (Adjacency::kUsable | Adjacency::kReport)) == Adjacency::kUsable);
    if (Context::kRecording || !plain) [[unlikely]] {
      if (!ResolveCarefully<F>(pass, b, i, {exit.nexthop, exit.out, exit.mtu, neighbor, adjacency})) {
        leaving |= uint64_t{1} << i;
        continue;
      }
    }
    pass.context.Count(exit.nexthop->cell, 1, b->length[i]);
    b->out[i] = exit.out;
    b->adjacency[i] = adjacency.bits();
  }
  if (leaving != 0) [[unlikely]]
    Compact(b, leaving);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_RESOLVE_H_
