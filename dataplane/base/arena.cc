#include "dataplane/base/arena.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "absl/base/internal/raw_logging.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace sluice {
namespace {

// Block sizes. Multiples of 64 from 64 up keep hot blocks within as few cache lines as they need.
constexpr std::array<uint16_t, 24> kClassBytes = {16,   32,   48,   64,   128,  192,  256,  320,
                                                  384,  448,  512,  640,  768,  896,  1024, 1280,
                                                  1536, 2048, 2560, 3072, 4096, 6144, 8192, 16384};

}  // namespace

size_t Arena::ClassOf(size_t bytes) {
  size_t c = 0;
  while (kClassBytes[c] < bytes) ++c;
  return c;
}

// One 64 KB piece of the region, holding blocks of one class. The header and the owner bytes come first; the first
// block begins at a multiple of 64 bytes.
struct Arena::Slab {
  uint16_t size_class;
  uint16_t capacity;
  uint16_t used;
  uint16_t first_free;  // index of a free block, kNone at the end; the next index lies in the block's first two bytes
  uint16_t fresh;       // blocks from here on have never been handed out
  uint32_t payload;     // offset of block 0
  Slab* next;           // partial slabs of the class, doubly linked
  Slab* previous;
  uint8_t owner[];

  static constexpr uint16_t kNone = 0xffff;
  size_t block_bytes() const { return kClassBytes[size_class]; }
  char* block(size_t index) { return reinterpret_cast<char*>(this) + payload + index * block_bytes(); }
  size_t IndexOf(const char* p) const {
    return (static_cast<size_t>(p - reinterpret_cast<const char*>(this)) - payload) / block_bytes();
  }
};

Arena::Arena(size_t reserve_bytes) {
  slab_limit_ = reserve_bytes / kSlabBytes;
  const size_t bytes = (slab_limit_ + 1) * kSlabBytes;
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    ABSL_RAW_LOG(FATAL, "cannot reserve %zu bytes of address space for tables (is RLIMIT_AS set?)", bytes);
  }
  mapping_ = static_cast<char*>(p);
  base_ = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + kSlabBytes - 1) & ~(kSlabBytes - 1));
}

Arena::~Arena() {
  ASAN_UNPOISON_MEMORY_REGION(base_, next_slab_ * kSlabBytes);
  munmap(mapping_, (slab_limit_ + 1) * kSlabBytes);
}

Arena::Slab* Arena::SlabOf(Ref ref) const {
  return reinterpret_cast<Slab*>(base_ + (size_t{ref} * kGranule & ~(kSlabBytes - 1)));
}

Arena::Slab* Arena::NewSlab(size_t size_class) {
  size_t number;
  if (!free_slabs_.empty()) {
    number = free_slabs_.back();
    free_slabs_.pop_back();
  } else if (next_slab_ < slab_limit_) {
    number = next_slab_++;
  } else {
    return nullptr;
  }
  char* at = base_ + number * kSlabBytes;
  if (mprotect(at, kSlabBytes, PROT_READ | PROT_WRITE) != 0) {
    free_slabs_.push_back(static_cast<uint32_t>(number));
    return nullptr;
  }
  ++slabs_;
  ASAN_UNPOISON_MEMORY_REGION(at, kSlabBytes);
  Slab* slab = reinterpret_cast<Slab*>(at);
  const size_t block = kClassBytes[size_class];
  size_t capacity = (kSlabBytes - sizeof(Slab)) / (block + 1);
  size_t payload = (sizeof(Slab) + capacity + 63) & ~size_t{63};
  while (payload + capacity * block > kSlabBytes) --capacity;
  slab->size_class = static_cast<uint16_t>(size_class);
  slab->capacity = static_cast<uint16_t>(capacity);
  slab->used = 0;
  slab->first_free = Slab::kNone;
  slab->fresh = 0;
  slab->payload = static_cast<uint32_t>(payload);
  slab->previous = nullptr;
  slab->next = partial_[size_class];
  if (slab->next) slab->next->previous = slab;
  partial_[size_class] = slab;
  ASAN_POISON_MEMORY_REGION(at + payload, kSlabBytes - payload);
  return slab;
}

