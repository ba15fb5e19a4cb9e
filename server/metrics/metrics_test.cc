#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "server/metrics/exposer.h"
#include "server/metrics/families.h"
#include "server/metrics/instruments.h"

namespace sluice::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

Facts Example() {
  Facts f;
  f.version = "0.1.0";
  f.generation = 7;
  f.epoch = 9;
  f.ports.push_back({.name = "up \"quoted\"", .driver = "net_null", .up = true, .rx_packets = 5});
  f.lanes.push_back({.cpu = "1", .received = 10, .transmitted = 8});
  f.lanes.back().drops[static_cast<size_t>(DropReason::kBlackhole)] = 2;
  f.lanes.push_back({.cpu = "slow"});
  f.tables.push_back({.table = "main", .family = "ipv4", .entries = 3, .memory_bytes = 4096});
  f.pools.push_back({.pool = "p0", .available = 100, .capacity = 128});
  f.neighbors.push_back({.state = "REACHABLE", .entries = 1});
  f.nexthops.push_back({.link = "p0", .gateway = "10.0.0.2", .packets = 4, .bytes = 400});
  return f;
}

std::string Text(const Facts& facts) {
  std::ostringstream out;
  Instruments instruments;
  instruments.Applied("ok");
  instruments.Stage(Instruments::kBuild, 1e-4);
  std::vector<prometheus::MetricFamily> families = FamiliesOf(facts);
  for (prometheus::MetricFamily& f : instruments.Collect()) families.push_back(std::move(f));
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

TEST(Families, CarryTheNumbersOfTheFacts) {
  const std::string text = Text(Example());
  EXPECT_THAT(text, HasSubstr("sluice_worker_receive_packets_total{cpu=\"1\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("sluice_drops_total{reason=\"blackhole\",cpu=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("sluice_config_generation 7\n"));
  EXPECT_THAT(text, HasSubstr("sluice_config_apply_total{result=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("sluice_nexthop_packets_total{link=\"p0\",gateway=\"10.0.0.2\"} 4\n"));
}

TEST(Families, ExportEveryDropReasonFromTheStart) {
  const std::string text = Text(Example());
  for (absl::string_view name : kDropReasonNames) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("sluice_drops_total{reason=\"", name, "\",cpu=\"slow\"} 0\n")));
  }
}

TEST(Families, KeepEachNameOnce) {
  std::set<std::string> names;
  for (const prometheus::MetricFamily& f : FamiliesOf(Example())) EXPECT_TRUE(names.insert(f.name).second) << f.name;
}

TEST(Families, PassPromtool) {
  const std::string path = testing::TempDir() + "/sluice_metrics.txt";
  std::FILE* file = std::fopen(path.c_str(), "w");
  const std::string text = Text(Example());
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  EXPECT_EQ(std::system(("promtool check metrics <" + path).c_str()), 0);
}

std::string Get(int port, const std::string& request) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a = {};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 && write(s, request.data(), request.size()) > 0) {
    char buffer[4096];
    for (ssize_t n; (n = read(s, buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(n));
  }
  close(s);
  return answer;
}

TEST(Exposer, ServesMetricsAndNothingElse) {
  auto exposer = Exposer::Start("127.0.0.1:0", [] { return FamiliesOf(Example()); });
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  const int port = (*exposer)->port();
  EXPECT_THAT(Get(port, "GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("sluice_build_info"));
  EXPECT_THAT(Get(port, "HEAD /metrics HTTP/1.0\r\n\r\n"), Not(HasSubstr("sluice_build_info")));
  EXPECT_THAT(Get(port, "POST /metrics HTTP/1.0\r\nContent-Length: 0\r\n\r\n"), HasSubstr("405"));
  EXPECT_THAT(Get(port, "GET /other HTTP/1.0\r\n\r\n"), HasSubstr("404"));
  EXPECT_THAT(Get(port, "GET / HTTP/1.0\r\n\r\n"), HasSubstr("200"));
}

TEST(Exposer, RefusesAnAddressThatIsTakenOrMalformed) {
  auto first = Exposer::Start("127.0.0.1:0", [] { return FamiliesOf({}); });
  ASSERT_TRUE(first.ok());
  auto second = Exposer::Start(absl::StrCat("127.0.0.1:", (*first)->port()), [] { return FamiliesOf({}); });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  for (const char* bad : {"", "nine", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999"}) {
    EXPECT_EQ(Exposer::Start(bad, {}).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace sluice::metrics
