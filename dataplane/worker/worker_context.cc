#include "dataplane/worker/worker_context.h"

#include <rte_ethdev.h>
#include <rte_ring.h>

#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace sluice {

WorkerContext::WorkerContext(Options options) : options_(std::move(options)) {
  for (size_t port = 0; port < tx_.size(); ++port) tx_[port].port = static_cast<uint16_t>(port);
}

bool WorkerContext::Punt(const PuntHeader& header, const rte_mbuf* m, uint32_t offset, bool urgent) {
  size_t backlog = ~size_t{0};
  switch (header.kind) {
    case PuntKind::kError:
      backlog = kErrorBacklog;
      break;
    case PuntKind::kLocal:
      backlog = urgent ? ~size_t{0} : kLocalBacklog;
      break;
    case PuntKind::kResolve:
      backlog = kResolveBacklog;
      break;
    case PuntKind::kArp:
    case PuntKind::kStaleUse:
      break;
  }
  if (options_.to_slow_path->size() >= backlog) return false;
  char* at = options_.to_slow_path->Reserve(sizeof header + header.length);
  if (at == nullptr) return false;
  std::memcpy(at, &header, sizeof header);
  if (header.length != 0) CopyOut(m, offset, header.length, at + sizeof header);
  options_.to_slow_path->Publish();
  punted_ = true;
  return true;
}

bool WorkerContext::MayReport(AdjacencyIndex index) {
  Report& last = reports_[index % kReports];
  const uint64_t now = rte_rdtsc();
  if (last.index == index && now - last.at < rte_get_tsc_hz() / 10) return false;
  last = {index, now};
  return true;
}

rte_mbuf* WorkerContext::Allocate(uint32_t bytes) {
  rte_mbuf* m = AllocateFrame(plan_->pool, bytes);
  if (m != nullptr) Received(&m, 1);
  return m;
}

void WorkerContext::DropAll(rte_mbuf** packets, uint32_t count, DropReason reason) {
  if (count == 0) return;
  options_.lane->Drop(reason, count);
  for (uint32_t i = 0; i < count; ++i) Free(packets[i]);
}

void WorkerContext::Retarget(TxBuffer* tx, const LinkEntry& out) {
  if (tx->count != 0) FlushPort(out.port);
  tx->link = out.index;
  tx->cell = out.tx_cell;
}

void WorkerContext::FlushPort(uint16_t port) {
  TxBuffer& tx = tx_[port];
  const uint32_t count = std::exchange(tx.count, 0);
  pending_ &= ~(uint64_t{1} << port);
  // Links come and go, and so do their cells: what this buffer knows of its link holds for one flush only.
  const CellIndex cell = tx.cell;
  const TxPath& path = plan_->tx[port];
  if (path.owner_worker != options_.worker) {
    HandOver(&tx, count, path.owner_worker);
    tx.link = 0;
    return;
  }
  tx.link = 0;
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
  Count(cell, sent, bytes);
}

void WorkerContext::HandOver(TxBuffer* tx, uint32_t count, uint16_t owner) {
  rte_ring* outbox = owner < options_.outboxes.size() ? options_.outboxes[owner] : nullptr;
  if (outbox == nullptr) {
    DropAll(tx->packets, count, DropReason::kOutLinkDown);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) tx->packets[i]->hash.usr = tx->link;
  const uint32_t taken = rte_ring_sp_enqueue_burst(outbox, reinterpret_cast<void**>(tx->packets), count, nullptr);
  totals().handed_out.Add(taken);
  DropAll(tx->packets + taken, count - taken, DropReason::kHandoverFull);
}

void WorkerContext::SendHandedOver(const Snapshot& snapshot, rte_mbuf* m) {
  totals().handed_in.Add(1);
  const LinkEntry& out = snapshot.link(m->hash.usr);
  const bool same =
      m->data_len >= EthernetHeader::kSize && rte_pktmbuf_mtod(m, const EthernetHeader*)->source == out.mac;
  if (out.kind != LinkKind::kPort || out.port >= kMaxPorts || !out.up() || !same ||
      plan_->tx[out.port].owner_worker != options_.worker) {
    Drop(m, DropReason::kOutLinkDown);
    return;
  }
  Send(m, out);
}

void WorkerContext::Poison([[maybe_unused]] rte_mbuf* m) {
#if defined(__SANITIZE_ADDRESS__)
  if (!poison_) return;
  for (rte_mbuf* s = m; s != nullptr; s = s->next) {
    if (rte_mbuf_refcnt_read(s) == 1 && RTE_MBUF_DIRECT(s)) ASAN_POISON_MEMORY_REGION(s->buf_addr, s->buf_len);
  }
#endif
}

void WorkerContext::Received([[maybe_unused]] rte_mbuf** packets, [[maybe_unused]] uint32_t count) {
#if defined(__SANITIZE_ADDRESS__)
  if (!poison_) return;
  for (uint32_t i = 0; i < count; ++i) {
    for (rte_mbuf* s = packets[i]; s != nullptr; s = s->next) ASAN_UNPOISON_MEMORY_REGION(s->buf_addr, s->buf_len);
  }
#endif
}

}  // namespace sluice
