// The help texts of `sluicectl` and of each object.
#ifndef SLUICE_CLIENT_GRAMMAR_HELP_H_
#define SLUICE_CLIENT_GRAMMAR_HELP_H_

#include "absl/strings/string_view.h"

namespace sluice::client {

extern const absl::string_view kHelpIp;
extern const absl::string_view kHelpLink;
extern const absl::string_view kHelpAddress;
extern const absl::string_view kHelpNeighbor;
extern const absl::string_view kHelpRoute;
extern const absl::string_view kHelpExplain;
extern const absl::string_view kHelpAll;  // sluicectl --help

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_HELP_H_
