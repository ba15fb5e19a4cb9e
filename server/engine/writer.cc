#include "server/engine/writer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "server/engine/error.h"

namespace sluice::engine {
namespace {

using config::Candidate;
using config::Config;

constexpr size_t kDescribeStoredUpTo = 256;  // operations: of larger batches only links are given back
constexpr absl::Duration kReclaimEvery = absl::Milliseconds(1);
constexpr absl::Duration kIdleLook = absl::Milliseconds(50);
constexpr absl::Duration kSyncEvery = absl::Seconds(1);

ApplyResult ResultOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
      return ApplyResult::kAborted;
    case absl::StatusCode::kResourceExhausted:
      return ApplyResult::kExhausted;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
      return ApplyResult::kFailed;
    default:
      return ApplyResult::kRefused;
  }
}

absl::Status OutOfMemory(const absl::Status& why) {
  return Error(absl::StatusCode::kResourceExhausted, "OUT_OF_MEMORY",
               absl::StrCat("no memory for the candidate: ", why.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Writer>> Writer::Start(WriterParts parts, Config restored) {
  std::unique_ptr<Writer> writer(new Writer(std::move(parts), std::move(restored)));
  Group first;
  first.state = writer->config_;
  first.touched = config::Compiler::Everything(writer->config_);
  first.changed_version = true;
  if (auto s = writer->Publish(first); !s.ok()) return s;
  writer->thread_ = std::thread([w = writer.get()] { w->Run(); });
  return writer;
}

Writer::Writer(WriterParts parts, Config restored)
    : parts_(std::move(parts)),
      compiler_(parts_.runtime->compile_hooks()),
      config_(std::move(restored)),
      synced_(absl::Now()) {}

Writer::~Writer() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = draining_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Writer::Submit(Job job) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) {
      refused = Error(absl::StatusCode::kUnavailable, "SHUTTING_DOWN", "the server is ending");
    } else if (jobs_.size() >= parts_.limits.queue) {
      refused = Error(absl::StatusCode::kResourceExhausted, "TOO_MANY_REQUESTS",
                      absl::StrCat(jobs_.size(), " batches wait already"));
    } else {
      jobs_.push_back(std::move(job));
      return;
    }
  }
  Refuse(std::move(job), std::move(refused));
}

void Writer::Submit(Change change) {
  absl::MutexLock lock(&mutex_);
  if (!stop_) changes_.push_back(std::move(change));
}

void Writer::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
}

Writer::Live Writer::live() const {
  absl::MutexLock lock(&live_mutex_);
  return live_;
}

uint64_t Writer::epoch() const {
  absl::MutexLock lock(&live_mutex_);
  return live_.epoch;
}

uint64_t Writer::generation() const {
  absl::MutexLock lock(&live_mutex_);
  return live_.config.generation;
}

CellIndex Writer::rx_cell(LinkIndex link) const {
  absl::MutexLock lock(&compiler_mutex_);
  return compiler_.rx_cell(link);
}

CellIndex Writer::tx_cell(LinkIndex link) const {
  absl::MutexLock lock(&compiler_mutex_);
  return compiler_.tx_cell(link);
}

std::vector<CellIndex> Writer::nexthop_cells(const std::vector<NexthopIndex>& nexthops) const {
  std::vector<CellIndex> cells(nexthops.size());
  absl::MutexLock lock(&compiler_mutex_);
  for (size_t i = 0; i < nexthops.size(); ++i) cells[i] = compiler_.nexthop_cell(nexthops[i]);
  return cells;
}

