// A vector that is changed by making a new version of it; versions share all pages but the changed ones.
//
// Why: links and nexthops are named by small dense indices. A reader indexes in three dependent loads; a change of one
// element copies one page and the short path to it, however long the vector is.
//
//   CowVector<Nexthop> v;                                   // a value: 4 bytes, trivially copyable
//   RETURN_IF_ERROR(v.Set(edit, 17, nexthop));              // v is now the next version; committed copies read as
//   before const Nexthop& n = v.Get(arena.base(), 17);
//
// Elements that were never set read as T{}. T is trivially copyable and at most 1 KB.
//
// Threads: Get from any reader of a committed version; Set and Clear from the thread of the edit. Cost: Get three
// dependent loads (of which the upper two stay in L1); Set one page copy (<= 4 KB) on first touch in an edit.
#ifndef SLUICE_DATAPLANE_BASE_COW_VECTOR_H_
#define SLUICE_DATAPLANE_BASE_COW_VECTOR_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "dataplane/base/edit.h"

namespace sluice {

template <typename T>
class CowVector {
  // 64: what blocks of the arena are aligned to from 64 bytes up.
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 1024 && alignof(T) <= 64);

 public:
  static constexpr uint32_t kPage = std::bit_floor(4096 / sizeof(T));  // elements of a page
  static constexpr uint32_t kFan = 256;                                // references of a directory
  static constexpr uint64_t kMaxElements = uint64_t{kPage} * kFan * kFan;

  // Force-inlined: the packet path is compiled once per instruction set.
  [[gnu::always_inline]] const T& Get(const char* base, uint32_t index) const {
    const uint32_t page = index / kPage;
    if (page >= uint64_t{kFan} * kFan) return kUnset;
    const Ref* root = At<Ref>(base, root_);
    if (root_ == 0 || root[page / kFan] == 0) return kUnset;
    const Ref at = At<Ref>(base, root[page / kFan])[page % kFan];
    return at == 0 ? kUnset : At<T>(base, at)[index % kPage];
  }
  // RESOURCE_EXHAUSTED: no memory (the edit is then good only for Abort); INVALID_ARGUMENT: index >= kMaxElements. The
  // handle is unchanged on error.
  absl::Status Set(Edit& edit, uint32_t index, const T& value) {
    if (index >= kMaxElements) return absl::InvalidArgumentError("index beyond the capacity of a vector");
    const uint32_t page = index / kPage;
    const Ref root = OwnDirectory(edit, root_);
    if (root == 0) return NoMemory();
    Ref& middle = edit.arena().At<Ref>(root)[page / kFan];
    const Ref new_middle = OwnDirectory(edit, middle);
    if (new_middle == 0) return NoMemory();
    middle = new_middle;
    Ref& leaf = edit.arena().At<Ref>(middle)[page % kFan];
    const bool fresh = leaf == 0;
    const Ref new_leaf = fresh ? edit.Allocate(kPage * sizeof(T)) : edit.Own(leaf);
    if (new_leaf == 0) return NoMemory();
    leaf = new_leaf;
    T* elements = edit.arena().At<T>(leaf);
    if (fresh) std::uninitialized_fill_n(elements, kPage, kUnset);
    elements[index % kPage] = value;
    root_ = root;
    return absl::OkStatus();
  }
  // Retires every block.
  void Clear(Edit& edit) {
    if (root_ == 0) return;
    const Ref* root = edit.arena().At<Ref>(root_);
    for (uint32_t i = 0; i < kFan; ++i) {
      if (root[i] == 0) continue;
      const Ref* middle = edit.arena().At<Ref>(root[i]);
      for (uint32_t j = 0; j < kFan; ++j) edit.Retire(middle[j]);
      edit.Retire(root[i]);
    }
    edit.Retire(root_);
    root_ = 0;
  }

 private:
  static constexpr T kUnset{};

  template <typename U>
  [[gnu::always_inline]] static const U* At(const char* base, Ref ref) {
    return reinterpret_cast<const U*>(base + size_t{ref} * Arena::kGranule);
  }
  // A directory that may be written: a copy of `ref`, or a new empty one. 0: no memory.
  static Ref OwnDirectory(Edit& edit, Ref ref) {
    if (ref != 0) return edit.Own(ref);
    const Ref made = edit.Allocate(kFan * sizeof(Ref));
    if (made != 0) std::memset(edit.arena().At<Ref>(made), 0, kFan * sizeof(Ref));
    return made;
  }
  static absl::Status NoMemory() { return absl::ResourceExhaustedError("no memory left for tables"); }

  Ref root_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_COW_VECTOR_H_
