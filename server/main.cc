// sluiced: takes its options, starts the engine and its listeners, and ends in order.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/engine/engine.h"
#include "server/metrics/collector.h"
#include "server/metrics/server.h"
#include "server/options.h"
#include "server/rpc/server.h"
#include "server/rpc/store_codec.h"

namespace sluice {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr absl::Duration kDrain = absl::Seconds(5);

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "sluiced: %s\n", std::string(status.message()).c_str());
  return 1;
}

// Until SIGTERM or SIGINT: keeps health up to date.
void Serve(rpc::Server& server, engine::Engine& engine) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec tick = absl::ToTimespec(kTick);
  rpc::Health last;
  bool first = true;
  while (true) {
    const bool ready = engine.ready();
    const rpc::Health now{.startup = last.startup || ready, .readiness = ready, .liveness = engine.live()};
    if (first || !(now == last)) server.SetHealth(now);
    first = false;
    last = now;
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGTERM || signal == SIGINT) break;
  }
  last.readiness = false;
  server.SetHealth(last);
}

int Run(int argc, char** argv) {
  Options options;
  if (const std::optional<int> code = ParseOptions(argc, argv, &options); code.has_value()) return *code;
  // Signals are waited for, here; every thread that is started from now on inherits this.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  auto engine_options = EngineOptionsOf(options);
  if (!engine_options.ok()) return Fail(engine_options.status());
  for (const std::string& address : options.listen) {
    if (auto s = rpc::CheckListenAddress(address, options.insecure_tcp); !s.ok()) return Fail(s);
  }
  PinToCpus(engine_options->runtime.control_cpus);

  const rpc::StoreCodec codec;
  auto engine = engine::Engine::Start(*std::move(engine_options), codec);
  if (!engine.ok()) return Fail(engine.status());
  std::unique_ptr<metrics::MetricsServer> metrics;
  if (!options.metrics.empty()) {
    auto started = metrics::MetricsServer::Start(options.metrics, std::make_shared<metrics::Collector>(**engine));
    if (!started.ok()) return Fail(started.status());
    metrics = *std::move(started);
  }
  auto server = rpc::Server::Start(
      {.listen = options.listen, .health = options.health, .insecure_tcp = options.insecure_tcp}, **engine);
  if (!server.ok()) return Fail(server.status());
  const engine::EngineStatus status = (*engine)->GetStatus();
  for (const std::string& warning : status.warnings) std::fprintf(stderr, "sluiced: %s\n", warning.c_str());
  std::fprintf(stderr, "sluiced: %s ready, instance %s, generation %lu, %zu workers, %zu ports\n", SLUICE_VERSION,
               status.instance_id.c_str(), status.generation, status.workers.size(), status.ports.size());

  Serve(**server, **engine);
  (*engine)->Drain();
  (*server)->Shutdown(kDrain);
  server->reset();
  metrics.reset();
  engine->reset();
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Run(argc, argv); }
