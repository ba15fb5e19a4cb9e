// The memory of everything that is published to workers: blocks named by 32-bit references from one reserved region.
//
// Why: a persistent structure (trie, CowVector, CowHash) is made of small blocks that point to each other. A 32-bit
// reference halves the size of those pointers, and so the cache lines per lookup; a region whose base never moves lets
// a reader turn a reference into a pointer with one addition, whatever the writer does meanwhile. Blocks hold only
// trivially copyable data: freeing one runs nothing, and a block may be freed long after whoever made it is gone.
//
// The wrong way: std::shared_ptr nodes. Each lookup would touch shared counts, and a large table would be freed node by
// node on the path of a change.
//
//   Arena arena;
//   Edit edit(arena);                       // edit.h: how blocks are made and replaced
//   Ref ref = edit.Allocate(sizeof(Node));
//   Node* node = arena.At<Node>(ref);
//
// Threads: At() from any thread, no lock. Allocation and freeing take one uncontended mutex; they are for the control
// side (writer, bulk builders, reclaimer). Cost: blocks come in fixed size classes (<= 25 % rounding above 64 bytes)
// from 64 KB slabs; a slab that becomes empty goes back to the system.
#ifndef SLUICE_DATAPLANE_BASE_ARENA_H_
#define SLUICE_DATAPLANE_BASE_ARENA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

// A block of an Arena, in units of 16 bytes from its base; 0 is "none".
using Ref = uint32_t;

class Arena {
 public:
  static constexpr size_t kGranule = 16;
  static constexpr size_t kMaxBlock = 16384;

  // Reserves `reserve_bytes` of address space (not memory). The default allows 32 GiB of blocks.
  explicit Arena(size_t reserve_bytes = size_t{32} << 30);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The address of granule 0. Constant for the life of the arena.
  char* base() const { return base_; }

  template <typename T>
  T* At(Ref ref) const {
    return reinterpret_cast<T*>(base_ + size_t{ref} * kGranule);
  }

  // Bytes of blocks handed out (rounded to their size class), and bytes of memory taken from the system.
  size_t used_bytes() const;
  size_t resident_bytes() const;
  // Blocks handed out and not freed. Returns to its start after create and delete: the leak test of every structure.
  size_t blocks() const;
  // The usable size of a block: its size class, >= what was asked for.
  size_t BlockSize(Ref ref) const;
  // The BlockSize that a block of `bytes` (<= kMaxBlock) would have.
  static size_t SizeFor(size_t bytes);

 private:
  friend class Edit;
  friend class RetiredBlocks;

  static constexpr size_t kSlabBytes = 65536;
  static constexpr size_t kClasses = 24;
  struct Slab;

  static size_t ClassOf(size_t bytes);  // requires bytes <= kMaxBlock
  // 0 when the region is full. `owner` is the edit's slot (1..255).
  Ref Allocate(size_t bytes, uint8_t owner);
  void Free(const Ref* refs, size_t count);
  // The owner byte of a block: the slot of the edit that made it until that edit commits, then 0.
  uint8_t owner(Ref ref) const;
  void ClearOwners(const Ref* refs, size_t count);
  uint8_t TakeOwnerSlot();
  void ReturnOwnerSlot(uint8_t slot);

  Slab* SlabOf(Ref ref) const;
  Slab* NewSlab(size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FreeLocked(Ref ref) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  char* mapping_ = nullptr;
  char* base_ = nullptr;
  size_t slab_limit_ = 0;
  mutable absl::Mutex mutex_;
  size_t next_slab_ ABSL_GUARDED_BY(mutex_) = 1;  // slab 0 is never used: its first granule is "none"
  std::vector<uint32_t> free_slabs_ ABSL_GUARDED_BY(mutex_);
  std::array<Slab*, kClasses> partial_ ABSL_GUARDED_BY(mutex_) = {};
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t blocks_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t slabs_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<bool, 256> owner_slots_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_ARENA_H_
