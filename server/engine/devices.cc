#include "server/engine/devices.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/config/problem.h"

namespace sluice::engine {
namespace {

constexpr uint32_t kDefaultMtu = 1500;
constexpr uint32_t kMaxQueues = 64;
constexpr absl::Duration kPatience = absl::Seconds(2);  // with a worker that does not let go of a queue

const char* ReasonOfOpen(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_DEVARGS";
    case absl::StatusCode::kNotFound:
      return "DEVICE_NOT_FOUND";
    case absl::StatusCode::kAlreadyExists:
      return "DEVICE_IN_USE";
    default:
      return "DEVICE_FAILED";
  }
}

uint16_t Queues(uint32_t asked, size_t workers) {
  return static_cast<uint16_t>(
      std::clamp<uint32_t>(asked != 0 ? asked : static_cast<uint32_t>(workers), 1, kMaxQueues));
}

config::DeviceFacts FactsOf(const Port& port) {
  config::DeviceFacts facts;
  facts.known = true;
  facts.mac = port.mac();
  facts.max_mtu = port.max_mtu();
  rte_eth_dev_info info = {};
  if (rte_eth_dev_info_get(port.id(), &info) == 0) {
    // As much as the device can, with a stop if need be (Configure).
    if (info.max_mtu != 0) facts.max_mtu = std::max<uint32_t>(facts.max_mtu, info.max_mtu);
    facts.max_rx_queues = std::clamp<uint32_t>(info.max_rx_queues, 1, kMaxQueues);
    facts.max_tx_queues = std::clamp<uint32_t>(info.max_tx_queues, 1, kMaxQueues);
  }
  facts.default_mtu = std::min(kDefaultMtu, facts.max_mtu);
  return facts;
}

// DPDK's common statistics have no count of frames that a device was given and dropped; drivers that keep one say so
// among their own.
uint64_t TxDrops(const Port& port) {
  uint64_t drops = 0;
  for (const PortXstat& stat : port.xstats()) {
    const absl::string_view name = stat.name;
    const bool tx = absl::StartsWith(name, "tx_");
    if (tx && (absl::StrContains(name, "dropped") || absl::StrContains(name, "discard"))) drops += stat.value;
  }
  return drops;
}

}  // namespace

Devices::Devices(Publisher& publisher, PlanBoard& board, rte_mempool* worker_pool, Poster post)
    : publisher_(publisher),
      board_(board),
      worker_pool_(worker_pool),
      post_(std::move(post)),
      planner_(board.workers()) {
  absl::MutexLock lock(&mutex_);
  SwapPlans();  // so that workers have a pool from the start
}

Devices::~Devices() { CloseAll(); }

void Devices::SwapPlans() {
  std::vector<QueuePlan> plans = planner_.Plans();
  for (QueuePlan& plan : plans) plan.pool = worker_pool_;
  publisher_.AfterGrace([old = board_.Swap(std::move(plans))] {});
}

void Devices::Open(const PortRequest& request) {
  {
    absl::MutexLock lock(&mutex_);
    Entry& entry = entries_[request.devargs];
    ++entry.claims;
    if (!entry.adopted) entry.name = request.name;
    if (entry.port != nullptr) return;
  }
  // Slow, and so without the lock; nobody else opens.
  PortOptions options;
  options.name = request.name;
  options.devargs = request.devargs;
  options.rx_queues = Queues(request.rx_queues, board_.workers());
  options.tx_queues = Queues(request.tx_queues, board_.workers());
  options.mtu = request.mtu != 0 ? request.mtu : kDefaultMtu;
  options.threads = static_cast<uint32_t>(board_.workers());
  config::DeviceFacts facts;
  std::shared_ptr<Port> port;
  absl::Status status;
  if (auto opened = Port::Open(options); opened.ok()) {
    port = *std::move(opened);
    facts = FactsOf(*port);
    if (request.mac.has_value()) facts.mac_settable = port->SetMac(*request.mac).ok();
    status = port->Start();
  } else {
    status = opened.status();
  }
  absl::MutexLock lock(&mutex_);
  Entry& entry = entries_[request.devargs];
  if (status.ok()) status = planner_.Add(port->id(), port->rx_queues(), port->tx_queues());
  if (!status.ok()) {
    entry.reason = ReasonOfOpen(status.code());
    entry.message = std::string(status.message());
    return;
  }
  entry.facts = facts;
  entry.reason.clear();
  entry.message.clear();
  entry.carrier = port->link().up;
  entry.port = std::move(port);
  SwapPlans();
}

