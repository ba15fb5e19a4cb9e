// Whole commands against a service in the same process, over a real socket.
//
// The service keeps what it is told and answers as the test says: it checks the client's side of the API, not routing.
#include "client/run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "client/batch_writer.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sluice/v1/service.grpc.pb.h"

namespace sluice::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

google::rpc::Status Refusal(const std::string& field = "operations[1].object.route.nexthops[0].gateway") {
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::FAILED_PRECONDITION);
  status.set_message("operation 0: gateway 10.9.9.9 is not reachable on link up0");
  google::rpc::ErrorInfo info;
  info.set_reason("GATEWAY_UNREACHABLE");
  info.set_domain("sluice");
  status.add_details()->PackFrom(info);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field(field);
  violation->set_description("gateway 10.9.9.9 is not reachable on link up0");
  status.add_details()->PackFrom(bad);
  return status;
}

// A service that records batches, and refuses those in which a route has the prefix 99.0.0.0/8.
class RecordingService : public v1::SluiceService::Service {
 public:
  struct Batch {
    v1::CommitOptions options;
    std::vector<v1::Operation> operations;
    bool streamed = false;
  };

  grpc::Status Commit(grpc::ServerContext*, const v1::CommitRequest* request, v1::CommitResponse* response) override {
    Batch batch{request->options(), {request->operations().begin(), request->operations().end()}, false};
    for (const v1::Operation& operation : batch.operations) {
      if (Bad(operation)) {
        const google::rpc::Status refusal = Refusal("operations[0].object.route.nexthops[0].gateway");
        return grpc::Status(static_cast<grpc::StatusCode>(refusal.code()), refusal.message(),
                            refusal.SerializeAsString());
      }
    }
    Keep(std::move(batch), response);
    return grpc::Status::OK;
  }

