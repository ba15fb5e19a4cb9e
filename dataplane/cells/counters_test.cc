#include "dataplane/cells/counters.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(Counters, SumOverLanesIsTheTruth) {
  Counters counters(3);
  const CellIndex cell = *counters.AllocateCell();
  std::vector<std::thread> threads;
  for (size_t lane = 0; lane < 3; ++lane) {
    threads.emplace_back([&, lane] {
      for (int i = 0; i < 100000; ++i) {
        counters.lane(lane).Count(cell, 1, 60);
        counters.lane(lane).Drop(DropReason::kNoRoute);
      }
    });
  }
  for (int i = 0; i < 1000; ++i) EXPECT_LE(counters.Read(cell).packets, 300000u);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counters.Read(cell).packets, 300000u);
  EXPECT_EQ(counters.Read(cell).bytes, 300000u * 60);
  EXPECT_EQ(counters.Drops(DropReason::kNoRoute), 300000u);
  EXPECT_EQ(counters.lane(1).dropped(), 100000u);
}

TEST(Counters, ANewOwnerOfACellStartsAtZero) {
  Counters counters(2);
  const CellIndex cell = *counters.AllocateCell();
  counters.lane(1).Count(cell, 5, 500);
  counters.FreeCell(cell);
  EXPECT_EQ(counters.cells_in_use(), 0u);
  const CellIndex again = *counters.AllocateCell();
  EXPECT_EQ(again, cell);
  EXPECT_EQ(counters.Read(again).packets, 0u);
}

TEST(Counters, CellsAreManyAndDistinct) {
  Counters counters(1);
  std::set<CellIndex> cells;
  for (int i = 0; i < 20000; ++i) {
    const CellIndex cell = *counters.AllocateCell();
    EXPECT_NE(cell, 0u);
    cells.insert(cell);
    counters.lane(0).Count(cell, static_cast<uint64_t>(i), 0);
  }
  EXPECT_EQ(cells.size(), 20000u);
  EXPECT_EQ(counters.Read(20000).packets, 19999u);
}

TEST(Counters, SaysWhenAllCellsAreInUse) {
  Counters counters(1);
  CellIndex last = 0;
  for (size_t i = 1; i < Counters::kChunkCells * Counters::kMaxChunks; ++i) {
    const absl::StatusOr<CellIndex> cell = counters.AllocateCell();
    ASSERT_TRUE(cell.ok());
    last = *cell;
  }
  counters.lane(0).Count(last, 1, 1);
  EXPECT_EQ(counters.AllocateCell().status().code(), absl::StatusCode::kResourceExhausted);
  counters.FreeCell(last);
  EXPECT_EQ(*counters.AllocateCell(), last);
  EXPECT_EQ(counters.Read(last).packets, 0u);
}

TEST(Counters, CellsAreMadeWhileLanesCount) {
  Counters counters(2);
  std::atomic<CellIndex> newest{0};
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop.load(std::memory_order_relaxed)) counters.lane(1).Count(newest.load(std::memory_order_acquire), 1, 60);
  });
  for (int i = 0; i < 50000; ++i) {
    const CellIndex cell = *counters.AllocateCell();
    newest.store(cell, std::memory_order_release);
    (void)counters.Read(cell);
  }
  stop = true;
  worker.join();
  uint64_t total = 0;
  for (CellIndex cell = 0; cell <= newest; ++cell) total += counters.Read(cell).packets;
  EXPECT_GT(total, 0u);
  EXPECT_EQ(counters.cells_in_use(), 50000u);
}

TEST(DropReasons, HaveDistinctMetricNames) {
  std::set<absl::string_view> names(std::begin(kDropReasonNames), std::end(kDropReasonNames));
  EXPECT_EQ(names.size(), kDropReasons);
  for (absl::string_view name : names) {
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), absl::string_view::npos) << name;
  }
}

}  // namespace
}  // namespace sluice
