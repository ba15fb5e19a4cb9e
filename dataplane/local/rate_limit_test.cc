#include "dataplane/local/rate_limit.h"

#include "dataplane/packet/fixtures.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using Kind = IcmpErrorKind;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 5'000'000 * kMs;
constexpr IcmpRateLimiter::Seed kSeed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

IcmpRateLimiter::Request To(const char* host, Kind kind, int plen = 128) {
  return {.kind = kind, .to = IpAddress::Parse(host).value(), .route_prefix_length = plen};
}

// How many of `count` at once are allowed.
int Burst(IcmpRateLimiter* limiter, const IcmpRateLimiter::Request& request, int count, int64_t at) {
  int allowed = 0;
  for (int i = 0; i < count; ++i) allowed += limiter->Allow(request, at);
  return allowed;
}

IcmpRateLimitSettings NoGlobalLimit() {
  IcmpRateLimitSettings settings;
  settings.icmp_msgs_burst = 1'000'000'000;
  return settings;
}

// LINUX.md 4.3, case icmp-ratelimit-v4.
TEST(IcmpRateLimiter, AHostGetsABurstOfSixAndThenOneASecond) {
  IcmpRateLimiter limiter({}, kSeed);
  const auto request = To("10.0.0.2", Kind::kTtlExceeded);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart), 6);
  EXPECT_FALSE(limiter.Allow(request, kStart + 999 * kMs));
  EXPECT_TRUE(limiter.Allow(request, kStart + 1000 * kMs));
  EXPECT_FALSE(limiter.Allow(request, kStart + 1001 * kMs));
  EXPECT_EQ(Burst(&limiter, request, 40, kStart + 4500 * kMs), 3);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart + 100000 * kMs), 6);
  EXPECT_EQ(limiter.refused_by_host(), 34u + 1 + 1 + 37 + 34);
}

TEST(IcmpRateLimiter, HostsDoNotShareABucket) {
  IcmpRateLimiter limiter({}, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTtlExceeded), 40, kStart), 6);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.3", Kind::kTtlExceeded), 40, kStart), 6);
  EXPECT_EQ(Burst(&limiter, To("2001:db8::1", Kind::kTtlExceeded), 40, kStart), 6);
}

// Case icmp-ratelimit-exempt-fragneeded, and its IPv6 sibling.
TEST(IcmpRateLimiter, TooBigIsAlwaysAllowed) {
  IcmpRateLimitSettings settings;
  settings.icmp_msgs_burst = 0;
  IcmpRateLimiter limiter(settings, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTooBig), 5000, kStart), 5000);
  EXPECT_EQ(Burst(&limiter, To("2001:db8::1", Kind::kTooBig), 5000, kStart), 5000);
  EXPECT_EQ(limiter.hosts(), 0u);
}

TEST(IcmpRateLimiter, TheMaskNamesWhatIsLimitedInIpv4) {
  IcmpRateLimitSettings settings = NoGlobalLimit();
  settings.icmp_ratemask = 1 << 3;
  IcmpRateLimiter limiter(settings, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTtlExceeded), 40, kStart), 40);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kParameterProblem), 40, kStart), 40);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kPortUnreachable), 40, kStart), 6);
  EXPECT_EQ(Burst(&limiter, To("2001:db8::1", Kind::kTtlExceeded), 40, kStart), 6);
}

// Case icmp-ratelimit-off.
TEST(IcmpRateLimiter, ZeroIsNoLimitPerHost) {
  IcmpRateLimitSettings settings;
  settings.icmp_ratelimit_ns = 0;
  IcmpRateLimiter limiter(settings, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTtlExceeded), 20, kStart), 20);
}

// LINUX.md 4.3 "Surprise": both charges come out of one bucket.
TEST(IcmpRateLimiter, UnreachablesFromTheRouteLookupPayTwice) {
  for (Kind kind : {Kind::kNoRoute, Kind::kUnreachable, Kind::kProhibited}) {
    IcmpRateLimiter limiter({}, kSeed);
    const auto request = To("10.0.0.2", kind);
    // The bucket is cut to 5 and pays 1, then pays 1 of what is left: 5 > 3 > 1, and the third attempt takes the rest.
    EXPECT_EQ(Burst(&limiter, request, 40, kStart), 2);
    EXPECT_EQ(Burst(&limiter, request, 40, kStart + 1000 * kMs), 0);  // one second pays only the first charge
    EXPECT_EQ(Burst(&limiter, request, 40, kStart + 3000 * kMs), 1);
    EXPECT_FALSE(limiter.Allow(To("10.0.0.2", Kind::kTtlExceeded), kStart + 3000 * kMs));
  }
  IcmpRateLimiter limiter({}, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kHostUnreachable), 40, kStart), 6);  // a neighbour that failed
  EXPECT_EQ(Burst(&limiter, To("10.0.0.3", Kind::kPortUnreachable), 40, kStart), 6);
}

TEST(IcmpRateLimiter, RouteErrorsAloneAllowTheirBurstWhenTheOtherLimitIsOff) {
  IcmpRateLimitSettings settings;
  settings.icmp_ratelimit_ns = 0;
  IcmpRateLimiter limiter(settings, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kNoRoute), 40, kStart), 5);  // as later kernels; 6.12 would give 1
  settings.route_error_cost_ns = 0;
  limiter.Configure(settings);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kNoRoute), 10, kStart), 10);
}