void Devices::Release(absl::Span<const PortRequest> requests) {
  absl::MutexLock lock(&mutex_);
  for (const PortRequest& request : requests) {
    const auto it = entries_.find(request.devargs);
    if (it != entries_.end()) --it->second.claims;
  }
}

void Devices::Settle() {
  std::vector<std::shared_ptr<Port>> closing;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = entries_.begin(); it != entries_.end();) {
      Entry& entry = it->second;
      if (entry.adopted || entry.claims > 0) {
        ++it;
        continue;
      }
      if (entry.port != nullptr) {
        planner_.Remove(entry.port->id());
        closing.push_back(std::move(entry.port));
      }
      it = entries_.erase(it);
    }
    if (closing.empty()) return;
    SwapPlans();
  }
  // A worker may be inside a burst of the old plan. If one hangs, the port is closed when it lets go, by this thread
  // again: whoever reclaims must not wait for a device.
  if (WaitForGrace()) return;
  publisher_.AfterGrace(
      [post = post_, closing = std::move(closing)]() mutable { post([closing = std::move(closing)] {}); });
}

void Devices::CloseAll() {
  std::map<std::string, Entry> all;
  {
    absl::MutexLock lock(&mutex_);
    all.swap(entries_);
    for (const auto& [devargs, entry] : all) {
      if (entry.port != nullptr) planner_.Remove(entry.port->id());
    }
    if (!all.empty()) SwapPlans();
  }
}

void Devices::Adopt(const config::LinkRecord& record) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(record.devargs);
  if (it == entries_.end()) return;
  it->second.adopted = true;
  it->second.name = std::string(record.name.view());
  it->second.up = record.up;
}

void Devices::Forget(const config::LinkRecord& record) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(record.devargs);
  if (it == entries_.end() || it->second.name != record.name.view()) return;
  it->second.adopted = false;
  it->second.up = false;
}

void Devices::Configure(const config::LinkRecord& record) {
  std::shared_ptr<Port> port;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(record.devargs);
    if (it == entries_.end() || it->second.port == nullptr) return;
    port = it->second.port;
  }
  const auto apply = [&record, &port]() -> absl::Status {
    if (record.mtu_in_use() != port->mtu()) {
      if (auto s = port->SetMtu(record.mtu_in_use()); !s.ok()) return s;
    }
    const MacAddress mac = record.mac_in_use();
    return mac.IsZero() || mac == port->mac() ? absl::OkStatus() : port->SetMac(mac);
  };
  absl::Status status = apply();
  if (absl::IsUnavailable(status)) {
    // Only while it is stopped, and so while no worker has its queues.
    {
      absl::MutexLock lock(&mutex_);
      planner_.Remove(port->id());
      SwapPlans();
    }
    if (WaitForGrace()) {
      port->Stop();
      status = apply();
      if (auto s = port->Start(); !s.ok()) status = s;
    }
    absl::MutexLock lock(&mutex_);
    if (auto s = planner_.Add(port->id(), port->rx_queues(), port->tx_queues()); !s.ok()) status = s;
    SwapPlans();
  }
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(record.devargs);
  if (it != entries_.end()) it->second.trouble = status.ok() ? "" : std::string(status.message());
}

bool Devices::WaitForGrace() {
  auto over = std::make_shared<std::atomic<bool>>(false);
  publisher_.AfterGrace([over] { over->store(true); });
  const absl::Time deadline = absl::Now() + kPatience;
  while (!over->load()) {
    publisher_.Reclaim();
    if (over->load()) break;
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Microseconds(200));
  }
  return true;
}

config::Problem Devices::Describe(const std::string& name, const std::string& devargs, config::DeviceFacts* facts) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(devargs);
  if (it == entries_.end()) {
    return config::Refuse("DEVICE_FAILED", "", absl::StrCat("the device ", devargs, " is not open"));
  }
  const Entry& entry = it->second;
  if (entry.port == nullptr) return config::Refuse(entry.reason, "", entry.message);
  if (entry.name != name) {
    config::Problem problem =
        config::Refuse("DEVICE_IN_USE", "", absl::StrCat("link ", entry.name, " has the device ", devargs, " already"));
    problem.users.push_back(absl::StrCat("link ", entry.name));
    return problem;
  }
  *facts = entry.facts;
  return {};
}

config::LinkRuntime Devices::Get(LinkIndex /*link*/, const config::LinkRecord& record) {
  config::LinkRuntime runtime;
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(record.devargs);
  if (it == entries_.end() || it->second.port == nullptr) return runtime;
  runtime.port = it->second.port->id();
  runtime.present = true;
  runtime.running = it->second.carrier;
  return runtime;
}

