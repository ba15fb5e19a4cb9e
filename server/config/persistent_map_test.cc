#include "server/config/persistent_map.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::config {
namespace {

struct Wide {
  uint64_t a = 0;
  uint64_t rest[4] = {};
  friend bool operator==(const Wide&, const Wide&) = default;
};

template <class Map, class Oracle>
void ExpectSame(const Map& map, const Oracle& oracle) {
  ASSERT_EQ(map.size(), oracle.size());
  auto it = map.begin();
  for (const auto& [key, value] : oracle) {
    ASSERT_TRUE(it.Valid());
    ASSERT_EQ(it.key(), key);
    ASSERT_EQ(it.value(), value);
    it.Next();
  }
  ASSERT_FALSE(it.Valid());
}

// Random operations against std::map, with old versions pinned and compared long after they were current.
template <class Value>
void AgreesWithOracle(uint32_t key_space, int operations, uint64_t seed, Value (*make)(uint64_t)) {
  std::mt19937_64 random(seed);
  PersistentMap<uint64_t, Value> map;
  std::map<uint64_t, Value> oracle;
  std::deque<std::pair<PersistentMap<uint64_t, Value>, std::map<uint64_t, Value>>> pinned;
  for (int i = 0; i < operations; ++i) {
    const uint64_t key = random() % key_space;
    // Phases of growth and of shrinking, so that merges happen at every level.
    const bool grow = (i / (operations / 6 + 1)) % 2 == 0;
    switch (random() % 4) {
      case 0: {
        const Value value = make(random());
        ASSERT_EQ(map.Insert(key, value), oracle.emplace(key, value).second);
        break;
      }
      case 1:
        if (grow) {
          const Value value = make(random());
          map.Assign(key, value);
          oracle[key] = value;
          break;
        }
        [[fallthrough]];
      case 2:
        if (!grow || random() % 4 == 0) {
          ASSERT_EQ(map.Erase(key), oracle.erase(key) == 1);
        }
        break;
      case 3: {
        const Value* found = map.Find(key);
        const auto expected = oracle.find(key);
        ASSERT_EQ(found != nullptr, expected != oracle.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, expected->second);
          const Value value = make(random());
          *map.FindMutable(key) = value;
          expected->second = value;
        }
        const auto bound = oracle.lower_bound(key + 1);
        const auto it = map.LowerBound(key + 1);
        ASSERT_EQ(it.Valid(), bound != oracle.end());
        if (it.Valid()) {
          ASSERT_EQ(it.key(), bound->first);
        }
        break;
      }
    }
    if (i % (operations / 16 + 1) == 0) pinned.emplace_back(map, oracle);
  }
  ExpectSame(map, oracle);
  for (const auto& [version, expected] : pinned) ExpectSame(version, expected);
}

TEST(PersistentMap, AgreesWithAnOrdinaryMapAndKeepsOldVersions) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    AgreesWithOracle<Wide>(200, 20000, seed, [](uint64_t v) { return Wide{v, {v, 1, 2, 3}}; });
    AgreesWithOracle<Wide>(100000, 200000, seed, [](uint64_t v) { return Wide{v, {v, 1, 2, 3}}; });
  }
}

TEST(PersistentMap, HoldsValuesThatOwnMemory) {
  AgreesWithOracle<std::string>(300, 20000, 7, [](uint64_t v) { return std::string(40, 'a' + v % 26); });
}

TEST(PersistentMap, DeepTreesShrinkToNothing) {
  struct Big {  // few per node: many levels
    uint64_t v = 0;
    char pad[300] = {};
  };
  PersistentMap<uint64_t, Big> map;
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 60000; ++i) keys.push_back(i * 2654435761u % (1u << 31));
  for (uint64_t key : keys) ASSERT_TRUE(map.Insert(key, Big{key, {}}));
  const PersistentMap<uint64_t, Big> full = map;
  for (uint64_t key : keys) ASSERT_TRUE(map.Erase(key));
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.MemoryBytes(), 0u);
  EXPECT_FALSE(map.begin().Valid());
  size_t n = 0;
  uint64_t last = 0;
  for (auto it = full.begin(); it.Valid(); it.Next(), ++n) {
    ASSERT_TRUE(n == 0 || last < it.key());
    last = it.key();
    ASSERT_EQ(it.value().v, it.key());
  }
  EXPECT_EQ(n, keys.size());
}

TEST(PersistentMap, ACopySharesEverythingUntilItIsChanged) {
  PersistentMap<uint64_t, Wide> map;
  for (uint64_t i = 0; i < 1000; ++i) map.Assign(i, Wide{i, {}});
  const PersistentMap<uint64_t, Wide> copy = map;
  EXPECT_TRUE(copy.SharesRootWith(map));
  EXPECT_FALSE(map.Insert(5, Wide{}) || map.Erase(5000));  // neither changes anything
  map.Assign(5, Wide{99, {}});
  EXPECT_FALSE(copy.SharesRootWith(map));
  EXPECT_EQ(copy.Find(5)->a, 5u);
  EXPECT_EQ(map.Find(5)->a, 99u);
}

TEST(PersistentMap, MemoryIsAtMostHalfAgainThePayload) {
  using Map = PersistentMap<uint64_t, Wide>;  // 48 bytes a record
  constexpr size_t kRecords = 300000;
  Map sorted, shuffled;
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < kRecords; ++i) {
    sorted.Assign(i, Wide{});
    shuffled.Assign(random(), Wide{});
  }
  EXPECT_LE(sorted.MemoryBytes(), kRecords * 48 * 3 / 2);
  EXPECT_LE(shuffled.MemoryBytes(), shuffled.size() * 48 * 3 / 2);
}

// For the thread sanitizer: readers walk and drop old versions while the writer goes on.
TEST(PersistentMap, ReadersHoldAndDropVersionsWhileTheWriterGoesOn) {
  std::mutex mutex;
  PersistentMap<uint64_t, Wide> current;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> walks{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        PersistentMap<uint64_t, Wide> mine;
        {
          const std::lock_guard<std::mutex> lock(mutex);
          mine = current;
        }
        size_t n = 0;
        for (auto it = mine.begin(); it.Valid(); it.Next(), ++n) ASSERT_EQ(it.value().a, it.value().rest[0]);
        ASSERT_EQ(n, mine.size());
        walks.fetch_add(1);
      }
    });
  }
  std::mt19937_64 random(1);
  PersistentMap<uint64_t, Wide> map;
  for (int batch = 0; batch < 400 || walks.load() < 20; ++batch) {
    for (int i = 0; i < 50; ++i) {
      const uint64_t key = random() % 3000;
      if (random() % 3 == 0) {
        map.Erase(key);
      } else {
        const uint64_t v = random();
        map.Assign(key, Wide{v, {v, 0, 0, 0}});
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    current = map;
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace sluice::config
