// One batch of changes to the persistent structures of an Arena: it makes new blocks, notes the old ones they replace,
// and ends in a commit or in an abort.
//
// Why: all structures of a snapshot change together. The edit is what they share: while it is open, a block that it
// made itself may be changed in place (no reader has seen it), any other block must be copied. Commit hands back the
// replaced blocks, to be freed when no reader can hold them any more; Abort frees the new ones, and it is as if nothing
// had happened. There is no undo log.
//
//   Edit edit(arena);
//   Ref mine = edit.Own(root);                  // a copy that may be written, or `root` itself if already ours
//   if (mine == 0) { edit.Abort(); return absl::ResourceExhaustedError(...); }
//   arena.At<Page>(mine)->slot[3] = 7;
//   RetiredBlocks old = edit.Commit();          // publish `mine`, wait for readers, then old.Free()
//
// Threads: one edit belongs to one thread at a time; several edits may be open on one arena. Cost: per block a vector
// push and the arena's mutex.
#ifndef SLUICE_DATAPLANE_BASE_EDIT_H_
#define SLUICE_DATAPLANE_BASE_EDIT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "dataplane/base/arena.h"

namespace sluice {

// Blocks that a committed edit replaced. Whoever holds them frees them after the grace period; a batch that is merely
// dropped leaks nothing but is a programming error while readers exist, so the destructor frees too.
class RetiredBlocks {
 public:
  RetiredBlocks() = default;
  RetiredBlocks(Arena* arena, std::vector<Ref> refs, size_t bytes)
      : arena_(arena), refs_(std::move(refs)), bytes_(bytes) {}
  RetiredBlocks(RetiredBlocks&& o) noexcept { *this = std::move(o); }
  RetiredBlocks& operator=(RetiredBlocks&& o) noexcept;
  ~RetiredBlocks() { Free(); }

  // Gives the blocks back to the arena. The caller knows that no reader can reach them.
  void Free();
  size_t bytes() const { return bytes_; }
  size_t count() const { return refs_.size(); }

 private:
  Arena* arena_ = nullptr;
  std::vector<Ref> refs_;
  size_t bytes_ = 0;
};

class Edit {
 public:
  explicit Edit(Arena& arena);
  ~Edit();  // aborts an edit that was not committed
  Edit(const Edit&) = delete;
  Edit& operator=(const Edit&) = delete;

  Arena& arena() const { return *arena_; }

  // A new block of at least `bytes` (<= Arena::kMaxBlock), contents undefined; 0 when the arena is full or a fault was
  // injected. The caller then returns RESOURCE_EXHAUSTED and the edit is aborted as a whole.
  [[nodiscard]] Ref Allocate(size_t bytes);
  // A block with the contents of `ref` that may be written: `ref` itself if this edit made it, else a copy (and `ref`
  // is retired). 0 as Allocate.
  [[nodiscard]] Ref Own(Ref ref);
  // True if this edit made the block, and so may change it in place.
  bool Owns(Ref ref) const { return arena_->owner(ref) == slot_; }
  // The block is no longer part of the structure. Retiring 0 does nothing.
  void Retire(Ref ref);

  [[nodiscard]] RetiredBlocks Commit();
  void Abort();

  // Bytes that Commit would retire so far.
  size_t retired_bytes() const { return retired_bytes_; }

  // For tests: the allocation after `n` more ones fails, once for each edit. Allocation points are thus numbered, and
  // a test can fail each in turn.
  void FailAllocationAfter(size_t n) { fail_after_ = n; }
  size_t allocations() const { return allocations_; }

 private:
  Arena* arena_;
  uint8_t slot_;
  bool open_ = true;
  std::vector<Ref> made_;  // every block taken from the arena, once
  // Made here and retired here: used again by this edit, so that a bulk load holds no more than it needs.
  std::array<std::vector<Ref>, Arena::kClasses> spare_;
  std::vector<Ref> retired_;
  size_t retired_bytes_ = 0;
  size_t allocations_ = 0;
  size_t fail_after_ = std::numeric_limits<size_t>::max();
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_EDIT_H_
