#include "dataplane/local/icmp_error.h"

#include <memory>
#include <random>

#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/parse.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using Kind = IcmpErrorKind;

Bytes Build4(const IcmpError& error, const Bytes& packet) {
  Bytes out(kMaxIcmpError);
  out.resize(
      BuildIcmpError4(error, packet, V4("192.0.2.1"), {.ip_id = 0x4711, .ms_since_midnight = 77}, absl::MakeSpan(out)));
  return out;
}

Bytes Build6(const IcmpError& error, const Bytes& packet) {
  Bytes out(kMaxIcmpError);
  out.resize(BuildIcmpError6(error, packet, V6("2001:db8:ff::1"), absl::MakeSpan(out)));
  return out;
}

Bytes Udp4(uint8_t tos = 0, size_t data = 32) {
  return BuildIpv4({.tos = tos, .payload = BuildUdp4("10.0.0.1", "10.0.1.1", 1000, 2000, Pattern(data))});
}
Bytes Udp6(size_t data = 32) {
  return BuildIpv6({.traffic_class = 0x2f,
                    .flow_label = 5,
                    .payload = BuildUdp6("2001:db8::1", "2001:db8:1::1", 1000, 2000, Pattern(data))});
}

struct CodeCase {
  Kind kind;
  int type4, code4, type6, code6;  // -1: the family has none
};

// LINUX.md 4.2.
TEST(IcmpErrorCode, IsThatOfLinuxForEveryKind) {
  const CodeCase cases[] = {
      {Kind::kNone, -1, -1, -1, -1},        {Kind::kNoRoute, 3, 0, 1, 0},
      {Kind::kUnreachable, 3, 1, 1, 0},     {Kind::kHostUnreachable, 3, 1, 1, 3},
      {Kind::kProhibited, 3, 13, 1, 1},     {Kind::kTtlExceeded, 11, 0, 3, 0},
      {Kind::kTooBig, 3, 4, 2, 0},          {Kind::kProtocolUnreachable, 3, 2, 4, 1},
      {Kind::kPortUnreachable, 3, 3, 1, 4}, {Kind::kParameterProblem, 12, 0, 4, 0},
      {Kind::kSourceScope, -1, -1, 1, 2},   {Kind::kUnrecognizedOption, -1, -1, 4, 2},
  };
  for (const CodeCase& c : cases) {
    const auto v4 = IcmpErrorCode(Family::kIpv4, c.kind);
    const auto v6 = IcmpErrorCode(Family::kIpv6, c.kind);
    EXPECT_EQ(v4.has_value() ? v4->type : -1, c.type4) << static_cast<int>(c.kind);
    EXPECT_EQ(v4.has_value() ? v4->code : -1, c.code4) << static_cast<int>(c.kind);
    EXPECT_EQ(v6.has_value() ? v6->type : -1, c.type6) << static_cast<int>(c.kind);
    EXPECT_EQ(v6.has_value() ? v6->code : -1, c.code6) << static_cast<int>(c.kind);
    EXPECT_FALSE(IcmpErrorCode(Family::kNone, c.kind).has_value());
    if (v4.has_value()) {
      const Bytes error = Build4({.kind = c.kind}, Udp4());
      EXPECT_EQ(error[20], c.type4);
      EXPECT_EQ(error[21], c.code4);
    }
    if (v6.has_value()) {
      const Bytes error = Build6({.kind = c.kind}, Udp6());
      EXPECT_EQ(error[40], c.type6);
      EXPECT_EQ(error[41], c.code6);
    }
  }
}

TEST(BuildIcmpError4, IsAValidPacketThatQuotesTheOriginal) {
  const Bytes packet = Udp4(/*tos=*/0x2f);
  const Bytes error = Build4({.kind = Kind::kTtlExceeded}, packet);
  ASSERT_EQ(error.size(), 28 + packet.size());
  uint32_t length = 0;
  ASSERT_TRUE(CheckIpv4(error.data(), static_cast<uint32_t>(error.size()), &length).plain());
  EXPECT_EQ(length, error.size());
  const auto* ip = HeaderAt<Ipv4Header>(error.data());
  EXPECT_EQ(ip->source.get(), V4("192.0.2.1"));
  EXPECT_EQ(ip->destination.get(), V4("10.0.0.1"));
  EXPECT_EQ(ip->ttl, 64);
  EXPECT_EQ(ip->tos, 0xce);  // as Linux 6.18 answers 0x2f
  EXPECT_EQ(ip->id.ToHost(), 0x4711);
  EXPECT_EQ(ip->fragment.get(), be16{});
  EXPECT_EQ(InternetChecksum(absl::MakeConstSpan(error).subspan(20)), be16{});
  EXPECT_EQ(HeaderAt<IcmpHeader>(&error[20])->rest.get(), be32{});
  EXPECT_EQ(Bytes(error.begin() + 28, error.end()), packet);
}

