// `ip route show`, `ip route flush` and `ip route get`.
#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

struct SelectWords {
  Query* query;
  Family family;
  bool table_given = false, all_tables = false;

  v1::Selector& selector() { return *query->request.mutable_selectors(0); }
  v1::Route& route() { return *selector().mutable_match()->mutable_route(); }
  v1::RouteNexthop& leg() {
    return route().nexthops_size() == 0 ? *route().add_nexthops() : *route().mutable_nexthops(0);
  }
};

absl::Status TakePrefix(SelectWords& s, Words& words, std::string* text, std::optional<IpPrefix>* prefix) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  std::string found;
  if (IsDefault(word)) {
    found = std::string(DefaultPrefixText(s.family));
  } else if (!PrefixText(word, &s.family, &found)) {
    return Expected("any valid prefix", word);
  }
  if (text != nullptr) {
    *text = std::move(found);
    return absl::OkStatus();
  }
  absl::StatusOr<IpPrefix> parsed = IpPrefix::Parse(found);
  if (!parsed.ok()) return Failed(absl::StrCat("Error: \"", word, "\" has bits set beyond its length."));
  *prefix = *parsed;
  return absl::OkStatus();
}

absl::Status TakeAddress(SelectWords& s, Words& words, std::string* text) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  Family family = s.family;
  if (word == "inet" || word == "inet6") {
    family = word == "inet" ? Family::kIpv4 : Family::kIpv6;
    if (absl::Status status = words.Value(&word); !status.ok()) return status;
  }
  if (!AddressText(word, &family, text)) return Expected(absl::StrCat(FamilyWord(family), " address"), word);
  if (s.family == Family::kNone) s.family = family;
  return absl::OkStatus();
}

absl::Status SelectTable(SelectWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  s.table_given = true;
  if (word == "all" || word == "0") {
    s.all_tables = true;
    return absl::OkStatus();
  }
  if (word == "cache") return Usage("Error: there is no route cache.");
  const std::optional<uint32_t> table = TableOf(word);
  if (!table.has_value()) return Wrong(word, "table id value is invalid\n");
  s.route().set_table(*table);
  s.query->hide_table = true;
  return absl::OkStatus();
}

absl::Status SelectLink(SelectWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  s.leg().set_link(word.data(), word.size());
  s.query->hide_dev = true;
  return absl::OkStatus();
}

absl::Status SelectTos(SelectWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> tos = TosOf(word);
  if (!tos.has_value()) return Wrong(word, "TOS value is invalid\n");
  s.route().set_tos(*tos);
  s.query->hide_tos = true;
  return absl::OkStatus();
}

absl::Status SelectMetric(SelectWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> metric = ParseNumber(word);
  if (!metric.has_value()) return Wrong(word, "\"metric\" value is invalid\n");
  s.route().set_metric(*metric);
  return absl::OkStatus();
}

absl::Status SelectExact(SelectWords& s, Words& words) {
  return TakePrefix(s, words, s.route().mutable_prefix(), nullptr);
}

absl::Status SelectRoot(SelectWords& s, Words& words) { return TakePrefix(s, words, nullptr, &s.query->root); }

absl::Status SelectMatch(SelectWords& s, Words& words) { return TakePrefix(s, words, nullptr, &s.query->match); }

constexpr Keyword<SelectWords> kSelectKeywords[] = {
    {"table", kAbbreviable, SelectTable},
    {"tos", kExact, SelectTos},
    {"dsfield", kAbbreviable, SelectTos},
    {"protocol", kAbbreviable,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (word == "all") return absl::OkStatus();
       const std::optional<uint32_t> protocol = ProtocolOf(word);
       if (!protocol.has_value()) return Wrong(word, "invalid \"protocol\"\n");
       s.route().set_protocol(*protocol);
       s.query->hide_protocol = true;
       return absl::OkStatus();
     }},
    {"scope", kAbbreviable,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (word == "all") return absl::OkStatus();
       const v1::Scope scope = ScopeOf(word);
       if (scope == v1::SCOPE_UNSPECIFIED) return Wrong(word, "invalid \"scope\"\n");
       s.route().set_scope(scope);
       s.query->hide_scope = true;
       return absl::OkStatus();
     }},
    {"type", kAbbreviable,
     [](SelectWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const v1::RouteType type = RouteTypeOf(word);
       if (type == v1::ROUTE_TYPE_UNSPECIFIED) return Wrong(word, "node type value is invalid\n");
       s.route().set_type(type);
       return absl::OkStatus();
     }},
    {"dev", kExact, SelectLink},
    {"oif", kExact, SelectLink},
    {"via", kExact,
     [](SelectWords& s, Words& w) {
       s.query->hide_via = true;
       return TakeAddress(s, w, s.leg().mutable_gateway());
     }},
    {"src", kExact,
     [](SelectWords& s, Words& w) {
       s.query->hide_src = true;
       return TakeAddress(s, w, s.route().mutable_prefsrc());
     }},
    {"metric", kAbbreviable, SelectMetric},
    {"priority", kAbbreviable, SelectMetric},
    {"preference", kExact, SelectMetric},
    {"root", kExact, SelectRoot},
    {"match", kExact, SelectMatch},
    {"exact", kExact, SelectExact},
    {"from", kExact, nullptr},
    {"iif", kExact, nullptr},
    {"mark", kExact, nullptr},
    {"vrf", kExact, nullptr},
    {"realms", kAbbreviable, nullptr},
    {"cloned", kAbbreviable, nullptr},
    {"cached", kAbbreviable, nullptr},
};

