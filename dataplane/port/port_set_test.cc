// Ports that come and go under workers that poll.
#include "dataplane/port/port_set.h"

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "dataplane/port/packet_pool.h"
#include "dataplane/port/port_test_main.h"
#include "dataplane/snapshot/builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr size_t kQueues = 8;

// Workers that send what they receive back out of the same port, and note when two of them use one queue.
class Workers {
 public:
  Workers(PlanBoard& board, Publisher& publisher) : board_(board), publisher_(publisher) {
    for (size_t w = 0; w < board.workers(); ++w) {
      Publisher::Reader* reader = publisher.AddReader(absl::StrCat("worker-", w));
      threads_.emplace_back([this, w, reader] { Poll(w, reader); });
    }
  }
  ~Workers() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }
  uint64_t packets() const { return packets_.load(); }
  uint64_t collisions() const { return collisions_.load(); }
  // Worker 0 stays in one burst until it is let go.
  void Hang(bool on) {
    hang_ = on;
    while (on && !hanging_) std::this_thread::yield();
  }

 private:
  struct Use {
    std::atomic<int> rx{0}, tx{0};
  };

  void Poll(size_t me, Publisher::Reader* reader) {
    EXPECT_EQ(rte_thread_register(), 0);
    while (!stop_) {
      reader->Enter();
      const QueuePlan* plan = board_.Load(me);
      for (const RxQueue& q : plan->rx) {
        rte_mbuf* burst[32];
        Use& use = uses_[q.port][q.queue];
        if (use.rx.fetch_add(1) != 0) ++collisions_;
        const uint16_t n = rte_eth_rx_burst(q.port, q.queue, burst, 32);
        use.rx.fetch_sub(1);
        uint16_t sent = 0;
        const TxPath& path = plan->tx[q.port];
        if (path.owner_worker == me) {
          Use& out = uses_[q.port][path.queue];
          if (out.tx.fetch_add(1) != 0) ++collisions_;
          sent = rte_eth_tx_burst(q.port, path.queue, burst, n);
          out.tx.fetch_sub(1);
        }
        if (sent < n) rte_pktmbuf_free_bulk(burst + sent, n - sent);
        packets_.fetch_add(n, std::memory_order_relaxed);
      }
      while (me == 0 && hang_ && !stop_) hanging_ = true;
      if (me == 0) hanging_ = false;
      reader->Quiesce();
      std::this_thread::yield();
    }
    reader->Offline();
    rte_thread_unregister();
  }

  PlanBoard& board_;
  Publisher& publisher_;
  std::array<std::array<Use, kQueues>, kMaxPorts> uses_;
  std::atomic<bool> stop_{false}, hang_{false}, hanging_{false};
  std::atomic<uint64_t> packets_{0}, collisions_{0};
  std::vector<std::thread> threads_;
};

