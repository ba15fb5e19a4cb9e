#include "dataplane/local/local_delivery.h"

#include <memory>
#include <random>

#include "dataplane/local/icmp_error.h"
#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/parse.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

const std::string kHost4 = "10.0.0.2", kOwn4 = "10.0.0.1", kHost6 = "2001:db8::2", kOwn6 = "2001:db8::1";

struct Outcome {
  LocalVerdict verdict;
  Bytes reply;
};

// The packet lies in memory of exactly its size, and so does the room for the reply: a sanitizer build sees any step
// outside either.
Outcome Handle(Family family, const Bytes& packet, bool to_broadcast = false, bool answer_multicast = true) {
  const size_t room = std::max<size_t>(packet.size(), 60);
  std::unique_ptr<uint8_t[]> in(new uint8_t[packet.size()]);
  std::unique_ptr<uint8_t[]> out(new uint8_t[room]);
  std::copy(packet.begin(), packet.end(), in.get());
  LocalContext context;
  context.reply.ip_id = 9;
  if (answer_multicast) context.multicast_source = V6(kOwn6);
  Outcome outcome;
  outcome.verdict = HandleLocal({family, absl::MakeConstSpan(in.get(), packet.size()), to_broadcast}, context,
                                absl::MakeSpan(out.get(), room));
  if (outcome.verdict.action == LocalAction::kReply) {
    outcome.reply.assign(out.get(), out.get() + outcome.verdict.reply_length);
  }
  return outcome;
}

LocalVerdict Verdict4(Ipv4Spec spec, bool to_broadcast = false) {
  if (spec.source == Ipv4Spec{}.source) spec.source = kHost4;
  if (spec.destination == Ipv4Spec{}.destination) spec.destination = kOwn4;
  return Handle(Family::kIpv4, BuildIpv4(spec), to_broadcast).verdict;
}

LocalVerdict Verdict6(Ipv6Spec spec) {
  if (spec.source == Ipv6Spec{}.source) spec.source = kHost6;
  if (spec.destination == Ipv6Spec{}.destination) spec.destination = kOwn6;
  return Handle(Family::kIpv6, BuildIpv6(spec)).verdict;
}

void ExpectDrop(const LocalVerdict& v, DropReason reason) {
  EXPECT_EQ(v.action, LocalAction::kDrop);
  EXPECT_EQ(DropReasonName(v.reason), DropReasonName(reason));
}

void ExpectError(const LocalVerdict& v, DropReason reason, IcmpErrorKind error, uint32_t info = 0) {
  EXPECT_EQ(v.action, LocalAction::kError);
  EXPECT_EQ(DropReasonName(v.reason), DropReasonName(reason));
  EXPECT_EQ(v.error, error);
  EXPECT_EQ(v.info, info);
}

Bytes Echo4(uint8_t type = 8) { return BuildIcmp(type, 0, 0x00070001, Pattern(32)); }
Bytes Echo6(uint8_t type = 128, const std::string& to = kOwn6) {
  return BuildIcmpv6(kHost6, to, type, 0, 0x00070001, Pattern(32));
}
Bytes UdpTo4(const std::string& to = kOwn4) { return BuildUdp4(kHost4, to, 1000, 2000, Pattern(13)); }
Bytes UdpTo6(const std::string& to = kOwn6) { return BuildUdp6(kHost6, to, 1000, 2000, Pattern(13)); }
Bytes TcpTo4(uint8_t flags) { return BuildTcp(PseudoHeader(V4(kHost4), V4(kOwn4), kProtocolTcp, 0), 1000, 80, flags); }
Bytes TcpTo6(uint8_t flags) { return BuildTcp(PseudoHeader(V6(kHost6), V6(kOwn6), kProtocolTcp, 0), 1000, 80, flags); }

TEST(HandleLocal4, EchoIsAnsweredFromTheAddressAsked) {
  const Outcome o =
      Handle(Family::kIpv4,
             BuildIpv4({.source = kHost4, .destination = kOwn4, .protocol = kProtocolIcmp, .payload = Echo4()}));
  EXPECT_EQ(o.verdict.action, LocalAction::kReply);
  EXPECT_EQ(
      o.reply,
      BuildIpv4({.source = kOwn4, .destination = kHost4, .protocol = kProtocolIcmp, .id = 9, .payload = Echo4(0)}));
}

