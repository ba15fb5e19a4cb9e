#include "dataplane/port/device.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/packet_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Message(const absl::StatusOr<std::unique_ptr<Port>>& port) { return std::string(port.status().message()); }

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

// Until `n` frames have come to queue 0, or two seconds have passed.
std::vector<rte_mbuf*> Receive(const Port& port, size_t n) {
  std::vector<rte_mbuf*> got;
  const absl::Time deadline = absl::Now() + absl::Seconds(2);
  while (got.size() < n && absl::Now() < deadline) {
    for (uint16_t q = 0; q < port.rx_queues(); ++q) {
      rte_mbuf* burst[32];
      const uint16_t k = rte_eth_rx_burst(port.id(), q, burst, 32);
      got.insert(got.end(), burst, burst + k);
    }
  }
  return got;
}

rte_mbuf* Frame(rte_mempool* pool, uint16_t bytes, uint8_t fill) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool);
  char* data = m == nullptr ? nullptr : rte_pktmbuf_append(m, bytes);
  if (data == nullptr) std::abort();
  std::memset(data, fill, bytes);
  std::memset(data, 0xff, 6);          // to everybody
  std::memset(data + 6, 0x02, 6);      // from a local address
  data[12] = static_cast<char>(0x88);  // local experimental EtherType (IEEE 802)
  data[13] = static_cast<char>(0xb5);
  return m;
}

