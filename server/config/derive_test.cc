// What follows from links and addresses, line by line as Linux 6.18 lists it (`ip route show table ...`) after the same
// commands on a veth device without `lo` in the picture.
#include "server/config/test_util.h"

namespace sluice::config {
namespace {

TEST(Derive, AddressesOfADownLinkAreLocalOnly) {
  World w;
  w.Must({AddLink("v0", false), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "2001:db8::1/64")});
  EXPECT_EQ(w.Table(Family::kIpv4, 255), "local 10.0.0.1 dev v0 proto kernel scope host src 10.0.0.1\n");
  EXPECT_EQ(w.Table(Family::kIpv4, 254), "");
  EXPECT_EQ(w.Table(Family::kIpv6, 254), "");
}

TEST(Derive, AddressesMakeTheRoutesThatLinuxMakes) {
  World w;
  w.Must({AddLink("v0", false)});
  for (const char* text : {"10.0.0.1/24", "2001:db8::1/64"}) w.Must({AddAddress("v0", text)});
  w.Must({BringUp("v0", true)});
  for (const char* text :
       {"2001:db8:1::1/64", "10.1.0.1/31", "10.2.0.1/32", "2001:db8:2::1/127", "2001:db8:3::1/128", "10.0.0.2/24"}) {
    w.Must({AddAddress("v0", text)});
  }
  Address with_metric = MakeAddress("v0", "10.3.0.1/30");
  with_metric.metric = 77;
  Address no_route = MakeAddress("v0", "10.4.0.1/24");
  no_route.no_prefix_route = true;
  w.Must({Op(Verb::kAdd, with_metric)});
  w.Must({Op(Verb::kAdd, no_route)});
  for (const char* text : {"10.0.0.5/16", "0.1.2.3/8", "10.5.0.0/24", "10.5.0.255/24"}) {
    w.Must({AddAddress("v0", text)});
  }
  EXPECT_EQ(w.Table(Family::kIpv4, 255),
            "local 0.1.2.3 dev v0 proto kernel scope host src 0.1.2.3\n"
            "local 10.0.0.1 dev v0 proto kernel scope host src 10.0.0.1\n"
            "local 10.0.0.2 dev v0 proto kernel scope host src 10.0.0.1\n"
            "local 10.0.0.5 dev v0 proto kernel scope host src 10.0.0.5\n"
            "broadcast 10.0.0.255 dev v0 proto kernel scope link src 10.0.0.1\n"
            "broadcast 10.0.255.255 dev v0 proto kernel scope link src 10.0.0.5\n"
            "local 10.1.0.1 dev v0 proto kernel scope host src 10.1.0.1\n"
            "local 10.2.0.1 dev v0 proto kernel scope host src 10.2.0.1\n"
            "local 10.3.0.1 dev v0 proto kernel scope host src 10.3.0.1\n"
            "broadcast 10.3.0.3 dev v0 proto kernel scope link src 10.3.0.1\n"
            "local 10.4.0.1 dev v0 proto kernel scope host src 10.4.0.1\n"
            "broadcast 10.4.0.255 dev v0 proto kernel scope link src 10.4.0.1\n"
            "local 10.5.0.0 dev v0 proto kernel scope host src 10.5.0.0\n"
            "broadcast 10.5.0.255 dev v0 proto kernel scope link src 10.5.0.0\n"
            "local 10.5.0.255 dev v0 proto kernel scope host src 10.5.0.0\n");
  EXPECT_EQ(w.Table(Family::kIpv4, 254),
            "10.0.0.0/24 dev v0 proto kernel scope link src 10.0.0.1\n"
            "10.0.0.0/16 dev v0 proto kernel scope link src 10.0.0.5\n"
            "10.1.0.0/31 dev v0 proto kernel scope link src 10.1.0.1\n"
            "10.3.0.0/30 dev v0 proto kernel scope link src 10.3.0.1 metric 77\n"
            "10.5.0.0/24 dev v0 proto kernel scope link src 10.5.0.0\n");
  EXPECT_EQ(w.Table(Family::kIpv6, 255),
            "local 2001:db8::1 dev v0 proto kernel metric 0\n"
            "local 2001:db8:1::1 dev v0 proto kernel metric 0\n"
            "local 2001:db8:2::1 dev v0 proto kernel metric 0\n"
            "local 2001:db8:3::1 dev v0 proto kernel metric 0\n"
            "local fe80::ff:fe00:1 dev v0 proto kernel metric 0\n"
            "multicast ff00::/8 dev v0 proto kernel metric 256\n");
  EXPECT_EQ(w.Table(Family::kIpv6, 254),
            "2001:db8::/64 dev v0 proto kernel metric 256\n"
            "2001:db8:1::/64 dev v0 proto kernel metric 256\n"
            "2001:db8:2::/127 dev v0 proto kernel metric 256\n"
            "2001:db8:3::1 dev v0 proto kernel metric 256\n"
            "fe80::/64 dev v0 proto kernel metric 256\n");
  Selector addresses;
  addresses.match = Address{};
  std::string listed;
  for (const Object& object : ReadAll(w.config, {addresses})) absl::StrAppend(&listed, ObjectLine(object), "\n");
  EXPECT_EQ(listed,
            "address v0 10.0.0.1/24 scope 0\n"
            "address v0 10.1.0.1/31 scope 0\n"
            "address v0 10.2.0.1/32 scope 0\n"
            "address v0 10.3.0.1/30 scope 0 metric\n"
            "address v0 10.4.0.1/24 scope 0 noprefixroute\n"
            "address v0 10.0.0.5/16 scope 0\n"
            "address v0 0.1.2.3/8 scope 0\n"
            "address v0 10.5.0.0/24 scope 0\n"
            "address v0 10.0.0.2/24 scope 0 secondary\n"
            "address v0 10.5.0.255/24 scope 0 secondary\n"
            "address v0 2001:db8:3::1/128 scope 0\n"
            "address v0 2001:db8:2::1/127 scope 0\n"
            "address v0 2001:db8:1::1/64 scope 0\n"
            "address v0 2001:db8::1/64 scope 0\n"
            "address v0 fe80::ff:fe00:1/64 scope 253 derived\n");
}

TEST(Derive, RoutesAreListedInTheOrderOfLinux) {
  World w;
  w.Must({AddLink("v0")});
  for (const char* prefix : {"10.0.0.0/8", "10.0.0.0/12", "0.0.0.0/1", "0.0.0.0/0", "128.0.0.0/1", "2001::/16", "::/0",
                             "2001:db8::/32", "2001:db8:ffff::/48", "2001:db8::/64"}) {
    w.Must({AddRoute(prefix, "", "v0")});
  }
  Route second = MakeRoute("10.0.0.0/8", "", "v0");
  second.metric = 5;
  w.Must({Op(Verb::kAdd, second)});
  EXPECT_EQ(w.Table(Family::kIpv4, 254),
            "0.0.0.0/1 dev v0 scope link\n"
            "default dev v0 scope link\n"
            "10.0.0.0/12 dev v0 scope link\n"
            "10.0.0.0/8 dev v0 scope link\n"
            "10.0.0.0/8 dev v0 scope link metric 5\n"
            "128.0.0.0/1 dev v0 scope link\n");
  EXPECT_EQ(w.Table(Family::kIpv6, 254),
            "2001:db8::/64 dev v0 metric 1024\n"
            "2001:db8:ffff::/48 dev v0 metric 1024\n"
            "2001:db8::/32 dev v0 metric 1024\n"
            "2001::/16 dev v0 metric 1024\n"
            "fe80::/64 dev v0 proto kernel metric 256\n"
            "default dev v0 metric 1024\n");
}

TEST(Derive, DownTakesRoutesAwayAndUpBringsBackOnlyWhatFollowsFromAddresses) {
  World w;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "2001:db8::1/64")});
  const std::string main4 = w.Table(Family::kIpv4, 254), local4 = w.Table(Family::kIpv4, 255);
  const std::string main6 = w.Table(Family::kIpv6, 254), local6 = w.Table(Family::kIpv6, 255);
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9"), AddRoute("2001:db8:9::/48", "2001:db8::9"),
          Op(Verb::kAdd, Typed("10.77.0.0/16", RouteType::kLocal, "v0")),
          Op(Verb::kAdd, Typed("2001:db8:77::/48", RouteType::kLocal, "v0")),
          Op(Verb::kAdd, Typed("10.78.0.1/32", RouteType::kBroadcast, "v0")),
          Op(Verb::kAdd, Typed("10.79.0.0/16", RouteType::kBlackhole))});
  const Candidate::Outcome down = w.Must({BringUp("v0", false)});
  EXPECT_EQ(w.Cascaded(down),
            "route table 254 10.0.0.0/24 dev v0 proto kernel scope link src 10.0.0.1 derived\n"
            "route table 255 broadcast 10.0.0.255 dev v0 proto kernel scope link src 10.0.0.1 derived\n"
            "route table 255 local 2001:db8::1 dev v0 proto kernel metric 0 derived\n"
            "route table 254 2001:db8::/64 dev v0 proto kernel metric 256 derived\n"
            "route table 255 local fe80::ff:fe00:1 dev v0 proto kernel metric 0 derived\n"
            "route table 254 fe80::/64 dev v0 proto kernel metric 256 derived\n"
            "route table 255 multicast ff00::/8 dev v0 proto kernel metric 256 derived\n"
            "route table 254 10.9.0.0/16 via 10.0.0.9 dev v0\n"
            "route table 255 broadcast 10.78.0.1 dev v0 scope link\n"
            "route table 254 2001:db8:9::/48 via 2001:db8::9 dev v0 metric 1024\n"
            "route table 255 local 2001:db8:77::/48 dev v0 metric 1024\n");
  EXPECT_EQ(down.cascaded, 11u);
  EXPECT_EQ(w.Table(Family::kIpv4, 254), "blackhole 10.79.0.0/16\n");
  EXPECT_EQ(w.Table(Family::kIpv4, 255),
            "local 10.0.0.1 dev v0 proto kernel scope host src 10.0.0.1\nlocal 10.77.0.0/16 dev v0 scope host\n");
  EXPECT_EQ(w.Table(Family::kIpv6, 254) + w.Table(Family::kIpv6, 255), "");
  w.Must({BringUp("v0", true)});
  EXPECT_EQ(w.Table(Family::kIpv4, 254), main4 + "blackhole 10.79.0.0/16\n");
  EXPECT_EQ(w.Table(Family::kIpv4, 255), local4 + "local 10.77.0.0/16 dev v0 scope host\n");
  EXPECT_EQ(w.Table(Family::kIpv6, 254), main6);
  EXPECT_EQ(w.Table(Family::kIpv6, 255), local6);
}

