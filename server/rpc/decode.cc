#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/rpc/convert.h"
#include "server/rpc/mask.h"
#include "server/rpc/reasons.h"
#include "server/rpc/text.h"

namespace sluice::rpc {
namespace {

using config::Problem;

// How an object is meant, which says what may be absent.
enum class Use : uint8_t {
  kWhole,   // ADD, REPLACE, CHANGE without mask ...: what it is to be
  kMasked,  // CHANGE with update_mask: identity and the fields named
  kNamed,   // DELETE: identity, and what else it must agree with
  kMatch,   // in a selector: whatever is given
};

// Decodes one object. Every method returns false after it has set `problem`; paths are put together only then.
class ObjectDecoder {
 public:
  // `fields`: gets the paths of the fields that are set (below the kind), or is null when nobody asks.
  ObjectDecoder(Use use, absl::string_view path, std::vector<std::string>* fields, Problem* problem)
      : use_(use), path_(path), fields_(fields), problem_(problem) {}

  bool Decode(const v1::Object& m, config::AnyObject* out) {
    switch (m.kind_case()) {
      case v1::Object::kLink:
        kind_ = "link";
        return DecodeLink(m.link(), &out->emplace<config::Link>());
      case v1::Object::kAddress:
        kind_ = "address";
        return DecodeAddress(m.address(), &out->emplace<config::Address>());
      case v1::Object::kNeighbor:
        kind_ = "neighbor";
        return DecodeNeighbor(m.neighbor(), &out->emplace<config::Neighbor>());
      case v1::Object::kRoute:
        kind_ = "route";
        return DecodeRoute(m.route(), &out->emplace<config::Route>());
      case v1::Object::KIND_NOT_SET:
        break;
    }
    if (use_ == Use::kMatch) return true;
    *problem_ = Refuse("KIND_MISSING", path_, absl::StrCat(path_, " has no kind: nothing is set in it"));
    return false;
  }

 private:
  bool Fail(absl::string_view reason, absl::string_view field, absl::string_view why) {
    const std::string path = absl::StrCat(path_, ".", kind_, ".", field);
    *problem_ = Refuse(reason, path, absl::StrCat(path, ": ", why));
    return false;
  }
  void Set(absl::string_view field) {
    if (fields_ != nullptr) fields_->emplace_back(field);
  }
  bool Required(absl::string_view text, absl::string_view field) {
    if (!text.empty() || use_ == Use::kMatch) return true;
    return Fail("FIELD_MISSING", field, "is required");
  }
  bool Limited(absl::string_view text, size_t limit, absl::string_view field) {
    if (text.size() <= limit) return true;
    return Fail("TEXT_TOO_LONG", field, absl::StrCat("has ", text.size(), " bytes, at most ", limit, " are allowed"));
  }
  bool LinkName(const std::string& name, std::string* out, absl::string_view field) {
    // What no link can be called is refused here by its length only; config knows the rest of the rules.
    if (name.size() > 15) {
      return Fail("INVALID_LINK_NAME", field, absl::StrCat("link name ", Quoted(name), " is longer than 15 bytes"));
    }
    *out = name;
    return true;
  }
  bool Mac(absl::string_view text, std::optional<MacAddress>* out, absl::string_view field) {
    if (text.empty()) return true;
    MacAddress mac;
    if (auto reason = ParseMac(text, &mac); !reason.empty()) {
      return Fail(reason, field,
                  absl::StrCat(Quoted(text), " is not a MAC address (six pairs of hex digits with ':')"));
    }
    *out = mac;
    Set(field);
    return true;
  }
  bool Address(absl::string_view text, IpAddress* out, absl::string_view field) {
    if (auto reason = ParseAddress(text, out); !reason.empty()) {
      return Fail(reason, field, absl::StrCat(Quoted(text), " is not an IP address"));
    }
    return true;
  }
  template <class Enum>
  bool UnknownEnum(Enum value, absl::string_view field) {
    return Fail("UNKNOWN_ENUM_VALUE", field, absl::StrCat(static_cast<int>(value), " is not a value of this field"));
  }
  template <class Optional>
  void Number(bool has, uint32_t value, Optional* out, absl::string_view field) {
    if (!has) return;
    *out = value;
    Set(field);
  }
  template <class Optional>
  bool DecodeScope(v1::Scope scope, Optional* out) {
    switch (scope) {
      case v1::SCOPE_UNSPECIFIED:
        return true;
      case v1::SCOPE_UNIVERSE:
        *out = 0;
        break;
      case v1::SCOPE_SITE:
        *out = 200;
        break;
      case v1::SCOPE_LINK:
        *out = 253;
        break;
      case v1::SCOPE_HOST:
        *out = 254;
        break;
      case v1::SCOPE_NOWHERE:
        *out = 255;
        break;
      default:
        return UnknownEnum(scope, "scope");
    }
    Set("scope");
    return true;
  }

