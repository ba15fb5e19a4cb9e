// What the stages act upon: counters, the ring to the slow path, transmit buffers. One for each worker.
//
// Why a class of its own: the stages are templates over it. Explain gives them another one that writes down instead
// (observe/), and so runs the very code that packets run.
//
// The ring to the slow path is shared by all kinds of punts, and two of them anybody can cause in any number: packets
// that deserve an ICMP error, and packets for our own addresses. Each kind may therefore fill the ring only up to a
// backlog of its own, so that a flood of one cannot keep ARP and ND from the slow path.
//
// Example: pipeline.h. Threads: its worker only. Cost: per packet a store into a transmit buffer; per burst and port
// one tx burst.
#ifndef SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_
#define SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <vector>

#include "dataplane/base/record_ring.h"
#include "dataplane/cells/counters.h"
#include "dataplane/local/punt.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/snapshot/snapshot.h"
#include "dataplane/worker/burst.h"
#include "dataplane/worker/frame.h"
#include "dataplane/worker/queue_plan.h"

struct rte_ring;

namespace sluice {

// Where the cycles of the ledger go (README.md).
enum class Stage : uint8_t { kParse, kRoute, kResolve, kOutput, kTransmit };
inline constexpr size_t kStages = 5;

class WorkerContext {
 public:
  static constexpr bool kRecording = false;
  static constexpr bool kLedger = false;

  // Records of a kind that may wait in the ring to the slow path.
  static constexpr size_t kErrorBacklog = 256;
  static constexpr size_t kLocalBacklog = 512;
  static constexpr size_t kResolveBacklog = 1024;

  struct Options {
    uint16_t worker = 0;
    const AdjacencyTable* adjacencies = nullptr;
    Counters::Lane* lane = nullptr;
    RecordRing* to_slow_path = nullptr;
    // By worker: the ring that hands packets to it (this worker is its only producer); null for the worker itself.
    std::vector<rte_ring*> outboxes;
  };
  explicit WorkerContext(Options options);
  WorkerContext(const WorkerContext&) = delete;
  WorkerContext& operator=(const WorkerContext&) = delete;

  // The plan for the coming bursts; valid until the worker's next quiescent state.
  void UsePlan(const QueuePlan* plan) { plan_ = plan; }

  const AdjacencyTable& adjacencies() const { return *options_.adjacencies; }
  LaneTotals& totals() { return options_.lane->totals; }

  [[gnu::always_inline]] void Count(CellIndex cell, uint64_t packets, uint64_t bytes) {
    options_.lane->Count(cell, packets, bytes);
  }

  // The end of a packet.
  void Drop(rte_mbuf* m, DropReason reason) {
    options_.lane->Drop(reason);
    Free(m);
  }
  // A packet that dies before it has a buffer.
  void DropUnmade(DropReason reason) { options_.lane->Drop(reason); }
  // The end of a packet whose fate has been counted otherwise.
  void Free(rte_mbuf* m) {
    Poison(m);
    rte_pktmbuf_free(m);
  }

  // Copies `header` and `header.length` bytes of `m` from `offset` on into the ring. False: it was full, or this kind
  // had its share. `urgent` for neighbour discovery among kLocal.
  bool Punt(const PuntHeader& header, const rte_mbuf* m, uint32_t offset, bool urgent = false);
  // True when something was punted since the last call.
  bool TakePunted() { return std::exchange(punted_, false); }

  // Whether it is time to say (again) that this stale neighbour is in use. It is said at most ten times a second for
  // each, until the slow path clears the cell's bit: an event that was lost is so repeated.
  bool MayReport(AdjacencyIndex index);

  // A frame of `bytes` bytes made here, contents undefined; null when there is no buffer.
  rte_mbuf* Allocate(uint32_t bytes);

  // Queues a finished frame for `out`, whose port is below kMaxPorts. Flush, or a full buffer, sends it.
  [[gnu::always_inline]] void Send(rte_mbuf* m, const LinkEntry& out) {
    TxBuffer& tx = tx_[out.port];
    if (tx.link != out.index) [[unlikely]]
      Retarget(&tx, out);
    tx.packets[tx.count++] = m;
    pending_ |= uint64_t{1} << out.port;
    if (tx.count == kBurst) [[unlikely]]
      FlushPort(out.port);
  }
  // Sends what is queued: by the worker's own queue, or by handing it to the worker that owns one. What finds no room
  // is dropped and counted.
  void Flush() {
    while (pending_ != 0) FlushPort(static_cast<uint16_t>(__builtin_ctzll(pending_)));
  }

  // A packet that another worker handed over. It is sent if the link that it is meant for is still the one that its
  // Ethernet header was written for, and its port is this worker's; else dropped.
  void SendHandedOver(const Snapshot& snapshot, rte_mbuf* m);

  // In AddressSanitizer builds: freed frames may not be touched until they are received or allocated again. For tests:
  // a device driver's copies into a buffer would be seen as touching it.
  void PoisonFreedFrames() { poison_ = true; }
  // To be called with what was received, before it is looked at.
  void Received(rte_mbuf** packets, uint32_t count);

  void Mark(Stage) {}

 private:
  static_assert(kMaxPorts <= 64);
  struct TxBuffer {
    uint32_t count = 0;
    LinkIndex link = 0;
    CellIndex cell = 0;  // of the link
    uint16_t port = 0;
    rte_mbuf* packets[kBurst];
  };
  struct Report {
    AdjacencyIndex index = 0;
    uint64_t at = 0;  // TSC
  };
  static constexpr size_t kReports = 256;

  void Retarget(TxBuffer* tx, const LinkEntry& out);
  void FlushPort(uint16_t port);
  void HandOver(TxBuffer* tx, uint32_t count, uint16_t owner);
  void DropAll(rte_mbuf** packets, uint32_t count, DropReason reason);
  void Poison(rte_mbuf* m);

  Options options_;
  const QueuePlan* plan_ = nullptr;
  uint64_t pending_ = 0;  // ports with something in their buffer
  bool punted_ = false;
  bool poison_ = false;
  std::array<Report, kReports> reports_ = {};
  std::array<TxBuffer, kMaxPorts> tx_;
};

// The same, counting cycles by stage: for the ledger.
class LedgerContext : public WorkerContext {
 public:
  static constexpr bool kLedger = true;
  using WorkerContext::WorkerContext;

  void Mark(Stage stage) {
    const uint64_t now = rte_rdtsc();
    cycles_[static_cast<size_t>(stage)] += now - last_;
    last_ = rte_rdtsc();
  }
  void Begin() { last_ = rte_rdtsc(); }
  uint64_t cycles(Stage stage) const { return cycles_[static_cast<size_t>(stage)]; }

 private:
  uint64_t last_ = 0;
  uint64_t cycles_[kStages] = {};
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_