TEST(HandleLocal4, PaddingIsNotEchoed) {
  const Bytes request = BuildIpv4(
      {.source = kHost4, .destination = kOwn4, .protocol = kProtocolIcmp, .payload = BuildIcmp(8, 0, 1, {5})});
  EXPECT_EQ(Handle(Family::kIpv4, Concat(request, Bytes(17, 0xaa))).reply.size(), request.size());
}

TEST(HandleLocal4, EchoToBroadcastOrMulticastIsIgnored) {
  const Ipv4Spec echo = {.protocol = kProtocolIcmp, .payload = Echo4()};
  ExpectDrop(Verdict4(echo, /*to_broadcast=*/true), DropReason::kIcmpIgnored);
  for (const char* to : {"255.255.255.255", "224.0.0.1"}) {
    Ipv4Spec spec = echo;
    spec.destination = to;
    ExpectDrop(Verdict4(spec), DropReason::kIcmpIgnored);
  }
}

TEST(HandleLocal4, EveryOtherIcmpTypeIsIgnored) {
  for (int type = 0; type < 256; ++type) {
    if (type == 8) continue;
    ExpectDrop(Verdict4({.protocol = kProtocolIcmp, .payload = Echo4(static_cast<uint8_t>(type))}),
               DropReason::kIcmpIgnored);
  }
  ExpectDrop(Verdict4({.protocol = kProtocolIgmp, .payload = Pattern(8)}), DropReason::kIcmpIgnored);
}

TEST(HandleLocal4, IcmpThatIsShortOrCorruptIsBad) {
  for (size_t size = 0; size < 8; ++size) {
    ExpectDrop(Verdict4({.protocol = kProtocolIcmp, .payload = Bytes(size)}), DropReason::kBadLocalPacket);
  }
  const Bytes echo = Echo4();
  for (size_t bit = 0; bit < echo.size() * 8; ++bit) {
    Bytes bad = echo;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ExpectDrop(Verdict4({.protocol = kProtocolIcmp, .payload = bad}), DropReason::kBadLocalPacket);
  }
}

// LINUX.md 4.2, last row.
TEST(HandleLocal4, ClosedPortsAndUnknownProtocolsAreUnreachable) {
  ExpectError(Verdict4({.payload = UdpTo4()}), DropReason::kPortUnreachable, IcmpErrorKind::kPortUnreachable);
  ExpectError(Verdict4({.payload = BuildUdp(0, 1, 2, Pattern(5))}), DropReason::kPortUnreachable,
              IcmpErrorKind::kPortUnreachable);
  for (uint8_t protocol : {4, 41, 47, 50, 89, 132, 200, 255, 0}) {
    ExpectError(Verdict4({.protocol = protocol, .payload = Pattern(20)}), DropReason::kProtocolUnreachable,
                IcmpErrorKind::kProtocolUnreachable);
  }
}

TEST(HandleLocal4, BroadcastAndMulticastCauseNoErrors) {
  ExpectDrop(Verdict4({.payload = UdpTo4()}, /*to_broadcast=*/true), DropReason::kPortUnreachable);
  ExpectDrop(Verdict4({.protocol = 200}, /*to_broadcast=*/true), DropReason::kProtocolUnreachable);
  ExpectDrop(Verdict4({.protocol = kProtocolTcp, .payload = TcpTo4(TcpHeader::kSyn)}, /*to_broadcast=*/true),
             DropReason::kPortUnreachable);
  for (const char* to : {"255.255.255.255", "224.0.0.9"}) {
    ExpectDrop(Verdict4({.destination = to, .payload = UdpTo4(to)}), DropReason::kPortUnreachable);
    ExpectDrop(Verdict4({.destination = to, .protocol = 89}), DropReason::kProtocolUnreachable);
  }
}

