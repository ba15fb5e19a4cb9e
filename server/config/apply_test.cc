// Batches: what each verb does, what the state at the end decides, and that a refusal leaves no trace.
#include <algorithm>
#include <random>

#include "server/config/test_util.h"

namespace sluice::config {
namespace {

World Connected() {
  World w;
  w.Must({AddLink("v0"), AddLink("v1"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v1", "10.1.0.1/24"),
          AddAddress("v0", "2001:db8::1/64")});
  return w;
}

std::string Main4(const World& w) {  // without the connected routes
  std::string text;
  for (absl::string_view line : absl::StrSplit(w.Table(Family::kIpv4, 254), '\n')) {
    if (!line.empty() && line.find("proto kernel") == absl::string_view::npos) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

TEST(Apply, AddOfWhatExistsIsRefusedAndChangesNothing) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9"), Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99"))});
  EXPECT_EQ(w.Refused({AddLink("v0")}), "0 ALREADY_EXISTS object.link.name");
  EXPECT_EQ(w.Refused({AddAddress("v0", "10.0.0.1/24")}), "0 ALREADY_EXISTS object.address.address");
  EXPECT_EQ(w.Refused({AddAddress("v0", "2001:db8::1/48")}), "0 ALREADY_EXISTS object.address.address");
  EXPECT_EQ(w.Refused({Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:98"))}),
            "0 ALREADY_EXISTS object.neighbor.address");
  // Whatever its type or gateway.
  EXPECT_EQ(w.Refused({Op(Verb::kAdd, Typed("10.9.0.0/16", RouteType::kBlackhole))}),
            "0 ALREADY_EXISTS object.route.prefix");
  Route metric = MakeRoute("10.9.0.0/16", "10.0.0.8");
  metric.metric = 5;
  w.Must({Op(Verb::kAdd, metric)});
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.9 dev v0\n10.9.0.0/16 via 10.0.0.8 dev v0 metric 5\n");
  // 10.0.0.1/16 is another IPv4 address than 10.0.0.1/24.
  w.Must({AddAddress("v0", "10.0.0.1/16")});
}

TEST(Apply, ReplaceOfTheSameChangesNothing) {
  World w = Connected();
  const std::vector<Operation> ops = {Op(Verb::kReplace, MakeLink("v0")),
                                      Op(Verb::kReplace, MakeAddress("v0", "10.0.0.1/24")),
                                      Op(Verb::kReplace, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99")),
                                      Op(Verb::kReplace, MakeRoute("10.9.0.0/16", "10.0.0.9")),
                                      Op(Verb::kReplace, MakeRoute("2001:db8:9::/48", "2001:db8::9"))};
  w.Must(ops);
  const Config before = w.config;
  const Candidate::Outcome again = w.Must(ops);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(w.config.generation, before.generation);
  EXPECT_TRUE(w.config.routes4.SharesRootWith(before.routes4));
}

TEST(Apply, ReplaceTakesThePlaceAndKeepsTheUid) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9")});
  const Object before = ReadAll(w.config).back();
  const Candidate::Outcome outcome = w.Must({Op(Verb::kReplace, Typed("10.9.0.0/16", RouteType::kBlackhole))});
  EXPECT_EQ(Main4(w), "blackhole 10.9.0.0/16\n");
  ASSERT_EQ(outcome.results.size(), 1u);
  const Meta& meta = outcome.results[0].stored->meta;
  Selector uid;
  uid.uids = {meta.uid};
  EXPECT_EQ(ReadAll(w.config, {uid}).size(), 1u);
  EXPECT_LT(meta.generation_created, meta.generation_changed);
  EXPECT_EQ(meta.generation_changed, w.config.generation);
}

TEST(Apply, AppendAndPrependStandAroundTheirEqualsAndDeleteTakesTheFirst) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.2")});
  w.Must({Op(Verb::kAppend, MakeRoute("10.9.0.0/16", "10.0.0.3")),
          Op(Verb::kPrepend, MakeRoute("10.9.0.0/16", "10.0.0.1"))});
  EXPECT_EQ(Main4(w),
            "10.9.0.0/16 via 10.0.0.1 dev v0\n10.9.0.0/16 via 10.0.0.2 dev v0\n10.9.0.0/16 via 10.0.0.3 dev v0\n");
  EXPECT_EQ(w.Refused({Op(Verb::kAppend, MakeRoute("10.9.0.0/16", "10.0.0.2"))}), "0 ALREADY_EXISTS object.route");
  EXPECT_EQ(w.Refused({Op(Verb::kPrepend, MakeRoute("10.9.0.0/16", "10.0.0.3"))}), "0 ALREADY_EXISTS object.route");
  // The first would become the same as a later one.
  EXPECT_EQ(w.Refused({Op(Verb::kReplace, MakeRoute("10.9.0.0/16", "10.0.0.3"))}), "0 ALREADY_EXISTS object.route");
  w.Must({Op(Verb::kDelete, MakeRoute("10.9.0.0/16", "10.0.0.2"))});
  w.Must({DeleteRoute("10.9.0.0/16")});
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.3 dev v0\n");
  EXPECT_EQ(w.Refused({Op(Verb::kDelete, MakeRoute("10.9.0.0/16", "10.0.0.2"))}), "0 NOT_FOUND object.route");
}

TEST(Apply, EqualRoutesDoNotRunOutOfPlaces) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.2")});
  // Each round drifts upwards by one place; there are 2^15 above the first.
  Candidate candidate(w.config, {.describe_stored = false});
  for (int i = 0; i < 40000; ++i) {
    candidate.Apply(Op(Verb::kAppend, MakeRoute("10.9.0.0/16", i % 2 ? "10.0.0.2" : "10.0.0.3")));
    candidate.Apply(DeleteRoute("10.9.0.0/16"));
  }
  Candidate::Outcome outcome = candidate.Finish();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  w.config = outcome.config;
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.2 dev v0\n");
  ExpectConsistent(w.config);
}

