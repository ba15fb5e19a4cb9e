#include "dataplane/worker/slow_path.h"

#include "dataplane/worker/slow_path_fixture.h"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SlowPathTest : public SlowPathFixture {
 protected:
  using SlowPathFixture::SlowPathFixture;
  size_t CountErrors(const std::vector<Out>& frames) {
    size_t n = 0;
    for (const Out& f : frames) n += f.is_icmp4() && f.icmp4()->type == IcmpHeader::kUnreachable;
    return n;
  }
};

// The checksums of a frame that Sluice made, and its lengths.
void ExpectWellFormed(const Bytes& frame) {
  const auto packet = absl::MakeConstSpan(frame).subspan(14);
  if (packet[0] >> 4 == 4) {
    const auto* ip = HeaderAt<Ipv4Header>(packet.data());
    EXPECT_EQ(ip->total_length.ToHost(), packet.size());
    EXPECT_EQ(InternetChecksum(packet.first(ip->header_length())).raw, 0);
    if (ip->protocol == kProtocolIcmp && !ip->is_fragment()) {
      EXPECT_EQ(InternetChecksum(packet.subspan(ip->header_length())).raw, 0);
    }
  } else {
    const auto* ip = HeaderAt<Ipv6Header>(packet.data());
    EXPECT_EQ(ip->payload_length.ToHost() + 40u, packet.size());
    EXPECT_EQ(Icmpv6Checksum(ip->source, ip->destination, packet.subspan(40)).raw, 0);
  }
}

// ---- Neighbours ----------------------------------------------------------------------------------------------------

TEST_F(SlowPathTest, AnArpRequestForAnOwnAddressOfAnyLinkIsAnswered) {
  Arp(ArpRequest(kHostMac, A("10.0.0.2").v4(), A("10.0.2.1").v4()));
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].header.link, 1u);
  EXPECT_EQ(out[0].header.generated, 1);
  const auto reply = ParseArp(out[0].frame);
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->reply);
  EXPECT_EQ(reply->frame_destination, kHostMac);
  EXPECT_EQ(reply->sender, A("10.0.2.1").v4());
  EXPECT_EQ(reply->sender_mac, kMac1);
  const auto neighbors = slow_path_->DumpNeighbors();
  ASSERT_THAT(neighbors, SizeIs(1));
  EXPECT_EQ(neighbors[0].address, A("10.0.0.2"));
  EXPECT_EQ(neighbors[0].mac, kHostMac);
  EXPECT_EQ(neighbors[0].state, NeighborState::kStale);
}

TEST_F(SlowPathTest, AnUnresolvedPacketAsksAndTheReplyReleasesInOrder) {
  std::vector<Bytes> packets;
  for (size_t i = 0; i < 5; ++i) {
    packets.push_back(Udp(A("10.0.0.2"), A("203.0.113.5"), 20 + i));
    Resolve(packets.back(), A("10.0.2.50"));
  }
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1)) << "one query";
  EXPECT_EQ(out[0].header.link, 2u);
  const auto query = ParseArp(out[0].frame);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->target, A("10.0.2.50").v4());
  EXPECT_EQ(query->sender, A("10.0.2.1").v4());
  EXPECT_EQ(query->sender_mac, kMac2);
  EXPECT_EQ(totals().handed_in.Get(), 5u);
  EXPECT_EQ(totals().held.Get(), 5u);
  EXPECT_EQ(totals().held_out.Get(), 0u);
  ExpectConservation();

  ArpReplyFrom("10.0.2.50", kHostMac, 2);
  out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(5));
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(out[i].header.link, 2u);
    EXPECT_EQ(out[i].header.generated, 0);
    EXPECT_EQ(out[i].ethernet()->destination, kHostMac);
    EXPECT_EQ(out[i].ethernet()->source, kMac2);
    EXPECT_EQ(out[i].ethernet()->type, kEtherTypeIpv4);
    EXPECT_EQ(out[i].l3_bytes(), packets[i]) << "not a byte is changed";
  }
  EXPECT_EQ(totals().held_out.Get(), 5u);
  EXPECT_EQ(totals().handed_out.Get(), 5u);
  EXPECT_EQ(totals().generated.Get(), 0u) << "the worker counts the query when it sends it";

  // A packet that was on its way meanwhile goes straight out.
  Resolve(packets[0], A("10.0.2.50"));
  EXPECT_THAT(RoundAndTake(), SizeIs(1));
  EXPECT_EQ(totals().handed_in.Get(), 6u);
  EXPECT_EQ(totals().handed_out.Get(), 6u);
  EXPECT_EQ(totals().held.Get(), 5u);
}

