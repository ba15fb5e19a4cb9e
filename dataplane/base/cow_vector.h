// A vector that is changed by making a new version of it; versions share all pages but the changed ones.
//
// Why: links and nexthops are named by small dense indices. A reader indexes in two dependent loads; a change of one
// element copies one page and the short path to it, however long the vector is.
//
//   CowVector<Nexthop> v;                                   // a value: 8 bytes, trivially copyable
//   RETURN_IF_ERROR(v.Set(edit, 17, nexthop));              // v is now the next version; copies made before still see
//   the old const Nexthop& n = v.Get(arena.base(), 17);
//
// Elements that were never set read as T{}. T is trivially copyable and at most 1 KB.
//
// Threads: Get from any reader of a committed version; Set and Clear from the thread of the edit. Cost: Get two or
// three dependent loads (of which the upper ones stay in L1); Set one page copy (<= 4 KB) on first touch in an edit.
#ifndef SLUICE_DATAPLANE_BASE_COW_VECTOR_H_
#define SLUICE_DATAPLANE_BASE_COW_VECTOR_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "dataplane/base/edit.h"

namespace sluice {

template <typename T>
class CowVector {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 1024);

 public:
  // Force-inlined: the packet path is compiled once per instruction set.
  const T& Get(const char* base, uint32_t index) const;
  // RESOURCE_EXHAUSTED: no memory; INVALID_ARGUMENT: index above kMaxIndex. The handle is unchanged on error.
  absl::Status Set(Edit& edit, uint32_t index, const T& value);
  // Retires every block.
  void Clear(Edit& edit);
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_COW_VECTOR_H_
