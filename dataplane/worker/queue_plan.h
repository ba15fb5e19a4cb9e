// Which device queues a worker polls and sends to.
//
// Why: a device queue may be used by one thread at a time, and Sluice never locks one. So each RX queue has one worker,
// and so has each TX queue; a port with fewer TX queues than workers is reached by handing packets to the worker that
// owns a queue. Ports come and go at run time: a plan is immutable, a worker loads it between bursts, and the old one
// is dropped after the grace period (snapshot/publisher.h). Plans come from port/queue_planner.h, which never moves a
// queue of a port that lives: two workers can thus not meet on a queue, however late one of them loads its plan.
//
//   const QueuePlan* plan = board.Load(me);                                    // worker, after Reader::Enter
//   for (RxQueue q : plan->rx) n = rte_eth_rx_burst(q.port, q.queue, ...);
//   const TxPath& path = plan->tx[link.port];
//   if (path.owner_worker == me) rte_eth_tx_burst(link.port, path.queue, ...);
//   else if (path.present()) HandOver(path.owner_worker, packets);             // it sends by its own tx[port]
//
//   std::vector<std::unique_ptr<const QueuePlan>> old = board.Swap(planner.Plans());        // control
//   publisher.AfterGrace([old = std::move(old)] {});
//
// Threads: Load from workers, between Reader::Enter and Reader::Quiesce; Swap from one control thread. Cost: one load.
#ifndef SLUICE_DATAPLANE_WORKER_QUEUE_PLAN_H_
#define SLUICE_DATAPLANE_WORKER_QUEUE_PLAN_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/snapshot/snapshot.h"

struct rte_mempool;

namespace sluice {

struct RxQueue {
  uint16_t port = 0;   // DPDK port id
  uint16_t queue = 0;  // of that port
  friend bool operator==(const RxQueue&, const RxQueue&) = default;
};

// How a worker reaches a port.
struct TxPath {
  static constexpr uint16_t kNone = 0xffff;

  uint16_t owner_worker = kNone;  // the worker itself: it sends on `queue`; another: packets are handed to that one
  uint16_t queue = kNone;         // the owner's TX queue
  bool present() const { return owner_worker != kNone; }
  friend bool operator==(const TxPath&, const TxPath&) = default;
};

struct QueuePlan {
  std::vector<RxQueue> rx;
  std::array<TxPath, kMaxPorts> tx = {};  // by DPDK port id; not present(): no such port
  // For packets that the worker makes itself (fragments, finished frames of the slow path). What it receives lies in
  // buffers of the port's own pool.
  rte_mempool* pool = nullptr;
};

// The live plans, one for each worker. There is always one, at first empty.
class PlanBoard {
 public:
  explicit PlanBoard(size_t workers) : plans_(workers) {
    for (Slot& slot : plans_) slot.plan.store(new QueuePlan, std::memory_order_relaxed);
  }
  ~PlanBoard() {
    for (Slot& slot : plans_) delete slot.plan.load(std::memory_order_relaxed);
  }
  PlanBoard(const PlanBoard&) = delete;
  PlanBoard& operator=(const PlanBoard&) = delete;

  size_t workers() const { return plans_.size(); }
  const QueuePlan* Load(size_t worker) const { return plans_[worker].plan.load(std::memory_order_acquire); }

  // `plans` has one for each worker. Returns those they replace: to be kept until the grace period is over.
  [[nodiscard]] std::vector<std::unique_ptr<const QueuePlan>> Swap(std::vector<QueuePlan> plans) {
    std::vector<std::unique_ptr<const QueuePlan>> old;
    old.reserve(plans_.size());
    for (size_t i = 0; i < plans_.size(); ++i) {
      old.emplace_back(plans_[i].plan.exchange(new QueuePlan(std::move(plans[i])), std::memory_order_acq_rel));
    }
    return old;
  }

 private:
  struct alignas(64) Slot {
    std::atomic<const QueuePlan*> plan{nullptr};
  };
  std::vector<Slot> plans_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_QUEUE_PLAN_H_