TEST_F(SlowPathTest, NdResolvesAGateway) {
  Resolve(Udp(A("2001:db8:10::2"), A("2001:db8:99::1")), A("2001:db8:12::50"));
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  const auto ns = out[0].nd();
  ASSERT_TRUE(ns.has_value());
  EXPECT_EQ(ns->kind, NdMessage::Kind::kSolicit);
  EXPECT_EQ(ns->source, A("fe80::2").v6());
  EXPECT_EQ(ns->target, A("2001:db8:12::50").v6());
  NdMessage solicit = *ns;
  Nd(NeighborAdvert(kHostMac, solicit, kMac2, true), 2);
  out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].ethernet()->destination, kHostMac);
  EXPECT_EQ(out[0].ethernet()->type, kEtherTypeIpv6);
  EXPECT_EQ(out[0].header.generated, 0);
}

// RFC 5549: an IPv4 packet whose gateway is an IPv6 neighbour is still an IPv4 frame.
TEST_F(SlowPathTest, AnIpv4PacketViaAnIpv6NeighbourKeepsItsEtherType) {
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("fe80::99"));
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  ASSERT_TRUE(out[0].nd().has_value());
  Nd(NeighborAdvert(kHostMac, *out[0].nd(), kMac2, true), 2);
  out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].ethernet()->type, kEtherTypeIpv4);
}

TEST_F(SlowPathTest, FailureAnswersEachPacketWithHostUnreachable) {
  KnowHosts();
  const Bytes v4 = Udp(A("10.0.0.2"), A("203.0.113.5"));
  const Bytes v6 = Udp(A("2001:db8:10::2"), A("2001:db8:99::1"));
  Resolve(v4, A("10.0.2.50"));
  Resolve(v4, A("10.0.2.50"));
  Resolve(v6, A("2001:db8:12::50"));
  Pass(4 * kSecond);
  size_t arp = 0, ns = 0, errors4 = 0, errors6 = 0;
  for (const Out& f : Take()) {
    if (f.is_arp()) {
      ++arp;
    } else if (f.nd()) {
      ++ns;
    } else if (f.is_icmp4()) {
      ++errors4;
      ExpectWellFormed(f.frame);
      EXPECT_EQ(f.header.link, 1u);
      EXPECT_EQ(f.header.generated, 1);
      EXPECT_EQ(f.icmp4()->type, 3);
      EXPECT_EQ(f.icmp4()->code, 1);
      EXPECT_EQ(f.ip4()->source.get(), A("10.0.0.1").v4());
      EXPECT_EQ(f.ip4()->destination.get(), A("10.0.0.2").v4());
      EXPECT_EQ(f.ethernet()->destination, kHostMac);
    } else if (f.is_icmp6()) {
      ++errors6;
      ExpectWellFormed(f.frame);
      EXPECT_EQ(f.icmp6()->type, 1);
      EXPECT_EQ(f.icmp6()->code, 3);
      EXPECT_EQ(f.ip6()->source, A("2001:db8:10::1").v6());
    }
  }
  EXPECT_EQ(arp, 3u);
  EXPECT_EQ(ns, 3u);
  EXPECT_EQ(errors4, 2u);
  EXPECT_EQ(errors6, 1u);
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kNeighborFailed), 3u);
  EXPECT_EQ(totals().held_out.Get(), 3u);
  EXPECT_EQ(slow_path_->icmp_errors_sent(), 3u);
}

