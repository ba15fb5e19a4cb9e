#include "client/grammar/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sluice::client {

absl::Status Words::Value(absl::string_view* value) {
  if (done()) return Incomplete();
  *value = take();
  return absl::OkStatus();
}

bool SplitLine(absl::string_view line, std::vector<absl::string_view>* words) {
  words->clear();
  const char* p = line.data();
  const char* const end = p + line.size();
  for (;;) {
    while (p < end && absl::ascii_isspace(static_cast<unsigned char>(*p))) ++p;
    if (p == end || *p == '#') return true;
    if (*p == '\'' || *p == '"') {
      const char quote = *p++;
      const char* start = p;
      while (p < end && *p != quote) ++p;
      if (p == end) return false;
      words->emplace_back(start, p - start);
      ++p;
    } else {
      const char* start = p;
      while (p < end && *p != '#' && !absl::ascii_isspace(static_cast<unsigned char>(*p))) ++p;
      words->emplace_back(start, p - start);
    }
  }
}

absl::Status Usage(absl::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status Failed(absl::string_view text) { return absl::FailedPreconditionError(text); }

absl::Status Incomplete() { return Usage("Command line is not complete. Try option \"help\""); }

absl::Status Wrong(absl::string_view argument, absl::string_view why) {
  return Usage(absl::StrCat("Error: argument \"", argument, "\" is wrong: ", why));
}

absl::Status Duplicate(absl::string_view keyword, absl::string_view second) {
  return Usage(absl::StrCat("Error: duplicate \"", keyword, "\": \"", second, "\" is the second value."));
}

absl::Status Garbage(absl::string_view keyword, absl::string_view word) {
  return Usage(absl::StrCat("Error: either \"", keyword, "\" is duplicate, or \"", word, "\" is a garbage."));
}

absl::Status UnknownCommand(absl::string_view word, absl::string_view help) {
  return Usage(absl::StrCat("Command \"", word, "\" is unknown, try \"", help, "\"."));
}

absl::Status NotSupported(absl::string_view keyword) {
  return Usage(absl::StrCat("Error: \"", keyword, "\" is not supported."));
}

absl::Status Expected(absl::string_view what, absl::string_view word) {
  return Failed(absl::StrCat("Error: ", what, " is expected rather than \"", word, "\"."));
}

int ExitCodeOf(const absl::Status& mistake) {
  if (mistake.ok()) return 0;
  return mistake.code() == absl::StatusCode::kInvalidArgument ? 255 : 1;
}

}  // namespace sluice::client
