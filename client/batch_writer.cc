#include "client/batch_writer.h"

#include <utility>

#include "client/stream.h"

namespace sluice::client {

void BatchWriter::Stream::ReadAnswers() {
  v1::CommitStreamResponse answer;
  while (!answered && call->Read(&answer)) {
    switch (answer.part_case()) {
      case v1::CommitStreamResponse::kProblem:
        problems.push_back(std::move(*answer.mutable_problem()));
        break;
      case v1::CommitStreamResponse::kDone:
        response = std::move(*answer.mutable_done());
        answered = true;
        break;
      case v1::CommitStreamResponse::kRefused:
        outcome = OutcomeOf(answer.refused());
        answered = true;
        refused.store(true, std::memory_order_release);
        break;
      case v1::CommitStreamResponse::kOperationsReceived:
      case v1::CommitStreamResponse::PART_NOT_SET:
        break;
    }
  }
  if (!answered) refused.store(true, std::memory_order_release);
}

BatchWriter::BatchWriter(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

BatchWriter::~BatchWriter() {
  if (stream_->finished) return;
  stream_->context.TryCancel();
  if (stream_->reader.joinable()) stream_->reader.join();
  (void)stream_->call->Finish();
}

v1::Operation* BatchWriter::Add() {
  if (chunk_ != nullptr && chunk_->chunk().operations_size() >= kChunk) SendChunk();
  if (chunk_ == nullptr) {
    chunk_ = google::protobuf::Arena::CreateMessage<v1::CommitStreamRequest>(&stream_->arena);
    chunk_->mutable_chunk()->mutable_operations()->Reserve(kChunk);
  }
  ++count_;
  return chunk_->mutable_chunk()->add_operations();
}

void BatchWriter::RemoveLast() {
  chunk_->mutable_chunk()->mutable_operations()->RemoveLast();
  --count_;
}

bool BatchWriter::refused() const { return stream_->refused.load(std::memory_order_acquire); }

void BatchWriter::SendChunk() {
  if (!stream_->write_failed && !stream_->call->Write(*chunk_)) stream_->write_failed = true;
  chunk_ = nullptr;
  stream_->arena.Reset();
}

Outcome BatchWriter::Finish(v1::CommitResponse* response) {
  if (chunk_ != nullptr && chunk_->chunk().operations_size() != 0) SendChunk();
  v1::CommitStreamRequest end;
  end.mutable_end()->set_count(count_);
  if (!stream_->write_failed) stream_->call->Write(end);
  stream_->call->WritesDone();
  stream_->reader.join();
  stream_->finished = true;
  const grpc::Status status = stream_->call->Finish();
  if (stream_->answered) {
    *response = std::move(stream_->response);
    return stream_->outcome;
  }
  Outcome outcome = OutcomeOf(status, stream_->server);
  if (outcome.ok()) {
    outcome.code = absl::StatusCode::kDataLoss;
    outcome.message = "the server ended the stream without an answer";
  }
  return outcome;
}

const std::vector<v1::OperationResult>& BatchWriter::problems() const { return stream_->problems; }

}  // namespace sluice::client
