// `ip address`.
#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

struct AddressWords {
  v1::Address* address;
  Family family;
};

absl::Status TakeLocal(AddressWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!s.address->address().empty()) return Duplicate("local", word);
  if (!PrefixText(word, &s.family, s.address->mutable_address())) {
    return Expected(s.family == Family::kNone ? "any valid prefix" : absl::StrCat(FamilyWord(s.family), " prefix"),
                    word);
  }
  return absl::OkStatus();
}

absl::Status TakeMetric(AddressWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> metric = ParseNumber(word);
  if (!metric.has_value()) return Wrong(word, "\"metric\" value is invalid\n");
  s.address->set_metric(*metric);
  return absl::OkStatus();
}

absl::Status TakeLifetime(AddressWords&, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (word != "forever") return Wrong(word, "only \"forever\" is supported as a lifetime");
  return absl::OkStatus();
}

constexpr Keyword<AddressWords> kAddressKeywords[] = {
    {"dev", kExact,
     [](AddressWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       s.address->set_link(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"local", kExact, TakeLocal},
    {"scope", kExact,
     [](AddressWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const v1::Scope scope = ScopeOf(word);
       if (scope == v1::SCOPE_UNSPECIFIED) return Wrong(word, "invalid scope value.");
       s.address->set_scope(scope);
       return absl::OkStatus();
     }},
    {"metric", kExact, TakeMetric},
    {"priority", kExact, TakeMetric},
    {"preference", kExact, TakeMetric},
    {"noprefixroute", kExact,
     [](AddressWords& s, Words&) {
       s.address->set_noprefixroute(true);
       return absl::OkStatus();
     }},
    {"valid_lft", kAbbreviable, TakeLifetime},
    {"preferred_lft", kAbbreviable, TakeLifetime},
    {"peer", kExact, nullptr},
    {"remote", kExact, nullptr},
    {"broadcast", kAbbreviable, nullptr},
    {"brd", kExact, nullptr},
    {"anycast", kExact, nullptr},
    {"label", kExact, nullptr},
    {"home", kExact, nullptr},
    {"mngtmpaddr", kExact, nullptr},
    {"nodad", kExact, nullptr},
    {"optimistic", kExact, nullptr},
    {"autojoin", kExact, nullptr},
    {"proto", kExact, nullptr},
};

template <v1::Verb verb>
absl::Status Change(const IpOptions& options, Words words, Command* command) {
  command->operation->set_verb(verb);
  AddressWords state{command->operation->mutable_object()->mutable_address(), options.family};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kAddressKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    if (absl::Status s = TakeLocal(state, words); !s.ok()) return s;
  }
  if (state.address->link().empty()) return Failed("Not enough information: \"dev\" argument is required.");
  if (state.address->address().empty()) return Usage("Error: an address is required.");
  return absl::OkStatus();
}

struct SelectWords {
  Query* query;
  Family family;
  v1::Address& match() { return *query->request.mutable_selectors(0)->mutable_match()->mutable_address(); }
};

constexpr Keyword<SelectWords> kSelectKeywords[] = {
    {"to", kExact,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       std::string text;
       if (!PrefixText(word, &s.family, &text)) return Expected("any valid prefix", word);
       absl::StatusOr<IpPrefix> prefix = IpPrefix::Parse(text);
       if (!prefix.ok()) return Failed(absl::StrCat("Error: \"", word, "\" has bits set beyond its length."));
       s.query->root = *prefix;
       s.query->cascade_empty = true;
       return absl::OkStatus();
     }},
    {"scope", kExact,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (word == "all") return absl::OkStatus();
       const v1::Scope scope = ScopeOf(word);
       if (scope == v1::SCOPE_UNSPECIFIED) return Wrong(word, "invalid \"scope\"\n");
       s.match().set_scope(scope);
       s.query->cascade_empty = true;
       return absl::OkStatus();
     }},
    {"up", kExact,
     [](SelectWords& s, Words&) {
       s.query->up_only = true;
       return absl::OkStatus();
     }},
    {"dev", kExact,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!s.query->link.empty()) return Duplicate("dev", word);
       s.query->link = std::string(word);
       return absl::OkStatus();
     }},
    {"label", kExact, nullptr},
    {"group", kExact, nullptr},
    {"master", kExact, nullptr},
    {"vrf", kExact, nullptr},
    {"type", kExact, nullptr},
    {"permanent", kExact, nullptr},
    {"dynamic", kExact, nullptr},
    {"secondary", kExact, nullptr},
    {"primary", kExact, nullptr},
    {"tentative", kExact, nullptr},
    {"deprecated", kExact, nullptr},
    {"dadfailed", kExact, nullptr},
    {"temporary", kExact, nullptr},
};

absl::Status ParseSelection(const IpOptions& options, Command::Kind kind, Words words, Command* command) {
  const bool flush = kind == Command::Kind::kFlush;
  if (flush && words.done()) return Failed("Flush requires arguments.");
  Query& query = StartQuery(Noun::kAddress, kind, options, command);
  SelectWords state{&query, options.family};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kSelectKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    const absl::string_view word = words.take();
    if (!query.link.empty()) return Duplicate("dev", word);
    query.link = std::string(word);
  }
  if (state.family != Family::kNone) {
    query.request.mutable_selectors(0)->set_family(ToProto(state.family));
    query.cascade_empty = true;
  }
  if (!query.link.empty()) state.match().set_link(query.link);
  if (flush) {
    if (query.up_only) return NotSupported("up");
    if (SelectorSuffices(query)) {
      command->kind = Command::Kind::kChange;
      command->operation->set_verb(v1::VERB_FLUSH);
      *command->operation->mutable_selector() = query.request.selectors(0);
    }
    return absl::OkStatus();
  }
  // An address is shown under its link.
  v1::Link& link = *query.request.add_selectors()->mutable_match()->mutable_link();
  if (!query.link.empty()) link.set_name(query.link);
  return absl::OkStatus();
}

absl::Status Show(const IpOptions& options, Words words, Command* command) {
  return ParseSelection(options, Command::Kind::kShow, words, command);
}

absl::Status Flush(const IpOptions& options, Words words, Command* command) {
  return ParseSelection(options, Command::Kind::kFlush, words, command);
}

constexpr VerbRow kVerbs[] = {
    {"add", Change<v1::VERB_ADD>},
    {"change", Change<v1::VERB_CHANGE>},
    {"chg", Change<v1::VERB_CHANGE>},
    {"replace", Change<v1::VERB_REPLACE>},
    {"delete", Change<v1::VERB_DELETE>},
    {"show", Show},
    {"list", Show},
    {"lst", Show},
    {"flush", Flush},
    {"help", Help<kHelpAddress>},
};

}  // namespace

absl::Status ParseAddress(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return Show(options, words, command);
  return ParseVerb(kVerbs, "ip address help", options, words, command);
}

}  // namespace sluice::client
