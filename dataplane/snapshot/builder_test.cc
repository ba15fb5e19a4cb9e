#include "dataplane/snapshot/builder.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

IpPrefix P(const char* text) { return *IpPrefix::Parse(text); }
Ipv4Address A4(const char* text) { return *Ipv4Address::Parse(text); }
Ipv6Address A6(const char* text) { return *Ipv6Address::Parse(text); }

TEST(SnapshotBuilder, AnEmptySnapshotHasTheFixedNexthopsAndNoRoutes) {
  Arena arena;
  const auto s = MakeEmptySnapshot(arena);
  EXPECT_EQ(s->nexthop(kBlackholeNexthop).type, RouteType::kBlackhole);
  EXPECT_EQ(s->nexthop(kThrowNexthop).type, RouteType::kThrow);
  EXPECT_EQ(s->nexthop(12345).type, RouteType::kNone);
  EXPECT_EQ(LookupRoute(*s, A4("10.0.0.1")).nexthop, 0u);
  EXPECT_EQ(LookupRoute(*s, A6("2001:db8::1")).nexthop, 0u);
  EXPECT_EQ(s->link(1).index, 0u);
}

TEST(SnapshotBuilder, WalksLocalThenMainThenDefaultAndThrowPassesOn) {
  Arena arena;
  const auto empty = MakeEmptySnapshot(arena);
  SnapshotBuilder b(arena, *empty);
  ASSERT_TRUE(b.SetRoute(kTableDefault, P("0.0.0.0/0"), 20).ok());
  ASSERT_TRUE(b.SetRoute(kTableMain, P("10.0.0.0/8"), 21).ok());
  ASSERT_TRUE(b.SetRoute(kTableMain, P("10.9.0.0/16"), kThrowNexthop).ok());
  ASSERT_TRUE(b.SetRoute(kTableLocal, P("10.0.0.1/32"), 22).ok());
  ASSERT_TRUE(b.SetRoute(77, P("11.0.0.0/8"), 23).ok());
  const auto built = b.Finish(1, 1);
  const Snapshot& s = *built.snapshot;
  EXPECT_EQ(s.plan4.count, 3u);
  EXPECT_EQ(s.plan6.count, 0u);
  EXPECT_EQ(LookupRoute(s, A4("10.0.0.1")).nexthop, 22u);
  EXPECT_EQ(LookupRoute(s, A4("10.0.0.1")).table, kTableLocal);
  EXPECT_EQ(LookupRoute(s, A4("10.0.0.2")).nexthop, 21u);
  EXPECT_EQ(LookupRoute(s, A4("10.9.1.1")).nexthop, 20u);
  EXPECT_EQ(LookupRoute(s, A4("11.0.0.1")).nexthop, 20u) << "table 77 is in no plan";
}

TEST(SnapshotBuilder, EveryVerbIsIdempotentAndDeletingAllReturnsTheMemory) {
  Arena arena;
  const auto empty = MakeEmptySnapshot(arena);
  const size_t blocks = arena.blocks();
  SnapshotBuilder one(arena, *empty);
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(one.SetLink({.index = 3, .kind = LinkKind::kPort, .port = 5}).ok());
    ASSERT_TRUE(one.SetRoute(kTableMain, P("10.0.0.0/8"), 20).ok());
    ASSERT_TRUE(one.SetRoute(kTableMain, P("2001:db8::/32"), 20).ok());
    ASSERT_TRUE(one.RemoveRoute(kTableMain, P("99.0.0.0/8")).ok());
    ASSERT_TRUE(one.RemoveNexthop(99).ok());
    ASSERT_TRUE(one.RemoveLink(9).ok());
  }
  auto first = one.Finish(1, 1);
  EXPECT_EQ(first.snapshot->link_of_port[5], 3u);
  EXPECT_EQ(LookupRoute(*first.snapshot, A6("2001:db8::5")).nexthop, 20u);

  SnapshotBuilder two(arena, *first.snapshot);
  ASSERT_TRUE(two.RemoveLink(3).ok());
  ASSERT_TRUE(two.RemoveRoute(kTableMain, P("10.0.0.0/8")).ok());
  ASSERT_TRUE(two.RemoveRoute(kTableMain, P("2001:db8::/32")).ok());
  auto second = two.Finish(2, 2);
  EXPECT_EQ(second.snapshot->link_of_port[5], 0u);
  EXPECT_EQ(second.snapshot->plan4.count, 0u);
  EXPECT_EQ(LookupRoute(*first.snapshot, A4("10.1.1.1")).nexthop, 20u) << "the old snapshot still answers as it did";
  second.retired.Free();
  first.retired.Free();
  // The vectors of links keep their pages; tables are gone.
  EXPECT_LE(arena.blocks(), blocks + 8);
}

