#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "dataplane/neighbor/arp.h"
#include "dataplane/neighbor/nd.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

const MacAddress kMacA = *MacAddress::Parse("02:00:00:00:00:0a");
const MacAddress kMacB = *MacAddress::Parse("02:00:00:00:00:0b");
const Ipv4Address kA = *Ipv4Address::Parse("10.0.0.1");
const Ipv4Address kB = *Ipv4Address::Parse("10.0.0.2");
const Ipv6Address kA6 = *Ipv6Address::Parse("2001:db8::a:1");
const Ipv6Address kB6 = *Ipv6Address::Parse("2001:db8::b:2");

using Bytes = std::vector<uint8_t>;
template <typename Frame>
Bytes Copy(const Frame& f) {
  return Bytes(f.begin(), f.end());
}
// On the heap at its exact size, so that a read past the end is seen.
std::optional<ArpMessage> Arp(const Bytes& b) { return ParseArp(Bytes(b)); }
std::optional<NdMessage> Nd(const Bytes& frame) {
  const Bytes packet(frame.begin() + 14, frame.end());
  return ParseNd(packet, 40);
}
// The checksum made right again after an edit.
Bytes Fix(Bytes frame) {
  auto* ip = HeaderAt<Ipv6Header>(frame.data() + 14);
  auto* icmp = HeaderAt<Icmpv6Header>(frame.data() + 54);
  icmp->checksum = be16{};
  icmp->checksum = Icmpv6Checksum(ip->source, ip->destination, absl::MakeConstSpan(frame).subspan(54));
  return frame;
}

TEST(Arp, RequestAndReplyAreReadAsWritten) {
  const ArpFrame request = ArpRequest(kMacA, kA, kB);
  auto m = Arp(Copy(request));
  ASSERT_TRUE(m.has_value());
  EXPECT_FALSE(m->reply);
  EXPECT_EQ(m->frame_destination, kBroadcastMac);
  EXPECT_EQ(m->sender, kA);
  EXPECT_EQ(m->sender_mac, kMacA);
  EXPECT_EQ(m->target, kB);
  auto r = Arp(Copy(ArpReply(kMacB, kB, *m)));
  ASSERT_TRUE(r.has_value());
  EXPECT_TRUE(r->reply);
  EXPECT_EQ(r->frame_destination, kMacA);
  EXPECT_EQ(r->sender, kB);
  EXPECT_EQ(r->sender_mac, kMacB);
  EXPECT_EQ(r->target, kA);
  EXPECT_EQ(r->target_mac, kMacA);
}

TEST(Arp, MalformedIsRefused) {
  const Bytes good = Copy(ArpRequest(kMacA, kA, kB));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(Arp(Bytes(good.begin(), good.begin() + n)).has_value()) << n;
  Bytes padded = good;
  padded.resize(60);
  EXPECT_TRUE(Arp(padded).has_value());
  const auto with = [&](size_t at, std::initializer_list<uint8_t> bytes) {
    Bytes b = good;
    std::copy(bytes.begin(), bytes.end(), b.begin() + at);
    return b;
  };
  EXPECT_FALSE(Arp(with(12, {8, 0})).has_value()) << "EtherType";
  EXPECT_FALSE(Arp(with(14, {0, 6})).has_value()) << "hardware type";
  EXPECT_FALSE(Arp(with(16, {0x86, 0xdd})).has_value()) << "protocol type";
  EXPECT_FALSE(Arp(with(18, {8})).has_value()) << "hardware length";
  EXPECT_FALSE(Arp(with(19, {16})).has_value()) << "protocol length";
  EXPECT_FALSE(Arp(with(20, {0, 3})).has_value()) << "RARP";
  EXPECT_FALSE(Arp(with(22, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff})).has_value()) << "broadcast sender MAC";
  EXPECT_FALSE(Arp(with(22, {0, 0, 0, 0, 0, 0})).has_value()) << "no sender MAC";
  EXPECT_FALSE(Arp(with(28, {224, 0, 0, 1})).has_value()) << "multicast sender";
  EXPECT_FALSE(Arp(with(28, {127, 0, 0, 1})).has_value()) << "loopback sender";
  EXPECT_FALSE(Arp(with(28, {255, 255, 255, 255})).has_value()) << "broadcast sender";
  EXPECT_FALSE(Arp(with(38, {239, 1, 1, 1})).has_value()) << "multicast target";
  EXPECT_FALSE(Arp(with(38, {127, 0, 0, 1})).has_value()) << "loopback target";
}

