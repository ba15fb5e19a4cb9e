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

  // Null: not there. The value stays where it is until the edit that changes the entry is committed and reclaimed.
  [[gnu::always_inline]] const Value* Find(const char* base, const Key& key) const {
    const Ref ref = buckets_.Get(base, Hash(key) & mask_);
    if (ref == 0) return nullptr;
    const Bucket* bucket = reinterpret_cast<const Bucket*>(base + size_t{ref} * Arena::kGranule);
    const uint32_t found = IndexOf(bucket, key);
    return found == bucket->count ? nullptr : &bucket->entries[found].value;
  }

  // Inserts or replaces. RESOURCE_EXHAUSTED: no memory; the edit is then good only for Abort, and *this is unchanged.
  absl::Status Set(Edit& edit, const Key& key, const Value& value) {
    const Entry entry{key, value};  // a copy: the caller's may lie in a block that is about to be used again
    CowHash next = *this;
    if (const absl::Status s = next.SetEntry(edit, entry); !s.ok()) return s;
    *this = next;
    return absl::OkStatus();
  }

  // OK also when the key is not there. RESOURCE_EXHAUSTED as Set.
  absl::Status Erase(Edit& edit, const Key& key) {
    const uint32_t at = Hash(key) & mask_;
    const Ref old = buckets_.Get(edit.arena().base(), at);
    if (old == 0) return absl::OkStatus();
    Bucket* bucket = edit.arena().template At<Bucket>(old);
    const uint32_t found = IndexOf(bucket, key);
    if (found == bucket->count) return absl::OkStatus();
    if (bucket->count == 1) {
      CowVector<Ref> next = buckets_;
      if (const absl::Status s = next.Set(edit, at, 0); !s.ok()) return s;
      edit.Retire(old);
      buckets_ = next;
    } else if (edit.Owns(old)) {
      bucket->entries[found] = bucket->entries[--bucket->count];
    } else {
      const Ref fresh = edit.Allocate(BucketBytes(bucket->count - 1));
      if (fresh == 0) return NoMemory();
      Bucket* copy = edit.arena().template At<Bucket>(fresh);
      copy->count = 0;
      for (uint32_t i = 0; i < bucket->count; ++i) {
        if (i != found) copy->entries[copy->count++] = bucket->entries[i];
      }
      CowVector<Ref> next = buckets_;
      if (const absl::Status s = next.Set(edit, at, fresh); !s.ok()) return s;
      edit.Retire(old);
      buckets_ = next;
    }
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
  static_assert(alignof(Entry) <= Arena::kGranule);

  // bucket->count: not there.
  [[gnu::always_inline]] static uint32_t IndexOf(const Bucket* bucket, const Key& key) {
    uint32_t i = 0;
    while (i < bucket->count && std::memcmp(&bucket->entries[i].key, &key, sizeof key) != 0) ++i;
    return i;
  }
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

  absl::Status SetEntry(Edit& edit, const Entry& entry) {
    const char* base = edit.arena().base();
    uint32_t at = Hash(entry.key) & mask_;
    Ref old = buckets_.Get(base, at);
    uint32_t count = old == 0 ? 0 : edit.arena().template At<Bucket>(old)->count;
    const uint32_t found = old == 0 ? 0 : IndexOf(edit.arena().template At<Bucket>(old), entry.key);
    const bool present = found < count;
    if (!present && size_ >= uint64_t{4} * (mask_ + 1) && mask_ + 1 < kMaxBuckets) {
      if (const absl::Status s = Grow(edit); !s.ok()) return s;
      at = Hash(entry.key) & mask_;
      old = buckets_.Get(base, at);
      count = old == 0 ? 0 : edit.arena().template At<Bucket>(old)->count;
    }
    const uint32_t new_count = present ? count : count + 1;
    Ref target = old;
    if (old == 0 || !edit.Owns(old) || BucketBytes(new_count) > edit.arena().BlockSize(old)) {
      target = edit.Allocate(BucketBytes(new_count));
      if (target == 0) return NoMemory();
      if (old != 0)
        std::memcpy(edit.arena().template At<char>(target), edit.arena().template At<char>(old), BucketBytes(count));
      if (const absl::Status s = buckets_.Set(edit, at, target); !s.ok()) return s;
      edit.Retire(old);
    }
    Bucket* bucket = edit.arena().template At<Bucket>(target);
    bucket->entries[present ? found : count] = entry;
    bucket->count = new_count;
    if (!present) ++size_;
    return absl::OkStatus();
  }

  // Twice the buckets. Entries move by value; the old buckets are retired.
  absl::Status Grow(Edit& edit) {
    CowHash wide;
    wide.mask_ = mask_ * 2 + 1;
    absl::Status status;
    ForEach(edit.arena().base(), [&](const Key& key, const Value& value) {
      if (status.ok()) status = wide.SetEntry(edit, Entry{key, value});
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
