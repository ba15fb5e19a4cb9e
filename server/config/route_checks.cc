// What is wrong with a route by itself, whatever the state.
#include "server/config/route_checks.h"

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"

namespace sluice::config {

std::string NameOfRoute(const RouteId& id) {
  std::string name = absl::StrCat("route ", id.prefix.ToString(), " table ", id.table);
  if (id.tos != 0) absl::StrAppend(&name, " tos ", id.tos);
  if (id.metric != 0) absl::StrAppend(&name, " metric ", id.metric);
  return name;
}

NexthopIndex FixedNexthop(RouteType type) {
  switch (type) {
    case RouteType::kBlackhole:
      return kBlackholeNexthop;
    case RouteType::kUnreachable:
      return kUnreachableNexthop;
    case RouteType::kProhibit:
      return kProhibitNexthop;
    case RouteType::kThrow:
      return kThrowNexthop;
    default:
      return 0;
  }
}

// Table, prefix, TOS, metric.
bool Batch::CheckIdentity(const config::Route& route, NewRoute* out) {
  const Family family = route.prefix.family();
  if (family == Family::kNone) return Fail("FIELD_MISSING", "object.route.prefix", "a route needs a prefix");
  if (route.prefix.length > MaxPrefixLength(family)) {
    return Fail("INVALID_PREFIX", "object.route.prefix",
                absl::StrCat("prefix length ", route.prefix.length, " is longer than the family has bits"));
  }
  if (IpPrefix::Of(route.prefix.address, route.prefix.length) != route.prefix) {
    return Fail("HOST_BITS_SET", "object.route.prefix",
                absl::StrCat(route.prefix.ToString(), " has bits set beyond its length"));
  }
  out->id.prefix = route.prefix;
  if (route.table && *route.table == 0) {
    return Fail("VALUE_OUT_OF_RANGE", "object.route.table", "0 is not a table");
  }
  const bool local = route.type == RouteType::kLocal || route.type == RouteType::kBroadcast;
  out->id.table = route.table.value_or(local ? kLocalTable : kMainTable);
  const uint32_t tos = route.tos.value_or(0);
  if (tos > 255) {
    return Fail("VALUE_OUT_OF_RANGE", "object.route.tos", absl::StrCat("tos ", tos, " is not within 0 to 255"));
  }
  if (family == Family::kIpv6 && tos != 0) {
    return Fail("TOS_NOT_ALLOWED", "object.route.tos", "an IPv6 route has no TOS");
  }
  if ((tos & 3) != 0) {
    return Fail("TOS_NOT_ALLOWED", "object.route.tos", absl::StrCat("tos ", tos, " has ECN bits set"));
  }
  out->id.tos = static_cast<uint8_t>(tos);
  out->id.metric = route.metric.value_or(0);
  if (family == Family::kIpv6 && out->id.metric == 0) out->id.metric = 1024;
  return true;
}

bool Batch::CheckRoute(const config::Route& route, NewRoute* out) {
  if (!CheckIdentity(route, out)) return false;
  const auto what = [out] { return NameOfRoute(out->id); };  // made only when something is wrong
  if (out->id.tos != 0) {
    return Fail("NOT_SUPPORTED", "object.route.tos", absl::StrCat(what(), ": routes by TOS are not done yet"));
  }
  if (next_.lengths.size() >= options_.limits.tables) {
    // Only a bound on memory: one entry for each (family, table, length) in use.
    const uint64_t from = LengthKey(out->id.prefix.family(), out->id.table, 128);
    const auto it = next_.lengths.LowerBound(from);
    if (!it.Valid() || (it.key() >> 8) != (from >> 8)) {
      return Fail("LIMIT_REACHED", "object.route.table", absl::StrCat(what(), ": there are too many tables"));
    }
  }
  out->spec.type = out->record.type = route.type;
  return CheckNumbers(route) && CheckLegs(route, out) && CheckScope(route, out);
}

bool Batch::CheckNumbers(const config::Route& route) {
  const bool v6 = route.prefix.family() == Family::kIpv6;
  if (route.protocol && *route.protocol > 255) {
    return Fail("VALUE_OUT_OF_RANGE", "object.route.protocol",
                absl::StrCat("protocol ", *route.protocol, " is not within 0 to 255"));
  }
  const uint32_t min_mtu = v6 ? 1280 : 68;
  if (route.mtu && (*route.mtu < min_mtu || *route.mtu > 65535)) {
    return Fail("MTU_OUT_OF_RANGE", "object.route.mtu",
                absl::StrCat("mtu ", *route.mtu, " is not within ", min_mtu, " to 65535"));
  }
  if (route.mtu_locked && !route.mtu) {
    return Fail("FIELD_NOT_ALLOWED", "object.route.mtu_locked", "mtu_locked has a meaning with mtu only");
  }
  return true;
}

bool Batch::CheckLegs(const config::Route& route, NewRoute* out) {
  const auto what = [out] { return NameOfRoute(out->id); };  // made only when something is wrong
  out->record.protocol = static_cast<uint8_t>(route.protocol.value_or(kProtocolBoot));
  if (route.legs.size() > 1) {
    return Fail("NOT_SUPPORTED", "object.route.nexthops",
                absl::StrCat(what(), " has ", route.legs.size(), " nexthops; more than one is not done yet"));
  }
  if (route.counted && route.type == RouteType::kThrow) {
    return Fail("FIELD_NOT_ALLOWED", "object.route.counted", absl::StrCat(what(), ": a throw route takes no packets"));
  }
  if (route.counted) out->spec.counted_uid = 1;  // set when the uid is known
  switch (route.type) {
    case RouteType::kUnicast:
    case RouteType::kLocal:
      break;
    case RouteType::kBroadcast:
      if (route.prefix.family() == Family::kIpv6) {
        return Fail("FAMILY_MISMATCH", "object.route.type", absl::StrCat(what(), ": IPv6 has no broadcast"));
      }
      break;
    case RouteType::kBlackhole:
    case RouteType::kUnreachable:
    case RouteType::kProhibit:
    case RouteType::kThrow:
      if (!route.legs.empty()) {
        return Fail("NEXTHOP_NOT_ALLOWED", "object.route.nexthops",
                    absl::StrCat(what(), " is of a type that leads nowhere and takes no nexthop"));
      }
      if (!route.prefsrc.empty()) {
        return Fail("FIELD_NOT_ALLOWED", "object.route.prefsrc",
                    absl::StrCat(what(), ": nothing is sent by this type"));
      }
      if (route.mtu) {
        return Fail("FIELD_NOT_ALLOWED", "object.route.mtu", absl::StrCat(what(), ": nothing is sent by this type"));
      }
      return true;
    case RouteType::kMulticast:
      return Fail("NOT_SUPPORTED", "object.route.type", absl::StrCat(what(), ": multicast routes are not done yet"));
    default:
      return Fail("UNKNOWN_ENUM_VALUE", "object.route.type",
                  absl::StrCat(static_cast<int>(route.type), " is not a type of route"));
  }
  if (route.legs.empty() || (route.legs[0].gateway.empty() && route.legs[0].link.empty())) {
    return Fail("NEXTHOP_MISSING", "object.route.nexthops", absl::StrCat(what(), " needs a gateway or a link"));
  }
  const RouteLeg& leg = route.legs[0];
  if (leg.weight < 1 || leg.weight > 256) {
    return Fail("VALUE_OUT_OF_RANGE", "object.route.nexthops[0].weight",
                absl::StrCat("weight ", leg.weight, " is not within 1 to 256"));
  }
  if (route.type != RouteType::kUnicast && !leg.gateway.empty()) {
    return Fail("NEXTHOP_NOT_ALLOWED", "object.route.nexthops[0].gateway",
                absl::StrCat(what(), " delivers to Sluice itself and takes no gateway"));
  }
  if (leg.link.size() > 15) {
    return Fail("INVALID_LINK_NAME", "object.route.nexthops[0].link",
                absl::StrCat("link name \"", leg.link.substr(0, 32), "\" is longer than 15 bytes"));
  }
  if (!CheckGateway(route)) return false;
  if (!route.prefsrc.empty() && route.prefsrc.family != route.prefix.family()) {
    return Fail("FAMILY_MISMATCH", "object.route.prefsrc",
                absl::StrCat("prefsrc ", route.prefsrc.ToString(), " is of another family than ", what()));
  }
  out->spec.gateway = leg.gateway;
  out->spec.source = route.prefsrc;
  out->spec.mtu = static_cast<uint16_t>(route.mtu.value_or(0));
  out->spec.flags = static_cast<uint8_t>((leg.onlink ? NexthopSpec::kOnlinkFlag : 0) |
                                         (route.mtu_locked ? NexthopSpec::kMtuLocked : 0));
  if (!leg.link.empty()) {
    out->spec.link = LinkRef(leg.link);
    if (out->spec.link == 0) {
      return Fail("LIMIT_REACHED", "object.route.nexthops[0].link", "no link index is free");
    }
  }
  return true;
}

bool Batch::CheckGateway(const config::Route& route) {
  const RouteLeg& leg = route.legs[0];
  const IpAddress& gateway = leg.gateway;
  if (gateway.empty()) {
    if (!leg.onlink) return true;
    return Fail("FIELD_NOT_ALLOWED", "object.route.nexthops[0].onlink", "onlink has a meaning with a gateway only");
  }
  const auto text = [&gateway] { return gateway.ToString(); };
  if (gateway.is_v4() && route.prefix.family() == Family::kIpv6) {
    return Fail("FAMILY_MISMATCH", "object.route.nexthops[0].gateway",
                absl::StrCat("gateway ", text(), " of an IPv6 route is an IPv4 address"));
  }
  if (gateway.IsZero() || gateway.IsMulticast() || (gateway.is_v4() && gateway.v4().IsLimitedBroadcast()) ||
      (gateway.is_v6() && gateway.v6().IsLoopback())) {
    return Fail("GATEWAY_NOT_UNICAST", "object.route.nexthops[0].gateway",
                absl::StrCat("gateway ", text(), " is not a unicast address"));
  }
  if (leg.link.empty() && (leg.onlink || (gateway.is_v6() && gateway.v6().IsLinkLocal()))) {
    return Fail("GATEWAY_NEEDS_LINK", "object.route.nexthops[0].link",
                absl::StrCat("gateway ", text(), leg.onlink ? " is said to be on-link" : " is link-local",
                             ": the link must be named"));
  }
  return true;
}

bool Batch::CheckScope(const config::Route& route, NewRoute* out) {
  const auto refuse = [&](absl::string_view why) {
    return Fail("SCOPE_NOT_ALLOWED", "object.route.scope",
                absl::StrCat("scope ", *route.scope, " of ", NameOfRoute(out->id), ": ", why));
  };
  if (route.prefix.family() == Family::kIpv6) {
    if (route.scope) return Fail("FIELD_NOT_ALLOWED", "object.route.scope", "an IPv6 route has no scope");
    out->record.scope = kScopeUniverse;
    return true;
  }
  const bool gateway = !out->spec.gateway.empty();
  uint8_t natural = kScopeUniverse;
  uint8_t least = kScopeUniverse;
  if (route.type == RouteType::kLocal) natural = least = kScopeHost;
  if (route.type == RouteType::kBroadcast) natural = least = kScopeLink;
  if (route.type == RouteType::kUnicast && !gateway) natural = kScopeLink;
  if (route.scope) {
    if (*route.scope > kScopeHost) return refuse("a route that reaches nowhere leads nowhere");
    if (*route.scope < least) return refuse("the type needs a narrower one");
    if (gateway && *route.scope >= kScopeLink) return refuse("a gateway is beyond the link");
  }
  out->record.scope = static_cast<uint8_t>(route.scope.value_or(natural));
  return true;
}

}  // namespace sluice::config
