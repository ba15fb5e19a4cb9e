#include "server/engine/engine.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/engine/acks.h"
#include "server/engine/batch.h"
#include "server/engine/cursor.h"
#include "server/engine/error.h"
#include "server/engine/executor.h"
#include "server/engine/journal.h"
#include "server/engine/learned.h"
#include "server/engine/request_memory.h"
#include "server/engine/runtime.h"
#include "server/engine/writer.h"

namespace sluice::engine {
namespace {

constexpr absl::Duration kKeeperTick = absl::Milliseconds(100);

// A random UUID (RFC 9562 §5.4).
std::string NewInstanceId() {
  uint8_t b[16];
  if (getrandom(b, sizeof b, 0) != static_cast<ssize_t>(sizeof b)) std::abort();
  b[6] = static_cast<uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<uint8_t>((b[8] & 0x3f) | 0x80);
  std::string out;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    absl::StrAppendFormat(&out, "%02x", b[i]);
  }
  return out;
}

}  // namespace

struct Engine::Parts final : BatchHost {
  Parts(EngineOptions o, const Codec& c)
      : options(std::move(o)),
        codec_(c),
        instance_id(NewInstanceId()),
        start(absl::Now()),
        memory(options.limits.remembered_requests) {}
  ~Parts() override;

  Writer& writer() override { return *writer_; }
  Runtime& runtime() override { return *runtime_; }
  const Codec& codec() override { return codec_; }
  const Limits& limits() const override { return options.limits; }
  void Accept(Job job, absl::AnyInvocable<void(Job&)> work) override;

  absl::Status Start();
  absl::Status OpenRestoredPorts(config::Config* config);
  absl::Status AddBootPorts();
  CommitResult CommitAndWait(CommitOptions options, std::vector<config::Operation> operations);
  void Keep();

  EngineOptions options;
  const Codec& codec_;
  const std::string instance_id;
  const absl::Time start;
  EngineStats stats;
  RequestMemory memory;
  // In the order of construction; destroyed the other way round by hand, see ~Parts.
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Acks> acks;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Executor> bulk;
  std::vector<PortRequest> restored_ports;

  std::atomic<bool> started{false};
  std::atomic<bool> draining{false};
  absl::Mutex reads_mutex;
  std::vector<std::weak_ptr<PinnedRead>> reads ABSL_GUARDED_BY(reads_mutex);
  absl::Mutex keeper_mutex;
  bool keeper_stop ABSL_GUARDED_BY(keeper_mutex) = false;
  std::thread keeper;
};

Engine::Parts::~Parts() {
  draining = true;
  if (writer_ != nullptr) writer_->Drain();
  {
    absl::MutexLock lock(&keeper_mutex);
    keeper_stop = true;
  }
  if (keeper.joinable()) keeper.join();
  bulk.reset();                                         // large batches come to their end, and are refused
  if (runtime_ != nullptr) runtime_->StopPortThread();  // so do those that wait for a device
  // Who waits for VISIBLE is answered while workers still run; then the writer ends, then they.
  acks.reset();
  writer_.reset();
  if (runtime_ != nullptr) runtime_->Stop();
  runtime_.reset();
  journal.reset();
}

absl::Status Engine::Parts::Start() {
  config::Config config;
  if (!options.state_dir.empty()) {
    auto opened = Journal::Open(options.state_dir, codec_);
    if (!opened.ok()) return opened.status();
    journal = *std::move(opened);
    if (auto s = journal->Restore(&config); !s.ok()) return s;
    if (!journal->notice().empty()) std::fprintf(stderr, "sluiced: %s\n", journal->notice().c_str());
  }
  auto created = Runtime::Create(options.runtime);
  if (!created.ok()) return created.status();
  runtime_ = *std::move(created);
  if (auto s = OpenRestoredPorts(&config); !s.ok()) return s;
  acks = std::make_unique<Acks>(*runtime_, stats);
  auto writer = Writer::Start({.runtime = runtime_.get(),
                               .journal = journal.get(),
                               .codec = &codec_,
                               .acks = acks.get(),
                               .stats = &stats,
                               .instance_id = instance_id,
                               .limits = options.limits},
                              std::move(config));
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  bulk = std::make_unique<Executor>();
  runtime_->SettleDevices(std::move(restored_ports));  // their links have been published: the claims may end
  if (auto s = runtime_->StartWorkers(); !s.ok()) return s;
  if (auto s = AddBootPorts(); !s.ok()) return s;
  keeper = std::thread([this] { Keep(); });
  started = true;
  return absl::OkStatus();
}