TEST(IcmpRateLimiter, Ipv6CostsLessTheShorterTheRoute) {
  const struct {
    int plen;
    int per_second;
  } cases[] = {{128, 1}, {127, 1}, {97, 1}, {96, 2}, {65, 2}, {64, 4}, {48, 4}, {32, 8}, {1, 8}, {0, 16}};
  for (const auto& c : cases) {
    IcmpRateLimiter limiter(NoGlobalLimit(), kSeed);
    const auto request = To("2001:db8::1", Kind::kNoRoute, c.plen);
    EXPECT_EQ(Burst(&limiter, request, 200, kStart), 6) << c.plen;
    int64_t at = kStart;
    int allowed = 0;
    for (int i = 0; i < 4000; ++i) allowed += limiter.Allow(request, at += kMs);
    EXPECT_EQ(allowed, 4 * c.per_second) << c.plen;
  }
}

TEST(IcmpRateLimiter, AllHostsTogetherGetFiftyAtOnceAndAThousandASecond) {
  IcmpRateLimiter limiter({}, kSeed);
  uint32_t host = 0x0a000000;
  const auto many = [&](int count, int64_t at) {
    int allowed = 0;
    for (int i = 0; i < count; ++i) {
      allowed += limiter.Allow({.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(++host)}, at);
    }
    return allowed;
  };
  // An error takes 0 to 2 credits, one on average, so counts are near and seldom exact.
  const int first = many(500, kStart);
  EXPECT_GE(first, 30);
  EXPECT_LE(first, 80);
  int sum = 0;
  for (int ms = 1; ms <= 10000; ++ms) sum += many(5, kStart + ms * kMs);
  EXPECT_NEAR(sum, 10000, 300);
  EXPECT_GT(limiter.refused_by_all(), 0u);
}

TEST(IcmpRateLimiter, SlowRefillOfTheBucketOverAllLosesNoFraction) {
  IcmpRateLimitSettings settings;
  settings.icmp_msgs_per_sec = 3;
  IcmpRateLimiter limiter(settings, kSeed);
  uint32_t host = 0x0a000000;
  int sum = -50;
  for (int64_t ms = 0; ms < 300000; ++ms) {
    sum += limiter.Allow({.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(++host)}, kStart + ms * kMs);
  }
  EXPECT_NEAR(sum, 900, 100);
}

TEST(IcmpRateLimiter, WhatTheBucketOverAllRefusesCostsTheHostNothing) {
  IcmpRateLimitSettings settings;
  settings.icmp_msgs_burst = 0;
  IcmpRateLimiter limiter(settings, kSeed);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTtlExceeded), 40, kStart), 0);
  settings.icmp_msgs_burst = 50;
  limiter.Configure(settings);
  EXPECT_EQ(Burst(&limiter, To("10.0.0.2", Kind::kTtlExceeded), 40, kStart + 1000 * kMs), 6);
}

TEST(IcmpRateLimiter, MemoryIsBoundedAndTheHostAskedLongestAgoGoesFirst) {
  IcmpRateLimiter limiter(NoGlobalLimit(), kSeed, 64);
  EXPECT_EQ(limiter.capacity(), 64u);
  for (uint32_t i = 0; i < 100000; ++i) {
    limiter.Allow({.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(0x0a000000 + i)}, kStart + i);
  }
  EXPECT_EQ(limiter.hosts(), 64u);

  IcmpRateLimiter one_set(NoGlobalLimit(), kSeed, 1);
  EXPECT_EQ(one_set.capacity(), IcmpRateLimiter::kWays);
  const auto loud = To("192.0.2.1", Kind::kTtlExceeded);
  EXPECT_EQ(Burst(&one_set, loud, 40, kStart), 6);
  for (uint32_t i = 0; i < 1000; ++i) {
    one_set.Allow({.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(0x0a000000 + i)}, kStart + i);
    ASSERT_FALSE(one_set.Allow(loud, kStart + i)) << "forgotten, though it was asked about just now";
  }
}

TEST(IcmpRateLimiter, SecretDecidesWhichHostsShareASet) {
  // Two limiters with different secrets forget different hosts.
  const auto remembered = [](IcmpRateLimiter::Seed seed) {
    IcmpRateLimiter limiter(NoGlobalLimit(), seed, 64);
    for (uint32_t i = 0; i < 100; ++i) {
      Burst(&limiter, {.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(i)}, 6, kStart + i);
    }
    std::vector<bool> still;
    for (uint32_t i = 0; i < 100; ++i) {
      IcmpRateLimiter copy = limiter;
      still.push_back(!copy.Allow({.kind = Kind::kTtlExceeded, .to = Ipv4Address::FromHost(i)}, kStart + 200));
    }
    return still;
  };
  EXPECT_EQ(remembered({1, 2}), remembered({1, 2}));
  EXPECT_NE(remembered({1, 2}), remembered({3, 4}));
}

TEST(IcmpRateLimiter, AClockThatStepsBackGivesNothing) {
  IcmpRateLimiter limiter(NoGlobalLimit(), kSeed);
  const auto request = To("10.0.0.2", Kind::kTtlExceeded);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart), 6);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart - 5000 * kMs), 0);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart), 0);
  EXPECT_EQ(Burst(&limiter, request, 40, kStart + 1000 * kMs), 1);
}

TEST(IcmpRateLimiter, KindsThatTheFamilyLacksAreRefused) {
  IcmpRateLimiter limiter({}, kSeed);
  EXPECT_FALSE(limiter.Allow(To("10.0.0.2", Kind::kNone), kStart));
  EXPECT_FALSE(limiter.Allow(To("10.0.0.2", Kind::kSourceScope), kStart));
  EXPECT_FALSE(limiter.Allow({.kind = Kind::kNoRoute}, kStart));
}

}  // namespace
}  // namespace sluice
