#include "dataplane/packet/parse.h"

#include <memory>
#include <random>

#include "dataplane/packet/fixtures.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// A copy on the heap of exactly these bytes, so that a sanitizer sees a read beyond them.
std::unique_ptr<uint8_t[]> Exactly(const uint8_t* bytes, size_t size) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  if (size > 0) std::memcpy(copy.get(), bytes, size);
  return copy;
}

HeaderCheck Check(Family family, const Bytes& packet, uint32_t* length) {
  const auto exact = Exactly(packet.data(), packet.size());
  const auto available = static_cast<uint32_t>(packet.size());
  return family == Family::kIpv4 ? CheckIpv4(exact.get(), available, length)
                                 : CheckIpv6(exact.get(), available, length);
}

HeaderCheck Check4(const Bytes& packet) {
  uint32_t length = 0;
  return Check(Family::kIpv4, packet, &length);
}
HeaderCheck Check6(const Bytes& packet) {
  uint32_t length = 0;
  return Check(Family::kIpv6, packet, &length);
}
TransportView Find(const PacketFixture& f) {
  const auto exact = Exactly(f.l3.data(), f.l3.size());
  const auto length = static_cast<uint32_t>(f.l3.size());
  return f.family == Family::kIpv4 ? FindTransport4(exact.get(), length) : FindTransport6(exact.get(), length);
}

TEST(Check, AcceptsEveryValidPacketWithAnyPadding) {
  for (const PacketFixture& f : ValidPackets()) {
    for (size_t padding : {0, 1, 46, 1000}) {
      uint32_t length = 0;
      const HeaderCheck check = Check(f.family, Concat(f.l3, Bytes(padding, 0xa5)), &length);
      EXPECT_TRUE(check.plain()) << f.name;
      EXPECT_EQ(length, f.l3.size()) << f.name;
    }
  }
}

TEST(Check, RefusesEveryValidPacketCutAtAnyByte) {
  for (const PacketFixture& f : ValidPackets()) {
    for (size_t cut = 0; cut < f.l3.size(); ++cut) {
      uint32_t length = 12345;
      const HeaderCheck check = Check(f.family, Bytes(f.l3.begin(), f.l3.begin() + cut), &length);
      ASSERT_FALSE(check.ok()) << f.name << " cut at " << cut;
      ASSERT_EQ(length, 12345u);
      if (f.family == Family::kIpv6) {
        ASSERT_EQ(check.reason(), DropReason::kIpv6Truncated);
      } else {
        const bool header_cut = cut >= 20 && cut < HeaderAt<Ipv4Header>(f.l3.data())->header_length();
        ASSERT_EQ(check.reason(), header_cut ? DropReason::kIpv4BadHeaderLength : DropReason::kIpv4Truncated);
      }
    }
  }
}

TEST(Check, FastAndCarefulAgreeOnEveryChangedByte) {
  for (const PacketFixture& f : ValidPackets()) {
    const bool v4 = f.family == Family::kIpv4;
    for (size_t at = 0; at < (v4 ? 20u : 40u); ++at) {
      for (int value = 0; value < 256; ++value) {
        for (bool fix : {false, true}) {
          Bytes packet = f.l3;
          packet[at] = static_cast<uint8_t>(value);
          if (fix && v4 && HeaderAt<Ipv4Header>(packet.data())->header_length() <= packet.size()) {
            FixIpv4Checksum(&packet);
          }
          uint32_t fast_length = 0, careful_length = 0;
          const auto available = static_cast<uint32_t>(packet.size());
          const HeaderCheck fast = Check(f.family, packet, &fast_length);
          const HeaderCheck careful = v4 ? CheckIpv4Carefully(packet.data(), available, &careful_length)
                                         : CheckIpv6Carefully(packet.data(), available, &careful_length);
          ASSERT_EQ(fast, careful) << f.name << " byte " << at << " = " << value;
          ASSERT_EQ(fast_length, careful_length);
        }
      }
    }
  }
}

