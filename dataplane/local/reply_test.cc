#include "dataplane/local/reply.h"

#include <random>

#include "dataplane/local/echo.h"
#include "dataplane/local/tcp_reset.h"
#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/parse.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr uint32_t kMs = 0x009710ad;

struct OptionCase {
  const char* name;
  Bytes request;
  Bytes reply;
};

// The replies are those of Linux 6.18, whose address was 10.9.0.1.
TEST(BuildReplyOptions, AnswersAsLinuxDoes) {
  const OptionCase cases[] = {
      {"none", {}, {}},
      {"record route with room for two", {7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0}, {7, 11, 12, 10, 9, 0, 1, 10, 9, 0, 1, 0}},
      {"others are not returned",
       {1, 7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 148, 4, 0, 0},
       {7, 11, 12, 10, 9, 0, 1, 10, 9, 0, 1, 0}},
      {"record route with room for one", {7, 7, 4, 0, 0, 0, 0}, {7, 7, 8, 10, 9, 0, 1, 0}},
      {"record route, full", {7, 7, 8, 1, 2, 3, 4, 0}, {7, 7, 8, 1, 2, 3, 4, 0}},
      {"one time", {68, 8, 5, 0, 0, 0, 0, 0}, {68, 8, 9, 0, 0, 0x97, 0x10, 0xad}},
      {"two of three times",
       {68, 16, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
       {68, 16, 13, 0, 0, 0x97, 0x10, 0xad, 0, 0x97, 0x10, 0xad, 0, 0, 0, 0}},
      {"times, full, third overflow", {68, 8, 9, 0x30, 1, 1, 1, 1}, {68, 8, 9, 0x40, 1, 1, 1, 1}},
      {"addresses and times",
       {68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0},
       {68, 12, 13, 1, 10, 9, 0, 1, 0, 0x97, 0x10, 0xad}},
      {"given addresses, ours first",
       {68, 20, 5, 3, 10, 9, 0, 1, 0, 0, 0, 0, 10, 9, 0, 77, 0, 0, 0, 0},
       {68, 20, 13, 3, 10, 9, 0, 1, 0, 0x97, 0x10, 0xad, 10, 9, 0, 77, 0, 0, 0, 0}},
      {"given addresses, another's first",
       {68, 20, 5, 3, 10, 9, 0, 77, 0, 0, 0, 0, 10, 9, 0, 1, 0, 0, 0, 0},
       {68, 20, 5, 3, 10, 9, 0, 77, 0, 0, 0, 0, 10, 9, 0, 1, 0, 0, 0, 0}},
      {"given addresses, both ours",
       {68, 20, 5, 3, 10, 9, 0, 1, 0, 0, 0, 0, 10, 9, 0, 1, 0, 0, 0, 0},
       {68, 20, 21, 3, 10, 9, 0, 1, 0, 0x97, 0x10, 0xad, 10, 9, 0, 1, 0, 0x97, 0x10, 0xad}},
      {"an unknown timestamp flag", {68, 12, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0}, {68, 12, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"record route and times, whatever their order",
       {68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1},
       {7, 11, 12, 10, 9, 0, 1, 10, 9, 0, 1, 68, 12, 13, 0, 0, 0x97, 0x10, 0xad, 0, 0x97, 0x10, 0xad, 0}},
      {"malformed ones are not returned", {7, 3, 3, 0}, {}},
  };
  for (const OptionCase& c : cases) {
    Bytes out(40, 0xee);
    out.resize(BuildReplyOptions(BuildIpv4({.options = c.request}).data(), V4("10.9.0.1"), kMs, out.data()));
    EXPECT_EQ(out, c.reply) << c.name;
  }
}

TEST(BuildReplyOptions, AreNeverLongerThanThoseOfTheRequest) {
  std::mt19937 random(10);
  const uint8_t kinds[] = {0, 1, 7, 7, 68, 68, 148};
  int returned = 0;
  for (int round = 0; round < 100000; ++round) {
    Bytes options(4 + random() % 10 * 4);
    for (uint8_t& b : options) {
      b = static_cast<uint8_t>(random() % 3 ? 3 + random() % 9 : kinds[random() % std::size(kinds)]);
    }
    options[0] = kinds[random() % std::size(kinds)];
    Bytes out(40);
    const uint32_t size = BuildReplyOptions(BuildIpv4({.options = options}).data(), V4("10.9.0.1"), kMs, out.data());
    ASSERT_LE(size, options.size());
    ASSERT_EQ(size % 4, 0u);
    returned += size > 0;
  }
  EXPECT_GT(returned, 1000);
}

TEST(BuildEchoReply4, ReturnsDataIdAndClassAndNoFragmentFlags) {
  const Bytes request = BuildIpv4({.source = "10.0.0.2",
                                   .destination = "10.0.0.1",
                                   .protocol = kProtocolIcmp,
                                   .ttl = 1,
                                   .tos = 0x2f,
                                   .id = 77,
                                   .fragment = Ipv4Header::kDontFragment,
                                   .payload = BuildIcmp(8, 5, 0x00070001, Pattern(33))});
  Bytes out(request.size());
  ASSERT_EQ(BuildEchoReply4(request, V4("10.0.0.1"), {.ip_id = 9}, absl::MakeSpan(out)), request.size());
  const Bytes expected = BuildIpv4({.source = "10.0.0.1",
                                    .destination = "10.0.0.2",
                                    .protocol = kProtocolIcmp,
                                    .ttl = 64,
                                    .tos = 0x2f,
                                    .id = 9,
                                    .payload = BuildIcmp(0, 5, 0x00070001, Pattern(33))});
  EXPECT_EQ(out, expected);
  EXPECT_EQ(BuildEchoReply4(request, V4("10.0.0.1"), {}, absl::MakeSpan(out).first(out.size() - 1)), 0u);
}

TEST(BuildEchoReply6, ReturnsDataIdAndClass) {
  const std::string a = "2001:db8::2", b = "2001:db8::1";
  const Bytes request = BuildIpv6({.source = a,
                                   .destination = b,
                                   .next_header = kProtocolIcmpv6,
                                   .hop_limit = 1,
                                   .traffic_class = 0x2f,
                                   .flow_label = 5,
                                   .extensions = {{kProtocolDestinationOptions, PaddedOptions(8)}},
                                   .payload = BuildIcmpv6(a, b, 128, 5, 0x00070001, Pattern(33))});
  Bytes out(request.size());
  const uint32_t length = BuildEchoReply6(request, 48, V6(b), absl::MakeSpan(out));
  out.resize(length);
  EXPECT_EQ(out, BuildIpv6({.source = b,
                            .destination = a,
                            .next_header = kProtocolIcmpv6,
                            .traffic_class = 0x2f,
                            .payload = BuildIcmpv6(b, a, 129, 5, 0x00070001, Pattern(33))}));
}

struct ResetCase {
  uint8_t flags;
  size_t data;
  uint32_t sequence, acknowledgement;
  uint8_t reset_flags;
};

// As Linux 6.18 resets: segments had sequence 1000.
TEST(BuildTcpReset, NumbersAreThoseOfRfc9293) {
  const ResetCase cases[] = {
      {TcpHeader::kSyn, 0, 0, 1001, TcpHeader::kRst | TcpHeader::kAck},
      {TcpHeader::kSyn, 5, 0, 1006, TcpHeader::kRst | TcpHeader::kAck},
      {TcpHeader::kFin, 5, 0, 1006, TcpHeader::kRst | TcpHeader::kAck},
      {0, 0, 0, 1000, TcpHeader::kRst | TcpHeader::kAck},
      {TcpHeader::kAck, 5, 900, 0, TcpHeader::kRst},
      {TcpHeader::kAck | TcpHeader::kSyn, 0, 900, 0, TcpHeader::kRst},
  };
  for (const ResetCase& c : cases) {
    Bytes segment = Concat(BuildTcp(0, 1000, 80, c.flags), Pattern(c.data));
    HeaderAt<TcpHeader>(segment.data())->acknowledgement = be32::FromHost(900);
    const Bytes v4 = BuildIpv4({.protocol = kProtocolTcp, .tos = 0x2f, .payload = segment});
    Bytes out(kMaxTcpReset);
    ASSERT_EQ(BuildTcpReset4(v4, 20, absl::MakeSpan(out)), 40u);
    const auto* ip = HeaderAt<Ipv4Header>(out.data());
    uint32_t length = 0;
    EXPECT_TRUE(CheckIpv4(out.data(), 40, &length).plain());
    EXPECT_EQ(ip->tos, 0x2c);
    EXPECT_TRUE(ip->dont_fragment());
    EXPECT_EQ(ip->source.get(), V4("10.0.1.1"));
    EXPECT_EQ(ip->destination.get(), V4("10.0.0.1"));
    const auto* tcp = HeaderAt<TcpHeader>(&out[20]);
    EXPECT_EQ(tcp->source_port.ToHost(), 80);
    EXPECT_EQ(tcp->destination_port.ToHost(), 1000);
    EXPECT_EQ(tcp->sequence.ToHost(), c.sequence);
    EXPECT_EQ(tcp->acknowledgement.ToHost(), c.acknowledgement);
    EXPECT_EQ(tcp->flags, c.reset_flags);
    EXPECT_EQ(FoldSum(SumBytes(absl::MakeConstSpan(&out[20], 20), PseudoHeader(ip->source, ip->destination, 6, 20))),
              0xffff);

    const Bytes v6 = BuildIpv6({.next_header = kProtocolTcp, .traffic_class = 0x2f, .payload = segment});
    ASSERT_EQ(BuildTcpReset6(v6, 40, absl::MakeSpan(out)), 60u);
    const auto* ip6 = HeaderAt<Ipv6Header>(out.data());
    EXPECT_TRUE(CheckIpv6(out.data(), 60, &length).plain());
    EXPECT_EQ(ip6->traffic_class(), 0x2c);
    EXPECT_EQ(ip6->source, V6("2001:db8:1::1"));
    EXPECT_EQ(HeaderAt<TcpHeader>(&out[40])->flags, c.reset_flags);
    EXPECT_EQ(HeaderAt<TcpHeader>(&out[40])->acknowledgement.ToHost(), c.acknowledgement);
    EXPECT_EQ(FoldSum(SumBytes(absl::MakeConstSpan(&out[40], 20), PseudoHeader(ip6->source, ip6->destination, 6, 20))),
              0xffff);
  }
}

}  // namespace
}  // namespace sluice
