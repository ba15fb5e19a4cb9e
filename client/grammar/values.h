// Addresses, prefixes and MACs as `ip` lets one write them, turned into the texts that the API takes.
//
// Why: `ip` takes "10/8", "10.0.0.0/255.0.0.0" and "default"; the API takes one strict form. A word that is in that
// form already, as those of big files are, is only checked, not built anew.
//
//   std::string text; Family family = Family::kNone;               // kNone: either, and set to what was found
//   if (!PrefixText("10/8", &family, &text)) return Expected("any valid prefix", word);   // "10.0.0.0/8"
//
// Threads: pure functions. Cost: IPv4 some 10 ns, IPv6 some 100 ns.
#ifndef SLUICE_CLIENT_GRAMMAR_VALUES_H_
#define SLUICE_CLIENT_GRAMMAR_VALUES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "dataplane/base/address.h"

namespace sluice::client {

// Whether `word` stands for the whole family: "default", "any", "all".
bool IsDefault(absl::string_view word);

// Each checks `word` against `*family` (any when kNone, and then set), and appends nothing but assigns `*text`. False:
// `word` is no such thing; `*text` and `*family` are then as they were.
//
// An address: "10.0.0.1", "2001:db8::1".
[[nodiscard]] bool AddressText(absl::string_view word, Family* family, std::string* text);
// A prefix or an address: the length may be missing or an IPv4 mask, and trailing IPv4 bytes may be missing. Bits
// beyond the length are kept: the server is to judge them.
[[nodiscard]] bool PrefixText(absl::string_view word, Family* family, std::string* text);
// What IsDefault() stands for: "0.0.0.0/0" or "::/0".
absl::string_view DefaultPrefixText(Family family);

// "inet" or "inet6", as iproute2 names families; kNone is "any".
absl::string_view FamilyWord(Family family);
// The family of a text in the API's form.
inline Family FamilyOfText(absl::string_view text) {
  return text.find(':') == absl::string_view::npos ? Family::kIpv4 : Family::kIpv6;
}

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_VALUES_H_
