// Stage 1: what is it, is it for us, and is it sane? Part of stages.h.
//
// A frame is taken when its link is up, and its destination is the link's MAC, broadcast or multicast. Its EtherType
// sorts it into the burst of its family, or ARP, or away. A priority tag (802.1Q, VLAN 0) is taken off; other tags are
// for sub-interfaces that do not exist. IP headers are checked as packet/parse.h says; padding is cut off. IPv4 options
// must be well formed (else a parameter problem) and may not route by source (Linux: accept_source_route=0).
//
// Threads: the context's. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_PARSE_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_PARSE_H_

#include <rte_prefetch.h>

#include <cstring>

#include "dataplane/packet/ipv4_options.h"
#include "dataplane/worker/stages_end.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// A frame that is not one plain buffer of its own: made into one, or dropped (null).
template <class Context>
[[gnu::noinline]] rte_mbuf* Admit(Context& context, rte_mbuf* m) {
  switch (Condition(m)) {
    case FrameCondition::kFine:
      return m;
    case FrameCondition::kTooShort:
      context.Drop(m, DropReason::kFrameTooShort);
      return nullptr;
    case FrameCondition::kTooFragmented:
      context.Drop(m, DropReason::kFrameTooFragmented);
      return nullptr;
    case FrameCondition::kHasHiddenTag:
      context.Drop(m, DropReason::kUnknownVlan);
      return nullptr;
    case FrameCondition::kShared:
      break;
  }
  rte_mbuf* copy = context.Allocate(m->pkt_len);
  if (copy == nullptr) {
    context.Drop(m, DropReason::kNoBuffer);
    return nullptr;
  }
  CopyAcross(m, 0, copy, 0, m->pkt_len);
  context.Free(m);
  return copy;
}

// Takes a tag of VLAN 0 off and returns the frame's new start; null when there is none.
[[gnu::noinline]] inline uint8_t* RemovePriorityTag(rte_mbuf* m) {
  auto* ethernet = rte_pktmbuf_mtod(m, EthernetHeader*);
  if (ethernet->type.get() != kEtherTypeVlan || m->data_len < EthernetHeader::kSize + VlanTag::kSize) return nullptr;
  uint8_t* frame = rte_pktmbuf_mtod(m, uint8_t*);
  if (HeaderAt<VlanTag>(frame + EthernetHeader::kSize)->id() != 0) return nullptr;
  std::memmove(frame + VlanTag::kSize, frame, 2 * sizeof(MacAddress));
  m->data_off = static_cast<uint16_t>(m->data_off + VlanTag::kSize);
  m->data_len = static_cast<uint16_t>(m->data_len - VlanTag::kSize);
  m->pkt_len -= VlanTag::kSize;
  return frame + VlanTag::kSize;
}

// Neither IP family, or IPv6 on a link that does not speak it.
template <class Context>
[[gnu::noinline]] void TakeOther(Context& context, rte_mbuf* m, be16 type, const LinkEntry& in) {
  if (type == kEtherTypeArp) {
    // An ARP packet with all that may follow it in a minimal frame.
    constexpr uint32_t kArpFrame = 64;
    PuntHeader header;
    header.kind = PuntKind::kArp;
    header.link_in = in.index;
    header.length = std::min<uint32_t>(m->pkt_len, kArpFrame);
    header.source_mac = rte_pktmbuf_mtod(m, const EthernetHeader*)->source;
    if (!context.Punt(header, m, 0)) {
      context.Drop(m, DropReason::kSlowPathFull);
      return;
    }
    context.totals().absorbed.Add(1);
    context.Free(m);
  } else if (type == kEtherTypeIpv6) {
    context.Drop(m, DropReason::kForwardingOff);
  } else if (type == kEtherTypeVlan || type == kEtherTypeQinQ) {
    context.Drop(m, DropReason::kUnknownVlan);
  } else {
    context.Drop(m, DropReason::kUnknownEtherType);
  }
}