// The error about a packet goes to the very neighbour that failed: it may neither loop nor be held for ever.
TEST_F(SlowPathTest, AnErrorTowardsTheFailedNeighbourEnds) {
  Resolve(Udp(A("10.0.2.50"), A("10.0.2.50")), A("10.0.2.50"));
  Pass(20 * kSecond);
  EXPECT_EQ(totals().held.Get(), totals().held_out.Get());
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kNeighborFailed), 2u) << "the packet, and the error about it";
  EXPECT_EQ(totals().generated.Get(), 1u);
}

TEST_F(SlowPathTest, AStaleNeighbourInUseIsProbed) {
  Arp(ArpRequest(kHostMac, A("10.0.0.2").v4(), A("10.0.0.1").v4()));
  Round();
  Take();
  const AdjacencyIndex index = adjacencies_.Find(NeighborKey{1, A("10.0.0.2")});
  EXPECT_TRUE(adjacencies_.Read(index).wants_report());
  Punt({.kind = PuntKind::kStaleUse, .adjacency = index, .next_hop = {}, .source_mac = {}});
  Punt({.kind = PuntKind::kStaleUse, .adjacency = 0xffffffff, .next_hop = {}, .source_mac = {}});
  Round();
  EXPECT_FALSE(adjacencies_.Read(index).wants_report());
  Pass(5100 * kMillisecond);
  const auto out = Take();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].ethernet()->destination, kHostMac);
}

TEST_F(SlowPathTest, ANeighbourSolicitationIsAnswered) {
  Nd(NeighborSolicit(kHostMac, A("2001:db8:10::2").v6(), A("2001:db8:10::1").v6()));
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  const auto na = out[0].nd();
  ASSERT_TRUE(na.has_value());
  EXPECT_EQ(na->target, A("2001:db8:10::1").v6());
  EXPECT_EQ(na->mac, kMac1);
  EXPECT_TRUE(na->router && na->solicited && na->overrides);
  EXPECT_EQ(out[0].ip6()->hop_limit, 255);
  EXPECT_EQ(totals().absorbed.Get(), 0u) << "the worker has counted it";
}

TEST_F(SlowPathTest, MalformedArpAndNdAreRejectedByReason) {
  Arp(Bytes(30, 0));
  NdFrame far = NeighborSolicit(kHostMac, A("2001:db8:10::2").v6(), A("2001:db8:10::1").v6());
  far[14 + 7] = 254;
  Nd(far);
  EXPECT_THAT(RoundAndTake(), IsEmpty());
  EXPECT_EQ(slow_path_->rejected(DropReason::kBadArp), 1u);
  EXPECT_EQ(slow_path_->rejected(DropReason::kBadNd), 1u);
  EXPECT_EQ(counters_.lane(0).dropped(), 0u);
}

