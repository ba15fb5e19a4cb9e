// CowVector and CowHash beside plain containers, with old versions kept and every allocation failing in turn.
#include <map>
#include <random>
#include <vector>

#include "dataplane/base/cow_hash.h"
#include "dataplane/base/cow_vector.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

struct Wide {
  uint64_t value = 42;
  uint64_t more[7] = {};
  friend bool operator==(const Wide&, const Wide&) = default;
};

TEST(CowVector, ReadsUnsetElementsAsDefault) {
  Arena arena;
  CowVector<Wide> v;
  EXPECT_EQ(v.Get(arena.base(), 0).value, 42u);
  EXPECT_EQ(v.Get(arena.base(), 0xffffffffu).value, 42u);
  Edit edit(arena);
  ASSERT_TRUE(v.Set(edit, 100000, Wide{7}).ok());
  EXPECT_EQ(v.Get(arena.base(), 100000).value, 7u);
  EXPECT_EQ(v.Get(arena.base(), 100001).value, 42u);
  EXPECT_EQ(v.Get(arena.base(), 99).value, 42u);
  EXPECT_FALSE(v.Set(edit, CowVector<Wide>::kMaxElements, Wide{}).ok());
}

TEST(CowVector, OldVersionsAnswerAsTheyDid) {
  Arena arena;
  std::mt19937 random(3);
  struct Version {
    CowVector<Wide> vector;
    std::map<uint32_t, uint64_t> oracle;
    RetiredBlocks retired_after;
  };
  std::vector<Version> versions(1);
  CowVector<Wide> now;
  std::map<uint32_t, uint64_t> oracle;
  for (int round = 0; round < 200; ++round) {
    Edit edit(arena);
    for (int i = 0; i < 20; ++i) {
      const uint32_t index = random() % 3 == 0 ? random() % 1000000 : random() % 200;
      oracle[index] = random();
      ASSERT_TRUE(now.Set(edit, index, Wide{oracle[index]}).ok());
    }
    versions.back().retired_after = edit.Commit();
    versions.push_back({now, oracle, {}});
    const Version& old = versions[random() % versions.size()];
    for (const auto& [index, value] : old.oracle) ASSERT_EQ(old.vector.Get(arena.base(), index).value, value);
  }
  for (Version& v : versions) v.retired_after.Free();
  Edit last(arena);
  now.Clear(last);
  last.Commit().Free();
  EXPECT_EQ(arena.blocks(), 0u);
}

TEST(CowHash, AgreesWithAMapThroughChangesAndOldVersions) {
  Arena arena;
  std::mt19937 random(5);
  CowHash<uint32_t, Wide> now;
  std::map<uint32_t, uint64_t> oracle;
  std::vector<RetiredBlocks> retired;
  std::vector<std::pair<CowHash<uint32_t, Wide>, std::map<uint32_t, uint64_t>>> pinned;
  for (int round = 0; round < 500; ++round) {
    Edit edit(arena);
    for (int i = 0; i < 10; ++i) {
      const uint32_t key = random() % 3000;
      if (random() % 3 == 0) {
        ASSERT_TRUE(now.Erase(edit, key).ok());
        oracle.erase(key);
      } else {
        oracle[key] = random();
        ASSERT_TRUE(now.Set(edit, key, Wide{oracle[key]}).ok());
      }
    }
    retired.push_back(edit.Commit());
    ASSERT_EQ(now.size(), oracle.size());
    if (round % 50 == 0) pinned.emplace_back(now, oracle);
  }
  for (const auto& [hash, map] : pinned) {
    for (uint32_t key = 0; key < 3000; ++key) {
      const Wide* got = hash.Find(arena.base(), key);
      const auto want = map.find(key);
      ASSERT_EQ(got != nullptr, want != map.end());
      if (got) {
        ASSERT_EQ(got->value, want->second);
      }
    }
    size_t seen = 0;
    hash.ForEach(arena.base(), [&](uint32_t key, const Wide& value) {
      ++seen;
      EXPECT_EQ(map.at(key), value.value);
    });
    EXPECT_EQ(seen, map.size());
  }
  for (RetiredBlocks& r : retired) r.Free();
  Edit last(arena);
  for (const auto& [key, value] : oracle) ASSERT_TRUE(now.Erase(last, key).ok());
  last.Commit().Free();
  EXPECT_EQ(arena.blocks(), 0u);
}

