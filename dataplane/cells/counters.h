// Counters, one set for each thread that handles packets, summed only when somebody reads.
//
// Why: a counter shared by workers is a cache line that travels between cores with every packet. Each lane (a worker,
// or the slow path) owns its own memory and is its only writer, so an increment is a plain add; readers on other
// threads see a value that was true a moment ago, never a torn one.
//
//   Counters counters(/*lanes=*/3);
//   CellIndex cell = *counters.AllocateCell();            // control side, for a link, a nexthop, a route
//   counters.lane(1).Count(cell, packets, bytes);         // worker 1, per burst or per packet
//   PacketBytes sum = counters.Read(cell);                // any thread
//   counters.FreeCell(cell);                              // control side, after the grace period: the next owner
//                                                         // of the cell starts at 0
//
// Threads: as written at each function. Cost: an add to a line that only this core writes.
#ifndef SLUICE_DATAPLANE_CELLS_COUNTERS_H_
#define SLUICE_DATAPLANE_CELLS_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dataplane/cells/drop_reason.h"

namespace sluice {

// Names a {packets, bytes} cell. 0 is a cell that exists from the start and that nobody reads: "not counted".
using CellIndex = uint32_t;

struct PacketBytes {
  uint64_t packets = 0;
  uint64_t bytes = 0;  // L2 frame bytes without FCS for links, L3 bytes for routes and nexthops
};

// A number with one writer and any readers.
class OwnedCounter {
 public:
  void Add(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What became of the packets of one lane. The law (DESIGN "conservation"), at any moment when the lane is between
// bursts:
//   received + generated + handed_in = transmitted + dropped + delivered + absorbed + handed_out + change in held
struct LaneTotals {
  OwnedCounter received;  // from a device
  OwnedCounter
      generated;  // made here or by the slow path on behalf of Sluice: ICMP, ARP, ND, fragments beyond the first
  OwnedCounter handed_in;    // from another lane
  OwnedCounter transmitted;  // given to a device
  OwnedCounter delivered;    // for an own address
  OwnedCounter absorbed;     // link-layer control traffic consumed here: ARP and ND
  OwnedCounter handed_out;   // to another lane
  OwnedCounter held;         // a gauge, by difference: held_in - held_out (see held_out)
  OwnedCounter held_out;
  OwnedCounter hint_hits;
  OwnedCounter hint_misses;
  OwnedCounter busy_cycles;  // TSC cycles in bursts that carried packets
  OwnedCounter idle_cycles;  // TSC cycles in empty polls and sleep
  OwnedCounter bursts;
  OwnedCounter slow_path_events;  // notifications that could not be queued are in slow_path_lost
  OwnedCounter slow_path_lost;
};

class Counters {
 public:
  static constexpr size_t kChunkCells = 4096;
  static constexpr size_t kMaxChunks = 1024;  // 4 M cells

  class alignas(64) Lane {
   public:
    // Writers: the lane's own thread only.
    void Count(CellIndex cell, uint64_t packets, uint64_t bytes) {
      Cell& c = chunks_[cell / kChunkCells].load(std::memory_order_acquire)->cells[cell % kChunkCells];
      c.packets.Add(packets);
      c.bytes.Add(bytes);
    }
    void Drop(DropReason reason, uint64_t packets = 1) { drops_[static_cast<size_t>(reason)].Add(packets); }
    LaneTotals totals;

    // Readers: any thread.
    uint64_t drops(DropReason reason) const { return drops_[static_cast<size_t>(reason)].Get(); }
    uint64_t dropped() const;  // the sum over all reasons

   private:
    friend class Counters;
    struct Cell {
      OwnedCounter packets;
      OwnedCounter bytes;
    };
    // Aligned, so that no two lanes share a cache line.
    struct alignas(64) Chunk {
      Cell cells[kChunkCells];
    };
    OwnedCounter drops_[kDropReasons];
    std::atomic<Chunk*> chunks_[kMaxChunks] = {};
  };

  explicit Counters(size_t lanes);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  size_t lanes() const { return lanes_.size(); }
  Lane& lane(size_t i) { return *lanes_[i]; }
  const Lane& lane(size_t i) const { return *lanes_[i]; }

  // Control side. A cell that reads zero; RESOURCE_EXHAUSTED when 4 M cells are in use.
  absl::StatusOr<CellIndex> AllocateCell();
  // Control side, once no snapshot that names the cell can be in use. Zeroes it for its next owner.
  void FreeCell(CellIndex cell);
  size_t cells_in_use() const;

  // Any thread: the sum over lanes.
  PacketBytes Read(CellIndex cell) const;
  uint64_t Drops(DropReason reason) const;

 private:
  std::vector<std::unique_ptr<Lane>> lanes_;
  mutable absl::Mutex mutex_;
  CellIndex next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<CellIndex> free_ ABSL_GUARDED_BY(mutex_);
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_CELLS_COUNTERS_H_
