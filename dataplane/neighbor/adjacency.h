// Adjacencies: for each neighbour one 64-bit cell that says whether and how frames reach it.
//
// Why: a neighbour that is learned, changes its MAC or goes away must take effect for all routes at once, without a
// publication and without a lock on the packet path. So the MAC does not lie in the snapshot: nexthops name a cell, the
// slow-path thread writes it with one store, and workers read it once per packet.
//
//   AdjacencyIndex a = nexthop.on_link() ? table.Find(nexthop.link, packet.destination) : nexthop.adjacency;
//   Adjacency now = table.Read(a);
//   if (now.usable()) { write now.mac; if (now.wants_report()) tell the slow path that a stale entry is in use; }
//   else hand the packet to the slow path, which resolves and sends it
//
// Cells and the hash from (link, address) to them live in arrays whose bases never move. An entry that is removed is
// reused only after every worker has passed a quiescent state, so that Find never returns somebody else's cell.
//
// The hash is an array of 64-byte buckets of 15 tagged indices; a bucket that is full passes an entry on to the next
// one and counts it, so a lookup leaves its first bucket only where that count is not zero. It is keyed with a secret:
// a neighbour's address is whatever somebody on the link, or a sender of packets into its subnet, says it is.
//
// Threads: Find and Read from any registered reader, lock-free; everything else from the slow-path thread or under the
// table's own mutex (Acquire and Release are called by the control side). Cost: Read one load; Find one bucket (64
// bytes) and one key compare.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_
#define SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_

#include <emmintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "dataplane/base/address.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/link/link.h"

namespace sluice {

// What a cell holds: bits 0-47 the MAC (MacAddress::ToBits), bit 48 usable, bit 49 report use, bits 52-63 a version
// that moves with every change.
class Adjacency {
 public:
  static constexpr uint64_t kUsable = uint64_t{1} << 48;
  static constexpr uint64_t kReport = uint64_t{1} << 49;

  constexpr Adjacency() = default;
  constexpr explicit Adjacency(uint64_t bits) : bits_(bits) {}
  // A frame may be sent to mac().
  bool usable() const { return bits_ & kUsable; }
  // The entry is stale: usable, but the slow path wants to hear that it is being used (RFC 4861 §7.3.3 DELAY).
  bool wants_report() const { return bits_ & kReport; }
  MacAddress mac() const { return MacAddress::FromBits(bits_); }
  uint64_t bits() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};

struct NeighborKey {
  LinkIndex link = 0;
  IpAddress address;
  friend bool operator==(const NeighborKey&, const NeighborKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NeighborKey& k) {
    return H::combine(std::move(h), k.link, k.address);
  }
};

class AdjacencyTable {
 public:
  static constexpr size_t kMaxCapacity = (size_t{1} << 20) - 1;

  // Room for `capacity` neighbours of both families together (1 to kMaxCapacity; a value beyond is brought into range).
  explicit AdjacencyTable(size_t capacity = 65536);
  ~AdjacencyTable();
  AdjacencyTable(const AdjacencyTable&) = delete;
  AdjacencyTable& operator=(const AdjacencyTable&) = delete;

  // Readers, per packet. 0 when there is no entry.
  [[gnu::always_inline]] AdjacencyIndex Find(LinkIndex link, Ipv4Address address) const {
    return FindStored({address.value.raw, 0, LinkWord(link, Family::kIpv4)});
  }
  [[gnu::always_inline]] AdjacencyIndex Find(LinkIndex link, const Ipv6Address& address) const {
    StoredKey key{0, 0, LinkWord(link, Family::kIpv6)};
    __builtin_memcpy(&key.low, address.bytes.data(), 8);
    __builtin_memcpy(&key.high, address.bytes.data() + 8, 8);
    return FindStored(key);
  }
  [[gnu::always_inline]] Adjacency Read(AdjacencyIndex index) const {
    return Adjacency(cells_[index].load(std::memory_order_relaxed));
  }

  // Not per packet: Find by a key of either family, and the key of an index that the caller knows to be in use.
  AdjacencyIndex Find(const NeighborKey& key) const;
  NeighborKey Key(AdjacencyIndex index) const;

