// A small router for tests of the pipeline: two ring devices, a snapshot, a neighbour table, one lane; frames go in as
// bytes and come out as bytes.
//
//   PipelineFixture f;                                  // link 1: 10.0.1.1/24, 2001:db8:1::1/64; link 2: ...2...
//   f.Run(f.Udp("10.0.1.2", "10.0.2.2"));               // through ChoosePipeline()'s level, or f.level
//   f.sent(2)                                           // frames that left by link 2
//   f.punts()                                           // what the slow path would get
//
// Links 1 and 2 are devices. Links 3 to 6 have a port number only: 3 does not forward, 4 is down, 5 is without carrier,
// 6 does not speak IPv6.
//
// Threads: one. EAL must run (StartTestEal).
#ifndef SLUICE_DATAPLANE_WORKER_PIPELINE_FIXTURE_H_
#define SLUICE_DATAPLANE_WORKER_PIPELINE_FIXTURE_H_

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/packet/fixtures.h"
#include "dataplane/snapshot/builder.h"
#include "dataplane/worker/pipeline.h"

namespace sluice {

using Frame = Bytes;

// Once for each process: no huge pages, no devices but those that are made later.
inline void StartTestEal(int megabytes = 256) {
  static const bool started = [megabytes] {
    std::string words[] = {"test",
                           "--no-huge",
                           "--no-pci",
                           "--no-shconf",
                           "--no-telemetry",
                           "--log-level=3",
                           "-l0",
                           "-m",
                           std::to_string(megabytes)};
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    // Another part of the process may have been first.
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0 && rte_errno != EALREADY) std::abort();
    return true;
  }();
  (void)started;
}

// What a test process shares, since DPDK names devices and pools globally.
struct TestDevices {
  rte_mempool* pool;
  rte_ring* out[3] = {};  // by port number 1, 2
  uint16_t port[3] = {};

  static TestDevices& Get() {
    static TestDevices* devices = [] {
      StartTestEal();
      auto* d = new TestDevices;
      d->pool = rte_pktmbuf_pool_create("test", 4095, 0, 0, 4096, SOCKET_ID_ANY);
      for (int i = 1; i <= 2; ++i) {
        const std::string name = "out" + std::to_string(i);
        d->out[i] = rte_ring_create(name.c_str(), 2048, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        const int port = rte_eth_from_rings(name.c_str(), &d->out[i], 1, &d->out[i], 1, 0);
        rte_eth_conf conf = {};
        if (d->pool == nullptr || port < 0 || rte_eth_dev_configure(static_cast<uint16_t>(port), 1, 1, &conf) != 0 ||
            rte_eth_rx_queue_setup(static_cast<uint16_t>(port), 0, 64, SOCKET_ID_ANY, nullptr, d->pool) != 0 ||
            rte_eth_tx_queue_setup(static_cast<uint16_t>(port), 0, 64, SOCKET_ID_ANY, nullptr) != 0 ||
            rte_eth_dev_start(static_cast<uint16_t>(port)) != 0) {
          std::abort();
        }
        d->port[i] = static_cast<uint16_t>(port);
      }
      return d;
    }();
    return *devices;
  }
};

struct Punted {
  PuntHeader header;
  Frame payload;
};

class PipelineFixture {
 public:
  static MacAddress PortMac(int i) { return *MacAddress::Parse("02:00:00:00:00:0" + std::to_string(i)); }
  static MacAddress HostMac(int i) { return *MacAddress::Parse("02:00:00:00:01:0" + std::to_string(i)); }
  static constexpr NexthopIndex kVia2 = 20, kOnLink1 = 21, kOnLink2 = 22, kLocal1 = 23, kLocal2 = 24, kBroadcast1 = 25,
                                kBroadcast2 = 26, kNarrow = 27, kUnresolved = 28, kVia2V6 = 29, kDown = 30,
                                kNoCarrier = 31, kTiny = 32;
  static constexpr uint8_t kBoth = LinkEntry::kForward4 | LinkEntry::kForward6;
  static constexpr LinkIndex kNotForwarding = 3, kLinkDown = 4, kLinkNoCarrier = 5, kLinkNoIpv6 = 6;

