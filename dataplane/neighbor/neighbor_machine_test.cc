#include "dataplane/neighbor/neighbor_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "dataplane/neighbor/arp.h"
#include "dataplane/neighbor/fake_neighbor_host.h"
#include "dataplane/neighbor/nd.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using State = NeighborState;
using Verdict = NeighborMachine::Verdict;

const MacAddress kOwnMac = *MacAddress::Parse("02:00:00:00:00:01");
const MacAddress kMacA = *MacAddress::Parse("02:00:00:00:00:0a");
const MacAddress kMacB = *MacAddress::Parse("02:00:00:00:00:0b");
const Ipv4Address kOwn = *Ipv4Address::Parse("10.0.0.1");
const Ipv4Address kHost = *Ipv4Address::Parse("10.0.0.2");
const Ipv6Address kOwn6 = *Ipv6Address::Parse("2001:db8::1");
const Ipv6Address kHost6 = *Ipv6Address::Parse("2001:db8::2");

class NeighborMachineTest : public testing::Test {
 protected:
  explicit NeighborMachineTest(size_t capacity = 1024, NeighborOptions options = {})
      : table(capacity), host(table), machine(table, host, options) {
    host.links[1] = {.up = true, .mac = kOwnMac, .router6 = true};
    host.links[2] = {.up = true, .mac = *MacAddress::Parse("02:00:00:00:00:02"), .router6 = true};
    host.addresses = {{1, kOwn}, {1, kOwn6}, {2, *Ipv4Address::Parse("10.0.1.1")}};
    machine.OnTimers(now, 1000);
  }

  NeighborMachine::Resolution Resolve(const IpAddress& to, const std::string& text, LinkIndex link = 1) {
    HeldPacket p;
    p.family = to.family;
    p.link_in = 2;
    p.link_out = link;
    p.bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return machine.Resolve({link, to}, p, now);
  }
  // In steps, as the slow path does.
  void Pass(Nanos time) {
    for (const Nanos end = now + time; now < end;) {
      now = std::min(end, now + 20 * kMillisecond);
      machine.OnTimers(now, 1 << 20);
    }
  }
  State StateOf(const IpAddress& a, LinkIndex link = 1) {
    auto info = machine.Get({link, a}, now);
    return info ? info->state : State::kNone;
  }
  Adjacency Cell(const IpAddress& a, LinkIndex link = 1) { return table.Read(table.Find(NeighborKey{link, a})); }

  void ArpIn(const ArpFrame& frame, LinkIndex link = 1) { EXPECT_TRUE(machine.OnArp(link, frame, now)); }
  void ArpReplyFrom(Ipv4Address from, MacAddress mac) {
    ArpMessage request;
    request.sender = kOwn;
    request.sender_mac = kOwnMac;
    ArpIn(ArpReply(mac, from, request));
  }
  void NdIn(const NdFrame& frame, MacAddress source_mac, LinkIndex link = 1) {
    EXPECT_TRUE(machine.OnNd(link, absl::MakeConstSpan(frame).subspan(14), 40, source_mac, now));
  }
  // An advertisement with any flags: built by the machine's own function, then edited.
  void Advert(std::optional<MacAddress> mac, bool router, bool solicited, bool overrides);

  AdjacencyTable table;
  FakeNeighborHost host;
  NeighborMachine machine;
  Nanos now = 1000 * kSecond;
};