  // Control side or slow path: the entry of this neighbour, made if need be, with one more user. Users are nexthops (by
  // gateway), permanent neighbours, and the slow path's own state. RESOURCE_EXHAUSTED when the table is full;
  // INVALID_ARGUMENT for a key without link or address.
  absl::StatusOr<AdjacencyIndex> Acquire(const NeighborKey& key);
  // One user less. True when it was the last: the entry has then left the hash, and the caller has Recycle(index)
  // called after the grace period (Publisher::AfterGrace), since a worker may still hold the index. Until then the cell
  // keeps its value: a worker that is still in an older snapshot forwards by it as before.
  [[nodiscard]] bool Release(AdjacencyIndex index);
  void Recycle(AdjacencyIndex index);

  // Users of an entry, 0 when it has none. Any thread that is not in a hurry.
  uint32_t users(AdjacencyIndex index) const;

  // Slow path: one store.
  void Write(AdjacencyIndex index, MacAddress mac, bool usable, bool report);

  // Entries that have users. Those that wait to be recycled take room too, but are not counted here.
  size_t size() const;
  size_t capacity() const { return capacity_; }

 private:
  // An index in a slot's low 20 bits, hash bits above.
  static constexpr uint32_t kIndexMask = 0x000fffff;
  static constexpr int kSlots = 15;
  static constexpr uint32_t kSlotMask = (1u << kSlots) - 1;

  struct alignas(64) Bucket {
    std::atomic<uint32_t> slots[kSlots];
    std::atomic<uint32_t> passed;  // entries that belong here or before, and lie beyond because this was full
  };
  static_assert(sizeof(Bucket) == 64);

  // The address as it lies in memory, and the link with the family. Never changes while a slot leads to it.
  struct alignas(32) StoredKey {
    uint64_t low;
    uint64_t high;
    uint64_t link;
  };

  [[gnu::always_inline]] static uint64_t LinkWord(LinkIndex link, Family family) {
    return link | static_cast<uint64_t>(family) << 32;
  }
  [[gnu::always_inline]] static uint64_t Fold(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  [[gnu::always_inline]] uint64_t Hash(const StoredKey& key) const {
    return Fold(Fold(key.low ^ secret_[0], key.high ^ secret_[1]) ^ secret_[2], key.link ^ secret_[3]);
  }
  [[gnu::always_inline]] static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) & ~kIndexMask; }

  // Bit i: slot i has this tag. A hint: the caller loads the slot again, as the atomic that it is. (Each aligned 32-bit
  // lane of a vector load is read at once on x86-64, but the language does not say so, nor does ThreadSanitizer.)
  [[gnu::always_inline]] static uint32_t Candidates(const Bucket& bucket, uint32_t tag) {
    uint32_t hits = 0;
#if defined(__SANITIZE_THREAD__)
    for (int i = 0; i < kSlots; ++i) {
      hits |= static_cast<uint32_t>((bucket.slots[i].load(std::memory_order_relaxed) & ~kIndexMask) == tag) << i;
    }
#else
    const __m128i* at = reinterpret_cast<const __m128i*>(&bucket);
    const __m128i mask = _mm_set1_epi32(static_cast<int>(~kIndexMask));
    const __m128i want = _mm_set1_epi32(static_cast<int>(tag));
    for (int i = 0; i < 4; ++i) {
      const __m128i same = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(at + i), mask), want);
      hits |= static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same))) << (4 * i);
    }
#endif
    return hits & kSlotMask;
  }

  [[gnu::always_inline]] AdjacencyIndex FindStored(const StoredKey& key) const {
    const uint64_t hash = Hash(key);
    size_t at = hash & bucket_mask_;
    for (size_t step = 0; step <= bucket_mask_; ++step, at = (at + 1) & bucket_mask_) {
      const Bucket& bucket = buckets_[at];
      for (uint32_t hits = Candidates(bucket, Tag(hash)); hits != 0; hits &= hits - 1) {
        const AdjacencyIndex index = bucket.slots[__builtin_ctz(hits)].load(std::memory_order_acquire) & kIndexMask;
        if (index == 0) continue;
        const StoredKey& stored = keys_[index];
        if (stored.low == key.low && stored.high == key.high && stored.link == key.link) return index;
      }
      if (bucket.passed.load(std::memory_order_relaxed) == 0) break;
    }
    return 0;
  }

  static StoredKey Store(const NeighborKey& key);
  void Insert(AdjacencyIndex index, uint64_t hash);
  void Erase(AdjacencyIndex index, uint64_t hash);

  struct Impl;
  size_t capacity_;
  size_t bucket_mask_;
  uint64_t secret_[4];
  std::unique_ptr<std::atomic<uint64_t>[]> cells_;
  std::unique_ptr<StoredKey[]> keys_;
  std::unique_ptr<Bucket[]> buckets_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_ADJACENCY_H_
