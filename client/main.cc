// sluicectl.
#include <errno.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/run.h"

namespace {

// Writes all of `text`; ends the program when nobody reads any more.
void Write(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      _exit(sluice::client::kExitFailed);
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  sluice::client::Environment environment;
  environment.out = [](absl::string_view text) { Write(STDOUT_FILENO, text); };
  environment.err = [](absl::string_view text) { Write(STDERR_FILENO, text); };
  environment.input = STDIN_FILENO;
  if (const char* server = std::getenv("SLUICE_SERVER"); server != nullptr && *server != '\0') {
    environment.server = server;
  }
  return sluice::client::Run(std::vector<std::string>(argv + 1, argv + argc), environment);
}
