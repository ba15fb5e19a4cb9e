#include "dataplane/port/queue_planner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// The worker with the least load; among equals the first from `from` on, so that ties go round.
uint16_t Least(const std::vector<size_t>& load, size_t from) {
  size_t best = from % load.size();
  for (size_t i = 1; i < load.size(); ++i) {
    const size_t w = (from + i) % load.size();
    if (load[w] < load[best]) best = w;
  }
  return static_cast<uint16_t>(best);
}

}  // namespace

absl::Status QueuePlanner::Add(uint16_t port, uint16_t rx_queues, uint16_t tx_queues) {
  if (port >= kMaxPorts) {
    return absl::InvalidArgumentError(
        absl::StrCat("DPDK port ", port, " is beyond the ", kMaxPorts, " that can be used"));
  }
  if (rx_queues == 0 || tx_queues == 0 || workers_ == 0) return absl::InvalidArgumentError("a port without queues");
  if (ports_.contains(port)) return absl::AlreadyExistsError(absl::StrCat("DPDK port ", port, " is placed already"));

  std::vector<size_t> rx_load(workers_), tx_load(workers_);
  for (const auto& [id, placed] : ports_) {
    for (const uint16_t w : placed.rx_worker) ++rx_load[w];
    // What others hand over is the owner's work too.
    for (const TxPath& path : placed.tx) ++tx_load[path.owner_worker];
  }

  Placement placement;
  for (uint16_t q = 0; q < rx_queues; ++q) {
    const uint16_t worker = Least(rx_load, q);
    placement.rx_worker.push_back(worker);
    ++rx_load[worker];
  }

  placement.tx.resize(workers_);
  if (tx_queues >= workers_) {
    for (size_t w = 0; w < workers_; ++w) placement.tx[w] = {static_cast<uint16_t>(w), static_cast<uint16_t>(w)};
  } else {
    std::vector<uint16_t> owners;
    const size_t share = (workers_ + tx_queues - 1) / tx_queues;
    for (uint16_t q = 0; q < tx_queues; ++q) {
      const uint16_t owner = Least(tx_load, q);
      tx_load[owner] += share + workers_ * size_t{kMaxPorts};  // not twice for one port
      owners.push_back(owner);
      placement.tx[owner] = {owner, q};
    }
    size_t next = 0;
    for (TxPath& path : placement.tx) {
      if (path.present()) continue;
      const uint16_t owner = owners[next++ % owners.size()];
      path = placement.tx[owner];
    }
  }
  ports_.emplace(port, std::move(placement));
  return absl::OkStatus();
}

void QueuePlanner::Remove(uint16_t port) { ports_.erase(port); }

std::vector<QueuePlan> QueuePlanner::Plans() const {
  std::vector<QueuePlan> plans(workers_);
  for (const auto& [port, placed] : ports_) {
    for (size_t q = 0; q < placed.rx_worker.size(); ++q) {
      plans[placed.rx_worker[q]].rx.push_back({port, static_cast<uint16_t>(q)});
    }
    for (size_t w = 0; w < workers_; ++w) plans[w].tx[port] = placed.tx[w];
  }
  return plans;
}

}  // namespace sluice
