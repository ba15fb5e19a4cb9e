// The grammar of `sluicectl explain`.
#ifndef SLUICE_CLIENT_GRAMMAR_EXPLAIN_H_
#define SLUICE_CLIENT_GRAMMAR_EXPLAIN_H_

#include "absl/status/status.h"
#include "client/grammar/command.h"
#include "client/grammar/words.h"

namespace sluice::client {

// Parses "--port up0 --dst 10.0.0.1 ..."; the dashes may be left out. Gives kLookup with command->explain, or kHelp.
[[nodiscard]] absl::Status ParseExplain(Words words, Command* command);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_EXPLAIN_H_
