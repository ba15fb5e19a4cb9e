// How output is to look, as the options say.
#ifndef SLUICE_CLIENT_OUTPUT_STYLE_H_
#define SLUICE_CLIENT_OUTPUT_STYLE_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace sluice::client {

struct Style {
  bool json = false;
  bool pretty = false;
  bool statistics = false;
  bool details = false;
  bool oneline = false;
};

// Takes output as it is made.
using Sink = std::function<void(absl::string_view)>;

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OUTPUT_STYLE_H_
