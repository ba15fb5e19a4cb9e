// Waits for workers on behalf of commits that asked for VISIBLE.
//
// Why a thread of its own: the writer must not wait for a worker. A worker loads a new snapshot with its next burst,
// within microseconds; so this thread looks often while somebody waits, and sleeps otherwise.
//
//   acks.Await(absl::Now() + absl::Seconds(5), std::move(result), std::move(done));
//
// Threads: Await from any. `done` is called on the thread of this object. Cost: a look every 20 us while anybody waits.
#ifndef SLUICE_SERVER_ENGINE_ACKS_H_
#define SLUICE_SERVER_ENGINE_ACKS_H_

#include <deque>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/engine/engine.h"
#include "server/engine/runtime.h"
#include "server/engine/stats.h"

namespace sluice::engine {

class Acks {
 public:
  Acks(Runtime& runtime, EngineStats& stats);
  ~Acks();  // answers what still waits, as it stands

  // Calls `done` with `result` once every online worker has loaded `result.epoch` (reached = VISIBLE), or at
  // `deadline` (reached = ACCEPTED, and the workers that lag).
  void Await(absl::Time deadline, CommitResult result, Done done);

 private:
  struct Waiting {
    absl::Time since;
    absl::Time deadline;
    CommitResult result;
    Done done;
  };
  void Run();

  Runtime& runtime_;
  EngineStats& stats_;
  absl::Mutex mutex_;
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_ACKS_H_
