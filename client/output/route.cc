// Routes.
#include "absl/strings/str_cat.h"
#include "client/grammar/names.h"
#include "client/grammar/values.h"
#include "client/output/objects.h"

namespace sluice::client {
namespace {

// What is shown of a route, decided once for text and JSON.
struct Shown {
  Shown(const Style& style, const Query& query, const v1::Route& route)
      : v6(FamilyOfText(route.prefix()) == Family::kIpv6),
        type(style.details || (route.type() != v1::ROUTE_TYPE_UNICAST && route.type() != v1::ROUTE_TYPE_UNSPECIFIED)),
        tos(route.tos() != 0 && !query.hide_tos),
        table(!query.hide_table && route.has_table() && (route.table() != kTableMain || style.details)),
        protocol(!query.hide_protocol && route.has_protocol() && (route.protocol() != kProtocolBoot || style.details)),
        scope(!query.hide_scope && !v6 && route.scope() != v1::SCOPE_UNSPECIFIED &&
              (route.scope() != v1::SCOPE_UNIVERSE || style.details)),
        prefsrc(!query.hide_src && !route.prefsrc().empty()),
        metric(route.metric() != 0 || (v6 && route.has_metric())),
        multipath(route.nexthops_size() > 1) {}
  bool v6, type, tos, table, protocol, scope, prefsrc, metric, multipath;
};

v1::RouteType TypeOf(const v1::Route& route) {
  return route.type() == v1::ROUTE_TYPE_UNSPECIFIED ? v1::ROUTE_TYPE_UNICAST : route.type();
}

bool OtherFamily(const v1::Route& route, const v1::RouteNexthop& leg) {
  return FamilyOfText(route.prefix()) != FamilyOfText(leg.gateway());
}

void AppendVia(const v1::Route& route, const v1::RouteNexthop& leg, std::string* text) {
  if (leg.gateway().empty()) return;
  absl::StrAppend(text, "via ", OtherFamily(route, leg) ? "inet6 " : "", leg.gateway(), " ");
}

void PutVia(const v1::Route& route, const v1::RouteNexthop& leg, Json* json) {
  if (leg.gateway().empty()) return;
  if (!OtherFamily(route, leg)) {
    json->Field("gateway", leg.gateway());
    return;
  }
  json->BeginObject("via");
  json->Field("family", "inet6");
  json->Field("host", leg.gateway());
  json->EndObject();
}

void AppendFlags(const v1::RouteNexthop& leg, std::string* text) {
  if (leg.state().dead()) absl::StrAppend(text, "dead ");
  if (leg.onlink()) absl::StrAppend(text, "onlink ");
  if (leg.state().linkdown()) absl::StrAppend(text, "linkdown ");
}

void PutFlags(const v1::RouteNexthop* leg, Json* json) {
  json->BeginArray("flags");
  if (leg != nullptr) {
    if (leg->state().dead()) json->String("dead");
    if (leg->onlink()) json->String("onlink");
    if (leg->state().linkdown()) json->String("linkdown");
  }
  json->EndArray();
}

}  // namespace

void PrintRoute(const Style& style, const Query& query, const v1::Object& object, std::string* text) {
  const v1::Route& route = object.route();
  const Shown shown(style, query, route);
  const v1::RouteNexthop* leg = route.nexthops_size() == 1 ? &route.nexthops(0) : nullptr;
  if (shown.type) absl::StrAppend(text, RouteTypeWord(TypeOf(route)), " ");
  absl::StrAppend(text, ShownPrefix(route.prefix()), " ");
  if (shown.tos) absl::StrAppend(text, "tos ", TosWord(route.tos()), " ");
  if (leg != nullptr) {
    if (!query.hide_via) AppendVia(route, *leg, text);
    if (!query.hide_dev && !leg->link().empty()) absl::StrAppend(text, "dev ", leg->link(), " ");
  }
  if (shown.table) absl::StrAppend(text, "table ", TableWord(route.table()), " ");
  if (shown.protocol) absl::StrAppend(text, "proto ", ProtocolWord(route.protocol()), " ");
  if (shown.scope) absl::StrAppend(text, "scope ", ScopeWord(route.scope()), " ");
  if (shown.prefsrc) absl::StrAppend(text, "src ", route.prefsrc(), " ");
  if (shown.metric) absl::StrAppend(text, "metric ", route.metric(), " ");
  if (leg != nullptr) AppendFlags(*leg, text);
  if (route.has_mtu()) absl::StrAppend(text, "mtu ", route.mtu_locked() ? "lock " : "", route.mtu(), " ");
  if (route.counted()) absl::StrAppend(text, "counted ");
  if (style.statistics && route.state().has_packets()) {
    absl::StrAppend(text, "packets ", route.state().packets(), " bytes ", route.state().bytes(), " ");
  }
  if (style.details && !object.meta().unresolved().empty()) {
    absl::StrAppend(text, "unresolved \"", object.meta().unresolved(), "\" ");
  }
  if (shown.multipath) {
    for (const v1::RouteNexthop& each : route.nexthops()) {
      absl::StrAppend(text, style.oneline ? "\\" : "\n", "\tnexthop ");
      AppendVia(route, each, text);
      if (!each.link().empty()) absl::StrAppend(text, "dev ", each.link(), " ");
      absl::StrAppend(text, "weight ", each.has_weight() ? each.weight() : 1, " ");
      AppendFlags(each, text);
    }
  }
  if (shown.v6) absl::StrAppend(text, "pref medium");
  text->push_back('\n');
}

void PrintRoute(const Style& style, const Query& query, const v1::Object& object, Json* json) {
  const v1::Route& route = object.route();
  const Shown shown(style, query, route);
  const v1::RouteNexthop* leg = route.nexthops_size() == 1 ? &route.nexthops(0) : nullptr;
  json->BeginObject();
  if (shown.type) json->Field("type", RouteTypeWord(TypeOf(route)));
  json->Field("dst", ShownPrefix(route.prefix()));
  if (shown.tos) json->Field("tos", TosWord(route.tos()));
  if (leg != nullptr) {
    if (!query.hide_via) PutVia(route, *leg, json);
    if (!query.hide_dev && !leg->link().empty()) json->Field("dev", leg->link());
  }
  if (shown.table) json->Field("table", TableWord(route.table()));
  if (shown.protocol) json->Field("protocol", ProtocolWord(route.protocol()));
  if (shown.scope) json->Field("scope", ScopeWord(route.scope()));
  if (shown.prefsrc) json->Field("prefsrc", route.prefsrc());
  if (shown.metric) json->Field("metric", route.metric());
  PutFlags(leg, json);
  if (route.has_mtu()) {
    json->BeginArray("metrics");
    json->BeginObject();
    json->Field("mtu", route.mtu());
    json->EndObject();
    json->EndArray();
  }
  if (route.counted()) json->FlagField("counted", true);
  if (style.statistics && route.state().has_packets()) {
    json->BeginObject("stats");
    json->Field("packets", route.state().packets());
    json->Field("bytes", route.state().bytes());
    json->EndObject();
  }
  if (style.details && !object.meta().unresolved().empty()) json->Field("unresolved", object.meta().unresolved());
  if (shown.multipath) {
    json->BeginArray("nexthops");
    for (const v1::RouteNexthop& each : route.nexthops()) {
      json->BeginObject();
      PutVia(route, each, json);
      if (!each.link().empty()) json->Field("dev", each.link());
      json->Field("weight", each.has_weight() ? each.weight() : 1);
      PutFlags(&each, json);
      json->EndObject();
    }
    json->EndArray();
  }
  if (shown.v6) json->Field("pref", "medium");
  json->EndObject();
}

}  // namespace sluice::client
