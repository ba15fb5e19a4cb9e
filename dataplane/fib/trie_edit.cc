#include "dataplane/fib/trie_edit.h"

#include <algorithm>
#include <cstring>

namespace sluice {

using namespace trie_internal;  // NOLINT(google-build-using-namespace)

template <class Key>
void TrieEditor<Key>::Expand(const Node* node, WideNode* wide) const {
  const uint32_t* next = node->entries;
  uint32_t entry = 0;
  for (unsigned s = 0; s < 64; ++s) {
    if (node->runs >> s & 1) entry = *next++;
    wide->slot[s] = entry;
  }
  wide->locals = node->locals;
  wide->inherited = node->inherited;
}

template <class Key>
uint32_t TrieEditor<Key>::Pack(Ref old, const WideNode& wide) {
  uint64_t runs = 1;
  for (unsigned s = 1; s < 64; ++s) runs |= uint64_t{wide.slot[s] != wide.slot[s - 1]} << s;
  const size_t count = static_cast<size_t>(std::popcount(runs));
  const Ref ref = AllocateFor(old, sizeof(Node) + count * sizeof(uint32_t));
  if (ref == 0) return 0;
  Node* node = At<Node>(ref);
  node->runs = runs;
  node->locals = wide.locals;
  node->inherited = wide.inherited;
  uint32_t* next = node->entries;
  for (uint64_t left = runs; left != 0; left &= left - 1) *next++ = wide.slot[std::countr_zero(left)];
  return kInner | ref;
}

template <class Key>
uint32_t TrieEditor<Key>::ReplaceSlot(uint32_t entry, unsigned slot, uint32_t value) {
  const Node* node = At<Node>(entry);
  const uint32_t at = static_cast<uint32_t>(std::popcount(node->runs << (~slot & 63))) - 1;
  if ((node->entries[at] & kInner) && (value & kInner)) {  // an inner entry is a run of its own
    const Ref own = Own(entry & kRefMask);
    if (failed_) return entry;
    At<Node>(own)->entries[at] = value;
    return kInner | own;
  }
  WideNode wide;
  Expand(node, &wide);
  wide.slot[slot] = value;
  return Pack(entry & kRefMask, wide);
}

template <class Key>
uint32_t TrieEditor<Key>::Repush(uint32_t entry, Leaf inherited) {
  if (!(entry & kInner)) return inherited;
  if (entry & kSkip) {
    uint32_t hit = At<Skip>(entry)->hit;
    if (hit & kInner) hit = Repush(hit, inherited);
    if (failed_) return entry;
    const Ref own = Own(entry & kRefMask);
    if (failed_) return entry;
    At<Skip>(own)->miss = inherited;
    At<Skip>(own)->hit = hit;
    return kInner | kSkip | own;
  }
  const Node* node = At<Node>(entry);
  WideNode wide;
  Expand(node, &wide);
  wide.inherited = inherited;
  const auto uncovered = NodeLocalView(base_, node->locals).Uncovered();
  for (unsigned s = 0; s < 64; ++s) {
    if (uncovered[s]) wide.slot[s] = Repush(wide.slot[s], inherited);
    if (failed_) return entry;
  }
  return Pack(entry & kRefMask, wide);
}

template <class Key>
bool TrieEditor<Key>::IsSingle(uint32_t entry) const {
  const Node* node = At<Node>(entry);
  if (NodeLocalView(base_, node->locals).count != 1) return false;
  const int count = std::popcount(node->runs);
  return std::none_of(node->entries, node->entries + count, [](uint32_t e) { return e & kInner; });
}

template <class Key>
uint32_t TrieEditor<Key>::MakeSkip(const Key& value, int length, uint32_t hit, Leaf miss) {
  Key to = value;
  if (IsSingle(hit)) {
    const Ref node = hit & kRefMask, locals = At<Node>(hit)->locals;
    const NodeLocalView view(base_, locals);
    const uint32_t h = view.index[0];
    const int more = NodeLocalView::Length(h);
    to = Ops::Or(value, Ops::Place(h - (1u << more), more, length));
    length += more;
    hit = view.leaf[0];
    Retire(locals);
    Retire(node);
  }
  const Ref ref = Allocate(sizeof(Skip));
  if (failed_) return 0;
  *At<Skip>(ref) = Skip{to, miss, hit, static_cast<uint32_t>(length)};
  return kInner | kSkip | ref;
}

template <class Key>
void TrieEditor<Key>::RetireEntry(uint32_t entry) {
  if (!(entry & kInner)) return;
  if (entry & kSkip) {
    RetireEntry(At<Skip>(entry)->hit);
  } else {
    const Node* node = At<Node>(entry);
    const int count = std::popcount(node->runs);
    for (int i = 0; i < count; ++i) RetireEntry(node->entries[i]);
    Retire(node->locals);
  }
  Retire(entry & kRefMask);
}

template <class Key>
uint32_t TrieEditor<Key>::SetEntry(uint32_t entry, int depth, const Route& route) {
  if (!(entry & kInner)) return BuildEntry(absl::MakeConstSpan(&route, 1), depth, entry);
  if (entry & kSkip) return SetInSkip(entry, depth, route);
  return SetInNode(entry, depth, route);
}

template <class Key>
uint32_t TrieEditor<Key>::SetInSkip(uint32_t entry, int depth, const Route& route) {
  const Skip skip = *At<Skip>(entry);
  const int length = route.prefix.length, target = static_cast<int>(skip.length);
  if (!(skip.hit & kInner)) {
    const Prefix other{skip.value, static_cast<uint8_t>(target)};
    if (other == route.prefix) {
      const Ref own = Own(entry & kRefMask);
      if (!failed_) At<Skip>(own)->hit = route.leaf;
      return kInner | kSkip | own;
    }
    Route two[2] = {{other, skip.hit}, route};
    if (route.prefix < other) std::swap(two[0], two[1]);
    Retire(entry & kRefMask);
    return BuildEntry(two, depth, skip.miss);
  }
  const int common = std::min({Ops::Common(skip.value, route.prefix.key), target, length - 1});
  if (common == target) {
    const uint32_t hit = SetInNode(skip.hit, target, route);
    if (failed_ || hit == skip.hit) return entry;
    const Ref own = Own(entry & kRefMask);
    if (!failed_) At<Skip>(own)->hit = hit;
    return kInner | kSkip | own;
  }
  // The new prefix leaves the common path: a node at the last stride that both share, with the old skip (or, if
  // nothing is left to skip, its node) in one slot.
  const int fork = depth + (common - depth) / kStride * kStride;
  uint32_t below = entry;
  if (fork + kStride == target) {
    below = skip.hit;
    Retire(entry & kRefMask);
  }
  WideNode wide;
  std::fill(std::begin(wide.slot), std::end(wide.slot), skip.miss);
  wide.slot[Ops::Six(skip.value, fork)] = below;
  wide.locals = 0;
  wide.inherited = skip.miss;
  uint32_t node = Pack(0, wide);
  if (failed_) return entry;
  node = SetInNode(node, fork, route);
  if (failed_ || fork == depth) return node;
  return MakeSkip(Ops::Masked(skip.value, fork), fork, node, skip.miss);
}

template <class Key>
uint32_t TrieEditor<Key>::SetInNode(uint32_t entry, int depth, const Route& route) {
  const Node* node = At<Node>(entry);
  const unsigned s = Ops::Six(route.prefix.key, depth);
  if (route.prefix.length > depth + kStride) {
    const uint32_t old = Slot(node, s);
    const uint32_t child = SetEntry(old, depth + kStride, route);
    if (failed_ || child == old) return entry;
    return ReplaceSlot(entry, s, child);
  }
  NodeLocals list(base_, node->locals);
  const uint32_t h = HeapNumber(route.prefix.key, route.prefix.length, kStride, depth);
  list.Put(h, route.leaf);
  WideNode wide;
  Expand(node, &wide);
  wide.locals = StoreLocals(node->locals, list);
  if (failed_) return entry;
  const auto mask = list.view().Exclusive(h);
  const unsigned first = NodeLocalView::FirstSlot(h), end = first + NodeLocalView::SlotCount(h);
  for (unsigned at = first; at < end; ++at) {
    if (mask[at]) wide.slot[at] = Repush(wide.slot[at], route.leaf);
    if (failed_) return entry;
  }
  return Pack(entry & kRefMask, wide);
}

template <class Key>
uint32_t TrieEditor<Key>::RemoveEntry(uint32_t entry, int depth, const Prefix& prefix) {
  if (!(entry & kInner)) return entry;
  if (entry & kSkip) return RemoveInSkip(entry, prefix);
  return RemoveInNode(entry, depth, prefix);
}

template <class Key>
uint32_t TrieEditor<Key>::RemoveInSkip(uint32_t entry, const Prefix& prefix) {
  const Skip skip = *At<Skip>(entry);
  if (!(skip.hit & kInner)) {
    Retire(entry & kRefMask);
    return skip.miss;
  }
  const uint32_t hit = RemoveInNode(skip.hit, static_cast<int>(skip.length), prefix);
  if (failed_) return entry;
  if (!(hit & kInner) || (hit & kSkip)) {
    Retire(entry & kRefMask);
    return hit;
  }
  if (IsSingle(hit)) {
    Retire(entry & kRefMask);
    return MakeSkip(skip.value, static_cast<int>(skip.length), hit, skip.miss);
  }
  if (hit == skip.hit) return entry;
  const Ref own = Own(entry & kRefMask);
  if (!failed_) At<Skip>(own)->hit = hit;
  return kInner | kSkip | own;
}

template <class Key>
uint32_t TrieEditor<Key>::RemoveInNode(uint32_t entry, int depth, const Prefix& prefix) {
  const Node* node = At<Node>(entry);
  const unsigned s = Ops::Six(prefix.key, depth);
  if (prefix.length > depth + kStride) {
    const uint32_t old = Slot(node, s);
    const uint32_t child = RemoveEntry(old, depth + kStride, prefix);
    if (failed_ || child == old) return entry;
    const uint32_t changed = ReplaceSlot(entry, s, child);
    return failed_ || (child & kInner) ? changed : Collapse(changed, depth, prefix.key);
  }
  NodeLocals list(base_, node->locals);
  const uint32_t h = HeapNumber(prefix.key, prefix.length, kStride, depth);
  const auto mask = list.view().Exclusive(h);
  list.Erase(h);
  const uint32_t cover = list.view().Cover(h);
  const Leaf leaf = cover != 0 ? list.view().Get(cover) : node->inherited;
  WideNode wide;
  Expand(node, &wide);
  wide.locals = StoreLocals(node->locals, list);
  if (failed_) return entry;
  const unsigned first = NodeLocalView::FirstSlot(h), end = first + NodeLocalView::SlotCount(h);
  for (unsigned at = first; at < end; ++at) {
    if (mask[at]) wide.slot[at] = Repush(wide.slot[at], leaf);
    if (failed_) return entry;
  }
  const uint32_t changed = Pack(entry & kRefMask, wide);
  return failed_ ? changed : Collapse(changed, depth, prefix.key);
}

// `key` is any key below the node.
template <class Key>
uint32_t TrieEditor<Key>::Collapse(uint32_t entry, int depth, const Key& key) {
  const Node* node = At<Node>(entry);
  if (node->locals != 0) return entry;
  int inner = 0;
  uint32_t child = 0;
  unsigned slot = 0;
  const uint32_t* next = node->entries;
  for (uint64_t left = node->runs; left != 0; left &= left - 1, ++next) {
    if (!(*next & kInner)) continue;
    if (++inner > 1) return entry;
    child = *next;
    slot = static_cast<unsigned>(std::countr_zero(left));
  }
  const Leaf inherited = node->inherited;
  Retire(entry & kRefMask);
  if (inner == 0) return inherited;
  if (child & kSkip) return child;
  const Key path = Ops::Or(Ops::Masked(key, depth), Ops::Place(slot, kStride, depth));
  return MakeSkip(path, depth + kStride, child, inherited);
}

// What the other two files of this class call.
template uint32_t TrieEditor<uint32_t>::SetEntry(uint32_t, int, const Route&);
template uint32_t TrieEditor<uint32_t>::RemoveEntry(uint32_t, int, const Prefix&);
template uint32_t TrieEditor<uint32_t>::Repush(uint32_t, Leaf);
template void TrieEditor<uint32_t>::RetireEntry(uint32_t);
template uint32_t TrieEditor<uint32_t>::Pack(Ref, const WideNode&);
template uint32_t TrieEditor<uint32_t>::MakeSkip(const uint32_t&, int, uint32_t, Leaf);
template uint32_t TrieEditor<Ipv6Key>::SetEntry(uint32_t, int, const Route&);
template uint32_t TrieEditor<Ipv6Key>::RemoveEntry(uint32_t, int, const Prefix&);
template uint32_t TrieEditor<Ipv6Key>::Repush(uint32_t, Leaf);
template void TrieEditor<Ipv6Key>::RetireEntry(uint32_t);
template uint32_t TrieEditor<Ipv6Key>::Pack(Ref, const WideNode&);
template uint32_t TrieEditor<Ipv6Key>::MakeSkip(const Ipv6Key&, int, uint32_t, Leaf);

}  // namespace sluice
