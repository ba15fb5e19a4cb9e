// Building from a sorted list: the same shapes that single changes lead to, without their intermediate steps.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "dataplane/fib/trie_edit.h"

namespace sluice {

using namespace trie_internal;  // NOLINT(google-build-using-namespace)

// Paints `routes`, all longer than `depth` (or, for a page or the shorts, at least that), into the 2^bits slots, which
// come filled with what they inherit. Sorted order has each prefix after those that cover it. False: failed.
template <class Key>
template <class List>
bool TrieEditor<Key>::BuildSlots(absl::Span<const Route> routes, int bits, int depth, uint32_t* slots, List* list) {
  for (size_t i = 0; i < routes.size();) {
    const Prefix& prefix = routes[i].prefix;
    const uint32_t s = SlotOf(prefix.key, bits, depth);
    if (prefix.length <= depth + bits) {
      const uint32_t h = HeapNumber(prefix.key, prefix.length, bits, depth);
      std::fill_n(slots + List::View::FirstSlot(h), List::View::SlotCount(h), routes[i].leaf);
      list->leaf[list->count] = routes[i].leaf;
      list->index[list->count++] = static_cast<decltype(+list->index[0])>(h);
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < routes.size() && SlotOf(routes[end].prefix.key, bits, depth) == s) ++end;
    slots[s] = BuildEntry(routes.subspan(i, end - i), depth + bits, slots[s]);
    if (failed_) return false;
    i = end;
  }
  // By heap number: lengths first.
  uint32_t order[List::kMax];
  std::iota(order, order + list->count, 0u);
  std::sort(order, order + list->count, [&](uint32_t a, uint32_t b) { return list->index[a] < list->index[b]; });
  List sorted;
  sorted.count = list->count;
  for (uint32_t i = 0; i < list->count; ++i) {
    sorted.leaf[i] = list->leaf[order[i]];
    sorted.index[i] = list->index[order[i]];
  }
  *list = sorted;
  return true;
}

// `routes` are longer than `depth` and share its bits.
template <class Key>
uint32_t TrieEditor<Key>::BuildEntry(absl::Span<const Route> routes, int depth, Leaf inherited) {
  if (routes.empty()) return inherited;
  const Prefix& first = routes.front().prefix;
  if (routes.size() == 1) {
    if (first.length <= depth + kStride) return BuildNode(routes, depth, inherited);
    const Ref ref = Allocate(sizeof(Skip));
    if (failed_) return 0;
    *At<Skip>(ref) = Skip{first.key, inherited, routes.front().leaf, first.length};
    return kInner | kSkip | ref;
  }
  // A prefix that covers all the others sorts first.
  const int common = std::min(Ops::Common(first.key, routes.back().prefix.key), first.length - 1);
  const int fork = depth + (common - depth) / kStride * kStride;
  const uint32_t node = BuildNode(routes, fork, inherited);
  if (failed_ || fork == depth) return node;
  return MakeSkip(Ops::Masked(first.key, fork), fork, node, inherited);
}

template <class Key>
uint32_t TrieEditor<Key>::BuildNode(absl::Span<const Route> routes, int depth, Leaf inherited) {
  WideNode wide;
  std::fill(std::begin(wide.slot), std::end(wide.slot), inherited);
  NodeLocals list;
  if (!BuildSlots(routes, kStride, depth, wide.slot, &list)) return 0;
  wide.inherited = inherited;
  wide.locals = StoreLocals(0, list);
  if (failed_) return 0;
  return Pack(0, wide);
}

template <class Key>
Ref TrieEditor<Key>::BuildPage(absl::Span<const Route> routes, Ref* locals) {
  const Ref ref = Allocate(sizeof(Page));
  if (failed_) return 0;
  uint32_t entries[1 << kPageBits] = {};
  PageLocals list;
  if (!BuildSlots(routes, kPageBits, kDirectoryBits, entries, &list)) return 0;
  *locals = StoreLocals(0, list);
  for (uint32_t s = 0; s < 1u << kPageBits; ++s) SetSlot(&At<Page>(ref)->slots[s], entries[s]);
  return ref;
}

template <class Key>
void TrieEditor<Key>::BuildShorts(absl::Span<const Route> routes, Leaf* shorts) {
  std::memset(shorts, 0, sizeof(Leaf) << kShortBits);
  ShortLocals list;
  if (BuildSlots(routes, kShortBits, 0, shorts, &list)) trie_.short_locals_ = StoreLocals(0, list);
}

template <class Key>
void TrieEditor<Key>::Build(absl::Span<const Route> routes, bool large) {
  if (routes.empty()) return;
  trie_.size_ = static_cast<uint32_t>(routes.size());
  trie_.large_ = large;
  // Shorts lie between longer prefixes in the order; there are at most 511 of them.
  std::vector<Route> shorts;
  std::vector<Route> longer;
  longer.reserve(routes.size());
  for (const Route& r : routes) (r.prefix.length <= kShortBits ? shorts : longer).push_back(r);

  trie_.root_ = Allocate(large ? sizeof(LargeRoot) : sizeof(SmallRoot));
  if (failed_) return;
  BuildShorts(shorts, At<SmallRoot>(trie_.root_)->shorts);
  if (failed_) return;
  if (!large) {
    uint32_t* entries = At<SmallRoot>(trie_.root_)->entries;
    std::memset(entries, 0, sizeof(SmallRoot::entries));
    for (size_t i = 0; i < longer.size() && !failed_;) {
      const uint32_t s = Ops::Top(longer[i].prefix.key, kSmallBits);
      size_t end = i + 1;
      while (end < longer.size() && Ops::Top(longer[end].prefix.key, kSmallBits) == s) ++end;
      entries[s] = BuildEntry(absl::MakeConstSpan(longer).subspan(i, end - i), kSmallBits, 0);
      i = end;
    }
    return;
  }
  trie_.page_locals_ = Allocate(sizeof(Ref) << kDirectoryBits);
  trie_.hole_page_ = failed_ ? 0 : Allocate(sizeof(Page));
  if (failed_) return;
  Ref* locals = At<Ref>(trie_.page_locals_);
  std::memset(locals, 0, sizeof(Ref) << kDirectoryBits);
  for (PageSlot& slot : At<Page>(trie_.hole_page_)->slots) SetSlot(&slot, 0);
  Ref* pages = At<LargeRoot>(trie_.root_)->pages;
  std::fill_n(pages, size_t{1} << kDirectoryBits, trie_.hole_page_);
  for (size_t i = 0; i < longer.size() && !failed_;) {
    const uint32_t page = Ops::Top(longer[i].prefix.key, kDirectoryBits);
    size_t end = i + 1;
    while (end < longer.size() && Ops::Top(longer[end].prefix.key, kDirectoryBits) == page) ++end;
    pages[page] = BuildPage(absl::MakeConstSpan(longer).subspan(i, end - i), locals + page);
    i = end;
  }
}

template uint32_t TrieEditor<uint32_t>::BuildEntry(absl::Span<const Route>, int, Leaf);
template uint32_t TrieEditor<Ipv6Key>::BuildEntry(absl::Span<const Route>, int, Leaf);
template void TrieEditor<uint32_t>::Build(absl::Span<const Route>, bool);
template void TrieEditor<Ipv6Key>::Build(absl::Span<const Route>, bool);

}  // namespace sluice