TEST(SnapshotBuilder, ALinkTakesItsPortAndAddressesWithIt) {
  Arena arena;
  const auto empty = MakeEmptySnapshot(arena);
  SnapshotBuilder b(arena, *empty);
  LinkAddresses addresses;
  addresses.count4 = 1;
  addresses.ipv4[0] = {A4("10.0.0.1"), 24, 0};
  ASSERT_TRUE(b.SetLinkAddresses(3, addresses).ok());
  ASSERT_TRUE(b.SetLink({.index = 3, .kind = LinkKind::kPort, .port = 5}).ok());
  ASSERT_TRUE(b.SetLink({.index = 3, .kind = LinkKind::kPort, .port = 6}).ok());
  EXPECT_EQ(b.Candidate().link_of_port[5], 0u);
  EXPECT_EQ(b.Candidate().link_of_port[6], 3u);
  EXPECT_EQ(b.Candidate().addresses(3).ipv4[0].address, A4("10.0.0.1"));
  // A port that changes hands in one batch belongs to the one that took it, whoever goes first.
  ASSERT_TRUE(b.SetLink({.index = 4, .kind = LinkKind::kPort, .port = 6}).ok());
  ASSERT_TRUE(b.RemoveLink(3).ok());
  EXPECT_EQ(b.Candidate().link_of_port[6], 4u);
  EXPECT_EQ(b.Candidate().addresses(3).count4, 0u);
  EXPECT_EQ(b.Candidate().link(3).index, 0u);
  ASSERT_TRUE(b.SetLink({.index = 9, .kind = LinkKind::kPort, .port = kMaxPorts}).ok());
  ASSERT_TRUE(b.RemoveLink(9).ok());
}

TEST(SnapshotBuilder, ATableThatLosesItsLastRouteLeavesThePlan) {
  Arena arena;
  const auto empty = MakeEmptySnapshot(arena);
  SnapshotBuilder b(arena, *empty);
  ASSERT_TRUE(b.SetRoute(kTableMain, P("2001:db8::/32"), 20).ok());
  ASSERT_TRUE(b.SetRoute(kTableLocal, P("2001:db8::1/128"), 21).ok());
  EXPECT_EQ(b.Candidate().plan6.count, 2u);
  EXPECT_EQ(LookupRoute(b.Candidate(), A6("2001:db8::1")).table, kTableLocal);
  ASSERT_TRUE(b.RemoveRoute(kTableLocal, P("2001:db8::1/128")).ok());
  EXPECT_EQ(b.Candidate().plan6.count, 1u);
  EXPECT_EQ(b.Candidate().tables6.size(), 1u);
  EXPECT_EQ(LookupRoute(b.Candidate(), A6("2001:db8::1")).table, kTableMain);
}

