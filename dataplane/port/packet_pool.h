// Pools of packet buffers, lent out and taken back, never freed.
//
// Why: when a port closes, buffers of its pool may still lie in another port's transmit queue or in a worker's inbox,
// and their last user will return them to the pool. Nobody can say when the last one is home, so the pool must outlive
// them all. A pool that is given back waits here, gathers its buffers, and is lent to the next port that needs one of
// its size: ports may come and go for ever, and memory stays at what the most ports at once have needed.
//
//   ASSIGN_OR_RETURN(rte_mempool* pool, PacketPools::Global().Take({.buffers = 8191, .data_room = 2176}));
//   ...
//   PacketPools::Global().GiveBack(pool);          // the port is closed; its buffers may still be on their way
//
// Threads: any, a mutex. Cost: making a pool touches all its memory.
#ifndef SLUICE_DATAPLANE_PORT_PACKET_POOL_H_
#define SLUICE_DATAPLANE_PORT_PACKET_POOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

struct rte_mempool;

namespace sluice {

struct PoolShape {
  uint32_t buffers = 0;
  uint32_t data_room = 0;  // bytes, with RTE_PKTMBUF_HEADROOM; at most 65535
  int socket = -1;         // NUMA node; -1: any
};

struct PoolUse {
  std::string name;
  uint32_t capacity = 0;
  uint32_t available = 0;
};

class PacketPools {
 public:
  // Buffers that a thread keeps for itself; up to 1.5 times as many may be away in each thread's cache.
  static constexpr uint32_t kCache = 256;

  // DPDK's memory is the process's, and so are its pools.
  static PacketPools& Global();

  // RESOURCE_EXHAUSTED: no memory; INVALID_ARGUMENT: the data room is too large.
  absl::StatusOr<rte_mempool*> Take(const PoolShape& shape);
  void GiveBack(rte_mempool* pool);

  // Those that are lent out.
  std::vector<PoolUse> Use() const;
  // All that exist: bounded, whatever comes and goes.
  size_t pools() const;

 private:
  struct Entry {
    rte_mempool* pool;
    PoolShape shape;
    bool lent;
  };
  mutable absl::Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_PACKET_POOL_H_
