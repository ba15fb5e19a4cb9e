// EAL starts once for a process, so tests of devices share one main: in a network namespace of its own, without huge
// pages.
#include "dataplane/port/port_test_main.h"

#include <rte_eal.h>
#include <sched.h>

#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "dataplane/port/eal.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Mutex mutex(absl::kConstInit);
std::vector<std::string>* lines ABSL_GUARDED_BY(mutex) = new std::vector<std::string>;

}  // namespace

std::vector<std::string> LoggedComplaints() {
  absl::MutexLock lock(&mutex);
  return *lines;
}

}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (unshare(CLONE_NEWNET) != 0) {
    std::perror("these tests need to make a network namespace (root)");
    return 1;
  }
  sluice::EalOptions options;
  options.huge_pages = sluice::HugePages::kNever;
  options.megabytes_without_huge_pages = 4096;  // pools are kept, and tests want many kinds
  options.log = [](absl::LogSeverity severity, absl::string_view line) {
    if (severity == absl::LogSeverity::kInfo) return;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    absl::MutexLock lock(&sluice::mutex);
    sluice::lines->emplace_back(line);
  };
  if (const absl::Status s = sluice::StartEal(options); !s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