TEST(Eal, TakesNoDeviceAndLeavesTheAffinityAlone) {
  EXPECT_EQ(rte_eth_dev_count_avail(), 0);
  EXPECT_FALSE(EalUsesHugePages());
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(StartEal({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Eal, SettlesWhatTheUserLeftOpen) {
  EalOptions options;
  options.control_cpus = {3};
  EXPECT_THAT(*EalArguments(options, true),
              testing::ElementsAre("--in-memory", "--lcores", "0@(3)", "-a", testing::_, "--no-telemetry"));
  EXPECT_THAT(*EalArguments(options, false), testing::ElementsAre("--no-huge", "--no-shconf", "-m", "1024", "--lcores",
                                                                  "0@(3)", "-a", testing::_, "--no-telemetry"));
  options.args = {"-l1-2", "--allow=0000:03:00.1", "--file-prefix", "pod7", "--telemetry"};
  EXPECT_EQ(*EalArguments(options, true), options.args);
  options.args = {"--no-huge", "-m", "64", "--no-pci", "-l", "0"};
  EXPECT_THAT(*EalArguments(options, true),
              testing::ElementsAre("--no-huge", "-m", "64", "--no-pci", "-l", "0", "--no-shconf", "--no-telemetry"));
  options.args = {"--help"};
  EXPECT_FALSE(EalArguments(options, true).ok());
}

TEST(Eal, SplitsArgumentsAtBlanksOutsideOfQuotes) {
  EXPECT_THAT(*SplitEalArguments("  -l 1,2\t--vdev 'net_null0,size=64' \"a b\"c '' "),
              testing::ElementsAre("-l", "1,2", "--vdev", "net_null0,size=64", "a bc", ""));
  EXPECT_THAT(*SplitEalArguments(""), testing::IsEmpty());
  EXPECT_FALSE(SplitEalArguments("--vdev 'net_null0").ok());
}

TEST(Port, OpensANullDeviceWithTheQueuesAskedFor) {
  auto port = Port::Open({.name = "p0", .devargs = "net_null0,copy=0,size=60", .rx_queues = 2, .tx_queues = 3});
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_EQ((*port)->identity().device, "net_null0");
  EXPECT_EQ((*port)->identity().driver, "net_null");
  EXPECT_EQ((*port)->identity().pci_address, "");
  EXPECT_EQ((*port)->rx_queues(), 2);
  EXPECT_EQ((*port)->tx_queues(), 3);
  EXPECT_FALSE((*port)->mac().IsZero());
  EXPECT_EQ((*port)->mtu(), 1500u);
  EXPECT_FALSE((*port)->link().up);
  ASSERT_TRUE((*port)->Start().ok());
  EXPECT_TRUE((*port)->link().up);
  rte_mbuf* burst[32];
  ASSERT_EQ(rte_eth_rx_burst((*port)->id(), 1, burst, 32), 32);
  EXPECT_EQ(burst[0]->pool, (*port)->pool());
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 2, burst, 32), 32);
  EXPECT_EQ((*port)->stats().rx_packets, 32u);
  EXPECT_EQ((*port)->stats().tx_packets, 32u);
  EXPECT_FALSE((*port)->xstats().empty());
  (*port)->Stop();
  EXPECT_FALSE((*port)->link().up);
  ASSERT_TRUE((*port)->Start().ok());
  EXPECT_TRUE((*port)->link().up);
}

TEST(Port, ErrorsNamePortDeviceAndReason) {
  auto held = Port::Open({.name = "p0", .devargs = "net_null0"});
  ASSERT_TRUE(held.ok()) << held.status();
  const auto refused = [](PortOptions options) { return Port::Open(options); };

  auto twice = refused({.name = "p1", .devargs = "net_null0"});
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Message(twice), AllOf(HasSubstr("port p1 (net_null0)"), HasSubstr("in use")));

  auto missing = refused({.name = "p1", .devargs = "iface:nosuch0"});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing), AllOf(HasSubstr("port p1 (iface:nosuch0)"), HasSubstr("no interface 'nosuch0'")));

  for (const char* pci : {"0000:ff:1e.6", "ff:1e.6"}) {
    auto absent = refused({.name = "p1", .devargs = pci});
    EXPECT_EQ(absent.status().code(), absl::StatusCode::kNotFound) << absent.status();
    EXPECT_THAT(Message(absent), HasSubstr("no such PCI device"));
  }

  auto file = refused({.name = "p1", .devargs = "net_pcap7,rx_pcap=/nonexistent/x.pcap,tx_iface=lo"});
  EXPECT_FALSE(file.ok());
  EXPECT_THAT(Message(file), AllOf(HasSubstr("net_pcap7"), HasSubstr("/nonexistent/x.pcap")));

  for (const std::string& bad :
       {std::string(), std::string("nonsense"), std::string("net_nosuchdriver0"), std::string("iface:"),
        std::string("iface:a,b=c"), std::string("iface:0123456789abcdef"), std::string("iface:."),
        std::string(5000, 'x'), std::string("net_null1\0x", 11), std::string("net_null1,size=-"),
        std::string("crypto_null0"), std::string("iface:lo"), std::string(200, ','), std::string("=,[]")}) {
    auto got = refused({.name = "p1", .devargs = bad});
    EXPECT_FALSE(got.ok()) << bad;
    EXPECT_THAT(Message(got), HasSubstr("port p1 ("));
  }
  for (uint32_t mtu : {0u, 67u, 65536u, 4294967295u}) {
    auto got = refused({.name = "p1", .devargs = "net_null1", .mtu = mtu});
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(got), HasSubstr("MTU"));
  }
  auto group = refused({.name = "p1", .devargs = "net_null1", .mac = *MacAddress::Parse("01:00:5e:00:00:01")});
  EXPECT_EQ(group.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(rte_eth_dev_count_avail(), 1) << "nothing is left open";
  auto after = Port::Open({.name = "p1", .devargs = "net_null1"});
  EXPECT_TRUE(after.ok()) << after.status();
}

TEST(Port, AnMtuBeyondItsBuffersNeedsAStop) {
  auto port = Port::Open({.name = "p0", .devargs = "net_null0", .mtu = 1400});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  EXPECT_TRUE((*port)->SetMtu(1500).ok());
  EXPECT_EQ((*port)->mtu(), 1500u);
  EXPECT_EQ((*port)->SetMtu(9000).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*port)->SetMtu(67).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*port)->mtu(), 1500u);
  (*port)->Stop();
  EXPECT_TRUE((*port)->SetMtu(9000).ok());
  EXPECT_GE(rte_pktmbuf_data_room_size((*port)->pool()), 9000 + 14 + RTE_PKTMBUF_HEADROOM);
  EXPECT_TRUE((*port)->Start().ok());
  auto jumbo = Port::Open({.name = "p1", .devargs = "net_null1", .mtu = 9000});
  ASSERT_TRUE(jumbo.ok()) << jumbo.status();
  EXPECT_GE(rte_pktmbuf_data_room_size((*jumbo)->pool()), 9000 + 14 + RTE_PKTMBUF_HEADROOM);
}