Ref Arena::Allocate(size_t bytes, uint8_t owner) {
  if (bytes > kMaxBlock) return 0;
  const size_t size_class = ClassOf(bytes);
  absl::MutexLock lock(&mutex_);
  Slab* slab = partial_[size_class];
  if (slab == nullptr) {
    slab = NewSlab(size_class);
    if (slab == nullptr) return 0;
  }
  size_t index;
  if (slab->first_free != Slab::kNone) {
    index = slab->first_free;
    ASAN_UNPOISON_MEMORY_REGION(slab->block(index), slab->block_bytes());
    std::memcpy(&slab->first_free, slab->block(index), sizeof slab->first_free);
  } else {
    index = slab->fresh++;
    ASAN_UNPOISON_MEMORY_REGION(slab->block(index), slab->block_bytes());
  }
  slab->owner[index] = owner;
  if (++slab->used == slab->capacity) {
    partial_[size_class] = slab->next;
    if (slab->next) slab->next->previous = nullptr;
    slab->next = slab->previous = nullptr;
  }
  used_bytes_ += slab->block_bytes();
  ++blocks_;
  return static_cast<Ref>((slab->block(index) - base_) / kGranule);
}

void Arena::FreeLocked(Ref ref) {
  Slab* slab = SlabOf(ref);
  char* block = At<char>(ref);
  const size_t index = slab->IndexOf(block);
  std::memcpy(block, &slab->first_free, sizeof slab->first_free);
  ASAN_POISON_MEMORY_REGION(block, slab->block_bytes());
  slab->first_free = static_cast<uint16_t>(index);
  used_bytes_ -= slab->block_bytes();
  --blocks_;
  Slab*& head = partial_[slab->size_class];
  if (slab->used-- == slab->capacity) {
    slab->previous = nullptr;
    slab->next = head;
    if (head) head->previous = slab;
    head = slab;
  }
  // Keep one empty slab of a class, so that a create and delete at the edge does not map and unmap each time.
  if (slab->used == 0 && (slab->next || slab->previous)) {
    if (slab->previous) slab->previous->next = slab->next;
    if (slab->next) slab->next->previous = slab->previous;
    if (head == slab) head = slab->next;
    char* at = reinterpret_cast<char*>(slab);
    ASAN_UNPOISON_MEMORY_REGION(at, kSlabBytes);
    madvise(at, kSlabBytes, MADV_DONTNEED);
    ASAN_POISON_MEMORY_REGION(at, kSlabBytes);
    free_slabs_.push_back(static_cast<uint32_t>((at - base_) / kSlabBytes));
    --slabs_;
  }
}

void Arena::Free(const Ref* refs, size_t count) {
  // In pieces, so that a large table being freed does not hold up a change that wants a block.
  constexpr size_t kPiece = 256;
  while (count > 0) {
    const size_t n = count < kPiece ? count : kPiece;
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < n; ++i) FreeLocked(refs[i]);
    refs += n;
    count -= n;
  }
}

uint8_t Arena::owner(Ref ref) const {
  const Slab* slab = SlabOf(ref);
  return slab->owner[slab->IndexOf(At<char>(ref))];
}

void Arena::ClearOwners(const Ref* refs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Slab* slab = SlabOf(refs[i]);
    slab->owner[slab->IndexOf(At<char>(refs[i]))] = 0;
  }
}

size_t Arena::SizeFor(size_t bytes) { return kClassBytes[ClassOf(bytes)]; }

size_t Arena::BlockSize(Ref ref) const { return SlabOf(ref)->block_bytes(); }

uint8_t Arena::TakeOwnerSlot() {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 1; i < owner_slots_.size(); ++i) {
    if (!owner_slots_[i]) {
      owner_slots_[i] = true;
      return static_cast<uint8_t>(i);
    }
  }
  ABSL_RAW_LOG(FATAL, "more than 255 edits at once");
  return 0;
}

void Arena::ReturnOwnerSlot(uint8_t slot) {
  absl::MutexLock lock(&mutex_);
  owner_slots_[slot] = false;
}

size_t Arena::used_bytes() const {
  absl::MutexLock lock(&mutex_);
  return used_bytes_;
}

size_t Arena::resident_bytes() const {
  absl::MutexLock lock(&mutex_);
  return slabs_ * kSlabBytes;
}

size_t Arena::blocks() const {
  absl::MutexLock lock(&mutex_);
  return blocks_;
}

}  // namespace sluice
