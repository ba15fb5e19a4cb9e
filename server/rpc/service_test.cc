#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/service_fixture.h"

namespace sluice::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST_F(ServiceTest, WhatIsCommittedIsReadBackAndVisible) {
  StartServer();
  v1::CommitResponse response;
  AddUplink();
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &response)), "OK");
  EXPECT_EQ(response.reached(), v1::ACK_VISIBLE);
  EXPECT_EQ(response.generation(), 2u);
  EXPECT_THAT(response.lagging_workers(), IsEmpty());
  std::vector<v1::Object> routes;
  uint64_t generation = 0;
  ASSERT_TRUE(Read("selectors { match { route { prefix: '192.0.2.0/24' } } }", &routes, &generation).ok());
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(generation, 2u);
  EXPECT_EQ(routes[0].route().nexthops(0).gateway(), "10.0.0.254");
  EXPECT_EQ(routes[0].meta().origin(), v1::ORIGIN_CONFIGURED);
  const v1::GetStatusResponse status = Status();
  EXPECT_EQ(status.generation(), 2u);
  EXPECT_EQ(status.instance_id(), response.instance_id());
  ASSERT_EQ(status.workers_size(), 1);
  EXPECT_GE(status.workers(0).epoch(), response.epoch());
  ASSERT_EQ(status.ports_size(), 1);
  EXPECT_EQ(status.ports(0).name(), "up0");
  EXPECT_EQ(status.ports(0).driver(), "net_null");
  EXPECT_TRUE(status.ready());
}

TEST_F(ServiceTest, ALinkIsReadWithItsState) {
  StartServer();
  AddUplink();
  std::vector<v1::Object> links;
  ASSERT_TRUE(Read("selectors { match { link { } } }", &links).ok());
  ASSERT_EQ(links.size(), 1u);
  const v1::LinkState& state = links[0].link().state();
  EXPECT_GT(state.index(), 0u);
  EXPECT_EQ(state.oper_state(), v1::OPER_STATE_UP);
  EXPECT_EQ(state.driver(), "net_null");
  EXPECT_EQ(state.mtu(), 1500u);
}

TEST_F(ServiceTest, ABadOperationChangesNothing) {
  StartServer();
  AddUplink();
  const std::string before = Dump();
  std::vector<std::string> operations;
  for (int i = 0; i < 499; ++i) {
    operations.push_back(RouteText("ADD", "172.16." + std::to_string(i / 250) + "." + std::to_string(i % 250)));
  }
  operations.push_back(RouteText("ADD", "172.17.0.0/16", "10.9.9.9"));  // no way there
  const uint64_t generation = Status().generation(), epoch = Status().epoch();
  EXPECT_THAT(Outcome(Commit(operations)), HasSubstr("GATEWAY_UNREACHABLE operations[499].object.route.nexthops[0]"));
  operations.back() = RouteText("ADD", "172.17.0.1/16");
  EXPECT_EQ(Outcome(Commit(operations)), "HOST_BITS_SET operations[499].object.route.prefix");
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Status().generation(), generation);
  EXPECT_EQ(Status().epoch(), epoch);
}

TEST_F(ServiceTest, OptionsThatAreWrongAreRefused) {
  StartServer();
  EXPECT_EQ(Outcome(Commit({}, nullptr, "visible_timeout { seconds: 61 }")), "VISIBLE_TIMEOUT options.visible_timeout");
  EXPECT_EQ(Outcome(Commit({}, nullptr, "ack: 7")), "UNKNOWN_ENUM_VALUE options.ack");
  EXPECT_EQ(Outcome(Commit({}, nullptr, "durable: true")), "NOT_DURABLE");
}

TEST_F(ServiceTest, AnExpectedGenerationThatMovedAborts) {
  StartServer();
  AddUplink();
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, nullptr, "expected_generation: 0")), "GENERATION_MOVED");
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, nullptr, "expected_generation: 1")), "OK");
}

TEST_F(ServiceTest, ARequestIdGivesTheFirstAnswerAgain) {
  StartServer();
  AddUplink();
  v1::CommitResponse first, second;
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &first, "request_id: 'a'")), "OK");
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "198.51.100.0/24")})), "OK");
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &second, "request_id: 'a'")), "OK");
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "203.0.113.0/24")}, nullptr, "request_id: 'a'")), "REQUEST_ID_REUSED");
  // A refusal changed nothing, and is not kept.
  EXPECT_THAT(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, nullptr, "request_id: 'b'")),
              HasSubstr("ALREADY_EXISTS"));
  EXPECT_EQ(Outcome(Commit({RouteText("REPLACE", "192.0.2.0/24")}, nullptr, "request_id: 'b'")), "OK");
}