TEST_F(SlowPathTest, PermanentNeighboursComeAndGoByCommand) {
  const NeighborKey key{2, A("10.0.2.50")};
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  Round();
  Take();
  EXPECT_EQ(slow_path_->SetPermanentNeighbor(key, M("ff:ff:ff:ff:ff:ff")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(slow_path_->SetPermanentNeighbor(key, MacAddress()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(slow_path_->SetPermanentNeighbor(key, kHostMac, NeighborState::kStale).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(slow_path_->SetPermanentNeighbor({0, A("10.0.2.50")}, kHostMac).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(slow_path_->SetPermanentNeighbor(key, kHostMac).ok());
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1)) << "what waited is released";
  Arp(ArpRequest(M("02:00:00:00:0e:02"), A("10.0.2.50").v4(), A("10.0.2.1").v4()), 2);
  Round();
  EXPECT_EQ(adjacencies_.Read(adjacencies_.Find(key)).mac(), kHostMac) << "traffic does not change it";
  slow_path_->FlushNeighbors(0);
  Round();
  EXPECT_THAT(slow_path_->DumpNeighbors(), SizeIs(1));
  slow_path_->RemoveNeighbor(key);
  Round();
  EXPECT_THAT(slow_path_->DumpNeighbors(), IsEmpty());
  EXPECT_EQ(adjacencies_.size(), 0u);
}

TEST_F(SlowPathTest, RemovingALinkDropsWhatWaitsForIt) {
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  Round();
  slow_path_->RemoveLink(2);
  Round();
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kOutLinkDown), 1u);
  EXPECT_THAT(slow_path_->DumpNeighbors(), IsEmpty());
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"), /*link_out=*/9);
  Round();
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kOutLinkDown), 2u);
}

TEST_F(SlowPathTest, IndicesComeBackWithoutThePublishersHelp) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(slow_path_->SetPermanentNeighbor({1, A("10.0.0.9")}, kHostMac).ok());
    Round();
    slow_path_->RemoveNeighbor({1, A("10.0.0.9")});
    Pass(500 * kMillisecond);
    EXPECT_EQ(publisher_->pending_objects(), 0u);
  }
}

// ---- Packets for ourselves -----------------------------------------------------------------------------------------

TEST_F(SlowPathTest, PingIsAnsweredInBothFamiliesFromTheAddressThatWasAsked) {
  KnowHosts();
  Local(Echo(A("10.0.0.2"), A("10.0.0.1")));
  Local(Echo(A("10.0.0.2"), A("10.0.2.1")));  // weak host model
  Local(Echo(A("2001:db8:10::2"), A("2001:db8:10::1")));
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(3));
  for (const Out& f : out) {
    ExpectWellFormed(f.frame);
    EXPECT_EQ(f.header.link, 1u);
    EXPECT_EQ(f.header.generated, 1);
    EXPECT_EQ(f.ethernet()->destination, kHostMac);
    EXPECT_EQ(f.ethernet()->source, kMac1);
  }
  EXPECT_EQ(out[0].icmp4()->type, IcmpHeader::kEchoReply);
  EXPECT_EQ(out[0].icmp4()->rest.ToHost(), 0x00070001u);
  EXPECT_EQ(out[0].ip4()->ttl, 64);
  EXPECT_EQ(out[0].ip4()->source.get(), A("10.0.0.1").v4());
  EXPECT_EQ(out[1].ip4()->source.get(), A("10.0.2.1").v4());
  EXPECT_EQ(out[2].icmp6()->type, Icmpv6Header::kEchoReply);
  EXPECT_EQ(out[2].ip6()->source, A("2001:db8:10::1").v6());
  EXPECT_EQ(totals().delivered.Get() + totals().generated.Get(), 0u) << "both are the worker's to count";
}

TEST_F(SlowPathTest, APingFromAnUnknownNeighbourIsAnsweredOnceItIsResolved) {
  Local(Echo(A("10.0.0.2"), A("10.0.0.1")));
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_TRUE(out[0].is_arp());
  EXPECT_EQ(totals().held.Get(), 0u) << "nobody has counted the reply yet";
  ArpReplyFrom("10.0.0.2", kHostMac, 1);
  out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].icmp4()->type, IcmpHeader::kEchoReply);
  EXPECT_EQ(out[0].header.generated, 1);
}

TEST_F(SlowPathTest, AReplyThatCannotLeaveIsCountedHere) {
  Local(Echo(A("10.0.0.2"), A("10.0.0.1")));   // its neighbour will not answer
  Local(Echo(A("192.0.2.7"), A("10.0.0.1")));  // no route
  Pass(4 * kSecond);
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kNeighborFailed), 1u);
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kNoRoute), 1u);
  EXPECT_EQ(totals().generated.Get(), 2u);
}

