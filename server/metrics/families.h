// The catalogue: Facts as metric families.
//
//   std::vector<prometheus::MetricFamily> families = FamiliesOf(facts);
//   prometheus::TextSerializer().Serialize(out, families);
//
// Every family of the catalogue is there from the first scrape on, with zeros. Threads: pure. Cost: some microseconds a
// hundred series.
#ifndef SLUICE_SERVER_METRICS_FAMILIES_H_
#define SLUICE_SERVER_METRICS_FAMILIES_H_

#include <vector>

#include "prometheus/metric_family.h"
#include "server/metrics/facts.h"

namespace sluice::metrics {

std::vector<prometheus::MetricFamily> FamiliesOf(const Facts& facts);

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_FAMILIES_H_
