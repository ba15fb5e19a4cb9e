#include "dataplane/neighbor/adjacency.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sluice {
namespace {

NeighborKey Key4(LinkIndex link, uint32_t host) { return {link, Ipv4Address::FromHost(host)}; }
NeighborKey Key6(LinkIndex link, uint64_t high, uint64_t low) { return {link, Ipv6Address::FromHost(high, low)}; }

TEST(AdjacencyTable, FindsWhatWasAcquiredByLinkAndAddress) {
  AdjacencyTable table(100);
  const AdjacencyIndex a = *table.Acquire(Key4(1, 0x0a000001));
  const AdjacencyIndex b = *table.Acquire(Key4(2, 0x0a000001));
  const AdjacencyIndex c = *table.Acquire(Key6(1, 0xfe80000000000000, 1));
  EXPECT_NE(a, b);
  EXPECT_EQ(table.Find(1, Ipv4Address::FromHost(0x0a000001)), a);
  EXPECT_EQ(table.Find(2, Ipv4Address::FromHost(0x0a000001)), b);
  EXPECT_EQ(table.Find(3, Ipv4Address::FromHost(0x0a000001)), 0u);
  EXPECT_EQ(table.Find(1, Ipv6Address::FromHost(0xfe80000000000000, 1)), c);
  EXPECT_EQ(table.Find(1, Ipv6Address::FromHost(0xfe80000000000000, 2)), 0u);
  EXPECT_EQ(table.Key(b), Key4(2, 0x0a000001));
  EXPECT_EQ(table.Key(c), Key6(1, 0xfe80000000000000, 1));
  EXPECT_EQ(table.Find(Key6(1, 0xfe80000000000000, 1)), c);
}

// 10.0.0.1 and an IPv6 address whose bytes begin alike are two neighbours.
TEST(AdjacencyTable, FamiliesDoNotMix) {
  AdjacencyTable table(100);
  const AdjacencyIndex v4 = *table.Acquire(Key4(1, 0x0a000001));
  EXPECT_EQ(table.Find(1, Ipv6Address::FromHost(0x0a00000100000000, 0)), 0u);
  EXPECT_NE(*table.Acquire(Key6(1, 0x0a00000100000000, 0)), v4);
}

TEST(AdjacencyTable, RefusesKeysWithoutLinkOrAddress) {
  AdjacencyTable table(4);
  EXPECT_EQ(table.Acquire(Key4(0, 1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table.Acquire({1, IpAddress()}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table.size(), 0u);
}

TEST(AdjacencyTable, NewCellsAreUnusableAndWritesMoveTheVersion) {
  AdjacencyTable table(10);
  const AdjacencyIndex a = *table.Acquire(Key4(1, 1));
  EXPECT_FALSE(table.Read(a).usable());
  const MacAddress mac = *MacAddress::Parse("02:00:00:00:00:07");
  table.Write(a, mac, true, true);
  EXPECT_TRUE(table.Read(a).usable());
  EXPECT_TRUE(table.Read(a).wants_report());
  EXPECT_EQ(table.Read(a).mac(), mac);
  const uint64_t before = table.Read(a).bits();
  table.Write(a, mac, true, true);
  EXPECT_NE(table.Read(a).bits(), before);
  table.Write(a, MacAddress(), false, false);
  EXPECT_FALSE(table.Read(a).usable());
  EXPECT_FALSE(table.Read(0).usable());
}

TEST(AdjacencyTable, LivesUntilTheLastUserAndIsReusedOnlyAfterRecycle) {
  AdjacencyTable table(1);
  const AdjacencyIndex a = *table.Acquire(Key4(1, 1));
  EXPECT_EQ(*table.Acquire(Key4(1, 1)), a);
  table.Write(a, *MacAddress::Parse("02:00:00:00:00:07"), true, false);
  EXPECT_FALSE(table.Release(a));
  EXPECT_EQ(table.Find(1, Ipv4Address::FromHost(1)), a);
  EXPECT_TRUE(table.Release(a));
  EXPECT_EQ(table.Find(1, Ipv4Address::FromHost(1)), 0u);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(table.Read(a).usable()) << "workers in the old snapshot still forward";
  EXPECT_EQ(table.Acquire(Key4(1, 2)).status().code(), absl::StatusCode::kResourceExhausted);
  table.Recycle(a);
  EXPECT_EQ(*table.Acquire(Key4(1, 2)), a);
  EXPECT_FALSE(table.Read(a).usable()) << "the next owner inherits nothing";
  EXPECT_TRUE(table.Release(a));
  EXPECT_FALSE(table.Release(a)) << "one release too many changes nothing";
}

TEST(AdjacencyTable, FillsToItsCapacityAndNoFurther) {
  for (const size_t capacity : {1, 7, 8, 9, 100, 5000}) {
    AdjacencyTable table(capacity);
    for (size_t i = 0; i < capacity; ++i) ASSERT_TRUE(table.Acquire(Key4(1 + i % 3, i)).ok()) << capacity << " " << i;
    EXPECT_EQ(table.Acquire(Key4(9, 0)).status().code(), absl::StatusCode::kResourceExhausted);
    for (size_t i = 0; i < capacity; ++i) ASSERT_NE(table.Find(1 + i % 3, Ipv4Address::FromHost(i)), 0u);
    EXPECT_EQ(table.size(), capacity);
  }
}

// Against an ordinary map, with churn at full load, so that buckets overflow and empty again.
TEST(AdjacencyTable, AgreesWithAMapUnderChurn) {
  constexpr size_t kCapacity = 512;
  AdjacencyTable table(kCapacity);
  absl::flat_hash_map<uint32_t, AdjacencyIndex> oracle;
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t host = random() % (2 * kCapacity);
    if (oracle.contains(host)) {
      ASSERT_EQ(table.Find(1, Ipv4Address::FromHost(host)), oracle[host]);
      ASSERT_TRUE(table.Release(oracle[host]));
      table.Recycle(oracle[host]);
      oracle.erase(host);
    } else {
      ASSERT_EQ(table.Find(1, Ipv4Address::FromHost(host)), 0u);
      auto index = table.Acquire(Key4(1, host));
      ASSERT_EQ(index.ok(), oracle.size() < kCapacity);
      if (index.ok()) oracle[host] = *index;
    }
    ASSERT_EQ(table.size(), oracle.size());
  }
}

// One writer adds, removes and (after a grace period) reuses entries; readers must never be given the cell of another
// key. The key is written into the cell, so a reader can tell.
TEST(AdjacencyTable, ReadersNeverGetSomebodyElsesCell) {
  constexpr int kReaders = 2;
  constexpr uint32_t kHosts = 64;
  AdjacencyTable table(40);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> quiescent[kReaders] = {};
  std::atomic<uint64_t> found{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      uint64_t hits = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const uint32_t host = 1 + random() % kHosts;
        if (const AdjacencyIndex i = table.Find(1, Ipv4Address::FromHost(host)); i != 0) {
          const Adjacency a = table.Read(i);
          if (a.usable()) {
            EXPECT_EQ(a.mac().ToBits(), host);
            ++hits;
          }
          EXPECT_EQ(table.Key(i), Key4(1, host));
        }
        quiescent[r].fetch_add(1, std::memory_order_acq_rel);
      }
      found += hits;
    });
  }
  struct Leaving {
    AdjacencyIndex index;
    uint64_t seen[kReaders];
  };
  std::deque<Leaving> leaving;  // wait for their grace period
  const auto passed = [&](const Leaving& l) {
    for (int r = 0; r < kReaders; ++r) {
      if (quiescent[r].load(std::memory_order_acquire) < l.seen[r] + 2) return false;
    }
    return true;
  };
  absl::flat_hash_map<uint32_t, AdjacencyIndex> live;
  std::mt19937 random(99);
  int recycled = 0;
  for (int i = 0; i < 2000000 && recycled < 2000; ++i) {
    const uint32_t host = 1 + random() % kHosts;
    if (auto it = live.find(host); it != live.end()) {
      ASSERT_TRUE(table.Release(it->second));
      Leaving& l = leaving.emplace_back(Leaving{it->second, {}});
      for (int r = 0; r < kReaders; ++r) l.seen[r] = quiescent[r].load(std::memory_order_acquire);
      live.erase(it);
    } else if (auto index = table.Acquire(Key4(1, host)); index.ok()) {
      table.Write(*index, MacAddress::FromBits(host), true, false);
      live[host] = *index;
    } else {
      std::this_thread::yield();
    }
    for (; !leaving.empty() && passed(leaving.front()); leaving.pop_front(), ++recycled) {
      table.Recycle(leaving.front().index);
    }
  }
  EXPECT_GT(recycled, 0);
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_GT(found.load(), 0u);
}

}  // namespace
}  // namespace sluice
