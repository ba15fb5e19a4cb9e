#include "client/options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/grammar/keywords.h"

namespace sluice::client {
namespace {

template <bool Style::*flag>
absl::Status SetStyle(Options& o, Words&) {
  o.style.*flag = true;
  return absl::OkStatus();
}

template <Family family>
absl::Status SetFamily(Options& o, Words&) {
  o.ip.family = family;
  return absl::OkStatus();
}

template <bool Options::*flag>
absl::Status Set(Options& o, Words&) {
  o.*flag = true;
  return absl::OkStatus();
}

absl::Status Ignore(Options&, Words&) { return absl::OkStatus(); }

absl::Status TakeFamily(Options& o, Words& words) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  if (word == "inet") {
    o.ip.family = Family::kIpv4;
  } else if (word == "inet6") {
    o.ip.family = Family::kIpv6;
  } else {
    return Wrong(word, "invalid protocol family\n");
  }
  return absl::OkStatus();
}

absl::Status TakeBatch(Options& o, Words& words) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  o.batch = std::string(word);
  return absl::OkStatus();
}

absl::Status TakeTimeout(Options& o, Words& words) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  double seconds;
  if (!absl::SimpleAtod(word, &seconds) || !(seconds > 0 && seconds <= 86400)) {
    return Wrong(word, "a number of seconds is expected");
  }
  const auto milliseconds = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  o.timeout = milliseconds;
  // The server waits at most 60 s; the call may take longer.
  const int64_t visible = std::min<int64_t>(milliseconds.count(), 60000);
  o.commit.mutable_visible_timeout()->set_seconds(visible / 1000);
  o.commit.mutable_visible_timeout()->set_nanos(static_cast<int32_t>(visible % 1000 * 1000000));
  return absl::OkStatus();
}

// iproute2's, in its order of trying abbreviations.
constexpr Keyword<Options> kIpOptions[] = {
    {"loops", kAbbreviable, nullptr},
    {"family", kAbbreviable, TakeFamily},
    {"4", kExact, SetFamily<Family::kIpv4>},
    {"6", kExact, SetFamily<Family::kIpv6>},
    {"statistics", kAbbreviable, SetStyle<&Style::statistics>},
    {"stats", kAbbreviable, SetStyle<&Style::statistics>},
    {"details", kAbbreviable, SetStyle<&Style::details>},
    {"oneline", kAbbreviable, SetStyle<&Style::oneline>},
    {"force", kAbbreviable, Set<&Options::force>},
    {"batch", kAbbreviable, TakeBatch},
    {"json", kAbbreviable, SetStyle<&Style::json>},
    {"pretty", kAbbreviable, SetStyle<&Style::pretty>},
    {"color", kAbbreviable, Ignore},
    {"help", kAbbreviable, Set<&Options::help>},
    {"Version", kAbbreviable, Set<&Options::version>},
    {"version", kExact, Set<&Options::version>},
    {"brief", kAbbreviable, nullptr},
    {"netns", kAbbreviable, nullptr},
    {"resolve", kAbbreviable, nullptr},
    {"timestamp", kAbbreviable, nullptr},
    {"human-readable", kExact, nullptr},
    {"iec", kExact, nullptr},
    {"all", kAbbreviable, nullptr},
    {"rcvbuf", kAbbreviable, nullptr},
    {"Numeric", kAbbreviable, nullptr},
    {"echo", kExact, nullptr},
};

// Sluice's own.
constexpr Keyword<Options> kOwnOptions[] = {
    {"server", kExact,
     [](Options& o, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status s = w.Value(&word); !s.ok()) return s;
       if (word.empty()) return Wrong(word, "an address is expected");
       o.server = std::string(word);
       return absl::OkStatus();
     }},
    {"validate-only", kExact,
     [](Options& o, Words&) {
       o.commit.set_validate_only(true);
       return absl::OkStatus();
     }},
    {"expected-generation", kExact,
     [](Options& o, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status s = w.Value(&word); !s.ok()) return s;
       uint64_t generation;
       if (!absl::SimpleAtoi(word, &generation)) return Wrong(word, "a generation is expected");
       o.commit.set_expected_generation(generation);
       return absl::OkStatus();
     }},
    {"request-id", kExact,
     [](Options& o, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status s = w.Value(&word); !s.ok()) return s;
       o.commit.set_request_id(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"ack", kExact,
     [](Options& o, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status s = w.Value(&word); !s.ok()) return s;
       if (word != "accepted" && word != "visible") return Wrong(word, "accepted or visible is expected");
       o.commit.set_ack(word == "accepted" ? v1::ACK_ACCEPTED : v1::ACK_VISIBLE);
       return absl::OkStatus();
     }},
    {"timeout", kExact, TakeTimeout},
    {"durable", kExact,
     [](Options& o, Words&) {
       o.commit.set_durable(true);
       return absl::OkStatus();
     }},
    {"comment", kExact,
     [](Options& o, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status s = w.Value(&word); !s.ok()) return s;
       o.commit.set_comment(word.data(), word.size());
       return absl::OkStatus();
     }},
};

}  // namespace

absl::Status TakeOptions(Words& words, Options* options) {
  while (!words.done() && words.peek().size() > 1 && words.peek()[0] == '-') {
    const absl::string_view word = words.take();
    absl::string_view name = absl::StripPrefix(absl::StripPrefix(word, "-"), "-");
    const Keyword<Options>* row = FindKeyword(absl::MakeConstSpan(kOwnOptions), name);
    std::vector<absl::string_view> value;
    // "--server=ADDRESS" is as good as "--server ADDRESS".
    const size_t equals = name.find('=');
    if (row == nullptr && equals != absl::string_view::npos) {
      row = FindKeyword(absl::MakeConstSpan(kOwnOptions), name.substr(0, equals));
      if (row != nullptr) {
        value.push_back(name.substr(equals + 1));
        Words inner(value);
        if (absl::Status s = row->apply(*options, inner); !s.ok()) return s;
        if (!inner.done()) return Wrong(word, "the option takes no value");
        continue;
      }
    }
    if (row == nullptr) row = FindKeyword(absl::MakeConstSpan(kIpOptions), name);
    if (row == nullptr) {
      return Usage(absl::StrCat("Option \"", word, "\" is unknown, try \"sluicectl -help\"."));
    }
    if (row->apply == nullptr) return Usage(absl::StrCat("Option \"", word, "\" is not supported."));
    if (absl::Status s = row->apply(*options, words); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace sluice::client