TEST_F(SlowPathTest, ALinkLocalPingIsAnsweredOnItsLink) {
  Local(Echo(A("fe80::77"), A("fe80::2")), 2);
  auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].header.link, 2u);
  ASSERT_TRUE(out[0].nd().has_value());
  EXPECT_EQ(out[0].nd()->target, A("fe80::77").v6());
}

TEST_F(SlowPathTest, AClosedPortIsAnsweredFromTheAddressThatWasAsked) {
  KnowHosts();
  Local(Udp(A("10.0.0.2"), A("10.0.2.1")));
  Local(Udp(A("2001:db8:10::2"), A("2001:db8:10::1")));
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(2));
  EXPECT_EQ(out[0].icmp4()->type, 3);
  EXPECT_EQ(out[0].icmp4()->code, 3);
  EXPECT_EQ(out[0].ip4()->source.get(), A("10.0.2.1").v4());
  EXPECT_EQ(out[1].icmp6()->type, 1);
  EXPECT_EQ(out[1].icmp6()->code, 4);
  EXPECT_EQ(slow_path_->rejected(DropReason::kPortUnreachable), 2u);
}

TEST_F(SlowPathTest, NothingAnswersABroadcast) {
  KnowHosts();
  Local(Udp(A("10.0.0.2"), A("10.0.0.255")));
  Local(Udp(A("10.0.0.2"), A("255.255.255.255")));
  Local(Echo(A("10.0.0.2"), A("10.0.0.255")));
  EXPECT_THAT(RoundAndTake(), IsEmpty());
}

TEST_F(SlowPathTest, ALongReplyIsFragmented) {
  KnowHosts();
  Local(Echo(A("10.0.0.2"), A("10.0.0.1"), 4000));
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(3));
  size_t data = 0;
  for (const Out& f : out) {
    ExpectWellFormed(f.frame);
    EXPECT_LE(f.l3().size(), 1500u);
    data += f.l3().size() - 20;
  }
  EXPECT_EQ(data, 4008u);
  Local(Echo(A("2001:db8:10::2"), A("2001:db8:10::1"), 4000));
  EXPECT_THAT(RoundAndTake(), IsEmpty());
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kTooBig), 1u);
}

TEST_F(SlowPathTest, AnyBytesAreSurvived) {
  KnowHosts();
  uint64_t x = 88172645463325252;
  for (int i = 0; i < 20000; ++i) {
    Bytes junk(x % 200);
    for (uint8_t& b : junk) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      b = static_cast<uint8_t>(x);
    }
    if (!junk.empty() && x % 3 > 0) junk[0] = x % 3 == 1 ? 0x45 : 0x60;
    PuntHeader header;
    header.kind = static_cast<PuntKind>(1 + x % 3);  // error, local, ARP
    header.error = static_cast<IcmpErrorKind>(x / 7 % 12);
    header.family = x / 5 % 2 ? Family::kIpv4 : Family::kIpv6;
    header.link_in = static_cast<LinkIndex>(x / 11 % 4);
    Punt(header, junk);
    if (i % 32 == 0) {
      now_ += kMillisecond;
      Round();
      Take();
    }
  }
  Pass(kSecond);
  Take();
}

// ---- Errors --------------------------------------------------------------------------------------------------------

