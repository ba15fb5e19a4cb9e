// How a trie lies in memory, and the force-inlined walk over it that every packet makes. Included by trie.h; nothing
// else in Sluice needs it.
//
// A path of an address through a trie:
//
//   root (by the first 8 bits, or through a page by the first 18) -> node (6 bits) -> node (6 bits) ... -> leaf
//
// Every step yields a 32-bit *entry*: a leaf value as it was given (0 is a hole), or, with kInner set, a reference to
// what lies below: a node, or with kSkip also set, a skip. Prefixes are pushed down to the leaves, so the first entry
// that is not inner is the answer, and no step looks back; only a hole asks the array of prefixes up to /8.
//
// A node has 64 slots. Neighbouring slots with the same entry form a run; a bitmap marks the first slot of each, and
// one popcount gives the place of a slot's entry among the runs'. A single array holds leaves and inner entries both:
// one bitmap less than the usual two, and a header of 16 bytes.
//
// A skip stands where all prefixes below share many more bits: it compares them at once. A lone host route costs one
// skip, not a chain of nodes.
//
// Threads: readers of committed blocks. Cost: a node is one or two cache lines.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_NODE_H_
#define SLUICE_DATAPLANE_FIB_TRIE_NODE_H_

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/arena.h"

namespace sluice {

// What a route leads to: opaque here, but nonzero and with bit 30 clear (the trie marks its inner entries with it).
using Leaf = uint32_t;

// An IPv6 address as lookups use it: two host integers, the most significant first.
struct Ipv6Key {
  uint64_t high = 0;
  uint64_t low = 0;
  friend constexpr bool operator==(const Ipv6Key&, const Ipv6Key&) = default;
  friend constexpr auto operator<=>(const Ipv6Key&, const Ipv6Key&) = default;
};

namespace trie_internal {

inline constexpr uint32_t kInner = 0x40000000u;
inline constexpr uint32_t kSkip = 0x80000000u;  // only together with kInner
inline constexpr uint32_t kRefMask = 0x3fffffffu;

inline constexpr int kStride = 6;         // bits of a node
inline constexpr int kShortBits = 8;      // prefixes up to this length live in the array for holes
inline constexpr int kSmallBits = 8;      // bits of the root of a small trie
inline constexpr int kDirectoryBits = 9;  // bits of the root of a large trie, then
inline constexpr int kPageBits = 9;       // bits of its pages
inline constexpr int kLargeBits = kDirectoryBits + kPageBits;

// One block of 64 slots. `locals` (LocalList) has the prefixes that end inside the node, for the control side only.
struct Node {
  uint64_t runs;       // bit s: slot s begins a run; bit 0 is always set
  Ref locals;          // 0: none
  Leaf inherited;      // the longest prefix that covers the whole node (9 bits or longer), or 0
  uint32_t entries[];  // one for each run
};
static_assert(sizeof(Node) == 16);

// All prefixes below share the first `length` bits of `value`. Elsewhere the answer is `miss`. `hit` is a leaf (the one
// prefix value/length) or a node at depth `length`.
template <class Key>
struct Skip {
  Key value;
  Leaf miss;
  uint32_t hit;
  uint32_t length;
};

struct SmallRoot {
  Leaf shorts[1 << kShortBits];
  uint32_t entries[1 << kSmallBits];
};
struct LargeRoot {
  Leaf shorts[1 << kShortBits];
  Ref pages[1 << kDirectoryBits];  // never 0: an empty page is the trie's one hole page
};
// One entry of a page, with what the step after it needs, so that the first two steps wait for one cache line less and
// branch on nothing: the next entry is always the word `popcount(runs << (63 - s))` of the block `ref`, counted from
// byte 12. For a node that is its run; for all else runs is 0 and ref names this very slot, whose word 0 is `entry`.
struct PageSlot {
  uint64_t runs;   // a copy of the node's
  Ref ref;         // the node, or this slot (slots are granules of the arena)
  uint32_t entry;  // as anywhere else
};
static_assert(sizeof(PageSlot) == Arena::kGranule && offsetof(PageSlot, entry) == 12);
struct Page {
  PageSlot slots[1 << kPageBits];
};

// Bit arithmetic of the two kinds of keys. Six(key, d): the six bits from bit d on (0 is the most significant), zeros
// beyond the end. Top(key, n): the first n bits, 1 <= n <= 32.
template <class Key>
struct KeyOps;

template <>
struct KeyOps<uint32_t> {
  static constexpr int kBits = 32;
  [[gnu::always_inline]] static unsigned Six(uint32_t key, int depth) {
    return static_cast<unsigned>((uint64_t{key} << (32 + depth)) >> 58);
  }
  [[gnu::always_inline]] static uint32_t Top(uint32_t key, int n) { return key >> (32 - n); }
  [[gnu::always_inline]] static bool Matches(uint32_t key, const Skip<uint32_t>& skip) {
    return (key ^ skip.value) >> (32 - skip.length) == 0;
  }
  static constexpr uint32_t Masked(uint32_t key, int length) {
    return length == 0 ? 0 : key & ~uint32_t{0} << (32 - length);
  }
  static constexpr int Common(uint32_t a, uint32_t b) { return std::countl_zero(a ^ b); }
  static constexpr uint32_t Place(unsigned bits, int count, int depth) {
    return static_cast<uint32_t>((uint64_t{bits} << (64 - count)) >> depth >> 32);
  }
  static constexpr uint32_t Or(uint32_t a, uint32_t b) { return a | b; }
};

template <>
struct KeyOps<Ipv6Key> {
  static constexpr int kBits = 128;
  [[gnu::always_inline]] static unsigned Six(const Ipv6Key& key, int depth) {
    if (__builtin_expect(depth <= 58, 1)) return static_cast<unsigned>((key.high << depth) >> 58);
    if (depth < 64) return static_cast<unsigned>((key.high << depth | key.low >> (64 - depth)) >> 58);
    return static_cast<unsigned>((key.low << (depth - 64)) >> 58);
  }
  [[gnu::always_inline]] static uint32_t Top(const Ipv6Key& key, int n) {
    return static_cast<uint32_t>(key.high >> (64 - n));
  }
  [[gnu::always_inline]] static bool Matches(const Ipv6Key& key, const Skip<Ipv6Key>& skip) {
    if (skip.length <= 64) return (key.high ^ skip.value.high) >> (64 - skip.length) == 0;
    return (key.high ^ skip.value.high) == 0 && (key.low ^ skip.value.low) >> (128 - skip.length) == 0;
  }
  static constexpr Ipv6Key Masked(const Ipv6Key& key, int length) {
    return {length == 0    ? 0
            : length >= 64 ? key.high
                           : key.high & ~uint64_t{0} << (64 - length),
            length <= 64 ? 0 : key.low & ~uint64_t{0} << (128 - length)};
  }
  static constexpr int Common(const Ipv6Key& a, const Ipv6Key& b) {
    const uint64_t high = a.high ^ b.high;
    return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(a.low ^ b.low);
  }
  // The low `count` bits of `bits`, as a key that is zero but for them at `depth`.
  static constexpr Ipv6Key Place(unsigned bits, int count, int depth) {
    const unsigned __int128 wide = (static_cast<unsigned __int128>(bits) << (128 - count)) >> depth;
    return {static_cast<uint64_t>(wide >> 64), static_cast<uint64_t>(wide)};
  }
  static constexpr Ipv6Key Or(const Ipv6Key& a, const Ipv6Key& b) { return {a.high | b.high, a.low | b.low}; }
};

template <typename T>
[[gnu::always_inline]] inline const T* View(const char* base, uint32_t entry) {
  return reinterpret_cast<const T*>(base + (size_t{entry & kRefMask} << 4));
}

// The entry of slot s.
[[gnu::always_inline]] inline uint32_t Slot(const Node* node, unsigned s) {
  const size_t rank = static_cast<size_t>(__builtin_popcountll(node->runs << (~s & 63)));
  const uint32_t* before = reinterpret_cast<const uint32_t*>(node) + sizeof(Node) / sizeof(uint32_t) - 1;
  return before[rank];
}

// `yes` or `no`, never by a jump: compilers turn a ?: into one, and half of these mispredict.
[[gnu::always_inline]] inline uint32_t Select(bool condition, uint32_t yes, uint32_t no) {
  uint32_t mask = -static_cast<uint32_t>(condition);
  asm("" : "+r"(mask));
  return no ^ ((yes ^ no) & mask);
}

// From an entry at `depth` down to a leaf (0: a hole).
template <class Key>
[[gnu::always_inline]] inline Leaf Descend(const char* base, uint32_t entry, const Key& key, int depth) {
  while (entry & kInner) {
    if (__builtin_expect(!(entry & kSkip), 1)) {
      entry = Slot(View<Node>(base, entry), KeyOps<Key>::Six(key, depth));
      depth += kStride;
    } else {
      const Skip<Key>* skip = View<Skip<Key>>(base, entry);
      if (!KeyOps<Key>::Matches(key, *skip)) return skip->miss;
      entry = skip->hit;
      depth = static_cast<int>(skip->length);
    }
  }
  return entry;
}

// The first two steps of a large trie: the slot of a key's page, and the word where its next entry is: below the slot's
// node, at depth kLargeBits + kStride, or the slot's own.
template <class Key>
[[gnu::always_inline]] inline const PageSlot* SlotInPage(const char* base, const LargeRoot* root, const Key& key) {
  using Ops = KeyOps<Key>;
  const Page* page = View<Page>(base, root->pages[Ops::Top(key, kDirectoryBits)]);
  return &page->slots[Ops::Top(key, kLargeBits) & ((1 << kPageBits) - 1)];
}
template <class Key>
[[gnu::always_inline]] inline const uint32_t* WordOf(const char* base, const PageSlot* slot, const Key& key) {
  const uint32_t unslot = ~KeyOps<Key>::Top(key, kLargeBits + kStride) & 63;
  const size_t rank = static_cast<size_t>(__builtin_popcountll(slot->runs << unslot));
  const char* block = base + (size_t{slot->ref} << 4);
  return reinterpret_cast<const uint32_t*>(block + offsetof(PageSlot, entry)) + rank;
}

inline constexpr size_t kBatch = 64;

// Brings the `left` keys of a burst that have inner entries (at depth kLargeBits + kStride, where these are nodes) down
// to their leaves, level by level, and only those that are not done. Skips are rare enough for a branch. On return the
// holes among them are 0.
template <class Key>
[[gnu::always_inline]] inline void StepPending(const char* base, const Key* keys, Leaf* leaves, uint8_t* pending,
                                               size_t left) {
  for (int depth = kLargeBits + kStride; left != 0; depth += kStride) {
    size_t more = 0;
    for (size_t k = 0; k < left; ++k) {
      const size_t i = pending[k];
      uint32_t entry = leaves[i];
      if (__builtin_expect(!(entry & kSkip), 1)) {
        entry = Slot(View<Node>(base, entry), KeyOps<Key>::Six(keys[i], depth));
      } else {
        entry = Descend(base, entry, keys[i], depth);
      }
      leaves[i] = entry;
      pending[more] = static_cast<uint8_t>(i);
      more += entry >> 30 & 1;
    }
    left = more;
  }
}

// Looks up a burst of <= kBatch in a large trie. It goes step by step over the burst, not address by address, and asks
// for each cache line one step early: a walk waits for two or three lines, and so those of all addresses are waited for
// at once. No branch before the deep part depends on an address; half of such branches mispredict on real tables.
template <class Key>
[[gnu::always_inline]] inline void LookupBurst(const char* base, const LargeRoot* root, const Key* keys, Leaf* leaves,
                                               size_t count) {
  using Ops = KeyOps<Key>;
  const void* at[kBatch];
  uint8_t pending[kBatch];
  for (size_t i = 0; i < count; ++i) {
    at[i] = SlotInPage(base, root, keys[i]);
    __builtin_prefetch(at[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    at[i] = WordOf(base, static_cast<const PageSlot*>(at[i]), keys[i]);
    __builtin_prefetch(at[i]);
  }
  size_t left = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t entry = *static_cast<const uint32_t*>(at[i]);
    leaves[i] = entry;
    pending[left] = static_cast<uint8_t>(i);
    left += entry >> 30 & 1;
  }
  StepPending(base, keys, leaves, pending, left);
  for (size_t i = 0; i < count; ++i) {
    leaves[i] = Select(leaves[i] != 0, leaves[i], root->shorts[Ops::Top(keys[i], kShortBits)]);
  }
}

}  // namespace trie_internal
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_TRIE_NODE_H_
