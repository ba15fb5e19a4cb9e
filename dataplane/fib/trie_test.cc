#include "dataplane/fib/trie.h"

#include <atomic>
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
constexpr size_t kOperations = 60'000;
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

  // Expects Lookup, LookupPrefix and their bounded form to answer as the oracle does.
  static void ExpectSame(const Arena& arena, const Table& table, const Oracle<Key>& oracle, const Key& key, int bound) {
    const auto want = oracle.Lookup(key);
    ASSERT_EQ(table.Lookup(arena.base(), key), want.leaf);
    auto got = table.LookupPrefix(arena.base(), key);
    ASSERT_EQ(got.leaf, want.leaf);
    ASSERT_EQ(got.length, want.length);
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

// A version that a slow reader still holds, and what it answered when it was new.
template <class Key>
struct Pinned {
  Trie<Key> table;
  RetiredBlocks replaced;  // by the commit after it
  std::vector<std::pair<Key, Leaf>> answers;
};

TYPED_TEST(TrieTest, AnswersAsTheOracleAfterEveryPublicationAndInPinnedOldVersions) {
  using Key = TypeParam;
  using Prefix = typename Trie<Key>::Prefix;
  PrefixSource<Key> source(7);
  Random& random = source.random();
  Oracle<Key> oracle;
  Trie<Key> table;
  std::vector<Prefix> present;
  std::deque<Pinned<Key>> pinned;
  size_t target = 100, keep = 8, small_to_large = 0, large_to_small = 0, done = 0;
  bool was_large = false;

  while (done < kOperations) {
    Pinned<Key> before{table, {}, {}};
    std::vector<Prefix> touched;
    Edit edit(this->arena_);
    const size_t batch = random() % 8 == 0 ? 1 + random() % 200 : 1 + random() % 8;
    for (size_t i = 0; i < batch; ++i, ++done) {
      const bool add = random() % 100 < (oracle.size() < target ? 75 : 35);
      if (add || present.empty()) {
        const Prefix p = random() % 8 == 0 && !present.empty() ? present[random() % present.size()] : source.Next();
        const Leaf leaf = 1 + static_cast<Leaf>(random() % (random() % 2 ? 4 : 1000)) + (random() % 16 ? 0 : 1u << 31);
        if (oracle.Get(p) == 0) present.push_back(p);
        ASSERT_TRUE(table.Set(edit, p, leaf).ok());
        oracle.Set(p, leaf);
        touched.push_back(p);
      } else if (random() % 10 == 0) {  // most likely not there
        const Prefix p = source.Next();
        if (oracle.Get(p) != 0) continue;
        ASSERT_TRUE(table.Remove(edit, p).ok());
        touched.push_back(p);
      } else {
        std::swap(present[random() % present.size()], present.back());
        const Prefix p = present.back();
        present.pop_back();
        ASSERT_TRUE(table.Remove(edit, p).ok());
        oracle.Remove(p);
        touched.push_back(p);
      }
    }
    before.replaced = edit.Commit();
    ASSERT_EQ(table.size(), oracle.size());

    std::vector<std::pair<Key, Leaf>> answers;
    for (const Prefix& p : touched) {
      const Key last = LastOf<Key>(p);
      const Key inside = Or(
          p.key, AndNot(RandomKey(random, static_cast<Key*>(nullptr)), AndNot(LastOf<Key>({}), AndNot(last, p.key))));
      for (const Key& key : {p.key, last, Plus(p.key, -1), Plus(last, 1), inside}) {
        ASSERT_NO_FATAL_FAILURE(TestFixture::ExpectSame(this->arena_, table, oracle, key,
                                                        static_cast<int>(random() % (Trie<Key>::kMaxLength + 1))));
        answers.emplace_back(key, oracle.Lookup(key).leaf);
      }
      ASSERT_EQ(table.Get(this->arena_.base(), p), oracle.Get(p));
    }
    const bool large = table.size() > Trie<Key>::kSmallLimit || (was_large && table.size() >= Trie<Key>::kLargeLimit);
    small_to_large += large && !was_large;
    large_to_small += was_large && !large;
    was_large = large;

    pinned.push_back(std::move(before));
    for (auto& [key, leaf] : answers) pinned.back().answers.emplace_back(key, 0);
    // What the previous version answers around the change: as its own oracle did, which is asked below through the
    // answers kept when it was new.
    for (auto& [key, leaf] : pinned.back().answers) leaf = pinned.back().table.Lookup(this->arena_.base(), key);
    if (pinned.size() > 1) {
      for (size_t i = pinned.size() - 1; i-- > 0;) {
        if (random() % 4) continue;
        for (const auto& [key, leaf] : pinned[i].answers) {
          ASSERT_EQ(pinned[i].table.Lookup(this->arena_.base(), key), leaf);
        }
      }
    }
    while (pinned.size() > keep) pinned.pop_front();  // frees what the oldest version's successor replaced
    if (random() % 500 == 0) keep = random() % 3 == 0 ? 60 : random() % 8;

    if (random() % 3000 == 0) {
      constexpr size_t kTargets[] = {0, 20, 150, 400, 1500, 3000, 20000};
      target = kTargets[random() % std::size(kTargets)];
    }
    if (done % 64 == 0 && random() % 100 == 0) {
      ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
      pinned.clear();
      ASSERT_EQ(this->arena_.used_bytes(), table.memory_bytes());
    }
  }
  EXPECT_GT(small_to_large, 0u);
  EXPECT_GT(large_to_small, 0u);
  ASSERT_NO_FATAL_FAILURE(this->ExpectExactly(table, oracle));
  pinned.clear();
  EXPECT_EQ(this->arena_.used_bytes(), table.memory_bytes());
  for (const auto& r : oracle.Sorted()) {
    Edit edit(this->arena_);
    ASSERT_TRUE(table.Remove(edit, r.prefix).ok());
    (void)edit.Commit();
  }
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.memory_bytes(), 0u);
  EXPECT_EQ(this->arena_.blocks(), 0u);
}

}  // namespace
}  // namespace sluice
