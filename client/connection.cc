#include "client/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "client/batch_writer.h"
#include "client/stream.h"
#include "sluice/v1/service.grpc.pb.h"

namespace sluice::client {
namespace {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A local server is meant, whatever http_proxy says.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(const std::optional<std::chrono::milliseconds>& timeout, grpc::ClientContext* context) {
  if (timeout.has_value()) context->set_deadline(std::chrono::system_clock::now() + *timeout);
}

}  // namespace

struct Connection::Stub {
  std::unique_ptr<v1::SluiceService::Stub> service;
};

Connection::Connection(const std::string& server) : Connection(MakeChannel(server), server) {}

Connection::Connection(std::shared_ptr<grpc::Channel> channel, std::string server)
    : stub_(std::make_unique<Stub>()), server_(std::move(server)) {
  stub_->service = v1::SluiceService::NewStub(channel);
}

Connection::~Connection() = default;

Outcome Connection::Commit(const v1::CommitRequest& request, v1::CommitResponse* response) {
  grpc::ClientContext context;
  SetDeadline(timeout_, &context);
  return OutcomeOf(stub_->service->Commit(&context, request, response), server_);
}

Outcome Connection::Read(const v1::ReadRequest& request, const std::function<void(const v1::ReadResponse&)>& each) {
  grpc::ClientContext context;
  auto reader = stub_->service->Read(&context, request);
  v1::ReadResponse response;
  bool complete = false;
  while (reader->Read(&response)) {
    complete = response.complete();
    each(response);
  }
  Outcome outcome = OutcomeOf(reader->Finish(), server_);
  if (outcome.ok() && !complete) {
    outcome.code = absl::StatusCode::kDataLoss;
    outcome.message = "the server ended the answer before it was complete";
  }
  return outcome;
}

Outcome Connection::Explain(const v1::ExplainRequest& request, v1::ExplainResponse* response) {
  grpc::ClientContext context;
  SetDeadline(timeout_, &context);
  return OutcomeOf(stub_->service->Explain(&context, request, response), server_);
}

Outcome Connection::GetStatus(v1::GetStatusResponse* response) {
  grpc::ClientContext context;
  SetDeadline(timeout_, &context);
  return OutcomeOf(stub_->service->GetStatus(&context, {}, response), server_);
}

Outcome Connection::GetCapabilities(v1::GetCapabilitiesResponse* response) {
  grpc::ClientContext context;
  SetDeadline(timeout_, &context);
  return OutcomeOf(stub_->service->GetCapabilities(&context, {}, response), server_);
}

std::unique_ptr<BatchWriter> Connection::StartBatch(const v1::CommitOptions& options) {
  auto stream = std::make_unique<BatchWriter::Stream>(server_);
  stream->call = stub_->service->CommitStream(&stream->context);
  v1::CommitStreamRequest begin;
  *begin.mutable_begin() = options;
  stream->write_failed = !stream->call->Write(begin);
  stream->reader = std::thread([raw = stream.get()] { raw->ReadAnswers(); });
  return std::make_unique<BatchWriter>(std::move(stream));
}

}  // namespace sluice::client
