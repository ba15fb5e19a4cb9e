// Packet buffers of every shape, made into the one shape that the stages work on; and bytes in and out of chains.
//
// Why here: the stages believe that the first 256 bytes of a frame are in one piece and theirs to write. Nearly every
// received buffer is like that, which IsOrdinary says in a few instructions; whatever is not goes through these
// functions once, at the door.
//
//   if (!IsOrdinary(m)) switch (Condition(m)) ...
//   Trim(m, EthernetHeader::kSize + length);              // padding off
//   CopyOut(m, offset, bytes, to);
//
// Threads: the buffer's owner. Cost: IsOrdinary three loads and a compare; the rest as many bytes as it copies.
#ifndef SLUICE_DATAPLANE_WORKER_FRAME_H_
#define SLUICE_DATAPLANE_WORKER_FRAME_H_

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>

#include "dataplane/packet/headers.h"

namespace sluice {

// So many bytes of a frame (or all of it) lie in its first segment once it is through the door.
inline constexpr uint32_t kContiguous = 256;

// One segment, nobody else's, with an Ethernet header, and no VLAN tag that the device has put elsewhere.
[[gnu::always_inline]] inline bool IsOrdinary(const rte_mbuf* m) {
  uint64_t word;  // data_off, refcnt, nb_segs, port: 16 bits each
  std::memcpy(&word, m->rearm_data, sizeof word);
  constexpr uint64_t kMask = 0x0000ffffffff0000ull;
  constexpr uint64_t kOneSegmentOneOwner = 0x0000000100010000ull;
  constexpr uint64_t kForeign = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_RX_VLAN_STRIPPED;
  return ((word & kMask) == kOneSegmentOneOwner) & ((m->ol_flags & kForeign) == 0) &
         (m->data_len >= EthernetHeader::kSize);
}

enum class FrameCondition : uint8_t {
  kFine,           // may go on as it is
  kShared,         // somebody else reads these bytes: go on with a copy
  kTooShort,       // no Ethernet header
  kTooFragmented,  // its headers could not be gathered
  kHasHiddenTag,   // the device took a VLAN tag off
};
// Looks at a frame that is not ordinary, and gathers its first kContiguous bytes if they are spread.
FrameCondition Condition(rte_mbuf* m);

// Cuts a frame to `bytes`, which it has.
void TrimChain(rte_mbuf* m, uint32_t bytes);
[[gnu::always_inline]] inline void Trim(rte_mbuf* m, uint32_t bytes) {
  if (m->nb_segs == 1) [[likely]] {
    m->data_len = static_cast<uint16_t>(bytes);
    m->pkt_len = bytes;
  } else if (m->pkt_len > bytes) {
    TrimChain(m, bytes);
  }
}

// `bytes` bytes of a frame from `offset` on, which it has, to `to`.
void CopyOut(const rte_mbuf* m, uint32_t offset, uint32_t bytes, void* to);
// The same into a frame.
void CopyIn(rte_mbuf* m, uint32_t offset, const void* from, uint32_t bytes);
// `bytes` bytes of one frame into another.
void CopyAcross(const rte_mbuf* from, uint32_t from_offset, rte_mbuf* to, uint32_t to_offset, uint32_t bytes);

// A frame of `bytes` bytes, contents undefined, in as many buffers of `pool` as it takes. Null: the pool is empty.
rte_mbuf* AllocateFrame(rte_mempool* pool, uint32_t bytes);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_FRAME_H_