TEST(BuildIcmpError4, QuotesAsMuchAsFits576Bytes) {
  for (size_t data : {519, 520, 521, 1472}) {
    const Bytes packet = Udp4(0, data);
    const Bytes error = Build4({.kind = Kind::kNoRoute}, packet);
    EXPECT_EQ(error.size(), std::min<size_t>(576, packet.size() + 28));
    EXPECT_TRUE(std::equal(error.begin() + 28, error.end(), packet.begin()));
    EXPECT_EQ(InternetChecksum(absl::MakeConstSpan(error).subspan(20)), be16{});
  }
}

TEST(BuildIcmpError4, DoesNotQuotePadding) {
  const Bytes packet = Udp4(0, 3);
  EXPECT_EQ(Build4({.kind = Kind::kNoRoute}, Concat(packet, Bytes(15))).size(), 28 + packet.size());
}

TEST(BuildIcmpError4, CarriesMtuAndPointerInTheirPlaces) {
  EXPECT_EQ(HeaderAt<IcmpHeader>(&Build4({.kind = Kind::kTooBig, .info = 1400}, Udp4())[20])->rest.ToHost(), 1400u);
  EXPECT_EQ(HeaderAt<IcmpHeader>(&Build4({.kind = Kind::kTooBig, .info = 100000}, Udp4())[20])->rest.ToHost(), 0xffffu);
  EXPECT_EQ(HeaderAt<IcmpHeader>(&Build4({.kind = Kind::kParameterProblem, .info = 22}, Udp4())[20])->rest.ToHost(),
            22u << 24);
  EXPECT_EQ(HeaderAt<IcmpHeader>(&Build4({.kind = Kind::kNoRoute, .info = 22}, Udp4())[20])->rest.ToHost(), 0u);
}

// As Linux 6.18: the record route comes back with two entries of ours, and the quote is shorter for it.
TEST(BuildIcmpError4, ReturnsRecordRoute) {
  const Bytes packet = BuildIpv4({.options = {7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0}, .payload = Pattern(1000)});
  const Bytes error = Build4({.kind = Kind::kNoRoute}, packet);
  ASSERT_EQ(error.size(), 576u);
  EXPECT_EQ(Bytes(error.begin() + 20, error.begin() + 32), (Bytes{7, 11, 12, 192, 0, 2, 1, 192, 0, 2, 1, 0}));
  EXPECT_TRUE(std::equal(error.begin() + 40, error.end(), packet.begin()));
}

TEST(BuildIcmpError6, IsAValidPacketThatQuotesTheOriginal) {
  const Bytes packet = Udp6();
  const Bytes error = Build6({.kind = Kind::kTooBig, .info = 1400}, packet);
  ASSERT_EQ(error.size(), 48 + packet.size());
  uint32_t length = 0;
  ASSERT_TRUE(CheckIpv6(error.data(), static_cast<uint32_t>(error.size()), &length).plain());
  EXPECT_EQ(length, error.size());
  const auto* ip = HeaderAt<Ipv6Header>(error.data());
  EXPECT_EQ(ip->source, V6("2001:db8:ff::1"));
  EXPECT_EQ(ip->destination, V6("2001:db8::1"));
  EXPECT_EQ(ip->hop_limit, 64);
  EXPECT_EQ(ip->traffic_class(), 0);
  EXPECT_EQ(ip->flow_label(), 0u);
  EXPECT_EQ(Icmpv6Checksum(ip->source, ip->destination, absl::MakeConstSpan(error).subspan(40)), be16{});
  EXPECT_EQ(HeaderAt<Icmpv6Header>(&error[40])->rest.ToHost(), 1400u);
  EXPECT_EQ(Bytes(error.begin() + 48, error.end()), packet);
}

TEST(BuildIcmpError6, QuotesAsMuchAsFits1280Bytes) {
  for (size_t data : {1183, 1184, 1185, 1452}) {
    const Bytes packet = Udp6(data);
    const Bytes error = Build6({.kind = Kind::kNoRoute}, packet);
    EXPECT_EQ(error.size(), std::min<size_t>(1280, packet.size() + 48));
    EXPECT_TRUE(std::equal(error.begin() + 48, error.end(), packet.begin()));
  }
  // A quote that was cut on its way here, as a worker cuts it.
  Bytes cut = Udp6(1452);
  cut.resize(PuntHeader::kMaxErrorQuote);
  EXPECT_EQ(Build6({.kind = Kind::kNoRoute}, cut).size(), 1280u);
}

