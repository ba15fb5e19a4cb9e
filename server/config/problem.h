// Refusals: a reason by name, the one status code that belongs to it, the field at fault, and a sentence.
//
//   return Refuse("UNKNOWN_LINK", "object.route.nexthops[0].link", "there is no link \"up9\"");
//
// Threads: any. Cost: a search in a short table.
#ifndef SLUICE_SERVER_CONFIG_PROBLEM_H_
#define SLUICE_SERVER_CONFIG_PROBLEM_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/objects.h"

namespace sluice::config {

// The code of a reason that config can give (proto/sluice/v1/reason.proto says it for each); kInternal for any other.
absl::StatusCode CodeOfReason(absl::string_view reason);

// A problem with the code of its reason. `field` is the path from the operation on.
Problem Refuse(absl::string_view reason, std::string field, std::string message);

// The status of a refused batch: the code of the first problem, and a message that tells it and how many there are.
absl::Status StatusOf(const Problem& first, size_t problems);

// Every reason that config gives, for the test that compares them with the proto.
std::vector<std::pair<absl::string_view, absl::StatusCode>> AllReasons();

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_PROBLEM_H_
