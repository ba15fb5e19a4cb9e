// How packets leave the stages before their end: dropped with or without an ICMP error, delivered, or held for their
// neighbour. Part of stages.h.
//
// Threads: the context's. Cost: cold; a copy of the packet where the slow path needs it.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_END_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_END_H_

#ifndef SLUICE_PIPELINE_NAMESPACE
#error "define SLUICE_PIPELINE_NAMESPACE before including the stages"
#endif

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>

#include "dataplane/local/local_delivery.h"
#include "dataplane/local/punt.h"
#include "dataplane/packet/headers.h"
#include "dataplane/worker/burst.h"
#include "dataplane/worker/frame.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// What all stages of one burst have in common.
template <class Context>
struct Pass {
  Context& context;
  const Snapshot& snapshot;
};

// A header about a packet in `m`, which has its Ethernet header in front.
template <class F>
PuntHeader PuntHeaderFor(PuntKind kind, const rte_mbuf* m, uint32_t length, const LinkEntry& in) {
  const auto* ethernet = rte_pktmbuf_mtod(m, const EthernetHeader*);
  PuntHeader header;
  header.kind = kind;
  header.family = F::kFamily;
  header.flags = ethernet->destination.IsMulticast() ? PuntHeader::kLinkBroadcast : 0;
  header.link_in = in.index;
  header.length = length;
  header.source_mac = ethernet->source;
  return header;
}

// An event about a packet whose fate is counted elsewhere; may be lost.
template <class Context>
void Notify(Context& context, const PuntHeader& header, const rte_mbuf* m) {
  if (context.Punt(header, m, EthernetHeader::kSize)) {
    context.totals().slow_path_events.Add(1);
  } else {
    context.totals().slow_path_lost.Add(1);
  }
}

// Drops a packet; unless `error` is kNone, the slow path is asked to tell its source why.
template <class F, class Context>
[[gnu::noinline]] void Fail(Context& context, rte_mbuf* m, uint32_t length, const LinkEntry& in, DropReason reason,
                            IcmpErrorKind error, uint32_t info = 0) {
  if (error != IcmpErrorKind::kNone) {
    PuntHeader header =
        PuntHeaderFor<F>(PuntKind::kError, m, std::min<uint32_t>(length, PuntHeader::kMaxErrorQuote), in);
    header.error = error;
    header.info = info;
    Notify(context, header, m);
  }
  context.Drop(m, reason);
}

// For ourselves. Neighbour discovery is link control like ARP, and counted so.
template <class F, class Context>
[[gnu::noinline]] void Deliver(Context& context, rte_mbuf* m, const uint8_t* l3, uint32_t length, const LinkEntry& in) {
  const uint32_t at_hand = std::min<uint32_t>(length, m->data_len - EthernetHeader::kSize);
  const bool nd = F::kFamily == Family::kIpv6 && IsNd(absl::MakeConstSpan(l3, at_hand));
  if (!context.Punt(PuntHeaderFor<F>(PuntKind::kLocal, m, length, in), m, EthernetHeader::kSize, nd)) {
    context.Drop(m, DropReason::kSlowPathFull);
    return;
  }
  (nd ? context.totals().absorbed : context.totals().delivered).Add(1);
  context.Free(m);
}

// The neighbour is not known. The slow path takes the packet as it would leave, but for its Ethernet header.
template <class F, class Context>
[[gnu::noinline]] void Hold(Context& context, rte_mbuf* m, uint8_t* l3, uint32_t length, const LinkEntry& in,
                            const Nexthop& nexthop, AdjacencyIndex index) {
  PuntHeader header = PuntHeaderFor<F>(PuntKind::kResolve, m, length, in);
  header.link_out = nexthop.link;
  header.adjacency = index;
  header.next_hop = nexthop.on_link() ? IpAddress(F::Destination(l3)) : nexthop.gateway;
  F::Decrement(l3);
  if (!context.Punt(header, m, EthernetHeader::kSize)) {
    context.Drop(m, DropReason::kSlowPathFull);
    return;
  }
  context.totals().handed_out.Add(1);
  context.Free(m);
}

template <class Context>
[[gnu::noinline]] void ReportUse(Context& context, AdjacencyIndex index) {
  if (!context.MayReport(index)) return;
  PuntHeader header;
  header.kind = PuntKind::kStaleUse;
  header.adjacency = index;
  Notify(context, header, nullptr);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_END_H_
