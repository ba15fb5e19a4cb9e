#include "dataplane/packet/fixtures.h"

namespace sluice {
namespace {

constexpr uint16_t kMf = Ipv4Header::kMoreFragments;

std::vector<PacketFixture> Make4() {
  const std::string a = "10.0.0.1", b = "10.0.1.1";
  const Bytes udp = BuildUdp4(a, b, 1000, 2000, Pattern(24));
  const Bytes tcp = BuildTcp(PseudoHeader(V4(a), V4(b), kProtocolTcp, 0), 1000, 80, TcpHeader::kSyn);
  const Bytes record_route = {7, 15, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Bytes longest = Concat({1, 0x94, 4, 0, 0, 7, 34, 4}, Bytes(32));
  const auto Ip = [](Ipv4Spec spec) { return BuildIpv4(std::move(spec)); };
  return {
      {"udp4", Family::kIpv4, Ip({.payload = udp}), kProtocolUdp, 20, true},
      {"udp4 without data", Family::kIpv4, Ip({.payload = BuildUdp4(a, b, 1, 2, {})}), kProtocolUdp, 20, true},
      {"udp4 without checksum", Family::kIpv4, Ip({.payload = BuildUdp(0, 1, 2, {9})}), kProtocolUdp, 20, true},
      {"udp4 1500", Family::kIpv4, Ip({.payload = BuildUdp4(a, b, 1, 2, Pattern(1472))}), kProtocolUdp, 20, true},
      {"tcp4 syn", Family::kIpv4, Ip({.protocol = kProtocolTcp, .payload = tcp}), kProtocolTcp, 20, true},
      {"echo4", Family::kIpv4, Ip({.protocol = kProtocolIcmp, .payload = BuildIcmp(8, 0, 0x00010002, Pattern(32))}),
       kProtocolIcmp, 20, false},
      {"gre4", Family::kIpv4, Ip({.protocol = kProtocolGre, .payload = Pattern(24)}), kProtocolGre, 20, false},
      {"header only", Family::kIpv4, Ip({.protocol = 253}), 253, 20, false},
      {"record route", Family::kIpv4, Ip({.options = record_route, .payload = udp}), kProtocolUdp, 36, true},
      {"sixty byte header", Family::kIpv4, Ip({.options = longest, .payload = udp}), kProtocolUdp, 60, true},
      {"first fragment", Family::kIpv4, Ip({.fragment = kMf, .payload = udp}), kProtocolUdp, 20, true},
      {"middle fragment", Family::kIpv4, Ip({.fragment = kMf | 3, .payload = Pattern(16)}), kProtocolUdp, 20, false},
      {"last fragment", Family::kIpv4, Ip({.fragment = 5, .payload = Pattern(3)}), kProtocolUdp, 20, false},
      {"class E source", Family::kIpv4, Ip({.source = "240.0.0.1", .payload = udp}), kProtocolUdp, 20, true},
      {"net zero destination", Family::kIpv4, Ip({.destination = "0.1.2.3", .payload = udp}), kProtocolUdp, 20, true},
  };
}

std::vector<PacketFixture> Make6() {
  const std::string a = "2001:db8::1", b = "2001:db8:1::1";
  const Bytes udp = BuildUdp6(a, b, 1000, 2000, Pattern(24));
  const Bytes tcp = BuildTcp(PseudoHeader(V6(a), V6(b), kProtocolTcp, 0), 1000, 80, TcpHeader::kSyn);
  const Bytes routing = {0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Bytes ah = {0, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto Ip = [](const Ipv6Spec& spec) { return BuildIpv6(spec); };
  const std::pair<uint8_t, Bytes> hop = {kProtocolHopByHop, PaddedOptions(8)};
  const std::pair<uint8_t, Bytes> route = {kProtocolRouting, routing};
  const std::pair<uint8_t, Bytes> dest = {kProtocolDestinationOptions, PaddedOptions(16)};
  const std::pair<uint8_t, Bytes> auth = {kProtocolAh, ah};
  const std::pair<uint8_t, Bytes> first = {kProtocolFragment, FragmentExtension(0, true)};
  const std::pair<uint8_t, Bytes> atomic = {kProtocolFragment, FragmentExtension(0, false)};
  const std::pair<uint8_t, Bytes> later = {kProtocolFragment, FragmentExtension(1232, false)};
  return {
      {"udp6", Family::kIpv6, Ip({.payload = udp}), kProtocolUdp, 40, true},
      {"udp6 1500", Family::kIpv6, Ip({.payload = BuildUdp6(a, b, 1, 2, Pattern(1452))}), kProtocolUdp, 40, true},
      {"tcp6 syn", Family::kIpv6, Ip({.next_header = kProtocolTcp, .payload = tcp}), kProtocolTcp, 40, true},
      {"echo6", Family::kIpv6,
       Ip({.next_header = kProtocolIcmpv6, .payload = BuildIcmpv6(a, b, 128, 0, 0x00010002, Pattern(32))}),
       kProtocolIcmpv6, 40, false},
      {"no next header", Family::kIpv6, Ip({.next_header = kProtocolNoNext}), kProtocolNoNext, 40, false},
      {"hop by hop", Family::kIpv6, Ip({.extensions = {hop}, .payload = udp}), kProtocolUdp, 48, true},
      {"every extension", Family::kIpv6, Ip({.extensions = {hop, dest, route, atomic, auth, dest}, .payload = udp}),
       kProtocolUdp, 40 + 8 + 16 + 24 + 8 + 24 + 16, true},
      {"eight extensions", Family::kIpv6,
       Ip({.extensions = {hop, dest, dest, dest, dest, dest, dest, dest}, .payload = udp}), kProtocolUdp,
       40 + 8 + 7 * 16, true},
      {"first fragment 6", Family::kIpv6, Ip({.extensions = {first}, .payload = udp}), kProtocolUdp, 48, true},
      {"atomic fragment", Family::kIpv6, Ip({.extensions = {atomic}, .payload = udp}), kProtocolUdp, 48, true},
      {"later fragment 6", Family::kIpv6, Ip({.extensions = {later}, .payload = Pattern(9)}), kProtocolUdp, 48, false},
      {"esp", Family::kIpv6, Ip({.next_header = kProtocolEsp, .payload = Pattern(40)}), kProtocolEsp, 40, false},
  };
}

}  // namespace

const std::vector<PacketFixture>& ValidPackets() {
  static const auto* const kPackets = [] {
    auto* all = new std::vector<PacketFixture>(Make4());
    for (PacketFixture& f : Make6()) all->push_back(std::move(f));
    return all;
  }();
  return *kPackets;
}

}  // namespace sluice