TEST(Apply, DeleteComparesEveryFieldThatIsGiven) {
  World w = Connected();
  Route route = MakeRoute("10.9.0.0/16", "10.0.0.9");
  route.protocol = 4;
  route.metric = 7;
  w.Must({Op(Verb::kAdd, route)});
  Route wrong = MakeRoute("10.9.0.0/16");
  wrong.protocol = 3;
  EXPECT_EQ(w.Refused({Op(Verb::kDelete, wrong)}), "0 NOT_FOUND object.route");
  wrong.protocol = 4;
  wrong.metric = 0;
  EXPECT_EQ(w.Refused({Op(Verb::kDelete, wrong)}), "0 NOT_FOUND object.route");
  wrong.metric.reset();
  wrong.table = 100;
  EXPECT_EQ(w.Refused({Op(Verb::kDelete, wrong)}), "0 NOT_FOUND object.route");
  wrong.table.reset();
  Operation by_type = Op(Verb::kDelete, wrong, {"prefix", "type"});
  std::get<Route>(std::get<Object>(by_type.target).value).type = RouteType::kBlackhole;
  EXPECT_EQ(w.Refused({by_type}), "0 NOT_FOUND object.route");
  w.Must({Op(Verb::kDelete, wrong)});
  EXPECT_EQ(Main4(w), "");
}

TEST(Apply, DeleteOfNothingIsFineWhenAskedFor) {
  World w = Connected();
  for (Operation op : {DeleteRoute("10.9.0.0/16"), DeleteAddress("v0", "10.0.0.2/24"), DeleteLink("v7"),
                       Op(Verb::kDelete, MakeNeighbor("v0", "10.0.0.9", ""))}) {
    EXPECT_NE(w.Refused({op}).find("NOT_FOUND"), std::string::npos);
    op.missing_ok = true;
    EXPECT_FALSE(w.Must({op}).changed);
  }
}

