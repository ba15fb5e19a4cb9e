#include "dataplane/port/device.h"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/packet_pool.h"
#include "dataplane/snapshot/snapshot.h"

namespace sluice {
namespace {

constexpr uint32_t kMinMtu = 68;         // RFC 791
constexpr uint32_t kFrameOverhead = 26;  // Ethernet header, two VLAN tags, FCS
constexpr uint32_t kUsualBuffer = 2048;  // bytes of frame in a packet buffer
constexpr uint32_t kInFlight = 4096;     // buffers in workers' inboxes and other ports' transmit queues

// EAL's list of devices has no lock of its own.
absl::Mutex probe_mutex(absl::kConstInit);
std::set<std::string>* interfaces ABSL_GUARDED_BY(probe_mutex) = new std::set<std::string>;  // in use

uint32_t DataRoomFor(uint32_t mtu) {
  const uint32_t frame = std::max(kUsualBuffer, (mtu + kFrameOverhead + 63) & ~uint32_t{63});
  return RTE_PKTMBUF_HEADROOM + frame;
}

// The port of DPDK that an interface's packet sockets hang on. Never the same name twice, whatever is closing.
std::string HostDevice() {
  static std::atomic<uint32_t> number{0};
  return absl::StrCat("net_null_sluice", number.fetch_add(1), ",no-rx=1");
}

// With the domain that may be left out.
std::string CanonicalPci(const std::string& address) {
  return std::count(address.begin(), address.end(), ':') == 1 ? absl::StrCat("0000:", address) : address;
}

// What the machine says about a PCI function that DPDK could not open.
std::string WhyNotPci(const std::string& address) {
  const std::string path = absl::StrCat("/sys/bus/pci/devices/", address);
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "no such PCI device";
  char target[256];
  const ssize_t n = readlink(absl::StrCat(path, "/driver").c_str(), target, sizeof target);
  if (n <= 0) return "it is bound to no driver: bind it to vfio-pci";
  absl::string_view driver(target, static_cast<size_t>(n));
  driver.remove_prefix(driver.rfind('/') + 1);
  if (driver != "vfio-pci" && driver != "uio_pci_generic" && driver != "igb_uio" && !absl::StartsWith(driver, "mlx")) {
    return absl::StrCat("it is bound to the kernel driver '", driver, "': bind it to vfio-pci");
  }
  const ssize_t g = readlink(absl::StrCat(path, "/iommu_group").c_str(), target, sizeof target);
  if (driver == "vfio-pci" && g > 0) {
    absl::string_view group(target, static_cast<size_t>(g));
    group.remove_prefix(group.rfind('/') + 1);
    const std::string node = absl::StrCat("/dev/vfio/", group);
    if (access(node.c_str(), R_OK | W_OK) != 0) return absl::StrCat("no permission for ", node);
  }
  return "";
}

bool IsUnicast(const MacAddress& mac) {
  rte_ether_addr a;
  static_assert(sizeof a == sizeof mac);
  std::memcpy(&a, &mac, sizeof a);
  return rte_is_valid_assigned_ether_addr(&a);
}

MacAddress FromEther(const rte_ether_addr& a) {
  MacAddress mac;
  std::memcpy(mac.bytes.data(), a.addr_bytes, sizeof a);
  return mac;
}

// The largest MTU that the driver admits to.
uint32_t LargestMtu(const rte_eth_dev_info& info) {
  const bool says_both = info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu;
  const uint32_t overhead = says_both ? info.max_rx_pktlen - info.max_mtu : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  uint32_t mtu = info.max_mtu;
  if (info.max_rx_pktlen > overhead) mtu = std::min(mtu, info.max_rx_pktlen - overhead);
  return mtu;
}

}  // namespace

absl::Status Port::Error(absl::StatusCode code, absl::string_view what) const {
  return absl::Status(code, absl::StrCat("port ", name_, " (", devargs_, "): ", what));
}

absl::Status Port::Error(int error, absl::string_view what, absl::string_view said) const {
  error = error < 0 ? -error : error;
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  if (error == EPERM || error == EACCES) code = absl::StatusCode::kPermissionDenied;
  if (error == ENOMEM || error == ENOSPC) code = absl::StatusCode::kResourceExhausted;
  if (error == EINVAL || error == ENOTSUP || error == ERANGE) code = absl::StatusCode::kInvalidArgument;
  if (error == ENODEV || error == ENOENT || error == ENXIO) code = absl::StatusCode::kNotFound;
  return Error(code,
               absl::StrCat(what, ": ", rte_strerror(error), said.empty() ? "" : " (", said, said.empty() ? "" : ")"));
}

absl::StatusOr<std::unique_ptr<Port>> Port::Open(const PortOptions& options) {
  auto port = std::unique_ptr<Port>(new Port(options));
  if (options.mtu < kMinMtu || options.mtu > UINT16_MAX) {
    return port->Error(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("MTU ", options.mtu, " is not within ", kMinMtu, " to ", UINT16_MAX));
  }
  if (options.rx_queues == 0 || options.tx_queues == 0) {
    return port->Error(absl::StatusCode::kInvalidArgument, "a port needs a receive and a transmit queue");
  }
  if (options.mac && !IsUnicast(*options.mac)) {
    return port->Error(absl::StatusCode::kInvalidArgument, "the MAC is not a unicast address");
  }
  absl::MutexLock lock(&probe_mutex);
  absl::Status status = port->Probe(options);
  if (status.ok()) status = port->Configure(options);
  if (status.ok()) return port;
  probe_mutex.Unlock();  // the destructor takes it
  port.reset();
  probe_mutex.Lock();
  return status;
}

absl::Status Port::Probe(const PortOptions& options) {
  std::string device = options.devargs;
  absl::string_view interface = options.devargs;
  if (absl::ConsumePrefix(&interface, "iface:")) {
    absl::StatusOr<std::unique_ptr<KernelInterface>> opened = KernelInterface::Open(interface);
    if (!opened.ok()) return Error(opened.status());
    kernel_ = *std::move(opened);
    if (!interfaces->insert(kernel_->name()).second) {
      const std::string name = kernel_->name();
      kernel_.reset();
      return Error(absl::StatusCode::kAlreadyExists, absl::StrCat("interface ", name, " is in use by another port"));
    }
    device = HostDevice();
  }
  if (device.empty() || device.size() > 4096 || device.find('\0') != std::string::npos) {
    return Error(absl::StatusCode::kInvalidArgument, "no device is named");
  }

  EalComplaints said;
  rte_devargs parsed = {};
  const int unknown = rte_devargs_parse(&parsed, device.c_str());
  const std::string dpdk_name = parsed.name;
  std::free(parsed.data);
  const bool is_pci = absl::StrContains(dpdk_name, ':');
  if (unknown != 0 || !(is_pci || absl::StartsWith(dpdk_name, "net_"))) {
    return Error(absl::StatusCode::kInvalidArgument,
                 "not a device: give iface:NAME, a PCI address, or a DPDK device such as net_null0");
  }

  // Whoever holds the device must go first; EAL itself would quietly give it to both.
  const auto find = [&]() -> uint16_t {
    uint16_t id;
    RTE_ETH_FOREACH_DEV(id) {
      rte_eth_dev_info info;
      if (rte_eth_dev_info_get(id, &info) == 0 && info.device && dpdk_name == rte_dev_name(info.device)) return id;
    }
    return RTE_MAX_ETHPORTS;
  };
  if (const uint16_t holder = find(); holder != RTE_MAX_ETHPORTS) {
    return Error(absl::StatusCode::kAlreadyExists,
                 absl::StrCat("device ", dpdk_name, " is in use, as DPDK port ", holder));
  }
  if (const int error = rte_dev_probe(device.c_str()); error != 0) {
    const std::string why = is_pci ? WhyNotPci(CanonicalPci(dpdk_name)) : "";
    if (why == "no such PCI device") return Error(absl::StatusCode::kNotFound, why);
    if (absl::StartsWith(why, "no permission")) return Error(absl::StatusCode::kPermissionDenied, why);
    return Error(error, "the device cannot be opened", why.empty() ? said.text() : why);
  }
  const uint16_t id = find();
  if (id == RTE_MAX_ETHPORTS) {
    rte_eal_hotplug_remove(is_pci ? "pci" : "vdev", dpdk_name.c_str());
    return Error(absl::StatusCode::kInvalidArgument, "the device is no network device");
  }
  probed_ = true;
  identity_.id = id;
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) return Error(error, "the device says nothing", "");
  device_ = info.device;
  identity_.device = dpdk_name;
  identity_.driver = info.driver_name ? info.driver_name : "";
  identity_.numa = rte_eth_dev_socket_id(id);
  if (kernel_) {
    identity_.device = options.devargs;
    identity_.driver = "packet_socket";
    identity_.pci_address = kernel_->PciAddress();
  } else if (is_pci) {
    identity_.pci_address = CanonicalPci(dpdk_name);
  }
  if (id >= kMaxPorts) {
    return Error(absl::StatusCode::kResourceExhausted, absl::StrCat("more than ", kMaxPorts, " ports"));
  }
  return absl::OkStatus();
}

