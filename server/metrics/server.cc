#include "server/metrics/server.h"

#include <civetweb.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <cstring>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::metrics {
namespace {

void Reply(mg_connection* connection, const char* type, const std::string& body, bool with_body) {
  mg_printf(connection,
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
            "X-Content-Type-Options: nosniff\r\n\r\n",
            type, body.size());
  if (with_body) mg_write(connection, body.data(), body.size());
}

// Anything but GET and HEAD is refused.
bool Allowed(mg_connection* connection, bool* with_body) {
  const char* method = mg_get_request_info(connection)->request_method;
  *with_body = std::strcmp(method, "GET") == 0;
  if (*with_body || std::strcmp(method, "HEAD") == 0) return true;
  mg_printf(connection, "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\n\r\n");
  return false;
}

int ServeMetrics(mg_connection* connection, void* server) {
  bool with_body;
  if (!Allowed(connection, &with_body)) return 405;
  Reply(connection, "text/plain; version=0.0.4; charset=utf-8", static_cast<MetricsServer*>(server)->Scrape(),
        with_body);
  return 200;
}

int ServeIndex(mg_connection* connection, void* /*server*/) {
  bool with_body;
  if (!Allowed(connection, &with_body)) return 405;
  if (std::strcmp(mg_get_request_info(connection)->local_uri, "/") != 0) {
    mg_printf(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return 404;
  }
  Reply(connection, "text/html; charset=utf-8",
        "<!doctype html><title>sluiced</title><p>sluiced: <a href=\"/metrics\">metrics</a></p>\n", with_body);
  return 200;
}

int Silent(const mg_connection* /*connection*/, const char* /*message*/) { return 1; }

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::shared_ptr<prometheus::Collectable> collector) {
  static const unsigned features = mg_init_library(0);
  (void)features;
  std::unique_ptr<MetricsServer> server(new MetricsServer(std::move(collector)));
  const char* options[] = {"listening_ports",
                           address.c_str(),
                           "num_threads",
                           "2",
                           "request_timeout_ms",
                           "10000",
                           "max_request_size",
                           "16384",
                           "enable_keep_alive",
                           "no",
                           "enable_directory_listing",
                           "no",
                           nullptr};
  mg_callbacks callbacks = {};
  callbacks.log_message = &Silent;
  mg_init_data init = {};
  init.callbacks = &callbacks;
  init.configuration_options = options;
  char text[256] = {};
  mg_error_data error = {};
  error.text = text;
  error.text_buffer_size = sizeof text;
  server->context_ = mg_start2(&init, &error);
  if (server->context_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for metrics: ", text));
  }
  mg_set_request_handler(server->context_, "/metrics$", &ServeMetrics, server.get());
  mg_set_request_handler(server->context_, "/", &ServeIndex, server.get());
  return server;
}

MetricsServer::~MetricsServer() {
  if (context_ != nullptr) mg_stop(context_);
}

int MetricsServer::port() const {
  mg_server_port ports[4] = {};
  return mg_get_server_ports(context_, 4, ports) > 0 ? ports[0].port : 0;
}

std::string MetricsServer::Scrape() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, collector_->Collect());
  return out.str();
}

}  // namespace sluice::metrics
