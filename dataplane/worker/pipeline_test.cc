#include "dataplane/worker/pipeline.h"

#include <algorithm>
#include <random>

#include "dataplane/packet/headers.h"
#include "dataplane/worker/doomed_frames.h"
#include "dataplane/worker/pipeline_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// Every test runs on each instruction set that this CPU has.
class Pipeline : public testing::TestWithParam<const PipelineLevel*> {
 protected:
  Pipeline() { f.level = GetParam(); }
  ~Pipeline() override {
    EXPECT_TRUE(f.Conserved());
    EXPECT_EQ(rte_mempool_in_use_count(f.devices.pool), 0u) << "packet buffers leaked";
  }
  PipelineFixture f;
};

std::vector<const PipelineLevel*> Supported() {
  std::vector<const PipelineLevel*> levels;
  for (const PipelineLevel& level : PipelineLevels()) {
    if (level.supported) levels.push_back(&level);
  }
  return levels;
}
INSTANTIATE_TEST_SUITE_P(Levels, Pipeline, testing::ValuesIn(Supported()), [](const auto& info) {
  std::string name = info.param->name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

uint16_t Sum(const uint8_t* p, size_t n) {
  uint32_t sum = 0;
  for (size_t i = 0; i < n; i += 2) sum += static_cast<uint32_t>(p[i]) << 8 | p[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

TEST_P(Pipeline, ForwardsIpv4WithOneHopLessAndNewMacs) {
  const Frame in = f.Udp("10.0.1.2", "198.18.7.7");
  f.Run({in, in, in});
  ASSERT_EQ(f.sent(2).size(), 3u);
  for (const Frame& out : f.sent(2)) {
    ASSERT_EQ(out.size(), in.size());
    const auto* ethernet = HeaderAt<EthernetHeader>(out.data());
    EXPECT_EQ(ethernet->destination, f.HostMac(2));
    EXPECT_EQ(ethernet->source, f.PortMac(2));
    EXPECT_EQ(out[14 + 8], 63);
    EXPECT_EQ(Sum(out.data() + 14, 20), 0xffff);
    EXPECT_TRUE(std::equal(in.begin() + 26, in.end(), out.begin() + 26));
  }
  EXPECT_EQ(f.lane().totals.hint_hits.Get(), 2u);
  EXPECT_EQ(f.counters.Read(f.snapshot().nexthop(f.kVia2).cell).packets, 3u);
  EXPECT_EQ(f.counters.Read(f.snapshot().nexthop(f.kVia2).cell).bytes, 3u * 46);
  EXPECT_EQ(f.counters.Read(f.snapshot().link(1).rx_cell).packets, 3u);
  EXPECT_EQ(f.counters.Read(f.snapshot().link(2).tx_cell).bytes, 3u * in.size());
}

TEST_P(Pipeline, ForwardsIpv6) {
  const Frame in = f.Udp("2001:db8:1::2", "2001:db8:18::7");
  f.Run({in, in, in});
  ASSERT_EQ(f.sent(2).size(), 3u);
  EXPECT_EQ(f.sent(2)[0][14 + 7], 63);
  EXPECT_EQ(HeaderAt<EthernetHeader>(f.sent(2)[0].data())->destination, f.HostMac(2));
}

TEST_P(Pipeline, ChecksumStaysRightForEveryTtl) {
  for (int ttl = 2; ttl < 256; ++ttl) f.Run(f.Udp("10.0.1.2", "198.18.7.7", 46, static_cast<uint8_t>(ttl)));
  ASSERT_EQ(f.sent(2).size(), 254u);
  for (const Frame& out : f.sent(2)) EXPECT_EQ(Sum(out.data() + 14, 20), 0xffff);
}

TEST_P(Pipeline, TrimsEthernetPadding) {
  Frame in = f.Udp("10.0.1.2", "198.18.7.7", 30);
  in.resize(60, 0xee);
  f.Run(in);
  ASSERT_EQ(f.sent(2).size(), 1u);
  EXPECT_EQ(f.sent(2)[0].size(), 14u + 30);
}

TEST_P(Pipeline, ReachesAnOnLinkDestinationByItsOwnNeighbour) {
  f.Run(f.Udp("10.0.2.2", "10.0.1.2", 46, 64, false, 2), 2);
  ASSERT_EQ(f.sent(1).size(), 1u);
  EXPECT_EQ(HeaderAt<EthernetHeader>(f.sent(1)[0].data())->destination, f.HostMac(1));
}

TEST_P(Pipeline, HandsAPacketWithoutNeighbourToTheSlowPathReadyToGo) {
  f.Run({f.Udp("10.0.1.2", "198.20.1.1"), f.Udp("10.0.1.2", "10.0.2.77"), f.Udp("2001:db8:1::2", "2001:db8:2::77")});
  ASSERT_EQ(f.punts().size(), 3u);
  EXPECT_EQ(f.lane().totals.handed_out.Get(), 3u);
  for (const Punted& p : f.punts()) {
    EXPECT_EQ(p.header.kind, PuntKind::kResolve);
    EXPECT_EQ(p.header.link_out, 2u);
  }
  // Bursts of one family go together; IPv4 comes first.
  EXPECT_EQ(f.punts()[0].header.next_hop, f.A("10.0.2.9"));
  EXPECT_EQ(f.punts()[1].header.next_hop, f.A("10.0.2.77"));
  EXPECT_EQ(f.punts()[2].header.next_hop, f.A("2001:db8:2::77"));
  EXPECT_EQ(f.punts()[0].payload[8], 63);
  EXPECT_EQ(Sum(f.punts()[0].payload.data(), 20), 0xffff);
}

TEST_P(Pipeline, DeliversWhatIsForOurselvesAndAbsorbsArpAndNd) {
  Frame arp(60);
  WriteEthernetHeader(arp.data(), *MacAddress::Parse("ff:ff:ff:ff:ff:ff"), f.HostMac(1), kEtherTypeArp);
  const auto solicit = [&](const std::string& to, const char* mac) {
    const Bytes message = BuildIcmpv6("2001:db8:1::2", to, Icmpv6Header::kNeighborSolicit, 0, 0, Pattern(16));
    return BuildFrame(BuildIpv6({.source = "2001:db8:1::2",
                                 .destination = to,
                                 .next_header = kProtocolIcmpv6,
                                 .hop_limit = 255,
                                 .payload = message}),
                      kEtherTypeIpv6, *MacAddress::Parse(mac), f.HostMac(1));
  };
  const Frame unicast = solicit("2001:db8:1::1", "02:00:00:00:00:01");
  const Frame multicast = solicit(V6("2001:db8:1::1").SolicitedNode().ToString(), "33:33:ff:00:00:01");
  f.Run({f.Udp("10.0.1.2", "10.0.1.1"), f.Udp("10.0.1.2", "10.0.2.1"), arp, unicast, multicast,
         f.Udp("10.0.1.2", "10.0.1.255")});
  EXPECT_EQ(f.lane().totals.delivered.Get(), 3u);
  EXPECT_EQ(f.lane().totals.absorbed.Get(), 3u);
  ASSERT_EQ(f.punts().size(), 6u);
  EXPECT_EQ(f.punts()[0].header.kind, PuntKind::kArp);
}

TEST_P(Pipeline, FragmentsIpv4AsTheMtuOfTheRouteSays) {
  f.Run(f.Udp("10.0.1.2", "198.19.1.1", 1500));
  ASSERT_EQ(f.sent(2).size(), 3u);
  uint32_t payload = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Frame& out = f.sent(2)[i];
    const auto* ip = HeaderAt<Ipv4Header>(out.data() + 14);
    EXPECT_LE(out.size(), 14u + 600);
    EXPECT_EQ(ip->total_length.ToHost(), out.size() - 14);
    EXPECT_EQ((ip->fragment.ToHost() & Ipv4Header::kOffsetMask) * 8u, payload);
    EXPECT_EQ((ip->fragment.ToHost() & Ipv4Header::kMoreFragments) != 0, i < 2);
    EXPECT_EQ(ip->ttl, 63);
    EXPECT_EQ(Sum(out.data() + 14, 20), 0xffff);
    payload += ip->total_length.ToHost() - 20u;
  }
  EXPECT_EQ(payload, 1480u);
  EXPECT_EQ(f.lane().totals.generated.Get(), 2u);
}

TEST_P(Pipeline, FragmentsOfAPacketWithoutNeighbourAreHeldOneByOne) {
  f.Change([&](SnapshotBuilder& b) {
    Nexthop nh = f.snapshot().nexthop(f.kUnresolved);
    nh.mtu = 600;
    ASSERT_TRUE(b.SetNexthop(f.kUnresolved, nh).ok());
  });
  f.Run(f.Udp("10.0.1.2", "198.20.1.1", 1500));
  EXPECT_EQ(f.punts().size(), 3u);
  EXPECT_EQ(f.lane().totals.handed_out.Get(), 3u);
}

TEST_P(Pipeline, WritesACopyOfASharedPacket) {
  const Frame in = f.Udp("10.0.1.2", "198.18.7.7");
  rte_mbuf* m = f.Make(in);
  rte_mbuf_refcnt_update(m, 1);
  f.RunPackets({m});
  ASSERT_EQ(f.sent(2).size(), 1u);
  EXPECT_EQ(f.sent(2)[0][14 + 8], 63);
  EXPECT_EQ(rte_pktmbuf_mtod(m, uint8_t*)[14 + 8], 64);
  rte_pktmbuf_free(m);
}

TEST_P(Pipeline, TakesAPacketInManyBuffers) {
  const Frame in = f.Udp("10.0.1.2", "198.18.7.7", 1000);
  for (size_t first : {1u, 14u, 20u, 40u, 255u, 300u, 900u}) {
    rte_mbuf* a = f.Make(Frame(in.begin(), in.begin() + static_cast<ptrdiff_t>(first)));
    rte_mbuf* b = f.Make(Frame(in.begin() + static_cast<ptrdiff_t>(first), in.end()));
    ASSERT_EQ(rte_pktmbuf_chain(a, b), 0);
    rte_mbuf* padding = f.Make(Frame(10, 0xee));
    ASSERT_EQ(rte_pktmbuf_chain(a, padding), 0);
    f.RunPackets({a});
  }
  ASSERT_EQ(f.sent(2).size(), 7u);
  for (const Frame& out : f.sent(2))
    EXPECT_TRUE(out.size() == in.size() && std::equal(in.begin() + 26, in.end(), out.begin() + 26));
}

TEST_P(Pipeline, DropsDoomedFramesForTheirReasonAndTellsTheSource) {
  for (const Doomed& d : DoomedFrames()) {
    SCOPED_TRACE(DropReasonName(d.reason));
    const uint64_t before = f.lane().drops(d.reason);
    const uint64_t all_before = f.lane().dropped();
    f.punts().clear();
    f.Run({d.frame, d.frame, d.frame}, d.link);
    EXPECT_EQ(f.lane().drops(d.reason), before + 3);
    EXPECT_EQ(f.lane().dropped(), all_before + 3);
    if (d.error == IcmpErrorKind::kNone) {
      EXPECT_TRUE(f.punts().empty());
    } else {
      ASSERT_EQ(f.punts().size(), 3u);
      EXPECT_EQ(f.punts()[0].header.kind, PuntKind::kError);
      EXPECT_EQ(f.punts()[0].header.error, d.error);
      EXPECT_EQ(f.punts()[0].header.link_in, d.link);
      EXPECT_TRUE(std::equal(f.punts()[0].payload.begin(), f.punts()[0].payload.end(), d.frame.begin() + 14))
          << "the quote is the packet as it came";
    }
  }
  EXPECT_TRUE(f.sent(1).empty());
  EXPECT_TRUE(f.sent(2).empty());
}

TEST_P(Pipeline, AFloodOfErrorsOrLocalPacketsLeavesRoomForNeighbourDiscovery) {
  std::vector<rte_mbuf*> packets;
  for (size_t i = 0; i < WorkerContext::kErrorBacklog + 100; ++i)
    packets.push_back(f.Make(f.Udp("10.0.1.2", "8.8.8.8")));
  for (size_t i = 0; i < WorkerContext::kLocalBacklog; ++i) packets.push_back(f.Make(f.Udp("10.0.1.2", "10.0.1.1")));
  Frame arp(60);
  WriteEthernetHeader(arp.data(), f.PortMac(1), f.HostMac(1), kEtherTypeArp);
  packets.push_back(f.Make(arp));
  f.RunPackets(packets);
  EXPECT_EQ(f.lane().totals.slow_path_events.Get(), WorkerContext::kErrorBacklog);
  EXPECT_EQ(f.lane().totals.slow_path_lost.Get(), 100u);
  EXPECT_EQ(f.lane().totals.delivered.Get(), WorkerContext::kLocalBacklog - WorkerContext::kErrorBacklog);
  EXPECT_EQ(f.lane().drops(DropReason::kSlowPathFull), WorkerContext::kErrorBacklog);
  EXPECT_EQ(f.lane().totals.absorbed.Get(), 1u);
}

TEST_P(Pipeline, ReportsTheUseOfAStaleNeighbourOnceInAWhileAndForwardsByIt) {
  const AdjacencyIndex index = f.snapshot().nexthop(f.kVia2).adjacency;
  f.adjacencies.Write(index, f.HostMac(2), /*usable=*/true, /*report=*/true);
  for (int i = 0; i < 3; ++i) f.Run({f.Udp("10.0.1.2", "198.18.7.7"), f.Udp("10.0.1.2", "198.18.7.8")});
  EXPECT_EQ(f.sent(2).size(), 6u);
  ASSERT_EQ(f.punts().size(), 1u);
  EXPECT_EQ(f.punts()[0].header.kind, PuntKind::kStaleUse);
  EXPECT_EQ(f.punts()[0].header.adjacency, index);
}

TEST_P(Pipeline, AChangedMacIsUsedByTheNextPacket) {
  const Frame in = f.Udp("10.0.1.2", "198.18.7.7");
  f.Run({in, in, in});
  f.adjacencies.Write(f.snapshot().nexthop(f.kVia2).adjacency, f.HostMac(7), true, false);
  f.Run({in, in, in});
  ASSERT_EQ(f.sent(2).size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(HeaderAt<EthernetHeader>(f.sent(2)[i].data())->destination, i < 3 ? f.HostMac(2) : f.HostMac(7));
  }
}

// LINUX.md §5: what comes out of a burst is what one by one gives.
TEST_P(Pipeline, RouteHintsChangeNothing) {
  std::vector<Frame> frames;
  for (const char* to : {"198.18.7.7", "198.18.7.7", "10.0.1.255", "10.0.1.255", "198.19.1.1", "198.19.1.1", "8.8.8.8",
                         "198.18.7.7", "10.0.1.1", "255.255.255.255", "198.18.7.7"}) {
    for (uint8_t ttl : {64, 1, 64}) frames.push_back(f.Udp("10.0.1.2", to, 700, ttl));
  }
  f.Run(frames);
  const std::vector<Frame> together = f.sent(2);
  const uint64_t drops = f.lane().dropped(), delivered = f.lane().totals.delivered.Get();
  EXPECT_GT(f.lane().totals.hint_hits.Get(), 0u);
  f.sent(2).clear();
  for (const Frame& frame : frames) f.Run(frame);
  EXPECT_EQ(f.sent(2), together);
  EXPECT_EQ(f.lane().dropped(), 2 * drops);
  EXPECT_EQ(f.lane().totals.delivered.Get(), 2 * delivered);
}

TEST_P(Pipeline, FragmentsLeaveInTheirPlaceInLine) {
  f.Run({f.Udp("10.0.1.2", "198.19.1.1", 100), f.Udp("10.0.1.2", "198.19.1.1", 1500),
         f.Udp("10.0.1.2", "198.19.1.1", 101)});
  ASSERT_EQ(f.sent(2).size(), 5u);
  EXPECT_EQ(f.sent(2)[0].size(), 114u);
  EXPECT_EQ(f.sent(2)[4].size(), 115u);
  EXPECT_EQ(f.counters.Read(f.snapshot().link(2).tx_cell).packets, 5u);
  EXPECT_EQ(f.counters.Read(f.snapshot().nexthop(f.kNarrow).cell).packets, 3u);
}

TEST_P(Pipeline, FragmentsAreWhatAReceiverPutsTogether) {
  const Frame in = f.Udp("10.0.1.2", "198.19.1.1", 1500);
  f.Run(in);
  Bytes payload;
  for (const Frame& out : f.sent(2)) payload.insert(payload.end(), out.begin() + 34, out.end());
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), in.begin() + 34, in.end()));
}

