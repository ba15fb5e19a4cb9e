// `ip neighbour`.
#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

struct NeighborWords {
  v1::Neighbor* neighbor;
  Family family;
  bool deleting;
};

absl::Status TakeDestination(NeighborWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!s.neighbor->address().empty()) return Duplicate("to", word);
  if (!AddressText(word, &s.family, s.neighbor->mutable_address())) {
    return Expected(absl::StrCat(FamilyWord(s.family), s.family == Family::kNone ? " valid address" : " address"),
                    word);
  }
  return absl::OkStatus();
}

absl::Status TakeNud(NeighborWords& s, absl::string_view word) {
  const v1::NudState nud = NudOf(word);
  if (nud == v1::NUD_STATE_UNSPECIFIED) return Wrong(word, "nud state is bad");
  s.neighbor->set_nud(nud);
  return absl::OkStatus();
}

constexpr Keyword<NeighborWords> kNeighborKeywords[] = {
    {"lladdr", kExact,
     [](NeighborWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!s.neighbor->lladdr().empty()) return Duplicate("lladdr", word);
       if (!MacAddress::Parse(word).ok()) return Failed(absl::StrCat("\"", word, "\" is invalid lladdr."));
       s.neighbor->set_lladdr(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"nud", kExact,
     [](NeighborWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       return TakeNud(s, word);
     }},
    {"dev", kExact,
     [](NeighborWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!s.neighbor->link().empty()) return Duplicate("dev", word);
       s.neighbor->set_link(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"to", kExact, TakeDestination},
    {"permanent", kExact, [](NeighborWords& s, Words&) { return TakeNud(s, "permanent"); }},
    {"noarp", kExact, [](NeighborWords& s, Words&) { return TakeNud(s, "noarp"); }},
    {"proxy", kExact, nullptr},
    {"router", kExact, nullptr},
    {"use", kExact, nullptr},
    {"managed", kExact, nullptr},
    {"extern_learn", kExact, nullptr},
    {"protocol", kExact, nullptr},
};

template <v1::Verb verb>
absl::Status Change(const IpOptions& options, Words words, Command* command) {
  command->operation->set_verb(verb);
  NeighborWords state{command->operation->mutable_object()->mutable_neighbor(), options.family,
                      verb == v1::VERB_DELETE};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kNeighborKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    if (absl::Status s = TakeDestination(state, words); !s.ok()) return s;
  }
  if (state.neighbor->link().empty() || state.neighbor->address().empty()) {
    return Usage("Device and destination are required arguments.");
  }
  // A neighbour is deleted whatever its link-layer address and state.
  if (state.deleting) {
    state.neighbor->clear_lladdr();
    state.neighbor->clear_nud();
  }
  return absl::OkStatus();
}

struct SelectWords {
  Query* query;
  Family family;
  bool nud_given = false;
  uint32_t nud = 0;
  v1::Selector& selector() { return *query->request.mutable_selectors(0); }
  v1::Neighbor& match() { return *selector().mutable_match()->mutable_neighbor(); }
};

absl::Status SelectDestination(SelectWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (IsDefault(word)) return absl::OkStatus();
  std::string text;
  if (!PrefixText(word, &s.family, &text)) return Expected("any valid prefix", word);
  absl::StatusOr<IpPrefix> prefix = IpPrefix::Parse(text);
  if (!prefix.ok()) return Failed(absl::StrCat("Error: \"", word, "\" has bits set beyond its length."));
  if (prefix->is_host()) {
    s.match().set_address(prefix->address.ToString());
  } else {
    s.query->root = *prefix;
  }
  return absl::OkStatus();
}

constexpr uint32_t kAllNud = ~0u;

constexpr Keyword<SelectWords> kSelectKeywords[] = {
    {"dev", kExact,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!s.match().link().empty()) return Duplicate("dev", word);
       s.match().set_link(word.data(), word.size());
       s.query->hide_dev = true;
       return absl::OkStatus();
     }},
    {"nud", kExact,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       s.nud_given = true;
       if (word == "all") {
         s.nud = kAllNud;
         return absl::OkStatus();
       }
       const v1::NudState nud = NudOf(word);
       if (nud == v1::NUD_STATE_UNSPECIFIED) return Wrong(word, "nud state is bad");
       s.nud |= 1u << nud;
       return absl::OkStatus();
     }},
    {"to", kExact, SelectDestination},
    {"unused", kExact, nullptr},
    {"proxy", kExact, nullptr},
    {"vrf", kExact, nullptr},
    {"nomaster", kExact, nullptr},
    {"master", kExact, nullptr},
};

