#include "dataplane/fib/trie.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/fib/trie_edit.h"
#include "dataplane/fib/trie_local.h"

namespace sluice {

using namespace trie_internal;  // NOLINT(google-build-using-namespace)

namespace {

uint32_t KeyOf(const IpAddress& a, uint32_t*) { return a.v4().ToHost(); }
Ipv6Key KeyOf(const IpAddress& a, Ipv6Key*) { return {a.v6().high(), a.v6().low()}; }
IpAddress AddressOf(uint32_t key) { return Ipv4Address::FromHost(key); }
IpAddress AddressOf(const Ipv6Key& key) { return Ipv6Address::FromHost(key.high, key.low); }

absl::Status OutOfMemory() { return absl::ResourceExhaustedError("no memory for routes"); }

template <class Key>
absl::Status CheckRoute(const typename Trie<Key>::Prefix& prefix, Leaf leaf) {
  if (prefix.length > Trie<Key>::kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefix length ", prefix.length, " is more than ", Trie<Key>::kMaxLength));
  }
  if (KeyOps<Key>::Masked(prefix.key, prefix.length) != prefix.key) {
    return absl::InvalidArgumentError("the prefix has bits set beyond its length");
  }
  if (leaf == 0 || (leaf & kInner)) return absl::InvalidArgumentError("a leaf is nonzero and has bit 30 clear");
  return absl::OkStatus();
}

template <class Key>
using Visitor = absl::FunctionRef<void(const typename Trie<Key>::Prefix&, Leaf)>;

// The prefixes of one list. `path` is the block's first `depth` bits.
template <class Key, class View>
void VisitLocals(const View& view, const Key& path, int depth, Visitor<Key> visit) {
  for (uint32_t i = 0; i < view.count; ++i) {
    const int length = View::Length(view.index[i]);
    const uint32_t bits = view.index[i] - (1u << length);
    const Key key = length == 0 ? path : KeyOps<Key>::Or(path, KeyOps<Key>::Place(bits, length, depth));
    visit({key, static_cast<uint8_t>(depth + length)}, view.leaf[i]);
  }
}

template <class Key>
void VisitEntry(const char* base, uint32_t entry, const Key& path, int depth, Visitor<Key> visit) {
  using Ops = KeyOps<Key>;
  if (!(entry & kInner)) return;
  if (entry & kSkip) {
    const Skip<Key>* skip = View<Skip<Key>>(base, entry);
    if (skip->hit & kInner) {
      VisitEntry(base, skip->hit, skip->value, static_cast<int>(skip->length), visit);
    } else {
      visit({skip->value, static_cast<uint8_t>(skip->length)}, skip->hit);
    }
    return;
  }
  const Node* node = View<Node>(base, entry);
  VisitLocals(NodeLocalView(base, node->locals), path, depth, visit);
  const uint32_t* next = node->entries;
  for (uint64_t left = node->runs; left != 0; left &= left - 1, ++next) {
    if (!(*next & kInner)) continue;
    const auto slot = static_cast<unsigned>(std::countr_zero(left));
    VisitEntry(base, *next, Ops::Or(path, Ops::Place(slot, kStride, depth)), depth + kStride, visit);
  }
}

// Narrows `match` to the longest prefix of `view` that covers `key` and is no longer than max_length.
template <class Key, class View>
void MatchLocals(const View& view, const Key& key, int bits, int depth, int max_length,
                 typename Trie<Key>::Match* match) {
  if (max_length < depth) return;
  const int length = std::min(max_length - depth, bits);
  const uint32_t h = view.Cover(1u << length | SlotOf(key, bits, depth) >> (bits - length));
  if (h != 0) *match = {view.Get(h), static_cast<uint8_t>(depth + View::Length(h))};
}

}  // namespace

template <class Key>
typename Trie<Key>::Prefix Trie<Key>::Prefix::Of(const IpPrefix& prefix) {
  return {KeyOf(prefix.address, static_cast<Key*>(nullptr)), prefix.length};
}

template <class Key>
IpPrefix Trie<Key>::Prefix::ToIpPrefix() const {
  return IpPrefix::Of(AddressOf(key), length);
}

template <class Key>
typename Trie<Key>::Match Trie<Key>::LookupPrefix(const char* base, const Key& key, int max_length) const {
  using Ops = KeyOps<Key>;
  Match match;
  if (root_ == 0) return match;
  MatchLocals(ShortLocalView(base, short_locals_), key, kShortBits, 0, max_length, &match);
  uint32_t entry;
  int depth;
  if (large_) {
    const uint32_t page = Ops::Top(key, kDirectoryBits);
    const PageLocalView locals(base, View<Ref>(base, page_locals_)[page]);
    MatchLocals(locals, key, kPageBits, kDirectoryBits, max_length, &match);
    depth = kLargeBits;
    entry = View<Page>(base, View<LargeRoot>(base, root_)->pages[page])
                ->slots[SlotOf(key, kPageBits, kDirectoryBits)]
                .entry;
  } else {
    depth = kSmallBits;
    entry = View<SmallRoot>(base, root_)->entries[Ops::Top(key, kSmallBits)];
  }
  while ((entry & kInner) && depth < max_length) {
    if (entry & kSkip) {
      const Skip<Key>* skip = View<Skip<Key>>(base, entry);
      depth = static_cast<int>(skip->length);
      entry = skip->hit;
      if (!Ops::Matches(key, *skip)) break;
      if (!(entry & kInner) && depth <= max_length) match = {entry, static_cast<uint8_t>(depth)};
    } else {
      const Node* node = View<Node>(base, entry);
      MatchLocals(NodeLocalView(base, node->locals), key, kStride, depth, max_length, &match);
      entry = Slot(node, Ops::Six(key, depth));
      depth += kStride;
    }
  }
  return match;
}

template <class Key>
Leaf Trie<Key>::Get(const char* base, const Prefix& prefix) const {
  using Ops = KeyOps<Key>;
  if (root_ == 0 || prefix.length > kMaxLength || Ops::Masked(prefix.key, prefix.length) != prefix.key) return 0;
  const Key& key = prefix.key;
  const int length = prefix.length;
  if (length <= kShortBits) return ShortLocalView(base, short_locals_).Get(HeapNumber(key, length, kShortBits, 0));
  uint32_t entry;
  int depth;
  if (large_) {
    const uint32_t page = Ops::Top(key, kDirectoryBits);
    if (length <= kLargeBits) {
      const PageLocalView locals(base, View<Ref>(base, page_locals_)[page]);
      return locals.Get(HeapNumber(key, length, kPageBits, kDirectoryBits));
    }
    depth = kLargeBits;
    entry = View<Page>(base, View<LargeRoot>(base, root_)->pages[page])
                ->slots[SlotOf(key, kPageBits, kDirectoryBits)]
                .entry;
  } else {
    depth = kSmallBits;
    entry = View<SmallRoot>(base, root_)->entries[Ops::Top(key, kSmallBits)];
  }
  while (entry & kInner) {
    if (entry & kSkip) {
      const Skip<Key>* skip = View<Skip<Key>>(base, entry);
      depth = static_cast<int>(skip->length);
      if (depth > length || !Ops::Matches(key, *skip)) return 0;
      entry = skip->hit;
      if (!(entry & kInner)) return depth == length ? entry : 0;
      if (depth == length) return 0;
    } else {
      const Node* node = View<Node>(base, entry);
      if (length <= depth + kStride) {
        return NodeLocalView(base, node->locals).Get(HeapNumber(key, length, kStride, depth));
      }
      entry = Slot(node, Ops::Six(key, depth));
      depth += kStride;
    }
  }
  return 0;
}

template <class Key>
void Trie<Key>::ForEach(const char* base, Visitor<Key> visit) const {
  using Ops = KeyOps<Key>;
  if (root_ == 0) return;
  VisitLocals(ShortLocalView(base, short_locals_), Key{}, 0, visit);
  if (!large_) {
    const SmallRoot* root = View<SmallRoot>(base, root_);
    for (uint32_t s = 0; s < 1u << kSmallBits; ++s) {
      VisitEntry(base, root->entries[s], Ops::Place(s, kSmallBits, 0), kSmallBits, visit);
    }
    return;
  }
  const LargeRoot* root = View<LargeRoot>(base, root_);
  for (uint32_t page = 0; page < 1u << kDirectoryBits; ++page) {
    if (root->pages[page] == hole_page_) continue;
    const Key path = Ops::Place(page, kDirectoryBits, 0);
    VisitLocals(PageLocalView(base, View<Ref>(base, page_locals_)[page]), path, kDirectoryBits, visit);
    const Page* slots = View<Page>(base, root->pages[page]);
    for (uint32_t s = 0; s < 1u << kPageBits; ++s) {
      VisitEntry(base, slots->slots[s].entry, Ops::Or(path, Ops::Place(s, kPageBits, kDirectoryBits)), kLargeBits,
                 visit);
    }
  }
}

template <class Key>
absl::Status Trie<Key>::Assign(Edit& edit, absl::Span<const Route> routes) {
  for (size_t i = 0; i < routes.size(); ++i) {
    if (absl::Status s = CheckRoute<Key>(routes[i].prefix, routes[i].leaf); !s.ok()) return s;
    if (i > 0 && !(routes[i - 1].prefix < routes[i].prefix)) {
      return absl::InvalidArgumentError("routes are not in ascending order without repetition");
    }
  }
  TrieEditor<Key> editor(edit, *this);
  editor.Clear();
  editor.Build(routes, routes.size() > kSmallLimit);
  if (editor.failed()) return OutOfMemory();
  *this = editor.result();
  return absl::OkStatus();
}

// Makes the table, with one route more or less, into the other size class.
template <class Key>
absl::Status Trie<Key>::Rebuild(Edit& edit, const Route* added, const Prefix* removed) {
  std::vector<Route> routes;
  routes.reserve(size_ + 1);
  ForEach(edit.arena().base(), [&](const Prefix& p, Leaf leaf) {
    if (removed == nullptr || p != *removed) routes.push_back({p, leaf});
  });
  if (added != nullptr) routes.push_back(*added);
  std::sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) { return a.prefix < b.prefix; });
  TrieEditor<Key> editor(edit, *this);
  editor.Clear();
  editor.Build(routes, !large_);
  if (editor.failed()) return OutOfMemory();
  *this = editor.result();
  return absl::OkStatus();
}

