#include "dataplane/neighbor/hold_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using testing::ElementsAre;

struct Fixture : testing::Test {
  HoldPool* Pool(HoldLimits limits) {
    pool = std::make_unique<HoldPool>(limits, [this](const HeldPacket& p) { out.push_back(Text(p)); });
    return pool.get();
  }
  static std::string Text(const HeldPacket& p) {
    return std::string(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size());
  }
  bool Push(HoldQueue& queue, std::string text) {
    HeldPacket p;
    p.bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return pool->Push(queue, p);
  }
  std::vector<std::string> Drain(HoldQueue& queue) {
    std::vector<std::string> all;
    pool->Drain(queue, [&](const HeldPacket& p) { all.push_back(Text(p)); });
    return all;
  }
  std::vector<std::string> out;
  std::unique_ptr<HoldPool> pool;
};

TEST_F(Fixture, KeepsCopiesInOrder) {
  Pool({});
  HoldQueue a, b;
  Push(a, "a1");
  Push(b, "b1");
  Push(a, "a2");
  EXPECT_EQ(pool->packets(), 3u);
  EXPECT_EQ(a.packets(), 2u);
  EXPECT_THAT(Drain(a), ElementsAre("a1", "a2"));
  EXPECT_THAT(Drain(b), ElementsAre("b1"));
  EXPECT_EQ(pool->bytes(), 0u);
  EXPECT_TRUE(out.empty());
}

TEST_F(Fixture, AFullQueueGivesUpItsOldest) {
  Pool({.queue_bytes = 3 * HoldPool::Cost(2)});
  HoldQueue a;
  for (const char* text : {"a1", "a2", "a3", "a4", "a5"}) Push(a, text);
  EXPECT_THAT(out, ElementsAre("a1", "a2"));
  EXPECT_THAT(Drain(a), ElementsAre("a3", "a4", "a5"));
}

TEST_F(Fixture, WhenAllAreFullTheOldestOfAllGivesWay) {
  Pool({.queue_bytes = 1 << 20, .total_bytes = 3 * HoldPool::Cost(2)});
  HoldQueue a, b;
  Push(a, "a1");
  Push(b, "b1");
  Push(a, "a2");
  Push(b, "b2");
  Push(b, "b3");
  EXPECT_THAT(out, ElementsAre("a1", "b1"));
  EXPECT_THAT(Drain(a), ElementsAre("a2"));
  EXPECT_THAT(Drain(b), ElementsAre("b2", "b3"));
}

TEST_F(Fixture, APacketAboveTheLimitIsRefusedAndPushesNothingOut) {
  Pool({.queue_bytes = 2 * HoldPool::Cost(2)});
  HoldQueue a;
  Push(a, "a1");
  EXPECT_FALSE(Push(a, std::string(4000, 'x')));
  EXPECT_TRUE(out.empty());
  EXPECT_THAT(Drain(a), ElementsAre("a1"));
}

TEST_F(Fixture, DefaultQueueTakesAsManySmallPacketsAsLinux) {
  Pool({});
  HoldQueue a;
  for (int i = 0; i < 1000; ++i) Push(a, std::string(60, 'x'));
  EXPECT_EQ(a.packets(), 277u);
  EXPECT_EQ(out.size(), 723u);
  Drain(a);
}

}  // namespace
}  // namespace sluice
