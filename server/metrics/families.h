// Putting metric families together: a name, a help, values with their labels.
//
//   Families out;
//   Family& drops = out.Counter("sluice_drops_total", "Packets dropped, by reason.");
//   drops.Add(7, {{"reason", "no_route"}, {"cpu", "2"}});
//   return std::move(out).Take();
//
// Threads: a value. Cost: strings.
#ifndef SLUICE_SERVER_METRICS_FAMILIES_H_
#define SLUICE_SERVER_METRICS_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sluice::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Family {
 public:
  Family(std::string name, std::string help, prometheus::MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }
  void Add(double value, Labels labels = {}) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    (family_.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  void Add(prometheus::ClientMetric::Histogram histogram, Labels labels) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    metric.histogram = std::move(histogram);
  }
  prometheus::MetricFamily Take() && { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

class Families {
 public:
  Family& Counter(std::string name, std::string help) {
    return families_.emplace_back(std::move(name), std::move(help), prometheus::MetricType::Counter);
  }
  Family& Gauge(std::string name, std::string help) {
    return families_.emplace_back(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  }
  Family& Histogram(std::string name, std::string help) {
    return families_.emplace_back(std::move(name), std::move(help), prometheus::MetricType::Histogram);
  }
  std::vector<prometheus::MetricFamily> Take() && {
    std::vector<prometheus::MetricFamily> out;
    for (Family& family : families_) out.push_back(std::move(family).Take());
    return out;
  }

 private:
  std::deque<Family> families_;
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_FAMILIES_H_