  bool DecodeLink(const v1::Link& m, config::Link* out) {
    if (!Required(m.name(), "name") || !LinkName(m.name(), &out->name, "name")) return false;
    if (!m.name().empty()) Set("name");
    if (m.has_up()) {
      out->up = m.up();
      Set("up");
    }
    Number(m.has_mtu(), m.mtu(), &out->mtu, "mtu");
    if (!Mac(m.mac(), &out->mac, "mac")) return false;
    if (!m.new_name().empty()) {
      if (use_ == Use::kMatch || use_ == Use::kNamed) {
        return Fail("FIELD_NOT_ALLOWED", "new_name", "has a place in CHANGE only");
      }
      if (!LinkName(m.new_name(), &out->new_name, "new_name")) return false;
    }
    switch (m.kind_case()) {
      case v1::Link::kPort:
        out->kind = LinkKind::kPort;
        Set("port");
        if (!Limited(m.port().devargs(), kMaxDevargs, "port.devargs")) return false;
        out->devargs = m.port().devargs();
        if (!out->devargs.empty()) Set("port.devargs");
        Number(m.port().has_rx_queues(), m.port().rx_queues(), &out->rx_queues, "port.rx_queues");
        Number(m.port().has_tx_queues(), m.port().tx_queues(), &out->tx_queues, "port.tx_queues");
        break;
      case v1::Link::KIND_NOT_SET:
        out->kind = LinkKind::kNone;
        break;
    }
    return true;
  }

  bool DecodeAddress(const v1::Address& m, config::Address* out) {
    if (!Required(m.link(), "link") || !LinkName(m.link(), &out->link, "link")) return false;
    if (!m.link().empty()) Set("link");
    if (!Required(m.address(), "address")) return false;
    if (!m.address().empty()) {
      if (auto reason = ParseInterfaceAddress(m.address(), &out->address, &out->prefix_length); !reason.empty()) {
        return Fail(reason, "address", absl::StrCat(Quoted(m.address()), " is not ADDRESS or ADDRESS/LENGTH"));
      }
      Set("address");
    }
    if (!DecodeScope(m.scope(), &out->scope)) return false;
    Number(m.has_metric(), m.metric(), &out->metric, "metric");
    out->no_prefix_route = m.noprefixroute();
    if (out->no_prefix_route) Set("noprefixroute");
    return true;
  }

  bool DecodeNeighbor(const v1::Neighbor& m, config::Neighbor* out) {
    if (!Required(m.link(), "link") || !LinkName(m.link(), &out->link, "link")) return false;
    if (!m.link().empty()) Set("link");
    if (!Required(m.address(), "address")) return false;
    if (!m.address().empty()) {
      if (!Address(m.address(), &out->address, "address")) return false;
      Set("address");
    }
    if (!Mac(m.lladdr(), &out->mac, "lladdr")) return false;
    if (m.nud() == v1::NUD_STATE_UNSPECIFIED) return true;
    switch (m.nud()) {
      case v1::NUD_STATE_INCOMPLETE:
        out->nud = config::NudState::kIncomplete;
        break;
      case v1::NUD_STATE_REACHABLE:
        out->nud = config::NudState::kReachable;
        break;
      case v1::NUD_STATE_STALE:
        out->nud = config::NudState::kStale;
        break;
      case v1::NUD_STATE_DELAY:
        out->nud = config::NudState::kDelay;
        break;
      case v1::NUD_STATE_PROBE:
        out->nud = config::NudState::kProbe;
        break;
      case v1::NUD_STATE_FAILED:
        out->nud = config::NudState::kFailed;
        break;
      case v1::NUD_STATE_NOARP:
        out->nud = config::NudState::kNoArp;
        break;
      case v1::NUD_STATE_PERMANENT:
        out->nud = config::NudState::kPermanent;
        break;
      default:
        return UnknownEnum(m.nud(), "nud");
    }
    Set("nud");
    return true;
  }

