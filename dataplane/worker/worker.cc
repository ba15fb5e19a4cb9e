#include "dataplane/worker/worker.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_ring.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace sluice {
namespace {

// Frames taken from the slow path in one round, so that a flood of answers does not keep packets waiting.
constexpr uint32_t kInjectBudget = 64;

absl::Status Pin(int cpu) {
  if (cpu < 0) return absl::OkStatus();
  if (cpu >= CPU_SETSIZE) return absl::InternalError(absl::StrCat("there is no CPU ", cpu));
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    return absl::InternalError(absl::StrCat("cannot run a worker on CPU ", cpu, ": not in this process's CPU set"));
  }
  return absl::OkStatus();
}

}  // namespace

Worker::Worker(Options options)
    : options_(std::move(options)),
      level_(ChoosePipeline()),
      context_({.worker = options_.id,
                .adjacencies = options_.adjacencies,
                .lane = options_.lane,
                .to_slow_path = options_.to_slow_path,
                .outboxes = options_.outboxes}) {
  options_.burst = std::clamp<uint16_t>(options_.burst, 1, kBurst);
  reader_ = options_.publisher->AddReader(absl::StrCat("worker-", options_.id));
}

Worker::~Worker() {
  Stop();
  if (reader_ == nullptr) return;
  reader_->Offline();
  options_.publisher->RemoveReader(reader_);
}

absl::Status Worker::Start() {
  if (!level_.ok()) return level_.status();
  if (reader_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("too many readers: no room for worker ", options_.id));
  }
  absl::Status started;
  absl::Notification ready;
  stop_.store(false, std::memory_order_relaxed);
  thread_ = std::thread([&] {
    pthread_setname_np(pthread_self(), absl::StrCat("worker-", options_.id).c_str());
    started = Pin(options_.cpu);
    // Registered threads have a cache in each packet pool.
    if (started.ok() && rte_thread_register() != 0) {
      started = absl::ResourceExhaustedError(
          absl::StrCat("cannot register worker ", options_.id, " with DPDK: ", rte_strerror(rte_errno)));
    }
    const bool ok = started.ok();
    ready.Notify();  // `started` and `ready` are gone after this
    if (!ok) return;
    Run();
    rte_thread_unregister();
  });
  ready.WaitForNotification();
  if (!started.ok()) thread_.join();
  return started;
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void Worker::Run() {
  prctl(PR_SET_TIMERSLACK, 1000);  // ns: a nap is as long as it says
  const double hz = static_cast<double>(rte_get_tsc_hz());
  const uint64_t idle_after = static_cast<uint64_t>(absl::ToDoubleSeconds(kIdleAfter) * hz);
  const timespec nap = absl::ToTimespec(kNap);
  LaneTotals& totals = options_.lane->totals;
  uint64_t before = rte_rdtsc();
  uint64_t last_packet = before;
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint32_t packets = RunOnce();
    const uint64_t now = rte_rdtsc();
    (packets != 0 ? totals.busy_cycles : totals.idle_cycles).Add(now - before);
    before = now;
    if (packets != 0) {
      last_packet = now;
      if (idle_.load(std::memory_order_relaxed)) idle_.store(false, std::memory_order_relaxed);
    } else if (options_.may_sleep && now - last_packet > idle_after) {
      if (!idle_.load(std::memory_order_relaxed)) idle_.store(true, std::memory_order_relaxed);
      nanosleep(&nap, nullptr);
    }
  }
  reader_->Offline();
}

uint32_t Worker::RunOnce() {
  const Snapshot& snapshot = *reader_->Enter();
  const QueuePlan& plan = *options_.board->Load(options_.id);
  context_.UsePlan(&plan);
  uint32_t packets = PollQueues(plan, snapshot);
  if (!options_.inboxes.empty()) packets += TakeHandedOver(snapshot);
  packets += TakeInjected(snapshot);
  context_.Flush();
  reader_->Quiesce();
  if (context_.TakePunted() && options_.wake_slow_path) options_.wake_slow_path();
  heartbeat_.store(heartbeat_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return packets;
}

uint32_t Worker::PollQueues(const QueuePlan& plan, const Snapshot& snapshot) {
  uint32_t packets = 0;
  rte_mbuf* burst[kBurst];
  for (const RxQueue& q : plan.rx) {
    const uint16_t n = rte_eth_rx_burst(q.port, q.queue, burst, options_.burst);
    if (n == 0) continue;
    context_.Received(burst, n);
    (*level_)->entries->process(context_, snapshot, q.port, burst, n);
    context_.Flush();
    options_.lane->totals.bursts.Add(1);
    packets += n;
  }
  return packets;
}

uint32_t Worker::TakeHandedOver(const Snapshot& snapshot) {
  uint32_t packets = 0;
  rte_mbuf* burst[kBurst];
  for (rte_ring* inbox : options_.inboxes) {
    if (inbox == nullptr) continue;
    const uint32_t n = rte_ring_sc_dequeue_burst(inbox, reinterpret_cast<void**>(burst), kBurst, nullptr);
    for (uint32_t i = 0; i < n; ++i) context_.SendHandedOver(snapshot, burst[i]);
    packets += n;
  }
  return packets;
}

uint32_t Worker::TakeInjected(const Snapshot& snapshot) {
  uint32_t frames = 0;
  for (; frames < kInjectBudget; ++frames) {
    const absl::Span<const char> record = options_.from_slow_path->Front();
    if (record.empty()) break;
    InjectHeader header;
    std::memcpy(&header, record.data(), sizeof header);
    LaneTotals& totals = options_.lane->totals;
    (header.generated != 0 ? totals.generated : totals.handed_in).Add(1);
    const LinkEntry& out = snapshot.link(header.link);
    if (out.kind != LinkKind::kPort || out.port >= kMaxPorts || !out.up()) {
      context_.DropUnmade(DropReason::kOutLinkDown);
    } else if (rte_mbuf* m = context_.Allocate(header.length); m == nullptr) {
      context_.DropUnmade(DropReason::kNoBuffer);
    } else {
      CopyIn(m, 0, record.data() + sizeof header, header.length);
      context_.Send(m, out);
    }
    options_.from_slow_path->Pop();
  }
  return frames;
}

}  // namespace sluice
