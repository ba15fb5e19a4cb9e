// The slow path's way out: finished frames into the inject rings of the workers, and the books of its counter lane.
//
// Why one class for both: a packet may end in many places of the slow path, and the law of counters.h must hold at all
// of them. Here is the only code that counts fates:
//
//   what                                       this lane counts                          the worker counts
//   forwarded packet comes by kResolve         handed_in                                 handed_out
//   ... waits for its neighbour                held
//   ... leaves                                 (held_out,) handed_out                    handed_in, then transmitted
//   ... dies                                   (held_out,) dropped by reason
//   Sluice's own frame leaves                  nothing                                   generated, then transmitted
//   ... dies here                              generated and dropped by reason           nothing
//   kLocal, kArp, kError, kStaleUse            nothing (see SlowPath::rejected)          delivered, absorbed, its drop
//
// A packet of Sluice's own that waits is not `held`: nobody has counted it yet. It is counted where it ends.
//
// Threads: the slow path. Cost: a copy into the ring.
#ifndef SLUICE_DATAPLANE_WORKER_SLOW_PATH_OUTPUT_H_
#define SLUICE_DATAPLANE_WORKER_SLOW_PATH_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "dataplane/base/record_ring.h"
#include "dataplane/cells/counters.h"
#include "dataplane/link/link.h"

namespace sluice {

class SlowPathOutput {
 public:
  // `rings`: one to each worker.
  SlowPathOutput(Counters::Lane& lane, std::vector<RecordRing*> rings);

  // Frames that follow go to this worker: to the one that handed in the packet they answer, so that its flow stays in
  // order; kAnyRing: in turns.
  static constexpr size_t kAnyRing = ~size_t{0};
  void UseRing(size_t ring) { ring_ = ring; }
  size_t ring() const { return ring_; }

  // A frame in up to three pieces, in order. A ring that is full ends it as kHandoverFull.
  void SendGenerated(LinkIndex link, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b = {},
                     absl::Span<const uint8_t> c = {});
  void SendForwarded(LinkIndex link, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b);

  void DropGenerated(DropReason reason);
  void DropForwarded(DropReason reason) { lane_.Drop(reason); }
  void HandedIn() { lane_.totals.handed_in.Add(1); }
  void Held() { lane_.totals.held.Add(1); }
  void HeldOut() { lane_.totals.held_out.Add(1); }
  void CountNexthop(CellIndex cell, uint64_t bytes) {
    if (cell != 0) lane_.Count(cell, 1, bytes);
  }

 private:
  bool Inject(LinkIndex link, bool generated, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b,
              absl::Span<const uint8_t> c);

  Counters::Lane& lane_;
  const std::vector<RecordRing*> rings_;
  size_t ring_ = kAnyRing;
  size_t turn_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_SLOW_PATH_OUTPUT_H_