TEST(BuildIcmpError, WithoutRoomWritesNothing) {
  Bytes out(59);
  EXPECT_EQ(BuildIcmpError4({.kind = Kind::kNoRoute}, Udp4(), V4("192.0.2.1"), {}, absl::MakeSpan(out)), 0u);
  EXPECT_EQ(BuildIcmpError6({.kind = Kind::kNoRoute}, Udp6(), V6("2001:db8::9"), absl::MakeSpan(out)), 0u);
  EXPECT_EQ(out, Bytes(59));
}

bool May4(const Bytes& packet, IcmpError error = {.kind = Kind::kNoRoute}) {
  const bool may = MayAnswer(Family::kIpv4, error, packet);
  EXPECT_EQ(Build4(error, packet).empty(), !may);
  return may;
}
bool May6(const Bytes& packet, IcmpError error = {.kind = Kind::kNoRoute}) {
  const bool may = MayAnswer(Family::kIpv6, error, packet);
  EXPECT_EQ(Build6(error, packet).empty(), !may);
  return may;
}

// LINUX.md 4.2 "never about", and which types Linux 6.18 was seen to answer.
TEST(MayAnswer, Icmpv4OnlyAboutKnownQueries) {
  for (int type = 0; type < 256; ++type) {
    const bool query = type == 0 || type == 8 || (type >= 13 && type <= 18);
    const Bytes packet =
        BuildIpv4({.protocol = kProtocolIcmp, .payload = BuildIcmp(static_cast<uint8_t>(type), 0, 0, {})});
    EXPECT_EQ(May4(packet), query) << type;
  }
  EXPECT_FALSE(May4(BuildIpv4({.protocol = kProtocolIcmp})));  // no type at all
}

TEST(MayAnswer, Icmpv6OnlyAboutInformationalTypesAndNoRedirect) {
  for (int type = 0; type < 256; ++type) {
    const Bytes icmp = BuildIcmpv6("2001:db8::1", "2001:db8:1::1", static_cast<uint8_t>(type), 0, 0, {});
    const bool expected = type >= 128 && type != 137;
    EXPECT_EQ(May6(BuildIpv6({.next_header = kProtocolIcmpv6, .payload = icmp})), expected) << type;
    EXPECT_EQ(May6(BuildIpv6({.next_header = kProtocolIcmpv6,
                              .extensions = {{kProtocolDestinationOptions, PaddedOptions(16)},
                                             {kProtocolFragment, FragmentExtension(0, true)}},
                              .payload = icmp})),
              expected)
        << type;
  }
  EXPECT_FALSE(May6(BuildIpv6({.next_header = kProtocolIcmpv6})));
}

TEST(MayAnswer, NotAboutLaterIpv4FragmentsButAboutFirstOnes) {
  EXPECT_TRUE(May4(BuildIpv4({.fragment = 0x2000, .payload = Pattern(64)})));
  EXPECT_FALSE(May4(BuildIpv4({.fragment = 0x2040, .payload = Pattern(64)})));
  EXPECT_FALSE(May4(BuildIpv4({.fragment = 0x0040, .payload = Pattern(64)})));
}

// RFC 4443 has no such rule, and path MTU discovery needs the answer; seen on Linux 6.18.
TEST(MayAnswer, AboutLaterIpv6Fragments) {
  for (uint8_t next : {kProtocolUdp, kProtocolIcmpv6}) {
    EXPECT_TRUE(May6(BuildIpv6({.next_header = next,
                                .extensions = {{kProtocolFragment, FragmentExtension(64, false)}},
                                .payload = Bytes(64, 1)})));
  }
}

TEST(MayAnswer, NotAboutBroadcastAndMulticast) {
  EXPECT_FALSE(May4(Udp4(), {.kind = Kind::kNoRoute, .link_broadcast = true}));
  EXPECT_FALSE(May4(Udp4(), {.kind = Kind::kTooBig, .link_broadcast = true}));
  EXPECT_FALSE(May4(Udp4(), {.kind = Kind::kNoRoute, .to_broadcast = true}));
  EXPECT_FALSE(May4(BuildIpv4({.destination = "224.1.1.1"})));
  EXPECT_FALSE(May4(BuildIpv4({.destination = "255.255.255.255"})));
  EXPECT_FALSE(May6(Udp6(), {.kind = Kind::kNoRoute, .link_broadcast = true}));
  EXPECT_FALSE(May6(BuildIpv6({.destination = "ff0e::1"})));
}

