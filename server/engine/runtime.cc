#include "server/engine/runtime.h"

#include <link.h>
#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "dataplane/base/record_ring.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/packet_pool.h"
#include "dataplane/snapshot/builder.h"
#include "dataplane/worker/handover.h"
#include "dataplane/worker/pipeline.h"
#include "dataplane/worker/slow_path.h"
#include "dataplane/worker/worker.h"
#include "server/engine/devices.h"
#include "server/engine/executor.h"

namespace sluice::engine {
namespace {

constexpr size_t kAdjacencies = 65536;
constexpr size_t kSlowPathRing = size_t{1} << 20;  // bytes, each way and worker
constexpr unsigned kWorkerBuffers = 4096;          // for each worker: fragments, and frames of the slow path
constexpr uint32_t kBufferBytes = 2176;            // a frame of 2,048 bytes and the headroom

config::NudState NudOf(NeighborState state) {
  switch (state) {
    case NeighborState::kIncomplete:
      return config::NudState::kIncomplete;
    case NeighborState::kReachable:
      return config::NudState::kReachable;
    case NeighborState::kStale:
      return config::NudState::kStale;
    case NeighborState::kDelay:
      return config::NudState::kDelay;
    case NeighborState::kProbe:
      return config::NudState::kProbe;
    case NeighborState::kFailed:
      return config::NudState::kFailed;
    case NeighborState::kNoArp:
      return config::NudState::kNoArp;
    case NeighborState::kPermanent:
      return config::NudState::kPermanent;
    case NeighborState::kNone:
      break;
  }
  return config::NudState::kNone;
}

// Adjacency cells for the compiler. A cell that nobody uses any more may still be found by a worker in the hash, so its
// index waits for another grace period.
class Adjacencies final : public config::AdjacencyAllocator {
 public:
  Adjacencies(AdjacencyTable& table, Publisher& publisher) : table_(table), publisher_(publisher) {}
  absl::StatusOr<AdjacencyIndex> Acquire(LinkIndex link, const IpAddress& address) override {
    return table_.Acquire({link, address});
  }
  void Release(AdjacencyIndex adjacency) override {
    if (!table_.Release(adjacency)) return;
    publisher_.AfterGrace([&table = table_, adjacency] { table.Recycle(adjacency); });
  }

 private:
  AdjacencyTable& table_;
  Publisher& publisher_;
};

class Cells final : public config::CellAllocator {
 public:
  explicit Cells(Counters& counters) : counters_(counters) {}
  absl::StatusOr<CellIndex> Allocate() override { return counters_.AllocateCell(); }
  void Free(CellIndex cell) override { counters_.FreeCell(cell); }

 private:
  Counters& counters_;
};

struct PoolDeleter {
  void operator()(rte_mempool* pool) const { PacketPools::Global().GiveBack(pool); }
};

// A worker's sign of life, as seen from outside.
struct Pulse {
  uint64_t heartbeat = 0;
  absl::Time moved;
};

}  // namespace

struct Runtime::Parts {
  explicit Parts(RuntimeOptions o)
      : options(std::move(o)),
        publisher(MakeEmptySnapshot(arena)),
        counters(options.worker_cpus.size() + 1),
        adjacencies(kAdjacencies),
        board(options.worker_cpus.size()),
        adjacency_hook(adjacencies, publisher),
        cell_hook(counters) {}

  absl::Status MakeRings();
  void MakeWorkers();

  // Destroyed from the end: threads first, then what they used, the arena last.
  RuntimeOptions options;
  Arena arena;
  AdjacencyTable& table() { return adjacencies; }
  Publisher publisher;
  Counters counters;
  AdjacencyTable adjacencies;
  PlanBoard board;
  Adjacencies adjacency_hook;
  Cells cell_hook;
  std::unique_ptr<rte_mempool, PoolDeleter> worker_pool;
  std::unique_ptr<HandoverRings> handover;
  std::vector<std::unique_ptr<RecordRing>> to_slow, from_slow;  // by worker
  std::unique_ptr<SlowPath> slow_path;
  std::vector<std::unique_ptr<Worker>> workers;
  std::unique_ptr<Executor> port_thread;
  std::unique_ptr<Devices> devices;
  std::vector<std::string> lane_names;
  std::string instruction_set;
  bool stopped = false;

  absl::Mutex pin_mutex;
  Publisher::Reader* pin_reader = nullptr;