TEST(Apply, DerivedRoutesCannotBeChangedByThemselves) {
  World w = Connected();
  EXPECT_EQ(w.Refused({DeleteRoute("10.0.0.0/24")}), "0 DERIVED object.route.prefix");
  EXPECT_EQ(w.Refused({AddRoute("10.0.0.0/24", "", "v1")}), "0 ALREADY_EXISTS object.route.prefix");
  EXPECT_EQ(w.Refused({Op(Verb::kReplace, MakeRoute("10.0.0.0/24", "", "v1"))}), "0 DERIVED object.route.prefix");
  EXPECT_EQ(w.Refused({Op(Verb::kChange, MakeRoute("10.0.0.0/24", "", "v1"))}), "0 DERIVED object.route.prefix");
  // But they go with their address, in either order.
  w.Must({DeleteAddress("v0", "10.0.0.1/24"), AddRoute("10.0.0.0/24", "", "v1")});
  EXPECT_EQ(Main4(w), "10.0.0.0/24 dev v1 scope link\n");
  // And one that comes with an address stands behind the one that a user made.
  w.Must({AddAddress("v0", "10.0.0.1/24")});
  EXPECT_EQ(w.config.Lookup(Ip("10.0.0.77"))->record.derived, false);
}

TEST(Apply, GatewaysAreCheckedAsLinuxDoes) {
  World w = Connected();
  w.Must({AddRoute("10.90.0.0/16", "10.0.0.1")});  // an own address will do, in IPv4
  const char* field = "0 GATEWAY_UNREACHABLE object.route.nexthops[0].gateway";
  EXPECT_EQ(w.Refused({AddRoute("10.91.0.0/16", "10.9.9.9")}), field);
  EXPECT_EQ(w.Refused({AddRoute("10.91.0.0/16", "10.90.0.9")}), field);       // not by a route via a gateway
  EXPECT_EQ(w.Refused({AddRoute("10.91.0.0/16", "10.0.0.9", "v1")}), field);  // elsewhere than said
  EXPECT_EQ(w.Refused({AddRoute("10.91.0.0/16", "10.0.0.255")}),
            "0 GATEWAY_NOT_UNICAST object.route.nexthops[0].gateway");
  EXPECT_EQ(w.Refused({AddRoute("2001:db8:9::/48", "2001:db8::1")}),
            "0 GATEWAY_IS_OWN object.route.nexthops[0].gateway");
  EXPECT_EQ(w.Refused({AddRoute("2001:db8:9::/48", "2001:db8:77::1")}), field);
  EXPECT_EQ(w.Refused({AddRoute("2001:db8:9::/48", "fe80::9")}), "0 GATEWAY_NEEDS_LINK object.route.nexthops[0].link");
  EXPECT_EQ(w.Refused({AddRoute("2001:db8:9::/48", "fe80::ff:fe00:1", "v0")}),
            "0 GATEWAY_IS_OWN object.route.nexthops[0].gateway");
  w.Must({AddRoute("2001:db8:9::/48", "fe80::9", "v1")});
  w.Must({AddRoute("10.92.0.0/16", "2001:db8::9")});
  w.Must({AddRoute("10.93.0.0/16", "fe80::9", "v1")});
  // A host route on the link makes its address a gateway; one of universe scope does not.
  w.Must({AddRoute("10.99.0.1/32", "", "v1")});
  w.Must({AddRoute("10.94.0.0/16", "10.99.0.1")});
  Route wide = MakeRoute("10.99.0.2/32", "", "v1");
  wide.scope = 0;
  w.Must({Op(Verb::kAdd, wide)});
  EXPECT_EQ(w.Refused({AddRoute("10.95.0.0/16", "10.99.0.2")}), field);
  Route onlink = MakeRoute("10.95.0.0/16", "10.99.0.2", "v1");
  onlink.legs[0].onlink = true;
  w.Must({Op(Verb::kAdd, onlink)});
  // In the route's own table first.
  Route own_table = MakeRoute("10.0.0.9/32", "", "v1");
  own_table.table = 100;
  Route by_own_table = MakeRoute("10.96.0.0/16", "10.0.0.9");
  by_own_table.table = 100;
  w.Must({Op(Verb::kAdd, by_own_table), Op(Verb::kAdd, own_table)});
  EXPECT_EQ(w.Table(Family::kIpv4, 100), "10.0.0.9 dev v1 scope link\n10.96.0.0/16 via 10.0.0.9 dev v1\n");
  // A default route of the own table does not hide the connected network of table main.
  Route default6 = MakeRoute("::/0", "2001:db8::9");
  default6.table = 100;
  Route more6 = MakeRoute("2001:db8:50::/48", "2001:db8::8");
  more6.table = 100;
  w.Must({Op(Verb::kAdd, default6)});
  w.Must({Op(Verb::kAdd, more6)});
  EXPECT_NE(Main4(w).find("10.92.0.0/16 via inet6 2001:db8::9 dev v0\n10.93.0.0/16 via inet6 fe80::9 dev v1\n"
                          "10.94.0.0/16 via 10.99.0.1 dev v1\n10.95.0.0/16 via 10.99.0.2 dev v1 onlink\n"),
            std::string::npos)
      << Main4(w);
}