absl::Status Port::Configure(const PortOptions& options) {
  absl::MutexLock lock(&mutex_);
  const uint16_t id = identity_.id;
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) return Error(error, "the device says nothing", "");
  if (info.max_rx_queues == 0 || info.max_tx_queues == 0) {
    return Error(absl::StatusCode::kInvalidArgument, "the device cannot both receive and transmit");
  }
  rx_queues_ = std::min(options.rx_queues, info.max_rx_queues);
  tx_queues_ = std::min(options.tx_queues, info.max_tx_queues);
  const uint32_t min_mtu = std::max(kMinMtu, uint32_t{info.min_mtu});
  if (kernel_) {
    rx_queues_ = tx_queues_ = std::min(std::max(rx_queues_, tx_queues_), PacketQueues::kMaxQueues);
  } else if (options.mtu < min_mtu || options.mtu > LargestMtu(info)) {
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("MTU ", options.mtu, " is not within the device's ", min_mtu, " to ", LargestMtu(info)));
  }

  rte_eth_conf conf = {};
  conf.rxmode.mtu = kernel_ ? uint32_t{RTE_ETHER_MTU} : options.mtu;
  conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;  // a long frame over several buffers
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  rx_offloads_ = conf.rxmode.offloads;
  if (rx_queues_ > 1 && info.flow_type_rss_offloads != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
  }
  EalComplaints said;
  if (const int error = rte_eth_dev_configure(id, rx_queues_, tx_queues_, &conf); error != 0) {
    return Error(error, "the device cannot be configured", said.text());
  }
  rx_descriptors_ = static_cast<uint16_t>(std::min(options.rx_buffers, uint32_t{UINT16_MAX}));
  tx_descriptors_ = static_cast<uint16_t>(std::min(options.tx_buffers, uint32_t{UINT16_MAX}));
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx_descriptors_, &tx_descriptors_); error != 0) {
    return Error(error, "descriptors", said.text());
  }
  buffers_ = uint32_t{rx_queues_} * rx_descriptors_ + uint32_t{tx_queues_} * tx_descriptors_ +
             (options.threads + 1) * (PacketPools::kCache * 3 / 2 + 64) + kInFlight;
  for (uint16_t q = 0; q < tx_queues_; ++q) {
    rte_eth_txconf tx = info.default_txconf;
    tx.offloads = conf.txmode.offloads;
    const int error = rte_eth_tx_queue_setup(id, q, tx_descriptors_, rte_eth_dev_socket_id(id), &tx);
    if (error != 0) return Error(error, absl::StrCat("transmit queue ", q), said.text());
  }
  if (const absl::Status s = SetMtuLocked(options.mtu); !s.ok()) return s;

  if (kernel_) {
    if (const absl::Status s = packet_queues_.Attach(id, rx_queues_); !s.ok()) return Error(s);
    if (const absl::Status s = kernel_->TurnOffAggregation(); !s.ok()) return Error(s);
    const absl::StatusOr<MacAddress> mac = kernel_->Mac();
    if (!mac.ok()) return Error(mac.status());
    mac_ = *mac;
    return options.mac ? SetMacLocked(*options.mac) : absl::OkStatus();
  }
  rte_ether_addr own = {};
  rte_eth_macaddr_get(id, &own);
  mac_ = FromEther(own);
  if (options.mac) return SetMacLocked(*options.mac);
  if (!IsUnicast(mac_)) {
    // A device without an address (rings): a random one of our own (IEEE 802, locally administered).
    rte_eth_random_addr(own.addr_bytes);
    return SetMacLocked(FromEther(own));
  }
  return absl::OkStatus();
}

