// The engine: takes batches, makes them durable and visible, and answers questions. rpc and metrics see only this.
//
// Why one thread writes: config, candidate, store and publication change together, in one order; everybody else hands
// work over and waits for the answer. Commits that wait together are one publication and one fsync, each with its own
// result and generation; a refused one leaves no trace.
//
//   std::unique_ptr<Batch> batch = engine->BeginBatch();
//   batch->Add(std::move(operations));                                // any number of times
//   batch->Commit(options, [](CommitResult result) { ... });          // or drop it: it never happened
//   auto cursor = engine->Read({}, /*with_state=*/true);              // one generation, piece by piece
//
// Threads: every public method from any thread; a Batch and a ReadCursor from one thread at a time. Callbacks run on
// threads of the engine and must not block. Cost: a commit that waits alone takes one hand-over, its own work, and
// with `durable` one fdatasync.
#ifndef SLUICE_SERVER_ENGINE_ENGINE_H_
#define SLUICE_SERVER_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/objects.h"
#include "server/engine/runtime_options.h"

namespace sluice::engine {

enum class Ack : uint8_t { kAccepted = 1, kVisible = 2 };

struct CommitOptions {
  std::string request_id;
  uint64_t fingerprint = 0;  // of the batch, so that a request_id used for another one is noticed
  std::optional<uint64_t> expected_generation;
  bool validate_only = false;
  Ack ack = Ack::kVisible;
  bool durable = false;
  absl::Duration visible_timeout = absl::Seconds(5);
  std::string owner;
  std::string comment;
};

struct CommitResult {
  absl::Status status;  // not OK: nothing changed; `results` then holds the problems
  std::string instance_id;
  uint64_t generation = 0;
  uint64_t epoch = 0;
  Ack reached = Ack::kAccepted;
  std::vector<std::string> lagging_workers;
  std::vector<config::OperationResult> results;  // operations with something to say; all of them in a small batch
};

using Done = absl::AnyInvocable<void(CommitResult) &&>;

struct Limits {
  uint64_t message_bytes = uint64_t{4} << 20;
  uint64_t operations_per_commit = 16'000'000;
  uint64_t retired_bytes = uint64_t{256} << 20;
  uint64_t queue = 4096;                         // batches that wait for the writer
  uint64_t remembered_requests = 4096;           // request_ids whose answer is given again
  absl::Duration read_idle = absl::Seconds(30);  // after which a reader that does not read is let go
};

enum class WorkerHealth : uint8_t { kPolling = 1, kIdle = 2, kStalled = 3 };

struct QueueInfo {
  std::string link;
  uint32_t queue = 0;
};

struct WorkerInfo {
  uint32_t index = 0;
  uint32_t cpu = 0;
  uint64_t epoch = 0;
  WorkerHealth health = WorkerHealth::kPolling;
  std::vector<QueueInfo> rx_queues;
  absl::Duration heartbeat_age;
};

struct PortInfo {
  std::string name;
  std::string driver;
  std::string pci_address;
  std::string mac;
  bool up = false;
  uint64_t speed_mbps = 0;
  uint32_t rx_queues = 0, tx_queues = 0;
  int numa = -1;  // unknown
  std::string problem;
};

struct EngineStatus {
  std::string instance_id;
  uint64_t generation = 0;
  uint64_t epoch = 0;
  absl::Time start_time;
  absl::Duration uptime;
  std::vector<WorkerInfo> workers;
  std::vector<PortInfo> ports;
  bool ready = false;
  std::vector<std::string> warnings;
  uint64_t retired_bytes = 0;
};

// A batch in pieces. Once it is large (kLargeBatch), each piece becomes part of a candidate as it comes in, on the
// caller's thread: memory stays bounded, and the writer is not held up. It is built upon the state of that moment; what
// the caller committed before must therefore be finished before a batch becomes large.
class Batch {
 public:
  static constexpr uint64_t kLargeBatch = 8192;  // operations

  virtual ~Batch() = default;
  // OK unless the batch is hopeless already (LIMIT_REACHED, OUT_OF_MEMORY); problems of single operations come with the
  // answer. The index of a result counts over all pieces.
  virtual absl::Status Add(std::vector<config::Operation> operations) = 0;
  // A problem found before the batch came here (it does not even decode). The batch will be refused.
  virtual void AddProblem(config::OperationResult result) = 0;
  virtual uint64_t operations() const = 0;
  // Once, and last.
  virtual void Commit(CommitOptions options, Done done) = 0;
};

// What was asked for at one generation, piece by piece, in the order of ReadResponse.
class ReadCursor {
 public:
  virtual ~ReadCursor() = default;
  virtual uint64_t generation() const = 0;
  virtual uint64_t epoch() const = 0;
  // Up to `limit` more objects; none: that was all. ABORTED (READ_EXPIRED) when the reader waited too long.
  virtual absl::StatusOr<std::vector<config::Object>> Next(size_t limit) = 0;
};

// How operations and objects become the bytes of the store, and back. The engine knows no protobuf; main injects what
// server/rpc makes of it. What is decoded does the same as what was encoded, in this and in later versions.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual void EncodeOperation(const config::Operation& operation, std::string* append) const = 0;
  virtual absl::Status DecodeOperations(absl::string_view bytes,
                                        absl::FunctionRef<absl::Status(config::Operation&&)> each) const = 0;
  // With its meta, without its state.
  virtual void EncodeObject(const config::Object& object, std::string* append) const = 0;
  virtual absl::Status DecodeObjects(absl::string_view bytes,
                                     absl::FunctionRef<absl::Status(config::Object&&)> each) const = 0;
};

struct EngineOptions {
  Limits limits;
  std::string state_dir;  // empty: nothing outlives the process
  RuntimeOptions runtime;
  // Ports that are there from the start, by name: added as links, up, unless the restored state has them already.
  std::vector<std::pair<std::string, std::string>> ports;
};

// The numbers that metrics need beyond the status. See stats.h.
struct EngineStats;

class Runtime;
class Writer;

class Engine {
 public:
  // Restores the state, opens the ports, starts the workers, and publishes the first snapshot before they poll. `codec`
  // outlives the engine. Errors are one line that says what to do about it.
  static absl::StatusOr<std::unique_ptr<Engine>> Start(EngineOptions options, const Codec& codec);
  // Stops everything; answers to what still waits are SHUTTING_DOWN.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::unique_ptr<Batch> BeginBatch();
  // A batch in one piece, for a caller that may wait.
  CommitResult CommitAndWait(CommitOptions options, std::vector<config::Operation> operations);

  // Everything that any of `selectors` chooses (none: everything), as it is now. With `with_state`, counters and what
  // devices say are filled in.
  absl::StatusOr<std::unique_ptr<ReadCursor>> Read(std::vector<config::Selector> selectors, bool with_state);

  EngineStatus GetStatus() const;
  // The state is restored, ports are up, every worker has loaded a snapshot; and no shutdown has begun.
  bool ready() const;
  // Every worker has given a sign of life within `stall`.
  bool live(absl::Duration stall = absl::Seconds(10)) const;

  const Limits& limits() const;
  const EngineStats& stats() const;
  // For metrics and explain.
  Runtime& runtime();
  Writer& writer();

  // From now on commits are refused (SHUTTING_DOWN), and ready() is false. Workers go on.
  void Drain();

 private:
  struct Parts;
  explicit Engine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_ENGINE_H_
