// A batch of operations on a copy of the desired state: everything, or nothing.
//
// Why: verbs and assigned numbers act in the order in which they are written; what an object refers to (link, gateway,
// preferred source) is checked against the state at the batch's end. So ADD and REPLACE may come in any order, and a
// batch that is refused has changed nothing, since the Config it started from was never written.
//
//   Candidate candidate(live, options);
//   for (const Operation& op : batch) candidate.Apply(op);
//   Candidate::Outcome outcome = candidate.Finish();
//   if (outcome.status.ok()) { compile outcome.touched (compile.h); live = outcome.config; }
//   else reply(outcome.status, outcome.results);                        // every problem, each with its field
//
// The rules are those of Linux (see README.md for where they differ). Derived objects (the routes of an address, the
// link-local address of a link) are brought in line in Finish, from the final state; what else Linux removes (routes of
// a link that goes down, users of an address as preferred source) goes there too and is reported as `cascaded`.
//
// Refused for: see Refusals below; each Problem has the reason's name, the field's path from the operation on
// ("object.route.nexthops[0].gateway") and a sentence that names the object.
//
// Threads: one thread per candidate; many candidates may be open on one Config. Cost: about 0.5 us a route, and one
// look at the gateway for each distinct (gateway, link, table).
#ifndef SLUICE_SERVER_CONFIG_APPLY_H_
#define SLUICE_SERVER_CONFIG_APPLY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/config/config.h"
#include "server/config/objects.h"
#include "server/config/touched.h"

namespace sluice::config {

// Tells config about devices. Whoever applies a batch has opened the devices of its new links before (that may take
// long), so that this only looks up.
class DeviceDirectory {
 public:
  virtual ~DeviceDirectory() = default;
  // The facts of the device that `devargs` names, for link `name`. Not OK (DEVICE_NOT_FOUND, DEVICE_FAILED,
  // INVALID_DEVARGS): the operation is refused with this problem; its field may be left empty.
  virtual Problem Describe(const std::string& name, const std::string& devargs, DeviceFacts* facts) = 0;
};

// More is LIMIT_REACHED.
struct Limits {
  size_t links = 4096;
  size_t addresses = 65536;
  size_t neighbors = 65536;
  size_t routes = size_t{16} << 20;
  size_t tables = 65536;
  size_t nexthops = size_t{4} << 20;  // distinct ones
  size_t labels_per_object = 64;
};

struct CandidateOptions {
  Limits limits;
  DeviceDirectory* devices = nullptr;  // null: nothing is known of devices, and nothing is refused because of them
  // Whether every operation gets its object back as stored. Links always do, since their index is assigned.
  bool describe_stored = true;
};

class Batch;

class Candidate {
 public:
  // Problems and cascaded objects beyond these are counted, but not described: a full table may go with one link.
  static constexpr size_t kMaxProblems = 10000;
  static constexpr size_t kMaxCascaded = 10000;

  explicit Candidate(const Config& base, CandidateOptions options = {});
  ~Candidate();
  Candidate(Candidate&&) noexcept;
  Candidate& operator=(Candidate&&) noexcept;

  // The next operation. Its problem, if any, is kept, and the batch goes on, so that all problems are found at once.
  void Apply(const Operation& operation);
  // Facts of a device that came or changed after its link was added (a restart, a hot plug). Not an operation: moves no
  // generation, but derived objects follow.
  void SetDevice(LinkIndex link, const DeviceFacts& facts);

  size_t operations() const;
  // How many operations are known to be refused so far.
  size_t problems() const;

  struct Outcome {
    absl::Status status;                   // of the first problem; not OK: `config` is the base
    size_t problems = 0;                   // operations at fault
    std::vector<OperationResult> results;  // in order, of operations with something to tell
    bool changed = false;                  // whether config.generation is a new one
    Config config;
    Touched touched;
    uint64_t cascaded = 0;  // objects that went with others, described or not
  };
  // Checks references, derives, cascades. Once; the candidate is then spent.
  Outcome Finish();

 private:
  std::unique_ptr<Batch> batch_;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_APPLY_H_