// A device that is not there any more does not keep the rest from working: its link stays, and says so.
absl::Status Engine::Parts::OpenRestoredPorts(config::Config* config) {
  config::Candidate candidate(*config, {.describe_stored = false});
  std::vector<PortRequest> restored;
  for (auto it = config->links.begin(); it.Valid(); it.Next()) {
    const config::LinkRecord& record = it.value();
    const std::string name(record.name.view());
    const PortRequest request{.name = name,
                              .devargs = record.devargs,
                              .rx_queues = record.rx_queues,
                              .tx_queues = record.tx_queues,
                              .mtu = record.mtu,
                              .mac = record.has_mac ? std::make_optional(record.mac) : std::nullopt};
    runtime_->OpenDevices({&request, 1});
    restored.push_back(request);
    config::DeviceFacts facts;
    const config::Problem problem = runtime_->devices().Describe(name, record.devargs, &facts);
    if (problem.ok()) {
      candidate.SetDevice(it.key(), facts);
    } else {
      std::fprintf(stderr, "sluiced: link %s: %s\n", name.c_str(), problem.message.c_str());
    }
  }
  config::Candidate::Outcome outcome = candidate.Finish();
  if (!outcome.status.ok()) return outcome.status;
  *config = std::move(outcome.config);
  restored_ports = std::move(restored);
  return absl::OkStatus();
}

absl::Status Engine::Parts::AddBootPorts() {
  std::vector<config::Operation> operations;
  const config::Config config = writer_->live().config;
  for (const auto& [name, devargs] : options.ports) {
    const LinkIndex index = config.FindLink(name);
    if (index != 0) {
      const config::LinkRecord& there = *config.links.Find(index);
      if (there.devargs == devargs) continue;  // restored; what was set since stays as it was set
      return absl::FailedPreconditionError(
          absl::StrCat("port ", name, ": the restored state has it on ", there.devargs, ", not on ", devargs));
    }
    config::Operation op;
    op.verb = config::Verb::kAdd;
    config::Link link;
    link.name = name;
    link.devargs = devargs;
    link.up = true;
    op.target = config::Object{.value = std::move(link), .owner = "boot"};
    operations.push_back(std::move(op));
  }
  if (operations.empty()) return absl::OkStatus();
  const CommitResult result = CommitAndWait({.ack = Ack::kAccepted}, std::move(operations));
  if (result.status.ok()) return result.status;
  for (const config::OperationResult& r : result.results) {
    if (!r.problem.ok()) return absl::Status(r.problem.code, absl::StrCat("port: ", r.problem.message));
  }
  return result.status;
}

void Engine::Parts::Accept(Job job, absl::AnyInvocable<void(Job&)> work) {
  const std::string& id = job.options.request_id;
  if (!id.empty() && !job.options.validate_only) {
    switch (memory.Enter(id, job.options.fingerprint, &job.done)) {
      case RequestMemory::Entered::kTaken:
        return;
      case RequestMemory::Entered::kReused: {
        CommitResult refused;
        refused.instance_id = instance_id;
        refused.status = Error(absl::StatusCode::kInvalidArgument, "REQUEST_ID_REUSED",
                               absl::StrCat("request_id ", id, " was used for a different batch"));
        return std::move(job.done)(std::move(refused));
      }
      case RequestMemory::Entered::kNew:
        break;
    }
    job.done = [this, id, done = std::move(job.done)](CommitResult result) mutable {
      memory.Leave(id, result);
      std::move(done)(std::move(result));
    };
  }
  std::vector<NeighborKey> learned = TakeLearned(*runtime_, writer_->live().config, job.operations);
  if (!learned.empty() && !job.options.validate_only) {
    job.done = [this, learned = std::move(learned), done = std::move(job.done)](CommitResult result) mutable {
      if (result.status.ok()) runtime_->ForgetNeighbors(learned);
      std::move(done)(std::move(result));
    };
  }
  if (!job.ports.empty() && job.problems.empty()) {
    // The devices are open before the batch is applied, so that applying only looks them up. What the batch did not use
    // in the end is closed again.
    runtime_->PostPortWork([this, job = std::move(job)]() mutable {
      runtime_->OpenDevices(job.ports);
      job.done = [this, ports = job.ports, done = std::move(job.done)](CommitResult result) mutable {
        runtime_->SettleDevices(std::move(ports));
        std::move(done)(std::move(result));
      };
      writer_->Submit(std::move(job));
    });
    return;
  }
  if (work) {
    bulk->Post([this, job = std::move(job), work = std::move(work)]() mutable {
      work(job);
      writer_->Submit(std::move(job));
    });
    return;
  }
  writer_->Submit(std::move(job));
}