TEST(MayAnswer, AboutMulticastInIpv6WhenTooBigOrAReportableOption) {
  EXPECT_TRUE(May6(BuildIpv6({.destination = "ff0e::1"}), {.kind = Kind::kTooBig, .info = 1280}));
  EXPECT_TRUE(May6(Udp6(), {.kind = Kind::kTooBig, .info = 1280, .link_broadcast = true}));
  for (const auto& [type, may] : {std::pair{0x3e, false}, {0x5e, false}, {0x9e, true}, {0xde, false}}) {
    Bytes options = PaddedOptions(8);
    options[2] = static_cast<uint8_t>(type);
    const Bytes packet =
        BuildIpv6({.destination = "ff02::1", .extensions = {{kProtocolHopByHop, options}}, .payload = Bytes(8)});
    EXPECT_EQ(May6(packet, {.kind = Kind::kUnrecognizedOption, .info = 42}), may) << type;
    EXPECT_FALSE(May6(packet, {.kind = Kind::kParameterProblem, .info = 42}));
    EXPECT_FALSE(May6(packet, {.kind = Kind::kUnrecognizedOption, .info = 0xffffffff}));
  }
}

TEST(MayAnswer, NotToSourcesThatAreNoSingleHost) {
  for (const char* source : {"0.0.0.0", "127.0.0.1", "224.0.0.1", "239.255.255.255", "255.255.255.255"}) {
    EXPECT_FALSE(May4(BuildIpv4({.source = source}))) << source;
  }
  EXPECT_TRUE(May4(BuildIpv4({.source = "240.0.0.1"})));
  for (const char* source : {"::", "::1", "ff02::1", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(May6(BuildIpv6({.source = source}))) << source;
    EXPECT_FALSE(May6(BuildIpv6({.source = source}), {.kind = Kind::kTooBig, .info = 1280})) << source;
  }
  EXPECT_TRUE(May6(BuildIpv6({.source = "fe80::1"})));
}

TEST(MayAnswer, NotAboutChainsThatHideTheirEnd) {
  std::vector<std::pair<uint8_t, Bytes>> chain(9, {kProtocolDestinationOptions, PaddedOptions(8)});
  EXPECT_FALSE(May6(BuildIpv6({.extensions = chain, .payload = Bytes(8)})));
}

// Hostile bytes: a sanitizer build sees any read outside.
TEST(BuildIcmpError, OfEveryFixtureCutAtEveryByteStaysInside) {
  for (const PacketFixture& f : ValidPackets()) {
    for (size_t cut = 0; cut <= f.l3.size(); ++cut) {
      const Bytes packet(f.l3.begin(), f.l3.begin() + static_cast<long>(cut));
      Bytes exact = packet;
      exact.shrink_to_fit();
      const Bytes v4 = Build4({.kind = Kind::kNoRoute}, exact);
      const Bytes v6 = Build6({.kind = Kind::kNoRoute}, exact);
      ASSERT_LE(v4.size(), 576u);
      ASSERT_LE(v6.size(), 1280u);
      ASSERT_TRUE(f.family == Family::kIpv4 ? v6.empty() : v4.empty());
    }
  }
}

TEST(BuildIcmpError, OfRandomBytesIsNothingOrAValidPacket) {
  std::mt19937 random(9);
  for (int round = 0; round < 100000; ++round) {
    Bytes packet(random() % 100);
    for (uint8_t& b : packet) b = static_cast<uint8_t>(random());
    if (!packet.empty()) packet[0] = static_cast<uint8_t>(round % 2 ? 0x40 | (random() % 16) : 0x60);
    if (packet.size() > 9) packet[round % 2 ? 9 : 6] = static_cast<uint8_t>(random() % 64);
    packet.shrink_to_fit();
    const IcmpError error = {.kind = static_cast<Kind>(random() % 12), .info = static_cast<uint32_t>(random())};
    uint32_t length = 0;
    const Bytes v4 = Build4(error, packet);
    if (!v4.empty()) {
      ASSERT_TRUE(CheckIpv4(v4.data(), static_cast<uint32_t>(v4.size()), &length).ok());
    }
    const Bytes v6 = Build6(error, packet);
    if (!v6.empty()) {
      const HeaderCheck check = CheckIpv6(v6.data(), static_cast<uint32_t>(v6.size()), &length);
      ASSERT_TRUE(check.ok());
    }
  }
}

}  // namespace
}  // namespace sluice
