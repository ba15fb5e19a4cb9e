// A thread that does one thing after the other: opening a device, finishing a large batch.
//
// Threads: Post from any. The destructor lets what was posted come to its end.
#ifndef SLUICE_SERVER_ENGINE_EXECUTOR_H_
#define SLUICE_SERVER_ENGINE_EXECUTOR_H_

#include <deque>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace sluice::engine {

class Executor {
 public:
  Executor() : thread_([this] { Run(); }) {}
  ~Executor() { Stop(); }

  void Post(absl::AnyInvocable<void()> work) {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
  }
  // What was posted is done, and nothing more is taken.
  void Stop() {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (true) {
      absl::AnyInvocable<void()> next;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](Executor* e) ABSL_EXCLUSIVE_LOCKS_REQUIRED(e->mutex_) { return e->stop_ || !e->work_.empty(); }, this));
        if (work_.empty()) return;
        next = std::move(work_.front());
        work_.pop_front();
      }
      next();
    }
  }

  absl::Mutex mutex_;
  std::deque<absl::AnyInvocable<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_EXECUTOR_H_
