#include "dataplane/port/port_set.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "dataplane/port/packet_pool.h"

namespace sluice {
namespace {

// What one worker makes itself at one time: a burst's fragments, and frames of the slow path on their way out.
constexpr uint32_t kWorkerBuffers = 4095;

absl::Status NoSuchPort(uint32_t id) { return absl::NotFoundError(absl::StrCat("no DPDK port ", id)); }

}  // namespace

PortSet::~PortSet() {
  absl::MutexLock lock(&change_);
  (void)board_.Swap(std::vector<QueuePlan>(board_.workers()));
  leaving_.clear();
  {
    absl::MutexLock ports_lock(&ports_mutex_);
    ports_.clear();
  }
  for (rte_mempool* pool : worker_pools_) PacketPools::Global().GiveBack(pool);
  for (rte_mempool* pool : replaced_pools_) PacketPools::Global().GiveBack(pool);
}

Port* PortSet::Find(uint32_t id) const {
  absl::MutexLock lock(&ports_mutex_);
  const auto it = id > UINT16_MAX ? ports_.end() : ports_.find(static_cast<uint16_t>(id));
  return it == ports_.end() ? nullptr : it->second.get();
}

absl::StatusOr<uint16_t> PortSet::Add(PortOptions options) {
  const uint16_t workers = static_cast<uint16_t>(board_.workers());
  if (options.rx_queues == 0) options.rx_queues = workers;
  if (options.tx_queues == 0) options.tx_queues = workers;
  options.threads = workers;
  absl::MutexLock lock(&change_);
  CloseWhatIsSafe();
  absl::StatusOr<std::unique_ptr<Port>> opened = Port::Open(options);
  if (!opened.ok()) return opened.status();
  if (const absl::Status s = (*opened)->Start(); !s.ok()) return s;
  const uint16_t id = (*opened)->id();
  if (const absl::Status s = planner_.Add(id, (*opened)->rx_queues(), (*opened)->tx_queues()); !s.ok()) return s;
  {
    absl::MutexLock ports_lock(&ports_mutex_);
    ports_.emplace(id, *std::move(opened));
  }
  if (const absl::Status s = FitWorkerPools(); !s.ok()) {
    planner_.Remove(id);
    absl::MutexLock ports_lock(&ports_mutex_);
    ports_.erase(id);  // no plan has seen it
    return s;
  }
  Replan();
  return id;
}

absl::Status PortSet::Remove(uint16_t id) {
  absl::MutexLock lock(&change_);
  CloseWhatIsSafe();
  std::unique_ptr<Port> port;
  {
    absl::MutexLock ports_lock(&ports_mutex_);
    const auto it = ports_.find(id);
    if (it == ports_.end()) return NoSuchPort(id);
    port = std::move(it->second);
    ports_.erase(it);
  }
  planner_.Remove(id);
  Replan();
  Leaving leaving{std::move(port), Grace()};
  if (WaitFor(*leaving.safe)) return absl::OkStatus();
  const std::string name = leaving.port->name();
  leaving_.push_back(std::move(leaving));
  return absl::DeadlineExceededError(absl::StrCat("port ", name, " is out of use, but a worker hangs: not closed yet"));
}

absl::Status PortSet::SetMtu(uint32_t id, uint32_t mtu) {
  absl::MutexLock lock(&change_);
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  const absl::Status status = port->SetMtu(mtu);
  if (!absl::IsUnavailable(status)) return status;
  return WhileStopped(*port, [this, port, mtu]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    const uint32_t before = port->mtu();
    absl::Status changed = port->SetMtu(mtu);
    if (!changed.ok()) return changed;
    if (absl::Status s = FitWorkerPools(); !s.ok()) {
      (void)port->SetMtu(before);
      return s;
    }
    return changed;
  });
}

absl::Status PortSet::SetMac(uint32_t id, const MacAddress& mac) {
  absl::MutexLock lock(&change_);
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  const absl::Status status = port->SetMac(mac);
  if (!absl::IsUnavailable(status)) return status;
  return WhileStopped(*port, [&] { return port->SetMac(mac); });
}

void PortSet::ForEach(const std::function<void(const Port&)>& f) const {
  absl::MutexLock lock(&ports_mutex_);
  for (const auto& [id, port] : ports_) f(*port);
}

absl::Status PortSet::WhileStopped(Port& port, const std::function<absl::Status()>& change) {
  // Put back as it was: a worker that hangs may still hold the old plan.
  const QueuePlanner before = planner_;
  planner_.Remove(port.id());
  Replan();
  const auto safe = Grace();
  absl::Status status;
  if (!WaitFor(*safe)) {
    status = absl::DeadlineExceededError(absl::StrCat("port ", port.name(), ": a worker hangs, nothing was changed"));
  } else {
    port.Stop();
    status = change();
    if (const absl::Status s = port.Start(); !s.ok()) return s;  // stays out of the plans
  }
  planner_ = before;
  Replan();
  return status;
}

absl::Status PortSet::FitWorkerPools() {
  uint32_t data_room = worker_data_room_;
  ForEach([&](const Port& port) { data_room = std::max(data_room, port.data_room()); });
  if (data_room == worker_data_room_) return absl::OkStatus();
  std::vector<rte_mempool*> pools;
  for (size_t w = 0; w < board_.workers(); ++w) {
    absl::StatusOr<rte_mempool*> pool =
        PacketPools::Global().Take({.buffers = kWorkerBuffers, .data_room = data_room, .socket = -1});
    if (!pool.ok()) {
      for (rte_mempool* taken : pools) PacketPools::Global().GiveBack(taken);
      return pool.status();
    }
    pools.push_back(*pool);
  }
  // Until the next plans, workers use the old ones.
  replaced_pools_.insert(replaced_pools_.end(), worker_pools_.begin(), worker_pools_.end());
  worker_pools_ = std::move(pools);
  worker_data_room_ = data_room;
  return absl::OkStatus();
}

// Gives workers the planner's plans.
void PortSet::Replan() {
  std::vector<QueuePlan> plans = planner_.Plans();
  for (size_t w = 0; w < plans.size() && w < worker_pools_.size(); ++w) plans[w].pool = worker_pools_[w];
  publisher_.AfterGrace([old = board_.Swap(std::move(plans)), replaced = std::exchange(replaced_pools_, {})] {
    for (rte_mempool* pool : replaced) PacketPools::Global().GiveBack(pool);
  });
}

std::shared_ptr<std::atomic<bool>> PortSet::Grace() {
  auto safe = std::make_shared<std::atomic<bool>>(false);
  publisher_.AfterGrace([safe] { safe->store(true, std::memory_order_release); });
  return safe;
}

bool PortSet::WaitFor(const std::atomic<bool>& safe) {
  const absl::Time deadline = absl::Now() + grace_timeout_;
  for (;;) {
    publisher_.Reclaim();
    if (safe.load(std::memory_order_acquire)) return true;
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Microseconds(200));
  }
}

void PortSet::CloseWhatIsSafe() {
  publisher_.Reclaim();
  std::erase_if(leaving_, [](const Leaving& l) { return l.safe->load(std::memory_order_acquire); });
}

}  // namespace sluice
