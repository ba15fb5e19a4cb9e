#include "server/metrics/exposer.h"

#include <civetweb.h>

#include <cstring>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "prometheus/text_serializer.h"

namespace sluice::metrics {
namespace {

void Send(mg_connection* connection, absl::string_view status, absl::string_view type, absl::string_view body) {
  const bool head = std::strcmp(mg_get_request_info(connection)->request_method, "HEAD") == 0;
  const std::string header = absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                                          "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n");
  mg_write(connection, header.data(), header.size());
  if (!head) mg_write(connection, body.data(), body.size());
}

bool IsRead(mg_connection* connection) {
  const absl::string_view method = mg_get_request_info(connection)->request_method;
  return method == "GET" || method == "HEAD";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Exposer>> Exposer::Start(const std::string& address, Collect collect) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("metrics address \"", address, "\" is not HOST:PORT"));
  }
  // civetweb takes "PORT" for all IPv4 addresses, else "HOST:PORT".
  const std::string listen = colon == 0 ? address.substr(1) : address;
  const char* options[] = {"listening_ports",    listen.c_str(), "num_threads", "2",
                           "request_timeout_ms", "10000",        nullptr};

  std::unique_ptr<Exposer> exposer(new Exposer(std::move(collect)));
  mg_callbacks callbacks = {};
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  mg_init_library(0);
  exposer->context_ = mg_start(&callbacks, exposer.get(), options);
  if (exposer->context_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on metrics address ", address, " (in use, or not ours?)"));
  }
  mg_server_port ports[1] = {};
  if (mg_get_server_ports(exposer->context_, 1, ports) == 1) exposer->port_ = ports[0].port;
  mg_set_request_handler(exposer->context_, "/metrics$", &Exposer::HandleMetrics, exposer.get());
  mg_set_request_handler(exposer->context_, "/", &Exposer::HandleOther, exposer.get());
  return exposer;
}

Exposer::~Exposer() {
  if (context_ != nullptr) mg_stop(context_);
  mg_exit_library();
}

int Exposer::HandleMetrics(mg_connection* connection, void* self) {
  if (!IsRead(connection)) {
    Send(connection, "405 Method Not Allowed", "text/plain", "GET or HEAD\n");
    return 405;
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, static_cast<Exposer*>(self)->collect_());
  Send(connection, "200 OK", "text/plain; version=0.0.4; charset=utf-8", out.str());
  return 200;
}

int Exposer::HandleOther(mg_connection* connection, void*) {
  if (std::strcmp(mg_get_request_info(connection)->local_uri, "/") == 0 && IsRead(connection)) {
    Send(connection, "200 OK", "text/html; charset=utf-8", "<title>Sluice</title><a href=\"/metrics\">metrics</a>\n");
    return 200;
  }
  Send(connection, "404 Not Found", "text/plain", "only /metrics is here\n");
  return 404;
}

}  // namespace sluice::metrics
