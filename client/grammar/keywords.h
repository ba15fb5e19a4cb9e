// Tables of keywords: what a word means here, one row each.
//
// Why: adding a keyword is adding a row. The order of the rows is the order in which abbreviations are tried, as in
// iproute2, where "a" is "add" because that row comes first.
//
//   constexpr Keyword<LinkWords> kRows[] = {
//       {"mtu", kExact, [](LinkWords& s, Words& w) { return s.SetMtu(w); }},
//       ...};
//   const Keyword<LinkWords>* row = FindKeyword(absl::MakeSpan(kRows), words.peek());
//
// Threads: constants. Cost: a comparison of the first letter per row.
#ifndef SLUICE_CLIENT_GRAMMAR_KEYWORDS_H_
#define SLUICE_CLIENT_GRAMMAR_KEYWORDS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/grammar/words.h"

namespace sluice::client {

enum Spelling : bool { kExact, kAbbreviable };

template <typename State>
struct Keyword {
  absl::string_view name;
  Spelling spelling;
  // Called with the keyword already taken; null: known, and not supported.
  absl::Status (*apply)(State&, Words&);
};

// The first row that `word` names, or null.
template <typename State>
const Keyword<State>* FindKeyword(absl::Span<const Keyword<State>> rows, absl::string_view word) {
  if (word.empty()) return nullptr;
  for (const Keyword<State>& row : rows) {
    if (row.name[0] != word[0]) continue;
    if (row.spelling == kAbbreviable ? Abbreviates(word, row.name) : word == row.name) return &row;
  }
  return nullptr;
}

// Takes the next word if a row names it, and applies the row. `*found` says whether one did.
template <typename State>
absl::Status ApplyKeyword(absl::Span<const Keyword<State>> rows, State& state, Words& words, bool* found) {
  const Keyword<State>* row = FindKeyword(rows, words.peek());
  *found = row != nullptr;
  if (row == nullptr) return absl::OkStatus();
  const absl::string_view word = words.take();
  if (row->apply == nullptr) return NotSupported(word);
  return row->apply(state, words);
}

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_KEYWORDS_H_
