// Adjacencies: for each neighbour one 64-bit cell that says whether and how frames reach it.
//
// Why: a neighbour that is learned, changes its MAC or goes away must take effect for all routes at once, without a
// publication and without a lock on the packet path. So the MAC does not lie in the snapshot: nexthops name a cell, the
// slow-path thread writes it with one store, and workers read it once per packet.
//
//   AdjacencyIndex a = nexthop.on_link() ? table.Find(nexthop.link, packet.destination) : nexthop.adjacency;
//   Adjacency now = table.Read(a);
//   if (now.usable()) { write now.mac; if (now.wants_report()) tell the slow path that a stale entry is in use; }
//   else hand the packet to the slow path, which resolves and sends it
//
// Cells and the hash from (link, address) to them live in arrays whose bases never move. An entry that is removed is
// reused only after every worker has passed a quiescent state, so that Find never returns somebody else's cell.
//
// Threads: Find and Read from any registered reader, lock-free; everything else from the slow-path thread or under the
// table's own mutex (Acquire and Release are called by the control side). Cost: Read one load; Find one bucket (64
// bytes) and one key compare.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_
#define SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "dataplane/base/address.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/link/link.h"

namespace sluice {

// What a cell holds: bits 0-47 the MAC (MacAddress::ToBits), bit 48 usable, bit 49 report use, bits 52-63 a version
// that moves with every change.
class Adjacency {
 public:
  static constexpr uint64_t kUsable = uint64_t{1} << 48;
  static constexpr uint64_t kReport = uint64_t{1} << 49;

  constexpr Adjacency() = default;
  constexpr explicit Adjacency(uint64_t bits) : bits_(bits) {}
  // A frame may be sent to mac().
  bool usable() const { return bits_ & kUsable; }
  // The entry is stale: usable, but the slow path wants to hear that it is being used (RFC 4861 §7.3.3 DELAY).
  bool wants_report() const { return bits_ & kReport; }
  MacAddress mac() const { return MacAddress::FromBits(bits_); }
  uint64_t bits() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};

struct NeighborKey {
  LinkIndex link = 0;
  IpAddress address;
  friend bool operator==(const NeighborKey&, const NeighborKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NeighborKey& k) {
    return H::combine(std::move(h), k.link, k.address);
  }
};

class AdjacencyTable {
 public:
  // Room for `capacity` neighbours of both families together.
  explicit AdjacencyTable(size_t capacity = 65536);
  ~AdjacencyTable();
  AdjacencyTable(const AdjacencyTable&) = delete;
  AdjacencyTable& operator=(const AdjacencyTable&) = delete;

  // Readers, per packet. 0 when there is no entry.
  AdjacencyIndex Find(LinkIndex link, Ipv4Address address) const;
  AdjacencyIndex Find(LinkIndex link, const Ipv6Address& address) const;
  Adjacency Read(AdjacencyIndex index) const { return Adjacency(cells_[index].load(std::memory_order_relaxed)); }
  NeighborKey Key(AdjacencyIndex index) const;

  // Control side or slow path: the entry of this neighbour, made if need be, with one more user. Users are nexthops (by
  // gateway), permanent neighbours, and the slow path's own state. RESOURCE_EXHAUSTED when the table is full.
  absl::StatusOr<AdjacencyIndex> Acquire(const NeighborKey& key);
  // One user less. True when it was the last: the entry has then left the hash, and the caller has Recycle(index)
  // called after the grace period (Publisher::AfterGrace), since a worker may still hold the index.
  [[nodiscard]] bool Release(AdjacencyIndex index);
  void Recycle(AdjacencyIndex index);

  // Slow path: one store.
  void Write(AdjacencyIndex index, MacAddress mac, bool usable, bool report);

  size_t size() const;
  size_t capacity() const { return capacity_; }

 private:
  struct Impl;
  size_t capacity_;
  std::unique_ptr<std::atomic<uint64_t>[]> cells_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_
