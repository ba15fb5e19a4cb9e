#include "server/rpc/commit_stream.h"

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/engine/error.h"
#include "server/rpc/convert.h"
#include "server/rpc/fingerprint.h"
#include "server/rpc/status.h"

namespace sluice::rpc {
namespace {

using Request = v1::CommitStreamRequest;
using Response = v1::CommitStreamResponse;

// What is to be sent about one batch. Only the oldest one's messages are sent.
struct Answer {
  std::deque<Response> messages;
  bool complete = false;
};

// A batch that is being received.
struct Incoming {
  engine::CommitOptions options;
  std::unique_ptr<engine::Batch> batch;
  std::shared_ptr<Answer> answer;
  Fingerprint fingerprint;
  absl::Status hopeless;
  uint64_t received = 0;
  uint64_t reported = 0;
  bool opens_devices = false;
};

class Stream final : public grpc::ServerBidiReactor<Request, Response>, public std::enable_shared_from_this<Stream> {
 public:
  static Stream* Make(engine::Engine& engine) {
    auto stream = std::make_shared<Stream>(engine);
    stream->self_ = stream;
    stream->StartRead(&stream->request_);
    return stream.get();
  }
  explicit Stream(engine::Engine& engine) : engine_(engine) {}

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        absl::MutexLock lock(&mutex_);
        read_closed_ = true;
        if (incoming_.has_value()) {
          Fail("STREAM_ORDER", "the stream ended inside a batch, which is dropped");
          incoming_.reset();
        }
      }
      Advance();
      return;
    }
    {
      absl::MutexLock lock(&mutex_);
      ++busy_;
      waiting_ = !broken_ && !error_.has_value() && MustWait();
      if (waiting_) --busy_;  // Advance takes the part when earlier batches are done
      if (waiting_) return;
    }
    TakePart();
  }

  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) broken_ = true;
    }
    Advance();
  }

  void OnCancel() override {
    {
      absl::MutexLock lock(&mutex_);
      broken_ = true;
      // A batch without `end` never happened. If a part is just being taken in, whoever does that drops the batch.
      if (busy_ == 0) incoming_.reset();
    }
    Advance();
  }

  void OnDone() override {
    const std::shared_ptr<Stream> last = std::move(self_);
    absl::MutexLock lock(&mutex_);
    incoming_.reset();
  }

 private:
  // Handles the part in request_ and reads on. The caller has counted itself in busy_: as long as anybody is, the call
  // is not finished, so that gRPC may be called.
  void TakePart() {
    bool read = false;
    {
      absl::MutexLock lock(&mutex_);
      read = !broken_ && !error_.has_value();
    }
    if (read) {
      switch (request_.part_case()) {
        case Request::kBegin:
          Begin(request_.begin());
          break;
        case Request::kChunk:
          Chunk(request_.chunk());
          break;
        case Request::kEnd:
          End(request_.end().count());
          break;
        case Request::PART_NOT_SET:
          FailLocked("STREAM_ORDER", "a message without begin, chunk or end");
          break;
      }
      absl::MutexLock lock(&mutex_);
      read = !broken_ && !error_.has_value();
    }
    if (read) StartRead(&request_);
    {
      absl::MutexLock lock(&mutex_);
      if (--busy_ == 0 && broken_) incoming_.reset();
    }
    Advance();
  }

  // A batch that becomes large is built upon the state as it is: what this stream sent before must be part of that.
  bool MustWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (in_flight_ >= kMaxInFlight) return true;
    if (in_flight_ == 0) detour_ = false;
    if (detour_) return true;
    return request_.has_chunk() && incoming_.has_value() && in_flight_ > 0 &&
           incoming_->received + static_cast<uint64_t>(request_.chunk().operations_size()) > engine::Batch::kLargeBatch;
  }

  void Begin(const v1::CommitOptions& message) {
    if (incoming_.has_value()) return FailLocked("STREAM_ORDER", "`begin` inside a batch: `end` is missing");
    Incoming in;
    in.answer = std::make_shared<Answer>();
    const config::Problem problem = DecodeOptions(message, &in.options);
    if (!problem.ok()) in.hopeless = engine::Error(problem);
    in.batch = engine_.BeginBatch();
    absl::MutexLock lock(&mutex_);
    answers_.push_back(in.answer);
    incoming_ = std::move(in);
  }

  void Chunk(const v1::Operations& chunk) {
    if (!incoming_.has_value()) return FailLocked("STREAM_ORDER", "a chunk outside of a batch: `begin` is missing");
    Incoming& in = *incoming_;
    std::vector<config::Operation> operations(static_cast<size_t>(chunk.operations_size()));
    size_t good = 0;
    for (int i = 0; i < chunk.operations_size(); ++i) {
      if (!in.options.request_id.empty()) in.fingerprint.Add(chunk.operations(i));
      const config::Problem problem = DecodeOperation(chunk.operations(i), &operations[static_cast<size_t>(i)]);
      good += problem.ok();
      in.opens_devices |= chunk.operations(i).object().has_link();
      if (problem.ok()) continue;
      config::OperationResult result;
      result.index = static_cast<uint32_t>(in.received + static_cast<uint64_t>(i));
      result.id = chunk.operations(i).id();
      result.problem = problem;
      in.batch->AddProblem(std::move(result));
    }
    in.received += operations.size();
    // Operations of a batch that will be refused anyway are only counted.
    if (good == operations.size() && in.hopeless.ok()) {
      if (absl::Status s = in.batch->Add(std::move(operations)); !s.ok()) in.hopeless = s;
    }
    if (in.received - in.reported < kProgressEvery) return;
    in.reported = in.received;
    Response progress;
    progress.set_operations_received(in.received);
    absl::MutexLock lock(&mutex_);
    in.answer->messages.push_back(std::move(progress));
  }

  void End(uint64_t count) {
    if (!incoming_.has_value()) return FailLocked("STREAM_ORDER", "`end` outside of a batch: `begin` is missing");
    Incoming in = *std::move(incoming_);
    incoming_.reset();
    if (in.hopeless.ok() && count != in.received) {
      in.hopeless = engine::Error(absl::StatusCode::kInvalidArgument, "STREAM_COUNT",
                                  absl::StrCat("`end` says ", count, " operations, ", in.received, " arrived"));
    }
    in.options.fingerprint = in.fingerprint.value();
    {
      absl::MutexLock lock(&mutex_);
      if (broken_) return;  // cancelled before the batch was handed over: it never happened
      ++in_flight_;
      // It waits for a device, or is finished beside: what follows must not overtake it.
      detour_ = in.opens_devices || in.received > engine::Batch::kLargeBatch;
    }
    auto done = [self = shared_from_this(), answer = in.answer](engine::CommitResult result) {
      self->Answered(*answer, std::move(result));
    };
    if (!in.hopeless.ok()) {
      engine::CommitResult refused;
      refused.status = in.hopeless;
      return done(std::move(refused));
    }
    in.batch->Commit(std::move(in.options), std::move(done));
  }

  void Answered(Answer& answer, engine::CommitResult result) {
    std::deque<Response> messages;
    if (result.status.ok()) {
      EncodeCommitResult(result, messages.emplace_back().mutable_done());
    } else {
      for (const config::OperationResult& one : result.results) {
        if (!one.problem.ok()) EncodeResult(one, messages.emplace_back().mutable_problem());
      }
      *messages.emplace_back().mutable_refused() = MakeError(result.status, result.results);
    }
    {
      absl::MutexLock lock(&mutex_);
      --in_flight_;
      for (Response& m : messages) answer.messages.push_back(std::move(m));
      answer.complete = true;
    }
    Advance();
  }

  void Fail(absl::string_view reason, absl::string_view message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!error_.has_value()) {
      error_ = ToGrpc(engine::Error(absl::StatusCode::kInvalidArgument, reason, message));
    }
    if (!answers_.empty() && !answers_.back()->complete && incoming_.has_value()) answers_.pop_back();
  }
  void FailLocked(absl::string_view reason, absl::string_view message) {
    absl::MutexLock lock(&mutex_);
    Fail(reason, message);
    incoming_.reset();
  }

  // Does what is next to do: a write, the end of the call, the part that waited. gRPC is called without the lock.
  void Advance() {
    bool finish = false, write = false, take = false;
    grpc::Status status;
    {
      absl::MutexLock lock(&mutex_);
      if (finished_) return;
      while (!answers_.empty() && answers_.front()->complete && answers_.front()->messages.empty()) {
        answers_.pop_front();
      }
      const bool idle = !writing_ && busy_ == 0;
      if (broken_) {
        finish = idle;
        status = grpc::Status::CANCELLED;
      } else if (!writing_ && !answers_.empty() && !answers_.front()->messages.empty()) {
        response_ = std::move(answers_.front()->messages.front());
        answers_.front()->messages.pop_front();
        writing_ = write = true;
      } else if (idle && answers_.empty() && in_flight_ == 0 && (read_closed_ || error_.has_value())) {
        finish = true;
        status = error_.value_or(grpc::Status::OK);
      }
      finished_ = finish;
      if (waiting_ && !broken_ && !MustWait()) {
        waiting_ = false;
        take = true;
        ++busy_;
      }
    }
    if (finish) return Finish(status);
    if (write) StartWrite(&response_);
    if (take) TakePart();
  }

  engine::Engine& engine_;
  std::shared_ptr<Stream> self_;
  Request request_;
  Response response_;
  std::optional<Incoming> incoming_;  // touched by the thread that takes a part, or under the lock when none does

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Answer>> answers_ ABSL_GUARDED_BY(mutex_);
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  bool detour_ ABSL_GUARDED_BY(mutex_) = false;  // the last batch does not go straight to the writer
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;         // threads that take in a part
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

grpc::ServerBidiReactor<Request, Response>* MakeCommitStream(engine::Engine& engine) { return Stream::Make(engine); }

}  // namespace sluice::rpc