TEST_F(SlowPathTest, TtlExceededComesFromTheLinkItLeavesByAndQuotes) {
  KnowHosts();
  const Bytes packet = Udp(A("10.0.0.2"), A("203.0.113.5"), 1000, 1);
  Error(IcmpErrorKind::kTtlExceeded, packet);
  const Bytes packet6 = Udp(A("2001:db8:10::2"), A("2001:db8:99::1"), 100, 1);
  Error(IcmpErrorKind::kTtlExceeded, packet6);
  const auto out = RoundAndTake();
  ASSERT_THAT(out, SizeIs(2));
  ExpectWellFormed(out[0].frame);
  EXPECT_EQ(out[0].icmp4()->type, 11);
  EXPECT_EQ(out[0].icmp4()->code, 0);
  EXPECT_EQ(out[0].ip4()->source.get(), A("10.0.0.1").v4());
  EXPECT_EQ(out[0].l3().size(), 576u) << "as much as fits";
  EXPECT_TRUE(std::equal(out[0].l3().begin() + 28, out[0].l3().end(), packet.begin()));
  ExpectWellFormed(out[1].frame);
  EXPECT_EQ(out[1].icmp6()->type, 3);
  EXPECT_EQ(out[1].ip6()->source, A("2001:db8:10::1").v6());
  EXPECT_TRUE(std::equal(out[1].l3().begin() + 48, out[1].l3().end(), packet6.begin()));
}

TEST_F(SlowPathTest, ErrorsToAHostAreLimitedAndTheLimitCanBeSet) {
  KnowHosts();
  const Bytes packet = Udp(A("10.0.0.2"), A("203.0.113.5"), 10, 1);
  for (int i = 0; i < 40; ++i) Error(IcmpErrorKind::kTtlExceeded, packet);
  EXPECT_THAT(RoundAndTake(), SizeIs(6));
  EXPECT_EQ(slow_path_->icmp_errors_limited(), 34u);
  now_ += kSecond;
  Error(IcmpErrorKind::kTtlExceeded, packet);
  Error(IcmpErrorKind::kTtlExceeded, packet);
  EXPECT_THAT(RoundAndTake(), SizeIs(1));
  for (int i = 0; i < 20; ++i) Error(IcmpErrorKind::kTooBig, packet, 1400);
  EXPECT_THAT(RoundAndTake(), SizeIs(20)) << "fragmentation needed is exempt";
  IcmpRateLimitSettings off;
  off.icmp_ratemask = 0;
  slow_path_->SetIcmpLimits(off);
  for (int i = 0; i < 40; ++i) Error(IcmpErrorKind::kTtlExceeded, packet);
  EXPECT_THAT(RoundAndTake(), SizeIs(40));
}

TEST_F(SlowPathTest, NoErrorAboutErrorsBroadcastsOrToNowhere) {
  KnowHosts();
  Bytes error = Echo(A("10.0.0.2"), A("203.0.113.5"));
  error[20] = IcmpHeader::kTimeExceeded;
  Error(IcmpErrorKind::kTtlExceeded, error);
  Error(IcmpErrorKind::kTtlExceeded, Udp(A("10.0.0.2"), A("203.0.113.5")), 0, PuntHeader::kLinkBroadcast);
  Error(IcmpErrorKind::kTtlExceeded, Udp(A("192.0.2.9"), A("203.0.113.5")));     // no route back
  Error(IcmpErrorKind::kTtlExceeded, Udp(A("198.51.100.9"), A("203.0.113.5")));  // a blackhole
  Error(IcmpErrorKind::kTtlExceeded, Bytes{});
  Error(IcmpErrorKind::kNone, Udp(A("10.0.0.2"), A("203.0.113.5")));
  EXPECT_THAT(RoundAndTake(), IsEmpty());
}

// ---- Bounds --------------------------------------------------------------------------------------------------------

