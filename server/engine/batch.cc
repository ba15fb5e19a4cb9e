#include "server/engine/batch.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/engine/error.h"

namespace sluice::engine {

namespace {

// Notes the device that an operation opens, if it does.
void NotePort(const config::Operation& operation, std::vector<PortRequest>& ports) {
  const auto* object = std::get_if<config::Object>(&operation.target);
  const auto* link = object == nullptr ? nullptr : std::get_if<config::Link>(&object->value);
  if (link == nullptr || link->devargs.empty() || operation.verb == config::Verb::kDelete) return;
  ports.push_back({.name = link->name,
                   .devargs = link->devargs,
                   .rx_queues = link->rx_queues.value_or(0),
                   .tx_queues = link->tx_queues.value_or(0),
                   .mtu = link->mtu.value_or(0),
                   .mac = link->mac});
}

}  // namespace

PiecewiseBatch::~PiecewiseBatch() = default;

absl::Status PiecewiseBatch::Add(std::vector<config::Operation> operations) {
  if (job_.count + operations.size() > host_.limits().operations_per_commit) {
    return Error(absl::StatusCode::kResourceExhausted, "LIMIT_REACHED",
                 absl::StrCat("more than ", host_.limits().operations_per_commit, " operations in one batch"));
  }
  job_.count += operations.size();
  for (const config::Operation& op : operations) NotePort(op, job_.ports);
  if (!job_.ports.empty()) building_.reset();  // devices are opened first, then everything is applied by the writer
  if (!large_) {
    job_.operations.insert(job_.operations.end(), std::make_move_iterator(operations.begin()),
                           std::make_move_iterator(operations.end()));
    if (job_.count > kLargeBatch) GrowLarge();
    return absl::OkStatus();
  }
  for (const config::Operation& op : operations) {
    host_.codec().EncodeOperation(op, &job_.encoded);
    if (building_ != nullptr) building_->candidate->Apply(op);
  }
  return absl::OkStatus();
}

void PiecewiseBatch::GrowLarge() {
  large_ = true;
  if (job_.ports.empty()) {
    Writer::Live live = host_.writer().live();
    building_ = std::make_unique<Building>();
    building_->version = live.version;
    building_->devices = std::make_unique<RecordingDirectory>(host_.runtime().devices());
    building_->candidate = std::make_unique<config::Candidate>(
        live.config, config::CandidateOptions{.devices = building_->devices.get(), .describe_stored = false});
  }
  for (const config::Operation& op : std::exchange(job_.operations, {})) {
    host_.codec().EncodeOperation(op, &job_.encoded);
    if (building_ != nullptr) building_->candidate->Apply(op);
  }
}

void PiecewiseBatch::AddProblem(config::OperationResult result) {
  ++job_.problem_count;
  if (job_.problems.size() < kMaxProblems) job_.problems.push_back(std::move(result));
}

void PiecewiseBatch::Commit(CommitOptions options, Done done) {
  job_.options = std::move(options);
  job_.done = std::move(done);
  absl::AnyInvocable<void(Job&)> work;
  if (building_ != nullptr && job_.problems.empty()) {
    work = [building = std::move(building_)](Job& job) {
      job.beside = std::make_unique<Beside>();
      job.beside->version = building->version;
      job.beside->outcome = building->candidate->Finish();
      job.beside->devices = building->devices->Take();
    };
  }
  host_.Accept(std::move(job_), std::move(work));
}

}  // namespace sluice::engine
