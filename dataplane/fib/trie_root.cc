// Roots and pages: where a change enters the trie.
#include <algorithm>
#include <cstring>

#include "dataplane/fib/trie_edit.h"

namespace sluice {

using namespace trie_internal;  // NOLINT(google-build-using-namespace)

// The prefixes up to /8. leaf 0 removes.
template <class Key>
void TrieEditor<Key>::SetShort(const Prefix& prefix, Leaf leaf) {
  const uint32_t h = HeapNumber(prefix.key, prefix.length, kShortBits, 0);
  ShortLocals list(base_, trie_.short_locals_);
  if (leaf != 0) list.Put(h, leaf);
  const auto mask = list.view().Exclusive(h);
  if (leaf == 0) {
    list.Erase(h);
    if (const uint32_t cover = list.view().Cover(h); cover != 0) leaf = list.view().Get(cover);
  }
  trie_.short_locals_ = StoreLocals(trie_.short_locals_, list);
  if (failed_) return;
  trie_.root_ = Own(trie_.root_);
  if (failed_) return;
  Leaf* shorts = At<SmallRoot>(trie_.root_)->shorts;
  for (uint32_t s = 0; s < mask.size(); ++s) {
    if (mask[s]) shorts[s] = leaf;
  }
}

template <class Key>
void TrieEditor<Key>::SetSlot(PageSlot* slot, uint32_t entry) {
  slot->entry = entry;
  if (entry >> 30 == kInner >> 30) {
    slot->runs = At<Node>(entry)->runs;
    slot->ref = entry & kRefMask;
  } else {
    slot->runs = 0;
    slot->ref = static_cast<Ref>((reinterpret_cast<char*>(slot) - base_) / Arena::kGranule);
  }
}

template <class Key>
PageSlot* TrieEditor<Key>::OwnPageSlots(uint32_t page) {
  trie_.root_ = Own(trie_.root_);
  if (failed_) return nullptr;
  const Ref old = At<LargeRoot>(trie_.root_)->pages[page];
  Ref own;
  if (old == trie_.hole_page_) {  // which stays in use elsewhere
    own = Allocate(sizeof(Page));
    if (!failed_) std::memcpy(At<Page>(own), At<Page>(old), sizeof(Page));
  } else {
    own = Own(old);
  }
  if (failed_) return nullptr;
  At<LargeRoot>(trie_.root_)->pages[page] = own;
  PageSlot* slots = At<Page>(own)->slots;
  if (own != old) {
    for (uint32_t s = 0; s < 1u << kPageBits; ++s) {
      if (slots[s].runs == 0) slots[s].ref = own + s;
    }
  }
  return slots;
}

template <class Key>
void TrieEditor<Key>::DropPageIfEmpty(uint32_t page) {
  const Ref ref = At<LargeRoot>(trie_.root_)->pages[page];
  if (ref == trie_.hole_page_ || At<Ref>(trie_.page_locals_)[page] != 0) return;
  const auto& slots = At<Page>(ref)->slots;
  if (std::any_of(std::begin(slots), std::end(slots), [](const PageSlot& s) { return s.entry != 0; })) return;
  Retire(ref);
  At<LargeRoot>(trie_.root_)->pages[page] = trie_.hole_page_;  // the root is ours: the page just changed
}

// A prefix of a large trie that ends in a page (/9 to /18). leaf 0 removes.
template <class Key>
void TrieEditor<Key>::SetInPage(const Prefix& prefix, Leaf leaf) {
  const uint32_t page = Ops::Top(prefix.key, kDirectoryBits);
  const uint32_t h = HeapNumber(prefix.key, prefix.length, kPageBits, kDirectoryBits);
  const bool remove = leaf == 0;
  PageLocals list(base_, At<Ref>(trie_.page_locals_)[page]);
  if (!remove) list.Put(h, leaf);
  const auto mask = list.view().Exclusive(h);
  if (remove) {
    list.Erase(h);
    if (const uint32_t cover = list.view().Cover(h); cover != 0) leaf = list.view().Get(cover);
  }
  trie_.page_locals_ = Own(trie_.page_locals_);
  if (failed_) return;
  Ref* locals = At<Ref>(trie_.page_locals_) + page;
  *locals = StoreLocals(*locals, list);
  if (failed_) return;
  PageSlot* slots = OwnPageSlots(page);
  const uint32_t first = PageLocalView::FirstSlot(h), end = first + PageLocalView::SlotCount(h);
  for (uint32_t s = first; s < end && !failed_; ++s) {
    if (!mask[s]) continue;
    const uint32_t entry = Repush(slots[s].entry, leaf);
    if (!failed_) SetSlot(&slots[s], entry);
  }
  if (remove && !failed_) DropPageIfEmpty(page);
}

// A prefix below an entry of the root or of a page. leaf 0 removes.
template <class Key>
void TrieEditor<Key>::ChangeRootEntry(const Prefix& prefix, Leaf leaf) {
  const uint32_t page = Ops::Top(prefix.key, kDirectoryBits);
  const int depth = trie_.large_ ? kLargeBits : kSmallBits;
  const uint32_t s = SlotOf(prefix.key, depth, 0) & (trie_.large_ ? (1u << kPageBits) - 1 : ~0u);
  const uint32_t old = trie_.large_ ? At<Page>(At<LargeRoot>(trie_.root_)->pages[page])->slots[s].entry
                                    : At<SmallRoot>(trie_.root_)->entries[s];
  const uint32_t entry = leaf != 0 ? SetEntry(old, depth, Route{prefix, leaf}) : RemoveEntry(old, depth, prefix);
  if (failed_) return;
  if (trie_.large_) {  // also if the node stayed: its runs may not have
    PageSlot* slots = OwnPageSlots(page);
    if (failed_) return;
    SetSlot(&slots[s], entry);
    if (entry == 0) DropPageIfEmpty(page);
  } else if (entry != old) {
    trie_.root_ = Own(trie_.root_);
    if (!failed_) At<SmallRoot>(trie_.root_)->entries[s] = entry;
  }
}

template <class Key>
void TrieEditor<Key>::Set(const Prefix& prefix, Leaf leaf, Leaf old) {
  if (trie_.root_ == 0) {
    const Route route{prefix, leaf};
    Build(absl::MakeConstSpan(&route, 1), /*large=*/false);
    return;
  }
  if (old == 0) ++trie_.size_;
  if (prefix.length <= kShortBits) {
    SetShort(prefix, leaf);
  } else if (trie_.large_ && prefix.length <= kLargeBits) {
    SetInPage(prefix, leaf);
  } else {
    ChangeRootEntry(prefix, leaf);
  }
}

template <class Key>
void TrieEditor<Key>::Remove(const Prefix& prefix) {
  if (trie_.size_ == 1) return Clear();
  --trie_.size_;
  if (prefix.length <= kShortBits) {
    SetShort(prefix, 0);
  } else if (trie_.large_ && prefix.length <= kLargeBits) {
    SetInPage(prefix, 0);
  } else {
    ChangeRootEntry(prefix, 0);
  }
}

template <class Key>
void TrieEditor<Key>::Clear() {
  if (trie_.root_ != 0) {
    if (trie_.large_) {
      for (const Ref page : At<LargeRoot>(trie_.root_)->pages) {
        if (page == trie_.hole_page_) continue;
        for (const PageSlot& slot : At<Page>(page)->slots) RetireEntry(slot.entry);
        Retire(page);
      }
      for (uint32_t page = 0; page < 1u << kDirectoryBits; ++page) Retire(At<Ref>(trie_.page_locals_)[page]);
    } else {
      for (const uint32_t entry : At<SmallRoot>(trie_.root_)->entries) RetireEntry(entry);
    }
    Retire(trie_.page_locals_);
    Retire(trie_.hole_page_);
    Retire(trie_.short_locals_);
    Retire(trie_.root_);
  }
  trie_ = Trie<Key>();
}

template void TrieEditor<uint32_t>::SetSlot(PageSlot*, uint32_t);
template void TrieEditor<Ipv6Key>::SetSlot(PageSlot*, uint32_t);
template void TrieEditor<uint32_t>::Set(const Prefix&, Leaf, Leaf);
template void TrieEditor<Ipv6Key>::Set(const Prefix&, Leaf, Leaf);
template void TrieEditor<uint32_t>::Remove(const Prefix&);
template void TrieEditor<Ipv6Key>::Remove(const Prefix&);
template void TrieEditor<uint32_t>::Clear();
template void TrieEditor<Ipv6Key>::Clear();

}  // namespace sluice
