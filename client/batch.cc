#include "client/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/batch_writer.h"
#include "client/execute.h"
#include "client/grammar/ip.h"
#include "client/lines.h"

namespace sluice::client {
namespace {

class Batch {
 public:
  Batch(const Options& options, const Environment& environment, Connection& connection, int fd)
      : options_(options), environment_(environment), connection_(connection), reader_(fd) {}

  int Run() {
    absl::string_view line;
    while (reader_.Next(&line)) {
      if (!SplitLine(line, &words_)) {
        Say("Error: a quote is not closed.\n");
        if (!Fail()) return kExitFailed;
        continue;
      }
      if (words_.empty()) continue;
      Words words(words_);
      if (words.peek() == "ip") words.take();
      if (options_.force) {
        if (RunAlone(words) != 0) (void)Fail();
      } else if (const int code = RunLine(words); code != 0) {
        return code;
      }
    }
    if (reader_.error() != 0) {
      Say(absl::StrCat("Cannot read file \"", *options_.batch, "\": ", strerror(reader_.error()), "\n"));
      return kExitFailed;
    }
    if (writer_ != nullptr) return Commit();
    return failed_ ? kExitFailed : 0;
  }

 private:
  enum class Mode : uint8_t { kUnknown, kChanges, kReads };

  void Say(absl::string_view text) { environment_.err(text); }

  // Names the line, and says whether to go on.
  bool Fail() {
    Say(absl::StrCat("Command failed ", *options_.batch, ":", reader_.number(), "\n"));
    failed_ = true;
    return options_.force;
  }

  int FailMistake(const absl::Status& mistake) {
    Say(absl::StrCat(mistake.message(), "\n"));
    (void)Fail();
    return kExitFailed;
  }

  // One line that stands for itself.
  int RunAlone(Words words) {
    v1::Operation operation;
    Command command(&operation);
    if (absl::Status s = ParseIp(options_.ip, words, &command); !s.ok()) {
      Say(absl::StrCat(s.message(), "\n"));
      return kExitFailed;
    }
    return Execute(options_, environment_, command, connection_);
  }

  // One line of a file of changes, or of reads.
  int RunLine(Words words) {
    if (mode_ == Mode::kReads) {
      v1::Operation operation;
      Command command(&operation);
      if (absl::Status s = ParseIp(options_.ip, words, &command); !s.ok()) return FailMistake(s);
      if (IsChange(command)) return FailMixed();
      if (Execute(options_, environment_, command, connection_) != 0) {
        (void)Fail();
        return kExitFailed;
      }
      return 0;
    }
    if (writer_ == nullptr) writer_ = connection_.StartBatch(options_.commit);
    v1::Operation* operation = writer_->Add();
    operation->set_id(reader_.number());
    Command command(operation);
    if (absl::Status s = ParseIp(options_.ip, words, &command); !s.ok()) return FailMistake(s);
    if (command.kind == Command::Kind::kChange) {
      mode_ = Mode::kChanges;
      lines_.push_back(reader_.number());
      // Whatever it is, the end of the batch tells it.
      return writer_->refused() ? Commit() : 0;
    }
    if (mode_ == Mode::kChanges || IsChange(command)) return FailMixed();
    mode_ = Mode::kReads;
    writer_ = nullptr;
    if (Execute(options_, environment_, command, connection_) != 0) {
      (void)Fail();
      return kExitFailed;
    }
    return 0;
  }

  static bool IsChange(const Command& command) {
    return command.kind == Command::Kind::kChange || command.kind == Command::Kind::kFlush;
  }

  int FailMixed() {
    Say("Error: changes and reads do not go into one batch; -force makes each line stand for itself.\n");
    (void)Fail();
    return kExitFailed;
  }

  int Commit() {
    v1::CommitResponse response;
    const Outcome outcome = writer_->Finish(&response);
    if (outcome.ok()) {
      for (const v1::OperationResult& result : response.results()) {
        if (result.has_problem()) SayProblem(result);
      }
      if (failed_) return kExitFailed;
      return Report(environment_, options_.commit, response);
    }
    for (const v1::OperationResult& problem : writer_->problems()) SayProblem(problem);
    if (!failed_) {
      (void)Report(environment_, outcome);
      SayLines(outcome);
    }
    Say("Nothing was changed.\n");
    return kExitFailed;
  }

  void SayProblem(const v1::OperationResult& result) {
    static constexpr int kMost = 20;
    failed_ = true;
    if (++problems_ > kMost) {
      if (problems_ == kMost + 1) Say("... and more\n");
      return;
    }
    Say(ProblemText(result.problem()));
    const uint64_t line = result.index() < lines_.size() ? lines_[result.index()] : result.id();
    Say(absl::StrCat("Command failed ", *options_.batch, ":", line, "\n"));
  }

  // Names the lines of "operations[N]..." fields.
  void SayLines(const Outcome& outcome) {
    for (const Violation& violation : outcome.violations) {
      absl::string_view field = violation.field;
      if (!absl::ConsumePrefix(&field, "operations[")) continue;
      uint64_t index;
      if (!absl::SimpleAtoi(field.substr(0, field.find(']')), &index) || index >= lines_.size()) continue;
      Say(absl::StrCat("Command failed ", *options_.batch, ":", lines_[index], "\n"));
    }
  }

  const Options& options_;
  const Environment& environment_;
  Connection& connection_;
  LineReader reader_;
  std::vector<absl::string_view> words_;
  Mode mode_ = Mode::kUnknown;
  std::unique_ptr<BatchWriter> writer_;
  std::vector<uint32_t> lines_;  // by operation
  bool failed_ = false;
  int problems_ = 0;
};

}  // namespace

int RunBatch(const Options& options, const Environment& environment, Connection& connection) {
  int fd = environment.input;
  const bool opened = *options.batch != "-";
  if (opened) {
    fd = open(options.batch->c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      environment.err(absl::StrCat("Cannot open file \"", *options.batch, "\" for reading: ", strerror(errno), "\n"));
      return kExitFailed;
    }
  }
  absl::Cleanup close_file = [&] {
    if (opened) close(fd);
  };
  return Batch(options, environment, connection, fd).Run();
}

}  // namespace sluice::client
