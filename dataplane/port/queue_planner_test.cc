#include "dataplane/port/queue_planner.h"

#include <map>
#include <random>
#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using Queue = std::pair<uint16_t, uint16_t>;  // port, queue

// Who uses which queue; fails when two do.
struct Owners {
  std::map<Queue, size_t> rx, tx;
};
Owners OwnersOf(const std::vector<QueuePlan>& plans) {
  Owners owners;
  for (size_t w = 0; w < plans.size(); ++w) {
    for (const RxQueue& q : plans[w].rx) EXPECT_TRUE(owners.rx.emplace(Queue{q.port, q.queue}, w).second);
    for (uint16_t port = 0; port < kMaxPorts; ++port) {
      const TxPath& path = plans[w].tx[port];
      if (!path.present() || path.owner_worker != w) continue;
      EXPECT_TRUE(owners.tx.emplace(Queue{port, path.queue}, w).second);
    }
  }
  return owners;
}

TEST(QueuePlanner, AWorkerOfItsOwnForEachQueueWhenThereAreEnough) {
  QueuePlanner planner(2);
  ASSERT_TRUE(planner.Add(0, 2, 2).ok());
  ASSERT_TRUE(planner.Add(5, 2, 4).ok());
  const std::vector<QueuePlan> plans = planner.Plans();
  EXPECT_THAT(plans[0].rx, testing::ElementsAre(RxQueue{0, 0}, RxQueue{5, 0}));
  EXPECT_THAT(plans[1].rx, testing::ElementsAre(RxQueue{0, 1}, RxQueue{5, 1}));
  EXPECT_EQ(plans[1].tx[5], (TxPath{1, 1}));
  EXPECT_FALSE(plans[0].tx[1].present());
}

TEST(QueuePlanner, SingleQueuePortsAreSpreadOverWorkers) {
  QueuePlanner planner(3);
  for (uint16_t port = 0; port < 9; ++port) ASSERT_TRUE(planner.Add(port, 1, 1).ok());
  const std::vector<QueuePlan> plans = planner.Plans();
  const Owners owners = OwnersOf(plans);
  std::map<size_t, int> tx_owned;
  for (const auto& [queue, worker] : owners.tx) ++tx_owned[worker];
  for (size_t w = 0; w < 3; ++w) {
    EXPECT_EQ(plans[w].rx.size(), 3u);
    EXPECT_EQ(tx_owned[w], 3);
    for (uint16_t port = 0; port < 9; ++port) EXPECT_TRUE(plans[w].tx[port].present());
  }
}

TEST(QueuePlanner, WorkersWithoutATxQueueHandOverToOneThatHasOne) {
  QueuePlanner planner(4);
  ASSERT_TRUE(planner.Add(7, 4, 2).ok());
  const std::vector<QueuePlan> plans = planner.Plans();
  EXPECT_EQ(OwnersOf(plans).tx.size(), 2u);
  std::map<size_t, int> served;
  for (const QueuePlan& plan : plans) {
    const TxPath& path = plan.tx[7];
    ASSERT_TRUE(path.present());
    EXPECT_EQ(plans[path.owner_worker].tx[7].owner_worker, path.owner_worker) << "the owner sends itself";
    EXPECT_EQ(plans[path.owner_worker].tx[7].queue, path.queue);
    ++served[path.owner_worker];
  }
  for (const auto& [owner, workers] : served) EXPECT_EQ(workers, 2);
}

TEST(QueuePlanner, NoQueueOfALivingPortEverMoves) {
  std::mt19937 random(7);
  for (size_t workers = 1; workers <= 5; ++workers) {
    QueuePlanner planner(workers);
    std::map<uint16_t, std::pair<uint16_t, uint16_t>> ports;
    Owners before;
    for (int round = 0; round < 500; ++round) {
      const uint16_t port = static_cast<uint16_t>(random() % kMaxPorts);
      const bool removed = ports.contains(port);
      if (removed) {
        planner.Remove(port);
        ports.erase(port);
      } else {
        const uint16_t rx = static_cast<uint16_t>(1 + random() % 6), tx = static_cast<uint16_t>(1 + random() % 6);
        ASSERT_TRUE(planner.Add(port, rx, tx).ok());
        ports[port] = {rx, tx};
      }
      const std::vector<QueuePlan> plans = planner.Plans();
      const Owners now = OwnersOf(plans);
      size_t rx_total = 0, tx_total = 0;
      for (const auto& [id, queues] : ports) {
        rx_total += queues.first;
        tx_total += std::min<size_t>(queues.second, workers);
        for (const QueuePlan& plan : plans) {
          ASSERT_LT(plan.tx[id].owner_worker, workers);
          ASSERT_LT(plan.tx[id].queue, queues.second);
          ASSERT_EQ(plans[plan.tx[id].owner_worker].tx[id], plan.tx[id]);
        }
      }
      ASSERT_EQ(now.rx.size(), rx_total) << "every RX queue is polled";
      ASSERT_EQ(now.tx.size(), tx_total);
      for (const auto& [queue, worker] : before.rx) {
        if (queue.first == port) continue;
        ASSERT_EQ(now.rx.at(queue), worker);
      }
      for (const auto& [queue, worker] : before.tx) {
        if (queue.first == port) continue;
        ASSERT_EQ(now.tx.at(queue), worker);
      }
      before = now;
    }
  }
}

TEST(QueuePlanner, RefusesWhatItCannotPlace) {
  QueuePlanner planner(1);
  EXPECT_EQ(planner.Add(kMaxPorts, 1, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(planner.Add(1, 0, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(planner.Add(1, 1, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(planner.Add(1, 1, 1).ok());
  EXPECT_EQ(planner.Add(1, 1, 1).code(), absl::StatusCode::kAlreadyExists);
  planner.Remove(1);
  planner.Remove(1);
  EXPECT_TRUE(planner.Add(1, 1, 1).ok());
}

}  // namespace
}  // namespace sluice