TEST(Port, ARingGetsAnAddressAndCarriesFrames) {
  auto port = Port::Open({.name = "p0", .devargs = "net_ring1"});
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_FALSE((*port)->mac().IsZero());
  EXPECT_FALSE((*port)->mac().IsMulticast());
  ASSERT_TRUE((*port)->SetMac(*MacAddress::Parse("02:00:00:00:00:07")).ok());
  EXPECT_EQ((*port)->mac().ToString(), "02:00:00:00:00:07");
  EXPECT_FALSE((*port)->SetMac(MacAddress{}).ok());
  ASSERT_TRUE((*port)->Start().ok());
  rte_mbuf* m = Frame((*port)->pool(), 100, 7);
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, &m, 1), 1);
  const std::vector<rte_mbuf*> got = Receive(**port, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(rte_pktmbuf_pkt_len(got[0]), 100u);
  rte_pktmbuf_free(got[0]);
}

TEST(Port, PcapFilesGoInAndOut) {
  const std::string in = absl::StrCat(testing::TempDir(), "/sluice_device_test_in.pcap");
  const std::string out = absl::StrCat(testing::TempDir(), "/sluice_device_test_out.pcap");
  const auto u32 = [](uint32_t v) { return std::string(reinterpret_cast<const char*>(&v), 4); };
  {
    // One frame of 64 bytes (libpcap's file format, link type Ethernet).
    std::ofstream file(in, std::ios::binary);
    file << u32(0xa1b2c3d4) << u32(0x00040002) << u32(0) << u32(0) << u32(65535) << u32(1);
    file << u32(0) << u32(0) << u32(64) << u32(64) << std::string(64, 'x');
  }
  {
    auto port = Port::Open({.name = "p0",
                            .devargs = absl::StrCat("net_pcap0,rx_pcap=", in, ",tx_pcap=", out),
                            .rx_queues = 4,
                            .tx_queues = 4});
    ASSERT_TRUE(port.ok()) << port.status();
    EXPECT_EQ((*port)->rx_queues(), 1) << "as many as the device has";
    EXPECT_EQ((*port)->tx_queues(), 1);
    ASSERT_TRUE((*port)->Start().ok());
    std::vector<rte_mbuf*> got = Receive(**port, 1);
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, got.data(), 1), 1);
  }
  std::ifstream written(out, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(written)), std::istreambuf_iterator<char>());
  EXPECT_EQ(bytes.size(), 24u + 16 + 64);
  EXPECT_THAT(bytes, HasSubstr(std::string(64, 'x')));
  unlink(in.c_str());
  unlink(out.c_str());
}

TEST(Port, OpenedAgainAndAgainPoolsStayFew) {
  auto first = Port::Open({.name = "p", .devargs = "net_null0"});
  ASSERT_TRUE(first.ok()) << first.status();
  first->reset();
  const size_t pools = PacketPools::Global().pools();
  for (int i = 0; i < 200; ++i) {
    auto port = Port::Open({.name = "p", .devargs = "net_null0"});
    ASSERT_TRUE(port.ok()) << port.status();
    ASSERT_TRUE((*port)->Start().ok());
  }
  EXPECT_EQ(PacketPools::Global().pools(), pools);
  EXPECT_THAT(PacketPools::Global().Use(), testing::IsEmpty());
}

// A frame that outlives its port: it comes home to a pool that is still there.
TEST(Port, BuffersMayOutliveThePort) {
  auto port = Port::Open({.name = "p", .devargs = "net_null0"});
  ASSERT_TRUE(port.ok()) << port.status();
  rte_mbuf* m = Frame((*port)->pool(), 64, 1);
  port->reset();
  EXPECT_EQ(rte_pktmbuf_pkt_len(m), 64u);
  rte_pktmbuf_free(m);
}