  PipelineFixture() : devices(TestDevices::Get()), counters(1), ring(1 << 20), snapshot_(MakeEmptySnapshot(arena)) {
    plan.pool = devices.pool;
    for (int i = 1; i <= 2; ++i) plan.tx[devices.port[i]] = {0, 0};
    Change([&](SnapshotBuilder& b) {
      constexpr uint8_t kUp = LinkEntry::kUp | LinkEntry::kRunning;
      constexpr uint8_t kAll = kUp | kBoth | LinkEntry::kIpv6;
      constexpr uint8_t kFlags[] = {0,
                                    kAll,
                                    kAll,
                                    kUp | LinkEntry::kIpv6,
                                    kAll & ~LinkEntry::kUp,
                                    kAll & ~LinkEntry::kRunning,
                                    kAll & ~(LinkEntry::kIpv6 | LinkEntry::kForward6)};
      for (int i = 1; i <= 6; ++i) {
        LinkEntry link;
        link.index = static_cast<LinkIndex>(i);
        link.kind = LinkKind::kPort;
        link.flags = kFlags[i];
        link.port = i <= 2 ? devices.port[i] : static_cast<uint16_t>(20 + i);
        link.mtu = 1500;
        link.mac = PortMac(i);
        link.rx_cell = *counters.AllocateCell();
        link.tx_cell = *counters.AllocateCell();
        Ok(b.SetLink(link));
        LinkAddresses own;
        own.count4 = 1;
        own.ipv4[0] = {V4("10.0." + std::to_string(i) + ".1"), 24, 0};
        own.count6 = 2;
        own.ipv6[0] = {V6("2001:db8:" + std::to_string(i) + "::1"), 64, 0};
        own.ipv6[1] = {V6("fe80::" + std::to_string(i)), 64, 253};
        Ok(b.SetLinkAddresses(link.index, own));
      }
      const IpAddress gateway = A("10.0.2.2"), gateway6 = A("2001:db8:2::2");
      Ok(b.SetNexthop(kVia2, Unicast(2, gateway, Neighbor(2, gateway, HostMac(2)))));
      Ok(b.SetNexthop(kVia2V6, Unicast(2, gateway6, Neighbor(2, gateway6, HostMac(2)))));
      Nexthop narrow = Unicast(2, gateway, Neighbor(2, gateway, HostMac(2)));
      narrow.mtu = 600;
      Ok(b.SetNexthop(kNarrow, narrow));
      narrow.mtu = 24;
      Ok(b.SetNexthop(kTiny, narrow));
      Ok(b.SetNexthop(kDown, Unicast(kLinkDown, gateway, narrow.adjacency)));
      Ok(b.SetNexthop(kNoCarrier, Unicast(kLinkNoCarrier, gateway, narrow.adjacency)));
      Ok(b.SetNexthop(kUnresolved, Unicast(2, A("10.0.2.9"), *adjacencies.Acquire({2, A("10.0.2.9")}))));
      Neighbor(1, A("10.0.1.2"), HostMac(1));
      Neighbor(1, A("2001:db8:1::2"), HostMac(1));
      Ok(b.SetNexthop(kOnLink1, OnLink(1)));
      Ok(b.SetNexthop(kOnLink2, OnLink(2)));
      Ok(b.SetNexthop(kLocal1, {.type = RouteType::kLocal, .link = 1}));
      Ok(b.SetNexthop(kLocal2, {.type = RouteType::kLocal, .link = 2}));
      Ok(b.SetNexthop(kBroadcast1, {.type = RouteType::kBroadcast, .link = 1}));
      Ok(b.SetNexthop(kBroadcast2, {.type = RouteType::kBroadcast, .link = 2}));
      const struct {
        uint32_t table;
        const char* prefix;
        uint32_t leaf;
      } kRoutes[] = {
          {kTableLocal, "10.0.1.1/32", kLocal1},
          {kTableLocal, "10.0.2.1/32", kLocal2},
          {kTableLocal, "10.0.1.255/32", kBroadcast1},
          {kTableLocal, "10.0.2.255/32", kBroadcast2},
          {kTableMain, "10.0.1.0/24", kOnLink1},
          {kTableMain, "10.0.2.0/24", kOnLink2},
          {kTableMain, "198.18.0.0/16", kVia2},
          {kTableMain, "198.19.0.0/16", kNarrow},
          {kTableMain, "198.20.0.0/16", kUnresolved},
          {kTableMain, "198.21.0.0/16", kDown},
          {kTableMain, "198.22.0.0/16", kNoCarrier},
          {kTableMain, "198.23.0.0/16", kTiny},
          {kTableMain, "198.24.0.0/16", 99},  // a nexthop that is not there
          {kTableMain, "203.0.113.0/26", kBlackholeNexthop},
          {kTableMain, "203.0.113.64/26", kUnreachableNexthop},
          {kTableMain, "203.0.113.128/26", kProhibitNexthop},
          {kTableMain, "203.0.113.192/26", kThrowNexthop},
          {kTableLocal, "2001:db8:1::1/128", kLocal1},
          {kTableLocal, "2001:db8:2::1/128", kLocal2},
          {kTableMain, "2001:db8:1::/64", kOnLink1},
          {kTableMain, "2001:db8:2::/64", kOnLink2},
          {kTableMain, "2001:db8:18::/48", kVia2V6},
          {kTableMain, "2001:db8:bad::/48", kBlackholeNexthop},
          {kTableMain, "2001:db8:bae::/48", kUnreachableNexthop},
          {kTableMain, "2001:db8:baf::/48", kProhibitNexthop},
      };
      for (const auto& r : kRoutes) Ok(b.SetRoute(r.table, *IpPrefix::Parse(r.prefix), r.leaf));
    });
    context = std::make_unique<WorkerContext>(WorkerContext::Options{.worker = 0,
                                                                     .adjacencies = &adjacencies,
                                                                     .lane = &counters.lane(0),
                                                                     .to_slow_path = &ring,
                                                                     .outboxes = {nullptr}});
    context->UsePlan(&plan);
    context->PoisonFreedFrames();
    Drain();
  }

