// The words of a command, and how one says that they are wrong.
//
// Why: every rule of the grammar takes words from the front and may find them wrong; the texts and exit codes of that
// are iproute2's, so they are made in one place.
//
//   Words words(list);
//   absl::string_view value;
//   if (absl::Status s = words.Value(&value); !s.ok()) return s;   // "Command line is not complete..."
//
// A mistake is an absl::Status whose message is the whole text for the user; ExitCodeOf() gives the exit code.
//
// Threads: values. Cost: no allocation unless a word is wrong.
#ifndef SLUICE_CLIENT_GRAMMAR_WORDS_H_
#define SLUICE_CLIENT_GRAMMAR_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::client {

class Words {
 public:
  explicit Words(absl::Span<const absl::string_view> words) : words_(words) {}

  bool done() const { return at_ == words_.size(); }
  size_t left() const { return words_.size() - at_; }
  // The next word, or "" when there is none.
  absl::string_view peek() const { return done() ? absl::string_view() : words_[at_]; }
  // Takes the next word; requires !done().
  absl::string_view take() { return words_[at_++]; }
  // Takes the value of a keyword: Incomplete() when there is none.
  [[nodiscard]] absl::Status Value(absl::string_view* value);

 private:
  absl::Span<const absl::string_view> words_;
  size_t at_ = 0;
};

// Whether `word` is `full`, or the beginning of it (never for an empty word).
inline bool Abbreviates(absl::string_view word, absl::string_view full) {
  return !word.empty() && word.size() <= full.size() && full.substr(0, word.size()) == word;
}

// Splits a line at white space; '...' and "..." hold words together, '#' starts a comment. `words` gets views into
// `line`. False: a quote is not closed.
[[nodiscard]] bool SplitLine(absl::string_view line, std::vector<absl::string_view>* words);

// Mistakes with iproute2's exit code 255.
absl::Status Incomplete();
absl::Status Wrong(absl::string_view argument, absl::string_view why);
absl::Status Duplicate(absl::string_view keyword, absl::string_view second);
absl::Status Garbage(absl::string_view keyword, absl::string_view word);
absl::Status UnknownCommand(absl::string_view word, absl::string_view help);
absl::Status NotSupported(absl::string_view keyword);
absl::Status Usage(absl::string_view text);
// Mistakes with exit code 1: "any valid prefix is expected rather than ...", and other whole texts.
absl::Status Expected(absl::string_view what, absl::string_view word);
absl::Status Failed(absl::string_view text);

// 0 for OK; 255 or 1, as iproute2 has it.
int ExitCodeOf(const absl::Status& mistake);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_WORDS_H_
