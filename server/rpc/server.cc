#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.pb.h"
#include "server/rpc/listen.h"
#include "server/rpc/service.h"

namespace sluice::rpc {
namespace {

// What one client may cost. The numbers are limits against mistakes and abuse, not for tuning.
constexpr int kMaxConcurrentStreams = 256;
constexpr size_t kQuotaBytes = size_t{512} << 20;
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kMinPingIntervalMs = 10'000;
constexpr int kMaxMetadataBytes = 16 * 1024;

// One builder's worth of everything that both listeners set rather than leave to defaults.
void Configure(grpc::ServerBuilder& builder, const char* name, size_t message_bytes) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(message_bytes));
  builder.SetMaxSendMessageSize(-1);  // our own answers are bounded where they are made
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second sluiced on the same port is an error
  grpc::ResourceQuota quota(name);
  quota.Resize(kQuotaBytes);
  builder.SetResourceQuota(quota);
}

// The health proto, so that reflection can describe grpc.health.v1.Health.
void LinkHealthDescriptor() { (void)grpc::health::v1::HealthCheckRequest::descriptor(); }

}  // namespace

absl::Status CheckListenAddress(const std::string& text, bool insecure_tcp) {
  auto address = ParseListenAddress(text);
  if (!address.ok()) return address.status();
  if (address->loopback || insecure_tcp) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("refusing to serve in plaintext on ", text,
                                                    ": use a Unix socket, a loopback address or --insecure-tcp"));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, engine::Engine& engine) {
  static const bool once = [] {
    LinkHealthDescriptor();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)once;
  std::unique_ptr<Server> server(new Server());
  server->service_ = std::make_unique<SluiceService>(engine);
  grpc::ServerBuilder builder;
  Configure(builder, "api", engine.limits().message_bytes + 4096);
  for (const std::string& text : options.listen) {
    if (auto s = CheckListenAddress(text, options.insecure_tcp); !s.ok()) return s;
    auto address = ParseListenAddress(text);
    if (auto s = ProbeListenAddress(*address); !s.ok()) return s;
    builder.AddListeningPort(text, grpc::InsecureServerCredentials());
  }
  builder.RegisterService(server->service_.get());
  server->api_ = builder.BuildAndStart();
  if (server->api_ == nullptr) return absl::UnavailableError("cannot start the gRPC server");
  if (!options.health.empty()) {
    auto address = ParseListenAddress(options.health);
    if (!address.ok()) return address.status();
    if (auto s = ProbeListenAddress(*address); !s.ok()) return s;
    grpc::ServerBuilder health;
    Configure(health, "health", 4096);
    health.AddListeningPort(options.health, grpc::InsecureServerCredentials());
    server->health_ = health.BuildAndStart();
    if (server->health_ == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options.health));
    }
  }
  server->SetHealth({});
  return server;
}

Server::~Server() { Shutdown(absl::ZeroDuration()); }

void Server::SetHealth(const Health& health) {
  for (grpc::Server* server : {api_.get(), health_.get()}) {
    if (server == nullptr) continue;
    grpc::HealthCheckServiceInterface* service = server->GetHealthCheckService();
    if (service == nullptr) continue;
    service->SetServingStatus("startup", health.startup);
    service->SetServingStatus("readiness", health.readiness);
    service->SetServingStatus("liveness", health.liveness);
    service->SetServingStatus("", health.readiness);
  }
}

void Server::Shutdown(absl::Duration drain) {
  const auto deadline = absl::ToChronoTime(absl::Now() + drain);
  for (grpc::Server* server : {api_.get(), health_.get()}) {
    if (server != nullptr) server->Shutdown(deadline);
  }
  api_.reset();
  health_.reset();
}

}  // namespace sluice::rpc