TEST(Apply, WhatARouteRefersToMustBeThereAndUp) {
  World w = Connected();
  EXPECT_EQ(w.Refused({AddRoute("10.9.0.0/16", "", "v9")}), "0 UNKNOWN_LINK object.route.nexthops[0].link");
  EXPECT_EQ(w.Refused({AddAddress("v9", "10.7.0.1/24")}), "0 UNKNOWN_LINK object.address.link");
  EXPECT_EQ(w.Refused({Op(Verb::kAdd, MakeNeighbor("v9", "10.7.0.1", "02:00:00:00:00:01"))}),
            "0 UNKNOWN_LINK object.neighbor.link");
  w.Must({BringUp("v1", false)});
  EXPECT_EQ(w.Refused({AddRoute("10.9.0.0/16", "", "v1")}), "0 LINK_DOWN object.route.nexthops[0].link");
  EXPECT_EQ(w.Refused({AddRoute("2001:db8:9::/48", "fe80::9", "v1")}), "0 LINK_DOWN object.route.nexthops[0].link");
  w.Must({Op(Verb::kAdd, Typed("10.8.0.0/16", RouteType::kLocal, "v1"))});
  Route source = MakeRoute("10.9.0.0/16", "10.0.0.9");
  source.prefsrc = Ip("10.0.0.2");
  EXPECT_EQ(w.Refused({Op(Verb::kAdd, source)}), "0 PREFSRC_NOT_LOCAL object.route.prefsrc");
  w.Must({Op(Verb::kAdd, source), AddAddress("v0", "10.0.0.2/24")});
  // A link that goes down in the batch: routes that the batch writes are refused, in any order.
  EXPECT_EQ(w.Refused({BringUp("v0", false), AddRoute("10.10.0.0/16", "", "v0")}),
            "1 LINK_DOWN object.route.nexthops[0].link");
  EXPECT_EQ(w.Refused({AddRoute("10.10.0.0/16", "", "v0"), BringUp("v0", false)}),
            "0 LINK_DOWN object.route.nexthops[0].link");
}

TEST(Apply, ABatchWithABadOperationChangesNothing) {
  World w = Connected();
  std::vector<Operation> ops;
  for (int i = 0; i < 1000; ++i) {
    ops.push_back(AddRoute(absl::StrCat("20.", i / 256, ".", i % 256, ".0/24"), i == 499 ? "10.9.9.9" : "10.0.0.9"));
  }
  EXPECT_EQ(w.Refused(ops), "499 GATEWAY_UNREACHABLE object.route.nexthops[0].gateway");
  ops[499] = AddRoute("20.0.0.0/24", "10.0.0.9");
  EXPECT_EQ(w.Refused(ops), "499 ALREADY_EXISTS object.route.prefix");
  ops.erase(ops.begin() + 499);
  w.Must(ops);
  EXPECT_EQ(w.config.nexthops.size(), w.Try({}).config.nexthops.size());
}

