// Answers that were given, by request_id: what makes a retry safe.
//
// Why: a client that lost the answer sends the batch again. It gets the first answer, whether that is known already or
// still being worked on, and nothing is done twice. Only answers of batches that were committed are kept: a refusal
// changed nothing, and doing it again is harmless.
//
//   switch (memory.Enter(id, fingerprint, &done)) {
//     case kNew: ... memory.Leave(id, result) ...        // the caller carries it out
//     case kTaken: ...                                   // `done` is, or will be, called with the first answer
//     case kReused: ...                                  // the id belongs to another batch
//   }
//
// Threads: any. Cost: a hash lookup; memory is bounded by the number of answers and by what is in them.
#ifndef SLUICE_SERVER_ENGINE_REQUEST_MEMORY_H_
#define SLUICE_SERVER_ENGINE_REQUEST_MEMORY_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/engine/engine.h"

namespace sluice::engine {

class RequestMemory {
 public:
  static constexpr size_t kMaxWeight = 100'000;  // results in all kept answers together

  explicit RequestMemory(size_t capacity) : capacity_(capacity) {}

  enum class Entered : uint8_t { kNew, kTaken, kReused };
  // Calls `*done` itself when the answer is known (kTaken), keeps it when it is on its way (kTaken); leaves it alone
  // otherwise.
  Entered Enter(const std::string& id, uint64_t fingerprint, Done* done);
  // The answer of a batch that was kNew: kept when it was committed, and given to those who wait for it.
  void Leave(const std::string& id, const CommitResult& result);

 private:
  struct Entry {
    uint64_t fingerprint = 0;
    bool answered = false;
    CommitResult result;
    size_t weight = 0;
    std::vector<Done> waiting;
  };
  size_t capacity_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> order_ ABSL_GUARDED_BY(mutex_);  // answered ones, oldest first
  size_t weight_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_REQUEST_MEMORY_H_
