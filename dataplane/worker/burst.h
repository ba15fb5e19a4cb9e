// The packets that go through the stages together, as a struct of arrays.
//
// Why arrays: a stage is a loop that reads one or two of them; what it does not touch stays out of its way. Packets
// that leave early are compacted out, so a later stage never asks whether a packet is still there.
//
// Threads: one worker. Cost: some 3 KB on its stack.
#ifndef SLUICE_DATAPLANE_WORKER_BURST_H_
#define SLUICE_DATAPLANE_WORKER_BURST_H_

#include <cstdint>

#include "dataplane/fib/nexthop.h"

struct rte_mbuf;

namespace sluice {

inline constexpr uint32_t kBurst = 64;

// One family's share of a received burst. All came in on one link.
struct Burst {
  uint32_t count = 0;
  rte_mbuf* mbuf[kBurst];
  uint8_t* l3[kBurst];      // the IP header
  uint32_t length[kBurst];  // L3 bytes, padding excluded
  NexthopIndex nexthop[kBurst];
  uint64_t adjacency[kBurst];      // Adjacency::bits()
  uint8_t link_broadcast[kBurst];  // came as a link-layer broadcast or multicast
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_BURST_H_
