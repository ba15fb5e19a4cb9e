// `ip route`: verbs, and the words of a route.
#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

// What has been read of a route so far.
struct RouteWords {
  v1::Route* route;
  Family family;  // of the prefix; kNone until something tells
  bool has_prefix = false, is_default = false;
  v1::RouteNexthop* leg = nullptr;  // the one nexthop that `via` and `dev` outside of `nexthop` are about

  v1::RouteNexthop& Leg() {
    if (leg == nullptr) leg = route->add_nexthops();
    return *leg;
  }
};

// What has been read of one `nexthop`.
struct LegWords {
  RouteWords* route;
  v1::RouteNexthop* leg;
};

absl::Status TakeNumber(Words& words, absl::string_view keyword, uint32_t* number) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  const std::optional<uint32_t> value = ParseNumber(word);
  if (!value.has_value()) return Wrong(word, absl::StrCat("\"", keyword, "\" value is invalid\n"));
  *number = *value;
  return absl::OkStatus();
}

absl::Status TakePrefix(RouteWords& s, absl::string_view word) {
  if (s.has_prefix) return Garbage("to", word);
  s.has_prefix = true;
  if (IsDefault(word)) {
    s.is_default = true;
    return absl::OkStatus();
  }
  if (!PrefixText(word, &s.family, s.route->mutable_prefix())) {
    return Expected(s.family == Family::kNone ? "any valid prefix" : absl::StrCat(FamilyWord(s.family), " prefix"),
                    word);
  }
  return absl::OkStatus();
}

// "[inet|inet6] ADDRESS". IPv4 goes via IPv6 only when that is said.
absl::Status TakeGateway(RouteWords& s, v1::RouteNexthop& leg, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  Family family = s.family;
  bool said = true;
  if (word == "inet") {
    family = Family::kIpv4;
  } else if (word == "inet6") {
    family = Family::kIpv6;
  } else {
    said = false;
  }
  if (said) {
    if (absl::Status status = words.Value(&word); !status.ok()) return status;
  }
  if (!leg.gateway().empty()) return Duplicate("via", word);
  if (!AddressText(word, &family, leg.mutable_gateway())) {
    return Expected(absl::StrCat(FamilyWord(family), family == Family::kNone ? " valid address" : " address"), word);
  }
  if (!said && s.family == Family::kNone) s.family = family;
  return absl::OkStatus();
}

absl::Status TakeDevice(v1::RouteNexthop& leg, Words& words) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  leg.set_link(word.data(), word.size());
  return absl::OkStatus();
}

constexpr Keyword<LegWords> kLegKeywords[] = {
    {"via", kExact, [](LegWords& s, Words& w) { return TakeGateway(*s.route, *s.leg, w); }},
    {"dev", kExact, [](LegWords& s, Words& w) { return TakeDevice(*s.leg, w); }},
    {"weight", kExact,
     [](LegWords& s, Words& w) -> absl::Status {
       uint32_t weight = 0;
       if (absl::Status status = TakeNumber(w, "weight", &weight); !status.ok()) return status;
       if (weight == 0 || weight > 256) return Wrong(absl::StrCat(weight), "\"weight\" is invalid\n");
       s.leg->set_weight(weight);
       return absl::OkStatus();
     }},
    {"onlink", kExact,
     [](LegWords& s, Words&) {
       s.leg->set_onlink(true);
       return absl::OkStatus();
     }},
    {"encap", kExact, nullptr},
    {"realms", kAbbreviable, nullptr},
    {"pervasive", kExact, nullptr},
    {"as", kExact, nullptr},
};

absl::Status TakeNexthop(RouteWords& s, Words& words) {
  LegWords leg{&s, s.route->add_nexthops()};
  if (words.done()) return Incomplete();
  while (!words.done()) {
    bool found;
    if (absl::Status status = ApplyKeyword(absl::MakeConstSpan(kLegKeywords), leg, words, &found); !status.ok()) {
      return status;
    }
    if (!found) break;
  }
  return absl::OkStatus();
}

