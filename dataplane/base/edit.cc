#include "dataplane/base/edit.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice {

RetiredBlocks& RetiredBlocks::operator=(RetiredBlocks&& o) noexcept {
  if (this != &o) {
    Free();
    arena_ = o.arena_;
    refs_ = std::move(o.refs_);
    bytes_ = o.bytes_;
    o.refs_.clear();
    o.bytes_ = 0;
  }
  return *this;
}

void RetiredBlocks::Free() {
  if (!refs_.empty()) arena_->Free(refs_.data(), refs_.size());
  refs_.clear();
  bytes_ = 0;
}

Edit::Edit(Arena& arena) : arena_(&arena), slot_(arena.TakeOwnerSlot()) {}

Edit::~Edit() {
  if (open_) Abort();
}

Ref Edit::Allocate(size_t bytes) {
  if (allocations_++ == fail_after_ || bytes > Arena::kMaxBlock) return 0;
  if (std::vector<Ref>& spare = spare_[Arena::ClassOf(bytes)]; !spare.empty()) {
    const Ref ref = spare.back();
    spare.pop_back();
    return ref;
  }
  const Ref ref = arena_->Allocate(bytes, slot_);
  if (ref != 0) made_.push_back(ref);
  return ref;
}

Ref Edit::Own(Ref ref) {
  if (Owns(ref)) return ref;
  const size_t bytes = arena_->BlockSize(ref);
  const Ref copy = Allocate(bytes);
  if (copy == 0) return 0;
  std::memcpy(arena_->At<char>(copy), arena_->At<char>(ref), bytes);
  Retire(ref);
  return copy;
}

void Edit::Retire(Ref ref) {
  if (ref == 0) return;
  if (Owns(ref)) {
    spare_[Arena::ClassOf(arena_->BlockSize(ref))].push_back(ref);
    return;
  }
  retired_.push_back(ref);
  retired_bytes_ += arena_->BlockSize(ref);
}

RetiredBlocks Edit::Commit() {
  open_ = false;
  arena_->ClearOwners(made_.data(), made_.size());
  for (const std::vector<Ref>& spare : spare_) arena_->Free(spare.data(), spare.size());
  arena_->ReturnOwnerSlot(slot_);
  return RetiredBlocks(arena_, std::move(retired_), retired_bytes_);
}

void Edit::Abort() {
  open_ = false;
  arena_->Free(made_.data(), made_.size());
  made_.clear();
  retired_.clear();
  arena_->ReturnOwnerSlot(slot_);
}

}  // namespace sluice