TEST_P(Pipeline, ARunOutOfBuffersIsACountedDrop) {
  std::vector<rte_mbuf*> hoard;
  const Frame in = f.Udp("10.0.1.2", "198.19.1.1", 1500);
  rte_mbuf* m = f.Make(in);
  while (rte_mbuf* h = rte_pktmbuf_alloc(f.devices.pool)) hoard.push_back(h);
  const auto release = [&] {
    rte_pktmbuf_free(hoard.back());
    hoard.pop_back();
  };
  release();  // one fragment of three
  f.RunPackets({m});
  EXPECT_EQ(f.sent(2).size(), 1u);
  EXPECT_EQ(f.lane().drops(DropReason::kNoBuffer), 1u);
  EXPECT_EQ(f.lane().totals.generated.Get(), 1u);
  while (!hoard.empty()) release();
}

TEST_P(Pipeline, TakesAPriorityTagOff) {
  Frame in = f.Udp("10.0.1.2", "198.18.7.7");
  const uint8_t tag[] = {0x81, 0x00, 0xa0, 0x00};
  in.insert(in.begin() + 12, tag, tag + 4);
  f.Run({in, in, in});
  ASSERT_EQ(f.sent(2).size(), 3u);
  EXPECT_EQ(f.sent(2)[0].size(), in.size() - 4);
  in[15] = 7;
  f.Run(in);
  EXPECT_EQ(f.lane().drops(DropReason::kUnknownVlan), 1u);
}