absl::Status ParseSelection(const IpOptions& options, Command::Kind kind, Words words, Command* command) {
  const bool flush = kind == Command::Kind::kFlush;
  if (flush && words.done()) return Failed("Flush requires arguments.");
  Query& query = StartQuery(Noun::kNeighbor, kind, options, command);
  SelectWords state{&query, options.family};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kSelectKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    if (absl::Status s = SelectDestination(state, words); !s.ok()) return s;
  }
  state.selector().set_family(ToProto(state.family));
  constexpr uint32_t kStored = 1u << v1::NUD_STATE_PERMANENT | 1u << v1::NUD_STATE_NOARP;
  if (!flush) {
    query.nud = state.nud_given ? state.nud : kAllNud & ~(1u << v1::NUD_STATE_NOARP);
    return absl::OkStatus();
  }
  // Without `nud`, only what was learned goes: that is all that is neither permanent nor NOARP.
  if (!state.nud_given) {
    state.selector().add_origins(v1::ORIGIN_LEARNED);
  } else {
    if ((state.nud & kStored) != 0) state.selector().add_origins(v1::ORIGIN_CONFIGURED);
    if ((state.nud & ~kStored) != 0) state.selector().add_origins(v1::ORIGIN_LEARNED);
    query.nud = state.nud;
  }
  if (SelectorSuffices(query)) {
    command->kind = Command::Kind::kChange;
    command->operation->set_verb(v1::VERB_FLUSH);
    *command->operation->mutable_selector() = query.request.selectors(0);
  }
  return absl::OkStatus();
}

absl::Status Show(const IpOptions& options, Words words, Command* command) {
  return ParseSelection(options, Command::Kind::kShow, words, command);
}

absl::Status Flush(const IpOptions& options, Words words, Command* command) {
  return ParseSelection(options, Command::Kind::kFlush, words, command);
}

absl::Status Get(const IpOptions& options, Words words, Command* command) {
  Query& query = StartQuery(Noun::kNeighbor, Command::Kind::kGet, options, command);
  NeighborWords state{query.request.mutable_selectors(0)->mutable_match()->mutable_neighbor(), options.family, false};
  while (!words.done()) {
    const absl::string_view word = words.peek();
    if (word == "dev" || word == "to") {
      bool found;
      if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kNeighborKeywords), state, words, &found); !s.ok())
        return s;
    } else if (absl::Status s = TakeDestination(state, words); !s.ok()) {
      return s;
    }
  }
  if (state.neighbor->link().empty() || state.neighbor->address().empty()) {
    return Failed("Device and address are required arguments.");
  }
  return absl::OkStatus();
}

constexpr VerbRow kVerbs[] = {
    {"add", Change<v1::VERB_ADD>},
    {"change", Change<v1::VERB_CHANGE>},
    {"chg", Change<v1::VERB_CHANGE>},
    {"replace", Change<v1::VERB_REPLACE>},
    {"delete", Change<v1::VERB_DELETE>},
    {"get", Get},
    {"show", Show},
    {"lst", Show},
    {"list", Show},
    {"flush", Flush},
    {"help", Help<kHelpNeighbor>},
};

}  // namespace

absl::Status ParseNeighbor(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return Show(options, words, command);
  return ParseVerb(kVerbs, "ip neigh help", options, words, command);
}

}  // namespace sluice::client