void Writer::Run() {
  while (true) {
    std::vector<Job> jobs;
    std::vector<Change> changes;
    Take(&jobs, &changes);
    bool stop;
    {
      absl::MutexLock lock(&mutex_);
      stop = stop_;
    }
    if (stop) {
      for (Job& job : jobs) {
        Refuse(std::move(job), Error(absl::StatusCode::kUnavailable, "SHUTTING_DOWN", "the server is ending"));
      }
      break;
    }
    if (!jobs.empty() || !changes.empty()) Process(std::move(jobs), std::move(changes));
    parts_.runtime->Reclaim();
    if (parts_.journal == nullptr) continue;
    parts_.journal->Compact(config_);
    // What did not ask to be durable is so soon after all.
    if (!parts_.journal->dirty() || absl::Now() - synced_ < kSyncEvery) continue;
    synced_ = absl::Now();
    if (auto s = parts_.journal->Sync(); !s.ok()) {
      std::fprintf(stderr, "sluiced: cannot sync the log of commits: %s\n", std::string(s.message()).c_str());
    }
  }
  if (parts_.journal != nullptr && parts_.journal->dirty()) (void)parts_.journal->Sync();
}

void Writer::Take(std::vector<Job>* jobs, std::vector<Change>* changes) {
  absl::Duration patience = kIdleLook;  // others leave things for the grace period too
  if (parts_.runtime->publisher().pending_objects() > 0) patience = kReclaimEvery;
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(
                              +[](Writer* w) ABSL_EXCLUSIVE_LOCKS_REQUIRED(w->mutex_) {
                                return w->stop_ || !w->jobs_.empty() || !w->changes_.empty();
                              },
                              this),
                          patience);
  jobs->assign(std::make_move_iterator(jobs_.begin()), std::make_move_iterator(jobs_.end()));
  jobs_.clear();
  changes->assign(std::make_move_iterator(changes_.begin()), std::make_move_iterator(changes_.end()));
  changes_.clear();
}

Writer::Group Writer::NewGroup() const {
  Group group;
  group.state = config_;
  group.touched = carry_;
  return group;
}

void Writer::Process(std::vector<Job> jobs, std::vector<Change> changes) {
  Group group = NewGroup();
  for (Change& change : changes) {
    Candidate::Outcome outcome = change(group.state);
    if (!outcome.status.ok()) continue;
    group.state = std::move(outcome.config);
    group.touched.Append(outcome.touched);
    group.changed_version = true;
  }
  if (group.changed_version) {
    // What devices say is true whether or not there is memory to publish it; so it is not lost.
    if (auto s = Publish(group); !s.ok()) {
      config_ = group.state;
      carry_ = std::move(group.touched);
      ++version_;
    }
    group = NewGroup();
  }
  for (Job& job : jobs) {
    if (!job.options.validate_only) {
      Evaluate(std::move(job), group);
      continue;
    }
    Flush(std::move(group));
    ValidateOnly(std::move(job));
    group = NewGroup();
  }
  Flush(std::move(group));
}

absl::Status Writer::Admit(const Job& job, const Config& state) const {
  if (job.options.expected_generation.has_value() && *job.options.expected_generation != state.generation) {
    return Error(absl::StatusCode::kAborted, "GENERATION_MOVED",
                 absl::StrCat("the generation is ", state.generation, ", not ", *job.options.expected_generation));
  }
  if (job.options.durable && parts_.journal == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, "NOT_DURABLE", "the server runs without a state directory");
  }
  const Publisher& publisher = parts_.runtime->publisher();
  if (publisher.pending_bytes() > parts_.limits.retired_bytes) {
    parts_.runtime->Reclaim();
    if (publisher.pending_bytes() > parts_.limits.retired_bytes) {
      const std::vector<std::string> holders = publisher.Lagging(epoch_);
      const auto describe = [this](std::string* out, const std::string& name) {
        out->append(parts_.runtime->DescribeReader(name));
      };
      return Error(absl::StatusCode::kResourceExhausted, "RETIRED_MEMORY_FULL",
                   absl::StrCat(publisher.pending_bytes(), " bytes of retired memory wait for ",
                                holders.empty() ? std::string("readers") : absl::StrJoin(holders, ", ", describe)));
    }
  }
  return absl::OkStatus();
}