  bool DecodeRouteType(v1::RouteType type, RouteType* out) {
    switch (type) {
      case v1::ROUTE_TYPE_UNSPECIFIED:
        return true;
      case v1::ROUTE_TYPE_UNICAST:
        *out = RouteType::kUnicast;
        break;
      case v1::ROUTE_TYPE_LOCAL:
        *out = RouteType::kLocal;
        break;
      case v1::ROUTE_TYPE_BROADCAST:
        *out = RouteType::kBroadcast;
        break;
      case v1::ROUTE_TYPE_BLACKHOLE:
        *out = RouteType::kBlackhole;
        break;
      case v1::ROUTE_TYPE_UNREACHABLE:
        *out = RouteType::kUnreachable;
        break;
      case v1::ROUTE_TYPE_PROHIBIT:
        *out = RouteType::kProhibit;
        break;
      case v1::ROUTE_TYPE_THROW:
        *out = RouteType::kThrow;
        break;
      default:
        return UnknownEnum(type, "type");
    }
    Set("type");
    return true;
  }

  bool DecodeNexthop(const v1::RouteNexthop& m, int at, config::RouteLeg* out, std::array<bool, 4>* set) {
    const auto path = [at](absl::string_view field) { return absl::StrCat("nexthops[", at, "].", field); };
    if (!m.gateway().empty()) {
      if (auto reason = ParseAddress(m.gateway(), &out->gateway); !reason.empty()) {
        return Fail(reason, path("gateway"), absl::StrCat(Quoted(m.gateway()), " is not an IP address"));
      }
      (*set)[0] = true;
    }
    if (m.link().size() > 15) return LinkName(m.link(), &out->link, path("link"));
    out->link = m.link();
    (*set)[1] |= !m.link().empty();
    out->onlink = m.onlink();
    (*set)[2] |= m.onlink();
    if (m.has_weight()) {
      if (m.weight() < 1 || m.weight() > 256) {
        return Fail("VALUE_OUT_OF_RANGE", path("weight"), absl::StrCat(m.weight(), " is not in 1 to 256"));
      }
      out->weight = m.weight();
      (*set)[3] = true;
    }
    return true;
  }

  bool DecodeRoute(const v1::Route& m, config::Route* out) {
    Number(m.has_table(), m.table(), &out->table, "table");
    if (m.has_table() && m.table() == 0) return Fail("VALUE_OUT_OF_RANGE", "table", "0 is not a table");
    if (!Required(m.prefix(), "prefix")) return false;
    if (!m.prefix().empty()) {
      if (auto reason = ParsePrefix(m.prefix(), &out->prefix); !reason.empty()) {
        return Fail(reason, "prefix",
                    reason == "HOST_BITS_SET"
                        ? absl::StrCat(Quoted(m.prefix()), " has bits set beyond its length; the prefix is ",
                                       out->prefix.ToString())
                        : absl::StrCat(Quoted(m.prefix()), " is not ADDRESS or ADDRESS/LENGTH"));
      }
      Set("prefix");
    }
    Number(m.has_tos(), m.tos(), &out->tos, "tos");
    if (m.has_tos() && m.tos() > 255) {
      return Fail("VALUE_OUT_OF_RANGE", "tos", absl::StrCat(m.tos(), " is not in 0 to 255"));
    }
    Number(m.has_metric(), m.metric(), &out->metric, "metric");
    if (!DecodeRouteType(m.type(), &out->type)) return false;
    if (m.nexthops_size() > 1024) {
      return Fail("LIMIT_REACHED", "nexthops", absl::StrCat(m.nexthops_size(), " nexthops are more than 1024"));
    }
    out->legs.resize(static_cast<size_t>(m.nexthops_size()));
    std::array<bool, 4> set = {};
    for (int i = 0; i < m.nexthops_size(); ++i) {
      if (!DecodeNexthop(m.nexthops(i), i, &out->legs[static_cast<size_t>(i)], &set)) return false;
    }
    if (fields_ != nullptr) {
      static constexpr absl::string_view kNames[] = {"nexthops.gateway", "nexthops.link", "nexthops.onlink",
                                                     "nexthops.weight"};
      for (size_t i = 0; i < set.size(); ++i) {
        if (set[i]) Set(kNames[i]);
      }
    }
    if (m.has_protocol() && m.protocol() > 255) {
      return Fail("VALUE_OUT_OF_RANGE", "protocol", absl::StrCat(m.protocol(), " is not in 0 to 255"));
    }
    Number(m.has_protocol(), m.protocol(), &out->protocol, "protocol");
    if (!DecodeScope(m.scope(), &out->scope)) return false;
    if (!m.prefsrc().empty()) {
      if (!Address(m.prefsrc(), &out->prefsrc, "prefsrc")) return false;
      Set("prefsrc");
    }
    Number(m.has_mtu(), m.mtu(), &out->mtu, "mtu");
    out->mtu_locked = m.mtu_locked();
    if (out->mtu_locked) Set("mtu_locked");
    out->counted = m.counted();
    if (out->counted) Set("counted");
    return true;
  }

