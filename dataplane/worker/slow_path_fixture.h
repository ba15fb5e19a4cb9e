// A slow path in a small world for tests: two links with a subnet of each family, one worker's rings, and a clock.
//
//   link 1: 10.0.0.1/24, 2001:db8:10::1/64, fe80::1      link 2: 10.0.2.1/24, 2001:db8:12::1/64, fe80::2
//   203.0.113.0/24 via 10.0.2.50, 2001:db8:99::/48 via 2001:db8:12::50
#ifndef SLUICE_DATAPLANE_WORKER_SLOW_PATH_FIXTURE_H_
#define SLUICE_DATAPLANE_WORKER_SLOW_PATH_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/arena.h"
#include "dataplane/neighbor/arp.h"
#include "dataplane/neighbor/nd.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"
#include "dataplane/snapshot/builder.h"
#include "dataplane/worker/slow_path.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

inline IpAddress A(const char* text) { return *IpAddress::Parse(text); }
inline MacAddress M(const char* text) { return *MacAddress::Parse(text); }

inline const MacAddress kMac1 = M("02:00:00:00:00:01");
inline const MacAddress kMac2 = M("02:00:00:00:00:02");
inline const MacAddress kHostMac = M("02:00:00:00:01:00");

// An IP packet with `payload` behind the header.
inline Bytes Packet(const IpAddress& from, const IpAddress& to, uint8_t protocol, const Bytes& payload,
                    uint8_t ttl = 64) {
  Bytes p;
  if (from.is_v4()) {
    p.resize(20);
    auto* ip = HeaderAt<Ipv4Header>(p.data());
    ip->version_ihl = 0x45;
    ip->total_length = be16::FromHost(static_cast<uint16_t>(20 + payload.size()));
    ip->ttl = ttl;
    ip->protocol = protocol;
    ip->source = from.v4();
    ip->destination = to.v4();
    ip->checksum = InternetChecksum(p);
  } else {
    p.resize(40);
    auto* ip = HeaderAt<Ipv6Header>(p.data());
    ip->SetVersionClassFlow(0, 0);
    ip->payload_length = be16::FromHost(static_cast<uint16_t>(payload.size()));
    ip->next_header = protocol;
    ip->hop_limit = ttl;
    ip->source = from.v6();
    ip->destination = to.v6();
  }
  p.insert(p.end(), payload.begin(), payload.end());
  return p;
}

inline Bytes Udp(const IpAddress& from, const IpAddress& to, size_t data = 32, uint8_t ttl = 64) {
  Bytes u(8 + data, 'u');
  auto* udp = HeaderAt<UdpHeader>(u.data());
  udp->source_port = be16::FromHost(1000);
  udp->destination_port = be16::FromHost(2000);
  udp->length = be16::FromHost(static_cast<uint16_t>(u.size()));
  udp->checksum = be16{};
  const uint32_t n = static_cast<uint32_t>(u.size());
  udp->checksum = UdpChecksum(from.is_v4() ? PseudoHeader(from.v4(), to.v4(), kProtocolUdp, n)
                                           : PseudoHeader(from.v6(), to.v6(), kProtocolUdp, n),
                              u);
  return Packet(from, to, kProtocolUdp, u, ttl);
}

inline Bytes Echo(const IpAddress& from, const IpAddress& to, size_t data = 32) {
  Bytes e(8 + data, 'e');
  auto* icmp = HeaderAt<IcmpHeader>(e.data());
  icmp->type = from.is_v4() ? IcmpHeader::kEchoRequest : Icmpv6Header::kEchoRequest;
  icmp->code = 0;
  icmp->rest = be32::FromHost(0x00070001);
  icmp->checksum = be16{};
  icmp->checksum = from.is_v4() ? InternetChecksum(e) : Icmpv6Checksum(from.v6(), to.v6(), e);
  return Packet(from, to, from.is_v4() ? kProtocolIcmp : kProtocolIcmpv6, e);
}

class SlowPathFixture : public testing::Test {
 protected:
  struct Out {
    InjectHeader header;
    Bytes frame;

    const EthernetHeader* ethernet() const { return HeaderAt<EthernetHeader>(frame.data()); }
    absl::Span<const uint8_t> l3() const { return absl::MakeConstSpan(frame).subspan(14); }
    Bytes l3_bytes() const { return {frame.begin() + 14, frame.end()}; }
    bool is_arp() const { return ethernet()->type == kEtherTypeArp; }
    const Ipv4Header* ip4() const { return HeaderAt<Ipv4Header>(frame.data() + 14); }
    const Ipv6Header* ip6() const { return HeaderAt<Ipv6Header>(frame.data() + 14); }
    const IcmpHeader* icmp4() const { return HeaderAt<IcmpHeader>(frame.data() + 14 + ip4()->header_length()); }
    const Icmpv6Header* icmp6() const { return HeaderAt<Icmpv6Header>(frame.data() + 54); }
    bool is_icmp4() const { return ethernet()->type == kEtherTypeIpv4 && ip4()->protocol == kProtocolIcmp; }
    bool is_icmp6() const { return ethernet()->type == kEtherTypeIpv6 && ip6()->next_header == kProtocolIcmpv6; }
    std::optional<NdMessage> nd() const { return is_icmp6() ? ParseNd(l3(), 40) : std::nullopt; }
  };

