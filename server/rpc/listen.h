// Addresses to listen on: what they are, and why one cannot be used. gRPC says only that it failed.
//
// Threads: any.
#ifndef SLUICE_SERVER_RPC_LISTEN_H_
#define SLUICE_SERVER_RPC_LISTEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice::rpc {

struct ListenAddress {
  std::string text;       // as gRPC takes it
  std::string unix_path;  // empty: TCP
  std::string host;
  std::string port;
  bool loopback = false;  // reachable from this host only
};

// "unix:PATH" or "HOST:PORT" ("[::1]:9340"). INVALID_ARGUMENT names the text.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// Tries to bind, and makes way for it: creates the directory of a Unix socket, and removes a socket that nobody
// listens on. UNAVAILABLE with the error of the system.
absl::Status ProbeListenAddress(const ListenAddress& address);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_LISTEN_H_