  Use use_;
  absl::string_view path_;
  absl::string_view kind_;
  std::vector<std::string>* fields_;
  Problem* problem_;
};

bool DecodeVerb(v1::Verb verb, config::Verb* out) {
  if (verb < v1::VERB_ADD || verb > v1::VERB_FLUSH) return false;
  *out = static_cast<config::Verb>(verb);
  return true;
}

// `changing`: for DELETE and FLUSH, which must not choose everything.
Problem DecodeSelectorAt(absl::string_view path, const v1::Selector& m, bool changing, config::Selector* out) {
  Problem problem;
  const auto at = [path](absl::string_view field) {
    return path.empty() ? std::string(field) : absl::StrCat(path, ".", field);
  };
  if (m.has_match()) {
    if (!ObjectDecoder(Use::kMatch, at("match"), &out->fields, &problem).Decode(m.match(), &out->match)) return problem;
  }
  if (static_cast<size_t>(m.uids_size()) > kMaxSelectorUids) {
    return Refuse("LIMIT_REACHED", at("uids"), absl::StrCat(m.uids_size(), " uids are more than ", kMaxSelectorUids));
  }
  out->uids.assign(m.uids().begin(), m.uids().end());
  for (int i = 0; i < m.origins_size(); ++i) {
    const v1::Origin origin = m.origins(i);
    if (origin < v1::ORIGIN_CONFIGURED || origin > v1::ORIGIN_LEARNED) {
      return Refuse("UNKNOWN_ENUM_VALUE", at(absl::StrCat("origins[", i, "]")),
                    absl::StrCat(static_cast<int>(origin), " is not an origin"));
    }
    if (changing && origin == v1::ORIGIN_DERIVED) {
      return Refuse("SELECTOR_ORIGIN", at(absl::StrCat("origins[", i, "]")),
                    "derived objects go with what they follow from, and cannot be deleted by themselves");
    }
    out->origins.push_back(static_cast<config::Origin>(origin));
    if (out->origins.size() > 16) out->origins.resize(16);  // there are three
  }
  switch (m.family()) {
    case v1::FAMILY_UNSPECIFIED:
      break;
    case v1::FAMILY_IPV4:
      out->family = Family::kIpv4;
      break;
    case v1::FAMILY_IPV6:
      out->family = Family::kIpv6;
      break;
    default:
      return Refuse("UNKNOWN_ENUM_VALUE", at("family"), absl::StrCat(static_cast<int>(m.family()), " is not a family"));
  }
  if (changing && std::holds_alternative<std::monostate>(out->match) && out->uids.empty()) {
    return Refuse("SELECTOR_EMPTY", path, "a selector of DELETE or FLUSH needs a kind in `match`, or uids");
  }
  return {};
}

absl::string_view KindName(v1::Object::KindCase kind) {
  switch (kind) {
    case v1::Object::kLink:
      return "link";
    case v1::Object::kAddress:
      return "address";
    case v1::Object::kNeighbor:
      return "neighbor";
    case v1::Object::kRoute:
      return "route";
    case v1::Object::KIND_NOT_SET:
      break;
  }
  return "";
}

}  // namespace

Problem DecodeSelector(const v1::Selector& message, config::Selector* selector) {
  return DecodeSelectorAt("", message, /*changing=*/false, selector);
}

Problem DecodeOperation(const v1::Operation& m, config::Operation* out) {
  out->id = m.id();
  if (m.verb() == v1::VERB_UNSPECIFIED) return Refuse("VERB_MISSING", "verb", "an operation needs a verb");
  if (!DecodeVerb(m.verb(), &out->verb)) {
    return Refuse("UNKNOWN_ENUM_VALUE", "verb", absl::StrCat(static_cast<int>(m.verb()), " is not a verb"));
  }
  const bool deletes = out->verb == config::Verb::kDelete;
  if (m.missing_ok() && !deletes) {
    return Refuse("MISSING_OK_NOT_ALLOWED", "missing_ok", "missing_ok goes with DELETE only");
  }
  out->missing_ok = m.missing_ok();
  if (m.has_expected_changed()) out->expected_changed = m.expected_changed();
  if (m.has_update_mask() && out->verb != config::Verb::kChange) {
    return Refuse("UPDATE_MASK", "update_mask", "update_mask goes with CHANGE only");
  }
  Problem problem;
  switch (m.target_case()) {
    case v1::Operation::TARGET_NOT_SET:
      return Refuse("TARGET_MISSING", "object", "an operation needs an object or a selector");
    case v1::Operation::kSelector: {
      if (!deletes && out->verb != config::Verb::kFlush) {
        return Refuse("TARGET_NOT_ALLOWED", "selector", "a selector goes with DELETE and FLUSH only");
      }
      return DecodeSelectorAt("selector", m.selector(), /*changing=*/true, &out->target.emplace<config::Selector>());
    }
    case v1::Operation::kObject:
      break;
  }
  if (out->verb == config::Verb::kFlush) {
    return Refuse("TARGET_NOT_ALLOWED", "object", "FLUSH takes a selector, not an object");
  }
  const Use use = deletes ? Use::kNamed : m.has_update_mask() ? Use::kMasked : Use::kWhole;
  config::Object& object = out->target.emplace<config::Object>();
  ObjectDecoder decoder(use, "object", deletes ? &out->fields : nullptr, &problem);
  if (!decoder.Decode(m.object(), &object.value)) return problem;
  if (m.object().has_link() && !m.object().link().new_name().empty() && out->verb != config::Verb::kChange) {
    return Refuse("FIELD_NOT_ALLOWED", "object.link.new_name", "new_name has a place in CHANGE only");
  }
  if (m.has_update_mask()) return DecodeMask(KindName(m.object().kind_case()), m.update_mask(), &out->fields);
  return {};
}

Problem DecodeOptions(const v1::CommitOptions& m, engine::CommitOptions* out) {
  const auto too_long = [](absl::string_view field, size_t size, size_t limit) {
    return Refuse("TEXT_TOO_LONG", field,
                  absl::StrCat(field, " has ", size, " bytes, at most ", limit, " are allowed"));
  };
  if (m.request_id().size() > kMaxRequestId) return too_long("request_id", m.request_id().size(), kMaxRequestId);
  if (m.comment().size() > kMaxComment) return too_long("comment", m.comment().size(), kMaxComment);
  out->request_id = m.request_id();
  out->comment = m.comment();
  if (m.has_expected_generation()) out->expected_generation = m.expected_generation();
  out->validate_only = m.validate_only();
  out->durable = m.durable();
  switch (m.ack()) {
    case v1::ACK_UNSPECIFIED:
    case v1::ACK_VISIBLE:
      out->ack = engine::Ack::kVisible;
      break;
    case v1::ACK_ACCEPTED:
      out->ack = engine::Ack::kAccepted;
      break;
    default:
      return Refuse("UNKNOWN_ENUM_VALUE", "ack", absl::StrCat(static_cast<int>(m.ack()), " is not an ack"));
  }
  if (m.has_visible_timeout()) {
    const auto& d = m.visible_timeout();
    if (d.seconds() < 0 || d.seconds() > 60 || d.nanos() < 0 || d.nanos() > 999'999'999 ||
        (d.seconds() == 60 && d.nanos() != 0)) {
      return Refuse("VISIBLE_TIMEOUT", "visible_timeout", "visible_timeout is not within 0 to 60 s");
    }
    out->visible_timeout = absl::Seconds(d.seconds()) + absl::Nanoseconds(d.nanos());
  }
  return {};
}

}  // namespace sluice::rpc