TEST(SnapshotBuilder, AFailureAtAnyAllocationLeavesNoTrace) {
  Arena arena;
  const auto empty = MakeEmptySnapshot(arena);
  SnapshotBuilder setup(arena, *empty);
  for (int i = 0; i < 100; ++i) {
    const IpPrefix p = IpPrefix::Of(Ipv4Address::FromHost(0x0a000000u + static_cast<uint32_t>(i) * 256), 24);
    ASSERT_TRUE(setup.SetRoute(kTableMain, p, 20).ok());
  }
  auto base = setup.Finish(1, 1);
  base.retired.Free();
  const size_t blocks = arena.blocks();
  bool failed = true;
  size_t n = 0;
  for (; failed; ++n) {
    ASSERT_LT(n, 10000u);
    SnapshotBuilder b(arena, *base.snapshot);
    b.edit().FailAllocationAfter(n);
    failed = !b.SetLink({.index = 1, .kind = LinkKind::kPort, .port = 0}).ok() ||
             !b.SetNexthop(70000, Nexthop{.type = RouteType::kUnicast}).ok() ||
             !b.SetRoute(kTableMain, P("10.0.5.128/25"), 21).ok() || !b.SetRoute(1234, P("::/0"), 22).ok() ||
             !b.RemoveRoute(kTableMain, P("10.0.7.0/24")).ok();
    b.Abort();
    ASSERT_EQ(arena.blocks(), blocks);
    ASSERT_EQ(LookupRoute(*base.snapshot, A4("10.0.5.200")).nexthop, 20u);
    ASSERT_EQ(LookupRoute(*base.snapshot, A4("10.0.7.1")).nexthop, 20u);
  }
  EXPECT_GT(n, 5u);
}

TEST(SnapshotBuilder, TheLocalFilterKnowsEveryLocalAddressAndForgetsRemovedOnes) {
  Arena arena;
  std::unique_ptr<Snapshot> s = MakeEmptySnapshot(arena);
  const auto change = [&](auto f) {
    SnapshotBuilder b(arena, *s);
    f(b);
    auto built = b.Finish(s->epoch + 1, 1);
    s = std::move(built.snapshot);
  };
  EXPECT_FALSE(s->local4.MayHave(A4("10.0.0.1").ToHost()));
  for (int i = 1; i < 40; ++i) {
    const Ipv4Address a = Ipv4Address::FromHost(0x0a000000u + static_cast<uint32_t>(i) * 7919);
    const Ipv6Address a6 = Ipv6Address::FromHost(0x20010db800000000ull, static_cast<uint64_t>(i) * 7919);
    change([&](SnapshotBuilder& b) {
      ASSERT_TRUE(b.SetRoute(kTableLocal, IpPrefix::Host(a), 20).ok());
      ASSERT_TRUE(b.SetRoute(kTableLocal, IpPrefix::Host(a6), 20).ok());
      ASSERT_TRUE(b.SetRoute(kTableMain, P("0.0.0.0/0"), 21).ok());
    });
    for (int j = 1; j <= i; ++j) {
      EXPECT_TRUE(s->local4.MayHave(0x0a000000u + static_cast<uint32_t>(j) * 7919));
      EXPECT_TRUE(s->local6.MayHave(Ipv6Key{0x20010db800000000ull, static_cast<uint64_t>(j) * 7919}));
    }
  }
  uint32_t yes = 0;
  for (uint32_t i = 0; i < 100000; ++i) yes += s->local4.MayHave(i * 40503u);
  EXPECT_LT(yes, 4000u) << "40 addresses in 2,048 bits: some 2 % by chance";
  change([&](SnapshotBuilder& b) { ASSERT_TRUE(b.SetRoute(kTableLocal, P("99.0.0.0/8"), 20).ok()); });
  EXPECT_TRUE(s->local4.MayHave(A4("99.1.2.3").ToHost()));
  change([&](SnapshotBuilder& b) {
    ASSERT_TRUE(b.RemoveRoute(kTableLocal, P("99.0.0.0/8")).ok());
    for (int i = 1; i < 40; ++i) {
      ASSERT_TRUE(b.RemoveRoute(kTableLocal,
                                IpPrefix::Host(Ipv4Address::FromHost(0x0a000000u + static_cast<uint32_t>(i) * 7919)))
                      .ok());
    }
  });
  for (uint32_t i = 0; i < 100000; ++i) EXPECT_FALSE(s->local4.MayHave(i * 40503u));
}

}  // namespace
}  // namespace sluice
