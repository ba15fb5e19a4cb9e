// The stages of the pipeline: parse, route, nexthop, rewrite. Templates over a context (WorkerContext, or the recording
// one of observe/), each a loop over a Burst.
//
// Include it only where a translation unit instantiates the pipeline: everything lies in an inline namespace named
// after SLUICE_PIPELINE_NAMESPACE, since the same source is compiled for several instruction sets.
//
// The order of checks is Linux's: header, source, route, forwarding allowed, hop limit, size, neighbour.
//
// Threads: the context's. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_H_

#ifndef SLUICE_PIPELINE_NAMESPACE
#error "define SLUICE_PIPELINE_NAMESPACE before including stages.h"
#endif

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <cstdint>
#include <cstring>

#include "dataplane/local/punt.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/packet/fragment.h"
#include "dataplane/packet/headers.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"
#include "dataplane/snapshot/snapshot.h"
#include "dataplane/worker/burst.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// What differs between the families.
struct V4 {
  using Address = Ipv4Address;
  static constexpr Family kFamily = Family::kIpv4;
  static constexpr uint8_t kForwards = LinkEntry::kForward4;
  static constexpr be16 kEtherType = kEtherTypeIpv4;

  static HeaderCheck Check(const uint8_t* l3, uint32_t available, uint32_t* length) {
    return CheckIpv4(l3, available, length);
  }
  static Address Source(const uint8_t* l3) { return HeaderAt<Ipv4Header>(l3)->source; }
  static Address Destination(const uint8_t* l3) { return HeaderAt<Ipv4Header>(l3)->destination; }
  static uint8_t HopLimit(const uint8_t* l3) { return HeaderAt<Ipv4Header>(l3)->ttl; }
  static void Decrement(uint8_t* l3) { DecrementTtl(l3); }
};

struct V6 {
  using Address = Ipv6Address;
  static constexpr Family kFamily = Family::kIpv6;
  static constexpr uint8_t kForwards = LinkEntry::kForward6;
  static constexpr be16 kEtherType = kEtherTypeIpv6;

  static HeaderCheck Check(const uint8_t* l3, uint32_t available, uint32_t* length) {
    return CheckIpv6(l3, available, length);
  }
  static Address Source(const uint8_t* l3) { return HeaderAt<Ipv6Header>(l3)->source; }
  static Address Destination(const uint8_t* l3) { return HeaderAt<Ipv6Header>(l3)->destination; }
  static uint8_t HopLimit(const uint8_t* l3) { return HeaderAt<Ipv6Header>(l3)->hop_limit; }
  static void Decrement(uint8_t* l3) { DecrementHopLimit(l3); }
};

// ICMPv6 types 133 to 137 directly behind the header: neighbour discovery, which the slow path absorbs.
inline bool IsNeighborDiscovery(const uint8_t* l3, uint32_t length) {
  return length > Ipv6Header::kSize && HeaderAt<Ipv6Header>(l3)->next_header == kProtocolIcmpv6 &&
         l3[Ipv6Header::kSize] >= 133 && l3[Ipv6Header::kSize] <= 137;
}

// A multicast group that every router with IPv6 belongs to: all nodes, all routers, solicited nodes (whether the node
// is one of ours, the slow path says).
inline bool IsJoinedGroup(const Ipv6Address& a) {
  return a.high() == 0xff02000000000000ull && (a.low() == 1 || a.low() == 2 || (a.low() >> 24) == 0x1ff);
}

template <class Context>
class Pipeline {
 public:
  Pipeline(Context& context, const Snapshot& snapshot) : context_(context), snapshot_(snapshot) {}

  // All of it, for packets of one port.
  void Process(uint16_t port, rte_mbuf** packets, uint32_t count) {
    context_.totals().received.Add(count);
    in_ = &snapshot_.link(snapshot_.link_of_port[port]);
    Burst v4, v6;
    Parse(packets, count, &v4, &v6);
    if (v4.count != 0) Forward<V4>(&v4);
    if (v6.count != 0) Forward<V6>(&v6);
  }

 private:
  template <class F>
  [[gnu::always_inline]] void Forward(Burst* b) {
    Route<F>(b);
    Resolve<F>(b);
    Rewrite<F>(b);
  }

