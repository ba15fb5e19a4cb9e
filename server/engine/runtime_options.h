// How the data plane below the engine is to run: what main takes from the command line.
//
// Threads: a value.
#ifndef SLUICE_SERVER_ENGINE_RUNTIME_OPTIONS_H_
#define SLUICE_SERVER_ENGINE_RUNTIME_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::engine {

enum class IdleMode : uint8_t { kSleep, kPoll };

struct RuntimeOptions {
  std::vector<int> worker_cpus;       // one worker each
  std::vector<int> control_cpus;      // where everything else runs; empty: wherever
  std::vector<std::string> eal_args;  // passed on to DPDK
  IdleMode idle = IdleMode::kSleep;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_RUNTIME_OPTIONS_H_