absl::Status TakeTable(RouteWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> table = TableOf(word);
  if (!table.has_value()) return Wrong(word, "\"table\" value is invalid\n");
  s.route->set_table(*table);
  return absl::OkStatus();
}

absl::Status TakeMetric(RouteWords& s, Words& words) {
  uint32_t metric = 0;
  if (absl::Status status = TakeNumber(words, "metric", &metric); !status.ok()) return status;
  s.route->set_metric(metric);
  return absl::OkStatus();
}

absl::Status TakeTos(RouteWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> tos = TosOf(word);
  if (!tos.has_value()) return Wrong(word, "\"tos\" value is invalid\n");
  s.route->set_tos(*tos);
  return absl::OkStatus();
}

absl::Status TakeProtocol(RouteWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> protocol = ProtocolOf(word);
  if (!protocol.has_value()) return Wrong(word, "\"protocol\" value is invalid\n");
  s.route->set_protocol(*protocol);
  return absl::OkStatus();
}

absl::Status TakeScope(RouteWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const v1::Scope scope = ScopeOf(word);
  if (scope == v1::SCOPE_UNSPECIFIED) return Wrong(word, "invalid \"scope\" value\n");
  s.route->set_scope(scope);
  return absl::OkStatus();
}

absl::Status TakeSource(RouteWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!AddressText(word, &s.family, s.route->mutable_prefsrc())) {
    return Expected(absl::StrCat(FamilyWord(s.family), s.family == Family::kNone ? " valid address" : " address"),
                    word);
  }
  return absl::OkStatus();
}

absl::Status TakeMtu(RouteWords& s, Words& words) {
  if (words.peek() == "lock") {
    words.take();
    s.route->set_mtu_locked(true);
  }
  uint32_t mtu = 0;
  if (absl::Status status = TakeNumber(words, "mtu", &mtu); !status.ok()) return status;
  s.route->set_mtu(mtu);
  return absl::OkStatus();
}

constexpr Keyword<RouteWords> kRouteKeywords[] = {
    {"src", kExact, TakeSource},
    {"via", kExact, [](RouteWords& s, Words& w) { return TakeGateway(s, s.Leg(), w); }},
    {"dev", kExact, [](RouteWords& s, Words& w) { return TakeDevice(s.Leg(), w); }},
    {"oif", kExact, [](RouteWords& s, Words& w) { return TakeDevice(s.Leg(), w); }},
    {"tos", kExact, TakeTos},
    {"dsfield", kAbbreviable, TakeTos},
    {"metric", kAbbreviable, TakeMetric},
    {"priority", kAbbreviable, TakeMetric},
    {"preference", kExact, TakeMetric},
    {"scope", kExact, TakeScope},
    {"mtu", kExact, TakeMtu},
    {"protocol", kAbbreviable, TakeProtocol},
    {"table", kAbbreviable, TakeTable},
    {"onlink", kExact,
     [](RouteWords& s, Words&) {
       s.Leg().set_onlink(true);
       return absl::OkStatus();
     }},
    {"nexthop", kExact, TakeNexthop},
    {"counted", kExact,
     [](RouteWords& s, Words&) {
       s.route->set_counted(true);
       return absl::OkStatus();
     }},
    {"to", kExact,
     [](RouteWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       return TakePrefix(s, word);
     }},
    // The preference of IPv6 router advertisements: every route has the middle one.
    {"pref", kExact,
     [](RouteWords&, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       return word == "medium" ? absl::OkStatus() : Wrong(word, "only \"medium\" is supported as \"pref\"");
     }},
    {"from", kExact, nullptr},
    {"nhid", kExact, nullptr},
    {"encap", kExact, nullptr},
    {"expires", kAbbreviable, nullptr},
    {"realms", kAbbreviable, nullptr},
    {"hoplimit", kAbbreviable, nullptr},
    {"advmss", kAbbreviable, nullptr},
    {"reordering", kAbbreviable, nullptr},
    {"rtt", kExact, nullptr},
    {"rttvar", kExact, nullptr},
    {"rto_min", kAbbreviable, nullptr},
    {"window", kAbbreviable, nullptr},
    {"cwnd", kExact, nullptr},
    {"initcwnd", kExact, nullptr},
    {"initrwnd", kExact, nullptr},
    {"features", kExact, nullptr},
    {"quickack", kExact, nullptr},
    {"congctl", kExact, nullptr},
    {"ssthresh", kAbbreviable, nullptr},
    {"ttl-propagate", kExact, nullptr},
    {"vrf", kExact, nullptr},
    {"equalize", kExact, nullptr},
    {"pervasive", kExact, nullptr},
};

