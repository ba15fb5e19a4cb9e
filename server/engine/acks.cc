#include "server/engine/acks.h"

#include <utility>

#include "absl/time/clock.h"

namespace sluice::engine {
namespace {

constexpr absl::Duration kLook = absl::Microseconds(20);
// Who has waited long is looked at less often.
constexpr absl::Duration kPatience = absl::Milliseconds(5);
constexpr absl::Duration kSlowLook = absl::Milliseconds(1);

}  // namespace

Acks::Acks(Runtime& runtime, EngineStats& stats) : runtime_(runtime), stats_(stats), thread_([this] { Run(); }) {}

Acks::~Acks() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

void Acks::Await(absl::Time deadline, CommitResult result, Done done) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  waiting_.push_back({now, deadline, std::move(result), std::move(done)});
}

void Acks::Run() {
  std::vector<Waiting> ready;
  while (true) {
    bool stop = false;
    absl::Duration pause = kSlowLook;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](Acks* self)
               ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) { return self->stop_ || !self->waiting_.empty(); },
          this));
      stop = stop_;
      const absl::Time now = absl::Now();
      // The epoch up to which everybody is: found once, by the first that asks.
      uint64_t seen = 0, unseen = ~uint64_t{0};
      for (size_t i = 0; i < waiting_.size();) {
        Waiting& w = waiting_[i];
        const uint64_t epoch = w.result.epoch;
        if (epoch > seen && epoch < unseen) (runtime_.publisher().AllSee(epoch) ? seen : unseen) = epoch;
        const bool visible = epoch <= seen;
        if (!visible && now < w.deadline && !stop) {
          if (now - w.since < kPatience) pause = kLook;
          ++i;
          continue;
        }
        if (visible) {
          w.result.reached = Ack::kVisible;
          stats_.stage(Stage::kVisible).Record(now - w.since);
        } else {
          w.result.reached = Ack::kAccepted;
          for (const std::string& name : runtime_.publisher().Lagging(epoch)) {
            w.result.lagging_workers.push_back(runtime_.DescribeReader(name));
          }
          stats_.visible_timeouts.fetch_add(1, std::memory_order_relaxed);
        }
        ready.push_back(std::move(w));
        waiting_.erase(waiting_.begin() + static_cast<long>(i));
      }
    }
    for (Waiting& w : ready) std::move(w.done)(std::move(w.result));
    const bool idle = ready.empty();
    ready.clear();
    if (stop) return;
    if (idle) absl::SleepFor(pause);
  }
}

}  // namespace sluice::engine
