#include "dataplane/worker/pipeline.h"

#include <cpuid.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

extern "C" {
extern const sluice::PipelineEntries sluice_pipeline_v2;
extern const sluice::PipelineEntries sluice_pipeline_v3;
extern const sluice::PipelineEntries sluice_pipeline_v4;
}

namespace sluice {
namespace {

// The parts of x86-64-v3 that __builtin_cpu_supports does not know.
bool HasMovbeLzcntF16c() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_MOVBE) || !(c & bit_F16C)) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}

}  // namespace

absl::Span<const PipelineLevel> PipelineLevels() {
  static const bool kV3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && HasMovbeLzcntF16c();
  static const bool kV4 = kV3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512cd");
  static const PipelineLevel kLevels[] = {
      {"x86-64-v2", &sluice_pipeline_v2, true},
      {"x86-64-v3", &sluice_pipeline_v3, kV3},
      {"x86-64-v4", &sluice_pipeline_v4, kV4},
  };
  return kLevels;
}

absl::StatusOr<const PipelineLevel*> ChoosePipeline() {
  const char* wanted = std::getenv("SLUICE_ISA");
  const PipelineLevel* best = nullptr;
  for (const PipelineLevel& level : PipelineLevels()) {
    if (wanted != nullptr && *wanted != '\0') {
      if (absl::string_view(wanted) != level.name) continue;
      if (level.supported) return &level;
      return absl::FailedPreconditionError(absl::StrCat("SLUICE_ISA: this CPU is not ", wanted));
    }
    if (level.supported) best = &level;
  }
  if (best != nullptr) return best;
  return absl::InvalidArgumentError(
      absl::StrCat("SLUICE_ISA: no instruction set ", wanted, "; there are x86-64-v2, x86-64-v3 and x86-64-v4"));
}

}  // namespace sluice