  static constexpr NexthopIndex kVia1 = 20, kVia2 = 21, kLocal1 = 22, kLocal2 = 23, kBroadcast1 = 24, kGateway4 = 25,
                                kGateway6 = 26;

  explicit SlowPathFixture(size_t capacity = 4096, size_t ring_bytes = 1 << 20)
      : adjacencies_(capacity), counters_(1), punt_(ring_bytes), inject_(ring_bytes) {
    auto empty = MakeEmptySnapshot(arena_);
    SnapshotBuilder b(arena_, *empty);
    Build(b);
    auto built = b.Finish(1, 1);
    publisher_ = std::make_unique<Publisher>(std::move(empty));
    publisher_->Publish(std::move(built.snapshot), std::move(built.retired));
    slow_path_ = std::make_unique<SlowPath>(*publisher_, counters_.lane(0), adjacencies_,
                                            std::vector<SlowPath::RingPair>{{&punt_, &inject_}});
  }
  ~SlowPathFixture() override {
    ExpectConservation();
    slow_path_.reset();
    publisher_.reset();
  }

  void Build(SnapshotBuilder& b) {
    for (LinkIndex i : {1u, 2u}) {
      LinkEntry link;
      link.index = i;
      link.kind = LinkKind::kPort;
      link.flags =
          LinkEntry::kUp | LinkEntry::kRunning | LinkEntry::kForward4 | LinkEntry::kForward6 | LinkEntry::kIpv6;
      link.port = static_cast<uint16_t>(i - 1);
      link.mtu = 1500;
      link.mac = i == 1 ? kMac1 : kMac2;
      EXPECT_TRUE(b.SetLink(link).ok());
      LinkAddresses addresses;
      addresses.count4 = 1;
      addresses.ipv4[0] = {A(i == 1 ? "10.0.0.1" : "10.0.2.1").v4(), 24, 0};
      addresses.count6 = 2;
      addresses.ipv6[0] = {A(i == 1 ? "2001:db8:10::1" : "2001:db8:12::1").v6(), 64, 0};
      addresses.ipv6[1] = {A(i == 1 ? "fe80::1" : "fe80::2").v6(), 64, 253};
      EXPECT_TRUE(b.SetLinkAddresses(i, addresses).ok());
    }
    SetNexthop(b, kVia1, {.type = RouteType::kUnicast, .flags = Nexthop::kOnLink, .link = 1});
    SetNexthop(b, kVia2, {.type = RouteType::kUnicast, .flags = Nexthop::kOnLink, .link = 2});
    SetNexthop(b, kLocal1, {.type = RouteType::kLocal, .link = 1});
    SetNexthop(b, kLocal2, {.type = RouteType::kLocal, .link = 2});
    SetNexthop(b, kBroadcast1, {.type = RouteType::kBroadcast, .link = 1});
    SetNexthop(b, kGateway4, {.type = RouteType::kUnicast, .link = 2, .gateway = A("10.0.2.50")});
    SetNexthop(b, kGateway6, {.type = RouteType::kUnicast, .link = 2, .gateway = A("2001:db8:12::50")});
    Route(b, kTableLocal, "10.0.0.1/32", kLocal1);
    Route(b, kTableLocal, "10.0.0.255/32", kBroadcast1);
    Route(b, kTableLocal, "10.0.2.1/32", kLocal2);
    Route(b, kTableLocal, "2001:db8:10::1/128", kLocal1);
    Route(b, kTableLocal, "2001:db8:12::1/128", kLocal2);
    Route(b, kTableLocal, "fe80::1/128", kLocal1);
    Route(b, kTableLocal, "fe80::2/128", kLocal2);
    Route(b, kTableMain, "10.0.0.0/24", kVia1);
    Route(b, kTableMain, "10.0.2.0/24", kVia2);
    Route(b, kTableMain, "2001:db8:10::/64", kVia1);
    Route(b, kTableMain, "2001:db8:12::/64", kVia2);
    Route(b, kTableMain, "203.0.113.0/24", kGateway4);
    Route(b, kTableMain, "2001:db8:99::/48", kGateway6);
    Route(b, kTableMain, "198.51.100.0/24", kBlackholeNexthop);
  }
  static void SetNexthop(SnapshotBuilder& b, NexthopIndex i, const Nexthop& n) { EXPECT_TRUE(b.SetNexthop(i, n).ok()); }
  static void Route(SnapshotBuilder& b, uint32_t table, const char* prefix, uint32_t leaf) {
    EXPECT_TRUE(b.SetRoute(table, *IpPrefix::Parse(prefix), leaf).ok());
  }