class VethTest : public testing::Test {
 protected:
  void SetUp() override {
    Shell("ip link add sl0 type veth peer name sl1");
    Shell("ip link set sl1 up");
    peer_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(0x88b5));
    ASSERT_GE(peer_, 0);
    sockaddr_ll at = {};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(0x88b5);
    at.sll_ifindex = static_cast<int>(if_nametoindex("sl1"));
    ASSERT_EQ(bind(peer_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  void TearDown() override {
    close(peer_);
    Shell("ip link del sl0");
  }
  // Frames of our EtherType only; the kernel says other things on the link.
  size_t ReceiveOurs(const Port& port, size_t n, size_t bytes) {
    size_t ours = 0;
    const absl::Time deadline = absl::Now() + absl::Seconds(2);
    while (ours < n && absl::Now() < deadline) {
      for (rte_mbuf* m : Receive(port, 1)) {
        const uint8_t* data = rte_pktmbuf_mtod(m, const uint8_t*);
        if (data[12] == 0x88 && data[13] == 0xb5 && rte_pktmbuf_pkt_len(m) == bytes) ++ours;
        rte_pktmbuf_free(m);
      }
    }
    return ours;
  }
  // The kernel drops what is sent before.
  void AwaitCarrier(const Port& port) {
    for (int i = 0; i < 500 && !port.link().up; ++i) absl::SleepFor(absl::Milliseconds(10));
    ASSERT_TRUE(port.link().up);
  }
  std::string PeerFrame(size_t bytes) {
    std::string frame(bytes, 'p');
    std::memset(frame.data(), 0xff, 6);
    std::memset(frame.data() + 6, 0x02, 6);
    frame[12] = static_cast<char>(0x88);
    frame[13] = static_cast<char>(0xb5);
    return frame;
  }
  int peer_ = -1;
};

TEST_F(VethTest, AKernelInterfaceIsBroughtUpAndCarriesFramesBothWays) {
  auto port = Port::Open({.name = "p0", .devargs = "iface:sl0"});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  EXPECT_EQ((*port)->identity().driver, "packet_socket");
  EXPECT_EQ((*port)->identity().device, "iface:sl0");
  EXPECT_EQ(Port::Open({.name = "p1", .devargs = "iface:sl0"}).status().code(), absl::StatusCode::kAlreadyExists);
  AwaitCarrier(**port);
  EXPECT_EQ((*port)->link().speed_mbps, 10000u) << "as veth says";

  rte_mbuf* m = Frame((*port)->pool(), 1514, 7);
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, &m, 1), 1);
  char buffer[4096];
  ssize_t n = -1;
  for (int i = 0; i < 200 && n < 0; ++i) {
    n = recv(peer_, buffer, sizeof buffer, 0);
    if (n < 0) absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(n, 1514);

  // A burst that comes while nobody looks is all there afterwards.
  const std::string frame = PeerFrame(60);
  for (int i = 0; i < 512; ++i) ASSERT_EQ(send(peer_, frame.data(), frame.size(), 0), 60);
  EXPECT_EQ(ReceiveOurs(**port, 512, 60), 512u);

  Shell("ip link set sl1 down");
  for (int i = 0; i < 500 && (*port)->link().up; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE((*port)->link().up) << "the carrier is gone";
}

TEST_F(VethTest, AKernelInterfaceTakesMtuAndMac) {
  Shell("ip link set sl1 mtu 9000");
  auto port =
      Port::Open({.name = "p0", .devargs = "iface:sl0", .mtu = 9000, .mac = *MacAddress::Parse("02:11:22:33:44:55")});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  AwaitCarrier(**port);
  Shell("ip link show sl0 | grep -q 'mtu 9000'");
  Shell("ip link show sl0 | grep -q 02:11:22:33:44:55");
  const std::string frame = PeerFrame(9014);
  ASSERT_EQ(send(peer_, frame.data(), frame.size(), 0), 9014);
  EXPECT_EQ(ReceiveOurs(**port, 1, 9014), 1u);
  EXPECT_GE((*port)->max_mtu(), 9000u);
  EXPECT_TRUE((*port)->SetMtu(1280).ok());
  Shell("ip link show sl0 | grep -q 'mtu 1280'");
  EXPECT_EQ((*port)->SetMtu(40000).code(), absl::StatusCode::kUnavailable);
}

TEST_F(VethTest, SeveralQueuesShareAKernelInterface) {
  auto port = Port::Open({.name = "p0", .devargs = "iface:sl0", .rx_queues = 2, .tx_queues = 2});
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_EQ((*port)->rx_queues(), 2);
  ASSERT_TRUE((*port)->Start().ok());
  AwaitCarrier(**port);
  const std::string frame = PeerFrame(60);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(send(peer_, frame.data(), frame.size(), 0), 60);
  EXPECT_EQ(ReceiveOurs(**port, 64, 60), 64u) << "once each, whichever queue it came to";
  for (uint16_t q = 0; q < 2; ++q) {
    rte_mbuf* m = Frame((*port)->pool(), 60, 1);
    EXPECT_EQ(rte_eth_tx_burst((*port)->id(), q, &m, 1), 1);
  }
}

// What the kernel would put together or leave unfinished comes as it was sent.
TEST_F(VethTest, FragmentsStayFragmentsAndChecksumsAreFinished) {
  for (const uint16_t queues : {1, 2}) {
    auto port = Port::Open({.name = "p0", .devargs = "iface:sl0", .rx_queues = queues, .tx_queues = queues});
    ASSERT_TRUE(port.ok()) << port.status();
    ASSERT_TRUE((*port)->Start().ok());
    AwaitCarrier(**port);
    Shell("ip addr replace 10.9.9.1/24 dev sl1 && ip neigh replace 10.9.9.2 lladdr 02:00:00:00:00:99 dev sl1");
    // UDP of 3,000 bytes from the kernel at the other end: three fragments; and one of 100, whose checksum veth leaves
    // to us.
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    inet_pton(AF_INET, "10.9.9.2", &to.sin_addr);
    const std::string payload(3000, 'u');
    ASSERT_EQ(sendto(udp, payload.data(), 3000, 0, reinterpret_cast<sockaddr*>(&to), sizeof to), 3000);
    ASSERT_EQ(sendto(udp, payload.data(), 100, 0, reinterpret_cast<sockaddr*>(&to), sizeof to), 100);
    close(udp);
    size_t fragments = 0, whole = 0;
    const absl::Time deadline = absl::Now() + absl::Seconds(2);
    while (fragments + whole < 4 && absl::Now() < deadline) {
      for (rte_mbuf* m : Receive(**port, 1)) {
        auto* ip = rte_pktmbuf_mtod_offset(m, rte_ipv4_hdr*, 14);
        if (rte_pktmbuf_mtod(m, const uint8_t*)[12] == 0x08 && ip->next_proto_id == IPPROTO_UDP) {
          EXPECT_LE(rte_pktmbuf_pkt_len(m), 1514u);
          if ((ip->fragment_offset & htons(0x3fff)) != 0) {
            ++fragments;
          } else {
            ++whole;
            auto* udp_header = reinterpret_cast<rte_udp_hdr*>(ip + 1);
            const uint16_t stated = udp_header->dgram_cksum;
            udp_header->dgram_cksum = 0;
            EXPECT_EQ(stated, rte_ipv4_udptcp_cksum(ip, udp_header));
          }
        }
        rte_pktmbuf_free(m);
      }
    }
    EXPECT_EQ(fragments, 3u);
    EXPECT_EQ(whole, 1u);
  }
}

TEST_F(VethTest, AVlanTagIsWhereItWas) {
  auto port = Port::Open({.name = "p0", .devargs = "iface:sl0"});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  AwaitCarrier(**port);
  std::string frame = PeerFrame(100);
  const uint8_t tag[] = {0x81, 0x00, 0x20, 0x07};  // 802.1Q, priority 1, VLAN 7
  frame.insert(12, reinterpret_cast<const char*>(tag), sizeof tag);
  ASSERT_EQ(send(peer_, frame.data(), frame.size(), 0), 104);
  std::vector<rte_mbuf*> got;
  for (int i = 0; i < 100 && got.empty(); ++i) {
    for (rte_mbuf* m : Receive(**port, 1)) {
      if (rte_pktmbuf_pkt_len(m) == 104 && std::memcmp(rte_pktmbuf_mtod(m, void*), frame.data(), 104) == 0) {
        got.push_back(m);
      } else {
        rte_pktmbuf_free(m);
      }
    }
  }
  ASSERT_EQ(got.size(), 1u);
  // And the other way.
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, got.data(), 1), 1);
  EXPECT_EQ((*port)->stats().tx_packets, 1u);
}