TEST_F(ServiceTest, ConcurrentRetriesAreDoneOnce) {
  StartServer();
  AddUplink();
  std::vector<std::thread> threads;
  std::vector<v1::CommitResponse> responses(8);
  for (auto& response : responses) {
    threads.emplace_back(
        [&] { EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &response, "request_id: 'same'")), "OK"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& response : responses) EXPECT_EQ(response.generation(), 2u);
}

TEST_F(ServiceTest, ValidateOnlyTellsEveryProblemAndChangesNothing) {
  StartServer();
  AddUplink();
  const std::string before = Dump();
  v1::CommitResponse response;
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24"), RouteText("ADD", "192.0.3.0/24", "10.9.9.9"),
                            RouteText("DELETE", "192.0.4.0/24")},
                           &response, "validate_only: true")),
            "OK");
  std::set<v1::Reason> reasons;
  for (const auto& result : response.results()) {
    if (result.has_problem()) reasons.insert(result.problem().reason());
  }
  EXPECT_THAT(reasons, IsSupersetOf({v1::REASON_GATEWAY_UNREACHABLE, v1::REASON_NOT_FOUND}));
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.1/24")}, &response, "validate_only: true")), "OK");
  ASSERT_EQ(response.results_size(), 1);
  EXPECT_EQ(response.results(0).problem().reason(), v1::REASON_HOST_BITS_SET);
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &response, "validate_only: true")), "OK");
  for (const auto& result : response.results()) EXPECT_FALSE(result.has_problem());
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Status().generation(), 1u);
}

TEST_F(ServiceTest, AWorkerThatDoesNotMoveIsNamedAndTheCommitStands) {
  StartServer();
  AddUplink();
  Publisher& publisher = engine_->runtime().publisher();
  Publisher::Reader* stuck = publisher.AddReader("stuck");
  stuck->Enter();
  v1::CommitResponse response;
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, &response, "visible_timeout { nanos: 50000000 }")),
            "OK");
  EXPECT_EQ(response.reached(), v1::ACK_ACCEPTED);
  EXPECT_THAT(response.lagging_workers(), ElementsAre("stuck"));
  EXPECT_THAT(Dump(), HasSubstr("192.0.2.0/24"));
  EXPECT_EQ(engine_->runtime().DescribeReader("worker-0"), "worker 0 (cpu -1)");
  stuck->Offline();
  publisher.RemoveReader(stuck);
  EXPECT_EQ(Outcome(Commit({RouteText("DELETE", "192.0.2.0/24")}, &response)), "OK");
  EXPECT_EQ(response.reached(), v1::ACK_VISIBLE);
}

TEST_F(ServiceTest, RetiredMemoryIsCappedAndSaysWhoHoldsIt) {
  options_.limits.retired_bytes = 200'000;
  StartServer();
  AddUplink();
  Publisher& publisher = engine_->runtime().publisher();
  Publisher::Reader* stuck = publisher.AddReader("stuck");
  stuck->Enter();
  grpc::Status status;
  int commits = 0;
  for (; commits < 10'000 && status.ok(); ++commits) {
    status = Commit({RouteText(commits % 2 == 0 ? "ADD" : "DELETE", "192.0.2.0/24")}, nullptr, "ack: ACK_ACCEPTED");
  }
  EXPECT_EQ(Outcome(status), "RETIRED_MEMORY_FULL");
  EXPECT_THAT(status.error_message(), HasSubstr("stuck"));
  EXPECT_GT(commits, 5);
  stuck->Offline();
  publisher.RemoveReader(stuck);
  EXPECT_EQ(Outcome(Commit({RouteText("REPLACE", "192.0.2.0/24")})), "OK");
}

