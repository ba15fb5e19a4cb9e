#include "dataplane/worker/frame.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// Whether others may read what this segment holds.
bool IsShared(const rte_mbuf* s) {
  if (rte_mbuf_refcnt_read(s) != 1) return true;
  if (RTE_MBUF_CLONED(s)) return true;
  return RTE_MBUF_HAS_EXTBUF(s) && rte_mbuf_ext_refcnt_read(s->shinfo) != 1;
}

// Moves bytes from later segments up until the first holds `want`. Segments that are emptied are freed.
bool Gather(rte_mbuf* m, uint32_t want) {
  if (rte_pktmbuf_tailroom(m) < want - m->data_len) return false;
  while (m->data_len < want) {
    rte_mbuf* next = m->next;
    const auto take = static_cast<uint16_t>(std::min<uint32_t>(want - m->data_len, next->data_len));
    std::memcpy(rte_pktmbuf_mtod_offset(m, char*, m->data_len), rte_pktmbuf_mtod(next, const char*), take);
    m->data_len = static_cast<uint16_t>(m->data_len + take);
    next->data_off = static_cast<uint16_t>(next->data_off + take);
    next->data_len = static_cast<uint16_t>(next->data_len - take);
    if (next->data_len == 0) {
      m->next = next->next;
      --m->nb_segs;
      next->next = nullptr;
      next->nb_segs = 1;
      rte_pktmbuf_free_seg(next);
    }
  }
  return true;
}

// Finds the segment and the place in it of byte `offset`.
template <class Mbuf>
Mbuf* Seek(Mbuf* m, uint32_t* offset) {
  while (*offset >= m->data_len && m->next != nullptr) {
    *offset -= m->data_len;
    m = m->next;
  }
  return m;
}

}  // namespace

FrameCondition Condition(rte_mbuf* m) {
  if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) return FrameCondition::kHasHiddenTag;
  if (m->pkt_len < EthernetHeader::kSize) return FrameCondition::kTooShort;
  for (const rte_mbuf* s = m; s != nullptr; s = s->next) {
    if (IsShared(s)) return FrameCondition::kShared;
  }
  const uint32_t want = std::min(m->pkt_len, kContiguous);
  if (m->data_len < want && !Gather(m, want)) return FrameCondition::kTooFragmented;
  return FrameCondition::kFine;
}

void TrimChain(rte_mbuf* m, uint32_t bytes) {
  m->pkt_len = bytes;
  rte_mbuf* last = m;
  uint16_t segments = 1;
  while (bytes > last->data_len) {
    bytes -= last->data_len;
    last = last->next;
    ++segments;
  }
  last->data_len = static_cast<uint16_t>(bytes);
  m->nb_segs = segments;
  for (rte_mbuf* rest = std::exchange(last->next, nullptr); rest != nullptr;) {
    rte_mbuf* next = std::exchange(rest->next, nullptr);
    rest->nb_segs = 1;
    rte_pktmbuf_free_seg(rest);
    rest = next;
  }
}

void CopyOut(const rte_mbuf* m, uint32_t offset, uint32_t bytes, void* to) {
  char* at = static_cast<char*>(to);
  for (m = Seek(m, &offset); bytes > 0; m = m->next, offset = 0) {
    const uint32_t take = std::min<uint32_t>(bytes, m->data_len - offset);
    std::memcpy(at, rte_pktmbuf_mtod_offset(m, const char*, offset), take);
    at += take;
    bytes -= take;
  }
}

void CopyIn(rte_mbuf* m, uint32_t offset, const void* from, uint32_t bytes) {
  const char* at = static_cast<const char*>(from);
  for (m = Seek(m, &offset); bytes > 0; m = m->next, offset = 0) {
    const uint32_t take = std::min<uint32_t>(bytes, m->data_len - offset);
    std::memcpy(rte_pktmbuf_mtod_offset(m, char*, offset), at, take);
    at += take;
    bytes -= take;
  }
}

void CopyAcross(const rte_mbuf* from, uint32_t from_offset, rte_mbuf* to, uint32_t to_offset, uint32_t bytes) {
  for (from = Seek(from, &from_offset); bytes > 0; from = from->next, from_offset = 0) {
    const uint32_t take = std::min<uint32_t>(bytes, from->data_len - from_offset);
    CopyIn(to, to_offset, rte_pktmbuf_mtod_offset(from, const char*, from_offset), take);
    to_offset += take;
    bytes -= take;
  }
}

rte_mbuf* AllocateFrame(rte_mempool* pool, uint32_t bytes) {
  rte_mbuf* const first = pool == nullptr ? nullptr : rte_pktmbuf_alloc(pool);
  if (first == nullptr) return nullptr;
  first->pkt_len = bytes;
  for (rte_mbuf* m = first;;) {
    const uint32_t take = std::min<uint32_t>(bytes, rte_pktmbuf_tailroom(m));
    m->data_len = static_cast<uint16_t>(take);
    bytes -= take;
    if (bytes == 0) return first;
    m->next = rte_pktmbuf_alloc(pool);
    if (m->next == nullptr || rte_pktmbuf_tailroom(m->next) == 0) {
      rte_pktmbuf_free(first);
      return nullptr;
    }
    m = m->next;
    ++first->nb_segs;
  }
}

}  // namespace sluice