constexpr absl::string_view kForeignTypes[] = {"multicast", "anycast", "nat", "xresolve"};

template <v1::Verb verb>
absl::Status Change(const IpOptions& options, Words words, Command* command) {
  return ParseRouteChange(options, verb, words, command);
}

template <Command::Kind kind>
absl::Status Select(const IpOptions& options, Words words, Command* command) {
  return ParseRouteSelection(options, kind, words, command);
}

absl::Status Refused(const IpOptions&, Words, Command*) {
  return Usage("Error: \"ip route save|restore|showdump|test\" is not supported: use a batch file.");
}

constexpr VerbRow kVerbs[] = {
    {"list", Select<Command::Kind::kShow>},
    {"show", Select<Command::Kind::kShow>},
    {"lst", Select<Command::Kind::kShow>},
    {"get", ParseRouteGet},
    {"add", Change<v1::VERB_ADD>},
    {"change", Change<v1::VERB_CHANGE>},
    {"chg", Change<v1::VERB_CHANGE>},
    {"replace", Change<v1::VERB_REPLACE>},
    {"prepend", Change<v1::VERB_PREPEND>},
    {"append", Change<v1::VERB_APPEND>},
    {"test", Refused},
    {"delete", Change<v1::VERB_DELETE>},
    {"flush", Select<Command::Kind::kFlush>},
    {"save", Refused},
    {"restore", Refused},
    {"showdump", Refused},
    {"help", Help<kHelpRoute>},
};

}  // namespace

absl::Status ParseRouteChange(const IpOptions& options, v1::Verb verb, Words words, Command* command) {
  if (words.done()) return Usage(kHelpRoute);
  command->kind = Command::Kind::kChange;
  command->operation->set_verb(verb);
  RouteWords state{command->operation->mutable_object()->mutable_route(), options.family};

  while (!words.done()) {
    bool found;
    const absl::string_view word = words.peek();
    if (absl::Status s = ApplyKeyword(absl::MakeConstSpan(kRouteKeywords), state, words, &found); !s.ok()) return s;
    if (found) continue;
    words.take();
    // "[TYPE] PREFIX", once, and of a type only before the prefix.
    if (!state.has_prefix && state.route->type() == v1::ROUTE_TYPE_UNSPECIFIED) {
      const v1::RouteType type = RouteTypeOf(word);
      if (type != v1::ROUTE_TYPE_UNSPECIFIED) {
        state.route->set_type(type);
        if (words.done()) return Incomplete();
        continue;
      }
      for (absl::string_view foreign : kForeignTypes) {
        if (word == foreign) return NotSupported(word);
      }
    }
    if (absl::Status s = TakePrefix(state, word); !s.ok()) return s;
  }

  if (!state.has_prefix) return Usage("Error: a route needs a prefix.");
  if (state.is_default) {
    const absl::string_view text = DefaultPrefixText(state.family);
    state.route->set_prefix(text.data(), text.size());
  }
  if (state.leg != nullptr && state.route->nexthops_size() > 1) {
    return Usage("Error: \"via\" and \"dev\" outside of \"nexthop\" do not go with \"nexthop\".");
  }
  return absl::OkStatus();
}

absl::Status ParseRoute(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return ParseRouteSelection(options, Command::Kind::kShow, words, command);
  return ParseVerb(kVerbs, "ip route help", options, words, command);
}

}  // namespace sluice::client
