#include "dataplane/worker/worker_context.h"

#include <rte_ethdev.h>
#include <rte_ring.h>

#include <cstring>
#include <utility>

namespace sluice {

WorkerContext::WorkerContext(Options options) : options_(std::move(options)) {}

bool WorkerContext::Punt(const PuntHeader& header, const rte_mbuf* m, uint32_t offset) {
  char* at = options_.to_slow_path->Reserve(sizeof header + header.length);
  if (at == nullptr) return false;
  std::memcpy(at, &header, sizeof header);
  if (header.length != 0) {
    char* payload = at + sizeof header;
    const void* bytes = rte_pktmbuf_read(m, offset, header.length, payload);
    if (bytes == nullptr) return false;
    if (bytes != payload) std::memcpy(payload, bytes, header.length);
  }
  options_.to_slow_path->Publish();
  return true;
}

void WorkerContext::DropAll(rte_mbuf** packets, uint32_t count, DropReason reason) {
  options_.lane->Drop(reason, count);
  rte_pktmbuf_free_bulk(packets, count);
}

void WorkerContext::FlushPort(const Snapshot& snapshot, uint16_t port) {
  TxBuffer& tx = tx_[port];
  const uint32_t count = std::exchange(tx.count, 0);
  pending_ &= ~(uint64_t{1} << port);
  const TxPath& path = plan_->tx[port];
  if (!path.present()) {
    DropAll(tx.packets, count, DropReason::kOutLinkDown);
    return;
  }
  if (path.owner_worker != options_.worker) {
    for (uint32_t i = 0; i < count; ++i) tx.packets[i]->port = port;
    rte_ring* outbox = options_.outboxes[path.owner_worker];
    const uint32_t taken = rte_ring_sp_enqueue_burst(outbox, reinterpret_cast<void**>(tx.packets), count, nullptr);
    totals().handed_out.Add(taken);
    if (taken != count) DropAll(tx.packets + taken, count - taken, DropReason::kHandoverFull);
    return;
  }
  // The lengths are read before the device has the packets: after that they may be gone.
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) bytes += tx.packets[i]->pkt_len;
  uint32_t sent = 0;
  while (sent < count) {
    const uint16_t n = rte_eth_tx_burst(port, path.queue, tx.packets + sent, static_cast<uint16_t>(count - sent));
    if (n == 0) break;
    sent += n;
  }
  if (sent != count) {
    for (uint32_t i = sent; i < count; ++i) bytes -= tx.packets[i]->pkt_len;
    DropAll(tx.packets + sent, count - sent, DropReason::kTxFull);
  }
  totals().transmitted.Add(sent);
  Count(snapshot.link(snapshot.link_of_port[port]).tx_cell, sent, bytes);
}

}  // namespace sluice