Candidate::Outcome Writer::Apply(Job& job, const Config& state, std::vector<KnownDevice>* devices) const {
  if (job.beside != nullptr) {
    const std::unique_ptr<Beside> beside = std::move(job.beside);
    if (beside->version == version_ && state.generation == config_.generation) {
      *devices = std::move(beside->devices);
      return std::move(beside->outcome);
    }
  }
  RecordingDirectory directory(parts_.runtime->devices());
  Candidate candidate(state, {.devices = &directory, .describe_stored = job.count <= kDescribeStoredUpTo});
  if (!job.operations.empty()) {
    for (const config::Operation& op : job.operations) candidate.Apply(op);
  } else if (!job.encoded.empty()) {
    const absl::Status decoded = parts_.codec->DecodeOperations(job.encoded, [&](config::Operation&& op) {
      candidate.Apply(op);
      return absl::OkStatus();
    });
    if (!decoded.ok()) {
      Candidate::Outcome outcome;
      outcome.status = decoded;
      return outcome;
    }
  }
  Candidate::Outcome outcome = candidate.Finish();
  *devices = directory.Take();
  return outcome;
}

void Writer::Evaluate(Job job, Group& group) {
  if (auto s = Admit(job, group.state); !s.ok()) return Refuse(std::move(job), std::move(s));
  if (!job.problems.empty()) {
    std::vector<config::OperationResult> problems = std::move(job.problems);
    const absl::Status status = Error(problems.front().problem);
    return Refuse(std::move(job), status, std::move(problems));
  }
  const absl::Time start = absl::Now();
  Accepted accepted;
  std::vector<KnownDevice> devices;
  // A batch built beside is good only for the state as it is published, not on top of others of this group.
  if (job.beside != nullptr && !group.accepted.empty()) {
    Flush(std::move(group));
    group = NewGroup();
  }
  accepted.outcome = Apply(job, group.state, &devices);
  parts_.stats->stage(Stage::kValidate).Record(absl::Now() - start);
  if (!accepted.outcome.status.ok()) {
    return Refuse(std::move(job), accepted.outcome.status, std::move(accepted.outcome.results));
  }
  if (accepted.outcome.changed && parts_.journal != nullptr) {
    if (job.encoded.empty()) {
      for (const config::Operation& op : job.operations) parts_.codec->EncodeOperation(op, &job.encoded);
    }
    accepted.record = Journal::Encode({.generation = accepted.outcome.config.generation,
                                       .first_uid = group.state.next_uid,
                                       .comment = job.options.comment,
                                       .devices = devices,
                                       .operations = job.encoded});
  }
  group.state = accepted.outcome.config;
  group.touched.Append(accepted.outcome.touched);
  accepted.outcome.touched = {};
  accepted.job = std::move(job);
  group.accepted.push_back(std::move(accepted));
}

void Writer::ValidateOnly(Job job) {
  if (auto s = Admit(job, config_); !s.ok()) return Refuse(std::move(job), std::move(s));
  CommitResult result;
  result.instance_id = parts_.instance_id;
  result.generation = config_.generation;
  result.epoch = epoch_;
  result.reached = Ack::kAccepted;
  if (!job.problems.empty()) {
    result.results = std::move(job.problems);
  } else {
    std::vector<KnownDevice> devices;
    Candidate::Outcome outcome = Apply(job, config_, &devices);
    result.results = std::move(outcome.results);
    if (outcome.status.ok()) {
      // The last step that may fail: there must be room for it in the tables.
      SnapshotBuilder builder(parts_.runtime->arena(), *parts_.runtime->publisher().current());
      auto compiled = compiler_.Compile(outcome.config, outcome.touched, builder);
      if (!compiled.ok()) return Refuse(std::move(job), OutOfMemory(compiled.status()));
      compiler_.Abort(*std::move(compiled));
      builder.Abort();
    } else if (result.results.empty()) {
      return Refuse(std::move(job), outcome.status);
    }
  }
  parts_.stats->Count(ApplyResult::kValidated);
  Answer(std::move(job), std::move(result));
}

