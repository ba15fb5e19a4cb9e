// `ip link`.
#include "absl/strings/str_cat.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"

namespace sluice::client {
namespace {

struct LinkWords {
  v1::Link* link;
  google::protobuf::FieldMask* mask;  // null unless only what is named is to change
  bool has_type = false;

  void Named(absl::string_view path) {
    if (mask != nullptr) mask->add_paths(path.data(), path.size());
  }
};

absl::Status TakeName(LinkWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!s.link->name().empty()) return Garbage("dev", word);
  s.link->set_name(word.data(), word.size());
  return absl::OkStatus();
}

absl::Status TakeQueues(Words& words, absl::string_view keyword, uint32_t* queues) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  const std::optional<uint32_t> value = ParseNumber(word);
  if (!value.has_value() || *value == 0) return Wrong(word, absl::StrCat("Invalid \"", keyword, "\" value\n"));
  *queues = *value;
  return absl::OkStatus();
}

template <bool receive>
absl::Status SetQueues(LinkWords& s, Words& words) {
  uint32_t queues = 0;
  if (absl::Status status = TakeQueues(words, receive ? "numrxqueues" : "numtxqueues", &queues); !status.ok()) {
    return status;
  }
  s.Named(receive ? "link.port.rx_queues" : "link.port.tx_queues");
  v1::PortLink& port = *s.link->mutable_port();
  receive ? port.set_rx_queues(queues) : port.set_tx_queues(queues);
  return absl::OkStatus();
}

template <bool up>
absl::Status SetUp(LinkWords& s, Words&) {
  s.link->set_up(up);
  s.Named("link.up");
  return absl::OkStatus();
}

constexpr Keyword<LinkWords> kLinkKeywords[] = {
    {"up", kExact, SetUp<true>},
    {"down", kExact, SetUp<false>},
    {"dev", kExact, TakeName},
    {"mtu", kExact,
     [](LinkWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const std::optional<uint32_t> mtu = ParseNumber(word);
       if (!mtu.has_value()) return Wrong(word, "Invalid \"mtu\" value\n");
       s.link->set_mtu(*mtu);
       s.Named("link.mtu");
       return absl::OkStatus();
     }},
    {"address", kAbbreviable,
     [](LinkWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       if (!MacAddress::Parse(word).ok()) return Failed(absl::StrCat("\"", word, "\" is invalid lladdr."));
       s.link->set_mac(word.data(), word.size());
       s.Named("link.mac");
       return absl::OkStatus();
     }},
    {"numrxqueues", kExact, SetQueues<true>},
    {"numtxqueues", kExact, SetQueues<false>},
    {"alias", kExact, nullptr},
    {"arp", kExact, nullptr},
    {"broadcast", kExact, nullptr},
    {"group", kExact, nullptr},
    {"index", kExact, nullptr},
    {"link", kExact, nullptr},
    {"master", kExact, nullptr},
    {"multicast", kExact, nullptr},
    {"allmulticast", kExact, nullptr},
    {"netns", kExact, nullptr},
    {"nomaster", kExact, nullptr},
    {"promisc", kExact, nullptr},
    {"qlen", kExact, nullptr},
    {"txqueuelen", kExact, nullptr},
    {"txqlen", kExact, nullptr},
    {"vf", kExact, nullptr},
    {"xdp", kExact, nullptr},
};

// What follows `type port`.
constexpr Keyword<LinkWords> kPortKeywords[] = {
    {"devargs", kExact,
     [](LinkWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       s.link->mutable_port()->set_devargs(word.data(), word.size());
       return absl::OkStatus();
     }},
    {"rx_queues", kExact, SetQueues<true>},
    {"tx_queues", kExact, SetQueues<false>},
};

struct KindRow {
  absl::string_view name;
  absl::Span<const Keyword<LinkWords>> keywords;
  void (*start)(v1::Link*);
};

// A new kind of link is one row.
constexpr KindRow kKinds[] = {
    {"port", kPortKeywords, [](v1::Link* link) { link->mutable_port(); }},
};

absl::Status TakeKind(LinkWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  s.has_type = true;
  for (const KindRow& kind : kKinds) {
    if (kind.name != word) continue;
    kind.start(s.link);
    while (!words.done()) {
      bool found;
      if (absl::Status status = ApplyKeyword(kind.keywords, s, words, &found); !status.ok()) return status;
      if (!found) return Failed(absl::StrCat(kind.name, ": unknown command \"", words.peek(), "\"?"));
    }
    return absl::OkStatus();
  }
  return Failed(absl::StrCat("Error: Unknown device type \"", word, "\"."));
}

