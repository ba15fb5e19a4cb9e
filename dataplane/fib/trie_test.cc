#include "dataplane/fib/trie.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <thread>

#include "dataplane/fib/real_prefixes.h"
#include "dataplane/fib/trie_test_util.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kOperations = 250'000;
#else
constexpr size_t kOperations = 1'000'000;
#endif

template <class Key>
class TrieTest : public testing::Test {
 protected:
  using Table = Trie<Key>;
  using Prefix = typename Table::Prefix;
  using Route = typename Table::Route;

  Leaf Lookup(const Table& t, const Key& key) const { return t.Lookup(arena_.base(), key); }

  // Expects Lookup, LookupPrefix and (bound >= 0) its bounded form to answer as the oracle does.
  static void ExpectSame(const Arena& arena, const Table& table, const Oracle<Key>& oracle, const Key& key, int bound) {
    const auto want = oracle.Lookup(key);
    ASSERT_EQ(table.Lookup(arena.base(), key), want.leaf);
    auto got = table.LookupPrefix(arena.base(), key);
    ASSERT_EQ(got.leaf, want.leaf);
    ASSERT_EQ(got.length, want.length);
    if (bound < 0) return;
    const auto want_bounded = oracle.Lookup(key, bound);
    got = table.LookupPrefix(arena.base(), key, bound);
    ASSERT_EQ(got.leaf, want_bounded.leaf);
    ASSERT_EQ(got.length, want_bounded.length);
  }

  void ExpectExactly(const Table& table, const Oracle<Key>& oracle) {
    ASSERT_EQ(table.size(), oracle.size());
    std::set<Prefix> seen;
    table.ForEach(arena_.base(), [&](const Prefix& p, Leaf leaf) {
      ASSERT_TRUE(seen.insert(p).second);
      ASSERT_EQ(oracle.Get(p), leaf);
      ASSERT_EQ(table.Get(arena_.base(), p), leaf);
    });
    ASSERT_EQ(seen.size(), oracle.size());
  }

  Arena arena_;
};

using Keys = testing::Types<uint32_t, Ipv6Key>;
TYPED_TEST_SUITE(TrieTest, Keys);

// A version that a slow reader still holds, and what the oracle said of it when it was the newest.
template <class Key>
struct Pinned {
  Trie<Key> table;
  std::vector<std::pair<Key, Leaf>> answers;
  RetiredBlocks replaced;  // by the commit after it
};

// Keys at and around the boundaries of `prefix`, and one inside.
template <class Key>
std::array<Key, 5> KeysAround(const typename Trie<Key>::Prefix& prefix, Random& random) {
  const Key last = LastOf<Key>(prefix);
  const Key host = HostMask(prefix.length, static_cast<Key*>(nullptr));
  const Key noise = RandomKey(random, static_cast<Key*>(nullptr));
  return {prefix.key, last, Plus(prefix.key, -1), Plus(last, 1), Or(prefix.key, AndNot(host, noise))};
}