TEST(CheckIpv4, SumIsFoundRightExactlyWhenItFoldsToAllOnes) {
  std::mt19937_64 random(12);
  const auto agree = [](uint64_t sum) { return packet_internal::FoldsToAllOnes(sum) == (FoldSum(sum) == 0xffff); };
  for (int round = 0; round < 1000000; ++round) {
    const uint64_t sum = random() | 1;
    ASSERT_TRUE(agree(sum)) << sum;
    const uint64_t multiple = (random() % 0x0001000100010001 + 1) * 65535;  // 0x0001000100010001 * 65535 == 2^64 - 1
    ASSERT_TRUE(packet_internal::FoldsToAllOnes(multiple)) << multiple;
    ASSERT_TRUE(agree(multiple)) << multiple;
    ASSERT_TRUE(agree(multiple + 1) && agree(multiple - 1)) << multiple;
  }
  EXPECT_TRUE(packet_internal::FoldsToAllOnes(~uint64_t{0}));
}

TEST(CheckIpv4, EveryIhlIsJudgedByThePacketsLength) {
  for (uint32_t size : {20u, 24u, 40u, 59u, 60u, 100u}) {
    for (uint32_t ihl = 0; ihl <= 15; ++ihl) {
      Bytes packet = BuildIpv4({.payload = Bytes(size - 20)});
      packet[0] = static_cast<uint8_t>(0x40 | ihl);
      const bool fits = ihl >= 5 && ihl * 4 <= size;
      if (ihl * 4 <= size) FixIpv4Checksum(&packet);
      const HeaderCheck check = Check4(packet);
      EXPECT_EQ(check.ok(), fits) << size << " " << ihl;
      if (!fits) {
        EXPECT_EQ(check.reason(), DropReason::kIpv4BadHeaderLength);
      }
    }
  }
}

TEST(CheckIpv4, EveryTotalLengthIsJudgedByHeaderAndFrame) {
  for (const auto& [header, size] :
       {std::pair{20u, 20u}, {20u, 46u}, {20u, 1500u}, {24u, 60u}, {60u, 60u}, {60u, 1500u}}) {
    Bytes packet = BuildIpv4({.options = Bytes(header - 20), .payload = Bytes(size - header)});
    for (uint32_t total = 0; total <= 0xffff; ++total) {
      HeaderAt<Ipv4Header>(packet.data())->total_length = be16::FromHost(static_cast<uint16_t>(total));
      FixIpv4Checksum(&packet);
      uint32_t length = 0;
      const HeaderCheck check = CheckIpv4(packet.data(), size, &length);
      if (total < header) {
        ASSERT_EQ(check, HeaderCheck::Drop(DropReason::kIpv4BadTotalLength)) << total;
      } else if (total > size) {
        ASSERT_EQ(check, HeaderCheck::Drop(DropReason::kIpv4Truncated)) << total;
      } else {
        ASSERT_TRUE(check.plain()) << total;
        ASSERT_EQ(length, total);
      }
    }
  }
}

TEST(CheckIpv4, EveryVersionButFourIsRefused) {
  for (int version = 0; version < 16; ++version) {
    Bytes packet = BuildIpv4({});
    packet[0] = static_cast<uint8_t>(version << 4 | 5);
    FixIpv4Checksum(&packet);
    const HeaderCheck check = Check4(packet);
    EXPECT_EQ(check.ok(), version == 4);
    if (version != 4) {
      EXPECT_EQ(check.reason(), DropReason::kIpv4BadVersion);
    }
  }
}

TEST(CheckIpv4, AnyWrongChecksumIsRefused) {
  for (size_t options : {0, 4, 40}) {
    Bytes packet = BuildIpv4({.options = Bytes(options), .payload = Pattern(8)});
    for (size_t bit = 0; bit < (20 + options) * 8; ++bit) {
      Bytes bad = packet;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(Check4(bad).ok()) << bit;
    }
    const be16 right = HeaderAt<Ipv4Header>(packet.data())->checksum;
    HeaderAt<Ipv4Header>(packet.data())->checksum = be16::FromHost(right.ToHost() + 1);
    EXPECT_EQ(Check4(packet).reason(), DropReason::kIpv4BadChecksum);
  }
}

