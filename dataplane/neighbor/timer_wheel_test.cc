#include "dataplane/neighbor/timer_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace sluice {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kAll = 1 << 30;

std::vector<uint32_t> Fire(TimerWheel& wheel, uint64_t now, size_t budget = kAll) {
  std::vector<uint32_t> fired;
  wheel.Advance(
      now,
      [&](uint32_t id) -> size_t {
        fired.push_back(id);
        return 0;
      },
      budget);
  return fired;
}

TEST(TimerWheel, FiresInOrderNeverEarlyAndOnce) {
  TimerWheel wheel(10);
  const uint64_t start = 1000 * kSecond;
  EXPECT_THAT(Fire(wheel, start), testing::IsEmpty());
  wheel.Set(1, start + 3 * kSecond);
  wheel.Set(2, start + 1 * kSecond);
  wheel.Set(3, start + 1 * kSecond);
  EXPECT_TRUE(wheel.armed(1));
  EXPECT_THAT(Fire(wheel, start + kSecond - 1), testing::IsEmpty());
  EXPECT_THAT(Fire(wheel, start + kSecond + TimerWheel::kTick), testing::ElementsAre(2, 3));
  EXPECT_FALSE(wheel.armed(2));
  EXPECT_THAT(Fire(wheel, start + 10 * kSecond), testing::ElementsAre(1));
  EXPECT_THAT(Fire(wheel, start + 1000 * kSecond), testing::IsEmpty());
}

TEST(TimerWheel, SetReplacesAndCancelRemoves) {
  TimerWheel wheel(10);
  Fire(wheel, kSecond);
  wheel.Set(1, 2 * kSecond);
  wheel.Set(1, 5 * kSecond);
  wheel.Set(2, 2 * kSecond);
  wheel.Cancel(2);
  EXPECT_THAT(Fire(wheel, 4 * kSecond), testing::IsEmpty());
  EXPECT_THAT(Fire(wheel, 6 * kSecond), testing::ElementsAre(1));
}

TEST(TimerWheel, OverdueTimersFireAtTheNextAdvance) {
  TimerWheel wheel(10);
  Fire(wheel, 100 * kSecond);
  wheel.Set(1, 1 * kSecond);
  EXPECT_THAT(Fire(wheel, 100 * kSecond + 2 * TimerWheel::kTick), testing::ElementsAre(1));
}

TEST(TimerWheel, BudgetStopsAndTheNextAdvanceGoesOn) {
  TimerWheel wheel(100);
  Fire(wheel, kSecond);
  for (uint32_t i = 0; i < 100; ++i) wheel.Set(i, 2 * kSecond);
  std::vector<uint32_t> all;
  for (int round = 0; round < 10; ++round) {
    auto some = Fire(wheel, 3 * kSecond, 10);
    EXPECT_EQ(some.size(), round < 9 ? 10u : 9u);
    all.insert(all.end(), some.begin(), some.end());
    wheel.Cancel(99);  // also while it waits among the due
  }
  EXPECT_EQ(all.size(), 100u - 1);
}

// Against a sorted map, with delays beyond one turn of the wheel.
TEST(TimerWheel, AgreesWithAMap) {
  constexpr uint32_t kIds = 50;
  TimerWheel wheel(kIds);
  std::map<uint32_t, uint64_t> oracle;
  std::mt19937_64 random(3);
  uint64_t now = 7 * kSecond;
  Fire(wheel, now);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t id = random() % kIds;
    switch (random() % 4) {
      case 0:
      case 1:
        oracle[id] = now + random() % (200 * kSecond);
        wheel.Set(id, oracle[id]);
        break;
      case 2:
        oracle.erase(id);
        wheel.Cancel(id);
        break;
      default:
        now += random() % (random() % 50 == 0 ? 300 * kSecond : kSecond);
        for (const uint32_t fired : Fire(wheel, now)) {
          ASSERT_TRUE(oracle.contains(fired));
          ASSERT_LE(oracle[fired], now);
          oracle.erase(fired);
        }
        for (const auto& [waiting, due] : oracle) ASSERT_GT(due + TimerWheel::kTick, now) << waiting;
    }
  }
}

}  // namespace
}  // namespace sluice