TEST(Nd, SolicitationAndAdvertisementAreReadAsWritten) {
  const Bytes solicit = Copy(NeighborSolicit(kMacA, kA6, kB6));
  EXPECT_EQ(HeaderAt<EthernetHeader>(solicit.data())->destination, *MacAddress::Parse("33:33:ff:0b:00:02"));
  auto m = Nd(solicit);
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->kind, NdMessage::Kind::kSolicit);
  EXPECT_EQ(m->source, kA6);
  EXPECT_EQ(m->destination, kB6.SolicitedNode());
  EXPECT_EQ(m->target, kB6);
  EXPECT_EQ(m->mac, kMacA);

  auto a = Nd(Copy(NeighborAdvert(kMacB, *m, kMacA, /*router=*/true)));
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->kind, NdMessage::Kind::kAdvert);
  EXPECT_EQ(a->source, kB6);
  EXPECT_EQ(a->destination, kA6);
  EXPECT_EQ(a->target, kB6);
  EXPECT_EQ(a->mac, kMacB);
  EXPECT_TRUE(a->router && a->solicited && a->overrides);

  const Bytes unicast = Copy(NeighborSolicit(kMacA, kA6, kB6, kMacB));
  EXPECT_EQ(HeaderAt<EthernetHeader>(unicast.data())->destination, kMacB);
  EXPECT_EQ(Nd(unicast)->destination, kB6);
}

TEST(Nd, DuplicateAddressQuestionIsAnsweredToAllNodesUnsolicited) {
  NdMessage m;
  m.target = kB6;
  const Bytes advert = Copy(NeighborAdvert(kMacB, m, MacAddress(), false));
  EXPECT_EQ(HeaderAt<EthernetHeader>(advert.data())->destination, *MacAddress::Parse("33:33:00:00:00:01"));
  auto a = Nd(advert);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->destination, *Ipv6Address::Parse("ff02::1"));
  EXPECT_FALSE(a->solicited);
  EXPECT_FALSE(a->router);
  EXPECT_TRUE(a->overrides);
}

TEST(Nd, MalformedIsRefused) {
  const Bytes good = Copy(NeighborSolicit(kMacA, kA6, kB6));
  ASSERT_TRUE(Nd(good).has_value());
  for (size_t n = 0; n + 14 < good.size(); ++n) {
    const Bytes cut(good.begin() + 14, good.begin() + 14 + n);
    EXPECT_FALSE(ParseNd(cut, 40).has_value()) << n;
    EXPECT_FALSE(ParseNd(cut, 60).has_value()) << n;
  }
  const auto with = [&](size_t at, std::initializer_list<uint8_t> bytes) {
    Bytes b = good;
    std::copy(bytes.begin(), bytes.end(), b.begin() + at);
    return Fix(b);
  };
  Bytes bad_checksum = good;
  bad_checksum.back() ^= 1;
  EXPECT_FALSE(Nd(bad_checksum).has_value());
  EXPECT_FALSE(Nd(with(14 + 7, {254})).has_value()) << "hop limit";
  EXPECT_FALSE(Nd(with(55, {1})).has_value()) << "code";
  EXPECT_FALSE(Nd(with(62, {0xff, 2})).has_value()) << "multicast target";
  EXPECT_FALSE(Nd(with(79, {0})).has_value()) << "option of length 0";
  EXPECT_FALSE(Nd(with(79, {2})).has_value()) << "option beyond the end";
  EXPECT_FALSE(Nd(with(80, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff})).has_value()) << "broadcast MAC in the option";
  // :: as source: only to the solicited-node group, and without a source option.
  Bytes dad = with(22, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_FALSE(Nd(dad).has_value());
  dad.resize(14 + 40 + 24);
  dad[14 + 5] = 24;
  EXPECT_TRUE(Nd(Fix(dad)).has_value());
  Bytes dad_unicast = dad;
  std::copy(kB6.bytes.begin(), kB6.bytes.end(), dad_unicast.begin() + 38);
  EXPECT_FALSE(Nd(Fix(dad_unicast)).has_value());
  // An option that is longer than an Ethernet address needs.
  Bytes long_option = good;
  long_option.resize(good.size() + 8);
  long_option[79] = 2;
  EXPECT_FALSE(Nd(Fix(long_option)).has_value());
  // An option of another kind is skipped.
  EXPECT_FALSE(Nd(with(78, {NdOption::kNonce}))->mac.has_value());
  // A solicited answer to a group.
  NdMessage m;
  m.source = *Ipv6Address::Parse("ff02::1");
  m.target = kB6;
  EXPECT_FALSE(Nd(Copy(NeighborAdvert(kMacB, m, kMacA, true))).has_value());
}

TEST(Nd, RouterMessagesAreRecognised) {
  Bytes rs = Copy(NeighborSolicit(kMacA, kA6, kB6));
  rs[54] = Icmpv6Header::kRouterSolicit;
  auto m = Nd(Fix(rs));
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->kind, NdMessage::Kind::kOther);
}

// Random bytes with a right checksum: nothing but the sanitizers' opinion is checked.
TEST(Nd, RandomMessagesAreSurvived) {
  std::mt19937 random(5);
  int accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    Bytes frame(14 + 40 + 8 + random() % 60);
    for (uint8_t& b : frame) b = static_cast<uint8_t>(random());
    frame[14 + 7] = 255;
    frame[54] = static_cast<uint8_t>(135 + random() % 2);
    frame[55] = 0;
    for (size_t at = 78; at + 1 < frame.size(); at += 8) frame[at + 1] = static_cast<uint8_t>(random() % 3);
    accepted += Nd(Fix(frame)).has_value();
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace sluice