TEST(HandleLocal4, UdpWithAWrongChecksumOrLengthIsBad) {
  Bytes udp = UdpTo4();
  udp[9] ^= 1;
  ExpectDrop(Verdict4({.payload = udp}), DropReason::kBadLocalPacket);
  for (uint32_t length = 0; length <= 0xffff; ++length) {
    udp = BuildUdp(0, 1, 2, Pattern(13));
    HeaderAt<UdpHeader>(udp.data())->length = be16::FromHost(static_cast<uint16_t>(length));
    const LocalVerdict v = Verdict4({.payload = udp});
    if (length < 8 || length > 21) {
      ASSERT_EQ(v.action, LocalAction::kDrop) << length;
    } else {
      ASSERT_EQ(v.action, LocalAction::kError) << length;
    }
    length += length > 100 ? 97 : 0;
  }
  for (size_t size = 0; size < 8; ++size) ExpectDrop(Verdict4({.payload = Bytes(size)}), DropReason::kBadLocalPacket);
}

TEST(HandleLocal4, TcpIsResetUnlessItIsAReset) {
  EXPECT_EQ(Verdict4({.protocol = kProtocolTcp, .payload = TcpTo4(TcpHeader::kSyn)}).action, LocalAction::kReply);
  ExpectDrop(Verdict4({.protocol = kProtocolTcp, .payload = TcpTo4(TcpHeader::kRst)}), DropReason::kPortUnreachable);
  Bytes bad = TcpTo4(TcpHeader::kSyn);
  bad[4] ^= 1;
  ExpectDrop(Verdict4({.protocol = kProtocolTcp, .payload = bad}), DropReason::kBadLocalPacket);
  for (int offset = 0; offset < 16; ++offset) {
    Bytes segment = TcpTo4(TcpHeader::kSyn);
    auto* tcp = HeaderAt<TcpHeader>(segment.data());
    const be16 old_word = be16::FromHost(static_cast<uint16_t>(tcp->data_offset << 8 | tcp->flags));
    tcp->data_offset = static_cast<uint8_t>(offset << 4);
    const be16 new_word = be16::FromHost(static_cast<uint16_t>(tcp->data_offset << 8 | tcp->flags));
    tcp->checksum = UpdateChecksum(tcp->checksum, old_word, new_word);
    const LocalAction expected = offset == 5 ? LocalAction::kReply : LocalAction::kDrop;
    EXPECT_EQ(Verdict4({.protocol = kProtocolTcp, .payload = segment}).action, expected) << offset;
  }
}

TEST(HandleLocal4, FragmentsWaitForReassembly) {
  for (uint16_t fragment : {0x2000, 0x2001, 0x0001}) {
    EXPECT_EQ(Verdict4({.protocol = kProtocolIcmp, .fragment = fragment, .payload = Echo4()}).action,
              LocalAction::kFragment);
  }
}

TEST(HandleLocal4, MalformedOptionsAreAParameterProblemAndSourceRoutesAreRefused) {
  ExpectError(Verdict4({.options = {0x9e, 0, 1, 2}, .payload = UdpTo4()}), DropReason::kIpv4BadOptions,
              IcmpErrorKind::kParameterProblem, 20);
  ExpectError(Verdict4({.options = {1, 7, 7, 3, 0, 0, 0, 0}, .payload = UdpTo4()}), DropReason::kIpv4BadOptions,
              IcmpErrorKind::kParameterProblem, 23);
  for (uint8_t kind : {131, 137}) {
    for (uint8_t pointer : {4, 8}) {
      ExpectDrop(Verdict4({.options = {kind, 7, pointer, 10, 0, 0, 9, 0}, .payload = UdpTo4()}),
                 DropReason::kIpv4BadOptions);
    }
  }
  EXPECT_EQ(Verdict4({.protocol = kProtocolIcmp, .options = {148, 4, 0, 0}, .payload = Echo4()}).action,
            LocalAction::kReply);
}

TEST(HandleLocal4, NoRoomForTheReplyIsNoBuffer) {
  const Bytes request =
      BuildIpv4({.source = kHost4, .destination = kOwn4, .protocol = kProtocolIcmp, .payload = Echo4()});
  Bytes out(request.size() - 1);
  const LocalVerdict v = HandleLocal({Family::kIpv4, request}, {}, absl::MakeSpan(out));
  ExpectDrop(v, DropReason::kNoBuffer);
}