void NeighborMachineTest::Advert(std::optional<MacAddress> mac, bool router, bool solicited, bool overrides) {
  NdMessage m;
  m.source = kOwn6;
  m.target = kHost6;
  const NdFrame frame = NeighborAdvert(mac.value_or(kMacA), m, kOwnMac, router);
  std::vector<uint8_t> packet(frame.begin() + 14, mac ? frame.end() : frame.end() - 8);
  auto* ip = HeaderAt<Ipv6Header>(packet.data());
  ip->payload_length = be16::FromHost(static_cast<uint16_t>(packet.size() - 40));
  if (!solicited) ip->destination = *Ipv6Address::Parse("ff02::1");
  auto* na = HeaderAt<NdNeighborAdvert>(packet.data() + 40);
  na->flags = be32::FromHost((router ? NdNeighborAdvert::kRouter : 0) | (solicited ? NdNeighborAdvert::kSolicited : 0) |
                             (overrides ? NdNeighborAdvert::kOverride : 0));
  na->checksum = be16{};
  na->checksum = Icmpv6Checksum(ip->source, ip->destination, absl::MakeConstSpan(packet).subspan(40));
  EXPECT_TRUE(machine.OnNd(1, packet, 40, mac.value_or(kMacA), now));
}

// ---- Resolution --------------------------------------------------------------------------------------------------

TEST_F(NeighborMachineTest, FirstPacketAsksAndTheAnswerReleasesInOrder) {
  EXPECT_EQ(Resolve(kHost, "p1").verdict, Verdict::kHeld);
  EXPECT_EQ(Resolve(kHost, "p2").verdict, Verdict::kHeld);
  ASSERT_THAT(host.frames, SizeIs(1)) << "the second packet does not ask again";
  auto query = ParseArp(host.frames[0].bytes);
  ASSERT_TRUE(query.has_value());
  EXPECT_FALSE(query->reply);
  EXPECT_EQ(query->sender, kOwn);
  EXPECT_EQ(query->sender_mac, kOwnMac);
  EXPECT_EQ(query->target, kHost);
  EXPECT_EQ(query->frame_destination, kBroadcastMac);
  EXPECT_EQ(StateOf(kHost), State::kIncomplete);
  EXPECT_FALSE(Cell(kHost).usable());

  ArpReplyFrom(kHost, kMacA);
  EXPECT_EQ(StateOf(kHost), State::kReachable);
  ASSERT_THAT(host.sent, SizeIs(2));
  EXPECT_EQ(host.sent[0].payload, "p1");
  EXPECT_EQ(host.sent[1].payload, "p2");
  EXPECT_EQ(host.sent[0].mac, kMacA);
  EXPECT_TRUE(Cell(kHost).usable());
  EXPECT_FALSE(Cell(kHost).wants_report());
  EXPECT_EQ(Cell(kHost).mac(), kMacA);
  EXPECT_EQ(machine.held_packets(), 0u);

  auto third = Resolve(kHost, "p3");
  EXPECT_EQ(third.verdict, Verdict::kSend);
  EXPECT_EQ(third.mac, kMacA);
}

TEST_F(NeighborMachineTest, SilenceFailsAfterThreeQueriesOneSecondApart) {
  Resolve(kHost, "p1");
  Resolve(kHost, "p2");
  Pass(950 * kMillisecond);
  EXPECT_THAT(host.frames, SizeIs(1));
  Pass(100 * kMillisecond);
  EXPECT_THAT(host.frames, SizeIs(2));
  Pass(1 * kSecond);
  EXPECT_THAT(host.frames, SizeIs(3));
  EXPECT_THAT(host.dropped, IsEmpty());
  Pass(1 * kSecond);
  EXPECT_THAT(host.frames, SizeIs(3));
  ASSERT_THAT(host.dropped, SizeIs(2));
  EXPECT_EQ(host.dropped[0].payload, "p1");
  EXPECT_EQ(host.dropped[1].payload, "p2");
  EXPECT_EQ(host.dropped[1].reason, DropReason::kNeighborFailed);
  EXPECT_EQ(StateOf(kHost), State::kFailed);
}

TEST_F(NeighborMachineTest, AFailedNeighbourIsAskedAgainOnlyForAPacketAndOnceASecond) {
  Resolve(kHost, "p1");
  Pass(20 * kSecond);
  EXPECT_THAT(host.frames, SizeIs(3));
  host.frames.clear();
  const Nanos start = now;
  while (now < start + 30 * kSecond) {  // a sender that never stops
    Resolve(kHost, "more");
    Pass(40 * kMillisecond);
  }
  EXPECT_LE(host.frames.size(), 31u);
  EXPECT_GE(host.frames.size(), 25u);
  // And one that comes right after the failure waits for the second to pass.
  Pass(20 * kSecond);
  host.frames.clear();
  ArpReplyFrom(kHost, kMacA);
  EXPECT_TRUE(Cell(kHost).usable()) << "a failed entry is known, and an answer revives it";
}