// The words that `ip link set` and the others share; `type` ends them.
absl::Status TakeLink(LinkWords& s, bool rename, Words& words) {
  while (!words.done()) {
    bool found;
    if (absl::Status status = ApplyKeyword(absl::MakeConstSpan(kLinkKeywords), s, words, &found); !status.ok()) {
      return status;
    }
    if (found) continue;
    const absl::string_view word = words.peek();
    if (word == "name") {
      words.take();
      if (!rename) {
        if (absl::Status status = TakeName(s, words); !status.ok()) return status;
        continue;
      }
      absl::string_view name;
      if (absl::Status status = words.Value(&name); !status.ok()) return status;
      s.link->set_new_name(name.data(), name.size());
      s.Named("link.new_name");
    } else if (word == "type") {
      words.take();
      if (absl::Status status = TakeKind(s, words); !status.ok()) return status;
    } else if (absl::Status status = TakeName(s, words); !status.ok()) {
      return status;
    }
  }
  if (s.link->name().empty()) return Usage("Not enough information: \"dev\" argument is required.");
  return absl::OkStatus();
}

absl::Status ParseNew(v1::Verb verb, Words words, Command* command) {
  if (words.done()) return Usage("Not enough information: \"type\" argument is required");
  command->operation->set_verb(verb);
  LinkWords state{command->operation->mutable_object()->mutable_link(), nullptr};
  if (absl::Status s = TakeLink(state, false, words); !s.ok()) return s;
  if (!state.has_type) return Usage("Not enough information: \"type\" argument is required");
  if (state.link->has_port() && state.link->port().devargs().empty()) {
    return Usage("Not enough information: \"devargs\" argument is required");
  }
  return absl::OkStatus();
}

absl::Status Add(const IpOptions&, Words words, Command* command) { return ParseNew(v1::VERB_ADD, words, command); }

absl::Status Replace(const IpOptions&, Words words, Command* command) {
  return ParseNew(v1::VERB_REPLACE, words, command);
}

absl::Status Set(const IpOptions&, Words words, Command* command) {
  command->operation->set_verb(v1::VERB_CHANGE);
  LinkWords state{command->operation->mutable_object()->mutable_link(), command->operation->mutable_update_mask()};
  if (absl::Status s = TakeLink(state, true, words); !s.ok()) return s;
  if (state.has_type) return Usage("Error: the type of a link cannot be changed.");
  if (state.mask->paths().empty()) return Incomplete();
  return absl::OkStatus();
}

absl::Status Delete(const IpOptions&, Words words, Command* command) {
  command->operation->set_verb(v1::VERB_DELETE);
  LinkWords state{command->operation->mutable_object()->mutable_link(), nullptr};
  return TakeLink(state, false, words);
}

absl::Status Show(const IpOptions&, Words words, Command* command) {
  Query& query = StartQuery(Noun::kLink, Command::Kind::kShow, IpOptions{}, command);
  v1::Link& match = *query.request.mutable_selectors(0)->mutable_match()->mutable_link();
  while (!words.done()) {
    absl::string_view word = words.take();
    if (word == "up") {
      query.up_only = true;
    } else if (word == "type") {
      if (absl::Status s = words.Value(&word); !s.ok()) return s;
      if (word != "port") return Failed(absl::StrCat("Error: Unknown device type \"", word, "\"."));
      match.mutable_port();
    } else if (word == "master" || word == "vrf" || word == "group") {
      return NotSupported(word);
    } else {
      if (word == "dev") {
        if (absl::Status s = words.Value(&word); !s.ok()) return s;
      }
      if (!query.link.empty()) return Duplicate("dev", word);
      query.link = std::string(word);
      match.set_name(query.link);
    }
  }
  return absl::OkStatus();
}

constexpr VerbRow kVerbs[] = {
    {"add", Add},   {"set", Set},   {"change", Set}, {"replace", Replace},      {"delete", Delete},
    {"show", Show}, {"list", Show}, {"lst", Show},   {"help", Help<kHelpLink>},
};

}  // namespace

absl::Status ParseLink(const IpOptions& options, Words words, Command* command) {
  if (words.done()) return Show(options, words, command);
  return ParseVerb(kVerbs, "ip link help", options, words, command);
}

}  // namespace sluice::client
