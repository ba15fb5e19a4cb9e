#include "dataplane/worker/handover.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<HandoverRings>> HandoverRings::Create(size_t workers, uint32_t depth) {
  static std::atomic<uint32_t> instance{0};  // DPDK's names are of the process
  const uint32_t id = instance.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<HandoverRings> rings(new HandoverRings(workers));
  for (size_t from = 0; from < workers; ++from) {
    for (size_t to = 0; to < workers; ++to) {
      if (from == to) continue;
      rte_ring* ring = rte_ring_create(absl::StrCat("handover", id, "-", from, "-", to).c_str(), depth, SOCKET_ID_ANY,
                                       RING_F_SP_ENQ | RING_F_SC_DEQ);
      if (ring == nullptr) {
        return absl::ResourceExhaustedError(absl::StrCat("cannot make the rings between ", workers, " workers of ",
                                                         depth, " packets: ", rte_strerror(rte_errno)));
      }
      rings->rings_[from * workers + to] = ring;
    }
  }
  return rings;
}

HandoverRings::~HandoverRings() {
  for (rte_ring* ring : rings_) {
    if (ring == nullptr) continue;
    void* packet;
    while (rte_ring_sc_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
    rte_ring_free(ring);
  }
}

std::vector<rte_ring*> HandoverRings::Inboxes(size_t worker) const {
  std::vector<rte_ring*> rings(workers_);
  for (size_t from = 0; from < workers_; ++from) rings[from] = rings_[from * workers_ + worker];
  return rings;
}

std::vector<rte_ring*> HandoverRings::Outboxes(size_t worker) const {
  return {rings_.begin() + static_cast<ptrdiff_t>(worker * workers_),
          rings_.begin() + static_cast<ptrdiff_t>((worker + 1) * workers_)};
}

}  // namespace sluice
