#include "dataplane/worker/pipeline.h"

#include <cstdlib>

#include "absl/strings/string_view.h"

#define SLUICE_ENTRY(name) \
  extern "C" void name(sluice::WorkerContext&, const sluice::Snapshot&, uint16_t, rte_mbuf**, uint32_t)
SLUICE_ENTRY(sluice_pipeline_v2);
SLUICE_ENTRY(sluice_pipeline_v3);
SLUICE_ENTRY(sluice_pipeline_v4);
#undef SLUICE_ENTRY

namespace sluice {

absl::Span<const PipelineLevel> PipelineLevels() {
  static const PipelineLevel kLevels[] = {
      {"x86-64-v2", sluice_pipeline_v2, true},
      {"x86-64-v3", sluice_pipeline_v3,
       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")},
      {"x86-64-v4", sluice_pipeline_v4,
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")},
  };
  return kLevels;
}

const PipelineLevel& ChoosePipeline() {
  const char* wanted = std::getenv("SLUICE_ISA");
  const PipelineLevel* best = &PipelineLevels()[0];
  for (const PipelineLevel& level : PipelineLevels()) {
    if (!level.supported) continue;
    best = &level;
    if (wanted != nullptr && absl::string_view(wanted) == level.name) break;
  }
  return *best;
}

}  // namespace sluice
