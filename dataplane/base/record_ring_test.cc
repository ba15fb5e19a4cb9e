#include "dataplane/base/record_ring.h"

#include <cstring>
#include <random>
#include <thread>

#include "gtest/gtest.h"

namespace sluice {
namespace {

bool Push(RecordRing& ring, uint64_t number, size_t bytes) {
  char* at = ring.Reserve(bytes);
  if (at == nullptr) return false;
  std::memset(at, static_cast<int>(number & 0xff), bytes);
  std::memcpy(at, &number, sizeof number);
  ring.Publish();
  return true;
}

TEST(RecordRing, GivesRecordsBackInOrderAndSaysWhenFull) {
  RecordRing ring(4096);
  EXPECT_TRUE(ring.Front().empty());
  uint64_t pushed = 0, popped = 0;
  while (Push(ring, pushed, 100)) ++pushed;
  EXPECT_GT(pushed, 20u);
  EXPECT_EQ(ring.size(), pushed);
  for (int round = 0; round < 10000; ++round) {
    uint64_t number;
    ASSERT_EQ(ring.Front().size(), 100u);
    std::memcpy(&number, ring.Front().data(), sizeof number);
    ASSERT_EQ(number, popped++);
    ring.Pop();
    ASSERT_TRUE(Push(ring, pushed++, 100));
  }
}

TEST(RecordRing, RefusesARecordThatIsTooLarge) {
  RecordRing ring(4096);
  EXPECT_EQ(ring.Reserve(4096), nullptr);
  EXPECT_EQ(ring.Reserve(~size_t{0}), nullptr);
  EXPECT_EQ(ring.Reserve(0), nullptr);
  EXPECT_NE(ring.Reserve(900), nullptr);
}

TEST(RecordRing, AReservationThatIsNotPublishedIsForgotten) {
  RecordRing ring(4096);
  ASSERT_NE(ring.Reserve(50), nullptr);
  EXPECT_TRUE(ring.Front().empty());
  ASSERT_TRUE(Push(ring, 7, 20));
  EXPECT_EQ(ring.Front().size(), 20u);
}

TEST(RecordRing, TwoThreadsPassEveryRecordWhole) {
  RecordRing ring(1 << 14);
  constexpr uint64_t kRecords = 200000;
  std::thread producer([&] {
    std::mt19937 random(1);
    for (uint64_t i = 0; i < kRecords; ++i) {
      const size_t bytes = 8 + random() % 1500;
      while (!Push(ring, i, bytes)) std::this_thread::yield();
    }
  });
  std::mt19937 random(1);
  for (uint64_t i = 0; i < kRecords; ++i) {
    absl::Span<const char> r;
    while ((r = ring.Front()).empty()) std::this_thread::yield();
    ASSERT_EQ(r.size(), 8 + random() % 1500);
    uint64_t number;
    std::memcpy(&number, r.data(), sizeof number);
    ASSERT_EQ(number, i);
    if (r.size() > 8) {
      ASSERT_EQ(static_cast<uint8_t>(r.back()), i & 0xff);
    }
    ring.Pop();
  }
  producer.join();
  EXPECT_EQ(ring.size(), 0u);
}

}  // namespace
}  // namespace sluice
