// The changing side of the trie: makes the next version of a handle inside an Edit. Internal to trie.cc.
//
// Every function that changes an entry takes the old one and returns the new one: the same number if the block could be
// changed in place. Failed allocations set failed_; what is returned then is of no use, the handle that the caller
// still has is untouched, and the edit can only be aborted.
//
// The shape depends only on the set of routes, not on the order in which they came and went:
//   - an entry without longer prefixes is a leaf;
//   - one that has a single longer prefix is a node if the prefix ends in it, else a skip to a leaf;
//   - one that has several is a node, at the greatest depth (in strides) at which they still share all bits, behind a
//     skip if that is not here.
// Threads: that of the edit. Cost: about 100 ns for each node on the path.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_EDIT_H_
#define SLUICE_DATAPLANE_FIB_TRIE_EDIT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "dataplane/base/edit.h"
#include "dataplane/fib/trie.h"
#include "dataplane/fib/trie_local.h"

namespace sluice {

template <class Key>
class TrieEditor {
 public:
  using Prefix = typename Trie<Key>::Prefix;
  using Route = typename Trie<Key>::Route;

  TrieEditor(Edit& edit, const Trie<Key>& from) : edit_(edit), base_(edit.arena().base()), trie_(from) {}

  // One of these, then failed(), then result().
  void Set(const Prefix& prefix, Leaf leaf, Leaf old);  // `old`: what Get says
  void Remove(const Prefix& prefix);                    // the prefix is there
  void Clear();
  void Build(absl::Span<const Route> routes, bool large);  // from empty; sorted, no duplicates

  bool failed() const { return failed_; }
  const Trie<Key>& result() const { return trie_; }

 private:
  using Node = trie_internal::Node;
  using Skip = trie_internal::Skip<Key>;
  using Ops = trie_internal::KeyOps<Key>;

  struct WideNode {
    uint32_t slot[64];
    Ref locals;
    Leaf inherited;
  };

  // Blocks, with failed_ and the byte count kept. AllocateFor reuses the block `old` if it is ours and of the right
  // size, and else retires it.
  Ref Allocate(size_t bytes);
  Ref AllocateFor(Ref old, size_t bytes);
  Ref Own(Ref ref);
  void Retire(Ref ref);
  template <typename T>
  T* At(uint32_t entry) const {
    return edit_.arena().template At<T>(entry & trie_internal::kRefMask);
  }
  template <class List>
  Ref StoreLocals(Ref old, const List& list);

  // trie_edit.cc: one entry at `depth`.
  uint32_t SetEntry(uint32_t entry, int depth, const Route& route);
  uint32_t SetInSkip(uint32_t entry, int depth, const Route& route);
  uint32_t SetInNode(uint32_t entry, int depth, const Route& route);
  uint32_t RemoveEntry(uint32_t entry, int depth, const Prefix& prefix);
  uint32_t RemoveInSkip(uint32_t entry, const Prefix& prefix);
  uint32_t RemoveInNode(uint32_t entry, int depth, const Prefix& prefix);
  uint32_t Collapse(uint32_t entry, int depth, const Key& key);
  // Replaces what an entry has from prefixes that cover all of it.
  uint32_t Repush(uint32_t entry, Leaf inherited);
  uint32_t ReplaceSlot(uint32_t entry, unsigned slot, uint32_t value);
  void Expand(const Node* node, WideNode* wide) const;
  uint32_t Pack(Ref old, const WideNode& wide);
  bool IsSingle(uint32_t node) const;
  uint32_t MakeSkip(const Key& value, int length, uint32_t hit, Leaf miss);
  void RetireEntry(uint32_t entry);

  // trie_root.cc: pages and roots.
  void SetShort(const Prefix& prefix, Leaf leaf);  // leaf 0 removes
  void SetInPage(const Prefix& prefix, Leaf leaf);
  void ChangeRootEntry(const Prefix& prefix, Leaf leaf);
  // The slots of a page that may be written; null: failed.
  trie_internal::PageSlot* OwnPageSlots(uint32_t page);
  void SetSlot(trie_internal::PageSlot* slot, uint32_t entry);
  void DropPageIfEmpty(uint32_t page);

  // trie_build.cc.
  uint32_t BuildEntry(absl::Span<const Route> routes, int depth, Leaf inherited);
  uint32_t BuildNode(absl::Span<const Route> routes, int depth, Leaf inherited);
  Ref BuildPage(absl::Span<const Route> routes, Ref* locals);
  template <class List>
  bool BuildSlots(absl::Span<const Route> routes, int bits, int depth, uint32_t* slots, List* list);
  void BuildShorts(absl::Span<const Route> routes, Leaf* shorts);

  Edit& edit_;
  char* base_;
  Trie<Key> trie_;
  bool failed_ = false;
};

template <class Key>
Ref TrieEditor<Key>::Allocate(size_t bytes) {
  const Ref ref = edit_.Allocate(bytes);
  if (ref > trie_internal::kRefMask) edit_.Retire(ref);  // beyond 16 GiB of tables
  if (ref == 0 || ref > trie_internal::kRefMask) {
    failed_ = true;
    return 0;
  }
  trie_.bytes_ += edit_.arena().BlockSize(ref);
  return ref;
}

template <class Key>
Ref TrieEditor<Key>::AllocateFor(Ref old, size_t bytes) {
  if (old != 0) {
    if (edit_.Owns(old) && edit_.arena().BlockSize(old) == Arena::SizeFor(bytes)) return old;
    Retire(old);
  }
  return Allocate(bytes);
}

template <class Key>
Ref TrieEditor<Key>::Own(Ref ref) {
  const Ref own = edit_.Own(ref);
  if (own == 0 || own > trie_internal::kRefMask) failed_ = true;
  return own;
}

template <class Key>
void TrieEditor<Key>::Retire(Ref ref) {
  if (ref == 0) return;
  trie_.bytes_ -= edit_.arena().BlockSize(ref);
  edit_.Retire(ref);
}

template <class Key>
template <class List>
Ref TrieEditor<Key>::StoreLocals(Ref old, const List& list) {
  if (list.count == 0) {
    Retire(old);
    return 0;
  }
  const Ref ref = AllocateFor(old, list.bytes());
  if (ref != 0) list.Store(edit_.arena().template At<char>(ref));
  return ref;
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_TRIE_EDIT_H_
