// Who polls which queue: spreads the RX and TX queues of ports over workers.
//
// Why: see worker/queue_plan.h. A queue keeps its worker for as long as its port lives, so that adding and removing
// other ports can never let two workers meet on it. New queues go to the workers with the fewest.
//
//   QueuePlanner planner(/*workers=*/3);
//   RETURN_IF_ERROR(planner.Add(port, rx_queues, tx_queues));
//   std::vector<QueuePlan> plans = planner.Plans();
//
// A port with as many TX queues as workers gives each its own. With fewer, some workers own one, and each other worker
// hands its packets to one of those.
//
// Threads: one. Cost: Plans is small: ports times workers.
#ifndef SLUICE_DATAPLANE_PORT_QUEUE_PLANNER_H_
#define SLUICE_DATAPLANE_PORT_QUEUE_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/worker/queue_plan.h"

namespace sluice {

class QueuePlanner {
 public:
  explicit QueuePlanner(size_t workers) : workers_(workers) {}

  // INVALID_ARGUMENT: port >= kMaxPorts, or no queue of a kind. ALREADY_EXISTS: the port is there.
  absl::Status Add(uint16_t port, uint16_t rx_queues, uint16_t tx_queues);
  // Removing what is not there does nothing.
  void Remove(uint16_t port);

  // One for each worker; `pool` is left null.
  std::vector<QueuePlan> Plans() const;

  size_t workers() const { return workers_; }

 private:
  struct Placement {
    std::vector<uint16_t> rx_worker;  // by RX queue
    std::vector<TxPath> tx;           // by worker
  };
  size_t workers_;
  std::map<uint16_t, Placement> ports_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_QUEUE_PLANNER_H_
