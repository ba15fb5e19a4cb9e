// Reading at one generation: what config has, and with it what only the running system knows: counters, devices, and
// the neighbours that were learned.
//
// Why a pin is bounded: a reader that stalls keeps an old version of the state alive. After Limits::read_idle without a
// Next, the keeper lets it go, and the next Next says so.
//
// Threads: Next from one thread at a time; ExpireIfIdle from any. Cost: see config/read.h.
#ifndef SLUICE_SERVER_ENGINE_CURSOR_H_
#define SLUICE_SERVER_ENGINE_CURSOR_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/config/read.h"
#include "server/engine/engine.h"
#include "server/engine/runtime.h"
#include "server/engine/writer.h"

namespace sluice::engine {

class PinnedRead {
 public:
  PinnedRead(Writer& writer, Runtime& runtime, std::vector<config::Selector> selectors, bool with_state);

  uint64_t generation() const { return generation_; }
  uint64_t epoch() const { return epoch_; }
  absl::StatusOr<std::vector<config::Object>> Next(size_t limit);
  // Lets the state go if the last Next is longer ago than `idle`. True: nothing is held any more.
  bool ExpireIfIdle(absl::Time now, absl::Duration idle);

 private:
  void FillState(std::vector<config::Object>& objects, const std::vector<NexthopIndex>& nexthops);
  void AddLearned();

  Writer& writer_;
  Runtime& runtime_;
  std::vector<config::Selector> selectors_;
  const bool with_state_;
  uint64_t generation_ = 0;
  uint64_t epoch_ = 0;

  absl::Mutex mutex_;
  std::optional<config::Reader> reader_ ABSL_GUARDED_BY(mutex_);
  bool expired_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time last_ ABSL_GUARDED_BY(mutex_);
  std::vector<config::Object> ready_ ABSL_GUARDED_BY(mutex_);  // to be given out, from ready_at_ on
  size_t ready_at_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<config::Object> neighbors_ ABSL_GUARDED_BY(mutex_);  // held back until all are known
  bool neighbors_done_ ABSL_GUARDED_BY(mutex_) = false;
};

// A ReadCursor that shares its PinnedRead with the keeper.
class SharedCursor final : public ReadCursor {
 public:
  explicit SharedCursor(std::shared_ptr<PinnedRead> read) : read_(std::move(read)) {}
  uint64_t generation() const override { return read_->generation(); }
  uint64_t epoch() const override { return read_->epoch(); }
  absl::StatusOr<std::vector<config::Object>> Next(size_t limit) override { return read_->Next(limit); }

 private:
  std::shared_ptr<PinnedRead> read_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_CURSOR_H_