absl::Status Port::FitBuffers(uint32_t mtu) {
  const uint16_t id = identity_.id;
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) return Error(error, "the device says nothing", "");
  uint32_t needed = DataRoomFor((rx_offloads_ & RTE_ETH_RX_OFFLOAD_SCATTER) && !kernel_ ? 0 : mtu);
  needed = std::max(needed, RTE_PKTMBUF_HEADROOM + uint32_t{info.min_rx_bufsize});
  if (needed <= data_room_) return absl::OkStatus();
  if (started_) {
    return Error(absl::StatusCode::kUnavailable, absl::StrCat("the port must be stopped for an MTU of ", mtu));
  }
  const int socket = rte_eth_dev_socket_id(id);
  absl::StatusOr<rte_mempool*> pool =
      PacketPools::Global().Take({.buffers = buffers_, .data_room = needed, .socket = socket});
  if (!pool.ok()) return Error(pool.status());
  EalComplaints said;
  for (uint16_t q = 0; q < rx_queues_; ++q) {
    rte_eth_rxconf rx = info.default_rxconf;
    rx.offloads = rx_offloads_;
    if (const int error = rte_eth_rx_queue_setup(id, q, rx_descriptors_, socket, &rx, *pool); error != 0) {
      // Some queues may hold on to it: kept, so that it is not lent to others.
      return Error(error, absl::StrCat("receive queue ", q), said.text());
    }
  }
  if (pool_ != nullptr) PacketPools::Global().GiveBack(pool_);
  pool_ = *pool;
  data_room_ = needed;
  return absl::OkStatus();
}