TYPED_TEST(TrieTest, AnswersAsTheOracleAfterEveryPublicationAndInPinnedOldVersions) {
  using Key = TypeParam;
  using Table = Trie<Key>;
  using Route = typename Table::Route;
  PrefixSource<Key> source(7);
  Random& random = source.random();
  Oracle<Key> oracle;
  Table table;
  std::vector<typename Table::Prefix> present;  // and some that were removed
  std::deque<Pinned<Key>> pinned;
  size_t target = 100, keep = 8, became_large = 0, became_small = 0;
  bool was_large = false;

  for (size_t done = 0; done < kOperations;) {
    std::vector<Route> batch(random() % 8 == 0 ? 1 + random() % 200 : 1 + random() % 8);
    for (Route& r : batch) {  // leaf 0: remove
      const bool add = random() % 100 < (oracle.size() < target ? 75u : 35u);
      if (present.empty() || random() % 100 < (add ? 88u : 10u)) {
        r.prefix = source.Next();
      } else {
        std::swap(present[random() % present.size()], present.back());
        r.prefix = present.back();
        if (!add) present.pop_back();
      }
      if (!add) continue;
      r.leaf = 1 + static_cast<Leaf>(random() % (random() % 2 ? 4 : 1000)) + (random() % 16 ? 0 : 1u << 31);
    }
    done += batch.size();

    Pinned<Key> before{table, {}, {}};
    for (const Route& r : batch) {
      for (const Key& key : KeysAround<Key>(r.prefix, random))
        before.answers.emplace_back(key, oracle.Lookup(key).leaf);
    }
    Edit edit(this->arena_);
    for (const Route& r : batch) {
      if (r.leaf != 0) {
        if (oracle.Get(r.prefix) == 0) present.push_back(r.prefix);
        ASSERT_TRUE(table.Set(edit, r.prefix, r.leaf).ok());
        oracle.Set(r.prefix, r.leaf);
      } else {
        if (oracle.Get(r.prefix) != 0 && random() % 4 == 0) present.push_back(r.prefix);
        ASSERT_TRUE(table.Remove(edit, r.prefix).ok());
        oracle.Remove(r.prefix);
      }
    }
    before.replaced = edit.Commit();

    ASSERT_EQ(table.size(), oracle.size());
    for (const Route& r : batch) {
      ASSERT_EQ(table.Get(this->arena_.base(), r.prefix), oracle.Get(r.prefix));
      for (const Key& key : KeysAround<Key>(r.prefix, random)) {
        const int bound = random() % 4 ? -1 : static_cast<int>(random() % (Table::kMaxLength + 1));
        ASSERT_NO_FATAL_FAILURE(TestFixture::ExpectSame(this->arena_, table, oracle, key, bound));
      }
    }
    const bool large = table.size() > Table::kSmallLimit || (was_large && table.size() >= Table::kLargeLimit);
    became_large += large && !was_large;
    became_small += was_large && !large;
    was_large = large;

    pinned.push_back(std::move(before));
    for (size_t i = 0; i < pinned.size(); ++i) {
      if (i + 1 < pinned.size() && random() % 8) continue;
      for (const auto& [key, leaf] : pinned[i].answers) {
        ASSERT_EQ(this->Lookup(pinned[i].table, key), leaf) << "a version " << pinned.size() - i << " commits old";
      }
    }
    while (pinned.size() > keep) pinned.pop_front();  // no reader holds it: what it alone used is freed
    if (random() % 500 == 0) keep = random() % 3 == 0 ? 60 : random() % 8;
    if (random() % 1500 == 0) {
      constexpr size_t kTargets[] = {0, 20, 150, 1500, 10000, 12000, 20000};
      target = kTargets[random() % std::size(kTargets)];
    }
    if (random() % 2000 == 0) {
      ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
      pinned.clear();
      ASSERT_EQ(this->arena_.used_bytes(), table.memory_bytes());
    }
  }
  EXPECT_GT(became_large, 0u);
  if (kOperations >= 1'000'000) {
    EXPECT_GT(became_small, 0u);  // the short run of sanitizer builds does not get there
  }
  ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
  pinned.clear();
  EXPECT_EQ(this->arena_.used_bytes(), table.memory_bytes());
  for (const Route& r : oracle.Sorted()) {
    Edit edit(this->arena_);
    ASSERT_TRUE(table.Remove(edit, r.prefix).ok());
    (void)edit.Commit();
  }
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.memory_bytes(), 0u);
  EXPECT_EQ(this->arena_.blocks(), 0u);
}

// What a table is depends on its routes alone: building in one go, and any history, give blocks of the same size.
TYPED_TEST(TrieTest, HasTheSameShapeWhateverItsHistory) {
  using Key = TypeParam;
  using Table = Trie<Key>;
  for (size_t size : {size_t{1}, size_t{7}, size_t{60}, size_t{200}, size_t{1100}, size_t{Table::kSmallLimit + 100}}) {
    PrefixSource<Key> source(size);
    Random& random = source.random();
    Oracle<Key> oracle;
    Table table;
    Edit edit(this->arena_);
    while (oracle.size() < 2 * size + 10) {
      const auto p = source.Next();
      ASSERT_TRUE(table.Set(edit, p, 1).ok());
      oracle.Set(p, 1);
    }
    auto routes = oracle.Sorted();
    std::shuffle(routes.begin(), routes.end(), random);
    for (auto& r : routes) {
      if (oracle.size() > size) {
        ASSERT_TRUE(table.Remove(edit, r.prefix).ok());
        oracle.Remove(r.prefix);
      } else {
        const Leaf leaf = 1 + random() % 5;
        ASSERT_TRUE(table.Set(edit, r.prefix, leaf).ok());
        oracle.Set(r.prefix, leaf);
      }
    }
    Table built;
    ASSERT_TRUE(built.Assign(edit, oracle.Sorted()).ok());
    EXPECT_EQ(built.memory_bytes(), table.memory_bytes()) << size;
    ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(built, oracle));
    ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
    for (const auto& r : oracle.Sorted()) {
      for (const Key& key : KeysAround<Key>(r.prefix, random)) {
        ASSERT_NO_FATAL_FAILURE(TestFixture::ExpectSame(this->arena_, built, oracle, key, 24));
      }
    }
    table.Clear(edit);
    built.Clear(edit);
    (void)edit.Commit();
    ASSERT_EQ(this->arena_.blocks(), 0u);
  }
}

