#include "dataplane/port/eal.h"

#include <dirent.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

// An address that no device has: naming it makes EAL's scan skip all others, and still lets ports be opened by name.
constexpr char kNoDevice[] = "ffff:ff:1f.7";

std::atomic<bool> started{false};
bool uses_huge_pages = false;

thread_local EalComplaints* complaints = nullptr;

bool HasOption(const std::vector<std::string>& args, std::initializer_list<absl::string_view> names) {
  for (absl::string_view name : names) {
    const bool is_long = absl::StartsWith(name, "--");
    for (const std::string& arg : args) {
      if (arg == name || (is_long && absl::StartsWith(arg, absl::StrCat(name, "="))) ||
          (!is_long && absl::StartsWith(arg, name))) {
        return true;
      }
    }
  }
  return false;
}

// CPUs of this thread, by a set that is as large as the kernel's.
std::vector<uint32_t> AllowedCpus() {
  std::vector<uint32_t> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (pthread_getaffinity_np(pthread_self(), sizeof set, &set) != 0) return cpus;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Restores the affinity of this thread when it goes.
class KeepAffinity {
 public:
  KeepAffinity() { known_ = pthread_getaffinity_np(pthread_self(), sizeof set_, &set_) == 0; }
  ~KeepAffinity() {
    if (known_) pthread_setaffinity_np(pthread_self(), sizeof set_, &set_);
  }

 private:
  cpu_set_t set_;
  bool known_;
};

// One mapping of `bytes` out of huge pages of 2^page_log2 bytes, all of it touched. MAP_POPULATE does not kill us when
// a cgroup refuses a page, as a plain access would; whether each page came is then asked of mincore.
bool CanMapHuge(size_t bytes, int page_log2) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE | (page_log2 << MAP_HUGE_SHIFT);
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (p == MAP_FAILED) return false;
  const size_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> present(bytes / page);
  bool all = mincore(p, bytes, present.data()) == 0;
  for (const unsigned char c : present) all = all && (c & 1);
  munmap(p, bytes);
  return all;
}

absl::Status EalFailure(int error, const std::string& said) {
  const std::string message = absl::StrCat("DPDK did not start: ", rte_strerror(error), said.empty() ? "" : ": ", said);
  switch (error) {
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EINVAL:
      return absl::InvalidArgumentError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace

struct EalLog {
  static LogSink& sink() {
    static LogSink* sink = new LogSink;
    return *sink;
  }

  static void Line(absl::string_view line) {
    if (line.empty()) return;
    const int level = rte_log_cur_msg_loglevel();
    const absl::LogSeverity severity = level <= static_cast<int>(RTE_LOG_ERR)       ? absl::LogSeverity::kError
                                       : level <= static_cast<int>(RTE_LOG_WARNING) ? absl::LogSeverity::kWarning
                                                                                    : absl::LogSeverity::kInfo;
    if (complaints != nullptr && severity != absl::LogSeverity::kInfo) complaints->lines_.emplace_back(line);
    if (sink()) {
      sink()(severity, line);
    } else if (severity != absl::LogSeverity::kInfo) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    }
  }

  // DPDK flushes after each message, so what comes is one message or, when it is long, a piece of one.
  static ssize_t Write(void*, const char* data, size_t size) {
    absl::string_view rest(data, size);
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      Line(rest.substr(0, end));
      rest = end == absl::string_view::npos ? absl::string_view() : rest.substr(end + 1);
    }
    return static_cast<ssize_t>(size);
  }

  static void Open(LogSink to) {
    sink() = std::move(to);
    cookie_io_functions_t io = {};
    io.write = &Write;
    if (FILE* stream = fopencookie(nullptr, "w", io)) rte_openlog_stream(stream);
  }
};

EalComplaints::EalComplaints() : outer_(complaints) { complaints = this; }
EalComplaints::~EalComplaints() { complaints = outer_; }

std::string EalComplaints::text() const {
  constexpr size_t kLast = 4;
  const size_t from = lines_.size() > kLast ? lines_.size() - kLast : 0;
  return absl::StrJoin(lines_.begin() + static_cast<ptrdiff_t>(from), lines_.end(), "; ");
}

bool HugePagesUsable(uint32_t megabytes) {
  DIR* dir = opendir("/sys/kernel/mm/hugepages");
  if (dir == nullptr) return false;
  bool usable = false;
  while (const dirent* entry = readdir(dir)) {
    absl::string_view name = entry->d_name;  // hugepages-2048kB
    uint64_t kilobytes;
    if (!absl::ConsumePrefix(&name, "hugepages-") || !absl::ConsumeSuffix(&name, "kB") ||
        !absl::SimpleAtoi(name, &kilobytes) || kilobytes == 0) {
      continue;
    }
    const uint64_t page = kilobytes * 1024;
    const uint64_t bytes = (uint64_t{megabytes} * 1024 * 1024 + page - 1) / page * page;
    if (CanMapHuge(bytes, __builtin_ctzll(page))) {
      usable = true;
      break;
    }
  }
  closedir(dir);
  return usable;
}