rte_mempool* Port::pool() const {
  absl::MutexLock lock(&mutex_);
  return pool_;
}

uint32_t Port::data_room() const {
  absl::MutexLock lock(&mutex_);
  return data_room_;
}

Port::~Port() {
  rte_mempool* pool;
  {
    absl::MutexLock lock(&mutex_);
    StopLocked();
    packet_queues_.Detach();
    pool = pool_;
  }
  if (probed_) {
    absl::MutexLock lock(&probe_mutex);
    rte_eth_dev_close(identity_.id);
    // A function with several ports stays until the last one goes.
    bool shared = false;
    uint16_t id;
    RTE_ETH_FOREACH_DEV(id) {
      rte_eth_dev_info info;
      if (rte_eth_dev_info_get(id, &info) == 0 && info.device == device_) shared = true;
    }
    if (!shared && device_ != nullptr) rte_dev_remove(device_);
  }
  if (kernel_) {
    absl::MutexLock lock(&probe_mutex);
    interfaces->erase(kernel_->name());
  }
  if (pool != nullptr) PacketPools::Global().GiveBack(pool);
}

absl::Status Port::Start() {
  absl::MutexLock lock(&mutex_);
  if (started_) return absl::OkStatus();
  if (kernel_) {
    // Before the sockets are bound: one that is bound to an interface that is down starts with an error.
    if (const absl::Status s = kernel_->BringUp(); !s.ok()) return Error(s);
  }
  EalComplaints said;
  const int error = rte_eth_dev_start(identity_.id);
  if (error != 0) return Error(error, "the device does not start", said.text());
  if (kernel_) {
    if (const absl::Status s = packet_queues_.Open(kernel_->index(), mtu_, pool_); !s.ok()) {
      rte_eth_dev_stop(identity_.id);
      return Error(s);
    }
    open_mtu_ = mtu_;
  }
  started_ = true;
  // Neighbour discovery speaks to multicast groups by the hundred; what cannot filter lets them in anyway.
  rte_eth_allmulticast_enable(identity_.id);
  if (promiscuous_) rte_eth_promiscuous_enable(identity_.id);
  return absl::OkStatus();
}

void Port::Stop() {
  absl::MutexLock lock(&mutex_);
  StopLocked();
}

void Port::StopLocked() {
  if (!started_) return;
  rte_eth_dev_stop(identity_.id);
  packet_queues_.Close();
  started_ = false;
}

bool Port::started() const {
  absl::MutexLock lock(&mutex_);
  return started_;
}

absl::Status Port::SetMtu(uint32_t mtu) {
  absl::MutexLock lock(&mutex_);
  return SetMtuLocked(mtu);
}

absl::Status Port::SetMtuLocked(uint32_t mtu) {
  if (mtu == mtu_) return absl::OkStatus();
  if (mtu < kMinMtu || mtu > UINT16_MAX) {
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("MTU ", mtu, " is not within ", kMinMtu, " to ", UINT16_MAX));
  }
  if (DataRoomFor(mtu) > UINT16_MAX && kernel_) {
    return Error(absl::StatusCode::kInvalidArgument, absl::StrCat("MTU ", mtu, " is too large for packet buffers"));
  }
  if (const absl::Status s = FitBuffers(mtu); !s.ok()) return s;
  if (kernel_) {
    if (started_ && PacketQueue::SlotBytes(mtu) > PacketQueue::SlotBytes(open_mtu_)) {
      return Error(absl::StatusCode::kUnavailable, absl::StrCat("the port must be stopped for an MTU of ", mtu));
    }
    if (const absl::Status s = kernel_->SetMtu(mtu); !s.ok()) return Error(s);
  } else {
    EalComplaints said;
    const int error = rte_eth_dev_set_mtu(identity_.id, static_cast<uint16_t>(mtu));
    if (error == -EBUSY) return Error(absl::StatusCode::kUnavailable, "the device must be stopped to change its MTU");
    // A device without such a thing carries any frame that fits a buffer.
    if (error != 0 && error != -ENOTSUP) return Error(error, absl::StrCat("MTU ", mtu), said.text());
  }
  mtu_ = mtu;
  return absl::OkStatus();
}