TEST(HandleLocal6, EchoIsAnsweredFromTheAddressAsked) {
  for (bool behind_extensions : {false, true}) {
    Ipv6Spec spec = {.source = kHost6, .destination = kOwn6, .next_header = kProtocolIcmpv6, .payload = Echo6()};
    if (behind_extensions) {
      spec.extensions = {{kProtocolHopByHop, PaddedOptions(8)},
                         {kProtocolDestinationOptions, PaddedOptions(16)},
                         {kProtocolRouting, Bytes(24)},
                         {kProtocolFragment, FragmentExtension(0, false)}};
      spec.extensions[2].second[1] = 2;
    }
    const Outcome o = Handle(Family::kIpv6, BuildIpv6(spec));
    EXPECT_EQ(o.verdict.action, LocalAction::kReply);
    EXPECT_EQ(o.reply, BuildIpv6({.source = kOwn6,
                                  .destination = kHost6,
                                  .next_header = kProtocolIcmpv6,
                                  .payload = BuildIcmpv6(kOwn6, kHost6, 129, 0, 0x00070001, Pattern(32))}));
  }
}

TEST(HandleLocal6, EchoToMulticastIsAnsweredFromTheAddressGiven) {
  const Bytes request = BuildIpv6(
      {.source = kHost6, .destination = "ff02::1", .next_header = kProtocolIcmpv6, .payload = Echo6(128, "ff02::1")});
  const Outcome o = Handle(Family::kIpv6, request);
  ASSERT_EQ(o.verdict.action, LocalAction::kReply);
  EXPECT_EQ(HeaderAt<Ipv6Header>(o.reply.data())->source, V6(kOwn6));
  ExpectDrop(Handle(Family::kIpv6, request, false, /*answer_multicast=*/false).verdict, DropReason::kIcmpIgnored);
  const Bytes nameless = BuildIpv6({.source = "::",
                                    .destination = "ff02::1",
                                    .next_header = kProtocolIcmpv6,
                                    .payload = BuildIcmpv6("::", "ff02::1", 128, 0, 1, {})});
  ExpectDrop(Handle(Family::kIpv6, nameless).verdict, DropReason::kIcmpIgnored);
}

TEST(HandleLocal6, NeighbourDiscoveryIsLeftAloneAndTheRestOfIcmpIgnored) {
  for (int type = 0; type < 256; ++type) {
    const Bytes packet = BuildIpv6({.source = kHost6,
                                    .destination = kOwn6,
                                    .next_header = kProtocolIcmpv6,
                                    .payload = Echo6(static_cast<uint8_t>(type))});
    const bool nd = type >= 133 && type <= 137;
    EXPECT_EQ(IsNd(packet), nd);
    const LocalVerdict v = Handle(Family::kIpv6, packet).verdict;
    if (nd) {
      EXPECT_EQ(v.action, LocalAction::kNd);
    } else if (type != 128) {
      ExpectDrop(v, DropReason::kIcmpIgnored);
    }
  }
  // Behind an extension header it is not accepted (RFC 6980 for fragments).
  ExpectDrop(Verdict6({.next_header = kProtocolIcmpv6,
                       .extensions = {{kProtocolDestinationOptions, PaddedOptions(8)}},
                       .payload = Echo6(135)}),
             DropReason::kIcmpIgnored);
  EXPECT_FALSE(IsNd(BuildIpv6({.next_header = kProtocolIcmpv6})));
  EXPECT_FALSE(IsNd(Concat(BuildIpv6({.next_header = kProtocolIcmpv6}), {135, 0})));  // padding
  EXPECT_FALSE(IsNd({}));
}

// LINUX.md 4.2, last row; pointers as Linux 6.18 sends them.
TEST(HandleLocal6, ClosedPortsAndUnknownProtocolsAreUnreachable) {
  ExpectError(Verdict6({.payload = UdpTo6()}), DropReason::kPortUnreachable, IcmpErrorKind::kPortUnreachable);
  ExpectError(Verdict6({.next_header = 200, .payload = Pattern(10)}), DropReason::kProtocolUnreachable,
              IcmpErrorKind::kProtocolUnreachable, 6);
  ExpectError(Verdict6({.next_header = 200,
                        .extensions = {{kProtocolDestinationOptions, PaddedOptions(8)}},
                        .payload = Pattern(10)}),
              DropReason::kProtocolUnreachable, IcmpErrorKind::kProtocolUnreachable, 40);
  // Hop-by-hop anywhere but first is a protocol that is not known.
  ExpectError(
      Verdict6({.next_header = kProtocolIcmpv6,
                .extensions = {{kProtocolDestinationOptions, PaddedOptions(8)}, {kProtocolHopByHop, PaddedOptions(8)}},
                .payload = Echo6()}),
      DropReason::kProtocolUnreachable, IcmpErrorKind::kProtocolUnreachable, 40);
  ExpectDrop(Verdict6({.next_header = kProtocolNoNext}), DropReason::kProtocolUnreachable);
  ExpectDrop(Verdict6({.destination = "ff02::1", .payload = UdpTo6("ff02::1")}), DropReason::kPortUnreachable);
  ExpectDrop(Verdict6({.destination = "ff02::1", .next_header = 200}), DropReason::kProtocolUnreachable);
}