TYPED_TEST(TrieTest, AFailedAllocationAnywhereLeavesTheOldVersionAndTheArenaAsTheyWere) {
  using Key = TypeParam;
  using Table = Trie<Key>;
  size_t failures = 0;
  constexpr size_t kSmall = Table::kSmallLimit, kLarge = Table::kLargeLimit;
  for (size_t size : {size_t{0}, size_t{1}, size_t{40}, kSmall - 1, kSmall, kSmall + 500, kLarge}) {
    PrefixSource<Key> source(size + 1);
    Random& random = source.random();
    Oracle<Key> oracle;
    while (oracle.size() < size || (size == kLarge && oracle.size() <= kSmall))
      oracle.Set(source.Next(), 1 + random() % 9);
    Table table;
    Edit first(this->arena_);
    ASSERT_TRUE(table.Assign(first, oracle.Sorted()).ok());
    for (const auto& r : oracle.Sorted()) {  // down to the edge where a large table becomes small
      if (oracle.size() == size) break;
      ASSERT_TRUE(table.Remove(first, r.prefix).ok());
      oracle.Remove(r.prefix);
    }
    (void)first.Commit();
    const size_t blocks = this->arena_.blocks(), bytes = this->arena_.used_bytes();

    for (int round = 0; round < 6; ++round) {
      const auto routes = oracle.Sorted();
      std::vector<typename Table::Route> batch(1 + random() % 4);
      for (auto& r : batch) {
        r.prefix = routes.empty() || random() % 2 ? source.Next() : routes[random() % routes.size()].prefix;
        r.leaf = static_cast<Leaf>(random() % 3);
      }
      if (round == 0 && !routes.empty()) batch = {{routes[0].prefix, 0}};
      for (size_t fail = 0;; ++fail) {
        ASSERT_LT(fail, 20000u);
        Table next = table;
        Edit edit(this->arena_);
        edit.FailAllocationAfter(fail);
        absl::Status status;
        for (const auto& r : batch) {
          const Table as_before = next;
          status = r.leaf != 0 ? next.Set(edit, r.prefix, r.leaf) : next.Remove(edit, r.prefix);
          if (status.ok()) continue;
          ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
          ASSERT_EQ(std::memcmp(&next, &as_before, sizeof next), 0) << "a refused change moved the handle";
          break;
        }
        edit.Abort();
        ASSERT_EQ(this->arena_.blocks(), blocks);
        ASSERT_EQ(this->arena_.used_bytes(), bytes);
        if (status.ok()) break;
        ++failures;
        // A rebuild has thousands of allocation points: the first hundred, then a sample.
        if (fail > 100) fail += 97;
        for (const auto& r : batch) {
          for (const Key& key : KeysAround<Key>(r.prefix, random)) {
            ASSERT_EQ(this->Lookup(table, key), oracle.Lookup(key).leaf);
          }
        }
      }
      ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
    }
    Edit last(this->arena_);
    table.Clear(last);
    (void)last.Commit();
    ASSERT_EQ(this->arena_.blocks(), 0u);
  }
  EXPECT_GT(failures, 200u);
}