  bool Punt(PuntHeader header, const Bytes& payload = {}) {
    header.length = static_cast<uint32_t>(payload.size());
    char* at = punt_.Reserve(sizeof header + payload.size());
    if (at == nullptr) return false;
    std::memcpy(at, &header, sizeof header);
    if (!payload.empty()) std::memcpy(at + sizeof header, payload.data(), payload.size());
    punt_.Publish();
    return true;
  }
  static Family FamilyOf(const Bytes& packet) {
    return !packet.empty() && packet[0] >> 4 == 6 ? Family::kIpv6 : Family::kIpv4;
  }
  bool Local(const Bytes& packet, LinkIndex link = 1) {
    return Punt(
        {.kind = PuntKind::kLocal, .family = FamilyOf(packet), .link_in = link, .next_hop = {}, .source_mac = kHostMac},
        packet);
  }
  bool Resolve(const Bytes& packet, const IpAddress& next_hop, LinkIndex link_out = 2) {
    return Punt({.kind = PuntKind::kResolve,
                 .family = FamilyOf(packet),
                 .link_in = 1,
                 .link_out = link_out,
                 .next_hop = next_hop,
                 .source_mac = kHostMac},
                packet);
  }
  bool Error(IcmpErrorKind kind, const Bytes& packet, uint32_t info = 0, uint8_t flags = 0) {
    return Punt({.kind = PuntKind::kError,
                 .error = kind,
                 .family = FamilyOf(packet),
                 .flags = flags,
                 .link_in = 1,
                 .info = info,
                 .next_hop = {},
                 .source_mac = kHostMac},
                packet);
  }
  template <typename Frame>
  void Arp(const Frame& frame, LinkIndex link = 1) {
    Punt({.kind = PuntKind::kArp, .link_in = link, .next_hop = {}, .source_mac = {}},
         Bytes(frame.begin(), frame.end()));
  }
  template <typename Frame>
  void Nd(const Frame& frame, LinkIndex link = 1) {
    Local(Bytes(frame.begin() + 14, frame.end()), link);
  }
  void ArpReplyFrom(const char* address, MacAddress mac, LinkIndex link) {
    ArpMessage request;
    request.sender = A(link == 1 ? "10.0.0.1" : "10.0.2.1").v4();
    request.sender_mac = link == 1 ? kMac1 : kMac2;
    Arp(ArpReply(mac, A(address).v4(), request), link);
  }
  // The neighbours from which tests send, so that answers need no resolution.
  void KnowHosts() {
    EXPECT_TRUE(slow_path_->SetPermanentNeighbor({1, A("10.0.0.2")}, kHostMac).ok());
    EXPECT_TRUE(slow_path_->SetPermanentNeighbor({1, A("2001:db8:10::2")}, kHostMac).ok());
  }

  size_t Round() { return slow_path_->RunOnce(now_); }
  void Pass(Nanos time) {
    for (const Nanos end = now_ + time; now_ < end;) {
      now_ = std::min(end, now_ + 20 * kMillisecond);
      Round();
    }
  }
  std::vector<Out> Take() {
    std::vector<Out> all;
    for (absl::Span<const char> r; !(r = inject_.Front()).empty(); inject_.Pop()) {
      Out& out = all.emplace_back();
      std::memcpy(&out.header, r.data(), sizeof out.header);
      EXPECT_EQ(r.size(), sizeof out.header + out.header.length);
      out.frame.assign(r.begin() + sizeof out.header, r.end());
    }
    return all;
  }
  std::vector<Out> RoundAndTake() {
    Round();
    return Take();
  }
  const LaneTotals& totals() const { return counters_.lane(0).totals; }
  void ExpectConservation() const {
    const Counters::Lane& lane = counters_.lane(0);
    const LaneTotals& t = lane.totals;
    EXPECT_EQ(t.received.Get() + t.generated.Get() + t.handed_in.Get(),
              t.transmitted.Get() + lane.dropped() + t.delivered.Get() + t.absorbed.Get() + t.handed_out.Get() +
                  t.held.Get() - t.held_out.Get());
  }

  Arena arena_;
  AdjacencyTable adjacencies_;  // outlives the publisher
  Counters counters_;
  RecordRing punt_, inject_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<SlowPath> slow_path_;
  Nanos now_ = 1000 * kSecond;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_SLOW_PATH_FIXTURE_H_
