// The running data plane: memory, publisher, counters, neighbours, devices and workers, started and stopped as one.
//
// Why: the engine's writer speaks of configs and snapshots; somebody has to own what they run on. Nothing here decides
// anything about desired state.
//
//   auto runtime = Runtime::Create(options);           // EAL, tables; no worker yet
//   (*runtime)->OpenDevices({{.name = "up0", .devargs = "net_null0"}});
//   ... publish the first snapshot ...
//   (*runtime)->StartWorkers();
//
// Threads: as said at each function; "any" unless it says otherwise. One Runtime in a process (DPDK has one EAL).
#ifndef SLUICE_SERVER_ENGINE_RUNTIME_H_
#define SLUICE_SERVER_ENGINE_RUNTIME_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "dataplane/base/arena.h"
#include "dataplane/cells/counters.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/snapshot/publisher.h"
#include "server/config/apply.h"
#include "server/config/compile.h"
#include "server/engine/engine.h"
#include "server/engine/runtime_options.h"

namespace sluice::engine {

// A device that a link is to have. Queues: 0 for one per worker.
struct PortRequest {
  std::string name;
  std::string devargs;
  uint32_t rx_queues = 0;
  uint32_t tx_queues = 0;
  uint32_t mtu = 0;  // 0: 1500
  std::optional<MacAddress> mac;
};

struct LearnedNeighbor {
  LinkIndex link = 0;
  IpAddress address;
  std::optional<MacAddress> mac;
  config::NudState nud = config::NudState::kNone;
  bool router = false;
  uint32_t used_seconds = 0, confirmed_seconds = 0, updated_seconds = 0;
  uint32_t probes = 0, held_packets = 0;
};

// Counters of a device, and of a pool of buffers.
struct PortCounters {
  std::string name;
  uint64_t rx_packets = 0, rx_bytes = 0, rx_errors = 0, rx_drops = 0;
  uint64_t tx_packets = 0, tx_bytes = 0, tx_errors = 0, tx_drops = 0;
};
struct PoolLevel {
  std::string name;
  uint64_t available = 0, capacity = 0;
};

// What the slow path has done.
struct NeighborCounters {
  std::vector<std::pair<std::string, uint64_t>> by_state;  // every state, once
  uint64_t queries = 0, answers = 0, failures = 0, evictions = 0, table_full = 0;
  uint64_t icmp_sent = 0, icmp_limited = 0;
  std::vector<std::pair<DropReason, uint64_t>> rejected;  // every reason, once
};

class Runtime {
 public:
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(RuntimeOptions options);
  ~Runtime();

  Arena& arena();
  Publisher& publisher();
  Counters& counters();
  AdjacencyTable& adjacencies();
  // The label `cpu` of each lane of counters(): a number, or "slow".
  const std::vector<std::string>& lane_names() const;
  const std::string& instruction_set() const;
  // DPDK drivers that are built in.
  std::vector<std::string> drivers() const;

  // For the writer.
  config::CompileHooks compile_hooks();
  config::DeviceDirectory& devices();
  // After each publication, on the writer's thread: neighbours go to the slow path, settings to devices, and devices
  // of links that are gone are closed, off this thread.
  void Published(const config::Config& before, const config::Config& now, const config::Touched& touched,
                 absl::Span<const config::NeighborChange> neighbors);
  // Frees what workers no longer hold.
  void Reclaim();

  // Keeps the live snapshot from being freed, as a reader like any worker. For moments: retired memory grows meanwhile,
  // and VISIBLE waits. One at a time; others wait for it.
  class SnapshotPin {
   public:
    explicit SnapshotPin(Runtime& runtime);
    ~SnapshotPin();
    SnapshotPin(const SnapshotPin&) = delete;
    SnapshotPin& operator=(const SnapshotPin&) = delete;
    const Snapshot& snapshot() const { return *snapshot_; }

   private:
    Runtime& runtime_;
    const Snapshot* snapshot_;
  };

  // Devices. Open and Settle may take long: the port thread's (PostPortWork), or before the start. A device that cannot
  // be opened is remembered with its problem, until it is settled.
  void PostPortWork(absl::AnyInvocable<void()> work);
  void OpenDevices(absl::Span<const PortRequest> requests);
  // Ends the claims that OpenDevices made, and closes what no published link has, soon, on the port thread.
  void SettleDevices(std::vector<PortRequest> requests);

  absl::Status StartWorkers();
  void StopPortThread();
  // Workers stop, devices close. Idempotent.
  void Stop();

  // Names of links whose carrier has changed since the last call. The keeper's.
  std::vector<std::string> PollLinks();

  // What the API shows.
  void FillLinkState(config::Link& link) const;
  std::vector<LearnedNeighbor> learned_neighbors() const;
  void ForgetNeighbors(absl::Span<const NeighborKey> keys);
  std::vector<WorkerInfo> worker_infos() const;
  std::vector<PortInfo> port_infos() const;
  std::vector<PortCounters> port_counters() const;
  std::vector<PoolLevel> pool_levels() const;
  NeighborCounters neighbor_counters() const;
  double tsc_hz() const;
  // "worker 2 (cpu 5)" for the name that a reader has at the publisher.
  std::string DescribeReader(const std::string& name) const;
  std::vector<std::string> warnings() const;
  // Every device of a link is open.
  bool ports_ok() const;

 private:
  struct Parts;
  explicit Runtime(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_RUNTIME_H_
