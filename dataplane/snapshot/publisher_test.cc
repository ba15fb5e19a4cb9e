#include "dataplane/snapshot/publisher.h"

#include <atomic>
#include <thread>

#include "dataplane/snapshot/builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// Publishes a snapshot in which 10/8 and 11/8 both lead to `leaf`.
void PublishLeaf(Arena& arena, Publisher& publisher, uint32_t leaf) {
  SnapshotBuilder b(arena, *publisher.current());
  ASSERT_TRUE(b.SetRoute(kTableMain, *IpPrefix::Parse("10.0.0.0/8"), leaf).ok());
  ASSERT_TRUE(b.SetRoute(kTableMain, *IpPrefix::Parse("11.0.0.0/9"), leaf).ok());
  auto built = b.Finish(publisher.current()->epoch + 1, leaf);
  publisher.Publish(std::move(built.snapshot), std::move(built.retired));
}

TEST(Publisher, AStoppedReaderHoldsMemoryAndIsNamed) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  Publisher::Reader* slow = publisher.AddReader("worker-1");
  Publisher::Reader* quick = publisher.AddReader("worker-2");
  PublishLeaf(arena, publisher, 100);
  const Snapshot* held = slow->Enter();
  for (uint32_t leaf = 101; leaf < 120; ++leaf) {
    PublishLeaf(arena, publisher, leaf);
    quick->Enter();
    quick->Quiesce();
  }
  publisher.Reclaim();
  EXPECT_GE(publisher.pending_objects(), 19u);
  EXPECT_GT(publisher.pending_bytes(), 0u);
  EXPECT_THAT(publisher.Lagging(publisher.current()->epoch), testing::ElementsAre("worker-1"));
  EXPECT_FALSE(publisher.AllSee(publisher.current()->epoch));
  EXPECT_EQ(LookupRoute(*held, *Ipv4Address::Parse("10.1.1.1")).nexthop, 100u);
  slow->Quiesce();
  slow->Enter();
  EXPECT_TRUE(publisher.AllSee(publisher.current()->epoch));
  publisher.Reclaim();
  EXPECT_EQ(publisher.pending_objects(), 0u);
  EXPECT_EQ(publisher.pending_bytes(), 0u);
  slow->Offline();
  quick->Offline();
}

TEST(Publisher, AnOfflineReaderHoldsNothingAndCountsAsSeeing) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  Publisher::Reader* r = publisher.AddReader("worker-1");
  r->Enter();
  r->Offline();
  PublishLeaf(arena, publisher, 100);
  EXPECT_TRUE(publisher.AllSee(1));
  EXPECT_EQ(publisher.Reclaim(), 1u);
  EXPECT_EQ(r->Enter()->generation, 100u);
  r->Offline();
  publisher.RemoveReader(r);
  EXPECT_TRUE(publisher.readers().empty());
}

TEST(Publisher, AfterGraceRunsInOrderAndOnlyThen) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  Publisher::Reader* r = publisher.AddReader("worker-1");
  r->Enter();
  std::vector<int> ran;
  publisher.AfterGrace([&] { ran.push_back(1); });
  publisher.AfterGrace([&] { ran.push_back(2); });
  publisher.Reclaim();
  EXPECT_TRUE(ran.empty());
  r->Quiesce();
  publisher.Reclaim();
  EXPECT_THAT(ran, testing::ElementsAre(1, 2));
  r->Offline();
}

TEST(Publisher, ReadersSeeWholeSnapshotsWhileTheWriterPublishesAndFrees) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PublishLeaf(arena, publisher, 100);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    Publisher::Reader* reader = publisher.AddReader("worker");
    threads.emplace_back([&stop, reader] {
      uint64_t last = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const Snapshot* s = reader->Enter();
        for (int n = 0; n < 4; ++n) {
          ASSERT_EQ(LookupRoute(*s, *Ipv4Address::Parse("10.1.1.1")).nexthop, s->generation);
          ASSERT_EQ(LookupRoute(*s, *Ipv4Address::Parse("11.1.1.1")).nexthop, s->generation);
        }
        ASSERT_GE(s->epoch, last);
        last = s->epoch;
        reader->Quiesce();
      }
      reader->Offline();
    });
  }
  const size_t blocks = arena.blocks();
  for (uint32_t leaf = 101; leaf < 10101; ++leaf) {
    PublishLeaf(arena, publisher, leaf);
    publisher.Reclaim();
    if (leaf % 64 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  publisher.Reclaim();
  EXPECT_EQ(publisher.pending_objects(), 0u);
  EXPECT_EQ(publisher.pending_bytes(), 0u);
  EXPECT_EQ(arena.blocks(), blocks);
}

// A worker that parks between bursts: whoever is told that everybody sees an epoch never meets an older one again.
TEST(Publisher, AllSeeIsTrueOnlyWhenNoReaderHoldsAnOlderSnapshot) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  PublishLeaf(arena, publisher, 100);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> promised{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    Publisher::Reader* reader = publisher.AddReader("worker");
    threads.emplace_back([&, reader] {
      while (!stop.load(std::memory_order_relaxed)) {
        // Read before Enter: what was promised by then must be seen.
        const uint64_t epoch = promised.load(std::memory_order_seq_cst);
        const Snapshot* s = reader->Enter();
        ASSERT_GE(s->epoch, epoch);
        reader->Offline();
      }
    });
  }
  for (uint32_t leaf = 101; leaf < 2101; ++leaf) {
    PublishLeaf(arena, publisher, leaf);
    const uint64_t epoch = publisher.current()->epoch;
    while (!publisher.AllSee(epoch)) std::this_thread::yield();
    promised.store(epoch, std::memory_order_seq_cst);
    publisher.Reclaim();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  for (const Publisher::ReaderState& r : publisher.readers()) EXPECT_FALSE(r.online);
  publisher.Reclaim();
  EXPECT_EQ(publisher.pending_objects(), 0u);
}

TEST(Publisher, WhatRunsAfterTheGracePeriodMayAskForAnother) {
  Arena arena;
  int ran = 0;
  {
    Publisher publisher(MakeEmptySnapshot(arena));
    Publisher::Reader* r = publisher.AddReader("worker-1");
    r->Enter();
    publisher.AfterGrace([&] {
      ++ran;
      publisher.AfterGrace([&] { ++ran; });
    });
    r->Quiesce();
    EXPECT_EQ(publisher.Reclaim(), 1u);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(publisher.Reclaim(), 0u) << "the second began after the reader's report";
    r->Offline();
  }
  EXPECT_EQ(ran, 2);
}

TEST(Publisher, TakesAsManyReadersAsItSaysAndGivesPlacesAgain) {
  Arena arena;
  Publisher publisher(MakeEmptySnapshot(arena));
  std::vector<Publisher::Reader*> readers;
  for (uint32_t i = 0; i < Publisher::kMaxReaders; ++i) {
    readers.push_back(publisher.AddReader("r"));
    ASSERT_NE(readers.back(), nullptr);
  }
  EXPECT_EQ(publisher.AddReader("one more"), nullptr);
  publisher.RemoveReader(readers[64]);
  EXPECT_NE(publisher.AddReader("again"), nullptr);
}

}  // namespace
}  // namespace sluice