TEST(HandleLocal6, UdpWithoutChecksumIsBad) {
  ExpectDrop(Verdict6({.payload = BuildUdp(0, 1, 2, Pattern(5))}), DropReason::kBadLocalPacket);
  Bytes udp = UdpTo6();
  udp[9] ^= 1;
  ExpectDrop(Verdict6({.payload = udp}), DropReason::kBadLocalPacket);
}

TEST(HandleLocal6, TcpIsReset) {
  EXPECT_EQ(Verdict6({.next_header = kProtocolTcp, .payload = TcpTo6(TcpHeader::kSyn)}).action, LocalAction::kReply);
  ExpectDrop(Verdict6({.next_header = kProtocolTcp, .payload = TcpTo6(TcpHeader::kRst)}), DropReason::kPortUnreachable);
}

TEST(HandleLocal6, FragmentsWaitForReassembly) {
  for (const Bytes& fragment : {FragmentExtension(0, true), FragmentExtension(8, true), FragmentExtension(8, false)}) {
    EXPECT_EQ(
        Verdict6({.next_header = kProtocolIcmpv6, .extensions = {{kProtocolFragment, fragment}}, .payload = Echo6()})
            .action,
        LocalAction::kFragment);
  }
}

// RFC 8200 §4.2, and what Linux 6.18 was seen to do.
TEST(HandleLocal6, UnknownOptionsAreTreatedAsTheirHighBitsSay) {
  for (const uint8_t header : {kProtocolHopByHop, kProtocolDestinationOptions}) {
    for (const char* to : {"2001:db8::1", "ff02::1"}) {
      const bool multicast = to[0] == 'f';
      for (int type = 2; type < 256; ++type) {
        Bytes options = PaddedOptions(8);
        options[2] = static_cast<uint8_t>(type);
        const Bytes packet = BuildIpv6({.source = kHost6,
                                        .destination = to,
                                        .next_header = kProtocolIcmpv6,
                                        .extensions = {{header, options}},
                                        .payload = Echo6(128, to)});
        const LocalVerdict v = Handle(Family::kIpv6, packet).verdict;
        const int action = type >> 6;
        if (action == 0) {
          EXPECT_EQ(v.action, LocalAction::kReply);
        } else if (action == 1 || (action == 3 && multicast)) {
          ExpectDrop(v, DropReason::kIpv6BadExtension);
        } else {
          ExpectError(v, DropReason::kIpv6BadExtension, IcmpErrorKind::kUnrecognizedOption, 42);
          EXPECT_TRUE(MayAnswer(Family::kIpv6, {.kind = v.error, .info = v.info}, packet));
        }
      }
    }
  }
}

TEST(HandleLocal6, UnknownRoutingHeadersWithSegmentsLeftAreAParameterProblem) {
  for (int type : {0, 2, 3, 4, 99}) {
    for (uint8_t left : {0, 1, 255}) {
      Bytes routing(24);
      routing[1] = 2;
      routing[2] = static_cast<uint8_t>(type);
      routing[3] = left;
      const LocalVerdict v =
          Verdict6({.next_header = kProtocolIcmpv6, .extensions = {{kProtocolRouting, routing}}, .payload = Echo6()});
      if (left == 0) {
        EXPECT_EQ(v.action, LocalAction::kReply) << type;
      } else {
        ExpectError(v, DropReason::kIpv6BadExtension, IcmpErrorKind::kParameterProblem, 42);
      }
    }
  }
}

