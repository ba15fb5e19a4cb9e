// What the stages act upon: counters, the ring to the slow path, transmit buffers. One for each worker.
//
// Why a class of its own: the stages are templates over it. Explain gives them another one that records instead
// (observe/), and so runs the very code that packets run.
//
// Threads: its worker only. Cost: per packet a store into a transmit buffer; per burst and port one tx burst.
#ifndef SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_
#define SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_

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
#include "dataplane/worker/queue_plan.h"

struct rte_ring;

namespace sluice {

class WorkerContext {
 public:
  static constexpr bool kRecording = false;

  struct Options {
    uint16_t worker = 0;
    const AdjacencyTable* adjacencies = nullptr;
    Counters::Lane* lane = nullptr;
    RecordRing* to_slow_path = nullptr;
    // By worker: the ring that hands packets to it (this worker is its only producer); null for the worker itself.
    std::vector<rte_ring*> outboxes;
  };
  explicit WorkerContext(Options options);

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
    rte_pktmbuf_free(m);
  }
  // The end of a packet whose fate has been counted otherwise.
  void Free(rte_mbuf* m) { rte_pktmbuf_free(m); }

  // Copies `header` and `header.length` bytes of `m` from `offset` on into the ring. False: it was full.
  bool Punt(const PuntHeader& header, const rte_mbuf* m, uint32_t offset);

  // A buffer for a packet made here, or null.
  rte_mbuf* Allocate() { return plan_->pool == nullptr ? nullptr : rte_pktmbuf_alloc(plan_->pool); }

  // Queues a finished frame for `port`. Flush, or a full buffer, sends it.
  [[gnu::always_inline]] void Send(const Snapshot& snapshot, rte_mbuf* m, uint16_t port) {
    TxBuffer& tx = tx_[port];
    tx.packets[tx.count++] = m;
    pending_ |= uint64_t{1} << port;
    if (tx.count == kBurst) FlushPort(snapshot, port);
  }
  // Sends what is queued: by the worker's own queue, or by handing it to the worker that owns one. What finds no room
  // is dropped and counted.
  void Flush(const Snapshot& snapshot) {
    while (pending_ != 0) FlushPort(snapshot, static_cast<uint16_t>(__builtin_ctzll(pending_)));
  }

 private:
  static_assert(kMaxPorts <= 64);
  struct TxBuffer {
    uint32_t count = 0;
    rte_mbuf* packets[kBurst];
  };
  void FlushPort(const Snapshot& snapshot, uint16_t port);
  void DropAll(rte_mbuf** packets, uint32_t count, DropReason reason);

  Options options_;
  const QueuePlan* plan_ = nullptr;
  uint64_t pending_ = 0;  // ports with something in their buffer
  std::array<TxBuffer, kMaxPorts> tx_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_WORKER_CONTEXT_H_
