#include "dataplane/worker/slow_path_route.h"

#include "dataplane/worker/slow_path_fixture.h"

namespace sluice {
namespace {

class SlowPathRouteTest : public SlowPathFixture {
 protected:
  const Snapshot& s() { return *publisher_->current(); }
};

TEST_F(SlowPathRouteTest, RoutesToNeighboursAndGateways) {
  OutputRoute on_link = RouteOutput(s(), A("10.0.0.9"), 2);
  EXPECT_EQ(on_link.link, 1u);
  EXPECT_EQ(on_link.next_hop, A("10.0.0.9"));
  EXPECT_EQ(on_link.mtu, 1500u);
  OutputRoute gateway = RouteOutput(s(), A("2001:db8:99::1"), 1);
  EXPECT_EQ(gateway.link, 2u);
  EXPECT_EQ(gateway.next_hop, A("2001:db8:12::50"));
}

TEST_F(SlowPathRouteTest, LinkLocalStaysOnTheLinkOfArrival) {
  EXPECT_EQ(RouteOutput(s(), A("fe80::77"), 2).link, 2u);
  EXPECT_EQ(RouteOutput(s(), A("fe80::77"), 1).link, 1u);
  EXPECT_FALSE(RouteOutput(s(), A("fe80::77"), 9).ok());
  EXPECT_FALSE(RouteOutput(s(), A("fe80::77"), 0xffffffff).ok());
}

TEST_F(SlowPathRouteTest, NowhereHasAReason) {
  EXPECT_EQ(RouteOutput(s(), A("192.0.2.1"), 1).reason, DropReason::kNoRoute);
  EXPECT_EQ(RouteOutput(s(), A("198.51.100.1"), 1).reason, DropReason::kBlackhole);
  EXPECT_EQ(RouteOutput(s(), A("10.0.0.1"), 1).reason, DropReason::kIcmpIgnored);
  EXPECT_EQ(RouteOutput(s(), A("10.0.0.255"), 1).reason, DropReason::kIcmpIgnored);
  EXPECT_EQ(RouteOutput(s(), A("224.0.0.1"), 1).reason, DropReason::kIcmpIgnored);
  EXPECT_EQ(RouteOutput(s(), A("ff02::1"), 1).reason, DropReason::kIcmpIgnored);
  for (const char* nowhere : {"192.0.2.1", "198.51.100.1", "10.0.0.1", "224.0.0.1", "ff02::1", "2001:db9::"}) {
    EXPECT_FALSE(RouteOutput(s(), A(nowhere), 1).ok()) << nowhere;
  }
}

TEST_F(SlowPathRouteTest, SourceIsInTheSubnetElseThePrimaryElseAnotherLinks) {
  SnapshotBuilder b(arena_, s());
  LinkAddresses many;
  many.count4 = 3;
  many.ipv4[0] = {A("127.0.0.9").v4(), 8, 254};
  many.ipv4[1] = {A("192.168.1.1").v4(), 24, 0};
  many.ipv4[2] = {A("192.168.2.1").v4(), 24, 0};
  many.count6 = 3;
  many.ipv6[0] = {A("2001:db8:1::1").v6(), 64, 0};
  many.ipv6[1] = {A("2001:db8:2::1").v6(), 64, 0};
  many.ipv6[2] = {A("fe80::3").v6(), 64, 253};
  ASSERT_TRUE(b.SetLinkAddresses(2, many).ok());
  ASSERT_TRUE(b.SetLinkAddresses(1, {}).ok());
  const Snapshot& t = b.Candidate();
  EXPECT_EQ(SourceAddress(t, 2, A("192.168.2.7")), A("192.168.2.1"));
  EXPECT_EQ(SourceAddress(t, 2, A("10.9.9.9")), A("192.168.1.1")) << "primary, host scope passed over";
  EXPECT_EQ(SourceAddress(t, 1, A("10.9.9.9")), A("192.168.1.1")) << "unnumbered";
  EXPECT_EQ(SourceAddress(t, 2, A("2001:db8:2::9")), A("2001:db8:2::1"));
  EXPECT_EQ(SourceAddress(t, 2, A("fe80::9")), A("fe80::3"));
  EXPECT_EQ(SourceAddress(t, 2, A("ff02::1")), A("fe80::3"));
  EXPECT_EQ(SourceAddress(t, 1, A("2001:db8:2::9")), A("2001:db8:2::1"));
  EXPECT_TRUE(SourceAddress(t, 1, A("fe80::9")).empty());
  EXPECT_EQ(SolicitSource(t, 2, A("2001:db8:2::9")), A("fe80::3"));
  EXPECT_TRUE(SolicitSource(t, 1, A("2001:db8:2::9")).empty()) << "never from another link";
  EXPECT_TRUE(SourceAddress(t, 0xffffffff, A("10.0.0.1")).empty());
  b.Abort();
}

TEST_F(SlowPathRouteTest, OwnAddressesAreWeakForIpv4AndStrongForIpv6) {
  EXPECT_TRUE(IsOwnOnLink(s(), 1, A("10.0.2.1")));
  EXPECT_FALSE(IsOwnOnLink(s(), 1, A("10.0.0.2")));
  EXPECT_TRUE(IsOwnOnLink(s(), 2, A("2001:db8:12::1")));
  EXPECT_FALSE(IsOwnOnLink(s(), 1, A("2001:db8:12::1")));
  EXPECT_TRUE(IsOwnOnLink(s(), 2, A("fe80::2")));
}

TEST_F(SlowPathRouteTest, PrefixLengthIsThatOfTheRoute) {
  EXPECT_EQ(RoutePrefixLength(s(), A("2001:db8:99::1").v6()), 48);
  EXPECT_EQ(RoutePrefixLength(s(), A("2001:db8:10::1").v6()), 128);
  EXPECT_EQ(RoutePrefixLength(s(), A("2001:db9::1").v6()), 0);
}

}  // namespace
}  // namespace sluice
