#include "dataplane/neighbor/adjacency.h"

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

struct AdjacencyTable::Impl {
  mutable absl::Mutex mutex;
  // By index; 0: free, or waiting to be recycled.
  std::vector<uint32_t> users ABSL_GUARDED_BY(mutex);
  std::vector<AdjacencyIndex> free ABSL_GUARDED_BY(mutex);
  AdjacencyIndex next ABSL_GUARDED_BY(mutex) = 1;  // indices from here on were never used
  size_t size ABSL_GUARDED_BY(mutex) = 0;
};

AdjacencyTable::AdjacencyTable(size_t capacity)
    : capacity_(std::clamp<size_t>(capacity, 1, kMaxCapacity)),
      // At most eight of fifteen slots in use on average: one entry in some 200 is then passed on to the next bucket.
      bucket_mask_(std::bit_ceil((capacity_ + 7) / 8) - 1),
      cells_(new std::atomic<uint64_t>[capacity_ + 1]()),
      keys_(new StoredKey[capacity_ + 1]()),
      buckets_(new Bucket[bucket_mask_ + 1]()),
      impl_(std::make_unique<Impl>()) {
  std::random_device random;
  for (uint64_t& s : secret_) s = (static_cast<uint64_t>(random()) << 32 | random()) | 1;
  absl::MutexLock lock(&impl_->mutex);
  impl_->users.resize(capacity_ + 1);
}

AdjacencyTable::~AdjacencyTable() = default;

AdjacencyTable::StoredKey AdjacencyTable::Store(const NeighborKey& key) {
  StoredKey stored{0, 0, LinkWord(key.link, key.address.family)};
  std::copy_n(key.address.bytes.data(), 8, reinterpret_cast<uint8_t*>(&stored.low));
  std::copy_n(key.address.bytes.data() + 8, 8, reinterpret_cast<uint8_t*>(&stored.high));
  return stored;
}

AdjacencyIndex AdjacencyTable::Find(const NeighborKey& key) const { return FindStored(Store(key)); }

NeighborKey AdjacencyTable::Key(AdjacencyIndex index) const {
  const StoredKey& stored = keys_[index];
  NeighborKey key;
  key.link = static_cast<LinkIndex>(stored.link);
  key.address.family = static_cast<Family>(stored.link >> 32);
  std::copy_n(reinterpret_cast<const uint8_t*>(&stored.low), 8, key.address.bytes.data());
  std::copy_n(reinterpret_cast<const uint8_t*>(&stored.high), 8, key.address.bytes.data() + 8);
  return key;
}

void AdjacencyTable::Insert(AdjacencyIndex index, uint64_t hash) {
  // The table never holds more than eight fifteenths of its slots: there is a free one.
  for (size_t at = hash & bucket_mask_;; at = (at + 1) & bucket_mask_) {
    Bucket& bucket = buckets_[at];
    for (std::atomic<uint32_t>& slot : bucket.slots) {
      if ((slot.load(std::memory_order_relaxed) & kIndexMask) != 0) continue;
      slot.store(Tag(hash) | index, std::memory_order_release);
      return;
    }
    bucket.passed.store(bucket.passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

void AdjacencyTable::Erase(AdjacencyIndex index, uint64_t hash) {
  for (size_t at = hash & bucket_mask_;; at = (at + 1) & bucket_mask_) {
    Bucket& bucket = buckets_[at];
    for (std::atomic<uint32_t>& slot : bucket.slots) {
      if ((slot.load(std::memory_order_relaxed) & kIndexMask) != index) continue;
      slot.store(0, std::memory_order_relaxed);
      return;
    }
    bucket.passed.store(bucket.passed.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
}

absl::StatusOr<AdjacencyIndex> AdjacencyTable::Acquire(const NeighborKey& key) {
  if (key.link == 0 || key.address.empty()) {
    return absl::InvalidArgumentError("a neighbour is named by a link and an address");
  }
  const StoredKey stored = Store(key);
  absl::MutexLock lock(&impl_->mutex);
  if (const AdjacencyIndex index = FindStored(stored); index != 0) {
    ++impl_->users[index];
    return index;
  }
  AdjacencyIndex index;
  if (!impl_->free.empty()) {
    index = impl_->free.back();
    impl_->free.pop_back();
  } else if (impl_->next <= capacity_) {
    index = impl_->next++;
  } else {
    return absl::ResourceExhaustedError(absl::StrCat("the neighbour table is full (", capacity_, " entries)"));
  }
  keys_[index] = stored;
  impl_->users[index] = 1;
  ++impl_->size;
  Insert(index, Hash(stored));
  return index;
}

bool AdjacencyTable::Release(AdjacencyIndex index) {
  absl::MutexLock lock(&impl_->mutex);
  if (index == 0 || index > capacity_ || impl_->users[index] == 0) return false;
  if (--impl_->users[index] != 0) return false;
  --impl_->size;
  Erase(index, Hash(keys_[index]));
  return true;
}

void AdjacencyTable::Recycle(AdjacencyIndex index) {
  absl::MutexLock lock(&impl_->mutex);
  // The version lives on, so that whoever kept a copy of the cell sees that it has changed.
  const uint64_t version = cells_[index].load(std::memory_order_relaxed) >> 52;
  cells_[index].store((version + 1) << 52, std::memory_order_relaxed);
  impl_->free.push_back(index);
}

uint32_t AdjacencyTable::users(AdjacencyIndex index) const {
  absl::MutexLock lock(&impl_->mutex);
  return index <= capacity_ ? impl_->users[index] : 0;
}

void AdjacencyTable::Write(AdjacencyIndex index, MacAddress mac, bool usable, bool report) {
  const uint64_t version = cells_[index].load(std::memory_order_relaxed) >> 52;
  cells_[index].store(
      mac.ToBits() | (usable ? Adjacency::kUsable : 0) | (report ? Adjacency::kReport : 0) | (version + 1) << 52,
      std::memory_order_relaxed);
}

size_t AdjacencyTable::size() const {
  absl::MutexLock lock(&impl_->mutex);
  return impl_->size;
}

}  // namespace sluice