TEST_P(Pipeline, LimitedBroadcastAndJoinedGroupsAreOurs) {
  f.Run({f.Udp("10.0.1.2", "255.255.255.255"), f.Udp("0.0.0.0", "255.255.255.255"), f.Udp("2001:db8:1::2", "ff02::1"),
         f.Udp("2001:db8:1::2", "ff02::2"), f.Udp("fe80::99", "fe80::1")});
  EXPECT_EQ(f.lane().totals.delivered.Get(), 5u);
  EXPECT_EQ(f.punts().size(), 5u);
}

TEST_P(Pipeline, HeadersSpreadTooFarAreACountedDrop) {
  const Frame in = f.Udp("10.0.1.2", "198.18.7.7", 1000);
  rte_mbuf* a = f.Make(Frame(in.begin(), in.begin() + 20));
  a->buf_len = static_cast<uint16_t>(a->data_off + a->data_len);  // no room behind
  const uint16_t whole = rte_pktmbuf_data_room_size(f.devices.pool);
  ASSERT_EQ(rte_pktmbuf_chain(a, f.Make(Frame(in.begin() + 20, in.end()))), 0);
  f.RunPackets({a});
  a->buf_len = whole;
  EXPECT_EQ(f.lane().drops(DropReason::kFrameTooFragmented), 1u);
}

