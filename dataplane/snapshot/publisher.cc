#include "dataplane/snapshot/publisher.h"

#include <rte_rcu_qsbr.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sluice {

// Sequentially consistent where a reader says "online" and then looks at current_, and where the writer changes
// current_ and then looks at who is online: one of the two sees the other. So AllSee cannot overlook a reader that has
// just come back and holds an old snapshot. On x86 the loads are plain loads.
const Snapshot* Publisher::Reader::Enter() {
  if (!online_.load(std::memory_order_relaxed)) [[unlikely]] {
    rte_rcu_qsbr_thread_online(publisher_->qsbr_, id_);
    online_.store(true, std::memory_order_seq_cst);
  }
  const Snapshot* snapshot = publisher_->current_.load(std::memory_order_seq_cst);
  if (snapshot->epoch != seen_epoch_.load(std::memory_order_relaxed)) {
    seen_epoch_.store(snapshot->epoch, std::memory_order_release);
  }
  return snapshot;
}

void Publisher::Reader::Quiesce() { rte_rcu_qsbr_quiescent(publisher_->qsbr_, id_); }

void Publisher::Reader::Offline() {
  if (!online_.load(std::memory_order_relaxed)) return;
  online_.store(false, std::memory_order_release);
  rte_rcu_qsbr_thread_offline(publisher_->qsbr_, id_);
}

Publisher::Publisher(std::unique_ptr<Snapshot> first) : current_(first.get()), owned_(std::move(first)) {
  const size_t bytes = (rte_rcu_qsbr_get_memsize(kMaxReaders) + 63) & ~size_t{63};
  qsbr_ = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(64, bytes));
  rte_rcu_qsbr_init(qsbr_, kMaxReaders);
}

Publisher::~Publisher() {
  while (Reclaim() > 0) {  // what runs after the grace period may add more
  }
  std::free(qsbr_);
}

Publisher::Reader* Publisher::AddReader(std::string name) {
  absl::MutexLock lock(&mutex_);
  uint32_t id = 0;
  const auto taken = [&] {
    return std::any_of(readers_.begin(), readers_.end(), [&](const auto& r) { return r->id_ == id; });
  };
  while (taken()) ++id;
  if (id >= kMaxReaders) return nullptr;
  auto reader = std::make_unique<Reader>();
  reader->publisher_ = this;
  reader->id_ = id;
  reader->name_ = std::move(name);
  rte_rcu_qsbr_thread_register(qsbr_, id);
  readers_.push_back(std::move(reader));
  return readers_.back().get();
}

void Publisher::RemoveReader(Reader* reader) {
  absl::MutexLock lock(&mutex_);
  rte_rcu_qsbr_thread_unregister(qsbr_, reader->id_);
  readers_.erase(std::find_if(readers_.begin(), readers_.end(), [&](const auto& r) { return r.get() == reader; }));
}

void Publisher::Publish(std::unique_ptr<Snapshot> snapshot, RetiredBlocks retired) {
  absl::MutexLock lock(&mutex_);
  current_.store(snapshot.get(), std::memory_order_seq_cst);
  const size_t bytes = retired.bytes() + sizeof(Snapshot);
  pending_bytes_ += bytes;
  pending_.push_back(
      {rte_rcu_qsbr_start(qsbr_), bytes, std::exchange(owned_, std::move(snapshot)), std::move(retired), {}});
}

void Publisher::AfterGrace(absl::AnyInvocable<void()> f) {
  absl::MutexLock lock(&mutex_);
  pending_.push_back({rte_rcu_qsbr_start(qsbr_), 0, nullptr, {}, std::move(f)});
}

bool Publisher::AllSee(uint64_t epoch) const {
  absl::MutexLock lock(&mutex_);
  return std::all_of(readers_.begin(), readers_.end(),
                     [&](const auto& r) { return !r->online() || r->seen_epoch() >= epoch; });
}

std::vector<std::string> Publisher::Lagging(uint64_t epoch) const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& r : readers_) {
    if (r->online() && r->seen_epoch() < epoch) names.push_back(r->name_);
  }
  return names;
}

size_t Publisher::Reclaim() {
  // Taken out under the lock, freed outside it: freeing may be long, and `then` may come back here.
  std::vector<Pending> free;
  {
    absl::MutexLock lock(&mutex_);
    while (!pending_.empty() && rte_rcu_qsbr_check(qsbr_, pending_.front().token, /*wait=*/false) == 1) {
      pending_bytes_ -= pending_.front().bytes;
      free.push_back(std::move(pending_.front()));
      pending_.pop_front();
    }
  }
  for (Pending& p : free) {
    p.snapshot.reset();
    p.retired.Free();
    if (p.then) p.then();
  }
  return free.size();
}

size_t Publisher::pending_bytes() const {
  absl::MutexLock lock(&mutex_);
  return pending_bytes_;
}

size_t Publisher::pending_objects() const {
  absl::MutexLock lock(&mutex_);
  return pending_.size();
}

std::vector<Publisher::ReaderState> Publisher::readers() const {
  absl::MutexLock lock(&mutex_);
  std::vector<ReaderState> states;
  for (const auto& r : readers_) states.push_back({r->name_, r->seen_epoch(), r->online()});
  return states;
}

}  // namespace sluice