TEST(Apply, AllProblemsOfABatchAreFound) {
  World w = Connected();
  EXPECT_EQ(w.Refused({AddRoute("10.9.0.0/16", "10.9.9.9"), AddRoute("10.10.0.0/16", "10.0.0.9"), AddLink("v0"),
                       AddRoute("10.11.0.0/16", "", "v9"), DeleteRoute("10.12.0.0/16")}),
            "0 GATEWAY_UNREACHABLE object.route.nexthops[0].gateway, 2 ALREADY_EXISTS object.link.name, "
            "3 UNKNOWN_LINK object.route.nexthops[0].link, 4 NOT_FOUND object.route");
  const Candidate::Outcome outcome = w.Try({AddRoute("10.9.0.0/16", "10.9.9.9"), AddLink("v0")});
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(outcome.status.message().find("route 10.9.0.0/16 table 254: gateway 10.9.9.9"), std::string::npos)
      << outcome.status;
}

// Any order of ADD and REPLACE with explicit keys gives the same state.
TEST(Apply, TheOrderOfAddsDoesNotMatter) {
  Link low = MakeLink("v3");
  low.mtu = 1400;
  Route local_scope = MakeRoute("10.60.0.1/32", "", "v2");
  Route chained = MakeRoute("10.61.0.0/16", "10.60.0.1");
  Route named = MakeRoute("10.62.0.0/16", "10.1.0.9");
  named.prefsrc = Ip("10.0.0.1");
  Route six_via = MakeRoute("10.63.0.0/16", "2001:db8:2::9");
  Route other_table = MakeRoute("10.64.0.0/16", "10.0.0.9");
  other_table.table = 7;
  std::vector<Operation> ops = {AddLink("v0"),
                                AddLink("v1"),
                                Op(Verb::kReplace, MakeLink("v2")),
                                Op(Verb::kAdd, low),
                                AddAddress("v0", "10.0.0.1/24"),
                                AddAddress("v1", "10.1.0.1/24"),
                                AddAddress("v1", "10.0.0.2/24"),
                                AddAddress("v2", "2001:db8:2::1/64"),
                                AddAddress("v3", "2001:db8:3::1/64"),
                                Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99")),
                                AddRoute("0.0.0.0/0", "10.0.0.254"),
                                Op(Verb::kReplace, local_scope),
                                Op(Verb::kAdd, chained),
                                Op(Verb::kAdd, named),
                                Op(Verb::kAdd, six_via),
                                Op(Verb::kAdd, other_table),
                                AddRoute("2001:db8:9::/48", "fe80::9", "v3"),
                                AddRoute("10.0.0.0/24", "", "v2")};
  std::mt19937 random(1);
  std::string expected;
  for (int round = 0; round < 200; ++round) {
    World w;
    w.Must(ops);
    // One line each; links and their addresses come by index, which is assigned in order.
    std::vector<std::string> lines = absl::StrSplit(Dump(w.config), '\n');
    std::sort(lines.begin(), lines.end());
    const std::string dump = absl::StrJoin(lines, "\n") + w.Table(Family::kIpv4, 254) + w.Table(Family::kIpv4, 255);
    if (round == 0) expected = dump;
    ASSERT_EQ(dump, expected) << round;
    std::shuffle(ops.begin(), ops.end(), random);
  }
}

TEST(Apply, DeletingALinkTakesEverythingThatStandsOnIt) {
  World w = Connected();
  const std::string before = Dump(w.config);
  w.Must({AddLink("v2"), AddAddress("v2", "10.2.0.1/24"), AddAddress("v2", "2001:db8:2::1/64"),
          Op(Verb::kAdd, MakeNeighbor("v2", "10.2.0.9", "02:00:00:00:00:99")), AddRoute("10.20.0.0/16", "10.2.0.9"),
          Op(Verb::kAdd, Typed("10.21.0.0/16", RouteType::kLocal, "v2")),
          AddRoute("2001:db8:20::/48", "fe80::9", "v2")});
  const Candidate::Outcome outcome = w.Must({DeleteLink("v2")});
  EXPECT_EQ(Dump(w.config), before);
  const std::string cascaded = w.Cascaded(outcome);
  for (const char* line : {"address v2 10.2.0.1/24", "address v2 2001:db8:2::1/64", "neighbor v2 10.2.0.9",
                           "10.20.0.0/16 via 10.2.0.9 dev v2", "local 10.21.0.0/16 dev v2",
                           "2001:db8:20::/48 via fe80::9 dev v2", "10.2.0.0/24 dev v2 proto kernel"}) {
    EXPECT_NE(cascaded.find(line), std::string::npos) << line << "\n" << cascaded;
  }
  EXPECT_EQ(w.config.neighbors.size(), 0u);
}