TEST_F(ServiceTest, EveryReadIsOneGenerationWhileCommitsGoOn) {
  StartServer();
  AddUplink();
  // Two sets of routes that replace each other atomically: a reader may see either, and nothing else.
  std::vector<std::string> to_a, to_b;
  for (int i = 0; i < 100; ++i) {
    const std::string a = "172.16.0." + std::to_string(i), b = "172.17.0." + std::to_string(i);
    to_a.push_back(RouteText("REPLACE", a));
    to_b.push_back(RouteText("REPLACE", b));
    to_a.push_back(RouteText("DELETE", b) + " missing_ok: true");
    to_b.push_back(RouteText("DELETE", a) + " missing_ok: true");
  }
  ASSERT_EQ(Outcome(Commit(to_a)), "OK");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) EXPECT_EQ(Outcome(Commit(i % 2 == 0 ? to_b : to_a)), "OK");
  });
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    std::vector<v1::Object> routes;
    EXPECT_TRUE(
        Read("selectors { match { route { table: 254 } } origins: ORIGIN_CONFIGURED } omit_state: true", &routes).ok());
    ASSERT_EQ(routes.size(), 100u);
    const std::string first = routes.front().route().prefix().substr(0, 6);
    seen.insert(first);
    for (const v1::Object& route : routes) ASSERT_EQ(route.route().prefix().substr(0, 6), first);
  }
  stop = true;
  writer.join();
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(ServiceTest, AReaderThatStallsIsLetGo) {
  options_.limits.read_idle = absl::Milliseconds(100);
  StartServer();
  auto cursor = engine_->Read({}, true);
  ASSERT_TRUE(cursor.ok());
  AddUplink();
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ((*cursor)->Next(10).status().code(), absl::StatusCode::kAborted);
}

TEST_F(ServiceTest, DevicesThatCannotBeOpenedAreProblems) {
  StartServer();
  const auto add = [&](const std::string& name, const std::string& devargs) {
    return Outcome(
        Commit({"verb: VERB_ADD object { link { name: '" + name + "' port { devargs: '" + devargs + "' } } }"}));
  };
  EXPECT_EQ(add("a", "no such thing"), "INVALID_DEVARGS operations[0].object.link.port.devargs");
  EXPECT_EQ(add("a", "iface:nosuch0"), "DEVICE_NOT_FOUND operations[0].object.link.port.devargs");
  EXPECT_EQ(add("a", "net_null5"), "OK");
  EXPECT_EQ(add("b", "net_null5"), "DEVICE_IN_USE operations[0].object.link.port.devargs");
  EXPECT_EQ(Status().ports_size(), 1);
}

TEST_F(ServiceTest, ADeviceIsClosedWithItsLinkAndCanBeHadAgain) {
  StartServer();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Outcome(Commit({"verb: VERB_ADD object { link { name: 'a' port { devargs: 'net_null7' } } }"})), "OK");
    ASSERT_EQ(Outcome(Commit({"verb: VERB_DELETE object { link { name: 'a' } }"})), "OK");
  }
  EXPECT_EQ(Status().ports_size(), 0);
  EXPECT_EQ(Outcome(Commit({"verb: VERB_ADD object { link { name: 'b' port { devargs: 'net_null7' } } }"})), "OK");
}

TEST_F(ServiceTest, ARefusedBatchOpensNoDeviceForGood) {
  StartServer();
  EXPECT_THAT(Outcome(Commit({"verb: VERB_ADD object { link { name: 'a' port { devargs: 'net_null8' } } }",
                              RouteText("ADD", "192.0.2.0/24")})),
              Not("OK"));
  EXPECT_EQ(Status().ports_size(), 0);
  EXPECT_EQ(Outcome(Commit({"verb: VERB_ADD object { link { name: 'other' port { devargs: 'net_null8' } } }"})), "OK");
}

