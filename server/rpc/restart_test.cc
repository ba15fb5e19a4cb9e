#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "server/engine/journal.h"
#include "server/rpc/service_fixture.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

class RestartTest : public ServiceTest {
 protected:
  RestartTest() { options_.state_dir = dir_ + "/state"; }
  void Restart() {
    StopServer();
    StartServer();
  }
  void Fill() {
    AddUplink();
    ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24"), RouteText("APPEND", "192.0.2.0/24", "10.0.0.253"),
                              "verb: VERB_ADD object { address { link: 'up0' address: '10.0.0.2/24' } }",
                              "verb: VERB_ADD object { address { link: 'up0' address: '2001:db8::1/64' } }",
                              "verb: VERB_ADD object { route { prefix: '2001:db8:1::/48' "
                              "nexthops { gateway: '2001:db8::2' } metric: 7 } }",
                              "verb: VERB_ADD object { neighbor { link: 'up0' address: '10.0.0.254' "
                              "lladdr: '02:00:00:00:00:fe' } }"})),
              "OK");
    ASSERT_EQ(Outcome(Commit({RouteText("ADD", "198.51.100.0/24")})), "OK");
    ASSERT_EQ(Outcome(Commit({RouteText("DELETE", "198.51.100.0/24"), RouteText("ADD", "203.0.113.0/24")}, nullptr,
                             "durable: true comment: 'why'")),
              "OK");
  }
  // Everything that was asked for, with uids and generations.
  std::string Configured() {
    std::vector<v1::Object> objects;
    EXPECT_TRUE(Read("selectors { origins: ORIGIN_CONFIGURED } omit_state: true", &objects).ok());
    std::string out;
    for (const v1::Object& object : objects) out += object.ShortDebugString() + "\n";
    return out;
  }
};

TEST_F(RestartTest, TheStateIsThereAgain) {
  StartServer();
  Fill();
  const std::string before = Dump();
  const v1::GetStatusResponse status = Status();
  for (int i = 0; i < 3; ++i) {
    Restart();
    EXPECT_EQ(Dump(), before);
    EXPECT_EQ(Status().generation(), status.generation());
    EXPECT_NE(Status().instance_id(), status.instance_id());
    EXPECT_EQ(Status().ports_size(), 1);
  }
  v1::CommitResponse response;
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "198.51.100.0/24")}, &response)), "OK");
  EXPECT_EQ(response.generation(), status.generation() + 1);
}

TEST_F(RestartTest, ADumpGivesTheSameStateAsTheBatchesThatMadeIt) {
  StartServer();
  Fill();
  const std::string before = Configured();
  const config::Config config = engine_->writer().live().config;
  StopServer();
  {
    auto journal = engine::Journal::Open(options_.state_dir, codec_);
    ASSERT_TRUE(journal.ok());
    config::Config restored;
    ASSERT_TRUE((*journal)->Restore(&restored).ok());
    EXPECT_EQ(restored.generation, config.generation);
    EXPECT_EQ(restored.next_uid, config.next_uid);
    const uint64_t bytes = (*journal)->bytes();
    ASSERT_TRUE((*journal)->CompactNow(restored).ok());
    EXPECT_NE((*journal)->bytes(), bytes);
  }
  StartServer();
  EXPECT_EQ(Configured(), before);
  EXPECT_EQ(Status().generation(), config.generation);
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "198.51.100.0/24")})), "OK");
  const std::string after = Configured();
  Restart();
  EXPECT_EQ(Configured(), after);
}

TEST_F(RestartTest, ATornTailLosesTheLastBatchAlone) {
  StartServer();
  AddUplink();
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")})), "OK");
  const std::string before = Dump();
  ASSERT_EQ(Outcome(Commit({RouteText("ADD", "198.51.100.0/24")})), "OK");
  StopServer();
  const std::string log = options_.state_dir + "/commits.log";
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 1);
  StartServer();
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Status().generation(), 2u);
}

TEST_F(RestartTest, ALogThatMakesNoSenseIsNotStartedUpon) {
  std::filesystem::create_directories(options_.state_dir);
  std::ofstream(options_.state_dir + "/commits.log") << "something else entirely";
  const auto engine = engine::Engine::Start(options_, codec_);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RestartTest, TwoProcessesCannotShareAStateDirectory) {
  StartServer();
  const auto second = engine::Engine::Start(options_, codec_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RestartTest, AStoreThatCannotBeWrittenRefusesAndChangesNothing) {
  StartServer();
  AddUplink();
  const std::string before = Dump();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = limit;
  small.rlim_cur = std::filesystem::file_size(options_.state_dir + "/commits.log");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string refused = Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}));
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(refused, "STORE_FAILED");
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")}, nullptr, "durable: true")), "OK");
  const std::string after = Dump();
  Restart();
  EXPECT_EQ(Dump(), after);
}

TEST_F(RestartTest, BootPortsAgreeWithWhatWasRestored) {
  options_.ports = {{"up0", "net_null0"}};
  StartServer();
  EXPECT_EQ(Status().generation(), 1u);
  Restart();
  EXPECT_EQ(Status().generation(), 1u);
  EXPECT_EQ(Status().ports_size(), 1);
  StopServer();
  options_.ports = {{"up0", "net_null1"}};
  const auto other = engine::Engine::Start(options_, codec_);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("up0"));
}

TEST_F(RestartTest, ADeviceThatIsGoneKeepsItsLinkAndTheRest) {
  StartServer();
  AddUplink();
  ASSERT_EQ(Outcome(Commit({"verb: VERB_ADD object { link { name: 'up1' up: true "
                            "port { devargs: 'net_null1,size=64' } } }"})),
            "OK");
  StopServer();
  // The device of up1 is taken by somebody else before the restart: a link that is there with a device that is not.
  options_.state_dir = dir_ + "/state";
  auto journal = engine::Journal::Open(options_.state_dir, codec_);
  ASSERT_TRUE(journal.ok());
  config::Config config;
  ASSERT_TRUE((*journal)->Restore(&config).ok());
  config.links.FindMutable(config.FindLink("up1"))->devargs = "iface:nosuch0";
  ASSERT_TRUE((*journal)->CompactNow(config).ok());
  journal->reset();
  StartServer();
  const v1::GetStatusResponse status = Status();
  EXPECT_FALSE(status.ready());
  ASSERT_EQ(status.ports_size(), 2);
  EXPECT_EQ(status.ports(0).problem(), "");
  EXPECT_NE(status.ports(1).problem(), "");
  std::vector<v1::Object> links;
  ASSERT_TRUE(Read("selectors { match { link { name: 'up1' } } }", &links).ok());
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].link().state().oper_state(), v1::OPER_STATE_NOT_PRESENT);
  EXPECT_EQ(Outcome(Commit({RouteText("ADD", "192.0.2.0/24")})), "OK");
}

}  // namespace
}  // namespace sluice::rpc
