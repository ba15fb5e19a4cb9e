// For tests: a whole server in this process, with real workers and null devices, and a client to it.
#ifndef SLUICE_SERVER_RPC_SERVICE_FIXTURE_H_
#define SLUICE_SERVER_RPC_SERVICE_FIXTURE_H_

#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/engine/engine.h"
#include "server/engine/runtime.h"
#include "server/engine/writer.h"
#include "server/rpc/server.h"
#include "server/rpc/store_codec.h"
#include "sluice/v1/service.grpc.pb.h"

namespace sluice::rpc {

template <class Message>
Message Text(const std::string& text) {
  Message m;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &m)) << text;
  return m;
}

// "CODE REASON field", or "OK".
inline std::string Outcome(const grpc::Status& status) {
  if (status.ok()) return "OK";
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad;
  if (!details.ParseFromString(status.error_details()) || details.details_size() == 0 ||
      !details.details(0).UnpackTo(&info)) {
    return std::to_string(status.error_code()) + " without ErrorInfo: " + status.error_message();
  }
  EXPECT_EQ(info.domain(), "sluice");
  EXPECT_EQ(details.code(), status.error_code());
  std::string out = info.reason();
  if (details.details_size() > 1 && details.details(1).UnpackTo(&bad) && bad.field_violations_size() > 0) {
    out += " " + bad.field_violations(0).field();
  }
  return out;
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    char name[] = "/tmp/sluice-service-test.XXXXXX";
    dir_ = mkdtemp(name);
    options_.runtime.worker_cpus = {-1};  // not pinned: tests share their machine
  }
  ~ServiceTest() override {
    StopServer();
    std::filesystem::remove_all(dir_);
  }

  void StartServer() {
    auto engine = engine::Engine::Start(options_, codec_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    auto server = Server::Start({.listen = {"unix:" + dir_ + "/api.sock"}}, *engine_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = server_->api().InProcessChannel({});
    stub_ = v1::SluiceService::NewStub(channel_);
  }
  void StopServer() {
    stub_.reset();
    channel_.reset();
    if (server_ != nullptr) server_->Shutdown(absl::Seconds(1));
    server_.reset();
    engine_.reset();
  }

  grpc::Status Commit(const v1::CommitRequest& request, v1::CommitResponse* response) {
    grpc::ClientContext context;
    return stub_->Commit(&context, request, response);
  }
  // Each text is an operation.
  grpc::Status Commit(const std::vector<std::string>& operations, v1::CommitResponse* response = nullptr,
                      const std::string& options = "") {
    v1::CommitRequest request;
    *request.mutable_options() = Text<v1::CommitOptions>(options);
    for (const std::string& op : operations) *request.add_operations() = Text<v1::Operation>(op);
    v1::CommitResponse ignored;
    return Commit(request, response == nullptr ? &ignored : response);
  }
  // A link with a null device, up, and 10.0.0.1/24 on it.
  void AddUplink() {
    const grpc::Status s =
        Commit({"verb: VERB_ADD object { link { name: 'up0' up: true mac: '02:00:00:00:00:01' "
                "port { devargs: 'net_null0' } } }",
                "verb: VERB_ADD object { address { link: 'up0' address: '10.0.0.1/24' } }"});
    ASSERT_TRUE(s.ok()) << s.error_message();
  }
  static std::string RouteText(const std::string& verb, const std::string& prefix,
                               const std::string& gateway = "10.0.0.254") {
    return "verb: VERB_" + verb + " object { route { prefix: '" + prefix + "' nexthops { gateway: '" + gateway +
           "' } } }";
  }

  grpc::Status Read(const std::string& request, std::vector<v1::Object>* objects, uint64_t* generation = nullptr) {
    grpc::ClientContext context;
    auto reader = stub_->Read(&context, Text<v1::ReadRequest>(request));
    v1::ReadResponse response;
    bool complete = false;
    while (reader->Read(&response)) {
      EXPECT_FALSE(complete);
      complete = response.complete();
      if (generation != nullptr) *generation = response.generation();
      for (v1::Object& object : *response.mutable_objects()) objects->push_back(std::move(object));
    }
    grpc::Status status = reader->Finish();
    EXPECT_TRUE(complete || !status.ok());
    return status;
  }
  // What was configured, without state: equal before and after what must leave no trace.
  std::string Dump() {
    std::vector<v1::Object> objects;
    EXPECT_TRUE(Read("omit_state: true", &objects).ok());
    std::string out;
    for (const v1::Object& object : objects) out += object.ShortDebugString() + "\n";
    return out;
  }
  v1::GetStatusResponse Status() {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    EXPECT_TRUE(stub_->GetStatus(&context, {}, &response).ok());
    return response;
  }

  std::string dir_;
  engine::EngineOptions options_;
  StoreCodec codec_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SluiceService::Stub> stub_;
};

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_SERVICE_FIXTURE_H_
