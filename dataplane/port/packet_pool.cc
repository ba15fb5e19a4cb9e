#include "dataplane/port/packet_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice {

PacketPools& PacketPools::Global() {
  static PacketPools* pools = new PacketPools;
  return *pools;
}

absl::StatusOr<rte_mempool*> PacketPools::Take(const PoolShape& shape) {
  if (shape.data_room > UINT16_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("packet buffers of ", shape.data_room, " bytes are too large"));
  }
  absl::MutexLock lock(&mutex_);
  for (Entry& e : entries_) {
    // One that is not quite home yet will be; one that lost its buffers (a driver that leaks) is left alone.
    if (!e.lent && e.shape.data_room == shape.data_room && e.shape.socket == shape.socket &&
        e.shape.buffers >= shape.buffers && e.shape.buffers / 2 <= shape.buffers &&
        rte_mempool_avail_count(e.pool) >= shape.buffers - shape.buffers / 8) {
      e.lent = true;
      return e.pool;
    }
  }
  const std::string name = absl::StrCat("packets_", entries_.size());
  rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), shape.buffers, kCache, 0,
                                              static_cast<uint16_t>(shape.data_room), shape.socket);
  if (pool == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", shape.buffers, " packet buffers of ",
                                                     shape.data_room, " bytes (", rte_strerror(rte_errno), ")"));
  }
  entries_.push_back({pool, shape, true});
  return pool;
}

void PacketPools::GiveBack(rte_mempool* pool) {
  absl::MutexLock lock(&mutex_);
  for (Entry& e : entries_) {
    if (e.pool == pool) e.lent = false;
  }
}

std::vector<PoolUse> PacketPools::Use() const {
  absl::MutexLock lock(&mutex_);
  std::vector<PoolUse> use;
  for (const Entry& e : entries_) {
    if (e.lent) use.push_back({e.pool->name, e.pool->size, rte_mempool_avail_count(e.pool)});
  }
  return use;
}

size_t PacketPools::pools() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace sluice