TEST(Apply, ALinkMadeAnewInheritsNothing) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9")});
  const LinkIndex old = w.config.FindLink("v0");
  w.Must({DeleteLink("v0"), AddLink("v0")});
  EXPECT_NE(w.config.FindLink("v0"), old);
  EXPECT_EQ(w.Table(Family::kIpv4, 254), "10.1.0.0/24 dev v1 proto kernel scope link src 10.1.0.1\n");
}

TEST(Apply, ARenamedLinkKeepsWhatNamesIt) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9")});
  Link rename;
  rename.name = "v0";
  rename.new_name = "up0";
  w.Must({Op(Verb::kChange, rename, {"new_name"})});
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.9 dev up0\n");
  rename.name = "up0";
  rename.new_name = "v1";
  EXPECT_EQ(w.Refused({Op(Verb::kChange, rename, {"new_name"})}), "0 ALREADY_EXISTS object.link.new_name");
}

TEST(Apply, ChangeWithAMaskChangesOnlyWhatItNames) {
  World w = Connected();
  Route route = MakeRoute("10.9.0.0/16", "10.0.0.9");
  route.mtu = 1400;
  route.protocol = 4;
  w.Must({Op(Verb::kAdd, route)});
  Route change = MakeRoute("10.9.0.0/16", "10.1.0.9");
  w.Must({Op(Verb::kChange, change, {"nexthops"})});
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.1.0.9 dev v1 proto static mtu 1400\n");
  change.type = RouteType::kBlackhole;
  w.Must({Op(Verb::kChange, change, {"type", "mtu"})});
  EXPECT_EQ(Main4(w), "blackhole 10.9.0.0/16 proto static\n");
  EXPECT_EQ(w.Refused({Op(Verb::kChange, change, {"prefix"})}), "0 UPDATE_MASK update_mask");
  EXPECT_EQ(w.Refused({Op(Verb::kChange, MakeRoute("10.8.0.0/16"), {"mtu"})}), "0 NOT_FOUND object.route.prefix");
  Neighbor neighbor = MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99");
  w.Must({Op(Verb::kAdd, neighbor)});
  neighbor.mac = Mac("02:00:00:00:00:98");
  w.Must({Op(Verb::kChange, neighbor, {"lladdr"})});
  EXPECT_NE(Dump(w.config).find("neighbor v0 10.0.0.9 02:00:00:00:00:98"), std::string::npos);
}

TEST(Apply, AnEtagIsCompared) {
  World w = Connected();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9")});
  const uint64_t changed = w.config.generation;
  w.Must({AddRoute("10.10.0.0/16", "10.0.0.9")});
  Operation replace = Op(Verb::kReplace, MakeRoute("10.9.0.0/16", "10.0.0.8"));
  replace.expected_changed = changed;
  Operation again = Op(Verb::kReplace, MakeRoute("10.9.0.0/16", "10.0.0.7"));
  again.expected_changed = changed;
  w.Must({replace});
  EXPECT_EQ(w.Refused({again}), "0 OBJECT_CHANGED expected_changed");
  Operation missing = DeleteRoute("10.77.0.0/16");
  missing.expected_changed = changed;
  EXPECT_EQ(w.Refused({missing}), "0 OBJECT_CHANGED expected_changed");
}

TEST(Apply, SharedNexthopsAreOneSlotUntilTheLastUserGoes) {
  World w = Connected();
  const size_t base = w.config.nexthops.size();
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9"), AddRoute("10.10.0.0/16", "10.0.0.9", "v0")});
  EXPECT_EQ(w.config.nexthops.size(), base + 1);  // by whichever way the link was found
  w.Must({DeleteRoute("10.9.0.0/16")});
  EXPECT_EQ(Main4(w), "10.10.0.0/16 via 10.0.0.9 dev v0\n");
  w.Must({DeleteRoute("10.10.0.0/16")});
  EXPECT_EQ(w.config.nexthops.size(), base);
  // A counted route has a slot of its own.
  Route counted = MakeRoute("10.9.0.0/16", "10.0.0.9");
  counted.counted = true;
  w.Must({Op(Verb::kAdd, counted), AddRoute("10.10.0.0/16", "10.0.0.9")});
  EXPECT_EQ(w.config.nexthops.size(), base + 2);
}

