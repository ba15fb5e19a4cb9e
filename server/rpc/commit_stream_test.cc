#include <gmock/gmock.h>

#include <thread>

#include "server/rpc/service_fixture.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

using Response = v1::CommitStreamResponse;

class CommitStreamTest : public ServiceTest {
 protected:
  void Open() {
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->CommitStream(context_.get());
  }
  void Send(const std::string& text) { ASSERT_TRUE(stream_->Write(Text<v1::CommitStreamRequest>(text))); }
  // A batch of routes PREFIX0.0/32 ..., in chunks.
  void SendRoutes(int count, int chunk, int net) {
    v1::CommitStreamRequest request;
    request.mutable_begin()->set_ack(v1::ACK_VISIBLE);
    ASSERT_TRUE(stream_->Write(request));
    for (int i = 0; i < count;) {
      request.Clear();
      for (int n = 0; n < chunk && i < count; ++n, ++i) {
        v1::Operation* op = request.mutable_chunk()->add_operations();
        op->set_verb(v1::VERB_ADD);
        v1::Route* route = op->mutable_object()->mutable_route();
        route->set_prefix(Prefix(net, i));
        route->add_nexthops()->set_gateway("10.0.0.254");
      }
      ASSERT_TRUE(stream_->Write(request));
    }
    request.Clear();
    request.mutable_end()->set_count(static_cast<uint64_t>(count));
    ASSERT_TRUE(stream_->Write(request));
  }
  static std::string Prefix(int net, int i) {
    return std::to_string(net) + "." + std::to_string(i >> 16 & 255) + "." + std::to_string(i >> 8 & 255) + "." +
           std::to_string(i & 255) + "/32";
  }
  Response Next() {
    Response response;
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }
  grpc::Status Close() {
    stream_->WritesDone();
    Response rest;
    while (stream_->Read(&rest)) ADD_FAILURE() << rest.DebugString();
    return stream_->Finish();
  }
  size_t Routes() {
    std::vector<v1::Object> routes;
    EXPECT_TRUE(
        Read("selectors { match { route { table: 254 } } origins: ORIGIN_CONFIGURED } omit_state: true", &routes).ok());
    return routes.size();
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommitStreamRequest, Response>> stream_;
};

TEST_F(CommitStreamTest, BatchesAreAnsweredInOrder) {
  StartServer();
  AddUplink();
  Open();
  for (int i = 0; i < 20; ++i) SendRoutes(10, 3, 100 + i);
  for (int i = 0; i < 20; ++i) {
    const Response response = Next();
    ASSERT_TRUE(response.has_done()) << response.DebugString();
    EXPECT_EQ(response.done().generation(), 2u + static_cast<unsigned>(i));
  }
  EXPECT_EQ(Outcome(Close()), "OK");
  EXPECT_EQ(Routes(), 200u);
}

TEST_F(CommitStreamTest, ALargeBatchIsOneChange) {
  StartServer();
  AddUplink();
  Open();
  std::thread sender([&] { SendRoutes(100'000, 2'000, 100); });
  Response response = Next();
  uint64_t progress = 0;
  while (response.has_operations_received()) {
    EXPECT_GT(response.operations_received(), progress);
    progress = response.operations_received();
    response = Next();
  }
  sender.join();
  EXPECT_GT(progress, 0u);
  ASSERT_TRUE(response.has_done()) << response.DebugString();
  EXPECT_EQ(response.done().generation(), 2u);
  EXPECT_EQ(Outcome(Close()), "OK");
  EXPECT_EQ(Routes(), 100'000u);
}

TEST_F(CommitStreamTest, CommitsThatComeInBetweenSurviveALargeBatch) {
  StartServer();
  AddUplink();
  Open();
  v1::CommitStreamRequest request;
  request.mutable_begin();
  ASSERT_TRUE(stream_->Write(request));
  for (int c = 0; c < 10; ++c) {
    request.Clear();
    for (int i = 0; i < 2'000; ++i) {
      v1::Operation* op = request.mutable_chunk()->add_operations();
      op->set_verb(v1::VERB_ADD);
      op->mutable_object()->mutable_route()->set_prefix(Prefix(100, c * 2'000 + i));
      op->mutable_object()->mutable_route()->add_nexthops()->set_gateway("10.0.0.254");
    }
    ASSERT_TRUE(stream_->Write(request));
    ASSERT_EQ(Outcome(Commit({RouteText("ADD", Prefix(99, c))})), "OK");
  }
  request.Clear();
  request.mutable_end()->set_count(20'000);
  ASSERT_TRUE(stream_->Write(request));
  const Response response = Next();
  ASSERT_TRUE(response.has_done()) << response.DebugString();
  EXPECT_EQ(response.done().generation(), 12u);
  EXPECT_EQ(Outcome(Close()), "OK");
  EXPECT_EQ(Routes(), 20'010u);
}

TEST_F(CommitStreamTest, CancelBeforeTheEndMeansNothingHappened) {
  StartServer();
  AddUplink();
  const std::string before = Dump();
  Open();
  Send("begin { }");
  for (int i = 0; i < 5; ++i) Send("chunk { operations { " + RouteText("ADD", Prefix(100, i)) + " } }");
  context_->TryCancel();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Status().generation(), 1u);
}

TEST_F(CommitStreamTest, ARefusedBatchTellsItsProblemsAndTheStreamGoesOn) {
  StartServer();
  AddUplink();
  Open();
  Send("begin { }");
  Send("chunk { operations { " + RouteText("ADD", "192.0.2.1/24") + " } operations { id: 7 " +
       RouteText("DELETE", "198.51.100.0/24") + " } }");
  Send("end { count: 2 }");
  SendRoutes(5, 5, 100);
  Response response = Next();
  ASSERT_TRUE(response.has_problem());
  EXPECT_EQ(response.problem().problem().reason(), v1::REASON_HOST_BITS_SET);
  response = Next();
  ASSERT_TRUE(response.has_refused()) << response.DebugString();
  EXPECT_EQ(response.refused().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_TRUE(Next().has_done());
  EXPECT_EQ(Outcome(Close()), "OK");
}

TEST_F(CommitStreamTest, ACountThatDisagreesIsRefused) {
  StartServer();
  Open();
  Send("begin { }");
  Send("end { count: 3 }");
  const Response response = Next();
  ASSERT_TRUE(response.has_refused());
  EXPECT_THAT(response.refused().message(), HasSubstr("3 operations, 0 arrived"));
  EXPECT_EQ(Outcome(Close()), "OK");
}

TEST_F(CommitStreamTest, PartsOutOfOrderEndTheStream) {
  StartServer();
  for (const char* parts : {"chunk { }", "end { }", "begin { }|begin { }", ""}) {
    Open();
    std::string text(parts);
    while (true) {
      const size_t bar = text.find('|');
      Send(text.substr(0, bar));
      if (bar == std::string::npos) break;
      text = text.substr(bar + 1);
    }
    EXPECT_EQ(Outcome(Close()), "STREAM_ORDER") << parts;
  }
  Open();
  Send("begin { }");
  EXPECT_EQ(Outcome(Close()), "STREAM_ORDER");
}

TEST_F(CommitStreamTest, LaterBatchesSeeEarlierOnesHoweverLarge) {
  StartServer();
  AddUplink();
  Open();
  SendRoutes(10, 10, 100);
  Send("begin { }");
  // This batch grows large, and deletes what the one before it added.
  v1::CommitStreamRequest request;
  for (int i = 0; i < 20'000; ++i) {
    v1::Operation* op = request.mutable_chunk()->add_operations();
    op->set_verb(i < 10 ? v1::VERB_DELETE : v1::VERB_ADD);
    op->mutable_object()->mutable_route()->set_prefix(Prefix(100, i));
    if (i >= 10) op->mutable_object()->mutable_route()->add_nexthops()->set_gateway("10.0.0.254");
  }
  ASSERT_TRUE(stream_->Write(request));
  Send("end { count: 20000 }");
  EXPECT_TRUE(Next().has_done());
  const Response response = Next();
  EXPECT_TRUE(response.has_done()) << response.DebugString();
  EXPECT_EQ(Outcome(Close()), "OK");
  EXPECT_EQ(Routes(), 19'990u);
}

}  // namespace
}  // namespace sluice::rpc
