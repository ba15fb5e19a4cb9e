// sluicectl without its main(): a command in, output and an exit code out.
//
// Why: so that tests can run whole commands against a server in the same process.
//
//   Environment environment;
//   environment.out = [](absl::string_view text) { ... };
//   int code = Run({"-j", "ip", "route"}, environment);
//
// Exit codes are iproute2's: 0 done; 1 a wrong value, no server, a failed batch; 2 refused by the server; 255 wrong
// usage.
//
// Threads: any; an Environment belongs to one call.
#ifndef SLUICE_CLIENT_RUN_H_
#define SLUICE_CLIENT_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/connection.h"
#include "client/output/style.h"

namespace sluice::client {

inline constexpr int kExitFailed = 1, kExitRefused = 2, kExitUsage = 255;

struct Environment {
  Sink out;  // standard output
  Sink err;  // standard error
  // Where to connect to without --server.
  std::string server = kDefaultServer;
  std::function<std::unique_ptr<Connection>(const std::string& server)> connect = [](const std::string& server) {
    return std::make_unique<Connection>(server);
  };
  int input = 0;  // the file descriptor of "-batch -"
};

// Runs `words`, the command line without the program's name.
int Run(const std::vector<std::string>& words, const Environment& environment);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_RUN_H_
