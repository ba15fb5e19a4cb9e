// A worker: one thread on one CPU that polls device queues and takes what comes through the pipeline.
//
// Why a loop without waiting: a worker that blocks on anything (a lock, a reference count, the control side) loses
// packets at line rate. It reads the live snapshot once a round, and everything that needs memory, timers or judgement
// it copies to the slow path.
//
//   auto rings = HandoverRings::Create(n);                                           // handover.h, after EAL start
//   Worker worker({.id = 0, .cpu = 3, .publisher = &publisher, .board = &board, .adjacencies = &adjacencies,
//                  .lane = &counters.lane(0), .to_slow_path = &punts, .from_slow_path = &injects,
//                  .inboxes = (*rings)->Inboxes(0), .outboxes = (*rings)->Outboxes(0),
//                  .wake_slow_path = [&] { slow_path.Wake(); }});
//   RETURN_IF_ERROR(worker.Start());
//   ...
//   worker.Stop();
//
// A round: enter the snapshot, load the queue plan, poll each RX queue (at most kBurst packets), take what other
// workers and the slow path hand over, flush, quiesce. So a plan that was replaced is out of use after the same grace
// period as a snapshot.
//
// Idle: with nothing to do for kIdleAfter it sleeps kNap between rounds, so short that a device's ring of a thousand
// descriptors holds what comes meanwhile, and that acks and the grace period are not held up: a napping worker stays
// online for QSBR and sees a publication with its next round.
//
// Threads: constructor, Start, Stop from one control thread; the rest from any. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_WORKER_H_
#define SLUICE_DATAPLANE_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
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
  static constexpr absl::Duration kNap = absl::Microseconds(85);

  // All that is pointed to outlives the worker.
  struct Options {
    uint16_t id = 0;        // its plan on the board; 0 to workers - 1
    int cpu = -1;           // -1: not pinned
    bool may_sleep = true;  // false: --idle=poll
    uint16_t burst = 32;    // packets taken from a queue at once, 1 to kBurst
    Publisher* publisher = nullptr;
    const PlanBoard* board = nullptr;
    const AdjacencyTable* adjacencies = nullptr;
    Counters::Lane* lane = nullptr;        // this worker is its only writer
    RecordRing* to_slow_path = nullptr;    // 2 MB or more: its backlogs (worker_context.h) then fit
    RecordRing* from_slow_path = nullptr;  // InjectHeader and frame
    std::vector<rte_ring*> inboxes;        // HandoverRings::Inboxes(id); empty when it is the only worker
    std::vector<rte_ring*> outboxes;       // HandoverRings::Outboxes(id)
    std::function<void()> wake_slow_path;  // called after a round that punted; may be empty
  };
  explicit Worker(Options options);
  ~Worker();  // stops
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // What ChoosePipeline says of SLUICE_ISA; RESOURCE_EXHAUSTED: too many readers of the publisher, or threads for DPDK;
  // INTERNAL: the thread cannot run on its CPU.
  absl::Status Start();
  // Ends the loop after the round under way, and joins. What is in the inboxes stays there. Start may follow.
  void Stop();

  uint16_t id() const { return options_.id; }
  int cpu() const { return options_.cpu; }
  // Rounds so far: a number that stands still is a worker that hangs.
  uint64_t heartbeat() const { return heartbeat_.load(std::memory_order_relaxed); }
  // True while it naps between rounds for want of packets.
  bool idle() const { return idle_.load(std::memory_order_relaxed); }
  // "x86-64-v3": which copy of the pipeline it runs.
  const char* isa() const { return level_.ok() ? (*level_)->name : ""; }

  // One round on the calling thread, for tests that step a worker. Returns packets taken in.
  uint32_t RunOnce();
  WorkerContext& context_for_tests() { return context_; }

 private:
  void Run();
  uint32_t PollQueues(const QueuePlan& plan, const Snapshot& snapshot);
  uint32_t TakeHandedOver(const Snapshot& snapshot);
  uint32_t TakeInjected(const Snapshot& snapshot);

  Options options_;
  absl::StatusOr<const PipelineLevel*> level_;
  WorkerContext context_;
  Publisher::Reader* reader_ = nullptr;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> heartbeat_{0};
  std::atomic<bool> idle_{false};
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_WORKER_H_