CommitResult Engine::Parts::CommitAndWait(CommitOptions commit_options, std::vector<config::Operation> operations) {
  CommitResult out;
  absl::Notification done;
  PiecewiseBatch batch(*this);
  if (absl::Status s = batch.Add(std::move(operations)); !s.ok()) {
    out.status = s;
    return out;
  }
  batch.Commit(std::move(commit_options), [&](CommitResult result) {
    out = std::move(result);
    done.Notify();
  });
  done.WaitForNotification();
  return out;
}

void Engine::Parts::Keep() {
  while (true) {
    {
      absl::MutexLock lock(&keeper_mutex);
      if (keeper_mutex.AwaitWithTimeout(absl::Condition(&keeper_stop), kKeeperTick)) return;
    }
    const absl::Time now = absl::Now();
    {
      absl::MutexLock lock(&reads_mutex);
      std::erase_if(reads, [&](const std::weak_ptr<PinnedRead>& weak) {
        const std::shared_ptr<PinnedRead> read = weak.lock();
        return read == nullptr || read->ExpireIfIdle(now, options.limits.read_idle);
      });
    }
    // Carrier came or went: the same state, published anew.
    std::vector<std::string> moved = runtime_->PollLinks();
    if (moved.empty()) continue;
    writer_->Submit(Change([moved = std::move(moved)](const config::Config& live) {
      config::Candidate::Outcome outcome;
      outcome.config = live;
      for (const std::string& name : moved) {
        if (const LinkIndex link = live.FindLink(name); link != 0) outcome.touched.links.push_back(link);
      }
      return outcome;
    }));
  }
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(EngineOptions options, const Codec& codec) {
  auto parts = std::make_unique<Parts>(std::move(options), codec);
  if (auto s = parts->Start(); !s.ok()) return s;
  return std::unique_ptr<Engine>(new Engine(std::move(parts)));
}

std::unique_ptr<Batch> Engine::BeginBatch() { return std::make_unique<PiecewiseBatch>(*parts_); }

CommitResult Engine::CommitAndWait(CommitOptions options, std::vector<config::Operation> operations) {
  return parts_->CommitAndWait(std::move(options), std::move(operations));
}

absl::StatusOr<std::unique_ptr<ReadCursor>> Engine::Read(std::vector<config::Selector> selectors, bool with_state) {
  auto read = std::make_shared<PinnedRead>(*parts_->writer_, *parts_->runtime_, std::move(selectors), with_state);
  {
    absl::MutexLock lock(&parts_->reads_mutex);
    parts_->reads.push_back(read);
  }
  return std::make_unique<SharedCursor>(std::move(read));
}

EngineStatus Engine::GetStatus() const {
  EngineStatus status;
  const Parts& p = *parts_;
  status.instance_id = p.instance_id;
  status.generation = p.writer_->generation();
  status.epoch = p.writer_->epoch();
  status.start_time = p.start;
  status.uptime = absl::Now() - p.start;
  status.workers = p.runtime_->worker_infos();
  status.ports = p.runtime_->port_infos();
  status.warnings = p.runtime_->warnings();
  status.ready = ready();
  status.retired_bytes = p.runtime_->publisher().pending_bytes();
  return status;
}

bool Engine::ready() const {
  return parts_->started && !parts_->draining && parts_->runtime_->publisher().AllSee(1) &&
         parts_->runtime_->ports_ok();
}

bool Engine::live(absl::Duration stall) const {
  for (const WorkerInfo& worker : parts_->runtime_->worker_infos()) {
    if (worker.heartbeat_age > stall) return false;
  }
  return true;
}

const Limits& Engine::limits() const { return parts_->options.limits; }
const EngineStats& Engine::stats() const { return parts_->stats; }
Runtime& Engine::runtime() { return *parts_->runtime_; }
Writer& Engine::writer() { return *parts_->writer_; }

void Engine::Drain() {
  parts_->draining = true;
  parts_->writer_->Drain();
}

}  // namespace sluice::engine
