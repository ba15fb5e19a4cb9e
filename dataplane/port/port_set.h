// The ports of a running process: opens and closes them while workers forward, and gives workers their queues.
//
// Why: a device queue may be touched by one thread, a device may be closed when no thread touches it. Both follow from
// one rule: what workers use is what their plan says (worker/queue_plan.h), plans are replaced whole, and a device is
// stopped, changed or closed only when every worker has been seen between two bursts since its plan lost the device.
//
//   PortSet ports(workers, board, publisher);
//   ASSIGN_OR_RETURN(uint16_t id, ports.Add({.name = "p0", .devargs = "iface:eth1"}));   // workers poll it now
//   RETURN_IF_ERROR(ports.Remove(id));                                                  // they do not, and it is
//   closed
//
// Threads: any; changes one at a time, by a lock (device work takes long: call from a thread that may wait). Cost:
// Remove waits for the grace period.
#ifndef SLUICE_DATAPLANE_PORT_PORT_SET_H_
#define SLUICE_DATAPLANE_PORT_PORT_SET_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "dataplane/port/device.h"
#include "dataplane/port/queue_planner.h"
#include "dataplane/snapshot/publisher.h"
#include "dataplane/worker/queue_plan.h"

namespace sluice {

class PortSet {
 public:
  // As many workers as `board` has. Both outlive the set.
  PortSet(PlanBoard& board, Publisher& publisher) : board_(board), publisher_(publisher), planner_(board.workers()) {}
  // Workers are stopped, or offline for good: everything is closed without waiting.
  ~PortSet();
  PortSet(const PortSet&) = delete;
  PortSet& operator=(const PortSet&) = delete;

  // Opens, starts, and gives to the workers. `options.threads` and queue counts of 0 are set by the number of workers.
  // Returns the DPDK port id. Errors as Port::Open.
  absl::StatusOr<uint16_t> Add(PortOptions options);

  // NOT_FOUND; DEADLINE_EXCEEDED: a worker hangs. The port is then out of all plans all the same, and is closed by the
  // first later change that finds the grace period over.
  absl::Status Remove(uint16_t id);

  // As Port's. A device that has to be stopped for it is taken from the workers for that time.
  absl::Status SetMtu(uint32_t id, uint32_t mtu);
  absl::Status SetMac(uint32_t id, const MacAddress& mac);

  // Calls `f` for each port, by id. `f` must not come back here.
  void ForEach(const std::function<void(const Port&)>& f) const;

  void set_grace_timeout(absl::Duration d) { grace_timeout_ = d; }

 private:
  struct Leaving {
    std::unique_ptr<Port> port;
    std::shared_ptr<std::atomic<bool>> safe;
  };

  // Pools for workers whose buffers are as large as the largest port's. RESOURCE_EXHAUSTED: they stay as they were.
  absl::Status FitWorkerPools() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_);
  void Replan() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_);
  std::shared_ptr<std::atomic<bool>> Grace();
  bool WaitFor(const std::atomic<bool>& safe);
  absl::Status WhileStopped(Port& port, const std::function<absl::Status()>& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_);
  void CloseWhatIsSafe() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_);
  Port* Find(uint32_t id) const;

  PlanBoard& board_;
  Publisher& publisher_;
  absl::Duration grace_timeout_ = absl::Seconds(5);

  // Held for a whole change.
  absl::Mutex change_ ABSL_ACQUIRED_BEFORE(ports_mutex_);
  QueuePlanner planner_ ABSL_GUARDED_BY(change_);
  std::vector<Leaving> leaving_ ABSL_GUARDED_BY(change_);
  std::vector<rte_mempool*> worker_pools_ ABSL_GUARDED_BY(change_);    // one each, or none yet
  std::vector<rte_mempool*> replaced_pools_ ABSL_GUARDED_BY(change_);  // to be given back with the old plans
  uint32_t worker_data_room_ ABSL_GUARDED_BY(change_) = 0;
  // Held only to look or to insert, so that readers do not wait for devices.
  mutable absl::Mutex ports_mutex_;
  std::map<uint16_t, std::unique_ptr<Port>> ports_ ABSL_GUARDED_BY(ports_mutex_);
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_PORT_SET_H_