template <class Key>
absl::Status Trie<Key>::Set(Edit& edit, const Prefix& prefix, Leaf leaf) {
  if (absl::Status s = CheckRoute<Key>(prefix, leaf); !s.ok()) return s;
  const Leaf old = Get(edit.arena().base(), prefix);
  if (old == leaf) return absl::OkStatus();
  if (old == 0 && !large_ && size_ == kSmallLimit) {
    const Route route{prefix, leaf};
    return Rebuild(edit, &route, nullptr);
  }
  TrieEditor<Key> editor(edit, *this);
  editor.Set(prefix, leaf, old);
  if (editor.failed()) return OutOfMemory();
  *this = editor.result();
  return absl::OkStatus();
}

template <class Key>
absl::Status Trie<Key>::Remove(Edit& edit, const Prefix& prefix) {
  if (absl::Status s = CheckRoute<Key>(prefix, 1); !s.ok()) return s;
  if (Get(edit.arena().base(), prefix) == 0) return absl::OkStatus();
  if (large_ && size_ == kLargeLimit) return Rebuild(edit, nullptr, &prefix);
  TrieEditor<Key> editor(edit, *this);
  editor.Remove(prefix);
  if (editor.failed()) return OutOfMemory();
  *this = editor.result();
  return absl::OkStatus();
}

template <class Key>
void Trie<Key>::Clear(Edit& edit) {
  TrieEditor<Key> editor(edit, *this);
  editor.Clear();
  *this = editor.result();
}

template class Trie<uint32_t>;
template class Trie<Ipv6Key>;

}  // namespace sluice