TEST_F(NeighborMachineTest, AFullQueueDropsTheOldest) {
  for (int i = 0; i < 300; ++i) Resolve(kHost, std::to_string(i));
  ASSERT_THAT(host.dropped, SizeIs(300 - 277));
  EXPECT_EQ(host.dropped[0].payload, "0");
  EXPECT_EQ(host.dropped[0].reason, DropReason::kNeighborQueueFull);
  ArpReplyFrom(kHost, kMacA);
  ASSERT_THAT(host.sent, SizeIs(277));
  EXPECT_EQ(host.sent[0].payload, "23");
  EXPECT_EQ(host.sent[276].payload, "299");
}

TEST_F(NeighborMachineTest, ADownLinkDropsAtOnceAndFailsWhatWaits) {
  Resolve(kHost, "p1");
  host.links[1].up = false;
  auto r = Resolve(kHost, "p2");
  EXPECT_EQ(r.verdict, Verdict::kDrop);
  EXPECT_EQ(r.reason, DropReason::kOutLinkDown);
  EXPECT_EQ(Resolve(kHost, "p3", /*link=*/77).reason, DropReason::kOutLinkDown);
  Pass(1100 * kMillisecond);
  ASSERT_THAT(host.dropped, SizeIs(1));
  EXPECT_EQ(host.dropped[0].reason, DropReason::kOutLinkDown);
}

// ---- Ageing ------------------------------------------------------------------------------------------------------

TEST_F(NeighborMachineTest, ReachableAgesToStaleAndAStaleEntryInUseIsProbed) {
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  host.TakeFrames();
  Pass(29 * kSecond);
  EXPECT_EQ(StateOf(kHost), State::kReachable);
  Pass(2 * kSecond);
  EXPECT_EQ(StateOf(kHost), State::kStale);
  EXPECT_TRUE(Cell(kHost).usable());
  EXPECT_TRUE(Cell(kHost).wants_report());
  Pass(30 * kSecond);
  EXPECT_EQ(StateOf(kHost), State::kStale) << "nobody uses it";
  EXPECT_THAT(host.frames, IsEmpty());

  machine.OnStaleUse(table.Find(NeighborKey{1, kHost}), now);
  EXPECT_EQ(StateOf(kHost), State::kDelay);
  EXPECT_FALSE(Cell(kHost).wants_report());
  Pass(4900 * kMillisecond);
  EXPECT_THAT(host.frames, IsEmpty());
  Pass(200 * kMillisecond);
  EXPECT_EQ(StateOf(kHost), State::kProbe);
  ASSERT_THAT(host.frames, SizeIs(1));
  EXPECT_EQ(ParseArp(host.frames[0].bytes)->frame_destination, kMacA) << "asked at its known MAC";
  ArpReplyFrom(kHost, kMacA);
  EXPECT_EQ(StateOf(kHost), State::kReachable);
}

TEST_F(NeighborMachineTest, ANeighbourThatLeftFailsAfterUnicastProbesAndStaysUsableUntilThen) {
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  host.TakeFrames();
  Pass(31 * kSecond);
  EXPECT_EQ(Resolve(kHost, "p2").verdict, Verdict::kSend) << "a punted packet is a use as well";
  EXPECT_EQ(StateOf(kHost), State::kDelay);
  Pass(7 * kSecond);
  EXPECT_TRUE(Cell(kHost).usable());
  Pass(2 * kSecond);
  EXPECT_THAT(host.frames, SizeIs(3));
  EXPECT_EQ(StateOf(kHost), State::kFailed);
  EXPECT_FALSE(Cell(kHost).usable());
}

