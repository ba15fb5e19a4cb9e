// Metrics that are observed when something happens, rather than read at scrape time: commits and their stages.
//
//   Instruments instruments;
//   instruments.Applied("ok");
//   instruments.Stage(Instruments::kBuild, seconds);
//
// Threads: any (prometheus-cpp's own atomics and locks). Cost: some ten nanoseconds; control side only.
#ifndef SLUICE_SERVER_METRICS_INSTRUMENTS_H_
#define SLUICE_SERVER_METRICS_INSTRUMENTS_H_

#include <array>
#include <map>
#include <string>
#include <vector>

#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace sluice::metrics {

class Instruments {
 public:
  enum StageName { kValidate, kStore, kBuild, kPublish, kVisible, kStages };

  Instruments();

  // One commit ended: "ok", "refused" (bad request, conflict), "failed" (server side).
  void Applied(const std::string& result);
  void Stage(StageName stage, double seconds) { stages_[stage]->Observe(seconds); }
  std::vector<prometheus::MetricFamily> Collect() const { return registry_.Collect(); }

 private:
  prometheus::Registry registry_;
  std::map<std::string, prometheus::Counter*> applied_;
  std::array<prometheus::Histogram*, kStages> stages_;
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_INSTRUMENTS_H_