  template <typename F>
  void Change(F f) {
    SnapshotBuilder builder(arena, *snapshot_);
    f(builder);
    auto built = builder.Finish(snapshot_->epoch + 1, snapshot_->generation + 1);
    snapshot_ = std::move(built.snapshot);
    built.retired.Free();
  }
  void Run(const std::vector<Frame>& frames, LinkIndex link = 1) {
    std::vector<rte_mbuf*> packets;
    for (const Frame& frame : frames) packets.push_back(Make(frame));
    RunPackets(packets, link);
  }
  void RunPackets(std::vector<rte_mbuf*> packets, LinkIndex link = 1) {
    for (size_t at = 0; at < packets.size(); at += kBurst) {
      const uint32_t n = static_cast<uint32_t>(packets.size() - at < kBurst ? packets.size() - at : kBurst);
      level->entries->process(*context, *snapshot_, snapshot_->link(link).port, packets.data() + at, n);
    }
    context->Flush();
    Drain();
  }
  void Run(const Frame& frame, LinkIndex link = 1) { Run(std::vector<Frame>{frame}, link); }

  rte_mbuf* Make(const Frame& frame) {
    rte_mbuf* m = rte_pktmbuf_alloc(devices.pool);
    context->Received(&m, 1);
    std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
    return m;
  }
  // A frame from the host behind `link` to the router.
  static Frame Packet(const Bytes& l3, LinkIndex link = 1) {
    return BuildFrame(l3, l3[0] >> 4 == 4 ? kEtherTypeIpv4 : kEtherTypeIpv6, PortMac(static_cast<int>(link)),
                      HostMac(static_cast<int>(link)));
  }
  // `length`: L3 bytes of an IPv4 packet; an IPv6 packet has 20 more.
  static Frame Udp(const char* source, const char* destination, uint32_t length = 46, uint8_t ttl = 64, bool df = false,
                   LinkIndex link = 1) {
    const Bytes data = Pattern(length - Ipv4Header::kMinSize - UdpHeader::kSize);
    if (A(source).is_v4()) {
      return Packet(BuildIpv4({.source = source,
                               .destination = destination,
                               .ttl = ttl,
                               .fragment = static_cast<uint16_t>(df ? Ipv4Header::kDontFragment : 0),
                               .payload = BuildUdp4(source, destination, 1000, 2000, data)}),
                    link);
    }
    return Packet(BuildIpv6({.source = source,
                             .destination = destination,
                             .hop_limit = ttl,
                             .payload = BuildUdp6(source, destination, 1000, 2000, data)}),
                  link);
  }

