// From the desired state to the data plane: brings a SnapshotBuilder in line with a Config, for the keys touched.
//
// Why: the data plane knows slots, cells and leaves; config knows objects. This is the only code that knows both. What
// a slot holds beyond the snapshot (the adjacency of its gateway, its counter cell) is acquired here, kept while the
// slot keeps its meaning, and handed back for release after the grace period.
//
//   Compiler compiler({.adjacencies = &a, .cells = &c, .links = &l});
//   absl::StatusOr<Compiled> compiled = compiler.Compile(outcome.config, outcome.touched, builder);
//   if (!compiled.ok()) { builder.Abort(); refuse RESOURCE_EXHAUSTED; }        // all that was acquired is given back
//   ... store, publish ...
//   Released old = compiler.Commit(*std::move(compiled));                      // or Abort(*std::move(compiled))
//   after the grace period: compiler.Free(old);
//
// One Compile at a time is between Compile and Commit. Batches that are published together are compiled as one: the
// last Config, and the Touched of all of them appended. After Compile fails or is aborted the builder is good only for
// Abort.
//
// Threads: the writer's; rx_cell, tx_cell and nexthop_cell too (readers of counters are told by the writer). Cost:
// about 0.3 us a route, and the builder's.
#ifndef SLUICE_SERVER_CONFIG_COMPILE_H_
#define SLUICE_SERVER_CONFIG_COMPILE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/cells/counters.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/snapshot/builder.h"
#include "server/config/config.h"
#include "server/config/touched.h"

namespace sluice::config {

// Where the cells of gateways come from; tests have their own.
class AdjacencyAllocator {
 public:
  virtual ~AdjacencyAllocator() = default;
  // One more user of the cell of this neighbour. RESOURCE_EXHAUSTED when the table is full.
  virtual absl::StatusOr<AdjacencyIndex> Acquire(LinkIndex link, const IpAddress& address) = 0;
  // One user less. No snapshot that names the cell for this use can be read any more, or none ever was.
  virtual void Release(AdjacencyIndex adjacency) = 0;
};

// Where counter cells come from.
class CellAllocator {
 public:
  virtual ~CellAllocator() = default;
  virtual absl::StatusOr<CellIndex> Allocate() = 0;
  virtual void Free(CellIndex cell) = 0;
};

// What runs below a link now. The rest of a link's entry is config's.
struct LinkRuntime {
  uint16_t port = 0;     // DPDK port id
  bool present = false;  // the device is open; otherwise the link is as if it were down
  bool running = false;  // carrier
  MacAddress mac;        // in use; zero: as config has it
};
class LinkRuntimes {
 public:
  virtual ~LinkRuntimes() = default;
  virtual LinkRuntime Get(LinkIndex link, const LinkRecord& record) = 0;
};

struct CompileHooks {
  AdjacencyAllocator* adjacencies = nullptr;
  CellAllocator* cells = nullptr;
  LinkRuntimes* links = nullptr;
};

// Resources that snapshots may name until the grace period is over.
struct Released {
  std::vector<AdjacencyIndex> adjacencies;
  std::vector<CellIndex> cells;
  bool empty() const { return adjacencies.empty() && cells.empty(); }
};

// A configured neighbour that came, changed or went (then `record` is empty): for the slow path, once published.
struct NeighborChange {
  NeighborId id;
  std::optional<NeighborRecord> record;
};

class Compiled;

class Compiler {
 public:
  explicit Compiler(CompileHooks hooks);

  // Sets or removes in `builder` what the keys in `touched` are in `next`. RESOURCE_EXHAUSTED (of the builder, of the
  // hooks), and then everything acquired is given back.
  absl::StatusOr<Compiled> Compile(const Config& next, const Touched& touched, SnapshotBuilder& builder);
  // The snapshot is published: what Compile acquired is the state now. Returns what the replaced slots held.
  [[nodiscard]] Released Commit(Compiled&& compiled);
  // The snapshot will not be published: gives everything acquired back.
  void Abort(Compiled&& compiled);
  void Free(const Released& released);

  // Everything in `config`, for a first build.
  static Touched Everything(const Config& config);

  // The counter cells in use; 0 for what does not exist. A route with `counted` has the cell of its nexthop.
  CellIndex rx_cell(LinkIndex link) const;
  CellIndex tx_cell(LinkIndex link) const;
  CellIndex nexthop_cell(NexthopIndex nexthop) const;
  // Slots that hold resources: for leak tests and gauges.
  size_t nexthops() const { return nexthops_.size(); }
  size_t links() const { return links_.size(); }

 private:
  friend class Compiled;
  friend class CompileRun;
  struct NexthopState {
    NexthopSpec spec;
    AdjacencyIndex adjacency = 0;
    CellIndex cell = 0;
  };
  struct LinkState {
    CellIndex rx_cell = 0;
    CellIndex tx_cell = 0;
  };

  CompileHooks hooks_;
  absl::flat_hash_map<NexthopIndex, NexthopState> nexthops_;
  absl::flat_hash_map<LinkIndex, LinkState> links_;
};

// What a Compile acquired and will replace. Must go to Commit or Abort.
class Compiled {
 public:
  Compiled(Compiled&&) = default;
  Compiled& operator=(Compiled&&) = default;
  const std::vector<NeighborChange>& neighbors() const { return neighbors_; }

 private:
  friend class Compiler;
  friend class CompileRun;
  Compiled() = default;
  // New states by index; nullopt: the slot is gone.
  absl::flat_hash_map<NexthopIndex, std::optional<Compiler::NexthopState>> nexthops_;
  absl::flat_hash_map<LinkIndex, std::optional<Compiler::LinkState>> links_;
  Released acquired_;  // to be given back by Abort
  Released replaced_;  // to be given back after Commit and the grace period
  std::vector<NeighborChange> neighbors_;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_COMPILE_H_