TEST(HandleLocal6, OptionsThatLeaveTheirHeaderAreBad) {
  for (int length = 0; length < 256; ++length) {
    Bytes options = PaddedOptions(8);
    options[3] = static_cast<uint8_t>(length);
    const LocalVerdict v = Verdict6(
        {.next_header = kProtocolIcmpv6, .extensions = {{kProtocolDestinationOptions, options}}, .payload = Echo6()});
    if (length <= 4) {
      EXPECT_EQ(v.action, LocalAction::kReply) << length;
    } else {
      ExpectDrop(v, DropReason::kBadLocalPacket);
    }
  }
}

TEST(HandleLocal, CutPacketsAreBadAndNeverReadBeyond) {
  for (const PacketFixture& f : ValidPackets()) {
    for (size_t cut = 0; cut < f.l3.size(); ++cut) {
      const Bytes packet(f.l3.begin(), f.l3.begin() + static_cast<long>(cut));
      ExpectDrop(Handle(f.family, packet).verdict, DropReason::kBadLocalPacket);
    }
  }
  ExpectDrop(Handle(Family::kNone, {}).verdict, DropReason::kBadLocalPacket);
}

// The same cuts with the lengths in the header made to agree, so that every parser above IP meets a short packet.
TEST(HandleLocal, PacketsCutWithAgreeingLengthsStayInside) {
  for (const PacketFixture& f : ValidPackets()) {
    const bool v4 = f.family == Family::kIpv4;
    const size_t header = v4 ? HeaderAt<Ipv4Header>(f.l3.data())->header_length() : 40;
    for (size_t cut = header; cut < f.l3.size(); ++cut) {
      Bytes packet(f.l3.begin(), f.l3.begin() + static_cast<long>(cut));
      if (v4) {
        HeaderAt<Ipv4Header>(packet.data())->total_length = be16::FromHost(static_cast<uint16_t>(cut));
        FixIpv4Checksum(&packet);
      } else {
        HeaderAt<Ipv6Header>(packet.data())->payload_length = be16::FromHost(static_cast<uint16_t>(cut - 40));
      }
      const Outcome o = Handle(f.family, packet);
      ASSERT_NE(o.verdict.action, LocalAction::kReply) << f.name << " cut at " << cut;  // a checksum cannot be right
    }
  }
}

TEST(HandleLocal, RandomBytesGetAVerdictAndValidReplies) {
  std::mt19937 random(11);
  const uint8_t protocols[] = {0, 1, 2, 6, 17, 43, 44, 51, 58, 59, 60, 200};
  int replies = 0;
  for (int round = 0; round < 100000; ++round) {
    const bool v4 = round % 2;
    Bytes payload(random() % 80);
    for (uint8_t& b : payload) b = static_cast<uint8_t>(random() % 3 ? random() % 4 : random());
    const uint8_t protocol = protocols[random() % std::size(protocols)];
    if (protocol == 1 && payload.size() >= 8 && random() % 2) payload = BuildIcmp(8, payload[1], 7, payload);
    Bytes packet;
    if (v4) {
      Bytes options(random() % 3 * 4);
      for (uint8_t& b : options) b = static_cast<uint8_t>(random() % 12);
      packet = BuildIpv4(
          {.source = kHost4, .destination = kOwn4, .protocol = protocol, .options = options, .payload = payload});
    } else {
      packet = BuildIpv6({.source = kHost6, .destination = kOwn6, .next_header = protocol, .payload = payload});
    }
    for (uint32_t i = random() % 3; i > 0 && random() % 4 == 0; --i) {
      packet[random() % packet.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    }
    const Outcome o = Handle(v4 ? Family::kIpv4 : Family::kIpv6, packet);
    if (o.verdict.action != LocalAction::kReply) continue;
    ++replies;
    uint32_t length = 0;
    const auto size = static_cast<uint32_t>(o.reply.size());
    ASSERT_TRUE((v4 ? CheckIpv4(o.reply.data(), size, &length) : CheckIpv6(o.reply.data(), size, &length)).ok());
    ASSERT_EQ(length, size);
    ASSERT_NE(Handle(v4 ? Family::kIpv4 : Family::kIpv6, o.reply).verdict.action, LocalAction::kReply)
        << "a reply that would be replied to is a loop";
  }
  EXPECT_GT(replies, 100);
}

}  // namespace
}  // namespace sluice
