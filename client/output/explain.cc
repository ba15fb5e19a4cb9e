// Explanations, and `ip route get`.
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/grammar/names.h"
#include "client/grammar/values.h"
#include "client/output/json.h"
#include "client/output/objects.h"
#include "client/output/reports.h"

namespace sluice::client {
namespace {

absl::string_view OutcomeWord(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_FORWARDED:
      return "forwarded";
    case v1::OUTCOME_DELIVERED:
      return "delivered";
    case v1::OUTCOME_DROPPED:
      return "dropped";
    case v1::OUTCOME_HELD:
      return "held";
    default:
      return "unknown";
  }
}

v1::Object AsObject(const v1::Route& route) {
  v1::Object object;
  *object.mutable_route() = route;
  return object;
}

std::string ExplainText(const v1::ExplainResponse& response) {
  std::string text;
  for (const v1::ExplainStep& step : response.steps()) absl::StrAppend(&text, step.stage(), ": ", step.text(), "\n");
  const v1::Verdict& verdict = response.verdict();
  absl::StrAppend(&text, "verdict: ", OutcomeWord(verdict.outcome()));
  if (!verdict.drop_reason().empty()) absl::StrAppend(&text, ", reason ", verdict.drop_reason());
  if (!verdict.link().empty()) absl::StrAppend(&text, ", dev ", verdict.link());
  if (!verdict.next_hop().empty()) absl::StrAppend(&text, ", next hop ", verdict.next_hop());
  if (!verdict.source_mac().empty()) absl::StrAppend(&text, ", from ", verdict.source_mac());
  if (!verdict.destination_mac().empty()) absl::StrAppend(&text, ", to ", verdict.destination_mac());
  if (verdict.has_icmp_type()) {
    absl::StrAppend(&text, ", answered by ICMP ", verdict.icmp_type(), "/", verdict.icmp_code());
  }
  text.push_back('\n');
  for (const std::string& frame : verdict.frames()) {
    absl::StrAppend(&text, "frame ", frame.size(), " bytes: ", absl::BytesToHexString(frame), "\n");
  }
  absl::StrAppend(&text, "generation ", response.generation(), " epoch ", response.epoch(), "\n");
  return text;
}

}  // namespace

