// Starts DPDK's environment (EAL), once for the process.
//
// Why: what EAL needs depends on where the process runs: which CPUs the container was given, whether huge pages can
// really be had (a cgroup may forbid those that the machine shows), which devices are ours. This is found out, not
// asked for. No device is touched at start: with a list of allowed devices that names none, EAL scans nothing, and
// ports are opened one by one by name (device.h).
//
//   EalOptions options;
//   options.control_cpus = {0};
//   RETURN_IF_ERROR(StartEal(options));                 // before any other thread that cares for its affinity
//
// A worker thread calls rte_thread_register() once and rte_thread_unregister() at its end: the caches of packet pools
// then work for it. (EAL makes no worker threads here; its only lcore is the thread that called StartEal.)
//
// Threads: StartEal from one thread, once. Cost: 100 to 500 ms, for loading drivers.
#ifndef SLUICE_DATAPLANE_PORT_EAL_H_
#define SLUICE_DATAPLANE_PORT_EAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

using LogSink = std::function<void(absl::LogSeverity, absl::string_view line)>;

enum class HugePages : uint8_t {
  kDetect,  // use them if 64 MB of them can be had, else say so and do without
  kNever,
};

struct EalOptions {
  // Passed on as they are, before ours; what they settle (huge pages, lcores, devices) we leave alone.
  std::vector<std::string> args;
  // Where EAL's own threads run (interrupts, alarms). Empty: wherever the caller may run.
  std::vector<uint32_t> control_cpus;
  HugePages huge_pages = HugePages::kDetect;
  // Without huge pages EAL reserves its memory at start, and it cannot grow. It is taken from the system as it is used.
  uint32_t megabytes_without_huge_pages = 1024;
  // Lines that DPDK logs, from any thread. Default: warnings and errors to stderr.
  LogSink log;
};

// FAILED_PRECONDITION: already started. Else what EAL said: RESOURCE_EXHAUSTED (memory), PERMISSION_DENIED,
// INVALID_ARGUMENT (`args`), or INTERNAL. After a failure the process can only end: EAL cannot be started again.
// The affinity of the calling thread is afterwards what it was before.
absl::Status StartEal(const EalOptions& options);

// True once StartEal has succeeded with huge pages.
bool EalUsesHugePages();

// The arguments StartEal would give to EAL, after the program's name. `huge` is what was detected.
absl::StatusOr<std::vector<std::string>> EalArguments(const EalOptions& options, bool huge);

// `--eal "ARGS"` as a list: separated by blanks; quotes ' and " hold blanks. INVALID_ARGUMENT: a quote without its end.
absl::StatusOr<std::vector<std::string>> SplitEalArguments(absl::string_view text);

// True if `megabytes` of huge pages of some size can be had now: they are taken, touched and given back.
bool HugePagesUsable(uint32_t megabytes);

// While it lives, what DPDK logs on this thread as warning or error is also kept here: DPDK says in its log, not in its
// return value, why a device could not be opened.
class EalComplaints {
 public:
  EalComplaints();
  ~EalComplaints();
  EalComplaints(const EalComplaints&) = delete;
  EalComplaints& operator=(const EalComplaints&) = delete;

  // The last few lines, joined by "; ", or "" when there are none.
  std::string text() const;

 private:
  std::vector<std::string> lines_;
  EalComplaints* outer_;
  friend struct EalLog;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_EAL_H_
