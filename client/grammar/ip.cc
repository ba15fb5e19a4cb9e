#include "client/grammar/ip.h"

#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"

namespace sluice::client {
namespace {

absl::Status ParseHelp(const IpOptions&, Words, Command* command) {
  command->kind = Command::Kind::kHelp;
  command->help = kHelpIp;
  return absl::OkStatus();
}

// In the order in which abbreviations are tried.
constexpr VerbRow kObjects[] = {
    {"address", ParseAddress},    {"route", ParseRoute}, {"neighbor", ParseNeighbor},
    {"neighbour", ParseNeighbor}, {"link", ParseLink},   {"help", ParseHelp},
};

}  // namespace

absl::Status ParseIp(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return ParseHelp(options, words, command);
  const absl::string_view word = words.take();
  for (const VerbRow& row : kObjects) {
    if (Abbreviates(word, row.name)) return row.parse(options, words, command);
  }
  return Failed(absl::StrCat("Object \"", word, "\" is unknown, try \"ip help\"."));
}

}  // namespace sluice::client
