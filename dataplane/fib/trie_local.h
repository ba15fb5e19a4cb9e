// The prefixes that end inside one node, page or root: what the control side keeps beside the slots that lookups read,
// so that a removed prefix uncovers the right shorter one.
//
// A prefix that extends a block's path by l bits (0 <= l <= kBits, with the value v) has the heap number 2^l + v. Its
// parents are the number shifted right, its slots a power of two in a row. The list is sorted by number, so what lies
// below a prefix is one range per length.
//
// In an arena block: uint32 count, count leaves, count numbers. Threads: as the trie. Cost: 5 (6 in pages) bytes for
// each prefix.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_LOCAL_H_
#define SLUICE_DATAPLANE_FIB_TRIE_LOCAL_H_

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>

#include "dataplane/base/arena.h"
#include "dataplane/fib/trie_node.h"

namespace sluice::trie_internal {

// A list where it lies; empty for Ref 0.
template <int kBits, class Index>
struct LocalView {
  using Mask = std::bitset<size_t{1} << kBits>;

  uint32_t count = 0;
  const Leaf* leaf = nullptr;
  const Index* index = nullptr;

  LocalView() = default;
  LocalView(uint32_t n, const Leaf* l, const Index* i) : count(n), leaf(l), index(i) {}
  LocalView(const char* base, Ref ref) {
    if (ref == 0) return;
    const char* block = base + size_t{ref} * Arena::kGranule;
    count = *reinterpret_cast<const uint32_t*>(block);
    leaf = reinterpret_cast<const Leaf*>(block + 4);
    index = reinterpret_cast<const Index*>(block + 4 + size_t{count} * sizeof(Leaf));
  }

  // The first position whose number is >= h.
  uint32_t Position(uint32_t h) const {
    return static_cast<uint32_t>(std::lower_bound(index, index + count, h) - index);
  }
  // The leaf of prefix h; 0: not here.
  Leaf Get(uint32_t h) const {
    const uint32_t at = Position(h);
    return at < count && index[at] == h ? leaf[at] : 0;
  }
  // The number of the longest prefix that covers h, h itself included, of numbers below `limit`; 0: none.
  uint32_t Cover(uint32_t h, uint32_t limit = ~0u) const {
    for (; h != 0; h >>= 1) {
      if (h < limit && Get(h) != 0) return h;
    }
    return 0;
  }
  static int Length(uint32_t h) { return std::bit_width(h) - 1; }
  static uint32_t FirstSlot(uint32_t h) { return (h << (kBits - Length(h))) - (1u << kBits); }
  static uint32_t SlotCount(uint32_t h) { return 1u << (kBits - Length(h)); }

  // The slots of prefix h that no longer prefix covers.
  Mask Exclusive(uint32_t h) const {
    Mask mask;
    const uint32_t first = FirstSlot(h), end = first + SlotCount(h);
    for (uint32_t s = first; s < end; ++s) mask.set(s);
    const int length = Length(h);
    for (int below = 1; length + below <= kBits; ++below) {
      const uint32_t low = h << below, high = low + (1u << below);
      for (uint32_t at = Position(low); at < count && index[at] < high; ++at) {
        const uint32_t f = FirstSlot(index[at]), e = f + SlotCount(index[at]);
        for (uint32_t s = f; s < e; ++s) mask.reset(s);
      }
    }
    return mask;
  }
  // The slots that no prefix covers.
  Mask Uncovered() const {
    Mask mask;
    mask.set();
    for (uint32_t at = 0; at < count; ++at) {
      const uint32_t f = FirstSlot(index[at]), e = f + SlotCount(index[at]);
      for (uint32_t s = f; s < e; ++s) mask.reset(s);
    }
    return mask;
  }
};

// A list being changed.
template <int kBits, class Index>
struct LocalList {
  using View = LocalView<kBits, Index>;
  static constexpr uint32_t kMax = (2u << kBits) - 1;

  uint32_t count = 0;
  Leaf leaf[kMax];
  Index index[kMax];

  LocalList() = default;
  LocalList(const char* base, Ref ref) {
    const View v(base, ref);
    count = v.count;
    if (count == 0) return;
    std::memcpy(leaf, v.leaf, count * sizeof(Leaf));
    std::memcpy(index, v.index, count * sizeof(Index));
  }
  View view() const { return View(count, leaf, index); }
  size_t bytes() const { return 4 + count * (sizeof(Leaf) + sizeof(Index)); }
  void Store(char* block) const {
    std::memcpy(block, &count, 4);
    std::memcpy(block + 4, leaf, count * sizeof(Leaf));
    std::memcpy(block + 4 + count * sizeof(Leaf), index, count * sizeof(Index));
  }

  // Adds prefix h or replaces its leaf.
  void Put(uint32_t h, Leaf value) {
    const uint32_t at = view().Position(h);
    if (at == count || index[at] != h) {
      std::memmove(leaf + at + 1, leaf + at, (count - at) * sizeof(Leaf));
      std::memmove(index + at + 1, index + at, (count - at) * sizeof(Index));
      ++count;
      index[at] = static_cast<Index>(h);
    }
    leaf[at] = value;
  }
  void Erase(uint32_t h) {
    const uint32_t at = view().Position(h);
    if (at == count || index[at] != h) return;
    --count;
    std::memmove(leaf + at, leaf + at + 1, (count - at) * sizeof(Leaf));
    std::memmove(index + at, index + at + 1, (count - at) * sizeof(Index));
  }
};

using NodeLocals = LocalList<kStride, uint8_t>;
using PageLocals = LocalList<kPageBits, uint16_t>;
using ShortLocals = LocalList<kShortBits, uint16_t>;
using NodeLocalView = NodeLocals::View;
using PageLocalView = PageLocals::View;
using ShortLocalView = ShortLocals::View;

// The value of a prefix's bits in a block of kBits at `depth`, and its heap number there.
template <class Key>
uint32_t SlotOf(const Key& key, int bits, int depth) {
  if (bits == kStride) return KeyOps<Key>::Six(key, depth);
  return KeyOps<Key>::Top(key, bits + depth) & ((1u << bits) - 1);
}
template <class Key>
uint32_t HeapNumber(const Key& key, int length, int bits, int depth) {
  const int l = length - depth;
  return 1u << l | SlotOf(key, bits, depth) >> (bits - l);
}

}  // namespace sluice::trie_internal

#endif  // SLUICE_DATAPLANE_FIB_TRIE_LOCAL_H_
