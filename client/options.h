// The options of sluicectl: iproute2's, and its own.
//
// A new option is a row in options.cc. iproute2's may be abbreviated and written with one dash or two; they are taken
// before and after the word `ip`.
#ifndef SLUICE_CLIENT_OPTIONS_H_
#define SLUICE_CLIENT_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/grammar/command.h"
#include "client/grammar/words.h"
#include "client/output/style.h"
#include "sluice/v1/commit.pb.h"

namespace sluice::client {

struct Options {
  std::string server;  // empty: the default
  Style style;
  IpOptions ip;
  std::optional<std::string> batch;  // a file, or "-"
  bool force = false;
  bool help = false;
  bool version = false;
  v1::CommitOptions commit;
  std::optional<std::chrono::milliseconds> timeout;
};

// Takes all options at the front of `words`. Refused with the text and code of words.h.
[[nodiscard]] absl::Status TakeOptions(Words& words, Options* options);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OPTIONS_H_