TEST(CowHash, ABatchWorksInPlaceOnWhatItMade) {
  Arena arena;
  CowHash<uint32_t, Wide> hash;
  Edit edit(arena);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(hash.Set(edit, 7, Wide{i}).ok());
  EXPECT_LE(edit.allocations(), 4u) << "a bucket, its page and the way there";
  // A value that lies in the map itself, while the map grows under it.
  for (uint32_t i = 8; i < 200; ++i) ASSERT_TRUE(hash.Set(edit, i, *hash.Find(arena.base(), i - 1)).ok());
  for (uint32_t i = 7; i < 200; ++i) ASSERT_EQ(hash.Find(arena.base(), i)->value, 99u);
  EXPECT_EQ(hash.size(), 193u);
  hash.Clear(edit);
  EXPECT_EQ(hash.Find(arena.base(), 7), nullptr);
  EXPECT_EQ(edit.Commit().count(), 0u);
  EXPECT_EQ(arena.blocks(), 0u);
}

struct Key16 {
  uint64_t high, low;
};

TEST(CowHash, TellsKeysApartByEveryByte) {
  Arena arena;
  CowHash<Key16, uint32_t> hash;
  Edit edit(arena);
  for (uint32_t bit = 0; bit < 128; ++bit) {
    const Key16 key{bit < 64 ? uint64_t{1} << bit : 0, bit < 64 ? 0 : uint64_t{1} << (bit - 64)};
    ASSERT_TRUE(hash.Set(edit, key, bit).ok());
  }
  EXPECT_EQ(hash.size(), 128u);
  for (uint32_t bit = 0; bit < 128; ++bit) {
    const Key16 key{bit < 64 ? uint64_t{1} << bit : 0, bit < 64 ? 0 : uint64_t{1} << (bit - 64)};
    ASSERT_EQ(*hash.Find(arena.base(), key), bit);
  }
  EXPECT_EQ(hash.Find(arena.base(), Key16{3, 0}), nullptr);
}

TEST(Cow, AFailedAllocationLeavesTheOldVersionAndNoBlocks) {
  Arena arena;
  CowHash<uint32_t, Wide> hash;
  CowVector<Wide> vector;
  Edit setup(arena);
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(hash.Set(setup, i, Wide{i}).ok());
    ASSERT_TRUE(vector.Set(setup, i * 100, Wide{i}).ok());
  }
  setup.Commit().Free();
  const size_t blocks = arena.blocks();
  bool failed = true;
  for (size_t n = 0; failed; ++n) {
    CowHash<uint32_t, Wide> h = hash;
    CowVector<Wide> v = vector;
    Edit edit(arena);
    edit.FailAllocationAfter(n);
    failed = false;
    for (uint32_t i = 150; i < 300 && !failed; ++i)
      failed = !h.Set(edit, i, Wide{i + 1}).ok() || !v.Set(edit, i, Wide{}).ok();
    for (uint32_t i = 0; i < 50 && !failed; ++i) failed = !h.Erase(edit, i).ok();
    edit.Abort();
    ASSERT_EQ(arena.blocks(), blocks);
    for (uint32_t i = 0; i < 200; ++i) {
      ASSERT_EQ(hash.Find(arena.base(), i)->value, i);
      ASSERT_EQ(vector.Get(arena.base(), i * 100).value, i);
    }
    if (n > 10000) FAIL() << "never succeeds";
  }
}

}  // namespace
}  // namespace sluice