// A header that is bad or not plain. True: it goes on, with what is unusual about it in `*unusual`.
template <class F, class Context>
[[gnu::noinline]] bool TakeUnusual(Context& context, rte_mbuf* m, const uint8_t* l3, uint32_t length, HeaderCheck check,
                                   const LinkEntry& in, uint8_t* unusual) {
  if (!check.ok()) {
    context.Drop(m, check.reason());
    return false;
  }
  if constexpr (F::kFamily == Family::kIpv4) {
    if (F::HasOptions(l3)) {
      const Ipv4Options options = ParseIpv4Options(l3);
      if (!options.well_formed()) {
        Fail<F>(context, m, length, in, DropReason::kIpv4BadOptions, IcmpErrorKind::kParameterProblem, options.bad);
        return false;
      }
      if (options.source_route != 0) {
        context.Drop(m, DropReason::kIpv4BadOptions);
        return false;
      }
    }
  }
  if (check.multicast()) *unusual |= Burst<F>::kMulticast;
  if (check.limited_broadcast()) *unusual |= Burst<F>::kLimitedBroadcast;
  if (check.link_local_source() || check.link_local_destination()) *unusual |= Burst<F>::kLinkLocal;
  return true;
}

template <class F, class Context>
[[gnu::always_inline]] inline void ParseIp(Pass<Context>& pass, rte_mbuf* m, uint8_t* l3, uint8_t unusual,
                                           const LinkEntry& in, Burst<F>* out) {
  uint32_t length = 0;
  const HeaderCheck check = F::Check(l3, m->pkt_len - EthernetHeader::kSize, &length);
  if (!check.plain() || F::HasOptions(l3)) [[unlikely]] {
    if (!TakeUnusual<F>(pass.context, m, l3, length, check, in, &unusual)) return;
  }
  Trim(m, EthernetHeader::kSize + length);
  if constexpr (Context::kRecording) pass.context.RecordParsed(F::kFamily, l3, length);
  const uint32_t at = out->count++;
  out->mbuf[at] = m;
  out->l3[at] = l3;
  out->length[at] = length;
  out->in[at] = &in;
  out->unusual[at] = unusual;
  out->destination[at] = F::KeyOf(F::Destination(l3));
  if constexpr (F::kFamily == Family::kIpv4) out->source4[at] = F::KeyOf(F::Source(l3));
}

template <class Context>
[[gnu::always_inline]] inline void ParseStage(Pass<Context>& pass, const LinkEntry& in, rte_mbuf** packets,
                                              uint32_t count, Burst<V4>* v4, Burst<V6>* v6) {
  Context& context = pass.context;
  context.totals().received.Add(count);
  if (!in.up()) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) context.Drop(packets[i], DropReason::kLinkDown);
    return;
  }
  constexpr uint32_t kAhead = 4;
  for (uint32_t i = 0; i < count && i < kAhead; ++i) rte_prefetch0(rte_pktmbuf_mtod(packets[i], void*));
  const uint64_t own_mac = in.mac.ToBits();
  const bool speaks6 = in.flags & LinkEntry::kIpv6;
  const uint8_t odd4 = in.flags & LinkEntry::kForward4 ? 0 : Burst<V4>::kNotForwarding;
  const uint8_t odd6 = in.flags & LinkEntry::kForward6 ? 0 : Burst<V6>::kNotForwarding;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kAhead < count) rte_prefetch0(rte_pktmbuf_mtod(packets[i + kAhead], void*));
    rte_mbuf* m = packets[i];
    bytes += m->pkt_len;
    if (!IsOrdinary(m)) [[unlikely]] {
      m = Admit(context, m);
      if (m == nullptr) continue;
    }
    uint8_t* frame = rte_pktmbuf_mtod(m, uint8_t*);
    uint64_t destination;
    std::memcpy(&destination, frame, 8);
    destination &= 0xffffffffffffull;
    uint8_t group = 0;
    if (destination != own_mac) [[unlikely]] {
      if (!(destination & 1)) {
        context.Drop(m, DropReason::kNotForUs);
        continue;
      }
      group = Burst<V4>::kLinkGroup;
    }
    for (;;) {
      const be16 type = HeaderAt<EthernetHeader>(frame)->type;
      if (type == kEtherTypeIpv4) {
        ParseIp(pass, m, frame + EthernetHeader::kSize, group | odd4, in, v4);
      } else if (type == kEtherTypeIpv6 && speaks6) {
        ParseIp(pass, m, frame + EthernetHeader::kSize, group | odd6, in, v6);
      } else if (uint8_t* untagged = RemovePriorityTag(m); untagged != nullptr) {
        frame = untagged;
        continue;
      } else {
        TakeOther(context, m, type, in);
      }
      break;
    }
  }
  context.Count(in.rx_cell, count, bytes);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_PARSE_H_
