// The slow path with its thread: waking, sleeping, commands, dumps and publications at the same time.
#include <time.h>

#include <atomic>
#include <thread>

#include "dataplane/worker/slow_path_fixture.h"

namespace sluice {
namespace {

class SlowPathThreadTest : public SlowPathFixture {
 protected:
  // This thread is the worker: waits for so many frames.
  std::vector<Out> WaitFor(size_t count) {
    std::vector<Out> all;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (all.size() < count && std::chrono::steady_clock::now() < deadline) {
      for (Out& out : Take()) all.push_back(std::move(out));
      std::this_thread::yield();
    }
    return all;
  }
};

TEST_F(SlowPathThreadTest, AnswersWhetherWokenOrNot) {
  KnowHosts();
  slow_path_->Start();
  for (int i = 0; i < 20; ++i) {
    Local(Echo(A("10.0.0.2"), A("10.0.0.1")));
    if (i % 2 == 0) slow_path_->Wake();
    ASSERT_THAT(WaitFor(1), testing::SizeIs(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // it sleeps by then
  }
  slow_path_->Stop();
}

TEST_F(SlowPathThreadTest, StopsAndStartsAgainWithWhatWasHeld) {
  slow_path_->Start();
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  slow_path_->Wake();
  ASSERT_THAT(WaitFor(1), testing::SizeIs(1));
  slow_path_->Stop();
  slow_path_->Stop();
  EXPECT_THAT(slow_path_->DumpNeighbors(), testing::SizeIs(1));
  slow_path_->Start();
  ArpReplyFrom("10.0.2.50", kHostMac, 2);
  slow_path_->Wake();
  ASSERT_THAT(WaitFor(1), testing::SizeIs(1));
  slow_path_->Stop();
}

TEST_F(SlowPathThreadTest, ASleepingSlowPathHoldsUpNeitherAcksNorGracePeriods) {
  slow_path_->Start();
  for (uint64_t epoch = 2; epoch < 50; ++epoch) {
    SnapshotBuilder b(arena_, *publisher_->current());
    Route(b, kTableMain, "192.0.2.0/24", kVia1);
    auto built = b.Finish(epoch, epoch);
    publisher_->Publish(std::move(built.snapshot), std::move(built.retired));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!publisher_->AllSee(epoch) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(publisher_->AllSee(epoch));
    publisher_->Reclaim();
  }
  slow_path_->Stop();
}

// A dump sees every command that was issued before it, under load too.
TEST_F(SlowPathThreadTest, ADumpSeesWhatWasCommandedBefore) {
  slow_path_->Start();
  std::atomic<bool> stop{false};
  std::thread control([&] {
    for (int i = 0; i < 100; ++i) {
      const NeighborKey key{1, Ipv4Address::FromHost(0x0a000100 + i)};
      EXPECT_TRUE(slow_path_->SetPermanentNeighbor(key, kHostMac).ok());
      bool seen = false;
      for (const NeighborInfo& n : slow_path_->DumpNeighbors()) {
        seen |= n.address == key.address && n.state == NeighborState::kPermanent;
      }
      EXPECT_TRUE(seen);
      slow_path_->RemoveNeighbor(key);
      for (const NeighborInfo& n : slow_path_->DumpNeighbors()) EXPECT_NE(n.address, key.address);
    }
    stop = true;
  });
  // This thread is the worker, and keeps it busy.
  const Bytes packet = Udp(A("10.0.0.2"), A("203.0.113.5"), 20);
  uint32_t host = 0;
  while (!stop) {
    Resolve(packet, Ipv4Address::FromHost(0x0a0a0000 + host++ % 2000));
    if (host % 64 == 0) {
      slow_path_->Wake();
      Take();
    }
  }
  control.join();
  slow_path_->Stop();
  now_ = 1u << 30;  // rounds by hand may follow; the clock does not run back
  Round();
}

TEST_F(SlowPathThreadTest, AnIdleThreadCostsLittle) {
  slow_path_->Start();
  clockid_t clock;
  timespec before, after;
  clock_getcpuclockid(getpid(), &clock);
  clock_gettime(clock, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  clock_gettime(clock, &after);
  slow_path_->Stop();
  const double used =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  RecordProperty("cpu_ms_in_500", static_cast<int>(used * 1000));
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(used, 0.05) << "ten percent of the time";
#endif
}

}  // namespace
}  // namespace sluice