TEST_F(NeighborMachineTest, ReachableTimeIsRandomBetweenHalfAndThreeHalves) {
  host.random = 0;
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  Pass(15 * kSecond + 50 * kMillisecond);
  EXPECT_EQ(StateOf(kHost), State::kStale);
  host.random = ~uint64_t{0};
  for (uint64_t r : {uint64_t{12345678901234}, ~uint64_t{0}, uint64_t{29'999'999'999}}) {
    host.random = r;
    ArpReplyFrom(kHost, kMacA);
    Pass(14 * kSecond);
    EXPECT_EQ(StateOf(kHost), State::kReachable);
    Pass(31 * kSecond + 50 * kMillisecond);
    EXPECT_EQ(StateOf(kHost), State::kStale);
  }
}

// ---- Learning from ARP -------------------------------------------------------------------------------------------

TEST_F(NeighborMachineTest, ARequestForAnOwnAddressIsAnsweredAndTeaches) {
  ArpIn(ArpRequest(kMacA, kHost, kOwn));
  ASSERT_THAT(host.frames, SizeIs(1));
  EXPECT_EQ(host.frames[0].link, 1u);
  auto reply = ParseArp(host.frames[0].bytes);
  EXPECT_TRUE(reply->reply);
  EXPECT_EQ(reply->frame_destination, kMacA);
  EXPECT_EQ(reply->sender, kOwn);
  EXPECT_EQ(reply->sender_mac, kOwnMac);
  EXPECT_EQ(StateOf(kHost), State::kStale);
  EXPECT_EQ(Cell(kHost).mac(), kMacA);
}

TEST_F(NeighborMachineTest, AnAddressOfAnotherLinkIsAnsweredToo) {
  ArpIn(ArpRequest(kMacA, kHost, *Ipv4Address::Parse("10.0.1.1")));
  ASSERT_THAT(host.frames, SizeIs(1));
  EXPECT_EQ(ParseArp(host.frames[0].bytes)->sender, *Ipv4Address::Parse("10.0.1.1"));
  EXPECT_EQ(ParseArp(host.frames[0].bytes)->sender_mac, kOwnMac);
}

TEST_F(NeighborMachineTest, ARequestForAForeignAddressIsNeitherAnsweredNorLearned) {
  ArpIn(ArpRequest(kMacA, kHost, *Ipv4Address::Parse("10.0.0.77")));
  EXPECT_THAT(host.frames, IsEmpty());
  EXPECT_EQ(machine.size(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(NeighborMachineTest, AProbeForADuplicateAddressIsAnsweredAndTeachesNothing) {
  ArpIn(ArpRequest(kMacA, Ipv4Address{}, kOwn));
  ASSERT_THAT(host.frames, SizeIs(1));
  EXPECT_EQ(machine.size(), 0u);
}

TEST_F(NeighborMachineTest, AnUnaskedReplyCreatesNothing) {
  ArpReplyFrom(kHost, kMacA);
  EXPECT_EQ(machine.size(), 0u);
}

TEST_F(NeighborMachineTest, AGratuitousArpUpdatesWhatIsKnownAndCreatesNothing) {
  ArpIn(ArpRequest(kMacA, kHost, kHost));
  EXPECT_EQ(machine.size(), 0u);
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  Pass(10 * kMillisecond);  // within the lock time, which an announcement may break
  ArpIn(ArpRequest(kMacB, kHost, kHost));
  EXPECT_EQ(Cell(kHost).mac(), kMacB);
  EXPECT_EQ(StateOf(kHost), State::kStale);
}

TEST_F(NeighborMachineTest, OfSeveralAnswersWithinASecondTheFirstHolds) {
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  Pass(100 * kMillisecond);
  ArpReplyFrom(kHost, kMacB);
  EXPECT_EQ(Cell(kHost).mac(), kMacA);
  EXPECT_EQ(StateOf(kHost), State::kReachable);
  Pass(1 * kSecond);
  ArpReplyFrom(kHost, kMacB);
  EXPECT_EQ(Cell(kHost).mac(), kMacB);
}

TEST_F(NeighborMachineTest, OwnFramesAndClaimsToOwnAddressesTeachNothing) {
  ArpIn(ArpRequest(kOwnMac, kHost, kOwn));
  ArpIn(ArpRequest(kMacA, kOwn, kOwn));
  ArpIn(ArpRequest(kMacA, kOwn, *Ipv4Address::Parse("10.0.1.1")));
  EXPECT_EQ(machine.size(), 0u);
  EXPECT_THAT(host.frames, IsEmpty());
}

TEST_F(NeighborMachineTest, ABroadcastReplyDoesNotProveReachability) {
  Resolve(kHost, "p1");
  ArpMessage request;
  request.sender = kOwn;
  request.sender_mac = kOwnMac;
  ArpFrame frame = ArpReply(kMacA, kHost, request);
  std::fill_n(frame.begin(), 6, 0xff);
  ArpIn(frame);
  EXPECT_THAT(host.sent, SizeIs(1));
  EXPECT_EQ(StateOf(kHost), State::kDelay) << "stale, and used by what was held";
}

// ---- Learning from ND --------------------------------------------------------------------------------------------

TEST_F(NeighborMachineTest, NdResolvesAndAnAdvertisementReleases) {
  EXPECT_EQ(Resolve(kHost6, "p1").verdict, Verdict::kHeld);
  ASSERT_THAT(host.frames, SizeIs(1));
  auto q = ParseNd(absl::MakeConstSpan(host.frames[0].bytes).subspan(14), 40);
  ASSERT_TRUE(q.has_value());
  EXPECT_EQ(q->source, kOwn6);
  EXPECT_EQ(q->target, kHost6);
  EXPECT_EQ(q->destination, kHost6.SolicitedNode());
  EXPECT_EQ(q->mac, kOwnMac);
  Advert(std::nullopt, true, true, true);
  EXPECT_EQ(StateOf(kHost6), State::kIncomplete) << "an answer without a MAC is none";
  Advert(kMacA, true, true, true);
  EXPECT_EQ(StateOf(kHost6), State::kReachable);
  EXPECT_THAT(host.sent, SizeIs(1));
  EXPECT_TRUE(machine.Get({1, kHost6}, now)->router);
}

TEST_F(NeighborMachineTest, NdFailsLikeArp) {
  Resolve(kHost6, "p1");
  Pass(4 * kSecond);
  EXPECT_THAT(host.frames, SizeIs(3));
  ASSERT_THAT(host.dropped, SizeIs(1));
  EXPECT_EQ(host.dropped[0].reason, DropReason::kNeighborFailed);
  Advert(kMacA, false, true, true);
  EXPECT_EQ(StateOf(kHost6), State::kFailed) << "as good as no entry";
}

TEST_F(NeighborMachineTest, AdvertisementFlagsFollowTheRfc) {
  Resolve(kHost6, "p1");
  Advert(kMacA, false, false, false);  // unsolicited: resolved, but not proved reachable
  EXPECT_EQ(Cell(kHost6).mac(), kMacA);
  EXPECT_NE(StateOf(kHost6), State::kReachable);
  Advert(kMacA, false, true, false);  // the same MAC, solicited
  EXPECT_EQ(StateOf(kHost6), State::kReachable);
  Advert(kMacB, true, true, false);  // another MAC without override: doubt
  EXPECT_EQ(Cell(kHost6).mac(), kMacA);
  EXPECT_EQ(StateOf(kHost6), State::kStale);
  EXPECT_FALSE(machine.Get({1, kHost6}, now)->router);
  Advert(kMacB, true, true, false);  // the doubt is there already: ignored
  EXPECT_EQ(Cell(kHost6).mac(), kMacA);
  EXPECT_EQ(StateOf(kHost6), State::kStale);
  Advert(kMacB, true, false, true);  // override, unsolicited
  EXPECT_EQ(Cell(kHost6).mac(), kMacB);
  EXPECT_EQ(StateOf(kHost6), State::kStale);
  EXPECT_TRUE(machine.Get({1, kHost6}, now)->router);
  Advert(std::nullopt, false, true, true);  // without option: confirms, and tells that it is no router any more
  EXPECT_EQ(Cell(kHost6).mac(), kMacB);
  EXPECT_EQ(StateOf(kHost6), State::kReachable);
  EXPECT_FALSE(machine.Get({1, kHost6}, now)->router);
}

TEST_F(NeighborMachineTest, AnUnaskedAdvertisementCreatesNothing) {
  Advert(kMacA, true, false, true);
  EXPECT_EQ(machine.size(), 0u);
}

TEST_F(NeighborMachineTest, ASolicitationIsAnsweredAndTeaches) {
  NdIn(NeighborSolicit(kMacA, kHost6, kOwn6), kMacA);
  ASSERT_THAT(host.frames, SizeIs(1));
  auto a = ParseNd(absl::MakeConstSpan(host.frames[0].bytes).subspan(14), 40);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->kind, NdMessage::Kind::kAdvert);
  EXPECT_EQ(a->target, kOwn6);
  EXPECT_EQ(a->source, kOwn6);
  EXPECT_EQ(a->destination, kHost6);
  EXPECT_EQ(a->mac, kOwnMac);
  EXPECT_TRUE(a->router && a->solicited && a->overrides);
  EXPECT_EQ(StateOf(kHost6), State::kStale);
  EXPECT_EQ(Cell(kHost6).mac(), kMacA);
  // Strong for IPv6: an address of another link is not answered for.
  NdIn(NeighborSolicit(kMacA, kHost6, kOwn6), kMacA, /*link=*/2);
  EXPECT_THAT(host.frames, SizeIs(1));
}

TEST_F(NeighborMachineTest, ADuplicateAddressSolicitationIsAnsweredToAllNodes) {
  NdFrame frame = NeighborSolicit(kMacA, kHost6, kOwn6);
  std::vector<uint8_t> packet(frame.begin() + 14, frame.end() - 8);
  auto* ip = HeaderAt<Ipv6Header>(packet.data());
  ip->payload_length = be16::FromHost(24);
  ip->source = Ipv6Address{};
  auto* icmp = HeaderAt<Icmpv6Header>(packet.data() + 40);
  icmp->checksum = be16{};
  icmp->checksum = Icmpv6Checksum(ip->source, ip->destination, absl::MakeConstSpan(packet).subspan(40));
  EXPECT_TRUE(machine.OnNd(1, packet, 40, kMacA, now));
  ASSERT_THAT(host.frames, SizeIs(1));
  auto a = ParseNd(absl::MakeConstSpan(host.frames[0].bytes).subspan(14), 40);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->destination, *Ipv6Address::Parse("ff02::1"));
  EXPECT_FALSE(a->solicited);
  EXPECT_EQ(machine.size(), 0u);
}

// ---- Entries of the user -----------------------------------------------------------------------------------------

TEST_F(NeighborMachineTest, APermanentEntryReleasesWhatWaitsAndIsNeverChangedByTraffic) {
  Resolve(kHost, "p1");
  machine.SetPermanent(*table.Acquire({1, kHost}), kMacA, State::kPermanent, now);
  EXPECT_THAT(host.sent, SizeIs(1));
  host.TakeFrames();
  Pass(2 * kSecond);
  ArpIn(ArpRequest(kMacB, kHost, kHost));
  ArpReplyFrom(kHost, kMacB);
  ArpIn(ArpRequest(kMacB, kHost, kOwn));
  EXPECT_EQ(Cell(kHost).mac(), kMacA);
  EXPECT_EQ(StateOf(kHost), State::kPermanent);
  Pass(300 * kSecond);
  EXPECT_EQ(StateOf(kHost), State::kPermanent);
  EXPECT_THAT(host.frames, SizeIs(1)) << "the answer only";
  EXPECT_EQ(machine.Flush(0, Family::kNone), 0u);
  EXPECT_EQ(table.users(table.Find(NeighborKey{1, kHost})), 1u) << "one user, however it came about";
  EXPECT_TRUE(machine.Remove({1, kHost}));
  EXPECT_FALSE(machine.Remove({1, kHost}));
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(NeighborMachineTest, PermanentNdIgnoresAdvertisements) {
  machine.SetPermanent(*table.Acquire({1, kHost6}), kMacA, State::kNoArp, now);
  Advert(kMacB, true, true, true);
  EXPECT_EQ(Cell(kHost6).mac(), kMacA);
  EXPECT_EQ(StateOf(kHost6), State::kNoArp);
}

TEST_F(NeighborMachineTest, FlushTakesLearnedEntriesOfALinkAndFamily) {
  ArpIn(ArpRequest(kMacA, kHost, kOwn));
  NdIn(NeighborSolicit(kMacA, kHost6, kOwn6), kMacA);
  ArpIn(ArpRequest(kMacA, *Ipv4Address::Parse("10.0.1.9"), *Ipv4Address::Parse("10.0.1.1")), 2);
  EXPECT_EQ(machine.size(), 3u);
  EXPECT_EQ(machine.Flush(1, Family::kIpv6), 1u);
  EXPECT_EQ(machine.Flush(1, Family::kNone), 1u);
  EXPECT_EQ(machine.Flush(0, Family::kNone), 1u);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(NeighborMachineTest, ARemovedLinkTakesAllItsEntriesAndWhatWaits) {
  machine.SetPermanent(*table.Acquire({1, kHost}), kMacA, State::kPermanent, now);
  Resolve(kHost6, "p1");
  machine.RemoveLink(1);
  EXPECT_EQ(machine.size(), 0u);
  EXPECT_EQ(table.size(), 0u);
  ASSERT_THAT(host.dropped, SizeIs(1));
  EXPECT_EQ(host.dropped[0].reason, DropReason::kOutLinkDown);
}

TEST_F(NeighborMachineTest, TheCellOfAGatewayOutlivesItsLearnedEntryUnresolved) {
  const AdjacencyIndex gateway = *table.Acquire({1, kHost});  // a nexthop's
  Resolve(kHost, "p1");
  ArpReplyFrom(kHost, kMacA);
  EXPECT_TRUE(table.Read(gateway).usable());
  EXPECT_EQ(machine.Flush(0, Family::kNone), 1u);
  EXPECT_FALSE(table.Read(gateway).usable());
  EXPECT_EQ(table.Find(NeighborKey{1, kHost}), gateway);
  Resolve(kHost, "p2");
  ArpReplyFrom(kHost, kMacB);
  EXPECT_EQ(table.Read(gateway).mac(), kMacB) << "and is found again";
}

// ---- Bounds ------------------------------------------------------------------------------------------------------

class SmallNeighborMachineTest : public NeighborMachineTest {
 protected:
  SmallNeighborMachineTest()
      : NeighborMachineTest(64, {.gc_threshold = 4, .max_entries = 32, .hold = {.total_bytes = 20 * 768}}) {}
};

TEST_F(SmallNeighborMachineTest, AFloodOfUnresolvedDestinationsIsBoundedAndLeavesNeighboursAlone) {
  ArpIn(ArpRequest(kMacA, kHost, kOwn));
  const AdjacencyIndex gateway = *table.Acquire({1, *Ipv4Address::Parse("10.0.0.3")});
  size_t full = 0;
  for (uint32_t i = 0; i < 100000; ++i) {
    auto r = Resolve(Ipv4Address::FromHost(0x0a010000 + i), "x");
    full += r.verdict == Verdict::kDrop && r.reason == DropReason::kNeighborTableFull;
    ASSERT_LE(machine.size(), 32u);
    ASSERT_LE(machine.held_packets(), 20u);
    if (i % 1000 == 0) Pass(100 * kMillisecond);
  }
  EXPECT_GT(full, 90000u);
  EXPECT_EQ(Cell(kHost).mac(), kMacA);
  EXPECT_LE(host.frames.size(), 16u * 12);
  // In the middle of it a gateway is resolved, and somebody who introduces himself is learned.
  EXPECT_EQ(Resolve(*Ipv4Address::Parse("10.0.0.3"), "g").verdict, Verdict::kHeld);
  ArpReplyFrom(*Ipv4Address::Parse("10.0.0.3"), kMacB);
  EXPECT_TRUE(table.Read(gateway).usable());
  ArpIn(ArpRequest(kMacB, *Ipv4Address::Parse("10.0.0.4"), kOwn));
  EXPECT_TRUE(Cell(*Ipv4Address::Parse("10.0.0.4")).usable());
}

TEST_F(SmallNeighborMachineTest, AFloodOfIntroductionsPushesOutTheOldestOnly) {
  for (uint32_t i = 0; i < 1000; ++i) {
    ArpIn(ArpRequest(kMacA, Ipv4Address::FromHost(0x0a010000 + i), kOwn));
    ASSERT_LE(machine.size(), 32u);
  }
  EXPECT_EQ(StateOf(Ipv4Address::FromHost(0x0a010000)), State::kStale) << "all are too young to be evicted";
  Pass(6 * kSecond);
  ArpIn(ArpRequest(kMacA, kHost, kOwn));
  EXPECT_EQ(StateOf(kHost), State::kStale);
  EXPECT_EQ(StateOf(Ipv4Address::FromHost(0x0a010000)), State::kNone);
  EXPECT_EQ(StateOf(Ipv4Address::FromHost(0x0a010001)), State::kStale);
  EXPECT_GE(machine.stats().table_full.Get(), 900u);
}

TEST_F(SmallNeighborMachineTest, UnusedEntriesAreCollectedDownToTheThreshold) {
  const AdjacencyIndex gateway = *table.Acquire({1, Ipv4Address::FromHost(0x0a010000)});
  for (uint32_t i = 0; i < 10; ++i) ArpIn(ArpRequest(kMacA, Ipv4Address::FromHost(0x0a010000 + i), kOwn));
  Resolve(kHost, "p");  // fails
  Pass(59 * kSecond);
  EXPECT_EQ(machine.size(), 11u);
  Pass(70 * kSecond);
  EXPECT_EQ(machine.size(), 4u);
  EXPECT_TRUE(table.Read(gateway).usable()) << "a gateway's MAC is kept";
}

TEST_F(NeighborMachineTest, EverythingGoesBackAfterChurn) {
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    const Ipv4Address a = Ipv4Address::FromHost(0x0a000000 + 100 + random() % 200);
    const MacAddress mac = MacAddress::FromBits(0x020000000002 + 256 * (random() % 100));
    switch (random() % 8) {
      case 0:
        ArpReplyFrom(a, mac);
        break;
      case 1:
        ArpIn(ArpRequest(mac, a, kOwn));
        break;
      case 2:
        machine.SetPermanent(*table.Acquire({1, a}), mac, State::kPermanent, now);
        break;
      case 3:
        machine.Remove({1, a});
        break;
      case 4:
        machine.OnStaleUse(random() % 300, now);
        break;
      default:
        Resolve(a, "x");
    }
    if (i % 16 == 0) Pass((random() % 1000) * kMillisecond);
    // A cell is usable exactly when its entry is valid.
    const auto info = machine.Get({1, a}, now);
    const bool valid = info && info->state != State::kIncomplete && info->state != State::kFailed;
    ASSERT_EQ(Cell(a).usable(), valid);
    if (valid) {
      ASSERT_EQ(Cell(a).mac(), info->mac);
    }
  }
  machine.RemoveLink(1);
  EXPECT_EQ(machine.size(), 0u);
  EXPECT_EQ(machine.held_packets(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace sluice