TEST(Derive, TheLinkLocalAddressFollowsTheMac) {
  World w;
  w.Must({AddLink("v0")});
  EXPECT_NE(Dump(w.config).find("address v0 fe80::ff:fe00:1/64 scope 253 derived"), std::string::npos);
  Link change;
  change.name = "v0";
  change.mac = Mac("02:00:00:00:00:77");
  w.Must({Op(Verb::kChange, change, {"mac"})});
  EXPECT_EQ(Dump(w.config).find("fe80::ff:fe00:1/64"), std::string::npos);
  EXPECT_NE(Dump(w.config).find("address v0 fe80::ff:fe00:77/64 scope 253 derived"), std::string::npos);
  EXPECT_EQ(w.Refused({DeleteAddress("v0", "fe80::ff:fe00:77/64")}), "0 DERIVED object.address");
  // A user may make it his own; it then stays when the link goes down.
  w.Must({AddAddress("v0", "fe80::ff:fe00:77/64")});
  w.Must({BringUp("v0", false)});
  EXPECT_NE(Dump(w.config).find("address v0 fe80::ff:fe00:77/64 scope 253\n"), std::string::npos);
}

TEST(Derive, ALinkBelowTheIpv6MinimumHasNoIpv6) {
  World w;
  Link link = MakeLink("v0");
  link.mtu = 1279;
  w.Must({Op(Verb::kAdd, link), AddAddress("v0", "10.0.0.1/24")});
  EXPECT_EQ(w.Table(Family::kIpv6, 255) + w.Table(Family::kIpv6, 254), "");
  EXPECT_EQ(w.Refused({AddAddress("v0", "2001:db8::1/64")}), "0 MTU_BELOW_IPV6 object.address.address");
  Link mtu;
  mtu.name = "v0";
  mtu.mtu = 1280;
  w.Must({Op(Verb::kChange, mtu, {"mtu"}), AddAddress("v0", "2001:db8::1/64")});
  mtu.mtu = 1000;
  EXPECT_EQ(w.Refused({Op(Verb::kChange, mtu, {"mtu"})}), "0 MTU_BELOW_IPV6 object.link.mtu");
}

