// The grammar of `ip`: words in, a Command out.
//
// The words are those of iproute2 6.1 (man ip-link, ip-address, ip-neighbour, ip-route), with its abbreviations; a word
// that iproute2 knows and Sluice does not do is refused by name. What needs the state of the router (does the link
// exist, is the gateway reachable) is left to the server.
//
//   Command command(&operation);
//   absl::Status s = ParseIp({}, Words({"route", "add", "10/8", "via", "192.0.2.1"}), &command);
//
// A new object is a row in ip.cc, a new keyword a row in the table of its object.
//
// Threads: pure. Cost: under 1 us for a route.
#ifndef SLUICE_CLIENT_GRAMMAR_IP_H_
#define SLUICE_CLIENT_GRAMMAR_IP_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/grammar/command.h"
#include "client/grammar/words.h"

namespace sluice::client {

// Parses what follows `ip` and its options: "route add ...". Refused with iproute2's texts (words.h).
[[nodiscard]] absl::Status ParseIp(const IpOptions& options, Words words, Command* command);

// The objects, each called with the words after its name.
[[nodiscard]] absl::Status ParseLink(const IpOptions& options, Words words, Command* command);
[[nodiscard]] absl::Status ParseAddress(const IpOptions& options, Words words, Command* command);
[[nodiscard]] absl::Status ParseNeighbor(const IpOptions& options, Words words, Command* command);
[[nodiscard]] absl::Status ParseRoute(const IpOptions& options, Words words, Command* command);

// Parts of ParseRoute.
[[nodiscard]] absl::Status ParseRouteChange(const IpOptions& options, v1::Verb verb, Words words, Command* command);
[[nodiscard]] absl::Status ParseRouteSelection(const IpOptions& options, Command::Kind kind, Words words,
                                               Command* command);
[[nodiscard]] absl::Status ParseRouteGet(const IpOptions& options, Words words, Command* command);

// What comes before an object's own keywords: which verb it is.
struct VerbRow {
  absl::string_view name;
  absl::Status (*parse)(const IpOptions& options, Words words, Command* command);
};
// The row that `words` begins with, in the order in which abbreviations are tried, applied to the words after it.
// `help` is what an unknown verb is told to try. There is a first word.
[[nodiscard]] absl::Status ParseVerb(absl::Span<const VerbRow> rows, absl::string_view help, const IpOptions& options,
                                     Words words, Command* command);

// The row `help` of an object: prints its text (help.h).
template <const absl::string_view& kText>
absl::Status Help(const IpOptions&, Words, Command* command) {
  command->kind = Command::Kind::kHelp;
  command->help = kText;
  return absl::OkStatus();
}

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_IP_H_
