// The rings by which workers hand packets to each other: one for each ordered pair, so that every ring has one producer
// and one consumer and no lock.
//
// Why: a port may have fewer TX queues than there are workers (many VFs, pcap, tap), and a queue may be used by one
// thread at a time. Instead of a TX lock, packets go to the worker that owns a queue.
//
//   auto rings = HandoverRings::Create(workers);
//   Worker::Options o = {..., .inboxes = (*rings)->Inboxes(id), .outboxes = (*rings)->Outboxes(id)};
//
// Threads: Create and destruction from one control thread, after EAL start and while no worker runs. Cost: 8 KB a pair.
#ifndef SLUICE_DATAPLANE_WORKER_HANDOVER_H_
#define SLUICE_DATAPLANE_WORKER_HANDOVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

struct rte_ring;

namespace sluice {

class HandoverRings {
 public:
  static constexpr uint32_t kDepth = 1024;  // packets of a ring, a power of two

  // RESOURCE_EXHAUSTED: DPDK has no memory for the rings.
  static absl::StatusOr<std::unique_ptr<HandoverRings>> Create(size_t workers, uint32_t depth = kDepth);
  ~HandoverRings();  // frees packets that are still in them

  // By producer; null at `worker` itself.
  std::vector<rte_ring*> Inboxes(size_t worker) const;
  // By consumer; null at `worker` itself.
  std::vector<rte_ring*> Outboxes(size_t worker) const;

 private:
  explicit HandoverRings(size_t workers) : workers_(workers), rings_(workers * workers) {}
  size_t workers_;
  std::vector<rte_ring*> rings_;  // [from * workers + to]
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_HANDOVER_H_