std::string ExplainReport(const Style& style, const v1::ExplainResponse& response) {
  if (!style.json) return ExplainText(response);
  std::string text;
  Json json(&text, style.pretty);
  json.BeginObject();
  json.Field("generation", response.generation());
  json.Field("epoch", response.epoch());
  json.BeginArray("steps");
  for (const v1::ExplainStep& step : response.steps()) {
    json.BeginObject();
    json.Field("stage", step.stage());
    json.Field("text", step.text());
    json.BeginObject("facts");
    for (const v1::ExplainFact& fact : step.facts()) {
      json.Field(fact.key(), fact.value());
    }
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  const v1::Verdict& verdict = response.verdict();
  json.BeginObject("verdict");
  json.Field("outcome", OutcomeWord(verdict.outcome()));
  if (!verdict.drop_reason().empty()) json.Field("drop_reason", verdict.drop_reason());
  if (!verdict.link().empty()) json.Field("dev", verdict.link());
  if (!verdict.next_hop().empty()) json.Field("next_hop", verdict.next_hop());
  if (!verdict.source_mac().empty()) json.Field("source_mac", verdict.source_mac());
  if (!verdict.destination_mac().empty()) json.Field("destination_mac", verdict.destination_mac());
  if (verdict.has_icmp_type()) {
    json.Field("icmp_type", verdict.icmp_type());
    json.Field("icmp_code", verdict.icmp_code());
  }
  json.BeginArray("frames");
  for (const std::string& frame : verdict.frames()) json.String(absl::BytesToHexString(frame));
  json.EndArray();
  json.EndObject();
  if (response.has_route()) {
    json.Key("route");
    PrintRoute(Style{.json = true, .details = true}, Query{}, AsObject(response.route().route()), &json);
  }
  if (!response.frame().empty()) json.Field("frame", absl::BytesToHexString(response.frame()));
  json.EndObject();
  text.push_back('\n');
  return text;
}

bool RouteGetReport(const Style& style, const v1::ExplainRequest& request, const v1::ExplainResponse& response,
                    std::string* text) {
  const v1::RouteResult& result = response.route();
  const v1::RouteType type = response.has_route() ? result.route().type() : v1::ROUTE_TYPE_UNSPECIFIED;
  absl::string_view error;
  if (!response.has_route() || type == v1::ROUTE_TYPE_THROW) {
    error = "Network is unreachable";
  } else if (type == v1::ROUTE_TYPE_BLACKHOLE) {
    error = "Invalid argument";
  } else if (type == v1::ROUTE_TYPE_UNREACHABLE) {
    error = "No route to host";
  } else if (type == v1::ROUTE_TYPE_PROHIBIT) {
    error = "Permission denied";
  }
  if (!error.empty()) {
    *text = absl::StrCat("RTNETLINK answers: ", error, "\n");
    return false;
  }

  const v1::PacketFields& fields = request.fields();
  const bool v6 = FamilyOfText(fields.destination()) == Family::kIpv6;
  const bool typed = type != v1::ROUTE_TYPE_UNICAST && type != v1::ROUTE_TYPE_UNSPECIFIED;
  const bool other_family = !result.gateway().empty() && FamilyOfText(result.gateway()) == Family::kIpv6 && !v6;
  const v1::Route& route = result.route();
  const std::string from = !fields.source().empty() ? fields.source() : v6 ? "::" : "";
  // The source that was chosen is shown unless the question already gave it.
  const std::string& prefsrc = fields.source().empty() ? result.prefsrc() : route.prefsrc();
  text->clear();
  if (style.json) {
    Json json(text, style.pretty);
    json.BeginArray();
    json.BeginObject();
    if (typed) json.Field("type", RouteTypeWord(type));
    json.Field("dst", fields.destination());
    if (!from.empty()) json.Field("from", from);
    if (other_family) {
      json.BeginObject("via");
      json.Field("family", "inet6");
      json.Field("host", result.gateway());
      json.EndObject();
    } else if (!result.gateway().empty()) {
      json.Field("gateway", result.gateway());
    }
    if (!result.link().empty()) json.Field("dev", result.link());
    if (route.has_table() && route.table() != kTableMain && !typed) json.Field("table", TableWord(route.table()));
    if (!prefsrc.empty()) json.Field("prefsrc", prefsrc);
    if (v6 && route.has_metric()) json.Field("metric", route.metric());
    json.BeginArray("flags");
    json.EndArray();
    if (!v6) {
      json.BeginArray("cache");
      if (type == v1::ROUTE_TYPE_LOCAL) json.String("local");
      if (type == v1::ROUTE_TYPE_BROADCAST) json.String("brd");
      json.EndArray();
    }
    if (route.has_mtu()) {
      json.BeginArray("metrics");
      json.BeginObject();
      json.Field("mtu", route.mtu());
      json.EndObject();
      json.EndArray();
    }
    if (!request.link().empty()) json.Field("iif", request.link());
    if (v6) json.Field("pref", "medium");
    json.EndObject();
    json.EndArray();
    text->push_back('\n');
    return true;
  }
  if (typed) absl::StrAppend(text, RouteTypeWord(type), " ");
  absl::StrAppend(text, fields.destination(), " ");
  if (!from.empty()) absl::StrAppend(text, "from ", from, " ");
  if (!result.gateway().empty()) absl::StrAppend(text, "via ", other_family ? "inet6 " : "", result.gateway(), " ");
  if (!result.link().empty()) absl::StrAppend(text, "dev ", result.link(), " ");
  if (route.has_table() && route.table() != kTableMain && !typed) {
    absl::StrAppend(text, "table ", TableWord(route.table()), " ");
  }
  if (!prefsrc.empty()) absl::StrAppend(text, "src ", prefsrc, " ");
  const std::string mtu =
      route.has_mtu() ? absl::StrCat("mtu ", route.mtu_locked() ? "lock " : "", route.mtu(), " ") : "";
  if (v6) {
    if (route.has_metric()) absl::StrAppend(text, "metric ", route.metric(), " ");
    absl::StrAppend(text, mtu, "pref medium\n");
    return true;
  }
  absl::StrAppend(text, style.oneline ? "\\" : "\n", "    cache ");
  if (type == v1::ROUTE_TYPE_LOCAL) absl::StrAppend(text, "<local> ");
  if (type == v1::ROUTE_TYPE_BROADCAST) absl::StrAppend(text, "<brd> ");
  if (!request.link().empty()) absl::StrAppend(text, "iif ", request.link(), " ");
  absl::StrAppend(text, mtu, "\n");
  return true;
}

}  // namespace sluice::client
