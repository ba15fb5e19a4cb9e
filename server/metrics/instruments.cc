#include "server/metrics/instruments.h"

namespace sluice::metrics {

Instruments::Instruments() {
  auto& applied = prometheus::BuildCounter()
                      .Name("sluice_config_apply_total")
                      .Help("Commits by result: ok, refused (the request was at fault), failed (the server was)")
                      .Register(registry_);
  for (const char* result : {"ok", "refused", "failed"}) applied_[result] = &applied.Add({{"result", result}});

  auto& seconds = prometheus::BuildHistogram()
                      .Name("sluice_config_apply_seconds")
                      .Help("Time that commits spend in each stage")
                      .Register(registry_);
  const prometheus::Histogram::BucketBoundaries bounds = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2,
                                                          3e-2, 0.1,  0.3,  1,    3,    10};
  constexpr std::array<const char*, kStages> kNames = {"validate", "store", "build", "publish", "visible"};
  for (size_t i = 0; i < kStages; ++i) stages_[i] = &seconds.Add({{"stage", kNames[i]}}, bounds);
}

void Instruments::Applied(const std::string& result) {
  const auto it = applied_.find(result);
  if (it != applied_.end()) it->second->Increment();
}

}  // namespace sluice::metrics
