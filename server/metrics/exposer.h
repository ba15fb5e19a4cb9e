// Serves /metrics over plain HTTP.
//
// Why civetweb and not prometheus-cpp's own Exposer: that one cannot serve a second writer or a page beside it.
//
//   absl::StatusOr<std::unique_ptr<Exposer>> exposer = Exposer::Start("0.0.0.0:9342", [&] { return AllFamilies(); });
//
// Threads: `collect` runs on the server's threads, one call for each scrape, at the most two at once. Cost: some
// milliseconds a scrape, on no worker.
#ifndef SLUICE_SERVER_METRICS_EXPOSER_H_
#define SLUICE_SERVER_METRICS_EXPOSER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/metric_family.h"

struct mg_context;
struct mg_connection;

namespace sluice::metrics {

class Exposer {
 public:
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;

  // `address` is HOST:PORT, ":PORT", or "[V6]:PORT"; port 0 takes a free one. INVALID_ARGUMENT for a malformed address;
  // FAILED_PRECONDITION names the address when it cannot be bound.
  static absl::StatusOr<std::unique_ptr<Exposer>> Start(const std::string& address, Collect collect);
  ~Exposer();  // waits for scrapes under way
  Exposer(const Exposer&) = delete;
  Exposer& operator=(const Exposer&) = delete;

  int port() const { return port_; }

 private:
  explicit Exposer(Collect collect) : collect_(std::move(collect)) {}
  static int HandleMetrics(mg_connection* connection, void* self);
  static int HandleOther(mg_connection* connection, void* self);

  Collect collect_;
  mg_context* context_ = nullptr;
  int port_ = 0;
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_EXPOSER_H_