TEST_F(VethTest, ACommonPortSeesNothingOfWhatItSendsAndCountsWhatCannotGo) {
  auto port = Port::Open({.name = "p0", .devargs = "iface:sl0", .rx_queues = 2, .tx_queues = 2});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  AwaitCarrier(**port);
  std::vector<rte_mbuf*> frames;
  for (int i = 0; i < 100; ++i) frames.push_back(Frame((*port)->pool(), 60, 1));
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 1, frames.data(), 100), 100);
  EXPECT_EQ((*port)->stats().tx_packets, 100u);
  EXPECT_EQ((*port)->stats().tx_bytes, 6000u);
  EXPECT_EQ(ReceiveOurs(**port, 1, 60), 0u);
  rte_mbuf* mixed[3] = {Frame((*port)->pool(), 60, 1), Frame((*port)->pool(), 1600, 1), Frame((*port)->pool(), 60, 1)};
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, mixed, 3), 3);
  EXPECT_EQ((*port)->stats().tx_packets, 102u) << "the one that is too long does not stop the next";
  EXPECT_EQ((*port)->stats().tx_errors, 1u);
  Shell("ip link set sl0 down");
  rte_mbuf* late = Frame((*port)->pool(), 60, 1);
  ASSERT_EQ(rte_eth_tx_burst((*port)->id(), 0, &late, 1), 1);
  EXPECT_EQ((*port)->stats().tx_drops, 1u);
  Shell("ip link set sl0 up");
  AwaitCarrier(**port);
  const std::string frame = PeerFrame(60);
  ASSERT_EQ(send(peer_, frame.data(), frame.size(), 0), 60);
  EXPECT_EQ(ReceiveOurs(**port, 1, 60), 1u) << "it works again";
}

