// The gRPC listeners of sluiced: the API, and health for the kubelet's probes.
//
// Why two: probes are plaintext and cannot authenticate, so health has a listener of its own that serves nothing else.
// Both answer for the services "startup", "readiness", "liveness" and "" (= readiness).
//
//   auto server = Server::Start({.listen = {"unix:/run/sluice/sluice.sock"}}, engine);
//   (*server)->SetHealth({.startup = true, .readiness = true, .liveness = true});
//   (*server)->Shutdown(absl::Seconds(5));
//
// Threads: any one thread at a time. Cost: gRPC's own threads.
#ifndef SLUICE_SERVER_RPC_SERVER_H_
#define SLUICE_SERVER_RPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/engine/engine.h"

namespace grpc {
class Server;
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace sluice::rpc {

class SluiceService;

struct ServerOptions {
  std::vector<std::string> listen;  // "unix:PATH" or "HOST:PORT"
  std::string health;               // "HOST:PORT"; empty: no listener for health alone
  bool insecure_tcp = false;        // allow plaintext beyond loopback
};

struct Health {
  bool startup = false;
  bool readiness = false;
  bool liveness = false;
  friend bool operator==(const Health&, const Health&) = default;
};

class Server {
 public:
  // INVALID_ARGUMENT: an address that is none; FAILED_PRECONDITION: plaintext beyond loopback without `insecure_tcp`;
  // UNAVAILABLE: an address that cannot be listened on. The message is one line that names the address.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, engine::Engine& engine);
  ~Server();

  void SetHealth(const Health& health);
  // Refuses new calls, and cancels those that are not over after `drain`.
  void Shutdown(absl::Duration drain);
  // For tests: a channel within the process needs the server itself.
  grpc::Server& api() { return *api_; }

 private:
  Server() = default;
  std::unique_ptr<SluiceService> service_;
  std::unique_ptr<grpc::Server> api_;
  std::unique_ptr<grpc::Server> health_;
};

// OK when `address` may be listened on; otherwise what Start would say. For options that are checked early.
absl::Status CheckListenAddress(const std::string& address, bool insecure_tcp);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_SERVER_H_