struct AddressCase {
  const char* source;
  const char* destination;
  HeaderCheck expected;
};

// LINUX.md 4.1, as tested on Linux 6.12.
TEST(CheckIpv4, MartiansAreThoseOfLinux) {
  const HeaderCheck bad_source = HeaderCheck::Drop(DropReason::kIpv4MartianSource);
  const HeaderCheck bad_destination = HeaderCheck::Drop(DropReason::kIpv4MartianDestination);
  const HeaderCheck fine = HeaderCheck::Ok();
  const HeaderCheck multicast = HeaderCheck::Ok(HeaderCheck::kMulticast);
  const HeaderCheck broadcast = HeaderCheck::Ok(HeaderCheck::kLimitedBroadcast);
  const AddressCase cases[] = {
      {"224.0.0.1", "10.0.0.1", bad_source},
      {"239.255.255.255", "10.0.0.1", bad_source},
      {"223.255.255.255", "10.0.0.1", fine},
      {"240.0.0.0", "10.0.0.1", fine},
      {"255.255.255.254", "10.0.0.1", fine},
      {"255.255.255.255", "10.0.0.1", bad_source},
      {"255.255.255.255", "255.255.255.255", bad_source},
      {"0.0.0.0", "10.0.0.1", bad_source},
      {"0.0.0.1", "10.0.0.1", fine},
      {"127.0.0.0", "10.0.0.1", bad_source},
      {"127.255.255.255", "10.0.0.1", bad_source},
      {"127.0.0.1", "255.255.255.255", bad_source},
      {"127.0.0.1", "224.0.0.1", bad_source},
      {"126.255.255.255", "10.0.0.1", fine},
      {"128.0.0.0", "10.0.0.1", fine},
      {"169.254.1.1", "169.254.2.2", fine},
      {"10.0.0.1", "10.0.0.1", fine},
      {"10.0.0.1", "0.0.0.0", bad_destination},
      {"10.0.0.1", "0.1.2.3", fine},
      {"10.0.0.1", "127.0.0.1", bad_destination},
      {"10.0.0.1", "127.255.255.255", bad_destination},
      {"10.0.0.1", "240.0.0.1", fine},
      {"10.0.0.1", "255.255.255.254", fine},
      {"10.0.0.1", "255.255.255.255", broadcast},
      {"10.0.0.1", "224.0.0.0", multicast},
      {"10.0.0.1", "239.255.255.255", multicast},
      {"0.0.0.0", "255.255.255.255", broadcast},  // a DHCP client
      {"0.0.0.0", "224.0.0.22", multicast},
      {"0.0.0.0", "239.1.1.1", bad_source},
      {"0.0.0.0", "0.0.0.0", bad_source},
  };
  for (const AddressCase& c : cases) {
    for (size_t options : {0, 4}) {
      EXPECT_EQ(Check4(BuildIpv4({.source = c.source, .destination = c.destination, .options = Bytes(options)})),
                c.expected)
          << c.source << " > " << c.destination;
    }
  }
  EXPECT_EQ(Check4(BuildIpv4({.source = "0.0.0.0", .destination = "239.1.1.1", .protocol = kProtocolIgmp})), multicast);
}

TEST(CheckIpv6, EveryPayloadLengthIsJudgedByTheFrame) {
  for (uint32_t size : {40u, 46u, 1500u}) {
    Bytes packet = BuildIpv6({.payload = Bytes(size - 40)});
    for (uint32_t payload = 0; payload <= 0xffff; ++payload) {
      HeaderAt<Ipv6Header>(packet.data())->payload_length = be16::FromHost(static_cast<uint16_t>(payload));
      uint32_t length = 0;
      const HeaderCheck check = CheckIpv6(packet.data(), size, &length);
      if (payload + 40 > size) {
        ASSERT_EQ(check, HeaderCheck::Drop(DropReason::kIpv6Truncated)) << payload;
      } else {
        ASSERT_TRUE(check.plain()) << payload;
        ASSERT_EQ(length, payload + 40);
      }
    }
  }
}