TEST(Derive, TheNextAddressOfASubnetTakesOverFromTheFirst) {
  World w;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.7/24"), AddAddress("v0", "10.0.0.2/24")});
  w.Must({DeleteAddress("v0", "10.0.0.7/24")});
  EXPECT_EQ(w.Table(Family::kIpv4, 254), "10.0.0.0/24 dev v0 proto kernel scope link src 10.0.0.2\n");
  EXPECT_EQ(w.Table(Family::kIpv4, 255),
            "local 10.0.0.2 dev v0 proto kernel scope host src 10.0.0.2\n"
            "broadcast 10.0.0.255 dev v0 proto kernel scope link src 10.0.0.2\n");
}

TEST(Derive, TwoLinksMayHaveOneSubnetAndTheFirstIsPreferred) {
  World w;
  w.Must({AddLink("v0"), AddLink("v1"), AddAddress("v0", "10.0.0.1/24")});
  w.Must({AddAddress("v1", "10.0.0.2/24")});
  EXPECT_EQ(w.Table(Family::kIpv4, 254),
            "10.0.0.0/24 dev v0 proto kernel scope link src 10.0.0.1\n"
            "10.0.0.0/24 dev v1 proto kernel scope link src 10.0.0.2\n");
  w.Must({DeleteAddress("v0", "10.0.0.1/24")});
  EXPECT_EQ(w.Table(Family::kIpv4, 254), "10.0.0.0/24 dev v1 proto kernel scope link src 10.0.0.2\n");
}

