#include "dataplane/worker/worker.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "absl/time/clock.h"
#include "dataplane/packet/fixtures.h"
#include "dataplane/snapshot/builder.h"
#include "dataplane/worker/handover.h"
#include "dataplane/worker/pipeline_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// A device whose wire is two rings.
struct RingPort {
  rte_ring* in;
  rte_ring* out;
  uint16_t id;
};

RingPort MakePort(rte_mempool* pool) {
  static int next = 0;
  const std::string name = "wire" + std::to_string(next++);
  RingPort p;
  p.in = rte_ring_create((name + "i").c_str(), 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  p.out = rte_ring_create((name + "o").c_str(), 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  const int port = rte_eth_from_rings(name.c_str(), &p.in, 1, &p.out, 1, 0);
  p.id = static_cast<uint16_t>(port);
  rte_eth_conf conf = {};
  if (port < 0 || rte_eth_dev_configure(p.id, 1, 1, &conf) != 0 ||
      rte_eth_rx_queue_setup(p.id, 0, 64, SOCKET_ID_ANY, nullptr, pool) != 0 ||
      rte_eth_tx_queue_setup(p.id, 0, 64, SOCKET_ID_ANY, nullptr) != 0 || rte_eth_dev_start(p.id) != 0) {
    std::abort();
  }
  return p;
}

// Two workers: the first owns the only queue of each port unless a test plans otherwise; a and b are links 1 and 2.
class WorkerTest : public testing::Test {
 protected:
  static constexpr LinkIndex kA = 1, kB = 2;

  WorkerTest()
      : pool(TestDevices::Get().pool),
        a(Ports()[0]),
        b(Ports()[1]),
        publisher(MakeEmptySnapshot(arena)),
        board(2),
        counters(2),
        handover(*HandoverRings::Create(2, 64)) {
    Change([&](SnapshotBuilder& s) {
      for (LinkIndex i : {kA, kB}) {
        LinkEntry link;
        link.index = i;
        link.kind = LinkKind::kPort;
        link.flags =
            LinkEntry::kUp | LinkEntry::kRunning | LinkEntry::kForward4 | LinkEntry::kForward6 | LinkEntry::kIpv6;
        link.port = i == kA ? a.id : b.id;
        link.mtu = 1500;
        link.mac = PipelineFixture::PortMac(static_cast<int>(i));
        link.rx_cell = *counters.AllocateCell();
        link.tx_cell = *counters.AllocateCell();
        ASSERT_TRUE(s.SetLink(link).ok());
      }
      const IpAddress gateway = *IpAddress::Parse("10.0.2.2");
      const AdjacencyIndex adjacency = *adjacencies.Acquire({kB, gateway});
      adjacencies.Write(adjacency, PipelineFixture::HostMac(2), true, false);
      ASSERT_TRUE(
          s.SetNexthop(20, {.type = RouteType::kUnicast, .link = kB, .adjacency = adjacency, .gateway = gateway}).ok());
      ASSERT_TRUE(s.SetRoute(kTableMain, *IpPrefix::Parse("198.18.0.0/16"), 20).ok());
    });
    for (uint16_t w : {0, 1}) {
      workers[w] = std::make_unique<Worker>(Worker::Options{.id = w,
                                                            .publisher = &publisher,
                                                            .board = &board,
                                                            .adjacencies = &adjacencies,
                                                            .lane = &counters.lane(w),
                                                            .to_slow_path = &punts[w],
                                                            .from_slow_path = &injects[w],
                                                            .inboxes = handover->Inboxes(w),
                                                            .outboxes = handover->Outboxes(w),
                                                            .wake_slow_path = [this] { ++wakes; }});
    }
    // Worker 0 has it all.
    SetPlans({{.rx = {{a.id, 0}, {b.id, 0}}, .pool = pool}, {.pool = pool}}, /*owner=*/0);
  }

  ~WorkerTest() override {
    for (auto& w : workers) w.reset();
    Sent(a);
    Sent(b);
    handover.reset();
    EXPECT_EQ(rte_mempool_in_use_count(pool), 0u) << "packet buffers leaked";
  }

  static std::vector<RingPort>& Ports() {
    static std::vector<RingPort> ports = {MakePort(TestDevices::Get().pool), MakePort(TestDevices::Get().pool)};
    return ports;
  }

  template <class F>
  void Change(F f) {
    SnapshotBuilder builder(arena, *publisher.current());
    f(builder);
    auto built = builder.Finish(publisher.current()->epoch + 1, 1);
    publisher.Publish(std::move(built.snapshot), std::move(built.retired));
  }

  void SetPlans(std::vector<QueuePlan> plans, uint16_t owner) {
    for (QueuePlan& plan : plans) plan.tx[a.id] = plan.tx[b.id] = {owner, 0};
    auto old = std::make_shared<std::vector<std::unique_ptr<const QueuePlan>>>(board.Swap(std::move(plans)));
    publisher.AfterGrace([old] {});
  }

  void Arrive(const RingPort& port, const Frame& frame, int count = 3) {
    for (int i = 0; i < count; ++i) {
      rte_mbuf* m = rte_pktmbuf_alloc(pool);
      ASSERT_NE(m, nullptr);
      std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
      ASSERT_EQ(rte_ring_sp_enqueue(port.in, m), 0);
    }
  }

  static std::vector<Frame> Sent(const RingPort& port) {
    std::vector<Frame> frames;
    for (void* object; rte_ring_sc_dequeue(port.out, &object) == 0;) {
      auto* m = static_cast<rte_mbuf*>(object);
      Frame frame(m->pkt_len);
      CopyOut(m, 0, m->pkt_len, frame.data());
      frames.push_back(std::move(frame));
      rte_pktmbuf_free(m);
    }
    return frames;
  }

  void Inject(uint16_t worker, LinkIndex link, const Frame& frame, uint8_t generated) {
    const InjectHeader header{link, generated, static_cast<uint32_t>(frame.size())};
    char* at = injects[worker].Reserve(sizeof header + frame.size());
    ASSERT_NE(at, nullptr);
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at + sizeof header, frame.data(), frame.size());
    injects[worker].Publish();
  }

  const LaneTotals& totals(int worker) { return counters.lane(static_cast<size_t>(worker)).totals; }
  uint64_t drops(int worker, DropReason reason) { return counters.lane(static_cast<size_t>(worker)).drops(reason); }

  void ExpectConserved() {
    for (int w : {0, 1}) {
      const LaneTotals& t = totals(w);
      EXPECT_EQ(t.received.Get() + t.generated.Get() + t.handed_in.Get(),
                t.transmitted.Get() + counters.lane(static_cast<size_t>(w)).dropped() + t.delivered.Get() +
                    t.absorbed.Get() + t.handed_out.Get())
          << "worker " << w;
    }
  }

  // Waits up to ten seconds: the machine may be busy.
  static bool Eventually(const std::function<bool()>& what) {
    for (int i = 0; i < 10000; ++i) {
      if (what()) return true;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  rte_mempool* pool;
  RingPort a, b;
  Arena arena;
  AdjacencyTable adjacencies;
  Publisher publisher;
  PlanBoard board;
  Counters counters;
  RecordRing punts[2] = {RecordRing(1 << 21), RecordRing(1 << 21)};
  RecordRing injects[2] = {RecordRing(1 << 20), RecordRing(1 << 20)};
  std::unique_ptr<HandoverRings> handover;
  std::unique_ptr<Worker> workers[2];
  std::atomic<int> wakes{0};
  const Frame plain = PipelineFixture::Udp("10.0.1.2", "198.18.7.7");
};

TEST_F(WorkerTest, ForwardsFromQueueToQueue) {
  Arrive(a, plain);
  EXPECT_EQ(workers[0]->RunOnce(), 3u);
  EXPECT_EQ(Sent(b).size(), 3u);
  EXPECT_EQ(totals(0).transmitted.Get(), 3u);
  EXPECT_EQ(workers[0]->RunOnce(), 0u);
  EXPECT_EQ(workers[0]->heartbeat(), 2u);
  ExpectConserved();
}

TEST_F(WorkerTest, WakesTheSlowPathAfterARoundThatPunted) {
  Arrive(a, PipelineFixture::Udp("10.0.1.2", "8.8.8.8"));
  workers[0]->RunOnce();
  EXPECT_EQ(wakes, 1);
  Arrive(a, plain);
  workers[0]->RunOnce();
  EXPECT_EQ(wakes, 1);
}

TEST_F(WorkerTest, HandsOverToTheWorkerThatOwnsTheQueue) {
  SetPlans({{.pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, /*owner=*/0);
  Arrive(a, plain);
  EXPECT_EQ(workers[1]->RunOnce(), 3u);
  EXPECT_TRUE(Sent(b).empty());
  EXPECT_EQ(totals(1).handed_out.Get(), 3u);
  EXPECT_EQ(workers[0]->RunOnce(), 3u);
  EXPECT_EQ(Sent(b).size(), 3u);
  EXPECT_EQ(totals(0).handed_in.Get(), 3u);
  EXPECT_EQ(counters.Read(publisher.current()->link(kB).tx_cell).packets, 3u);
  ExpectConserved();
}

TEST_F(WorkerTest, AFullInboxIsACountedDrop) {
  SetPlans({{.pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, /*owner=*/0);
  Arrive(a, plain, 100);
  while (workers[1]->RunOnce() != 0) {
  }
  EXPECT_EQ(totals(1).handed_out.Get(), 63u);
  EXPECT_EQ(drops(1, DropReason::kHandoverFull), 37u);
  while (workers[0]->RunOnce() != 0) {
  }
  EXPECT_EQ(Sent(b).size(), 63u);
  ExpectConserved();
}

TEST_F(WorkerTest, APacketOnItsWayToAnotherWorkerDiesWithItsLink) {
  SetPlans({{.pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, /*owner=*/0);
  Arrive(a, plain);
  workers[1]->RunOnce();
  Change([&](SnapshotBuilder& s) { ASSERT_TRUE(s.RemoveLink(kB).ok()); });
  workers[0]->RunOnce();
  EXPECT_TRUE(Sent(b).empty());
  EXPECT_EQ(drops(0, DropReason::kOutLinkDown), 3u);
  ExpectConserved();
}

TEST_F(WorkerTest, APacketOnItsWayDoesNotLeaveByAnotherLinkOfTheSameIndex) {
  SetPlans({{.pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, /*owner=*/0);
  Arrive(a, plain);
  workers[1]->RunOnce();
  Change([&](SnapshotBuilder& s) {
    LinkEntry other = publisher.current()->link(kB);
    other.mac = PipelineFixture::PortMac(9);
    ASSERT_TRUE(s.SetLink(other).ok());
  });
  workers[0]->RunOnce();
  EXPECT_TRUE(Sent(b).empty());
  EXPECT_EQ(drops(0, DropReason::kOutLinkDown), 3u);
}

TEST_F(WorkerTest, SendsFinishedFramesOfTheSlowPath) {
  Inject(0, kB, plain, /*generated=*/1);
  Inject(0, kB, plain, /*generated=*/0);
  Frame jumbo(9014, 0x5a);
  std::iota(jumbo.begin(), jumbo.end(), static_cast<uint8_t>(0));
  Inject(0, kB, jumbo, 1);
  Inject(0, 77, plain, 1);
  EXPECT_EQ(workers[0]->RunOnce(), 4u);
  EXPECT_THAT(Sent(b), testing::ElementsAre(plain, plain, jumbo));
  EXPECT_EQ(totals(0).generated.Get(), 3u);
  EXPECT_EQ(totals(0).handed_in.Get(), 1u);
  EXPECT_EQ(drops(0, DropReason::kOutLinkDown), 1u);
  ExpectConserved();
}

TEST_F(WorkerTest, WithoutAPoolFramesOfTheSlowPathAreCountedDrops) {
  SetPlans({{}, {}}, 0);
  Inject(0, kB, plain, 1);
  workers[0]->RunOnce();
  EXPECT_EQ(drops(0, DropReason::kNoBuffer), 1u);
  ExpectConserved();
}

TEST_F(WorkerTest, AReplacedPlanIsOutOfUseAfterTheGracePeriod) {
  ASSERT_TRUE(workers[0]->Start().ok());
  ASSERT_TRUE(workers[1]->Start().ok());
  bool dropped = false;
  // The queues move from worker 0 to worker 1 only when worker 0 has let go of them.
  SetPlans({{.pool = pool}, {.pool = pool}}, 0);
  publisher.AfterGrace([&] { dropped = true; });
  ASSERT_TRUE(Eventually([&] { return publisher.Reclaim(), dropped; }));
  SetPlans({{.pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, 1);
  Arrive(a, plain);
  EXPECT_TRUE(Eventually([&] { return totals(1).transmitted.Get() == 3; }));
  workers[0]->Stop();
  workers[1]->Stop();
  EXPECT_EQ(Sent(b).size(), 3u);
  ExpectConserved();
}

TEST_F(WorkerTest, AnIdleWorkerSleepsSeesPublicationsAndLosesNothingWhenPacketsCome) {
  ASSERT_TRUE(workers[0]->Start().ok());
  EXPECT_TRUE(Eventually([&] { return workers[0]->idle(); }));
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  absl::SleepFor(absl::Seconds(1));
  getrusage(RUSAGE_SELF, &after);
  const auto seconds = [](const rusage& r) {
    return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
  };
  const double share = seconds(after) - seconds(before);
  RecordProperty("idle_cpu_percent", static_cast<int>(share * 100));
  EXPECT_LT(share, 0.35) << "of a CPU, while idle";  // some 0.05 on a quiet machine; 1.0 if it polled

  Change([&](SnapshotBuilder&) {});
  const absl::Time published = absl::Now();
  EXPECT_TRUE(Eventually([&] { return publisher.AllSee(publisher.current()->epoch); }));
  RecordProperty("ack_microseconds", static_cast<int>(absl::ToInt64Microseconds(absl::Now() - published)));

  Arrive(a, plain, 512);
  EXPECT_TRUE(Eventually([&] { return totals(0).transmitted.Get() == 512; }));
  EXPECT_EQ(counters.lane(0).dropped(), 0u);
  workers[0]->Stop();
  EXPECT_FALSE(publisher.readers()[0].online) << "a stopped worker holds nothing";
}

TEST_F(WorkerTest, PollsWithoutSleepingWhenToldTo) {
  workers[0].reset();
  workers[0] = std::make_unique<Worker>(Worker::Options{.id = 0,
                                                        .may_sleep = false,
                                                        .publisher = &publisher,
                                                        .board = &board,
                                                        .adjacencies = &adjacencies,
                                                        .lane = &counters.lane(0),
                                                        .to_slow_path = &punts[0],
                                                        .from_slow_path = &injects[0]});
  ASSERT_TRUE(workers[0]->Start().ok());
  const uint64_t before = workers[0]->heartbeat();
  absl::SleepFor(Worker::kIdleAfter * 3);
  EXPECT_FALSE(workers[0]->idle());
  EXPECT_GT(workers[0]->heartbeat() - before, 10000u);
  workers[0]->Stop();
  ASSERT_TRUE(workers[0]->Start().ok()) << "it may start again";
  Arrive(a, plain);
  EXPECT_TRUE(Eventually([&] { return totals(0).transmitted.Get() == 3; }));
}

TEST_F(WorkerTest, TwoWorkersUnderTrafficAndPublicationsLoseNothing) {
  SetPlans({{.rx = {{b.id, 0}}, .pool = pool}, {.rx = {{a.id, 0}}, .pool = pool}}, /*owner=*/0);
  ASSERT_TRUE(workers[0]->Start().ok());
  ASSERT_TRUE(workers[1]->Start().ok());
  constexpr int kRounds = 300;
  uint64_t out = 0;
  for (int round = 0; round < kRounds; ++round) {
    Arrive(a, plain, 20);
    Change([&](SnapshotBuilder& s) {
      ASSERT_TRUE(s.SetRoute(kTableMain, IpPrefix::Of(Ipv4Address::FromHost(0x0b000000u + 256u * round), 24), 20).ok());
    });
    publisher.Reclaim();
    const uint64_t want = 20u * static_cast<uint64_t>(round + 1);
    ASSERT_TRUE(Eventually([&] { return (out += Sent(b).size()) == want; }));
  }
  workers[0]->Stop();
  workers[1]->Stop();
  EXPECT_EQ(out, 20u * kRounds);
  EXPECT_EQ(totals(1).handed_out.Get(), totals(0).handed_in.Get());
  ExpectConserved();
}

TEST_F(WorkerTest, RefusesToStartForAnInstructionSetThatIsNotThere) {
  workers[0].reset();
  setenv("SLUICE_ISA", "x86-64-v9", 1);
  Worker bad({.id = 0,
              .publisher = &publisher,
              .board = &board,
              .adjacencies = &adjacencies,
              .lane = &counters.lane(0),
              .to_slow_path = &punts[0],
              .from_slow_path = &injects[0]});
  unsetenv("SLUICE_ISA");
  EXPECT_EQ(bad.Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WorkerTest, RefusesToStartOnACpuThatItMayNotUse) {
  workers[0].reset();
  Worker bad({.id = 0,
              .cpu = 1023,
              .publisher = &publisher,
              .board = &board,
              .adjacencies = &adjacencies,
              .lane = &counters.lane(0),
              .to_slow_path = &punts[0],
              .from_slow_path = &injects[0]});
  EXPECT_EQ(bad.Start().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sluice
