#include "client/grammar/ip.h"

#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"

namespace sluice::client {
namespace {

// In the order in which abbreviations are tried.
constexpr VerbRow kObjects[] = {
    {"address", ParseAddress},    {"route", ParseRoute}, {"neighbor", ParseNeighbor},
    {"neighbour", ParseNeighbor}, {"link", ParseLink},   {"help", Help<kHelpIp>},
};

}  // namespace

absl::Status ParseIp(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return Help<kHelpIp>(options, words, command);
  const absl::string_view word = words.take();
  for (const VerbRow& row : kObjects) {
    if (Abbreviates(word, row.name)) return row.parse(options, words, command);
  }
  return Failed(absl::StrCat("Object \"", word, "\" is unknown, try \"ip help\"."));
}

absl::Status ParseVerb(absl::Span<const VerbRow> rows, absl::string_view help, const IpOptions& options, Words words,
                       Command* command) {
  const absl::string_view word = words.take();
  for (const VerbRow& row : rows) {
    if (Abbreviates(word, row.name)) return row.parse(options, words, command);
  }
  return UnknownCommand(word, help);
}

}  // namespace sluice::client