  mutable absl::Mutex pulse_mutex;
  mutable std::vector<Pulse> pulses ABSL_GUARDED_BY(pulse_mutex);
};

absl::Status Runtime::Parts::MakeRings() {
  const size_t n = options.worker_cpus.size();
  auto pool =
      PacketPools::Global().Take({.buffers = static_cast<uint32_t>(kWorkerBuffers * n), .data_room = kBufferBytes});
  if (!pool.ok()) return pool.status();
  worker_pool.reset(*pool);
  auto rings = HandoverRings::Create(n);
  if (!rings.ok()) return rings.status();
  handover = *std::move(rings);
  for (size_t i = 0; i < n; ++i) {
    to_slow.push_back(std::make_unique<RecordRing>(kSlowPathRing));
    from_slow.push_back(std::make_unique<RecordRing>(kSlowPathRing));
  }
  return absl::OkStatus();
}

void Runtime::Parts::MakeWorkers() {
  const size_t n = options.worker_cpus.size();
  std::vector<SlowPath::RingPair> rings;
  for (size_t i = 0; i < n; ++i) rings.push_back({.from_worker = to_slow[i].get(), .to_worker = from_slow[i].get()});
  slow_path = std::make_unique<SlowPath>(publisher, counters.lane(n), adjacencies, std::move(rings));
  for (size_t i = 0; i < n; ++i) {
    Worker::Options w;
    w.id = static_cast<uint16_t>(i);
    w.cpu = options.worker_cpus[i];
    w.may_sleep = options.idle == IdleMode::kSleep;
    w.publisher = &publisher;
    w.board = &board;
    w.adjacencies = &adjacencies;
    w.lane = &counters.lane(i);
    w.to_slow_path = to_slow[i].get();
    w.from_slow_path = from_slow[i].get();
    w.inboxes = handover->Inboxes(i);
    w.outboxes = handover->Outboxes(i);
    workers.push_back(std::make_unique<Worker>(std::move(w)));
    lane_names.push_back(absl::StrCat(options.worker_cpus[i]));
  }
  lane_names.push_back("slow");
  instruction_set = workers.front()->isa();
  absl::MutexLock lock(&pulse_mutex);
  pulses.assign(n, Pulse{.heartbeat = 0, .moved = absl::Now()});
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(RuntimeOptions options) {
  if (options.worker_cpus.empty()) return absl::InvalidArgumentError("at least one worker is needed");
  EalOptions eal;
  eal.args = options.eal_args;
  for (const int cpu : options.control_cpus) eal.control_cpus.push_back(static_cast<uint32_t>(cpu));
  // In one process there is one EAL; a second runtime in it (tests restart the engine) finds it started.
  static std::atomic<bool> eal_started{false};
  if (!eal_started.load()) {
    if (auto s = StartEal(eal); !s.ok()) return s;
    eal_started.store(true);
  }
  auto parts = std::make_unique<Parts>(std::move(options));
  if (auto s = parts->MakeRings(); !s.ok()) return s;
  parts->pin_reader = parts->publisher.AddReader("explain");
  parts->MakeWorkers();
  parts->port_thread = std::make_unique<Executor>();
  parts->devices = std::make_unique<Devices>(
      parts->publisher, parts->board, parts->worker_pool.get(),
      [thread = parts->port_thread.get()](absl::AnyInvocable<void()> work) { thread->Post(std::move(work)); });
  return std::unique_ptr<Runtime>(new Runtime(std::move(parts)));
}

Runtime::Runtime(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Runtime::~Runtime() {
  Stop();
  Parts& p = *parts_;
  p.publisher.RemoveReader(p.pin_reader);
  p.workers.clear();
  p.slow_path.reset();
  p.publisher.Reclaim();  // nobody reads any more: everything goes, and what was to happen after the grace period does
  p.publisher.Reclaim();
}

Arena& Runtime::arena() { return parts_->arena; }
Publisher& Runtime::publisher() { return parts_->publisher; }
Counters& Runtime::counters() { return parts_->counters; }
AdjacencyTable& Runtime::adjacencies() { return parts_->adjacencies; }
const std::vector<std::string>& Runtime::lane_names() const { return parts_->lane_names; }
const std::string& Runtime::instruction_set() const { return parts_->instruction_set; }
double Runtime::tsc_hz() const { return static_cast<double>(rte_get_tsc_hz()); }

config::CompileHooks Runtime::compile_hooks() {
  return {.adjacencies = &parts_->adjacency_hook, .cells = &parts_->cell_hook, .links = parts_->devices.get()};
}

config::DeviceDirectory& Runtime::devices() { return *parts_->devices; }

void Runtime::Reclaim() { parts_->publisher.Reclaim(); }

void Runtime::Published(const config::Config& before, const config::Config& now, const config::Touched& touched,
                        absl::Span<const config::NeighborChange> neighbors) {
  Parts& p = *parts_;
  for (const config::NeighborChange& change : neighbors) {
    const NeighborKey key{change.id.link, change.id.address};
    if (!change.record.has_value()) {
      p.slow_path->RemoveNeighbor(key);
      continue;
    }
    const bool noarp = change.record->nud == config::NudState::kNoArp;
    // Refused only for want of an adjacency cell; the entry is then learned like any other.
    (void)p.slow_path->SetPermanentNeighbor(key, change.record->mac,
                                            noarp ? NeighborState::kNoArp : NeighborState::kPermanent);
  }
  bool settle = false;
  std::vector<config::LinkRecord> configure;
  for (const LinkIndex link : touched.links) {
    const config::LinkRecord* record = now.links.Find(link);
    const config::LinkRecord* old = before.links.Find(link);
    if (record != nullptr) {
      p.devices->Adopt(*record);
      configure.push_back(*record);
      const bool moved = old != nullptr && (old->mac_in_use() != record->mac_in_use() || (old->up && !record->up));
      if (moved) p.slow_path->FlushNeighbors(link);
    } else {
      settle = true;
      if (old != nullptr) {
        p.devices->Forget(*old);
        p.slow_path->RemoveLink(link);
      }
    }
  }
  if (!configure.empty()) {
    PostPortWork([this, configure = std::move(configure)] {
      for (const config::LinkRecord& record : configure) parts_->devices->Configure(record);
    });
  }
  // Workers that still have the old snapshot may send to the device: it is closed when none has.
  if (settle) p.publisher.AfterGrace([this] { SettleDevices({}); });
}

Runtime::SnapshotPin::SnapshotPin(Runtime& runtime) : runtime_(runtime) {
  runtime_.parts_->pin_mutex.Lock();
  snapshot_ = runtime_.parts_->pin_reader->Enter();
}

Runtime::SnapshotPin::~SnapshotPin() {
  runtime_.parts_->pin_reader->Offline();
  runtime_.parts_->pin_mutex.Unlock();
}

void Runtime::PostPortWork(absl::AnyInvocable<void()> work) { parts_->port_thread->Post(std::move(work)); }

void Runtime::OpenDevices(absl::Span<const PortRequest> requests) {
  for (const PortRequest& request : requests) parts_->devices->Open(request);
}

void Runtime::SettleDevices(std::vector<PortRequest> requests) {
  PostPortWork([this, requests = std::move(requests)] {
    parts_->devices->Release(requests);
    parts_->devices->Settle();
  });
}

absl::Status Runtime::StartWorkers() {
  parts_->slow_path->Start();
  for (auto& worker : parts_->workers) {
    if (auto s = worker->Start(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

void Runtime::StopPortThread() { parts_->port_thread->Stop(); }

void Runtime::Stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  p.port_thread->Stop();
  for (auto& worker : p.workers) worker->Stop();
  p.slow_path->Stop();
  p.publisher.Reclaim();
  p.devices->CloseAll();
}

std::vector<std::string> Runtime::PollLinks() { return parts_->devices->PollLinks(); }
void Runtime::FillLinkState(config::Link& link) const { parts_->devices->FillLinkState(link); }
std::vector<PortInfo> Runtime::port_infos() const { return parts_->devices->infos(); }
std::vector<PortCounters> Runtime::port_counters() const { return parts_->devices->counters(); }
bool Runtime::ports_ok() const { return parts_->devices->all_open(); }

std::vector<PoolLevel> Runtime::pool_levels() const {
  std::vector<PoolLevel> levels;
  for (const PoolUse& use : PacketPools::Global().Use()) {
    levels.push_back({.name = use.name, .available = use.available, .capacity = use.capacity});
  }
  return levels;
}

std::vector<LearnedNeighbor> Runtime::learned_neighbors() const {
  std::vector<LearnedNeighbor> out;
  for (const NeighborInfo& info : parts_->slow_path->DumpNeighbors()) {
    if (info.state == NeighborState::kPermanent || info.state == NeighborState::kNoArp) continue;
    LearnedNeighbor n;
    n.link = info.link;
    n.address = info.address;
    if (!info.mac.IsZero()) n.mac = info.mac;
    n.nud = NudOf(info.state);
    n.router = info.router;
    n.used_seconds = static_cast<uint32_t>(info.used / kSecond);
    n.confirmed_seconds = static_cast<uint32_t>(info.confirmed / kSecond);
    n.updated_seconds = static_cast<uint32_t>(info.updated / kSecond);
    n.probes = info.probes;
    n.held_packets = info.queued;
    out.push_back(std::move(n));
  }
  return out;
}

void Runtime::ForgetNeighbors(absl::Span<const NeighborKey> keys) {
  for (const NeighborKey& key : keys) parts_->slow_path->RemoveNeighbor(key);
}

NeighborCounters Runtime::neighbor_counters() const {
  const SlowPath& slow = *parts_->slow_path;
  NeighborCounters out;
  constexpr std::array kStates = {NeighborState::kIncomplete, NeighborState::kReachable, NeighborState::kStale,
                                  NeighborState::kDelay,      NeighborState::kProbe,     NeighborState::kFailed,
                                  NeighborState::kNoArp,      NeighborState::kPermanent};
  std::array<uint64_t, kStates.size()> counts = {};
  for (const NeighborInfo& info : parts_->slow_path->DumpNeighbors()) {
    const auto at = std::find(kStates.begin(), kStates.end(), info.state);
    if (at != kStates.end()) ++counts[static_cast<size_t>(at - kStates.begin())];
  }
  for (size_t i = 0; i < kStates.size(); ++i) {
    out.by_state.emplace_back(absl::AsciiStrToLower(NeighborStateName(kStates[i])), counts[i]);
  }
  const NeighborMachine::Stats& stats = slow.neighbor_stats();
  out.queries = stats.queries.Get();
  out.answers = stats.answers.Get();
  out.failures = stats.failures.Get();
  out.evictions = stats.evictions.Get();
  out.table_full = stats.table_full.Get();
  out.icmp_sent = slow.icmp_errors_sent();
  out.icmp_limited = slow.icmp_errors_limited();
  for (size_t i = 0; i < kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    out.rejected.emplace_back(reason, slow.rejected(reason));
  }
  return out;
}

std::vector<WorkerInfo> Runtime::worker_infos() const {
  std::vector<WorkerInfo> out;
  const std::vector<Publisher::ReaderState> readers = parts_->publisher.readers();
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&parts_->pulse_mutex);
  for (const auto& worker : parts_->workers) {
    WorkerInfo& info = out.emplace_back();
    info.index = worker->id();
    info.cpu = static_cast<uint32_t>(std::max(worker->cpu(), 0));
    const std::string name = absl::StrCat("worker-", worker->id());
    for (const Publisher::ReaderState& reader : readers) {
      if (reader.name == name) info.epoch = reader.seen_epoch;
    }
    Pulse& pulse = parts_->pulses[worker->id()];
    if (const uint64_t beat = worker->heartbeat(); beat != pulse.heartbeat) pulse = {beat, now};
    info.heartbeat_age = now - pulse.moved;
    info.rx_queues = parts_->devices->rx_queues(worker->id());
    info.health = info.heartbeat_age > absl::Seconds(1)      ? WorkerHealth::kStalled
                  : worker->idle() || info.rx_queues.empty() ? WorkerHealth::kIdle
                                                             : WorkerHealth::kPolling;
  }
  return out;
}

// EAL loads every driver as a shared object of its own: those that are loaded are those there are.
std::vector<std::string> Runtime::drivers() const {
  std::vector<std::string> out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        absl::string_view name(info->dlpi_name);
        if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) name.remove_prefix(slash + 1);
        if (!absl::ConsumePrefix(&name, "librte_net_")) return 0;
        static_cast<std::vector<std::string>*>(list)->push_back(absl::StrCat("net_", name.substr(0, name.find('.'))));
        return 0;
      },
      &out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string Runtime::DescribeReader(const std::string& name) const {
  for (const auto& worker : parts_->workers) {
    if (name == absl::StrCat("worker-", worker->id())) {
      return absl::StrCat("worker ", worker->id(), " (cpu ", worker->cpu(), ")");
    }
  }
  return name;
}

std::vector<std::string> Runtime::warnings() const {
  std::vector<std::string> out;
  if (!EalUsesHugePages()) out.emplace_back("no huge pages: running without");
  for (const PortInfo& port : port_infos()) {
    if (!port.problem.empty()) out.push_back(absl::StrCat("port ", port.name, ": ", port.problem));
  }
  return out;
}

}  // namespace sluice::engine
