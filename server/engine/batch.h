// A batch in pieces, on its way to the writer.
//
// Why: small batches are kept as they are. One that grows beyond Batch::kLargeBatch is turned into a candidate as its
// pieces come in, on the thread that brings them, and only its encoded form (about 40 bytes a route) is kept beside;
// the writer takes the candidate if nothing has changed meanwhile, and otherwise applies the encoded form itself.
//
// Threads: one at a time. Cost: see config/apply.h.
#ifndef SLUICE_SERVER_ENGINE_BATCH_H_
#define SLUICE_SERVER_ENGINE_BATCH_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "server/engine/engine.h"
#include "server/engine/writer.h"

namespace sluice::engine {

// What a batch needs of the engine.
class BatchHost {
 public:
  virtual ~BatchHost() = default;
  virtual Writer& writer() = 0;
  virtual Runtime& runtime() = 0;
  virtual const Codec& codec() = 0;
  virtual const Limits& limits() const = 0;
  // Takes the batch over: request_id, devices, writer. `work` runs first, on a thread that may be kept busy.
  virtual void Accept(Job job, absl::AnyInvocable<void(Job&)> work) = 0;
};

class PiecewiseBatch final : public Batch {
 public:
  static constexpr size_t kMaxProblems = 10000;

  explicit PiecewiseBatch(BatchHost& host) : host_(host) {}
  ~PiecewiseBatch() override;

  absl::Status Add(std::vector<config::Operation> operations) override;
  void AddProblem(config::OperationResult result) override;
  uint64_t operations() const override { return job_.count; }
  void Commit(CommitOptions options, Done done) override;

 private:
  // The candidate beside, and what it was built upon and with.
  struct Building {
    uint64_t version = 0;
    std::unique_ptr<RecordingDirectory> devices;
    std::unique_ptr<config::Candidate> candidate;
  };
  void GrowLarge();

  BatchHost& host_;
  Job job_;
  bool large_ = false;
  std::unique_ptr<Building> building_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_BATCH_H_
