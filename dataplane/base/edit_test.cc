#include "dataplane/base/edit.h"

#include <cstring>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(Edit, AbortLeavesTheArenaAsItWas) {
  Arena arena;
  const size_t before = arena.blocks();
  {
    Edit edit(arena);
    for (size_t bytes : {1, 16, 17, 64, 100, 2048, 16384}) EXPECT_NE(edit.Allocate(bytes), 0u);
    edit.Abort();
  }
  EXPECT_EQ(arena.blocks(), before);
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST(Edit, CopiesABlockOfAnEarlierEditAndWritesItsOwnInPlace) {
  Arena arena;
  Edit first(arena);
  const Ref a = first.Allocate(64);
  *arena.At<int>(a) = 7;
  EXPECT_EQ(first.Own(a), a);
  EXPECT_EQ(first.Commit().count(), 0u);

  Edit second(arena);
  const Ref b = second.Own(a);
  EXPECT_NE(b, a);
  EXPECT_EQ(*arena.At<int>(b), 7);
  EXPECT_EQ(second.Own(b), b);
  RetiredBlocks old = second.Commit();
  EXPECT_EQ(old.count(), 1u);
  EXPECT_EQ(arena.blocks(), 2u);
  old.Free();
  EXPECT_EQ(arena.blocks(), 1u);
}

TEST(Edit, UsesItsOwnDiscardedBlocksAgain) {
  Arena arena;
  Edit edit(arena);
  for (int i = 0; i < 1000; ++i) edit.Retire(edit.Allocate(100));
  EXPECT_EQ(arena.blocks(), 1u);
  EXPECT_EQ(edit.Commit().count(), 0u);
  EXPECT_EQ(arena.blocks(), 0u);
}

TEST(Edit, FailsTheAllocationThatATestNames) {
  Arena arena;
  Edit edit(arena);
  edit.FailAllocationAfter(2);
  EXPECT_NE(edit.Allocate(16), 0u);
  EXPECT_NE(edit.Allocate(16), 0u);
  EXPECT_EQ(edit.Allocate(16), 0u);
  EXPECT_EQ(edit.Allocate(Arena::kMaxBlock + 1), 0u);
}

TEST(Arena, RefusesWhenItsRegionIsFull) {
  Arena arena(1 << 20);
  Edit edit(arena);
  size_t got = 0;
  while (edit.Allocate(16384) != 0) ++got;
  EXPECT_GT(got, 40u);
  EXPECT_LT(got, 64u);
  edit.Abort();
  EXPECT_EQ(arena.blocks(), 0u);
}

TEST(Arena, BlocksNeverOverlapAndMemoryReturns) {
  Arena arena;
  std::mt19937 random(1);
  std::vector<std::pair<Ref, size_t>> live;
  Edit base(arena);
  for (int round = 0; round < 20000; ++round) {
    if (live.empty() || random() % 3 != 0) {
      const size_t bytes = 1 + random() % 4000;
      const Ref ref = base.Allocate(bytes);
      ASSERT_NE(ref, 0u);
      ASSERT_GE(arena.BlockSize(ref), bytes);
      if (bytes >= 64) {
        ASSERT_EQ(ref % 4, 0u);
      }
      std::memset(arena.At<char>(ref), static_cast<int>(ref & 0x7f), bytes);
      live.emplace_back(ref, bytes);
    } else {
      std::swap(live[random() % live.size()], live.back());
      const auto [ref, bytes] = live.back();
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(arena.At<char>(ref)[i], static_cast<char>(ref & 0x7f));
      base.Retire(ref);
      live.pop_back();
    }
  }
  base.Abort();
  EXPECT_EQ(arena.blocks(), 0u);
  EXPECT_LE(arena.resident_bytes(), 24u * 65536);
}

}  // namespace
}  // namespace sluice
