// The forwarding table of one family: longest-prefix match that is changed by making a new version of it.
//
// Why: a packet must see all of a transaction or none of it, a slow reader may keep an old table, and policy routing
// wants thousands of tables. The direct tables of DPDK (rte_lpm, rte_fib) are 64 MB each and are updated entry by entry
// in place. This trie shares all blocks between versions but the few that a change touches, holds the full Internet
// table in some 11 MB, and answers in about as many cycles (README.md has the figures).
//
// It is its own RIB: beside the pushed-down leaves that lookups read, each node lists the prefixes that end in it, so
// removing a prefix uncovers the right shorter one without outside help.
//
//   Trie4 routes;                                                   // empty; a value of 32 bytes, trivially copyable
//   Edit edit(arena);
//   RETURN_IF_ERROR(routes.Set(edit, Trie4::Prefix::Of(prefix), nexthop));       // `routes` is now the next version
//   RetiredBlocks old = edit.Commit();                              // copies made before still answer as before
//   uint32_t leaf = routes.Lookup(arena.base(), 0x0a000001);        // 10.0.0.1; 0: no route
//
// A table of up to kSmallLimit routes has a root of 2 KB; beyond, it is rebuilt with a root by the first 18 bits
// (and back, with hysteresis, when it shrinks). Prefixes up to /8 are kept apart, so that a default route that flaps
// costs one small copy, not a push into every leaf.
//
// Threads: Lookup* from any reader of a committed version; all else from the thread of the edit (or any thread, for
// const functions on a committed version). Lookup and LookupBatch are force-inlined: the packet path is compiled once
// per instruction set. Cost: README.md.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_H_
#define SLUICE_DATAPLANE_FIB_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/base/arena.h"
#include "dataplane/base/edit.h"
#include "dataplane/fib/trie_node.h"

namespace sluice {

// `Key` is uint32_t (an IPv4 address in host order) or Ipv6Key.
template <class Key>
class Trie {
 public:
  static constexpr int kMaxLength = trie_internal::KeyOps<Key>::kBits;
  // More routes than this make a trie large; fewer than kLargeLimit make it small again.
  static constexpr uint32_t kSmallLimit = 8192;
  static constexpr uint32_t kLargeLimit = 2048;

  // Canonical: no bit of `key` set beyond `length`.
  struct Prefix {
    Key key{};
    uint8_t length = 0;

    // The family of `prefix` is this trie's.
    static Prefix Of(const IpPrefix& prefix);
    IpPrefix ToIpPrefix() const;
    friend bool operator==(const Prefix&, const Prefix&) = default;
    friend auto operator<=>(const Prefix&, const Prefix&) = default;
  };
  struct Route {
    Prefix prefix;
    Leaf leaf = 0;
  };
  struct Match {
    Leaf leaf = 0;  // 0: no route
    uint8_t length = 0;
  };

  // Packet side. `base` is Arena::base() of the arena that all edits of this trie were made on. 0: no route.
  [[gnu::always_inline]] inline Leaf Lookup(const char* base, const Key& key) const;
  [[gnu::always_inline]] inline void LookupBatch(const char* base, const Key* keys, Leaf* leaves, size_t count) const;

  // Control side, reading. The longest prefix of at most `max_length` bits that covers `key`: also how a conditional
  // leaf falls back to shorter prefixes. Some 100 ns.
  Match LookupPrefix(const char* base, const Key& key, int max_length = kMaxLength) const;
  // The leaf of exactly this prefix; 0: not in the table.
  Leaf Get(const char* base, const Prefix& prefix) const;
  // Every route once, in no particular order.
  void ForEach(const char* base, absl::FunctionRef<void(const Prefix&, Leaf)> visit) const;

  // Control side, changing. INVALID_ARGUMENT: a prefix that is not canonical or too long, a leaf that is 0 or has bit
  // 30 set. RESOURCE_EXHAUSTED: no memory; the edit is then good only for Abort. On any error *this is unchanged.
  //
  // Adds a route, or replaces its leaf.
  absl::Status Set(Edit& edit, const Prefix& prefix, Leaf leaf);
  // OK also when there is no such route.
  absl::Status Remove(Edit& edit, const Prefix& prefix);
  // Removes all routes and retires all blocks. Cannot fail.
  void Clear(Edit& edit);
  // Replaces everything by `routes`, several times faster than Set for each: ascending by (key, length), no prefix
  // twice (INVALID_ARGUMENT).
  absl::Status Assign(Edit& edit, absl::Span<const Route> routes);

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Exact: the sum of the sizes of all arena blocks that can be reached from here.
  size_t memory_bytes() const { return bytes_; }

 private:
  template <class>
  friend class TrieEditor;

  absl::Status Rebuild(Edit& edit, const Route* added, const Prefix* removed);

  Ref root_ = 0;          // SmallRoot or LargeRoot; 0: empty
  Ref short_locals_ = 0;  // LocalList of the prefixes up to /8
  Ref page_locals_ = 0;   // large: 512 references to LocalLists of the prefixes from /9 to /18, by page
  Ref hole_page_ = 0;     // large: what empty slots of the directory refer to
  uint32_t size_ = 0;
  uint32_t large_ = 0;
  uint64_t bytes_ = 0;
};

using Trie4 = Trie<uint32_t>;
using Trie6 = Trie<Ipv6Key>;
static_assert(std::is_trivially_copyable_v<Trie4> && sizeof(Trie4) == 32);

template <class Key>
inline Leaf Trie<Key>::Lookup(const char* base, const Key& key) const {
  using namespace trie_internal;  // NOLINT(google-build-using-namespace)
  using Ops = KeyOps<Key>;
  if (__builtin_expect(root_ == 0, 0)) return 0;
  Leaf leaf;
  const Leaf* shorts;
  if (large_) {
    const LargeRoot* root = View<LargeRoot>(base, root_);
    leaf = Descend(base, *WordOf(base, SlotInPage(base, root, key), key), key, kLargeBits + kStride);
    shorts = root->shorts;
  } else {
    const SmallRoot* root = View<SmallRoot>(base, root_);
    leaf = Descend(base, root->entries[Ops::Top(key, kSmallBits)], key, kSmallBits);
    shorts = root->shorts;
  }
  const Leaf other = shorts[Ops::Top(key, kShortBits)];
  return leaf != 0 ? leaf : other;
}

template <class Key>
inline void Trie<Key>::LookupBatch(const char* base, const Key* keys, Leaf* leaves, size_t count) const {
  using namespace trie_internal;  // NOLINT(google-build-using-namespace)
  if (__builtin_expect(root_ == 0, 0)) {
    for (size_t i = 0; i < count; ++i) leaves[i] = 0;
    return;
  }
  if (!large_) {
    const Trie trie = *this;
    for (size_t i = 0; i < count; ++i) leaves[i] = trie.Lookup(base, keys[i]);
    return;
  }
  const LargeRoot* root = View<LargeRoot>(base, root_);
  for (; count > 0; count -= count < kBatch ? count : kBatch, keys += kBatch, leaves += kBatch) {
    const size_t n = count < kBatch ? count : kBatch;
    LookupBurst(base, root, keys, leaves, n);
  }
}

// After the definitions above, so that they can still be inlined.
extern template class Trie<uint32_t>;
extern template class Trie<Ipv6Key>;

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_TRIE_H_