TEST_P(Pipeline, CountsWhatFindsARingOrQueueFull) {
  const Frame resolve = f.Udp("10.0.1.2", "198.20.1.1", 1400);
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 1000; ++i) packets.push_back(f.Make(resolve));
  f.RunPackets(packets);
  EXPECT_EQ(f.lane().totals.handed_out.Get() + f.lane().drops(DropReason::kSlowPathFull), 1000u);
  EXPECT_GT(f.lane().drops(DropReason::kSlowPathFull), 0u);
  f.plan.tx[f.devices.port[2]] = {};
  f.Run(f.Udp("10.0.1.2", "198.18.7.7"));
  EXPECT_EQ(f.lane().drops(DropReason::kOutLinkDown), 1u);
}

TEST_P(Pipeline, CountsWhatTheDeviceDoesNotTake) {
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 2100; ++i) packets.push_back(f.Make(f.Udp("10.0.1.2", "198.18.7.7")));
  f.RunPackets(packets);  // the ring behind link 2 has room for 2047
  EXPECT_EQ(f.sent(2).size(), 2047u);
  EXPECT_EQ(f.lane().drops(DropReason::kTxFull), 53u);
  EXPECT_EQ(f.counters.Read(f.snapshot().link(2).tx_cell).packets, 2047u);
}