TEST(Apply, CreateAndDeleteLeaveNothingBehind) {
  World w = Connected();
  const std::string before = Dump(w.config);
  for (int i = 0; i < 300; ++i) {
    Route counted = MakeRoute("10.9.0.0/16", "10.2.0.9");
    counted.counted = true;
    Operation labelled = Op(Verb::kAdd, counted);
    std::get<Object>(labelled.target).owner = "test";
    std::get<Object>(labelled.target).labels["round"] = absl::StrCat(i);
    w.Must({AddLink("v2"), AddAddress("v2", "10.2.0.1/24"), AddAddress("v2", "2001:db8:2::1/64"),
            Op(Verb::kAdd, MakeNeighbor("v2", "10.2.0.9", "02:00:00:00:00:99")), labelled});
    if (i % 2 == 0) {
      w.Must({DeleteLink("v2")});
    } else {
      w.Must({DeleteRoute("10.9.0.0/16"), Op(Verb::kDelete, MakeNeighbor("v2", "10.2.0.9", "")),
              DeleteAddress("v2", "2001:db8:2::1/64"), DeleteAddress("v2", "10.2.0.1/24"), DeleteLink("v2")});
    }
    ASSERT_EQ(Dump(w.config), before);
    ASSERT_EQ(w.config.attributes.size(), 0u);
  }
}

TEST(Apply, FlushAndDeleteBySelectorTakeWhatAgrees) {
  World w = Connected();
  Route table = MakeRoute("10.30.0.0/16", "10.0.0.9");
  table.table = 100;
  table.protocol = 4;
  w.Must({AddRoute("10.9.0.0/16", "10.0.0.9"), AddRoute("10.10.0.0/16", "10.1.0.9"), Op(Verb::kAdd, table),
          AddRoute("2001:db8:9::/48", "2001:db8::9")});
  const auto select = [](Verb verb, AnyObject match, Family family = Family::kNone) {
    Operation op;
    op.verb = verb;
    Selector selector;
    selector.match = std::move(match);
    selector.family = family;
    op.target = selector;
    return op;
  };
  Route by_link;
  by_link.legs.push_back({});
  by_link.legs[0].link = "v1";
  w.Must({select(Verb::kFlush, by_link)});
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.9 dev v0\n");
  Route by_protocol;
  by_protocol.protocol = 4;
  w.Must({select(Verb::kFlush, by_protocol)});
  EXPECT_EQ(w.Table(Family::kIpv4, 100), "");
  w.Must({select(Verb::kFlush, Route{}, Family::kIpv6)});
  EXPECT_EQ(w.Table(Family::kIpv6, 254).find("2001:db8:9::/48"), std::string::npos);
  EXPECT_EQ(Main4(w), "10.9.0.0/16 via 10.0.0.9 dev v0\n");
  EXPECT_FALSE(w.Must({select(Verb::kFlush, by_protocol)}).changed);  // be they none
  EXPECT_EQ(w.Refused({select(Verb::kDelete, by_protocol)}), "0 NOT_FOUND selector");
  EXPECT_EQ(w.Refused({select(Verb::kFlush, {})}), "0 SELECTOR_EMPTY selector");
  EXPECT_EQ(w.Refused({select(Verb::kAdd, Route{})}), "0 TARGET_NOT_ALLOWED selector");
  w.Must({select(Verb::kDelete, Route{})});
  EXPECT_EQ(Main4(w), "");
  w.Must({select(Verb::kFlush, Link{.name = "v1"})});
  EXPECT_EQ(w.config.links.size(), 1u);
  w.Must({select(Verb::kFlush, Address{}), select(Verb::kFlush, Neighbor{})});
  EXPECT_EQ(w.Table(Family::kIpv4, 255), "");
}

}  // namespace
}  // namespace sluice::config
