#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/engine/runtime.h"
#include "server/metrics/collector.h"
#include "server/metrics/server.h"

namespace sluice::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An engine without a store needs no codec.
class NoCodec final : public engine::Codec {
 public:
  void EncodeOperation(const config::Operation&, std::string*) const override {}
  absl::Status DecodeOperations(absl::string_view,
                                absl::FunctionRef<absl::Status(config::Operation&&)>) const override {
    return absl::UnimplementedError("no store");
  }
  void EncodeObject(const config::Object&, std::string*) const override {}
  absl::Status DecodeObjects(absl::string_view, absl::FunctionRef<absl::Status(config::Object&&)>) const override {
    return absl::UnimplementedError("no store");
  }
};

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::EngineOptions options;
    options.runtime.worker_cpus = {-1};
    options.ports = {{"up0", "net_null0"}};
    auto engine = engine::Engine::Start(std::move(options), codec_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    auto server = MetricsServer::Start("127.0.0.1:0", std::make_shared<Collector>(*engine_));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // One HTTP exchange, as it goes over the wire.
  std::string Http(const std::string& request) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(server_->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[65536];
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<size_t>(n));
    close(fd);
    return answer;
  }

  NoCodec codec_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsTest, EveryFamilyIsThereFromTheStart) {
  std::set<std::string> names;
  for (const auto& family : Collector(*engine_).Collect()) {
    EXPECT_THAT(family.name, StartsWith("sluice_"));
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
  }
  for (const char* name : {"sluice_build_info",
                           "sluice_port_receive_packets_total",
                           "sluice_port_receive_bytes_total",
                           "sluice_port_receive_errors_total",
                           "sluice_port_receive_drops_total",
                           "sluice_port_transmit_packets_total",
                           "sluice_port_transmit_bytes_total",
                           "sluice_port_transmit_errors_total",
                           "sluice_port_transmit_drops_total",
                           "sluice_port_up",
                           "sluice_port_info",
                           "sluice_worker_busy_seconds_total",
                           "sluice_worker_idle_seconds_total",
                           "sluice_worker_receive_packets_total",
                           "sluice_worker_generated_packets_total",
                           "sluice_worker_transmit_packets_total",
                           "sluice_worker_delivered_packets_total",
                           "sluice_worker_absorbed_packets_total",
                           "sluice_worker_handed_over_packets_total",
                           "sluice_worker_held_packets",
                           "sluice_drops_total",
                           "sluice_route_hint_hits_total",
                           "sluice_route_hint_misses_total",
                           "sluice_fib_entries",
                           "sluice_fib_memory_bytes",
                           "sluice_mempool_available_buffers",
                           "sluice_mempool_capacity_buffers",
                           "sluice_config_generation",
                           "sluice_config_epoch",
                           "sluice_config_apply_total",
                           "sluice_config_apply_seconds",
                           "sluice_rcu_pending_reclaim_objects",
                           "sluice_neighbor_entries",
                           "sluice_metrics_series_dropped_total"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(MetricsTest, EveryDropReasonHasASeriesForEveryThread) {
  for (const auto& family : Collector(*engine_).Collect()) {
    if (family.name != "sluice_drops_total") continue;
    EXPECT_EQ(family.metric.size(), kDropReasons * 2);  // one worker, and the slow path
  }
}

TEST_F(MetricsTest, ACommitMovesTheGenerationAndItsHistogram) {
  config::Operation op;
  op.verb = config::Verb::kAdd;
  config::Address address;
  address.link = "up0";
  address.address = *IpAddress::Parse("10.0.0.1");
  address.prefix_length = 24;
  op.target = config::Object{.value = address};
  ASSERT_TRUE(engine_->CommitAndWait({}, {op}).status.ok());
  const std::string text = server_->Scrape();
  EXPECT_THAT(text, HasSubstr("sluice_config_generation 2\n"));
  EXPECT_THAT(text, HasSubstr("sluice_config_apply_total{result=\"committed\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("sluice_config_apply_seconds_count{stage=\"visible\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("sluice_fib_entries{table=\"254\",family=\"ipv4\"} 1\n"));
}

TEST_F(MetricsTest, PromtoolFindsNothing) {
  const std::string file = testing::TempDir() + "/sluice-metrics.txt";
  std::ofstream(file) << server_->Scrape();
  EXPECT_EQ(std::system(absl::StrCat("promtool check metrics < ", file, " 1>&2").c_str()), 0);
  std::remove(file.c_str());
}

TEST_F(MetricsTest, TheListenerServesMetricsAndNothingElse) {
  const std::string metrics = Http("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(metrics, HasSubstr("\nsluice_build_info{version="));
  EXPECT_THAT(Http("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("/metrics"));
  EXPECT_THAT(Http("GET /etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Http("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), StartsWith("HTTP/1.1 405"));
}

TEST_F(MetricsTest, AnAddressThatIsTakenIsNamed) {
  const std::string address = absl::StrCat("127.0.0.1:", server_->port());
  const auto second = MetricsServer::Start(address, std::make_shared<Collector>(*engine_));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
}

}  // namespace
}  // namespace sluice::metrics
