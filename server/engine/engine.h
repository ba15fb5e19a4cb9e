// The engine: takes batches, makes them durable and visible, and answers questions. rpc and metrics see only this.
//
// Why one thread writes: config, candidate, store and publication change together, in one order; everybody else hands
// work over and waits for the answer. Commits that wait together are one publication.
//
//   engine.Commit({.options = {.ack = Ack::kVisible}, .operations = ops}, [](const CommitResult& r) { ... });
//
// Threads: every public method from any thread. Callbacks run on the engine's threads and must not block.
#ifndef SLUICE_SERVER_ENGINE_ENGINE_H_
#define SLUICE_SERVER_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/config/objects.h"

namespace sluice::engine {

enum class Ack : uint8_t { kAccepted = 1, kVisible = 2 };

struct CommitOptions {
  std::string request_id;
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

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_ENGINE_H_
