#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<int> Parse(std::vector<std::string> args, Options* options) {
  args.insert(args.begin(), "sluiced");
  std::vector<char*> argv;
  for (std::string& a : args) argv.push_back(a.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), options);
}

TEST(OptionsTest, DefaultsAreThoseThatArePromised) {
  Options o;
  ASSERT_EQ(Parse({}, &o), std::nullopt);
  EXPECT_THAT(o.listen, ElementsAre("unix:/run/sluice/sluice.sock"));
  EXPECT_EQ(o.metrics, "0.0.0.0:9342");
  EXPECT_EQ(o.health, "0.0.0.0:9341");
  EXPECT_FALSE(o.insecure_tcp);
}

TEST(OptionsTest, FlagsMayBeRepeated) {
  Options o;
  ASSERT_EQ(Parse({"--listen", "unix:/tmp/a", "--listen", "127.0.0.1:1", "--port", "up0=net_pcap0,rx_pcap=a.pcap",
                   "--port", "up1=iface:eth1", "--idle=poll"},
                  &o),
            std::nullopt);
  EXPECT_THAT(o.listen, ElementsAre("unix:/tmp/a", "127.0.0.1:1"));
  const auto e = EngineOptionsOf(o);
  ASSERT_TRUE(e.ok());
  EXPECT_THAT(e->ports, ElementsAre(std::pair("up0", "net_pcap0,rx_pcap=a.pcap"), std::pair("up1", "iface:eth1")));
  EXPECT_EQ(e->runtime.idle, engine::IdleMode::kPoll);
}

TEST(OptionsTest, AFileHasTheSameNames) {
  const std::string file = testing::TempDir() + "/sluiced.conf";
  std::ofstream(file)
      << "listen = [\"unix:/tmp/b\"]\nstate-dir = \"/tmp/state\"\nport = [\"a=net_null0\", \"b=net_null1\"]\n";
  Options o;
  ASSERT_EQ(Parse({"--config", file, "--metrics", "127.0.0.1:0"}, &o), std::nullopt);
  EXPECT_THAT(o.listen, ElementsAre("unix:/tmp/b"));
  EXPECT_EQ(o.state_dir, "/tmp/state");
  EXPECT_THAT(o.ports, ElementsAre("a=net_null0", "b=net_null1"));
  EXPECT_EQ(o.metrics, "127.0.0.1:0");
}

TEST(OptionsTest, WhatMakesNoSenseIsRefused) {
  Options o;
  EXPECT_EQ(Parse({"--nosuch"}, &o), 2);
  EXPECT_EQ(Parse({"--idle=nap"}, &o), 2);
  EXPECT_EQ(Parse({"--version"}, &o), 0);
  o.ports = {"up0"};
  EXPECT_THAT(std::string(EngineOptionsOf(o).status().message()), HasSubstr("up0"));
}

TEST(CpuPlanTest, OneCpuIsLeftForControlWhenThereIsOneToSpare) {
  auto plan = PlanCpus("", {3, 5, 8});
  EXPECT_THAT(plan->workers, ElementsAre(5, 8));
  EXPECT_THAT(plan->control, ElementsAre(3));
  plan = PlanCpus("", {4});
  EXPECT_THAT(plan->workers, ElementsAre(4));
  EXPECT_THAT(plan->control, IsEmpty());
}

TEST(CpuPlanTest, ANumberTakesTheLastAndAListTakesWhatItNames) {
  EXPECT_THAT(PlanCpus("1", {3, 5, 8})->workers, ElementsAre(8));
  EXPECT_THAT(PlanCpus("3", {3, 5, 8})->workers, ElementsAre(3, 5, 8));
  EXPECT_THAT(PlanCpus("3,5", {3, 5, 8})->workers, ElementsAre(3, 5));
  EXPECT_THAT(PlanCpus("5-5", {3, 5, 8})->workers, ElementsAre(5));
  for (const char* bad : {"0", "4", "x", "5-3", "3,3", "9-9", "3,", "-1"}) {
    EXPECT_EQ(PlanCpus(bad, {3, 5, 8}).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace sluice