struct GetWords {
  v1::ExplainRequest* request;
  Family family;
  v1::PacketFields& fields() { return *request->mutable_fields(); }
};

absl::Status GetNumber(Words& words, absl::string_view keyword, uint32_t max, uint32_t* number) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  const std::optional<uint32_t> value = ParseNumber(word);
  if (!value.has_value() || *value > max) return Wrong(word, absl::StrCat("invalid \"", keyword, "\"\n"));
  *number = *value;
  return absl::OkStatus();
}

absl::Status GetDestination(GetWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!s.fields().destination().empty()) return Duplicate("to", word);
  if (!AddressText(word, &s.family, s.fields().mutable_destination())) {
    return Expected(absl::StrCat(FamilyWord(s.family), s.family == Family::kNone ? " valid address" : " address"),
                    word);
  }
  return absl::OkStatus();
}

absl::Status GetTos(GetWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> tos = TosOf(word);
  if (!tos.has_value()) return Wrong(word, "TOS value is invalid\n");
  s.fields().set_tos(*tos);
  return absl::OkStatus();
}

constexpr Keyword<GetWords> kGetKeywords[] = {
    {"to", kExact, GetDestination},
    {"from", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!AddressText(word, &s.family, s.fields().mutable_source())) {
         return Expected(absl::StrCat(FamilyWord(s.family), " address"), word);
       }
       return absl::OkStatus();
     }},
    {"iif", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       s.request->set_link(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"tos", kExact, GetTos},
    {"dsfield", kAbbreviable, GetTos},
    {"mark", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       uint32_t mark = 0;
       if (absl::Status status = GetNumber(w, "mark", ~0u, &mark); !status.ok()) return status;
       s.fields().set_mark(mark);
       return absl::OkStatus();
     }},
    {"ipproto", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const std::optional<uint32_t> protocol = IpProtocolOf(word);
       if (!protocol.has_value()) return Wrong(word, "invalid \"ipproto\" value\n");
       s.fields().set_protocol(*protocol);
       return absl::OkStatus();
     }},
    {"sport", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       uint32_t port = 0;
       if (absl::Status status = GetNumber(w, "sport", 65535, &port); !status.ok()) return status;
       s.fields().set_source_port(port);
       return absl::OkStatus();
     }},
    {"dport", kExact,
     [](GetWords& s, Words& w) -> absl::Status {
       uint32_t port = 0;
       if (absl::Status status = GetNumber(w, "dport", 65535, &port); !status.ok()) return status;
       s.fields().set_destination_port(port);
       return absl::OkStatus();
     }},
    {"oif", kExact, nullptr},
    {"dev", kExact, nullptr},
    {"uid", kExact, nullptr},
    {"vrf", kExact, nullptr},
    {"notify", kAbbreviable, nullptr},
    {"connected", kAbbreviable, nullptr},
    {"fibmatch", kAbbreviable, nullptr},
};

}  // namespace

absl::Status ParseRouteSelection(const IpOptions& options, Command::Kind kind, Words words, Command* command) {
  if (words.peek() == "help") {
    command->kind = Command::Kind::kHelp;
    command->help = kHelpRoute;
    return absl::OkStatus();
  }
  const bool flush = kind == Command::Kind::kFlush;
  if (flush && words.done()) return Failed("\"ip route flush\" requires arguments.");
  Query& query = StartQuery(Noun::kRoute, kind, options, command);
  SelectWords state{&query, options.family};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kSelectKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    // "[to] [root|match|exact] PREFIX", where a prefix alone is an exact one.
    if (words.peek() == "to") words.take();
    const Keyword<SelectWords>* row = FindKeyword(absl::MakeConstSpan(kSelectKeywords), words.peek());
    if (row != nullptr) continue;
    if (absl::Status s = SelectExact(state, words); !s.ok()) return s;
  }
  // Without a family, the words decide, and else `ip route` means IPv4; with `table all`, `ip route show` means both.
  if (state.family == Family::kNone && !state.all_tables) state.family = Family::kIpv4;
  state.selector().set_family(ToProto(state.family));
  if (!state.table_given) {
    state.route().set_table(kTableMain);
  }
  if (flush && SelectorSuffices(query)) {
    command->kind = Command::Kind::kChange;
    command->operation->set_verb(v1::VERB_FLUSH);
    *command->operation->mutable_selector() = query.request.selectors(0);
  }
  return absl::OkStatus();
}

absl::Status ParseRouteGet(const IpOptions& options, Words words, Command* command) {
  command->kind = Command::Kind::kLookup;
  command->explain = std::make_unique<v1::ExplainRequest>();
  GetWords state{command->explain.get(), options.family};
  while (!words.done()) {
    bool found;
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kGetKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    if (absl::Status s = GetDestination(state, words); !s.ok()) return s;
  }
  if (state.fields().destination().empty()) return Failed("need at least a destination address");
  return absl::OkStatus();
}

}  // namespace sluice::client
