#include "server/options.h"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataplane/port/eal.h"

namespace sluice {
namespace {

constexpr int kMaxCpu = CPU_SETSIZE;

absl::StatusOr<std::vector<int>> ParseCpuList(const std::string& text) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat("--workers \"", text, "\" is neither a number nor a list of CPUs"));
  };
  std::vector<int> cpus;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first, last;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) {
      return bad();
    }
    if (first < 0 || last < first || last >= kMaxCpu) return bad();
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  if (std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--workers \"", text, "\" names a CPU twice"));
  }
  return cpus;
}

}  // namespace

std::optional<int> ParseOptions(int argc, char** argv, Options* o) {
  CLI::App app("sluiced: a router that is programmed over gRPC");
  app.set_version_flag("--version", absl::StrCat("sluiced ", SLUICE_VERSION));
  app.set_config("--config", "", "Read options from this file: NAME = VALUE lines, names as the flags");
  std::vector<std::string> listen;
  app.add_option("--listen", listen, "unix:PATH or HOST:PORT; may be repeated [unix:/run/sluice/sluice.sock]")
      ->envname("SLUICE_LISTEN");
  app.add_flag("--insecure-tcp", o->insecure_tcp, "Allow --listen beyond loopback without TLS")
      ->envname("SLUICE_INSECURE_TCP");
  app.add_option("--metrics", o->metrics, "HOST:PORT for Prometheus; empty: none")
      ->capture_default_str()
      ->envname("SLUICE_METRICS");
  app.add_option("--health", o->health, "HOST:PORT for gRPC health checks; empty: none")
      ->capture_default_str()
      ->envname("SLUICE_HEALTH");
  app.add_option("--state-dir", o->state_dir, "Where the state is kept; without it nothing outlives the process")
      ->envname("SLUICE_STATE_DIR");
  app.add_option("--port", o->ports, "NAME=DEVARGS, or NAME=iface:IFNAME; may be repeated")->envname("SLUICE_PORT");
  app.add_option("--workers", o->workers, "How many, or on which CPUs [all allowed CPUs but one]")
      ->envname("SLUICE_WORKERS");
  app.add_option("--eal", o->eal, "Arguments for DPDK's EAL")->envname("SLUICE_EAL");
  app.add_option("--idle", o->idle, "What a worker without packets does: sleep or poll")
      ->capture_default_str()
      ->check(CLI::IsMember({"sleep", "poll"}))
      ->envname("SLUICE_IDLE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::Error& e) {
    std::fprintf(stderr, "sluiced: %s\n", e.what());
    return 2;
  }
  if (!listen.empty()) o->listen = std::move(listen);
  return std::nullopt;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < kMaxCpu; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void PinToCpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

absl::StatusOr<CpuPlan> PlanCpus(const std::string& workers, const std::vector<int>& allowed) {
  CpuPlan plan;
  uint32_t count = 0;
  if (workers.empty()) {
    count = static_cast<uint32_t>(std::max<size_t>(1, allowed.size() - 1));
  } else if (!absl::SimpleAtoi(workers, &count)) {
    auto list = ParseCpuList(workers);
    if (!list.ok()) return list.status();
    for (const int cpu : *list) {
      if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
        return absl::InvalidArgumentError(absl::StrCat("--workers: CPU ", cpu, " is not in this process's CPU set"));
      }
    }
    plan.workers = *std::move(list);
  } else if (count == 0 || count > allowed.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--workers ", workers, ": this process has ", allowed.size(), " CPUs, one for each worker"));
  }
  if (plan.workers.empty()) {
    // The last ones, so that the first is left for control as long as there is one to spare.
    plan.workers.assign(allowed.end() - count, allowed.end());
  }
  for (const int cpu : allowed) {
    if (std::find(plan.workers.begin(), plan.workers.end(), cpu) == plan.workers.end()) plan.control.push_back(cpu);
  }
  return plan;
}

absl::StatusOr<engine::EngineOptions> EngineOptionsOf(const Options& options) {
  engine::EngineOptions out;
  out.state_dir = options.state_dir;
  for (const std::string& port : options.ports) {
    const size_t equals = port.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == port.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--port \"", port, "\" is not NAME=DEVARGS"));
    }
    out.ports.emplace_back(port.substr(0, equals), port.substr(equals + 1));
  }
  auto cpus = PlanCpus(options.workers, AllowedCpus());
  if (!cpus.ok()) return cpus.status();
  out.runtime.worker_cpus = std::move(cpus->workers);
  out.runtime.control_cpus = std::move(cpus->control);
  auto eal = SplitEalArguments(options.eal);
  if (!eal.ok()) return eal.status();
  out.runtime.eal_args = *std::move(eal);
  out.runtime.idle = options.idle == "poll" ? engine::IdleMode::kPoll : engine::IdleMode::kSleep;
  return out;
}

}  // namespace sluice
