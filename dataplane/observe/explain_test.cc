#include "dataplane/observe/explain.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "dataplane/worker/doomed_frames.h"
#include "dataplane/worker/pipeline_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;

std::string Name(LinkIndex i) { return absl::StrCat("p", i); }

Explanation ExplainIn(PipelineFixture& f, const Frame& frame, LinkIndex link = 1) {
  return Explain(f.snapshot(), f.adjacencies, link, frame, Name);
}

std::vector<std::string> Stages(const Explanation& e) {
  std::vector<std::string> stages;
  for (const ExplainStep& step : e.steps) stages.push_back(step.stage);
  return stages;
}

std::string Fact(const Explanation& e, absl::string_view stage, absl::string_view key) {
  for (const ExplainStep& step : e.steps) {
    if (step.stage != stage) continue;
    for (const auto& fact : step.facts) {
      if (fact.first == key) return fact.second;
    }
  }
  return "absent";
}

TEST(Explain, NamesEachStepOfAForwardedPacket) {
  PipelineFixture f;
  const Explanation e = ExplainIn(f, f.Udp("10.0.1.2", "198.18.7.7"));
  EXPECT_THAT(Stages(e),
              ElementsAre("receive", "parse", "route", "nexthop", "ttl", "mtu", "neighbor", "rewrite", "transmit"));
  EXPECT_EQ(Fact(e, "route", "prefix"), "198.18.0.0/16");
  EXPECT_EQ(Fact(e, "route", "table"), "main");
  EXPECT_EQ(Fact(e, "nexthop", "gateway"), "10.0.2.2");
  EXPECT_EQ(Fact(e, "neighbor", "mac"), f.HostMac(2).ToString());
  EXPECT_EQ(Fact(e, "rewrite", "ttl"), "63");
  EXPECT_EQ(Fact(e, "transmit", "link"), "p2");
  EXPECT_EQ(e.route.table, kTableMain);
  EXPECT_EQ(e.prefix, *IpPrefix::Parse("198.18.0.0/16"));
}

TEST(Explain, GivesTheReasonThatTheCounterGives) {
  PipelineFixture f;
  for (const Doomed& d : DoomedFrames()) {
    SCOPED_TRACE(std::string(DropReasonName(d.reason)));
    const uint64_t before = f.lane().drops(d.reason);
    f.Run({d.frame, d.frame, d.frame}, d.link);
    EXPECT_EQ(f.lane().drops(d.reason), before + 3);
    const Explanation e = ExplainIn(f, d.frame, d.link);
    EXPECT_EQ(e.outcome, Outcome::kDropped);
    ASSERT_TRUE(e.drop.has_value());
    EXPECT_EQ(*e.drop, d.reason) << DropReasonName(*e.drop);
    EXPECT_EQ(e.error, d.error);
    EXPECT_EQ(Fact(e, "drop", "reason"), DropReasonName(d.reason));
    EXPECT_EQ(f.lane().drops(d.reason), before + 3) << "explain counts nothing";
  }
}

TEST(Explain, AgreesWithTheWire) {
  PipelineFixture f;
  for (const Frame& in : {f.Udp("10.0.1.2", "198.18.7.7"), f.Udp("2001:db8:1::2", "2001:db8:18::7"),
                          f.Udp("10.0.1.2", "198.19.1.1", 1500)}) {
    f.sent(2).clear();
    f.Run(in);
    const Explanation e = ExplainIn(f, in);
    EXPECT_EQ(e.outcome, Outcome::kForwarded);
    EXPECT_EQ(e.link_out, 2u);
    EXPECT_EQ(e.frames, f.sent(2));
  }
  const Explanation held = ExplainIn(f, f.Udp("10.0.1.2", "198.20.1.1"));
  EXPECT_EQ(held.outcome, Outcome::kHeld);
  EXPECT_EQ(held.next_hop, f.A("10.0.2.9"));
  EXPECT_EQ(held.link_out, 2u);
  EXPECT_EQ(ExplainIn(f, f.Udp("10.0.1.2", "10.0.1.1")).outcome, Outcome::kDelivered);
}

// Whatever the bytes: the pipeline and explain come to the same end.
TEST(Explain, AgreesWithTheWireOnRandomBytes) {
  PipelineFixture f;
  std::mt19937 random(5);
  for (int round = 0; round < 4000; ++round) {
    Frame in = round % 2 ? f.Udp("10.0.1.2", "198.19.1.1", 46 + random() % 900)
                         : f.Udp("2001:db8:1::2", "2001:db8:18::7", 46 + random() % 900);
    for (uint32_t flips = random() % 3; flips > 0; --flips) in[12 + random() % 42] = static_cast<uint8_t>(random());
    if (random() % 4 == 0) in.resize(1 + random() % in.size());
    f.sent(1).clear();
    f.sent(2).clear();
    f.punts().clear();
    uint64_t drops[kDropReasons];
    for (size_t r = 0; r < kDropReasons; ++r) drops[r] = f.lane().drops(static_cast<DropReason>(r));
    f.Run(in);
    const Explanation e = ExplainIn(f, in);
    std::vector<Frame> out = f.sent(1);
    out.insert(out.end(), f.sent(2).begin(), f.sent(2).end());
    EXPECT_EQ(e.frames, out);
    EXPECT_EQ(e.outcome == Outcome::kDropped, e.drop.has_value());
    for (size_t r = 0; r < kDropReasons; ++r) {
      const auto reason = static_cast<DropReason>(r);
      EXPECT_EQ(f.lane().drops(reason) - drops[r], e.drop == reason ? 1u : 0u) << DropReasonName(reason);
    }
  }
}