TEST(CheckIpv6, EveryVersionButSixIsRefused) {
  for (int version = 0; version < 16; ++version) {
    Bytes packet = BuildIpv6({});
    packet[0] = static_cast<uint8_t>(version << 4);
    EXPECT_EQ(Check6(packet), version == 6 ? HeaderCheck::Ok() : HeaderCheck::Drop(DropReason::kIpv6BadVersion));
  }
}

TEST(CheckIpv6, MartiansAndScopes) {
  const HeaderCheck bad_source = HeaderCheck::Drop(DropReason::kIpv6MartianSource);
  const HeaderCheck bad_destination = HeaderCheck::Drop(DropReason::kIpv6MartianDestination);
  const HeaderCheck bad_scope = HeaderCheck::Drop(DropReason::kIpv6ScopeViolation);
  const HeaderCheck fine = HeaderCheck::Ok();
  const uint16_t multicast = HeaderCheck::kMulticast;
  const uint16_t from_link = HeaderCheck::kLinkLocalSource;
  const uint16_t to_link = HeaderCheck::kLinkLocalDestination;
  const AddressCase cases[] = {
      {"ff02::1", "2001:db8::1", bad_source},
      {"::1", "2001:db8::1", bad_source},
      {"::ffff:10.0.0.1", "2001:db8::1", bad_source},
      {"::", "2001:db8::1", bad_source},
      {"::", "ff02::1:ff00:1", HeaderCheck::Ok(multicast)},  // duplicate address detection
      {"::2", "2001:db8::1", fine},
      {"64:ff9b::a00:1", "2001:db8::1", fine},
      {"fc00::1", "fd00::1", fine},
      {"fec0::1", "2001:db8::1", fine},
      {"fe80::1", "2001:db8::1", HeaderCheck::Ok(from_link)},
      {"febf::1", "2001:db8::1", HeaderCheck::Ok(from_link)},
      {"fe80::1", "fe80::2", HeaderCheck::Ok(from_link | to_link)},
      {"fe80::1", "ff02::1", HeaderCheck::Ok(from_link | multicast)},
      {"2001:db8::1", "fe80::2", HeaderCheck::Ok(to_link)},
      {"2001:db8::1", "ff02::1", HeaderCheck::Ok(multicast)},
      {"2001:db8::1", "ff0e::1", HeaderCheck::Ok(multicast)},
      {"2001:db8::1", "ff01::1", bad_scope},
      {"2001:db8::1", "ff10::1", bad_scope},
      {"2001:db8::1", "::", bad_destination},
      {"2001:db8::1", "::1", bad_destination},
      {"2001:db8::1", "::2", fine},
      {"2001:db8::1", "2001:db8::1", fine},
  };
  for (const AddressCase& c : cases) {
    EXPECT_EQ(Check6(BuildIpv6({.source = c.source, .destination = c.destination})), c.expected)
        << c.source << " > " << c.destination;
  }
}

TEST(FindTransport, FindsWhatTheFixtureSays) {
  for (const PacketFixture& f : ValidPackets()) {
    const TransportView view = Find(f);
    EXPECT_EQ(view.protocol, f.protocol) << f.name;
    EXPECT_EQ(view.offset, f.transport_offset) << f.name;
    EXPECT_EQ(view.has_ports(), f.ports) << f.name;
    EXPECT_EQ(f.l3[view.next_header_offset], f.protocol) << f.name;
    const bool later = f.name.find("later") != std::string::npos || f.name.find("middle") != std::string::npos ||
                       f.name.find("last") != std::string::npos;
    EXPECT_EQ(view.status, later ? TransportView::kLater : TransportView::kFound) << f.name;
    EXPECT_EQ(view.fragment, f.name.find("fragment") != std::string::npos && f.name != "atomic fragment") << f.name;
    if (f.ports) {
      EXPECT_EQ(view.source_port.ToHost(), f.l3[f.transport_offset] << 8 | f.l3[f.transport_offset + 1]) << f.name;
      EXPECT_EQ(view.destination_port.ToHost(), f.l3[f.transport_offset + 2] << 8 | f.l3[f.transport_offset + 3]);
    }
  }
}