TEST_F(VethTest, AnInterfaceThatGoesAwayIsAPortThatIsDown) {
  Shell("ip link add sl2 type veth peer name sl3 && ip link set sl3 up");
  auto port = Port::Open({.name = "p0", .devargs = "iface:sl2"});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_TRUE((*port)->Start().ok());
  AwaitCarrier(**port);
  Shell("ip link del sl2");
  EXPECT_FALSE((*port)->link().up);
  rte_mbuf* m = Frame((*port)->pool(), 60, 1);
  EXPECT_EQ(rte_eth_tx_burst((*port)->id(), 0, &m, 1), 1);
  EXPECT_EQ((*port)->stats().tx_drops, 1u);
  // What had come before is still there; then there is nothing.
  for (int i = 0; i < 100 && rte_eth_rx_burst((*port)->id(), 0, &m, 1) == 1; ++i) rte_pktmbuf_free(m);
  EXPECT_EQ(rte_eth_rx_burst((*port)->id(), 0, &m, 1), 0);
  EXPECT_FALSE((*port)->SetMtu(1400).ok());
}

TEST_F(VethTest, ReopeningTheSameInterfaceWorks) {
  for (int i = 0; i < 20; ++i) {
    auto port = Port::Open({.name = "p0", .devargs = "iface:sl0"});
    ASSERT_TRUE(port.ok()) << port.status();
    ASSERT_TRUE((*port)->Start().ok());
  }
}

}  // namespace
}  // namespace sluice