TEST(Explain, ChangesNothing) {
  PipelineFixture f;
  f.adjacencies.Write(f.snapshot().nexthop(f.kVia2).adjacency, f.HostMac(2), true, /*report=*/true);
  for (const char* to : {"198.18.7.7", "198.19.1.1", "198.20.1.1", "10.0.1.1", "8.8.8.8"}) {
    ExplainIn(f, f.Udp("10.0.1.2", to, 700));
  }
  EXPECT_TRUE(f.Conserved());
  EXPECT_EQ(f.lane().totals.received.Get(), 0u);
  EXPECT_EQ(f.lane().dropped(), 0u);
  EXPECT_EQ(f.counters.Read(f.snapshot().nexthop(f.kVia2).cell).packets, 0u);
  EXPECT_EQ(f.counters.Read(f.snapshot().link(1).rx_cell).packets, 0u);
  EXPECT_EQ(f.ring.size(), 0u);
}

TEST(Explain, ALinkThatDoesNotExistIsDown) {
  PipelineFixture f;
  for (LinkIndex link : {0u, 77u, ~0u}) {
    EXPECT_EQ(ExplainIn(f, f.Udp("10.0.1.2", "198.18.7.7"), link).drop, DropReason::kLinkDown);
  }
}

TEST(Explain, TakesAnyNumberOfBytes) {
  PipelineFixture f;
  for (size_t n : {0u, 1u, 13u, 14u, 33u, 65535u, 70000u}) {
    const Explanation e = ExplainIn(f, Frame(n));
    EXPECT_EQ(e.outcome, Outcome::kDropped);
  }
}

TEST(ExplainRoute, AnswersAsIpRouteGet) {
  PipelineFixture f;
  const RouteAnswer via = ExplainRoute(f.snapshot(), {.destination = f.A("198.18.7.7")});
  EXPECT_EQ(via.prefix.ToString(), "198.18.0.0/16");
  EXPECT_EQ(via.result.table, kTableMain);
  EXPECT_EQ(via.next_hop, f.A("10.0.2.2"));
  EXPECT_EQ(via.source, f.A("10.0.2.1"));
  const RouteAnswer forwarded =
      ExplainRoute(f.snapshot(), {.destination = f.A("198.18.7.7"), .source = f.A("10.0.1.2"), .link_in = 1});
  EXPECT_EQ(forwarded.source, f.A("10.0.1.2"));
  EXPECT_EQ(ExplainRoute(f.snapshot(), {.destination = f.A("10.0.2.9")}).next_hop, f.A("10.0.2.9"));
  EXPECT_EQ(ExplainRoute(f.snapshot(), {.destination = f.A("10.0.1.1")}).nexthop.type, RouteType::kLocal);
  EXPECT_EQ(ExplainRoute(f.snapshot(), {.destination = f.A("8.8.8.8")}).result.nexthop, 0u);
  EXPECT_EQ(ExplainRoute(f.snapshot(), {.destination = f.A("2001:db8:18::1")}).prefix.ToString(), "2001:db8:18::/48");
}

TEST(BuildFrame, GivesAFrameThatTheCheckersAccept) {
  for (uint8_t protocol : {kProtocolUdp, kProtocolTcp, kProtocolIcmp, uint8_t{200}}) {
    const auto frame = BuildFrame({.source = *IpAddress::Parse("10.0.0.1"),
                                   .destination = *IpAddress::Parse("10.0.0.2"),
                                   .protocol = protocol,
                                   .length = 100},
                                  kFixtureMacA, kFixtureMacB);
    ASSERT_TRUE(frame.ok());
    uint32_t length = 0;
    EXPECT_TRUE(CheckIpv4(frame->data() + 14, static_cast<uint32_t>(frame->size() - 14), &length).plain());
    EXPECT_EQ(length, 100u);
  }
  EXPECT_FALSE(BuildFrame({.source = *IpAddress::Parse("::1"), .destination = *IpAddress::Parse("10.0.0.2")},
                          kFixtureMacA, kFixtureMacB)
                   .ok());
  EXPECT_FALSE(
      BuildFrame({.source = *IpAddress::Parse("10.0.0.1"), .destination = *IpAddress::Parse("10.0.0.2"), .length = 27},
                 kFixtureMacA, kFixtureMacB)
          .ok());
}

}  // namespace
}  // namespace sluice
