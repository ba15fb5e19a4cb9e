#include "server/rpc/service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/engine/error.h"
#include "server/rpc/capabilities.h"
#include "server/rpc/commit_stream.h"
#include "server/rpc/convert.h"
#include "server/rpc/explain.h"
#include "server/rpc/fingerprint.h"
#include "server/rpc/status.h"

namespace sluice::rpc {
namespace {

constexpr size_t kObjectsPerMessage = 1000;
constexpr int kMaxSelectors = 64;

void SetDuration(absl::Duration d, google::protobuf::Duration* out) {
  out->set_seconds(absl::IDivDuration(d, absl::Seconds(1), &d));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(d)));
}

// Streams what a cursor yields. One message is under way at a time, so that a slow reader holds one message and the
// cursor's pin, and that only for a bounded time.
class ReadReactor final : public grpc::ServerWriteReactor<v1::ReadResponse> {
 public:
  explicit ReadReactor(const grpc::Status& refused) { Finish(refused); }
  ReadReactor(std::unique_ptr<engine::ReadCursor> cursor, WithState with_state)
      : cursor_(std::move(cursor)), with_state_(with_state) {
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    auto objects = cursor_->Next(kObjectsPerMessage);
    if (!objects.ok()) return Finish(ToGrpc(objects.status()));
    response_.Clear();
    response_.set_generation(cursor_->generation());
    response_.set_epoch(cursor_->epoch());
    for (const config::Object& object : *objects) EncodeObject(object, with_state_, response_.add_objects());
    if (!objects->empty()) return StartWrite(&response_);
    response_.set_complete(true);
    StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }

  std::unique_ptr<engine::ReadCursor> cursor_;
  WithState with_state_ = WithState::kYes;
  v1::ReadResponse response_;
};

}  // namespace

grpc::ServerUnaryReactor* SluiceService::Commit(grpc::CallbackServerContext* context, const v1::CommitRequest* request,
                                                v1::CommitResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  engine::CommitOptions options;
  if (config::Problem p = DecodeOptions(request->options(), &options); !p.ok()) {
    reactor->Finish(ToGrpc(MakeError(p, "options")));
    return reactor;
  }
  std::vector<config::Operation> operations(static_cast<size_t>(request->operations_size()));
  std::vector<config::OperationResult> problems;
  Fingerprint fingerprint;
  for (int i = 0; i < request->operations_size(); ++i) {
    const v1::Operation& message = request->operations(i);
    if (!options.request_id.empty()) fingerprint.Add(message);
    config::Problem problem = DecodeOperation(message, &operations[static_cast<size_t>(i)]);
    if (problem.ok()) continue;
    config::OperationResult& result = problems.emplace_back();
    result.index = static_cast<uint32_t>(i);
    result.id = message.id();
    result.problem = std::move(problem);
  }
  options.fingerprint = fingerprint.value();
  if (!problems.empty() && !options.validate_only) {
    reactor->Finish(ToGrpc(MakeError(absl::InvalidArgumentError("malformed operations"), problems)));
    return reactor;
  }
  auto batch = engine_.BeginBatch();
  for (config::OperationResult& problem : problems) batch->AddProblem(std::move(problem));
  if (problems.empty()) {
    if (absl::Status s = batch->Add(std::move(operations)); !s.ok()) {
      reactor->Finish(ToGrpc(s));
      return reactor;
    }
  }
  batch->Commit(std::move(options), [reactor, response](engine::CommitResult result) {
    if (result.status.ok()) EncodeCommitResult(result, response);
    reactor->Finish(result.status.ok() ? grpc::Status::OK : ToGrpc(MakeError(result.status, result.results)));
  });
  return reactor;
}

grpc::ServerBidiReactor<v1::CommitStreamRequest, v1::CommitStreamResponse>* SluiceService::CommitStream(
    grpc::CallbackServerContext* /*context*/) {
  return MakeCommitStream(engine_);
}

grpc::ServerWriteReactor<v1::ReadResponse>* SluiceService::Read(grpc::CallbackServerContext* /*context*/,
                                                                const v1::ReadRequest* request) {
  if (request->selectors_size() > kMaxSelectors) {
    return new ReadReactor(ToGrpc(
        engine::Error(absl::StatusCode::kResourceExhausted, "LIMIT_REACHED",
                      absl::StrCat(request->selectors_size(), " selectors; at most ", kMaxSelectors, " are allowed"))));
  }
  std::vector<config::Selector> selectors(static_cast<size_t>(request->selectors_size()));
  for (int i = 0; i < request->selectors_size(); ++i) {
    const config::Problem problem = DecodeSelector(request->selectors(i), &selectors[static_cast<size_t>(i)]);
    if (!problem.ok()) return new ReadReactor(ToGrpc(MakeError(problem, absl::StrCat("selectors[", i, "]"))));
  }
  auto cursor = engine_.Read(std::move(selectors), !request->omit_state());
  if (!cursor.ok()) return new ReadReactor(ToGrpc(cursor.status()));
  return new ReadReactor(*std::move(cursor), request->omit_state() ? WithState::kNo : WithState::kYes);
}

grpc::ServerUnaryReactor* SluiceService::Explain(grpc::CallbackServerContext* context,
                                                 const v1::ExplainRequest* request, v1::ExplainResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ExplainPacket(engine_, *request, response));
  return reactor;
}

grpc::ServerUnaryReactor* SluiceService::GetStatus(grpc::CallbackServerContext* context,
                                                   const v1::GetStatusRequest* /*request*/,
                                                   v1::GetStatusResponse* response) {
  const engine::EngineStatus status = engine_.GetStatus();
  response->set_instance_id(status.instance_id);
  response->set_generation(status.generation);
  response->set_epoch(status.epoch);
  response->set_version(SLUICE_VERSION);
  response->mutable_start_time()->set_seconds(absl::ToUnixSeconds(status.start_time));
  response->mutable_start_time()->set_nanos(static_cast<int32_t>(absl::ToUnixNanos(status.start_time) % 1'000'000'000));
  SetDuration(status.uptime, response->mutable_uptime());
  for (const engine::WorkerInfo& worker : status.workers) {
    v1::WorkerStatus* w = response->add_workers();
    w->set_index(worker.index);
    w->set_cpu(worker.cpu);
    w->set_epoch(worker.epoch);
    w->set_health(static_cast<v1::WorkerHealth>(worker.health));
    for (const engine::QueueInfo& queue : worker.rx_queues) {
      v1::QueueStatus* q = w->add_rx_queues();
      q->set_link(queue.link);
      q->set_queue(queue.queue);
    }
    SetDuration(worker.heartbeat_age, w->mutable_heartbeat_age());
  }
  for (const engine::PortInfo& port : status.ports) {
    v1::PortStatus* p = response->add_ports();
    p->set_name(port.name);
    p->set_driver(port.driver);
    p->set_pci_address(port.pci_address);
    p->set_mac(port.mac);
    p->set_up(port.up);
    p->set_speed_mbps(port.speed_mbps);
    p->set_rx_queues(port.rx_queues);
    p->set_tx_queues(port.tx_queues);
    p->set_problem(port.problem);
  }
  response->set_ready(status.ready);
  for (const std::string& warning : status.warnings) response->add_warnings(warning);
  response->set_retired_bytes(status.retired_bytes);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* SluiceService::GetCapabilities(grpc::CallbackServerContext* context,
                                                         const v1::GetCapabilitiesRequest* /*request*/,
                                                         v1::GetCapabilitiesResponse* response) {
  FillCapabilities(engine_, response);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace sluice::rpc
