// A hash map that is changed by making a new version of it; versions share all buckets but the changed ones.
//
// Why: things named by sparse keys (a table id, later tunnel endpoints and filter keys) are found by workers in a
// version that no writer disturbs.
//
//   CowHash<uint32_t, Trie4> tables;                         // a value, trivially copyable
//   RETURN_IF_ERROR(tables.Set(edit, 254, trie));
//   if (const Trie4* t = tables.Find(arena.base(), 254)) ...
//
// Keys and values are trivially copyable; keys have no padding, since they are hashed as bytes. A bucket holds some
// four entries; the map doubles its buckets when they hold more.
//
// Threads: Find and ForEach from any reader of a committed version; Set, Erase, Clear from the thread of the edit.
// Cost: Find the loads of a CowVector and one bucket; Set a bucket copy and a page copy, amortised.
#ifndef SLUICE_DATAPLANE_BASE_COW_HASH_H_
#define SLUICE_DATAPLANE_BASE_COW_HASH_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "dataplane/base/cow_vector.h"
#include "dataplane/base/edit.h"

namespace sluice {

template <typename Key, typename Value>
class CowHash {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>);
  static_assert(std::has_unique_object_representations_v<Key>);

 public:
  struct Entry {
    Key key;
    Value value;
  };

  // Null: not there.
  [[gnu::always_inline]] const Value* Find(const char* base, const Key& key) const {
    const Ref ref = buckets_.Get(base, Hash(key) & mask_);
    if (ref == 0) return nullptr;
    const Bucket* bucket = reinterpret_cast<const Bucket*>(base + size_t{ref} * Arena::kGranule);
    for (uint32_t i = 0; i < bucket->count; ++i) {
      if (std::memcmp(&bucket->entries[i].key, &key, sizeof key) == 0) return &bucket->entries[i].value;
    }
    return nullptr;
  }

  // Inserts or replaces. RESOURCE_EXHAUSTED: no memory; the edit is then good only for Abort, and *this is unchanged.
  absl::Status Set(Edit& edit, const Key& key, const Value& value) {
    CowHash next = *this;
    if (const absl::Status s = next.SetInPlace(edit, key, value); !s.ok()) return s;
    *this = next;
    return absl::OkStatus();
  }

  // OK also when the key is not there.
  absl::Status Erase(Edit& edit, const Key& key) {
    const char* base = edit.arena().base();
    if (Find(base, key) == nullptr) return absl::OkStatus();
    const uint32_t at = Hash(key) & mask_;
    const Ref old = buckets_.Get(base, at);
    const Bucket* bucket = edit.arena().At<Bucket>(old);
    Ref fresh = 0;
    if (bucket->count > 1) {
      fresh = edit.Allocate(BucketBytes(bucket->count - 1));
      if (fresh == 0) return NoMemory();
      Bucket* copy = edit.arena().At<Bucket>(fresh);
      copy->count = 0;
      for (uint32_t i = 0; i < bucket->count; ++i) {
        if (std::memcmp(&bucket->entries[i].key, &key, sizeof key) != 0)
          copy->entries[copy->count++] = bucket->entries[i];
      }
    }
    CowVector<Ref> next = buckets_;
    if (const absl::Status s = next.Set(edit, at, fresh); !s.ok()) return s;
    edit.Retire(old);
    buckets_ = next;
    if (--size_ == 0) Clear(edit);
    return absl::OkStatus();
  }

  // Every entry once, in no particular order. `f` is called with (key, value).
  template <typename F>
  void ForEach(const char* base, F f) const {
    for (uint32_t b = 0; b <= mask_; ++b) {
      const Ref ref = buckets_.Get(base, b);
      if (ref == 0) continue;
      const Bucket* bucket = reinterpret_cast<const Bucket*>(base + size_t{ref} * Arena::kGranule);
      for (uint32_t i = 0; i < bucket->count; ++i) f(bucket->entries[i].key, bucket->entries[i].value);
    }
  }

  // Retires every block; what values refer to is the caller's.
  void Clear(Edit& edit) {
    for (uint32_t b = 0; b <= mask_; ++b) edit.Retire(buckets_.Get(edit.arena().base(), b));
    buckets_.Clear(edit);
    mask_ = kFirstBuckets - 1;
    size_ = 0;
  }

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr uint32_t kFirstBuckets = 4;
  static constexpr uint32_t kMaxBuckets = 1u << 24;

  struct Bucket {
    uint32_t count;
    Entry entries[];
  };
  static size_t BucketBytes(uint32_t count) { return sizeof(Bucket) + count * sizeof(Entry); }
  static absl::Status NoMemory() { return absl::ResourceExhaustedError("no memory left for tables"); }

  // Multiply and fold over the key's words: short keys, chosen by the operator, not by the wire.
  [[gnu::always_inline]] static uint32_t Hash(const Key& key) {
    uint64_t h = 0x9e3779b97f4a7c15ull;
    const char* p = reinterpret_cast<const char*>(&key);
    for (size_t i = 0; i < sizeof key; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, p + i, sizeof key - i < 8 ? sizeof key - i : 8);
      const unsigned __int128 m = static_cast<unsigned __int128>(h ^ word) * 0xd6e8feb86659fd93ull;
      h = static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
    }
    return static_cast<uint32_t>(h ^ (h >> 32));
  }

  absl::Status SetInPlace(Edit& edit, const Key& key, const Value& value) {
    const char* base = edit.arena().base();
    const bool present = Find(base, key) != nullptr;
    if (!present && size_ >= uint64_t{4} * (mask_ + 1) && mask_ + 1 < kMaxBuckets) {
      if (const absl::Status s = Grow(edit); !s.ok()) return s;
    }
    const uint32_t at = Hash(key) & mask_;
    const Ref old = buckets_.Get(base, at);
    const uint32_t count = old == 0 ? 0 : edit.arena().At<Bucket>(old)->count;
    const Ref fresh = edit.Allocate(BucketBytes(count + (present ? 0 : 1)));
    if (fresh == 0) return NoMemory();
    Bucket* bucket = edit.arena().At<Bucket>(fresh);
    bucket->count = count;
    for (uint32_t i = 0; i < count; ++i) {
      bucket->entries[i] = edit.arena().At<Bucket>(old)->entries[i];
      if (present && std::memcmp(&bucket->entries[i].key, &key, sizeof key) == 0) bucket->entries[i].value = value;
    }
    if (!present) {
      bucket->entries[bucket->count++] = Entry{key, value};
      ++size_;
    }
    if (const absl::Status s = buckets_.Set(edit, at, fresh); !s.ok()) return s;
    edit.Retire(old);
    return absl::OkStatus();
  }

  // Twice the buckets. Entries move by value; the old buckets are retired.
  absl::Status Grow(Edit& edit) {
    CowHash wide;
    wide.mask_ = mask_ * 2 + 1;
    absl::Status status;
    ForEach(edit.arena().base(), [&](const Key& key, const Value& value) {
      if (status.ok()) status = wide.SetInPlace(edit, key, value);
    });
    if (!status.ok()) return status;
    Clear(edit);
    *this = wide;
    return absl::OkStatus();
  }

  CowVector<Ref> buckets_;
  uint32_t mask_ = kFirstBuckets - 1;
  uint32_t size_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_COW_HASH_H_