uint32_t Port::mtu() const {
  absl::MutexLock lock(&mutex_);
  return mtu_;
}

uint32_t Port::max_mtu() const {
  absl::MutexLock lock(&mutex_);
  if (kernel_) return PacketQueue::LargestMtu(std::max(open_mtu_, mtu_));
  rte_eth_dev_info info;
  if (rte_eth_dev_info_get(identity_.id, &info) != 0) return mtu_;
  if (rx_offloads_ & RTE_ETH_RX_OFFLOAD_SCATTER) return LargestMtu(info);
  return std::min(LargestMtu(info), data_room_ - RTE_PKTMBUF_HEADROOM - kFrameOverhead);
}

absl::Status Port::SetMac(const MacAddress& mac) {
  absl::MutexLock lock(&mutex_);
  if (!IsUnicast(mac)) return Error(absl::StatusCode::kInvalidArgument, "the MAC is not a unicast address");
  return SetMacLocked(mac);
}

absl::Status Port::SetMacLocked(const MacAddress& mac) {
  if (mac == mac_) return absl::OkStatus();
  if (kernel_) {
    if (const absl::Status s = kernel_->SetMac(mac); !s.ok()) return Error(s);
    mac_ = mac;
    return absl::OkStatus();
  }
  rte_ether_addr address;
  std::memcpy(&address, &mac, sizeof address);
  EalComplaints said;
  const int error = rte_eth_dev_default_mac_addr_set(identity_.id, &address);
  if (error == -EBUSY) return Error(absl::StatusCode::kUnavailable, "the device must be stopped to change its MAC");
  if (error == -ENOTSUP) {
    // It cannot filter by another address than its own: it lets everything in, and parsing tells what is for us.
    promiscuous_ = true;
    if (started_) rte_eth_promiscuous_enable(identity_.id);
  } else if (error != 0) {
    return Error(error, "the MAC cannot be changed", said.text());
  }
  mac_ = mac;
  return absl::OkStatus();
}

MacAddress Port::mac() const {
  absl::MutexLock lock(&mutex_);
  return mac_;
}

PortLink Port::link() const {
  absl::MutexLock lock(&mutex_);
  if (!started_) return {};
  // The driver for packet sockets does not follow the carrier.
  if (kernel_) return {.up = kernel_->HasCarrier(), .speed_mbps = kernel_->SpeedMbps()};
  rte_eth_link link = {};
  if (rte_eth_link_get_nowait(identity_.id, &link) != 0) return {};
  return {.up = link.link_status == RTE_ETH_LINK_UP,
          .speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed};
}

PortStats Port::stats() const {
  absl::MutexLock lock(&mutex_);
  if (kernel_) {
    const PacketQueues::Totals t = packet_queues_.Read();
    return {.rx_packets = t.rx_packets,
            .rx_bytes = t.rx_bytes,
            .rx_errors = t.rx_errors,
            .rx_drops = t.rx_drops,
            .tx_packets = t.tx_packets,
            .tx_bytes = t.tx_bytes,
            .tx_errors = t.tx_errors,
            .tx_drops = t.tx_drops};
  }
  rte_eth_stats s = {};
  if (rte_eth_stats_get(identity_.id, &s) != 0) return {};
  return {.rx_packets = s.ipackets,
          .rx_bytes = s.ibytes,
          .rx_errors = s.ierrors,
          .rx_drops = s.imissed + s.rx_nombuf,
          .tx_packets = s.opackets,
          .tx_bytes = s.obytes,
          .tx_errors = s.oerrors};
}

std::vector<PortXstat> Port::xstats() const {
  absl::MutexLock lock(&mutex_);
  const int count = rte_eth_xstats_get_names(identity_.id, nullptr, 0);
  if (count <= 0) return {};
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
  if (rte_eth_xstats_get_names(identity_.id, names.data(), static_cast<uint32_t>(count)) != count ||
      rte_eth_xstats_get(identity_.id, values.data(), static_cast<uint32_t>(count)) != count) {
    return {};
  }
  std::vector<PortXstat> xstats;
  for (const rte_eth_xstat& v : values) {
    if (v.id < names.size()) xstats.push_back({names[v.id].name, v.value});
  }
  return xstats;
}

}  // namespace sluice
