// A bounded ring of variable-length records from one thread to one other.
//
// Why: packets cross between a worker and the slow path as copies, not as buffers. A worker's buffers stay the
// worker's, the slow path has no pool that a flood could empty, nothing that waits (hold queue, reassembly) pins a
// packet buffer, and neither side takes a lock or waits. Full means no: the producer counts a drop.
//
//   RecordRing ring(1 << 20);
//   if (char* at = ring.Reserve(sizeof(header) + n)) { fill(at); ring.Publish(); } else Drop(kSlowPathFull);  //
//   producer for (absl::Span<const char> r; !(r = ring.Front()).empty(); ring.Pop()) use(r); // consumer
//
// Threads: one producer, one consumer. Cost: one release store a record; the other side's position is re-read only when
// the cached one says full or empty.
#ifndef SLUICE_DATAPLANE_BASE_RECORD_RING_H_
#define SLUICE_DATAPLANE_BASE_RECORD_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace sluice {

class RecordRing {
 public:
  // `bytes` is a power of two >= 4096 (else rounded up to one); a record and its 16-byte header may take at most a
  // quarter of it.
  explicit RecordRing(size_t bytes);

  // Producer: room for a record of `bytes` >= 1 (contiguous, 16-byte aligned), or null when there is none now. Publish
  // makes it visible; a Reserve without Publish is forgotten by the next Reserve.
  char* Reserve(size_t bytes);
  void Publish();

  // Consumer: the oldest record, empty when there is none; valid until Pop.
  absl::Span<const char> Front();
  void Pop();

  // Either side: records published and not popped, as far as this thread knows (exact when the other side is quiet).
  size_t size() const;

 private:
  struct Header {
    uint32_t bytes;   // of the record
    uint32_t stride;  // to the next header
  };
  std::unique_ptr<char[]> memory_;
  char* base_;
  size_t mask_;
  alignas(64) std::atomic<uint64_t> head_{0};  // this line is written by the producer
  uint64_t pending_end_ = 0;
  uint64_t cached_tail_ = 0;
  std::atomic<uint64_t> pushed_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};  // this one by the consumer
  uint64_t cached_head_ = 0;
  std::atomic<uint64_t> popped_{0};
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_RECORD_RING_H_