  // -- stage 1: what is it, and is it sane?
  void Parse(rte_mbuf** packets, uint32_t count, Burst* v4, Burst* v6) {
    if (!in_->up()) [[unlikely]] {
      for (uint32_t i = 0; i < count; ++i) context_.Drop(packets[i], DropReason::kLinkDown);
      return;
    }
    constexpr uint32_t kAhead = 4;
    for (uint32_t i = 0; i < count && i < kAhead; ++i) rte_prefetch0(rte_pktmbuf_mtod(packets[i], void*));
    const uint64_t own_mac = in_->mac.ToBits();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (i + kAhead < count) rte_prefetch0(rte_pktmbuf_mtod(packets[i + kAhead], void*));
      rte_mbuf* m = packets[i];
      bytes += m->pkt_len;
      if (m->pkt_len < EthernetHeader::kSize) [[unlikely]] {
        context_.Drop(m, DropReason::kFrameTooShort);
        continue;
      }
      if (m->nb_segs > 1 && !GatherHeaders(m)) [[unlikely]] {
        context_.Drop(m, DropReason::kFrameTooFragmented);
        continue;
      }
      uint8_t* frame = rte_pktmbuf_mtod(m, uint8_t*);
      uint64_t destination;
      std::memcpy(&destination, frame, 8);
      destination &= 0xffffffffffffull;
      const bool broadcast = destination & 1;
      if (destination != own_mac && !broadcast) [[unlikely]] {
        context_.Drop(m, DropReason::kNotForUs);
        continue;
      }
      const be16 type = HeaderAt<EthernetHeader>(frame)->type;
      if (type == kEtherTypeIpv4) {
        ParseIp<V4>(m, frame + EthernetHeader::kSize, broadcast, v4);
      } else if (type == kEtherTypeIpv6) {
        ParseIp<V6>(m, frame + EthernetHeader::kSize, broadcast, v6);
      } else {
        Other(m, type);
      }
    }
    context_.Count(in_->rx_cell, count, bytes);
  }

  template <class F>
  [[gnu::always_inline]] void ParseIp(rte_mbuf* m, uint8_t* l3, bool broadcast, Burst* out) {
    uint32_t length = 0;
    const HeaderCheck check = F::Check(l3, m->pkt_len - EthernetHeader::kSize, &length);
    if (!check.plain()) [[unlikely]] {
      if (!Unusual<F>(m, l3, length, check, broadcast)) return;
    }
    const uint32_t at = out->count++;
    out->mbuf[at] = m;
    out->l3[at] = l3;
    out->length[at] = length;
    out->link_broadcast[at] = broadcast;
  }

  // A header that is bad, or whose addresses are not plain unicast. True: it goes on like any other.
  template <class F>
  [[gnu::noinline]] bool Unusual(rte_mbuf* m, uint8_t* l3, uint32_t length, HeaderCheck check, bool broadcast) {
    if (!check.ok()) {
      context_.Drop(m, check.reason());
      return false;
    }
    if constexpr (F::kFamily == Family::kIpv6) {
      if (!(in_->flags & LinkEntry::kIpv6)) {
        context_.Drop(m, DropReason::kForwardingOff);
        return false;
      }
      if (check.multicast()) {
        if (IsJoinedGroup(V6::Destination(l3))) {
          Deliver<F>(m, l3, length, broadcast);
        } else {
          context_.Drop(m, DropReason::kMulticastNotForwarded);
        }
        return false;
      }
      return true;  // link-local: routing decides
    } else {
      if (check.limited_broadcast()) {
        Deliver<F>(m, l3, length, broadcast);
        return false;
      }
      if (check.multicast()) {
        context_.Drop(m, DropReason::kMulticastNotForwarded);
        return false;
      }
      return true;
    }
  }

  // Makes the first 256 bytes (or all) contiguous.
  [[gnu::noinline]] static bool GatherHeaders(rte_mbuf* m) {
    const uint32_t want = m->pkt_len < 256 ? m->pkt_len : 256;
    return m->data_len >= want || rte_pktmbuf_linearize(m) == 0;
  }

  [[gnu::noinline]] void Other(rte_mbuf* m, be16 type) {
    if (type == kEtherTypeArp) {
      PuntHeader header;
      header.kind = PuntKind::kArp;
      header.link_in = in_->index;
      header.length = m->pkt_len < 64 ? m->pkt_len : 64;
      if (context_.Punt(header, m, 0)) {
        context_.totals().absorbed.Add(1);
        context_.Free(m);
      } else {
        context_.Drop(m, DropReason::kSlowPathFull);
      }
      return;
    }
    context_.Drop(
        m, type == kEtherTypeVlan || type == kEtherTypeQinQ ? DropReason::kUnknownVlan : DropReason::kUnknownEtherType);
  }

  // -- stage 2: which nexthop? A packet to the destination of the one before it takes the same (one snapshot, one link:
  // nothing else decides, as long as there are no rules).
  template <class F>
  [[gnu::always_inline]] void Route(Burst* b) {
    RouteResult result;
    typename F::Address last{};
    uint32_t hits = 0;
    for (uint32_t i = 0; i < b->count; ++i) {
      const typename F::Address destination = F::Destination(b->l3[i]);
      if (i != 0 && destination == last) {
        ++hits;
      } else {
        result = LookupRoute(snapshot_, destination);
        last = destination;
      }
      b->nexthop[i] = result.nexthop;
      if constexpr (Context::kRecording) context_.RecordRoute(IpAddress(destination), result, snapshot_);
    }
    context_.totals().hint_hits.Add(hits);
    context_.totals().hint_misses.Add(b->count - hits);
  }

  // -- stage 3: may it go there, and who is the neighbour? Compacts out what does not go on.
  template <class F>
  [[gnu::always_inline]] void Resolve(Burst* b) {
    for (uint32_t i = 0; i < b->count; ++i) rte_prefetch0(&snapshot_.nexthop(b->nexthop[i]));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; ++i) {
      const Nexthop& nh = snapshot_.nexthop(b->nexthop[i]);
      const LinkEntry& out = snapshot_.link(nh.link);
      uint8_t* l3 = b->l3[i];
      const uint32_t mtu = nh.mtu != 0 && nh.mtu < out.mtu ? nh.mtu : out.mtu;
      const AdjacencyIndex index =
          nh.on_link() ? context_.adjacencies().Find(nh.link, F::Destination(l3)) : nh.adjacency;
      const Adjacency adjacency = context_.adjacencies().Read(index);
      const bool plain = (nh.type == RouteType::kUnicast) & (in_->flags & F::kForwards) & (b->link_broadcast[i] == 0) &
                         (F::HopLimit(l3) > 1) & (b->length[i] <= mtu) & out.up() & adjacency.usable() &
                         !adjacency.wants_report() & (rte_mbuf_refcnt_read(b->mbuf[i]) == 1);
      if (!plain || !SourceMayPass<F>(l3)) [[unlikely]] {
        if (!Special<F>(b, i, nh, out, mtu, index, adjacency)) continue;
      }
      b->mbuf[kept] = b->mbuf[i];
      b->l3[kept] = l3;
      b->length[kept] = b->length[i];
      b->nexthop[kept] = b->nexthop[i];
      b->adjacency[kept] = adjacency.bits();
      ++kept;
    }
    b->count = kept;
  }

  // IPv4: a source that is one of our own addresses is refused (LINUX.md §3, rp_filter off). IPv6: a link-local source
  // stays on its link.
  template <class F>
  [[gnu::always_inline]] bool SourceMayPass(const uint8_t* l3) const {
    if constexpr (F::kFamily == Family::kIpv4) {
      return !IsOwnAddress(V4::Source(l3));
    } else {
      return !V6::Source(l3).IsLinkLocal() && !V6::Destination(l3).IsLinkLocal();
    }
  }
  [[gnu::always_inline]] bool IsOwnAddress(Ipv4Address a) const {
    if (snapshot_.plan4.count == 0 || snapshot_.plan4.steps[0].table != kTableLocal) return false;
    const uint32_t leaf = snapshot_.plan4.steps[0].trie.Lookup(snapshot_.base, a.ToHost());
    return leaf != 0 && snapshot_.nexthop(leaf).type == RouteType::kLocal;
  }

  // A packet that is not plainly forwarded. True: it is, after all.
  template <class F>
  [[gnu::noinline]] bool Special(Burst* b, uint32_t i, const Nexthop& nh, const LinkEntry& out, uint32_t mtu,
                                 AdjacencyIndex index, Adjacency adjacency) {
    rte_mbuf* m = b->mbuf[i];
    uint8_t* l3 = b->l3[i];
    const uint32_t length = b->length[i];
    const bool broadcast = b->link_broadcast[i];
    if constexpr (F::kFamily == Family::kIpv4) {
      if (IsOwnAddress(V4::Source(l3))) {
        context_.Drop(m, DropReason::kIpv4OwnSource);
        return false;
      }
    }
    switch (nh.type) {
      case RouteType::kLocal:
        Deliver<F>(m, l3, length, broadcast);
        return false;
      case RouteType::kBroadcast:
        if (nh.link == in_->index) {
          Deliver<F>(m, l3, length, /*broadcast=*/true);
        } else {
          context_.Drop(m, DropReason::kBroadcastNotForwarded);
        }
        return false;
      case RouteType::kUnicast:
        break;
      default:
        NoWay<F>(m, l3, length, nh.type, broadcast);
        return false;
    }
    if (!(in_->flags & F::kForwards)) {
      context_.Drop(m, DropReason::kForwardingOff);
      return false;
    }
    if (broadcast) {
      context_.Drop(m, DropReason::kBroadcastNotForwarded);
      return false;
    }
    if constexpr (F::kFamily == Family::kIpv6) {
      if (V6::Destination(l3).IsLinkLocal()) {
        context_.Drop(m, DropReason::kIpv6ScopeViolation);
        return false;
      }
      if (V6::Source(l3).IsLinkLocal()) {
        Fail<F>(m, length, DropReason::kIpv6ScopeViolation, IcmpErrorKind::kSourceScope, 0);
        return false;
      }
    }
    if (F::HopLimit(l3) <= 1) {
      Fail<F>(m, length, DropReason::kTtlExceeded, IcmpErrorKind::kTtlExceeded, 0);
      return false;
    }
    if (!out.up()) {
      context_.Drop(m, DropReason::kOutLinkDown);
      return false;
    }
    if (length > mtu) {
      TooBig<F>(m, l3, length, mtu, nh, out);
      return false;
    }
    if (rte_mbuf_refcnt_read(m) != 1) {
      // Shared bytes are not ours to write: go on with a copy.
      rte_mbuf* copy = context_.Allocate();
      if (copy == nullptr || !CopyInto(copy, m)) {
        if (copy != nullptr) context_.Free(copy);
        context_.Drop(m, DropReason::kNoBuffer);
        return false;
      }
      context_.Free(m);
      b->mbuf[i] = m = copy;
      b->l3[i] = l3 = rte_pktmbuf_mtod_offset(copy, uint8_t*, EthernetHeader::kSize);
    }
    if (!adjacency.usable()) {
      Trim(m, length);
      F::Decrement(l3);
      Hold<F>(m, nh, index, length);
      return false;
    }
    if (adjacency.wants_report()) ReportUse(index);
    return true;
  }

  // No usable route, or one that refuses.
  template <class F>
  void NoWay(rte_mbuf* m, uint8_t* l3, uint32_t length, RouteType type, bool broadcast) {
    DropReason reason = DropReason::kNoRoute;
    IcmpErrorKind error = IcmpErrorKind::kNoRoute;
    if (type == RouteType::kBlackhole) {
      reason = DropReason::kBlackhole;
      error = IcmpErrorKind::kNone;
    } else if (type == RouteType::kUnreachable) {
      reason = DropReason::kUnreachable;
      error = IcmpErrorKind::kUnreachable;
    } else if (type == RouteType::kProhibit) {
      reason = DropReason::kProhibit;
      error = IcmpErrorKind::kProhibited;
    }
    if (!(in_->flags & F::kForwards)) {
      reason = DropReason::kForwardingOff;
      error = IcmpErrorKind::kNone;
    } else if (broadcast) {
      error = IcmpErrorKind::kNone;
    }
    if constexpr (F::kFamily == Family::kIpv6) {
      if (V6::Destination(l3).IsLinkLocal()) {
        reason = DropReason::kIpv6ScopeViolation;
        error = IcmpErrorKind::kNone;
      }
    }
    Fail<F>(m, length, reason, error, 0);
  }

  // Drops `m` and asks the slow path to say why to its source.
  template <class F>
  void Fail(rte_mbuf* m, uint32_t length, DropReason reason, IcmpErrorKind error, uint32_t info) {
    if (error != IcmpErrorKind::kNone) {
      PuntHeader header =
          HeaderFor<F>(PuntKind::kError, m, length < PuntHeader::kMaxErrorQuote ? length : PuntHeader::kMaxErrorQuote);
      header.error = error;
      header.info = info;
      Notify(header, m);
    }
    context_.Drop(m, reason);
  }

  template <class F>
  PuntHeader HeaderFor(PuntKind kind, const rte_mbuf* m, uint32_t length) const {
    PuntHeader header;
    header.kind = kind;
    header.family = F::kFamily;
    header.link_in = in_->index;
    header.length = length;
    header.source_mac = HeaderAt<EthernetHeader>(rte_pktmbuf_mtod(m, const uint8_t*))->source;
    return header;
  }

  // An event about a packet whose fate is counted elsewhere; may be lost.
  void Notify(const PuntHeader& header, const rte_mbuf* m) {
    if (context_.Punt(header, m, EthernetHeader::kSize)) {
      context_.totals().slow_path_events.Add(1);
    } else {
      context_.totals().slow_path_lost.Add(1);
    }
  }

  void ReportUse(AdjacencyIndex index) {
    if (index == reported_) return;
    reported_ = index;
    PuntHeader header;
    header.kind = PuntKind::kStaleUse;
    header.adjacency = index;
    Notify(header, nullptr);
  }

  // For ourselves: the slow path takes it.
  template <class F>
  void Deliver(rte_mbuf* m, const uint8_t* l3, uint32_t length, bool broadcast) {
    PuntHeader header = HeaderFor<F>(PuntKind::kLocal, m, length);
    if (broadcast) header.flags |= PuntHeader::kLinkBroadcast;
    const bool nd = F::kFamily == Family::kIpv6 && IsNeighborDiscovery(l3, length);
    if (!context_.Punt(header, m, EthernetHeader::kSize)) {
      context_.Drop(m, DropReason::kSlowPathFull);
      return;
    }
    (nd ? context_.totals().absorbed : context_.totals().delivered).Add(1);
    context_.Free(m);
  }

  // The neighbour is not known: the slow path holds the packet, `length` L3 bytes that are ready to go.
  template <class F>
  void Hold(rte_mbuf* m, const Nexthop& nh, AdjacencyIndex index, uint32_t length) {
    PuntHeader header = HeaderFor<F>(PuntKind::kResolve, m, length);
    header.link_out = nh.link;
    header.adjacency = index;
    header.next_hop = nh.on_link()
                          ? IpAddress(F::Destination(rte_pktmbuf_mtod_offset(m, const uint8_t*, EthernetHeader::kSize)))
                          : nh.gateway;
    if (!context_.Punt(header, m, EthernetHeader::kSize)) {
      context_.Drop(m, DropReason::kSlowPathFull);
      return;
    }
    context_.Count(nh.cell, 1, length);
    context_.totals().handed_out.Add(1);
    context_.Free(m);
  }

  // Larger than the way out: an error, or (IPv4 with DF clear) fragments.
  template <class F>
  void TooBig(rte_mbuf* m, uint8_t* l3, uint32_t length, uint32_t mtu, const Nexthop& nh, const LinkEntry& out) {
    if constexpr (F::kFamily == Family::kIpv4) {
      if (!(HeaderAt<Ipv4Header>(l3)->fragment.ToHost() & Ipv4Header::kDontFragment)) {
        Fragment(m, l3, length, mtu, nh, out);
        return;
      }
    }
    Fail<F>(m, length, DropReason::kTooBig, IcmpErrorKind::kTooBig, mtu);
  }

  void Fragment(rte_mbuf* m, uint8_t* l3, uint32_t length, uint32_t mtu, const Nexthop& nh, const LinkEntry& out) {
    Ipv4Fragmenter fragmenter(l3, length, mtu);
    if (!fragmenter.ok()) {
      context_.Drop(m, DropReason::kFragmentFailed);
      return;
    }
    const AdjacencyIndex index =
        nh.on_link() ? context_.adjacencies().Find(nh.link, V4::Destination(l3)) : nh.adjacency;
    const Adjacency adjacency = context_.adjacencies().Read(index);
    const uint32_t count = fragmenter.count();
    uint32_t made = 0;
    for (Ipv4Fragment piece; fragmenter.Next(&piece);) {
      rte_mbuf* f = context_.Allocate();
      if (f == nullptr || !FillFragment(f, m, piece)) {
        // What is left of the packet dies as one: counted once, whether or not some of it has gone.
        if (f != nullptr) context_.Free(f);
        if (made == 0) {
          context_.Drop(m, DropReason::kNoBuffer);
        } else {
          context_.totals().generated.Add(made);
          context_.Drop(m, DropReason::kNoBuffer);
        }
        return;
      }
      ++made;
      uint8_t* at = rte_pktmbuf_mtod_offset(f, uint8_t*, EthernetHeader::kSize);
      V4::Decrement(at);
      if (adjacency.usable()) {
        if (adjacency.wants_report()) ReportUse(index);
        Transmit<V4>(f, at, piece.header_length + piece.payload_length, nh, out, adjacency);
      } else {
        Hold<V4>(f, nh, index, piece.header_length + piece.payload_length);
      }
    }
    context_.totals().generated.Add(count - 1);
    context_.Free(m);
  }

  // Ethernet header of the original, IP header of the piece, its share of the payload.
  static bool FillFragment(rte_mbuf* f, const rte_mbuf* m, const Ipv4Fragment& piece) {
    const uint32_t total = EthernetHeader::kSize + piece.header_length + piece.payload_length;
    if (total > rte_pktmbuf_tailroom(f)) return false;
    uint8_t* at = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(f, static_cast<uint16_t>(total)));
    std::memcpy(at, rte_pktmbuf_mtod(m, const uint8_t*), EthernetHeader::kSize);
    std::memcpy(at + EthernetHeader::kSize, piece.header, piece.header_length);
    uint8_t* payload = at + EthernetHeader::kSize + piece.header_length;
    const void* bytes =
        rte_pktmbuf_read(m, EthernetHeader::kSize + piece.payload_offset, piece.payload_length, payload);
    if (bytes == nullptr) return false;
    if (bytes != payload) std::memcpy(payload, bytes, piece.payload_length);
    return true;
  }

  static bool CopyInto(rte_mbuf* copy, const rte_mbuf* m) {
    if (m->pkt_len > rte_pktmbuf_tailroom(copy)) return false;
    char* at = rte_pktmbuf_append(copy, static_cast<uint16_t>(m->pkt_len));
    const void* bytes = rte_pktmbuf_read(m, 0, m->pkt_len, at);
    if (bytes != at) std::memcpy(at, bytes, m->pkt_len);
    return true;
  }

  // Cuts what follows the IP packet: Ethernet padding.
  [[gnu::always_inline]] static void Trim(rte_mbuf* m, uint32_t length) {
    const uint32_t frame = EthernetHeader::kSize + length;
    if (m->nb_segs == 1) [[likely]] {
      m->data_len = static_cast<uint16_t>(frame);
      m->pkt_len = frame;
    } else if (m->pkt_len > frame) {
      TrimChain(m, frame);
    }
  }
  [[gnu::noinline]] static void TrimChain(rte_mbuf* m, uint32_t frame) {
    m->pkt_len = frame;
    rte_mbuf* segment = m;
    while (frame > segment->data_len) {
      frame -= segment->data_len;
      segment = segment->next;
    }
    segment->data_len = static_cast<uint16_t>(frame);
    rte_mbuf* rest = segment->next;
    segment->next = nullptr;
    uint16_t segments = 1;
    for (const rte_mbuf* s = m; s != segment; s = s->next) ++segments;
    m->nb_segs = segments;
    while (rest != nullptr) {
      rte_mbuf* next = rest->next;
      rte_pktmbuf_free_seg(rest);
      rest = next;
    }
  }

  // -- stage 4: one hop less, new link-layer header, out.
  template <class F>
  [[gnu::always_inline]] void Rewrite(Burst* b) {
    for (uint32_t i = 0; i < b->count; ++i) {
      const Nexthop& nh = snapshot_.nexthop(b->nexthop[i]);
      const LinkEntry& out = snapshot_.link(nh.link);
      Trim(b->mbuf[i], b->length[i]);
      F::Decrement(b->l3[i]);
      Transmit<F>(b->mbuf[i], b->l3[i], b->length[i], nh, out, Adjacency(b->adjacency[i]));
    }
  }

  template <class F>
  [[gnu::always_inline]] void Transmit(rte_mbuf* m, uint8_t* l3, uint32_t length, const Nexthop& nh,
                                       const LinkEntry& out, Adjacency adjacency) {
    WriteEthernetHeader(l3 - EthernetHeader::kSize, adjacency.mac(), out.mac, F::kEtherType);
    context_.Count(nh.cell, 1, length);
    context_.Send(snapshot_, m, out.port);
  }

  Context& context_;
  const Snapshot& snapshot_;
  const LinkEntry* in_ = nullptr;
  AdjacencyIndex reported_ = 0;
};

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_H_