TEST_F(SlowPathTest, AFloodOfUnresolvedDestinationsIsBoundedAndTimersRun) {
  KnowHosts();
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  Round();
  size_t queries = 0;
  uint32_t host = 0;
  const Bytes packet = Udp(A("10.0.0.2"), A("10.0.2.77"), 20);
  // Rounds of one millisecond for four seconds; the ring never runs dry.
  for (int ms = 0; ms < 4000; ++ms) {
    while (punt_.size() < 2 * SlowPath::kRecordsPerRing) {
      ASSERT_TRUE(Resolve(packet, Ipv4Address::FromHost(0x0a0a0000 + host++)));
    }
    EXPECT_LE(Round(), SlowPath::kRecordsPerRing + SlowPath::kTimersPerRound + 300);
    EXPECT_GT(punt_.size(), 0u);
    now_ += kMillisecond;
    for (const Out& f : Take()) {
      if (f.is_arp()) queries += ParseArp(f.frame)->target == A("10.0.2.50").v4();
    }
  }
  EXPECT_EQ(queries, 3u) << "two of them in the middle of the flood";
  EXPECT_GE(host, 200000u);
  EXPECT_LE(slow_path_->DumpNeighbors().size(), 4096u);
  const Counters::Lane& lane = counters_.lane(0);
  EXPECT_GT(lane.drops(DropReason::kNeighborTableFull), 0u);
  EXPECT_GE(lane.drops(DropReason::kNeighborFailed), 1u);
  EXPECT_LE(totals().held.Get() - totals().held_out.Get(), 16u << 20 >> 9);
  // Who is known, stays known.
  EXPECT_TRUE(adjacencies_.Read(adjacencies_.Find(NeighborKey{1, A("10.0.0.2")})).usable());
}

TEST_F(SlowPathTest, AFloodOfLocalPacketsDoesNotDelayTimers) {
  KnowHosts();
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  Round();
  Take();
  const Bytes ping = Echo(A("10.0.0.2"), A("10.0.0.1"));
  Nanos query_at = 0;
  for (int ms = 0; ms < 1100 && query_at == 0; ++ms) {
    while (punt_.size() < 2 * SlowPath::kRecordsPerRing) ASSERT_TRUE(Local(ping));
    Round();
    for (const Out& f : Take()) {
      if (f.is_arp()) query_at = now_;
    }
    now_ += kMillisecond;
  }
  EXPECT_GE(query_at, 1001 * kSecond);
  EXPECT_LE(query_at, 1001 * kSecond + 20 * kMillisecond);
}

class SmallRingTest : public SlowPathTest {
 protected:
  SmallRingTest() : SlowPathTest(4096, 4096) {}
};

TEST_F(SmallRingTest, AFullRingIsACountedDrop) {
  KnowHosts();
  Round();
  const Bytes ping = Echo(A("10.0.0.2"), A("10.0.0.1"), 400);
  size_t sent = 0;
  for (int i = 0; i < 40; ++i) {
    sent += Local(ping);
    Round();
  }
  const size_t out = Take().size();
  const uint64_t dropped = counters_.lane(0).drops(DropReason::kHandoverFull);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(out + dropped, sent);
  EXPECT_EQ(totals().generated.Get(), dropped) << "those that left are the worker's to count";
  // Forwarded packets likewise.
  ASSERT_TRUE(slow_path_->SetPermanentNeighbor({2, A("10.0.2.50")}, kHostMac).ok());
  for (int i = 0; i < 40; ++i) {
    Resolve(Udp(A("10.0.0.2"), A("203.0.113.5"), 400), A("10.0.2.50"));
    Round();
  }
  EXPECT_EQ(Take().size(), totals().handed_out.Get());
  EXPECT_LT(totals().handed_out.Get(), totals().handed_in.Get());
}

class SmallTableTest : public SlowPathTest {
 protected:
  SmallTableTest() : SlowPathTest(2) {}
};

TEST_F(SmallTableTest, AFullTableRefusesThePermanentNeighbour) {
  KnowHosts();
  EXPECT_EQ(slow_path_->SetPermanentNeighbor({1, A("10.0.0.3")}, kHostMac).code(),
            absl::StatusCode::kResourceExhausted);
  Resolve(Udp(A("10.0.0.2"), A("203.0.113.5")), A("10.0.2.50"));
  Round();
  EXPECT_EQ(counters_.lane(0).drops(DropReason::kNeighborTableFull), 1u);
}

}  // namespace
}  // namespace sluice