absl::StatusOr<std::vector<std::string>> SplitEalArguments(absl::string_view text) {
  std::vector<std::string> args;
  std::string arg;
  bool in_arg = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        arg += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_arg = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_arg) args.push_back(std::move(arg));
      arg.clear();
      in_arg = false;
    } else {
      arg += c;
      in_arg = true;
    }
  }
  if (quote != 0) return absl::InvalidArgumentError("EAL arguments: a quote is not closed");
  if (in_arg) args.push_back(std::move(arg));
  return args;
}

absl::StatusOr<std::vector<std::string>> EalArguments(const EalOptions& options, bool huge) {
  std::vector<std::string> args = options.args;
  for (const std::string& arg : args) {
    if (arg.empty() || arg.find('\0') != std::string::npos) return absl::InvalidArgumentError("an empty EAL argument");
    // EAL would print its usage and end the process.
    if (arg == "-h" || arg == "--help") return absl::InvalidArgumentError("EAL arguments: no help here");
  }
  if (HasOption(options.args, {"--no-huge"})) huge = false;
  // Whoever shares memory with other processes has said how.
  const bool shared =
      HasOption(options.args, {"--file-prefix", "--huge-dir", "--proc-type", "--base-virtaddr", "--legacy-mem"});
  if (huge) {
    if (!shared && !HasOption(options.args, {"--in-memory", "--no-shconf"})) args.push_back("--in-memory");
  } else {
    if (!HasOption(options.args, {"--no-huge"})) args.push_back("--no-huge");
    if (!shared && !HasOption(options.args, {"--no-shconf"})) args.push_back("--no-shconf");
    if (!HasOption(options.args, {"-m", "--socket-mem"})) {
      args.push_back("-m");
      args.push_back(absl::StrCat(options.megabytes_without_huge_pages));
    }
  }
  if (!HasOption(options.args, {"-l", "-c", "-s", "--lcores"})) {
    std::vector<uint32_t> cpus = options.control_cpus;
    if (cpus.empty()) cpus = AllowedCpus();
    if (cpus.empty()) return absl::InternalError("this process may run on no CPU that EAL knows");
    // Lcore 0 for any of them: CPU numbers may be beyond what EAL can number lcores by.
    args.push_back("--lcores");
    args.push_back(absl::StrCat("0@(", absl::StrJoin(cpus, ","), ")"));
  }
  if (!HasOption(options.args, {"-a", "--allow", "-b", "--block", "--no-pci"})) {
    args.push_back("-a");
    args.push_back(kNoDevice);
  }
  if (!HasOption(options.args, {"--telemetry", "--no-telemetry"})) args.push_back("--no-telemetry");
  return args;
}

absl::Status StartEal(const EalOptions& options) {
  if (started.exchange(true)) return absl::FailedPreconditionError("DPDK was started before");
  KeepAffinity keep;
  if (!options.control_cpus.empty()) {
    // EAL's own threads inherit it.
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const uint32_t cpu : options.control_cpus) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set); error != 0) {
      return absl::InvalidArgumentError(absl::StrCat("control CPUs ", absl::StrJoin(options.control_cpus, ","),
                                                     " cannot be used: ", std::strerror(error)));
    }
  }
  EalLog::Open(options.log);
  EalComplaints said;

  constexpr uint32_t kNeeded = 64;
  const bool huge = options.huge_pages == HugePages::kDetect && HugePagesUsable(kNeeded);
  const absl::StatusOr<std::vector<std::string>> args = EalArguments(options, huge);
  if (!args.ok()) return args.status();
  const bool no_huge = HasOption(*args, {"--no-huge"});
  if (no_huge && options.log) {
    options.log(absl::LogSeverity::kWarning, "no huge pages can be used: running without, packets will be slower");
  } else if (no_huge) {
    std::fprintf(stderr, "no huge pages can be used: running without, packets will be slower\n");
  }

  // EAL keeps pointers into its arguments.
  static auto* kept = new std::vector<std::string>;
  kept->push_back("sluiced");
  kept->insert(kept->end(), args->begin(), args->end());
  static auto* argv = new std::vector<char*>;
  for (std::string& arg : *kept) argv->push_back(arg.data());
  argv->push_back(nullptr);
  const int used = rte_eal_init(static_cast<int>(kept->size()), argv->data());
  if (used < 0) return EalFailure(rte_errno, said.text());
  if (used + 1 < static_cast<int>(kept->size())) {
    return absl::InvalidArgumentError(absl::StrCat("EAL does not know the argument '", (*argv)[used + 1], "'"));
  }
  uses_huge_pages = !no_huge;
  return absl::OkStatus();
}

bool EalUsesHugePages() { return uses_huge_pages; }

}  // namespace sluice