  grpc::Status CommitStream(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::CommitStreamResponse, v1::CommitStreamRequest>* stream) override {
    v1::CommitStreamRequest request;
    Batch batch;
    batch.streamed = true;
    while (stream->Read(&request)) {
      v1::CommitStreamResponse response;
      switch (request.part_case()) {
        case v1::CommitStreamRequest::kBegin:
          batch.options = request.begin();
          break;
        case v1::CommitStreamRequest::kChunk:
          largest_chunk = std::max(largest_chunk, request.chunk().operations_size());
          for (const v1::Operation& operation : request.chunk().operations()) batch.operations.push_back(operation);
          response.set_operations_received(batch.operations.size());
          stream->Write(response);
          break;
        case v1::CommitStreamRequest::kEnd: {
          EXPECT_EQ(request.end().count(), batch.operations.size());
          bool bad = false;
          for (size_t i = 0; i < batch.operations.size(); ++i) {
            if (!Bad(batch.operations[i])) continue;
            bad = true;
            v1::CommitStreamResponse problem;
            problem.mutable_problem()->set_index(i);
            problem.mutable_problem()->set_id(batch.operations[i].id());
            problem.mutable_problem()->mutable_problem()->set_reason(v1::REASON_GATEWAY_UNREACHABLE);
            problem.mutable_problem()->mutable_problem()->set_field("object.route.nexthops[0].gateway");
            problem.mutable_problem()->mutable_problem()->set_message("no way");
            stream->Write(problem);
          }
          if (bad) {
            *response.mutable_refused() = Refusal();
          } else {
            Keep(std::move(batch), response.mutable_done());
          }
          stream->Write(response);
          break;
        }
        case v1::CommitStreamRequest::PART_NOT_SET:
          return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no part");
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status Read(grpc::ServerContext*, const v1::ReadRequest* request,
                    grpc::ServerWriter<v1::ReadResponse>* writer) override {
    {
      std::lock_guard lock(mutex);
      reads.push_back(*request);
    }
    for (const v1::ReadResponse& response : answers) writer->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status Explain(grpc::ServerContext*, const v1::ExplainRequest*, v1::ExplainResponse* response) override {
    response->mutable_verdict()->set_outcome(v1::OUTCOME_DROPPED);
    response->mutable_verdict()->set_drop_reason("no_route");
    return grpc::Status::OK;
  }

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*, v1::GetStatusResponse* response) override {
    response->set_generation(7);
    return grpc::Status::OK;
  }

  std::mutex mutex;
  std::vector<Batch> batches;
  std::vector<v1::ReadRequest> reads;
  std::vector<v1::ReadResponse> answers;
  int largest_chunk = 0;
  bool lag = false;

 private:
  static bool Bad(const v1::Operation& operation) { return operation.object().route().prefix() == "99.0.0.0/8"; }

  void Keep(Batch batch, v1::CommitResponse* response) {
    std::lock_guard lock(mutex);
    batches.push_back(std::move(batch));
    response->set_generation(batches.size());
    response->set_reached(lag ? v1::ACK_ACCEPTED : v1::ACK_VISIBLE);
    if (lag) response->add_lagging_workers("worker 2 (cpu 5)");
  }
};

class RunTest : public testing::Test {
 protected:
  RunTest() {
    char directory[] = "/tmp/sluicectl_test.XXXXXX";
    directory_ = mkdtemp(directory);
    server_name_ = "unix:" + directory_ + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(server_name_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    v1::ReadResponse answer;
    answer.set_complete(true);
    service_.answers.push_back(answer);
  }

  ~RunTest() override {
    server_->Shutdown();
    unlink((directory_ + "/socket").c_str());
    unlink((directory_ + "/batch").c_str());
    rmdir(directory_.c_str());
  }

  int Ctl(const std::vector<std::string>& words) {
    out_.clear();
    err_.clear();
    Environment environment;
    environment.out = [this](absl::string_view text) { out_.append(text.data(), text.size()); };
    environment.err = [this](absl::string_view text) { err_.append(text.data(), text.size()); };
    environment.server = server_name_;
    return client::Run(words, environment);
  }

  std::string File(const std::string& content) {
    const std::string path = directory_ + "/batch";
    FILE* file = fopen(path.c_str(), "w");
    EXPECT_NE(file, nullptr);
    EXPECT_EQ(fwrite(content.data(), 1, content.size(), file), content.size());
    fclose(file);
    return path;
  }

  void Answer(const std::string& text) {
    v1::ReadResponse answer;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &answer));
    service_.answers = {answer};
  }

  RecordingService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string directory_, server_name_, out_, err_;
};

TEST_F(RunTest, AChangeIsOneCommitWithTheOptions) {
  EXPECT_EQ(Ctl({"--request-id", "r1", "--expected-generation=4", "--validate-only", "--ack", "accepted", "--durable",
                 "--comment", "because", "--timeout", "1.5", "ip", "-4", "route", "add", "10/8", "dev", "up0"}),
            0)
      << err_;
  ASSERT_EQ(service_.batches.size(), 1u);
  const v1::CommitOptions& options = service_.batches[0].options;
  EXPECT_EQ(options.request_id(), "r1");
  EXPECT_EQ(options.expected_generation(), 4u);
  EXPECT_TRUE(options.validate_only());
  EXPECT_EQ(options.ack(), v1::ACK_ACCEPTED);
  EXPECT_TRUE(options.durable());
  EXPECT_EQ(options.comment(), "because");
  EXPECT_EQ(options.visible_timeout().seconds(), 1);
  EXPECT_EQ(options.visible_timeout().nanos(), 500000000);
  EXPECT_EQ(service_.batches[0].operations[0].object().route().prefix(), "10.0.0.0/8");
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_, "");
}

TEST_F(RunTest, ARefusalIsToldWithReasonAndField) {
  EXPECT_EQ(Ctl({"ip", "route", "add", "99.0.0.0/8", "via", "10.9.9.9"}), kExitRefused);
  EXPECT_EQ(err_,
            "Error: gateway 10.9.9.9 is not reachable on link up0 [GATEWAY_UNREACHABLE, "
            "object.route.nexthops[0].gateway]\n");
  EXPECT_EQ(out_, "");
}

TEST_F(RunTest, LaggingWorkersAreNamed) {
  service_.lag = true;
  EXPECT_EQ(Ctl({"ip", "route", "add", "10/8", "dev", "up0"}), 0);
  EXPECT_EQ(err_, "Warning: done, but not yet visible to: worker 2 (cpu 5)\n");
  EXPECT_EQ(Ctl({"--ack", "accepted", "ip", "route", "add", "10/8", "dev", "up0"}), 0);
  EXPECT_EQ(err_, "");
}

TEST_F(RunTest, AServerThatIsNotThereIsNamed) {
  EXPECT_EQ(Ctl({"--server", "unix:/nonexistent/socket", "ip", "route"}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("Error: cannot reach sluiced at unix:/nonexistent/socket"));
  EXPECT_EQ(Ctl({"--server", "unix:/nonexistent/socket", "-batch", File("route add 10/8 dev up0\n")}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("cannot reach sluiced at unix:/nonexistent/socket"));
}

TEST_F(RunTest, ReadsPrintWhatTheServerStreams) {
  Answer(
      "complete: true objects { route { table: 254 prefix: '10.0.0.0/8' type: ROUTE_TYPE_BLACKHOLE } } "
      "objects { route { table: 254 prefix: '11.0.0.0/8' type: ROUTE_TYPE_BLACKHOLE } }");
  EXPECT_EQ(Ctl({"ip", "-j", "route", "show"}), 0) << err_;
  EXPECT_EQ(out_,
            R"([{"type":"blackhole","dst":"10.0.0.0/8","flags":[]},{"type":"blackhole","dst":"11.0.0.0/8","flags":[]}])"
            "\n");
  EXPECT_EQ(Ctl({"-o", "ip", "r"}), 0);
  EXPECT_EQ(out_, "blackhole 10.0.0.0/8 \nblackhole 11.0.0.0/8 \n");
}

TEST_F(RunTest, AnAnswerThatEndsEarlyIsAnError) {
  Answer("objects { route { table: 254 prefix: '10.0.0.0/8' type: ROUTE_TYPE_BLACKHOLE } }");
  EXPECT_EQ(Ctl({"ip", "route"}), kExitRefused);
  EXPECT_THAT(err_, HasSubstr("before it was complete"));
}

TEST_F(RunTest, ALinkThatDoesNotExistIsAnError) {
  EXPECT_EQ(Ctl({"ip", "-j", "link", "show", "up9"}), kExitFailed);
  EXPECT_EQ(err_, "Device \"up9\" does not exist.\n");
  EXPECT_EQ(out_, "");
  EXPECT_EQ(Ctl({"ip", "addr", "show", "dev", "up9"}), kExitFailed);
  EXPECT_EQ(Ctl({"ip", "neigh", "get", "10.0.0.1", "dev", "up9"}), kExitRefused);
  EXPECT_EQ(err_, "Error: Neighbour entry not found.\n");
}

TEST_F(RunTest, AFlushByRootNamesUids) {
  Answer(
      "generation: 6 complete: true objects { route { prefix: '10.1.0.0/16' } meta { uid: 5 } } "
      "objects { route { prefix: '11.0.0.0/8' } meta { uid: 6 } } "
      "objects { route { prefix: '10.0.0.0/8' } meta { uid: 7 } }");
  EXPECT_EQ(Ctl({"ip", "route", "flush", "root", "10.0.0.0/8"}), 0) << err_;
  ASSERT_EQ(service_.batches.size(), 1u);
  EXPECT_EQ(service_.batches[0].options.expected_generation(), 6u);
  EXPECT_EQ(service_.batches[0].operations[0].verb(), v1::VERB_FLUSH);
  EXPECT_THAT(service_.batches[0].operations[0].selector().uids(), ElementsAre(5, 7));
}

TEST_F(RunTest, ABatchOfChangesIsOneCommit) {
  EXPECT_EQ(Ctl({"ip", "-batch", File("# routes\nroute add 10/8 dev up0\n\nip route add \\\n 11/8 dev up0\n")}), 0)
      << err_;
  ASSERT_EQ(service_.batches.size(), 1u);
  EXPECT_TRUE(service_.batches[0].streamed);
  ASSERT_EQ(service_.batches[0].operations.size(), 2u);
  EXPECT_EQ(service_.batches[0].operations[1].object().route().prefix(), "11.0.0.0/8");
  EXPECT_EQ(service_.batches[0].operations[0].id(), 2u);
  EXPECT_EQ(service_.batches[0].operations[1].id(), 4u);
}

TEST_F(RunTest, ABigBatchGoesInChunksAndInOrder) {
  std::string content;
  constexpr int kLines = 10001;
  for (int i = 0; i < kLines; ++i) absl::StrAppend(&content, "route add 10.", i / 256, ".", i % 256, ".0/24 dev up0\n");
  EXPECT_EQ(Ctl({"-batch", File(content)}), 0) << err_;
  ASSERT_EQ(service_.batches.size(), 1u);
  ASSERT_EQ(service_.batches[0].operations.size(), static_cast<size_t>(kLines));
  EXPECT_EQ(service_.largest_chunk, BatchWriter::kChunk);
  for (int i = 0; i < kLines; ++i) {
    ASSERT_EQ(service_.batches[0].operations[i].object().route().prefix(),
              absl::StrCat("10.", i / 256, ".", i % 256, ".0/24"));
  }
}

TEST_F(RunTest, ALineThatIsWrongCancelsTheBatch) {
  const std::string path = File("route add 10/8 dev up0\nroute add foo\n");
  EXPECT_EQ(Ctl({"-batch", path}), kExitFailed);
  EXPECT_EQ(err_, "Error: any valid prefix is expected rather than \"foo\".\nCommand failed " + path + ":2\n");
  EXPECT_TRUE(service_.batches.empty());
}

TEST_F(RunTest, ARefusedBatchNamesTheLines) {
  const std::string path = File("route add 10/8 dev up0\n\nroute add 99.0.0.0/8 via 10.9.9.9\n");
  EXPECT_EQ(Ctl({"-batch", path}), kExitFailed);
  EXPECT_EQ(err_, "Error: no way [GATEWAY_UNREACHABLE, object.route.nexthops[0].gateway]\nCommand failed " + path +
                      ":3\nNothing was changed.\n");
  EXPECT_TRUE(service_.batches.empty());
}

TEST_F(RunTest, ABatchOfReadsRunsThemAll) {
  EXPECT_EQ(Ctl({"-j", "-batch", File("route show\nneigh\n")}), 0) << err_;
  EXPECT_EQ(out_, "[]\n[]\n");
  EXPECT_EQ(service_.reads.size(), 2u);
  EXPECT_TRUE(service_.batches.empty());
}

TEST_F(RunTest, ReadsAndChangesDoNotMix) {
  const std::string one = File("route show\nroute add 10/8 dev up0\n");
  EXPECT_EQ(Ctl({"-batch", one}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("Command failed " + one + ":2"));
  EXPECT_EQ(Ctl({"-batch", File("route add 10/8 dev up0\nroute show\n")}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("-force"));
  EXPECT_EQ(Ctl({"-batch", File("route add 10/8 dev up0\nroute flush root 10/8\n")}), kExitFailed);
  EXPECT_EQ(Ctl({"-batch", File("route flush root 10/8\n")}), kExitFailed);
  EXPECT_TRUE(service_.batches.empty());
}

TEST_F(RunTest, ForceMakesEachLineACommit) {
  const std::string path =
      File("route add 10/8 dev up0\nroute add foo\nroute show\nroute add 99.0.0.0/8 dev up0\nroute add 11/8 dev up0\n");
  EXPECT_EQ(Ctl({"-force", "-batch", path}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr(path + ":2\n"));
  EXPECT_THAT(err_, HasSubstr(path + ":4\n"));
  ASSERT_EQ(service_.batches.size(), 2u);
  EXPECT_FALSE(service_.batches[0].streamed);
  EXPECT_EQ(service_.batches[1].operations[0].object().route().prefix(), "11.0.0.0/8");
  EXPECT_EQ(service_.reads.size(), 1u);
}

TEST_F(RunTest, AnEmptyOrMissingBatchFile) {
  EXPECT_EQ(Ctl({"-batch", File("# nothing\n\n")}), 0) << err_;
  EXPECT_TRUE(service_.batches.empty());
  EXPECT_EQ(Ctl({"-batch", "/nonexistent/file"}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("Cannot open file \"/nonexistent/file\" for reading"));
  EXPECT_EQ(Ctl({"-batch", directory_}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("Cannot read file"));
}

TEST_F(RunTest, StandardInputIsAFileToo) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const std::string content = "route add 10/8 dev up0\nroute add 11/8 dev up0";
  ASSERT_EQ(write(fds[1], content.data(), content.size()), static_cast<ssize_t>(content.size()));
  close(fds[1]);
  Environment environment;
  environment.out = environment.err = [](absl::string_view) {};
  environment.server = server_name_;
  environment.input = fds[0];
  EXPECT_EQ(client::Run({"ip", "-b", "-"}, environment), 0);
  close(fds[0]);
  ASSERT_EQ(service_.batches.size(), 1u);
  EXPECT_EQ(service_.batches[0].operations.size(), 2u);
}

TEST_F(RunTest, RouteGetAndExplain) {
  EXPECT_EQ(Ctl({"ip", "route", "get", "10.0.0.1"}), kExitRefused);
  EXPECT_EQ(err_, "RTNETLINK answers: Network is unreachable\n");
  EXPECT_EQ(Ctl({"explain", "--port", "up0", "--dst", "10.0.0.1"}), 0);
  EXPECT_EQ(out_, "verdict: dropped, reason no_route\ngeneration 0 epoch 0\n");
}

TEST_F(RunTest, StatusTakesOptionsOnEitherSide) {
  EXPECT_EQ(Ctl({"status", "-j"}), 0);
  EXPECT_THAT(out_, HasSubstr("\"generation\":7"));
  EXPECT_EQ(Ctl({"-j", "status"}), 0);
  EXPECT_THAT(out_, HasSubstr("\"generation\":7"));
  EXPECT_EQ(Ctl({"capabilities"}), kExitRefused);
  EXPECT_THAT(err_, HasSubstr("Error: "));
}

TEST_F(RunTest, UsageIsToldWithItsCode) {
  EXPECT_EQ(Ctl({}), kExitUsage);
  EXPECT_EQ(Ctl({"foo"}), kExitUsage);
  EXPECT_EQ(Ctl({"-z"}), kExitUsage);
  EXPECT_EQ(err_, "Option \"-z\" is unknown, try \"sluicectl -help\".\n");
  EXPECT_EQ(Ctl({"--server"}), kExitUsage);
  EXPECT_EQ(Ctl({"-n", "x", "ip", "route"}), kExitUsage);
  EXPECT_EQ(Ctl({"--durable=yes", "ip", "route"}), kExitUsage);
  EXPECT_EQ(Ctl({"--timeout", "-1", "ip", "route"}), kExitUsage);
  EXPECT_EQ(Ctl({"-family", "foo", "ip", "route"}), kExitUsage);
  EXPECT_EQ(Ctl({"status", "foo"}), kExitUsage);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"help"},
                                                                                     {"-h"},
                                                                                     {"--help"},
                                                                                     {"ip", "help"},
                                                                                     {"ip", "route", "help"},
                                                                                     {"ip", "l", "help"},
                                                                                     {"ip", "a", "help"},
                                                                                     {"ip", "n", "help"},
                                                                                     {"explain", "--help"},
                                                                                     {"-V"}}) {
    EXPECT_EQ(Ctl(words), 0);
    EXPECT_NE(out_, "");
  }
}

}  // namespace
}  // namespace sluice::client
