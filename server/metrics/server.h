// The HTTP listener that Prometheus scrapes: GET /metrics, and a page at / that says so.
//
//   auto server = MetricsServer::Start("0.0.0.0:9342", collector);
//
// Plaintext, as Prometheus expects inside a cluster; what it shows are numbers and names of ports. civetweb rather than
// prometheus-cpp's Exposer, which can serve nothing else beside.
//
// Threads: its own two. Cost: none between scrapes.
#ifndef SLUICE_SERVER_METRICS_SERVER_H_
#define SLUICE_SERVER_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct mg_context;
namespace prometheus {
class Collectable;
}

namespace sluice::metrics {

class MetricsServer {
 public:
  // `address` is HOST:PORT. UNAVAILABLE names the address when it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              std::shared_ptr<prometheus::Collectable> collector);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Where it listens: the port that was chosen when 0 was asked for.
  int port() const;
  // What a scrape returns.
  std::string Scrape() const;

 private:
  explicit MetricsServer(std::shared_ptr<prometheus::Collectable> collector) : collector_(std::move(collector)) {}
  std::shared_ptr<prometheus::Collectable> collector_;
  mg_context* context_ = nullptr;
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_SERVER_H_