  std::vector<Frame>& sent(int port) { return sent_[port]; }
  std::vector<Punted>& punts() { return punts_; }
  const Counters::Lane& lane() const { return counters.lane(0); }
  const Snapshot& snapshot() const { return *snapshot_; }
  // The law of cells/counters.h.
  bool Conserved() const {
    const LaneTotals& t = lane().totals;
    return t.received.Get() + t.generated.Get() + t.handed_in.Get() ==
           t.transmitted.Get() + lane().dropped() + t.delivered.Get() + t.absorbed.Get() + t.handed_out.Get();
  }
  static IpAddress A(const char* text) { return *IpAddress::Parse(text); }

  TestDevices& devices;
  Arena arena;
  Counters counters;
  AdjacencyTable adjacencies;
  RecordRing ring;
  QueuePlan plan;
  const PipelineLevel* level = *ChoosePipeline();
  std::unique_ptr<WorkerContext> context;

 private:
  static void Ok(const absl::Status& status) {
    if (!status.ok()) std::abort();
  }
  AdjacencyIndex Neighbor(LinkIndex link, const IpAddress& address, MacAddress mac) {
    const AdjacencyIndex index = *adjacencies.Acquire({link, address});
    adjacencies.Write(index, mac, /*usable=*/true, /*report=*/false);
    return index;
  }
  Nexthop Unicast(LinkIndex link, const IpAddress& gateway, AdjacencyIndex adjacency) {
    return {.type = RouteType::kUnicast,
            .link = link,
            .adjacency = adjacency,
            .cell = *counters.AllocateCell(),
            .gateway = gateway};
  }
  Nexthop OnLink(LinkIndex link) {
    return {.type = RouteType::kUnicast, .flags = Nexthop::kOnLink, .link = link, .cell = *counters.AllocateCell()};
  }
  void Drain() {
    for (int i = 1; i <= 2; ++i) {
      void* object;
      while (rte_ring_sc_dequeue(devices.out[i], &object) == 0) {
        auto* m = static_cast<rte_mbuf*>(object);
        Frame frame(m->pkt_len);
        const void* bytes = rte_pktmbuf_read(m, 0, m->pkt_len, frame.data());
        if (bytes != frame.data()) std::memcpy(frame.data(), bytes, frame.size());
        sent_[i].push_back(std::move(frame));
        rte_pktmbuf_free(m);
      }
    }
    for (absl::Span<const char> r = ring.Front(); !r.empty(); ring.Pop(), r = ring.Front()) {
      Punted p;
      std::memcpy(&p.header, r.data(), sizeof p.header);
      p.payload.assign(r.begin() + sizeof p.header, r.end());
      punts_.push_back(std::move(p));
    }
  }

  std::unique_ptr<Snapshot> snapshot_;
  std::vector<Frame> sent_[3];
  std::vector<Punted> punts_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_PIPELINE_FIXTURE_H_