TEST(FindTransport, OfShortenedPacketsStaysInside) {
  for (const PacketFixture& f : ValidPackets()) {
    const uint32_t header = f.family == Family::kIpv4 ? HeaderAt<Ipv4Header>(f.l3.data())->header_length() : 40;
    for (size_t cut = header; cut < f.l3.size(); ++cut) {
      PacketFixture shortened = f;
      shortened.l3.resize(cut);
      const TransportView view = Find(shortened);
      ASSERT_LE(view.offset, cut) << f.name;
      if (view.has_ports()) {
        ASSERT_LE(view.offset + 4, cut) << f.name;
      }
      if (f.ports && cut < f.transport_offset + 4) {
        ASSERT_EQ(view.status, TransportView::kTruncated) << f.name << " cut at " << cut;
      }
    }
  }
}

TEST(FindTransport6, ChainsThatNeverEndAreGivenUp) {
  std::vector<std::pair<uint8_t, Bytes>> chain(9, {kProtocolDestinationOptions, PaddedOptions(8)});
  Bytes packet = BuildIpv6({.extensions = chain, .payload = Bytes(8)});
  EXPECT_EQ(FindTransport6(packet.data(), static_cast<uint32_t>(packet.size())).status, TransportView::kTooDeep);
  chain.assign(100, {kProtocolHopByHop, PaddedOptions(8)});
  packet = BuildIpv6({.next_header = kProtocolHopByHop, .extensions = chain});
  EXPECT_EQ(FindTransport6(packet.data(), static_cast<uint32_t>(packet.size())).status, TransportView::kTooDeep);
}

TEST(FindTransport6, OverlongExtensionsAreTruncated) {
  for (uint8_t type : {kProtocolHopByHop, kProtocolRouting, kProtocolDestinationOptions, kProtocolAh}) {
    for (int length = 0; length < 256; ++length) {
      Bytes header(24);
      header[1] = static_cast<uint8_t>(length);
      const Bytes packet = BuildIpv6({.next_header = kProtocolNoNext, .extensions = {{type, header}}});
      const auto exact = Exactly(packet.data(), packet.size());
      const TransportView view = FindTransport6(exact.get(), static_cast<uint32_t>(packet.size()));
      const uint32_t size = type == kProtocolAh ? (length + 2) * 4 : (length + 1) * 8;
      EXPECT_EQ(view.status, size <= 24 ? TransportView::kFound : TransportView::kTruncated)
          << int{type} << " " << length;
    }
  }
}

TEST(FindTransport6, RandomChainsStayInside) {
  std::mt19937 random(6);
  const uint8_t types[] = {0, 43, 44, 60, 51, 17, 6, 58, 59, 50};
  for (int round = 0; round < 100000; ++round) {
    Bytes packet = BuildIpv6({.payload = Bytes(random() % 120)});
    for (size_t i = 40; i < packet.size(); ++i) {
      packet[i] = random() % 4 ? static_cast<uint8_t>(random() % 3) : types[random() % std::size(types)];
    }
    packet[6] = types[random() % std::size(types)];
    const auto exact = Exactly(packet.data(), packet.size());
    const TransportView view = FindTransport6(exact.get(), static_cast<uint32_t>(packet.size()));
    ASSERT_LE(view.offset, packet.size());
    ASSERT_LT(view.next_header_offset, packet.size());
  }
}

}  // namespace
}  // namespace sluice