TEST(Derive, DeletingAnAddressTakesItsRoutesAndThoseThatNameItAsSource) {
  World w;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "10.1.0.1/24"),
          AddAddress("v0", "2001:db8::1/64")});
  const std::string before = Dump(w.config);
  Route named = MakeRoute("10.9.0.0/16", "10.0.0.9");
  named.prefsrc = Ip("10.1.0.1");
  Route named6 = MakeRoute("2001:db8:9::/48", "fe80::9", "v0");
  named6.prefsrc = Ip("2001:db8::1");
  w.Must({Op(Verb::kAdd, named), Op(Verb::kAdd, named6)});
  const Candidate::Outcome outcome = w.Must({DeleteAddress("v0", "10.1.0.1/24")});
  EXPECT_EQ(w.Cascaded(outcome),
            "route table 255 local 10.1.0.1 dev v0 proto kernel scope host src 10.1.0.1 derived\n"
            "route table 254 10.1.0.0/24 dev v0 proto kernel scope link src 10.1.0.1 derived\n"
            "route table 255 broadcast 10.1.0.255 dev v0 proto kernel scope link src 10.1.0.1 derived\n"
            "route table 254 10.9.0.0/16 via 10.0.0.9 dev v0 src 10.1.0.1\n");
  // IPv6 routes only forget the source.
  w.Must({DeleteAddress("v0", "2001:db8::1/64")});
  EXPECT_NE(Dump(w.config).find("2001:db8:9::/48 via fe80::9 dev v0 metric 1024\n"), std::string::npos);
}

TEST(Derive, ADeviceThatComesLateGivesItsLinkAnAddressWithoutAGeneration) {
  World w;
  Link link = MakeLink("v0");
  link.mac.reset();
  w.Must({Op(Verb::kAdd, link)});
  EXPECT_EQ(w.Table(Family::kIpv6, 255), "multicast ff00::/8 dev v0 proto kernel metric 256\n");
  Candidate candidate(w.config);
  DeviceFacts facts;
  facts.known = true;
  facts.mac = Mac("02:00:00:00:00:05");
  candidate.SetDevice(w.config.FindLink("v0"), facts);
  const Candidate::Outcome outcome = candidate.Finish();
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_FALSE(outcome.changed);
  EXPECT_EQ(outcome.config.generation, w.config.generation);
  EXPECT_NE(Dump(outcome.config).find("fe80::ff:fe00:5/64"), std::string::npos);
  ExpectConsistent(outcome.config);
}

TEST(Derive, ALinkMayHaveThousandsOfAddresses) {
  World w;
  std::vector<Operation> ops = {AddLink("v0")};
  for (int i = 0; i < 10000; ++i) ops.push_back(AddAddress("v0", absl::StrCat("10.", i / 250, ".", i % 250, ".1/24")));
  w.Must(ops);
  EXPECT_EQ(w.config.addresses.size(), 10001u);
  EXPECT_EQ(w.config.routes4.size(), 30000u);
  EXPECT_EQ(ReadAll(w.config, {}, 1000).size(), 1u + 10001u + 30000u + 3u);
  w.Must({DeleteAddress("v0", "10.3.3.1/24")});
  const Candidate::Outcome outcome = w.Must({DeleteLink("v0")});
  EXPECT_EQ(outcome.cascaded, 10000u + 29997u + 3u);
  EXPECT_EQ(w.config.routes(), 0u);
}

}  // namespace
}  // namespace sluice::config