TEST_P(Pipeline, SurvivesEveryCutOfAPacketAndRandomBytes) {
  for (const Frame& whole :
       {f.Udp("10.0.1.2", "198.18.7.7"), f.Udp("2001:db8:1::2", "2001:db8:18::7"), f.Udp("10.0.1.2", "10.0.1.1")}) {
    for (size_t n = 1; n <= whole.size(); ++n) f.Run(Frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)));
  }
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Frame> frames;
    for (int i = 0; i < 64; ++i) {
      Frame frame =
          i % 2 ? f.Udp("10.0.1.2", "198.19.1.1", 46 + random() % 1400) : f.Udp("2001:db8:1::2", "2001:db8:18::7");
      for (uint32_t flips = random() % 4; flips > 0; --flips)
        frame[12 + random() % 60 % (frame.size() - 12)] = static_cast<uint8_t>(random());
      frame.resize(1 + random() % frame.size());
      frames.push_back(std::move(frame));
    }
    f.Run(frames);
    f.sent(1).clear();
    f.sent(2).clear();
    f.punts().clear();
  }
}

TEST(PipelineLevels, AllGiveTheSameFramesAndCounters) {
  std::mt19937 random(11);
  std::vector<Frame> frames;
  for (int i = 0; i < 2000; ++i) {
    Frame frame = i % 2 ? PipelineFixture::Udp("10.0.1.2", "198.19.1.1", 46 + random() % 1400)
                        : PipelineFixture::Udp("2001:db8:1::2", "2001:db8:18::7", 46 + random() % 1000);
    if (i % 3 == 0) frame[14 + random() % 40] = static_cast<uint8_t>(random());
    frames.push_back(std::move(frame));
  }
  std::vector<Frame> first;
  uint64_t first_drops = 0;
  for (const PipelineLevel* level : Supported()) {
    PipelineFixture f;
    f.level = level;
    for (size_t at = 0; at < frames.size(); at += 256) {
      f.Run(std::vector<Frame>(frames.begin() + static_cast<ptrdiff_t>(at),
                               frames.begin() + static_cast<ptrdiff_t>(std::min(at + 256, frames.size()))));
    }
    if (first.empty()) {
      first = f.sent(2);
      first_drops = f.lane().dropped();
    }
    EXPECT_EQ(f.sent(2), first) << level->name;
    EXPECT_EQ(f.lane().dropped(), first_drops) << level->name;
  }
  EXPECT_GT(first.size(), 1000u);
}

}  // namespace
}  // namespace sluice