TEST(PortSet, PortsComeAndGoUnderWorkersAndNoQueueHasTwoUsers) {
  const size_t complaints = LoggedComplaints().size();
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PlanBoard board(3);
  PortSet ports(board, publisher);
  {
    Workers workers(board, publisher);
    std::vector<uint16_t> open;
    std::mt19937 random(11);
    for (int round = 0; round < 100; ++round) {
      if (open.size() < 4 && random() % 2 == 0) {
        const uint16_t queues = static_cast<uint16_t>(1 + random() % 4);
        const absl::StatusOr<uint16_t> id = ports.Add({.name = absl::StrCat("p", round),
                                                       .devargs = absl::StrCat("net_null", round),
                                                       .rx_queues = queues,
                                                       .tx_queues = queues});
        ASSERT_TRUE(id.ok()) << id.status();
        open.push_back(*id);
      } else if (!open.empty()) {
        std::swap(open[random() % open.size()], open.back());
        ASSERT_TRUE(ports.Remove(open.back()).ok());
        EXPECT_FALSE(rte_eth_dev_is_valid_port(open.back()));
        open.pop_back();
      }
    }
    EXPECT_EQ(workers.collisions(), 0u);
    EXPECT_GT(workers.packets(), 0u);
    EXPECT_EQ(ports.Remove(63).code(), absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(LoggedComplaints().size(), complaints) << "DPDK complains when a closed queue is polled";
  EXPECT_LT(PacketPools::Global().pools(), 24u);
}

TEST(PortSet, GivesEachWorkerAPoolThatHoldsTheLargestFrame) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PlanBoard board(2);
  PortSet ports(board, publisher);
  EXPECT_EQ(board.Load(0)->pool, nullptr);
  ASSERT_TRUE(ports.Add({.name = "p0", .devargs = "net_null0", .rx_queues = 0, .tx_queues = 0}).ok());
  ASSERT_NE(board.Load(0)->pool, nullptr);
  EXPECT_NE(board.Load(0)->pool, board.Load(1)->pool);
  EXPECT_EQ(board.Load(0)->rx.size(), 1u);
  EXPECT_EQ(board.Load(1)->rx.size(), 1u);
  ASSERT_TRUE(ports.Add({.name = "p1", .devargs = "net_null1", .mtu = 9000}).ok());
  EXPECT_GE(rte_pktmbuf_data_room_size(board.Load(1)->pool), 9014 + RTE_PKTMBUF_HEADROOM);
  size_t seen = 0;
  ports.ForEach([&](const Port& port) { seen += port.started(); });
  EXPECT_EQ(seen, 2u);
}

TEST(PortSet, AWorkerThatHangsKeepsADeviceOpenUntilItComesBack) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PlanBoard board(2);
  PortSet ports(board, publisher);
  ports.set_grace_timeout(absl::Milliseconds(50));
  Workers workers(board, publisher);
  const absl::StatusOr<uint16_t> id = ports.Add({.name = "p0", .devargs = "net_null0"});
  ASSERT_TRUE(id.ok()) << id.status();
  workers.Hang(true);
  const absl::Status removed = ports.Remove(*id);
  EXPECT_EQ(removed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(removed.message(), testing::HasSubstr("p0"));
  EXPECT_TRUE(rte_eth_dev_is_valid_port(*id)) << "the worker may still be in it";
  workers.Hang(false);
  for (int i = 0; i < 1000 && rte_eth_dev_is_valid_port(*id); ++i) {
    (void)ports.Remove(63);  // any later change
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_FALSE(rte_eth_dev_is_valid_port(*id));
}

TEST(PortSet, AnMtuThatNeedsAStopIsSetUnderWorkers) {
  const size_t complaints = LoggedComplaints().size();
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PlanBoard board(2);
  PortSet ports(board, publisher);
  {
    Workers workers(board, publisher);
    const absl::StatusOr<uint16_t> id =
        ports.Add({.name = "p0", .devargs = "net_null0", .rx_queues = 2, .tx_queues = 1});
    ASSERT_TRUE(id.ok()) << id.status();
    for (const uint32_t mtu : {9000u, 1500u, 12000u}) {
      const absl::Status set = ports.SetMtu(*id, mtu);
      ASSERT_TRUE(set.ok()) << set;
      ports.ForEach([&](const Port& port) { EXPECT_EQ(port.mtu(), mtu); });
      EXPECT_TRUE(board.Load(0)->tx[*id].present()) << "given back to the workers";
      EXPECT_GE(rte_pktmbuf_data_room_size(board.Load(0)->pool), mtu + 14 + RTE_PKTMBUF_HEADROOM);
    }
    EXPECT_EQ(ports.SetMtu(*id, 67).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(workers.collisions(), 0u);
  }
  EXPECT_EQ(LoggedComplaints().size(), complaints);
}

TEST(PortSet, AFailedAddLeavesPlansAsTheyWere) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PlanBoard board(1);
  PortSet ports(board, publisher);
  ASSERT_TRUE(ports.Add({.name = "p0", .devargs = "net_null0"}).ok());
  const QueuePlan* before = board.Load(0);
  EXPECT_FALSE(ports.Add({.name = "p1", .devargs = "net_null0"}).ok());
  EXPECT_EQ(board.Load(0), before);
  EXPECT_TRUE(ports.SetMtu(0, 1400).ok());
  EXPECT_TRUE(ports.SetMac(0, *MacAddress::Parse("02:00:00:00:00:01")).ok());
  EXPECT_EQ(ports.SetMtu(99999, 1400).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sluice
