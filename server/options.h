// What sluiced is told: flags, environment variables (SLUICE_LISTEN ...) and a file (--config) with the same names.
//
// Threads: main's, before any other.
#ifndef SLUICE_SERVER_OPTIONS_H_
#define SLUICE_SERVER_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/engine.h"

namespace sluice {

struct Options {
  std::vector<std::string> listen = {"unix:/run/sluice/sluice.sock"};
  std::string metrics = "0.0.0.0:9342";
  std::string health = "0.0.0.0:9341";
  std::string state_dir;
  std::vector<std::string> ports;
  std::string workers;
  std::string eal;
  std::string idle = "sleep";
  bool insecure_tcp = false;
};

// An exit code when there is nothing to run: --help, --version, or options that make no sense (said on stderr).
std::optional<int> ParseOptions(int argc, char** argv, Options* options);

// INVALID_ARGUMENT, in one line, for what cannot be.
absl::StatusOr<engine::EngineOptions> EngineOptionsOf(const Options& options);

// `--workers`: a number, or a list of CPUs ("2-5,8"; one CPU alone is "2-2"). Empty: all but the first of `allowed`,
// which is kept for control; the only one when there is but one. INVALID_ARGUMENT names what is wrong.
struct CpuPlan {
  std::vector<int> workers;
  std::vector<int> control;
};
absl::StatusOr<CpuPlan> PlanCpus(const std::string& workers, const std::vector<int>& allowed);

// The CPUs that this process may use.
std::vector<int> AllowedCpus();
// The calling thread, and all that it starts, run on these; empty: no change.
void PinToCpus(const std::vector<int>& cpus);

}  // namespace sluice

#endif  // SLUICE_SERVER_OPTIONS_H_