TEST_F(ServiceTest, WorkersForwardWhatTheDeviceBrings) {
  StartServer();
  // A null device brings frames of zeros for ever; they are counted, and dropped for a reason.
  AddUplink();
  Counters& counters = engine_->runtime().counters();
  for (int i = 0; i < 200 && counters.lane(0).totals.received.Get() == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GT(counters.lane(0).totals.received.Get(), 0u);
}

TEST_F(ServiceTest, ExplainFollowsAPacket) {
  StartServer();
  AddUplink();
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24"),
                            "verb: VERB_ADD object { route { prefix: '203.0.113.0/24' type: ROUTE_TYPE_BLACKHOLE } }",
                            "verb: VERB_ADD object { neighbor { link: 'up0' address: '10.0.0.254' "
                            "lladdr: '02:00:00:00:00:fe' } }"})),
            "OK");
  const auto explain = [&](const std::string& text, v1::ExplainResponse* response) {
    grpc::ClientContext context;
    return Outcome(stub_->Explain(&context, Text<v1::ExplainRequest>(text), response));
  };
  v1::ExplainResponse response;
  ASSERT_EQ(explain("link: 'up0' fields { source: '10.0.0.7' destination: '192.0.2.9' }", &response), "OK");
  EXPECT_EQ(response.verdict().outcome(), v1::OUTCOME_FORWARDED) << response.DebugString();
  EXPECT_EQ(response.verdict().destination_mac(), "02:00:00:00:00:fe");
  EXPECT_EQ(response.route().route().prefix(), "192.0.2.0/24");
  ASSERT_EQ(explain("link: 'up0' fields { source: '10.0.0.7' destination: '203.0.113.9' }", &response), "OK");
  EXPECT_EQ(response.verdict().drop_reason(), "blackhole");
  ASSERT_EQ(explain("fields { destination: '192.0.2.9' }", &response), "OK");
  EXPECT_EQ(response.verdict().next_hop(), "10.0.0.254");
  EXPECT_EQ(response.route().prefsrc(), "10.0.0.1");
  EXPECT_EQ(explain("link: 'nosuch' fields { destination: '1.2.3.4' }", &response), "UNKNOWN_LINK link");
  EXPECT_EQ(explain("link: 'up0'", &response), "FIELD_MISSING fields");
  EXPECT_EQ(explain("link: 'up0' frame: 'short'", &response), "INVALID_PACKET frame");
  EXPECT_EQ(explain("link: 'up0' fields { }", &response), "FIELD_MISSING fields.destination");
  EXPECT_EQ(explain("link: 'up0' fields { destination: 'x' }", &response), "INVALID_ADDRESS fields.destination");
  EXPECT_EQ(explain("link: 'up0' fields { destination: '1.2.3.4' source: '::1' }", &response),
            "FAMILY_MISMATCH fields.source");
  EXPECT_EQ(explain("link: 'up0' fields { destination: '1.2.3.4' ttl: 256 }", &response),
            "VALUE_OUT_OF_RANGE fields.ttl");
  EXPECT_EQ(explain("link: 'up0' fields { destination: '1.2.3.4' source_mac: 'x' }", &response),
            "INVALID_MAC fields.source_mac");
  EXPECT_EQ(explain("link: 'up0' fields { destination: '1.2.3.4' length: 5 }", &response), "INVALID_PACKET fields");
}

TEST_F(ServiceTest, CapabilitiesSayWhatThereIs) {
  StartServer();
  grpc::ClientContext context;
  v1::GetCapabilitiesResponse response;
  ASSERT_TRUE(stub_->GetCapabilities(&context, {}, &response).ok());
  EXPECT_EQ(response.api_version(), "sluice.v1");
  EXPECT_EQ(response.kinds_size(), 4);
  EXPECT_GT(response.limits().retired_bytes(), 0u);
  EXPECT_THAT(response.instruction_set(), HasSubstr("x86-64-v"));
  EXPECT_THAT(response.drivers(), ::testing::Contains("net_null"));
}

TEST_F(ServiceTest, HealthIsServedByName) {
  StartServer();
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto check = [&](const std::string& service) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status s = health->Check(&context, request, &response);
    return s.ok() ? static_cast<int>(response.status()) : -static_cast<int>(s.error_code());
  };
  server_->SetHealth({.startup = true, .readiness = false, .liveness = true});
  EXPECT_EQ(check("startup"), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_EQ(check("readiness"), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("liveness"), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_EQ(check(""), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("nosuch"), -static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_TRUE(engine_->ready());
  EXPECT_TRUE(engine_->live());
}

TEST_F(ServiceTest, AServerThatDrainsRefusesCommitsAndIsNotReady) {
  StartServer();
  engine_->Drain();
  EXPECT_EQ(Outcome(Commit({})), "SHUTTING_DOWN");
  EXPECT_FALSE(engine_->ready());
}

TEST(ListenTest, PlaintextBeyondLoopbackNeedsTheFlag) {
  EXPECT_TRUE(CheckListenAddress("unix:/tmp/x", false).ok());
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:9340", false).ok());
  EXPECT_TRUE(CheckListenAddress("[::1]:9340", false).ok());
  EXPECT_EQ(CheckListenAddress("0.0.0.0:9340", false).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(CheckListenAddress("0.0.0.0:9340", true).ok());
  for (const char* bad : {"", "unix:", "9340", ":9340", "host:", "host:x", "::1:9340", "h:70000"}) {
    EXPECT_EQ(CheckListenAddress(bad, true).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace sluice::rpc
