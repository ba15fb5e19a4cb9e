// A worker: one thread on one CPU that polls device queues and takes what comes through the pipeline.
//
// Why a loop without waiting: a worker that blocks on anything (a lock, a reference count, the control side) loses
// packets at line rate. It reads the live snapshot once a round, and everything that needs memory, timers or judgement
// it copies to the slow path.
//
//   Worker worker({.id = 0, .cpu = 3, .publisher = &publisher, ...});
//   RETURN_IF_ERROR(worker.Start());
//   ...
//   worker.Stop();
//
// A round: enter the snapshot, poll each RX queue (at most kBurst packets), take what other workers and the slow path
// hand over, flush, quiesce. With nothing to do for kIdleAfter it sleeps kNap between rounds: short enough that the
// device's ring holds what comes meanwhile, and that acks and the grace period are not held up.
//
// Threads: Start, Stop from a control thread; the rest from any. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_WORKER_H_
#define SLUICE_DATAPLANE_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "dataplane/base/record_ring.h"
#include "dataplane/cells/counters.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/snapshot/publisher.h"
#include "dataplane/worker/pipeline.h"
#include "dataplane/worker/queue_plan.h"
#include "dataplane/worker/worker_context.h"

struct rte_ring;

namespace sluice {

class Worker {
 public:
  static constexpr absl::Duration kIdleAfter = absl::Milliseconds(50);
  static constexpr absl::Duration kNap = absl::Microseconds(80);

  struct Options {
    uint16_t id = 0;
    int cpu = -1;           // -1: not pinned
    bool may_sleep = true;  // false: --idle=poll
    Publisher* publisher = nullptr;
    const PlanBoard* board = nullptr;
    const AdjacencyTable* adjacencies = nullptr;
    Counters::Lane* lane = nullptr;
    RecordRing* to_slow_path = nullptr;
    RecordRing* from_slow_path = nullptr;
    std::vector<rte_ring*> inboxes;   // from each other worker; this one is the only consumer
    std::vector<rte_ring*> outboxes;  // by worker; null for itself
  };
  explicit Worker(Options options);
  ~Worker();  // stops
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // INTERNAL when the thread cannot be pinned to its CPU or registered with DPDK.
  absl::Status Start();
  // Ends the loop after the round under way, and joins. Packets in inboxes stay there.
  void Stop();

  uint16_t id() const { return options_.id; }
  int cpu() const { return options_.cpu; }
  // Rounds so far: a number that stands still is a worker that hangs.
  uint64_t heartbeat() const { return heartbeat_.load(std::memory_order_relaxed); }
  // True while it naps between rounds for want of packets.
  bool idle() const { return idle_.load(std::memory_order_relaxed); }
  const char* isa() const { return level_.name; }

  // One round on the calling thread, for tests that step a worker. Returns packets taken in.
  uint32_t RunOnce();

 private:
  void Run();
  uint32_t PollQueues(const QueuePlan& plan, const Snapshot& snapshot);
  uint32_t TakeHandedOver(const Snapshot& snapshot);
  uint32_t TakeInjected(const Snapshot& snapshot);

  Options options_;
  const PipelineLevel& level_;
  WorkerContext context_;
  Publisher::Reader* reader_ = nullptr;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> heartbeat_{0};
  std::atomic<bool> idle_{false};
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_WORKER_H_
