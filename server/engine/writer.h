// The writer: the one thread that changes config and snapshot.
//
// Why: config, store and publication change together, in one order. The writer takes all batches that wait, applies
// each on top of the one before, compiles what they touched once, appends them to the journal with one sync, publishes
// once, and answers each. A batch that is refused leaves no trace; if memory or the journal fail, none of the group
// has happened.
//
//   Writer writer({.runtime = &runtime, .journal = journal.get(), ...}, restored);
//   writer.Submit(std::move(job));
//   Writer::Live live = writer.live();              // config and epoch as they are: a pinned copy
//
// Threads: Submit, Change and live from any; everything else is its own thread. Job::done is called on the writer's
// thread or that of Acks.
#ifndef SLUICE_SERVER_ENGINE_WRITER_H_
#define SLUICE_SERVER_ENGINE_WRITER_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/config/apply.h"
#include "server/config/compile.h"
#include "server/engine/acks.h"
#include "server/engine/engine.h"
#include "server/engine/journal.h"
#include "server/engine/runtime.h"

namespace sluice::engine {

// A large batch as it was built beside: good only if nothing has changed since.
struct Beside {
  uint64_t version = 0;  // Live::version that it was built upon
  config::Candidate::Outcome outcome;
  std::vector<KnownDevice> devices;
};

struct Job {
  CommitOptions options;
  std::vector<config::Operation> operations;  // empty for a large batch
  std::string encoded;                        // the same, as the journal has them; a large batch always has it
  uint64_t count = 0;
  std::vector<PortRequest> ports;                 // devices that it opens
  std::vector<config::OperationResult> problems;  // found before the batch came here
  uint64_t problem_count = 0;
  std::unique_ptr<Beside> beside;
  Done done;
};

// Something that is not a batch but changes what is published: carrier, facts of a device. Runs on the writer's thread.
using Change = absl::AnyInvocable<config::Candidate::Outcome(const config::Config& live)>;

struct WriterParts {
  Runtime* runtime = nullptr;
  Journal* journal = nullptr;  // null: nothing is stored
  const Codec* codec = nullptr;
  Acks* acks = nullptr;
  EngineStats* stats = nullptr;
  std::string instance_id;
  Limits limits;
};

class Writer {
 public:
  // Publishes `restored` before it returns: workers that start after it see it. RESOURCE_EXHAUSTED: no memory for it.
  static absl::StatusOr<std::unique_ptr<Writer>> Start(WriterParts parts, config::Config restored);
  // Refuses what still waits (SHUTTING_DOWN), and syncs the journal.
  ~Writer();

  // Refused at once, by `done`: TOO_MANY_REQUESTS, SHUTTING_DOWN.
  void Submit(Job job);
  void Submit(Change change);
  // From now on batches are refused.
  void Drain();

  struct Live {
    config::Config config;
    uint64_t epoch = 0;
    uint64_t version = 0;  // moves with every change of config
  };
  Live live() const;
  uint64_t epoch() const;
  uint64_t generation() const;
  // Counter cells, as the last publication has them.
  CellIndex rx_cell(LinkIndex link) const;
  CellIndex tx_cell(LinkIndex link) const;
  std::vector<CellIndex> nexthop_cells(const std::vector<NexthopIndex>& nexthops) const;

 private:
  // A batch that was applied and is not published yet.
  struct Accepted {
    Job job;
    config::Candidate::Outcome outcome;
    std::string record;  // empty: nothing to store
  };
  struct Group {
    config::Config state;
    config::Touched touched;
    std::vector<Accepted> accepted;
    bool changed_version = false;  // by a Change
  };

  Writer(WriterParts parts, config::Config restored);
  void Run();
  void Take(std::vector<Job>* jobs, std::vector<Change>* changes);
  void Process(std::vector<Job> jobs, std::vector<Change> changes);
  // Applies a batch on top of the group, or answers with the refusal.
  void Evaluate(Job job, Group& group);
  absl::Status Admit(const Job& job, const config::Config& state) const;
  config::Candidate::Outcome Apply(Job& job, const config::Config& state, std::vector<KnownDevice>* devices) const;
  void ValidateOnly(Job job);
  // Compiles, stores, publishes and answers; on failure answers that. With several batches a failure for want of
  // memory is tried again one by one, so that the one that is too big does not take the others along.
  void Flush(Group group);
  absl::Status Publish(Group& group);
  void Answer(Job job, CommitResult result);
  void Refuse(Job job, absl::Status status, std::vector<config::OperationResult> results = {});
  void AnswerAccepted(Accepted accepted);
  Group NewGroup() const;

  WriterParts parts_;
  config::Compiler compiler_;
  config::Config config_;  // the writer's own; live_ is the copy for others
  config::Touched carry_;  // by changes that could not be published for want of memory: part of the next publication
  uint64_t epoch_ = 0;
  uint64_t version_ = 1;
  absl::Time synced_;

  mutable absl::Mutex live_mutex_;
  Live live_ ABSL_GUARDED_BY(live_mutex_);
  mutable absl::Mutex compiler_mutex_;  // readers of cells against Commit

  absl::Mutex mutex_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<Change> changes_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_WRITER_H_