absl::Status Writer::Publish(Group& group) {
  absl::Time mark = absl::Now();
  const auto lap = [&](Stage stage) {
    const absl::Time now = absl::Now();
    parts_.stats->stage(stage).Record(now - std::exchange(mark, now));
  };
  Runtime& runtime = *parts_.runtime;
  SnapshotBuilder builder(runtime.arena(), *runtime.publisher().current());
  auto compiled = compiler_.Compile(group.state, group.touched, builder);
  lap(Stage::kBuild);
  if (!compiled.ok()) {
    builder.Abort();
    return OutOfMemory(compiled.status());
  }
  std::vector<std::string> records;
  auto durability = store::Durability::kBuffered;
  for (Accepted& accepted : group.accepted) {
    if (!accepted.record.empty()) records.push_back(std::move(accepted.record));
    if (accepted.job.options.durable) durability = store::Durability::kSynced;
  }
  if (!records.empty()) {
    const absl::Status stored = parts_.journal->Append(records, durability);
    lap(Stage::kStore);
    if (!stored.ok()) {
      compiler_.Abort(*std::move(compiled));
      builder.Abort();
      return Error(absl::StatusCode::kUnavailable, "STORE_FAILED", stored.message());
    }
  }
  // From here on nothing can fail.
  const std::vector<config::NeighborChange> neighbors = compiled->neighbors();
  SnapshotBuilder::Built built = builder.Finish(epoch_ + 1, group.state.generation);
  runtime.publisher().Publish(std::move(built.snapshot), std::move(built.retired));
  ++epoch_;
  ++version_;
  carry_ = {};
  config::Released released;
  {
    absl::MutexLock lock(&compiler_mutex_);
    released = compiler_.Commit(*std::move(compiled));
  }
  if (!released.empty()) {
    // May run after the writer has ended, by whoever reclaims then.
    runtime.publisher().AfterGrace(
        [hooks = runtime.compile_hooks(), released = std::move(released)] { config::Compiler(hooks).Free(released); });
  }
  const config::Config before = std::exchange(config_, group.state);
  {
    absl::MutexLock lock(&live_mutex_);
    live_ = {.config = config_, .epoch = epoch_, .version = version_};
  }
  runtime.Published(before, config_, group.touched, neighbors);
  lap(Stage::kPublish);
  parts_.stats->publications.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

void Writer::Flush(Group group) {
  if (group.accepted.empty()) return;
  const bool changed =
      std::any_of(group.accepted.begin(), group.accepted.end(), [](const Accepted& a) { return a.outcome.changed; });
  if (changed || !group.touched.empty()) {
    const absl::Status published = Publish(group);
    if (!published.ok()) {
      if (group.accepted.size() > 1 && ReasonOf(published) == "OUT_OF_MEMORY") {
        for (Accepted& accepted : group.accepted) {
          Group one = NewGroup();
          Evaluate(std::move(accepted.job), one);
          Flush(std::move(one));
        }
        return;
      }
      for (Accepted& accepted : group.accepted) Refuse(std::move(accepted.job), published);
      return;
    }
  }
  for (Accepted& accepted : group.accepted) AnswerAccepted(std::move(accepted));
}

void Writer::AnswerAccepted(Accepted accepted) {
  parts_.stats->Count(accepted.outcome.changed ? ApplyResult::kCommitted : ApplyResult::kUnchanged);
  parts_.stats->operations.fetch_add(accepted.job.count, std::memory_order_relaxed);
  CommitResult result;
  result.instance_id = parts_.instance_id;
  result.generation = accepted.outcome.config.generation;
  result.epoch = epoch_;
  result.results = std::move(accepted.outcome.results);
  if (accepted.job.options.ack == Ack::kAccepted) return Answer(std::move(accepted.job), std::move(result));
  const absl::Time deadline = absl::Now() + accepted.job.options.visible_timeout;
  parts_.acks->Await(deadline, std::move(result), std::move(accepted.job.done));
}

void Writer::Refuse(Job job, absl::Status status, std::vector<config::OperationResult> results) {
  parts_.stats->Count(ResultOf(status));
  CommitResult result;
  result.instance_id = parts_.instance_id;
  result.status = std::move(status);
  result.results = std::move(results);
  Answer(std::move(job), std::move(result));
}

void Writer::Answer(Job job, CommitResult result) { std::move(job.done)(std::move(result)); }

}  // namespace sluice::engine