TYPED_TEST(TrieTest, AFullArenaRefusesAndTheOldVersionLivesOn) {
  using Key = TypeParam;
  Arena arena(2 << 20);
  PrefixSource<Key> source(3);
  Trie<Key> table;
  Oracle<Key> oracle;
  size_t refused = 0;
  for (int i = 0; i < 200000 && refused < 3; ++i) {
    const auto p = source.Next();
    Edit edit(arena);
    const absl::Status status = table.Set(edit, p, 5);
    if (status.ok()) {
      (void)edit.Commit();
      oracle.Set(p, 5);
    } else {
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      edit.Abort();
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3u);
  for (const auto& r : oracle.Sorted()) ASSERT_EQ(table.Lookup(arena.base(), r.prefix.key), 5u);
}

TYPED_TEST(TrieTest, RefusesWhatIsNotARoute) {
  using Table = typename TestFixture::Table;
  Edit edit(this->arena_);
  Table table;
  const auto code = [](const absl::Status& s) { return s.code(); };
  const TypeParam one = Plus(TypeParam{}, 1);
  constexpr uint8_t kHost = Table::kMaxLength;
  EXPECT_EQ(code(table.Set(edit, {one, kHost - 1}, 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table.Set(edit, {one, 0}, 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table.Set(edit, {one, kHost + 1}, 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table.Remove(edit, {one, kHost + 1})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table.Set(edit, {one, kHost}, 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table.Set(edit, {one, kHost}, 1u << 30)), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(table.Remove(edit, {one, kHost}).ok());
  EXPECT_TRUE(table.Set(edit, {one, kHost}, 0xbfffffffu).ok());
  EXPECT_EQ(this->Lookup(table, one), 0xbfffffffu);
  EXPECT_EQ(code(table.Assign(edit, {{{one, kHost}, 1}, {{one, kHost}, 2}})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(this->Lookup(table, one), 0xbfffffffu);
}

TYPED_TEST(TrieTest, AHundredRoutesFitIn16KiB) {
  using Key = TypeParam;
  constexpr int kMax = Trie<Key>::kMaxLength;
  Random random(1);
  const auto measure = [&](auto&& prefix) {
    Oracle<Key> oracle;
    while (oracle.size() < 100) oracle.Set(prefix(), 1 + static_cast<Leaf>(oracle.size()));
    Trie<Key> table;
    Edit edit(this->arena_);
    for (const auto& r : oracle.Sorted()) EXPECT_TRUE(table.Set(edit, r.prefix, r.leaf).ok());
    (void)edit.Commit();
    EXPECT_EQ(table.memory_bytes(), this->arena_.used_bytes());
    const size_t bytes = table.memory_bytes();
    Edit clear(this->arena_);
    table.Clear(clear);
    (void)clear.Commit();
    return bytes;
  };
  const auto any = [&](int length) {
    return typename Trie<Key>::Prefix{Network(RandomKey(random, static_cast<Key*>(nullptr)), length),
                                      static_cast<uint8_t>(length)};
  };
  for (int length = 7; length <= kMax; ++length) EXPECT_LE(measure([&] { return any(length); }), 16384u) << length;
  for (int seed = 0; seed < 100; ++seed) {
    PrefixSource<Key> source(seed);
    EXPECT_LE(measure([&] { return source.Next(); }), 16384u) << seed;
    EXPECT_LE(measure([&] { return any(static_cast<int>(random() % (kMax + 1))); }), 16384u) << seed;
    const Key one = any(kMax).key;
    const int most = kMax - static_cast<int>(random() % 3);  // a tower of nested prefixes, with neighbours
    EXPECT_LE(measure([&] {
                const int length = static_cast<int>(random() % (most + 1));
                return typename Trie<Key>::Prefix{Network(Plus(one, static_cast<int>(random() % 512)), length),
                                                  static_cast<uint8_t>(length)};
              }),
              16384u)
        << seed;
  }
}

TYPED_TEST(TrieTest, HoldsTheRealTable) {
  using Key = TypeParam;
  constexpr bool kV4 = std::is_same_v<Key, uint32_t>;
  // One leaf for each ASN: nothing that neighbours share by chance.
  const auto routes = ReadRealPrefixes<Key>(1u << 29);
  ASSERT_EQ(routes.size(), kV4 ? 564'579u : 166'385u);
  Trie<Key> table, built;
  Edit edit(this->arena_);
  for (const auto& r : routes) ASSERT_TRUE(table.Set(edit, r.prefix, r.leaf).ok());
  (void)edit.Commit();
  EXPECT_EQ(this->arena_.used_bytes(), table.memory_bytes());
  EXPECT_LE(table.memory_bytes(), kV4 ? 12'000'000u : 8'000'000u);
  this->RecordProperty("bytes", std::to_string(table.memory_bytes()));
  std::printf("%zu routes: %zu bytes\n", routes.size(), table.memory_bytes());
  Edit again(this->arena_);
  ASSERT_TRUE(built.Assign(again, routes).ok());
  EXPECT_EQ(built.memory_bytes(), table.memory_bytes());
  for (const auto& r : routes) {  // they do not nest
    ASSERT_EQ(this->Lookup(table, r.prefix.key), r.leaf);
    ASSERT_EQ(this->Lookup(built, LastOf<Key>(r.prefix)), r.leaf);
    ASSERT_EQ(table.LookupPrefix(this->arena_.base(), r.prefix.key).length, r.prefix.length);
  }
  built.Clear(again);
  table.Clear(again);
  (void)again.Commit();
  EXPECT_EQ(this->arena_.blocks(), 0u);
}

TYPED_TEST(TrieTest, BatchesAnswerAsSingleLookups) {
  using Key = TypeParam;
  PrefixSource<Key> source(5);
  for (size_t size : {0, 1, 500, 20000}) {
    Trie<Key> table;
    Edit edit(this->arena_);
    std::vector<Key> keys;
    for (size_t i = 0; i < size; ++i) {
      const auto p = source.Next();
      ASSERT_TRUE(table.Set(edit, p, 1 + static_cast<Leaf>(i)).ok());
      for (const Key& key : KeysAround<Key>(p, source.random())) keys.push_back(key);
    }
    for (int i = 0; i < 1000; ++i) keys.push_back(RandomKey(source.random(), static_cast<Key*>(nullptr)));
    for (size_t at = 0; at < keys.size();) {
      const size_t count = std::min<size_t>(keys.size() - at, source.random()() % 70);
      std::vector<Leaf> leaves(count + 1, 12345);
      table.LookupBatch(this->arena_.base(), keys.data() + at, leaves.data(), count);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(leaves[i], this->Lookup(table, keys[at + i]));
      ASSERT_EQ(leaves[count], 12345u) << "wrote beyond its batch";
      at += count;
    }
    table.Clear(edit);
    (void)edit.Commit();
  }
}

TYPED_TEST(TrieTest, ReadersSeeOneVersionWhileTheNextIsBuilt) {
  using Key = TypeParam;
  using Table = Trie<Key>;
  // Every version gives all its routes the same leaf, so a reader that sees two leaves saw two versions.
  PrefixSource<Key> source(11);
  std::vector<typename Table::Route> routes;
  {
    Oracle<Key> oracle;
    while (oracle.size() < Table::kSmallLimit + 100) oracle.Set(source.Next(), 1);
    routes = oracle.Sorted();
  }
  constexpr int kVersions = 16;
  std::vector<Table> versions(kVersions);
  std::vector<RetiredBlocks> retired;
  std::atomic<const Table*> live{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<size_t> mixed{0}, rounds{0};
  const auto publish = [&](int v) {
    if (v > 0) versions[v] = versions[v - 1];
    Edit edit(this->arena_);
    for (const auto& r : routes) ASSERT_TRUE(versions[v].Set(edit, r.prefix, 1 + v).ok());
    retired.push_back(edit.Commit());
    live.store(&versions[v], std::memory_order_release);
  };
  publish(0);
  std::thread reader([&] {
    while (!stop.load(std::memory_order_acquire)) {
      const Table* table = live.load(std::memory_order_acquire);
      const Leaf leaf = table->Lookup(this->arena_.base(), routes[0].prefix.key);
      for (const auto& r : routes) mixed += table->Lookup(this->arena_.base(), r.prefix.key) != leaf;
      ++rounds;
    }
  });
  for (int v = 1; v < kVersions; ++v) publish(v);
  while (rounds.load() < 10) std::this_thread::yield();
  stop.store(true, std::memory_order_release);
  reader.join();
  EXPECT_EQ(mixed.load(), 0u);
  for (int v = 0; v < kVersions; ++v) {
    for (const auto& r : routes) ASSERT_EQ(this->Lookup(versions[v], r.prefix.key), 1u + v);
  }
}

TEST(Trie, ADefaultRouteThatFlapsCopiesOnlyTheRoot) {
  const auto routes = ReadRealPrefixes<uint32_t>(1024);
  Arena arena;
  Edit load(arena);
  Trie4 table;
  ASSERT_TRUE(table.Assign(load, routes).ok());
  (void)load.Commit();
  for (int i = 0; i < 4; ++i) {
    Edit edit(arena);
    ASSERT_TRUE((i % 2 ? table.Remove(edit, {0, 0}) : table.Set(edit, {0, 0}, 9)).ok());
    EXPECT_LE(edit.Commit().bytes(), 4096u);
    EXPECT_EQ(table.Lookup(arena.base(), 0x00000001), i % 2 ? 0u : 9u);
  }
}

TEST(Trie, PrefixesConvert) {
  const IpPrefix v4 = *IpPrefix::Parse("10.1.0.0/16"), v6 = *IpPrefix::Parse("2001:db8:0:1::/64");
  EXPECT_EQ(Trie4::Prefix::Of(v4), (Trie4::Prefix{0x0a010000, 16}));
  EXPECT_EQ(Trie6::Prefix::Of(v6), (Trie6::Prefix{{0x20010db800000001, 0}, 64}));
  EXPECT_EQ(Trie4::Prefix::Of(v4).ToIpPrefix(), v4);
  EXPECT_EQ(Trie6::Prefix::Of(v6).ToIpPrefix(), v6);
}

}  // namespace
}  // namespace sluice