std::vector<std::string> Devices::PollLinks() {
  std::vector<std::pair<std::string, std::shared_ptr<Port>>> ports;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [devargs, entry] : entries_) {
      if (entry.port != nullptr) ports.emplace_back(devargs, entry.port);
    }
  }
  std::vector<std::string> moved;
  for (const auto& [devargs, port] : ports) {
    const bool up = port->link().up;
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(devargs);
    if (it == entries_.end() || it->second.carrier == up) continue;
    it->second.carrier = up;
    moved.push_back(it->second.name);
  }
  return moved;
}

void Devices::FillLinkState(config::Link& link) const {
  std::shared_ptr<Port> port;
  bool carrier = false;
  uint32_t max_mtu = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(link.devargs);
    if (it != entries_.end()) {
      port = it->second.port;
      carrier = it->second.carrier;
      max_mtu = it->second.facts.max_mtu;
    }
  }
  config::LinkState& state = link.state;
  if (port == nullptr) {
    state.oper_state = config::OperState::kNotPresent;
    return;
  }
  const bool up = link.up.value_or(false);
  state.carrier = carrier;
  state.oper_state = up && carrier ? config::OperState::kUp : config::OperState::kDown;
  state.speed_mbps = static_cast<uint32_t>(port->link().speed_mbps);
  state.driver = port->identity().driver;
  state.bus_address = port->identity().pci_address;
  state.mac = port->mac();
  state.mtu = port->mtu();
  state.max_mtu = max_mtu;
  state.rx_queues = port->rx_queues();
  state.tx_queues = port->tx_queues();
  if (port->identity().numa >= 0) state.numa_node = static_cast<uint32_t>(port->identity().numa);
  const PortStats stats = port->stats();
  state.rx_errors = stats.rx_errors;
  state.rx_missed = stats.rx_drops;
  state.tx_errors = stats.tx_errors;
}

std::vector<PortInfo> Devices::infos() const {
  absl::MutexLock lock(&mutex_);
  std::vector<PortInfo> out;
  for (const auto& [devargs, entry] : entries_) {
    if (!entry.adopted) continue;
    PortInfo& info = out.emplace_back();
    info.name = entry.name;
    info.problem = entry.port == nullptr ? entry.message : entry.trouble;
    if (entry.port == nullptr) continue;
    info.driver = entry.port->identity().driver;
    info.pci_address = entry.port->identity().pci_address;
    info.numa = entry.port->identity().numa;
    info.mac = entry.port->mac().ToString();
    info.up = entry.up && entry.carrier;
    info.speed_mbps = entry.port->link().speed_mbps;
    info.rx_queues = entry.port->rx_queues();
    info.tx_queues = entry.port->tx_queues();
  }
  std::sort(out.begin(), out.end(), [](const PortInfo& a, const PortInfo& b) { return a.name < b.name; });
  return out;
}

std::vector<PortCounters> Devices::counters() const {
  std::vector<std::pair<std::string, std::shared_ptr<Port>>> ports;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [devargs, entry] : entries_) {
      if (entry.adopted && entry.port != nullptr) ports.emplace_back(entry.name, entry.port);
    }
  }
  std::sort(ports.begin(), ports.end());
  std::vector<PortCounters> out;
  for (const auto& [name, port] : ports) {
    const PortStats s = port->stats();
    out.push_back({.name = name,
                   .rx_packets = s.rx_packets,
                   .rx_bytes = s.rx_bytes,
                   .rx_errors = s.rx_errors,
                   .rx_drops = s.rx_drops,
                   .tx_packets = s.tx_packets,
                   .tx_bytes = s.tx_bytes,
                   .tx_errors = s.tx_errors,
                   .tx_drops = TxDrops(*port)});
  }
  return out;
}

std::vector<QueueInfo> Devices::rx_queues(uint16_t worker) const {
  absl::MutexLock lock(&mutex_);
  std::vector<QueueInfo> out;
  const std::vector<QueuePlan> plans = planner_.Plans();
  for (const RxQueue& queue : plans[worker].rx) {
    for (const auto& [devargs, entry] : entries_) {
      if (entry.port == nullptr || entry.port->id() != queue.port) continue;
      out.push_back({.link = entry.name, .queue = queue.queue});
    }
  }
  return out;
}

bool Devices::all_open() const {
  absl::MutexLock lock(&mutex_);
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& item) { return !item.second.adopted || item.second.port != nullptr; });
}

}  // namespace sluice::engine
