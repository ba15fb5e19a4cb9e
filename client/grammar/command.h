// What a command of `ip` asks for, in the API's terms.
//
//   v1::Operation* operation = writer.Add();
//   Command command(operation);
//   absl::Status s = ParseIp(IpOptions{}, Words(list), &command);
//   if (s.ok() && command.kind == Command::Kind::kChange) ...          // *operation is filled
//
// Why `operation` comes from outside: a file of a million changes is parsed straight into the message that is sent.
//
// Threads: values.
#ifndef SLUICE_CLIENT_GRAMMAR_COMMAND_H_
#define SLUICE_CLIENT_GRAMMAR_COMMAND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "dataplane/base/address.h"
#include "sluice/v1/commit.pb.h"
#include "sluice/v1/explain.pb.h"
#include "sluice/v1/read.pb.h"

namespace sluice::client {

// Options of `ip` that change what words mean.
struct IpOptions {
  Family family = Family::kNone;
};

enum class Noun : uint8_t { kLink, kAddress, kNeighbor, kRoute };

// What to read, and what of it to show. What the API can choose is in `request`; the rest is for Shows() (query.h).
struct Query {
  Noun noun = Noun::kRoute;
  v1::ReadRequest request;
  std::string link;               // only this link; reading nothing of it means that there is none
  bool up_only = false;           // links that are up
  std::optional<IpPrefix> root;   // prefixes inside this one
  std::optional<IpPrefix> match;  // prefixes that hold this one
  uint32_t nud = ~0u;             // bit per v1::NudState: neighbours in these states
  bool cascade_empty = false;     // kAddress: leave out links without address
  // Fields that the command has fixed are not printed, as iproute2 leaves them out.
  bool hide_table = false, hide_dev = false, hide_via = false, hide_protocol = false, hide_scope = false,
       hide_src = false, hide_tos = false;
};

struct Command {
  enum class Kind : uint8_t {
    kChange,  // *operation
    kShow,    // query
    kFlush,   // remove what the query shows: it asks for more than a Selector can say
    kGet,     // one neighbour: query, and not to find it is an error
    kLookup,  // `ip route get`: explain
    kHelp,    // help
  };

  explicit Command(v1::Operation* op) : operation(op) {}

  Kind kind = Kind::kChange;
  v1::Operation* operation;
  std::unique_ptr<Query> query;
  std::unique_ptr<v1::ExplainRequest> explain;
  absl::string_view help;
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_COMMAND_H_
