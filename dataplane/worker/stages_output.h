// Stage 4: one hop less, a new Ethernet header, and into line for the device, whole or in fragments. Part of stages.h.
//
// Fragments are made here, where the packet stands in line, so that they leave in its place and no packet of its flow
// overtakes another. Fragments beyond the first count as generated.
//
// Threads: the context's. Cost: README.md; a fragment costs a buffer and a copy.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_OUTPUT_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_OUTPUT_H_

#include "dataplane/packet/fragment.h"
#include "dataplane/worker/stages_resolve.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// Calls `use(fragment mbuf, its L3 header, its L3 length)` for each fragment of `m`, with m's Ethernet header in front,
// and frees `m`. When there is no buffer left, the rest of the packet is dropped as one.
template <class Context, class Use>
[[gnu::always_inline]] inline void ForEachFragment(Context& context, rte_mbuf* m, const uint8_t* l3, uint32_t length,
                                                   uint32_t mtu, Use use) {
  Ipv4Fragmenter fragmenter(l3, length, mtu);
  uint32_t made = 0;
  for (Ipv4Fragment piece; fragmenter.Next(&piece); ++made) {
    if (made != 0) context.totals().generated.Add(1);
    const uint32_t head = EthernetHeader::kSize + piece.header_length;
    rte_mbuf* f = context.Allocate(head + piece.payload_length);
    if (f == nullptr) {
      context.DropUnmade(DropReason::kNoBuffer);
      break;
    }
    uint8_t* frame = rte_pktmbuf_mtod(f, uint8_t*);
    std::memcpy(frame, l3 - EthernetHeader::kSize, EthernetHeader::kSize);
    std::memcpy(frame + EthernetHeader::kSize, piece.header, piece.header_length);
    CopyAcross(m, EthernetHeader::kSize + piece.payload_offset, f, head, piece.payload_length);
    use(f, frame + EthernetHeader::kSize, piece.header_length + piece.payload_length);
  }
  context.Free(m);
}

template <class Context>
[[gnu::noinline]] void HoldFragments(Context& context, rte_mbuf* m, uint8_t* l3, uint32_t length, const LinkEntry& in,
                                     const Way& way) {
  ForEachFragment(context, m, l3, length, way.mtu, [&](rte_mbuf* f, uint8_t* at, uint32_t bytes) {
    Hold<V4>(context, f, at, bytes, in, *way.nexthop, way.index);
  });
}

template <class Context>
[[gnu::noinline]] void SendFragments(Context& context, rte_mbuf* m, const uint8_t* l3, uint32_t length, uint32_t mtu,
                                     const LinkEntry& out) {
  ForEachFragment(context, m, l3, length, mtu, [&](rte_mbuf* f, uint8_t*, uint32_t) { context.Send(f, out); });
}

template <class F, class Context>
[[gnu::always_inline]] inline void OutputStage(Pass<Context>& pass, Burst<F>* b) {
  for (uint32_t i = 0; i < b->count; ++i) {
    uint8_t* l3 = b->l3[i];
    const LinkEntry& out = *b->out[i];
    F::Decrement(l3);
    WriteEthernetHeader(l3 - EthernetHeader::kSize, Adjacency(b->adjacency[i]).mac(), out.mac, F::kEtherType);
    if constexpr (Context::kRecording) pass.context.RecordRewrite(l3 - EthernetHeader::kSize, F::HopLimit(l3));
    if (b->fragments >> i & 1) [[unlikely]] {
      SendFragments(pass.context, b->mbuf[i], l3, b->length[i], b->fragment[i], out);
    } else {
      pass.context.Send(b->mbuf[i], out);
    }
  }
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_OUTPUT_H_
