// The metrics of sluiced, read from cells at the moment of the scrape.
//
// Why a Collectable: packets count in per-worker cells and nowhere else. A scrape reads them; there is no second set of
// numbers that could disagree, and no cost when nobody looks. Every family is there from the start, with zeros.
//
//   auto collector = std::make_shared<Collector>(engine);
//   for (const prometheus::MetricFamily& family : collector->Collect()) ...
//
// Prefix sluice_, base units, _total on counters only; label `cpu` on worker metrics only ("slow": the slow path).
//
// Threads: any. Cost: some microseconds per worker, and one look at each link and table.
#ifndef SLUICE_SERVER_METRICS_COLLECTOR_H_
#define SLUICE_SERVER_METRICS_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "server/engine/engine.h"

namespace sluice::metrics {

class Collector final : public prometheus::Collectable {
 public:
  // More tables or links than this are left out and counted in sluice_metrics_series_dropped_total.
  static constexpr size_t kMaxSeries = 1000;

  explicit Collector(engine::Engine& engine) : engine_(engine) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  engine::Engine& engine_;
  mutable std::atomic<uint64_t> links_left_out_{0};
  mutable std::atomic<uint64_t> tables_left_out_{0};
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_COLLECTOR_H_
