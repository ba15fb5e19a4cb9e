// For tests of this folder: requests in a line, and a Config as the lines that `ip` prints.
//
//   World w;
//   w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddRoute("10.9.0.0/16", "10.0.0.9")});
//   EXPECT_EQ(w.Table(Family::kIpv4, 254), "10.0.0.0/24 dev v0 proto kernel scope link src 10.0.0.1\n...");
//   EXPECT_EQ(w.Refused({DeleteRoute("10.8.0.0/16")}), "0 NOT_FOUND object.route");
#ifndef SLUICE_SERVER_CONFIG_TEST_UTIL_H_
#define SLUICE_SERVER_CONFIG_TEST_UTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "server/config/apply.h"
#include "server/config/config.h"
#include "server/config/read.h"

namespace sluice::config {

inline IpAddress Ip(absl::string_view text) { return *IpAddress::Parse(text); }
inline IpPrefix Prefix(absl::string_view text) { return *IpPrefix::Parse(text); }
inline MacAddress Mac(absl::string_view text) { return *MacAddress::Parse(text); }

inline Operation Op(Verb verb, AnyObject object, std::vector<std::string> fields = {}) {
  Operation op;
  op.verb = verb;
  op.target = Object{std::move(object), {}, {}, {}};
  op.fields = std::move(fields);
  return op;
}

inline Link MakeLink(const std::string& name, bool up = true) {
  Link link;
  link.name = name;
  link.devargs = absl::StrCat("net_null_", name);
  link.up = up;
  // 02:00:00:00:00:NN, so that link-local addresses differ.
  link.mac = MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(name.back() - '0' + 1)}};
  return link;
}
inline Operation AddLink(const std::string& name, bool up = true) { return Op(Verb::kAdd, MakeLink(name, up)); }
inline Operation BringUp(const std::string& name, bool up) {
  Link link;
  link.name = name;
  link.up = up;
  return Op(Verb::kChange, link, {"up"});
}
inline Operation DeleteLink(const std::string& name) {
  Link link;
  link.name = name;
  link.kind = LinkKind::kNone;
  return Op(Verb::kDelete, link);
}

inline Address MakeAddress(const std::string& link, const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, '/');
  Address address;
  address.link = link;
  address.address = Ip(parts.first);
  address.prefix_length = static_cast<uint8_t>(std::stoi(parts.second));
  return address;
}
inline Operation AddAddress(const std::string& link, const std::string& text) {
  return Op(Verb::kAdd, MakeAddress(link, text));
}
inline Operation DeleteAddress(const std::string& link, const std::string& text) {
  return Op(Verb::kDelete, MakeAddress(link, text));
}

inline Neighbor MakeNeighbor(const std::string& link, const std::string& address, const std::string& mac) {
  Neighbor neighbor;
  neighbor.link = link;
  neighbor.address = Ip(address);
  if (!mac.empty()) neighbor.mac = Mac(mac);
  return neighbor;
}

// Empty gateway or link: not given.
inline Route MakeRoute(const std::string& prefix, const std::string& gateway = "", const std::string& link = "") {
  Route route;
  route.prefix = Prefix(prefix);
  if (gateway.empty() && link.empty()) return route;
  RouteLeg leg;
  if (!gateway.empty()) leg.gateway = Ip(gateway);
  leg.link = link;
  route.legs.push_back(leg);
  return route;
}
inline Route Typed(const std::string& prefix, RouteType type, const std::string& link = "") {
  Route route = MakeRoute(prefix, "", link);
  route.type = type;
  return route;
}
inline Operation AddRoute(const std::string& prefix, const std::string& gateway, const std::string& link = "") {
  return Op(Verb::kAdd, MakeRoute(prefix, gateway, link));
}
inline Operation DeleteRoute(const std::string& prefix) { return Op(Verb::kDelete, MakeRoute(prefix)); }

inline std::string TypeName(RouteType type) {
  switch (type) {
    case RouteType::kLocal:
      return "local ";
    case RouteType::kBroadcast:
      return "broadcast ";
    case RouteType::kMulticast:
      return "multicast ";
    case RouteType::kBlackhole:
      return "blackhole ";
    case RouteType::kUnreachable:
      return "unreachable ";
    case RouteType::kProhibit:
      return "prohibit ";
    case RouteType::kThrow:
      return "throw ";
    default:
      return "";
  }
}

// As `ip route` prints it, without the trailing blank and "pref medium".
inline std::string RouteLine(const Route& route) {
  std::string line = TypeName(route.type);
  if (route.prefix.length == 0) {
    line += "default";
  } else {
    line += route.prefix.is_host() ? route.prefix.address.ToString() : route.prefix.ToString();
  }
  if (route.tos.value_or(0) != 0) absl::StrAppend(&line, " tos 0x", absl::Hex(*route.tos));
  for (const RouteLeg& leg : route.legs) {
    if (!leg.gateway.empty()) {
      absl::StrAppend(&line, " via ", leg.gateway.family != route.prefix.family() ? "inet6 " : "",
                      leg.gateway.ToString());
    }
    absl::StrAppend(&line, " dev ", leg.link);
    if (leg.onlink) absl::StrAppend(&line, " onlink");
  }
  if (route.protocol == 2) absl::StrAppend(&line, " proto kernel");
  if (route.protocol == 4) absl::StrAppend(&line, " proto static");
  const bool v6 = route.prefix.family() == Family::kIpv6;
  if (!v6 && route.scope == 253u) absl::StrAppend(&line, " scope link");
  if (!v6 && route.scope == 254u) absl::StrAppend(&line, " scope host");
  if (!route.prefsrc.empty()) absl::StrAppend(&line, " src ", route.prefsrc.ToString());
  if (v6 || route.metric.value_or(0) != 0) absl::StrAppend(&line, " metric ", route.metric.value_or(0));
  if (route.mtu) absl::StrAppend(&line, " mtu ", route.mtu_locked ? "lock " : "", *route.mtu);
  if (route.counted) absl::StrAppend(&line, " counted");
  return line;
}

inline std::vector<Object> ReadAll(const Config& config, std::vector<Selector> selectors = {}, size_t piece = 3) {
  std::vector<Object> all;
  Reader reader(config, std::move(selectors));
  while (!reader.done()) reader.Next(piece, &all);
  return all;
}

inline std::string ObjectLine(const Object& object) {
  const char* derived = object.meta.origin == Origin::kDerived ? " derived" : "";
  if (const Link* link = std::get_if<Link>(&object.value)) {
    return absl::StrCat("link ", link->name, " ", link->devargs, *link->up ? " up" : " down", " mtu ", link->state.mtu,
                        " mac ", link->state.mac.ToString());
  }
  if (const Address* a = std::get_if<Address>(&object.value)) {
    return absl::StrCat("address ", a->link, " ", a->address.ToString(), "/", a->prefix_length, " scope ", *a->scope,
                        a->secondary ? " secondary" : "", a->metric ? " metric" : "",
                        a->no_prefix_route ? " noprefixroute" : "", derived);
  }
  if (const Neighbor* n = std::get_if<Neighbor>(&object.value)) {
    return absl::StrCat("neighbor ", n->link, " ", n->address.ToString(), " ", n->mac ? n->mac->ToString() : "-");
  }
  const Route& route = std::get<Route>(object.value);
  return absl::StrCat("route table ", *route.table, " ", RouteLine(route), derived);
}

// Everything, without uids, generations and indices.
inline std::string Dump(const Config& config) {
  std::string text;
  for (const Object& object : ReadAll(config)) absl::StrAppend(&text, ObjectLine(object), "\n");
  return text;
}

inline std::string Table(const Config& config, Family family, uint32_t table) {
  Selector selector;
  selector.match.emplace<Route>().table = table;
  selector.family = family;
  std::string text;
  for (const Object& object : ReadAll(config, {selector})) {
    absl::StrAppend(&text, RouteLine(std::get<Route>(object.value)), "\n");
  }
  return text;
}

// Whether the interned parts hold exactly what routes and objects use.
inline void ExpectConsistent(const Config& config) {
  std::map<NexthopIndex, std::pair<uint32_t, uint32_t>> users;
  std::map<uint64_t, uint32_t> lengths;
  std::map<uint32_t, uint32_t> attributes;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (RouteCursor route = config.FirstRoute(family); route.Valid(); route.Next()) {
      const RouteRecord& record = route.record();
      const RouteId id = route.id();
      ++lengths[LengthKey(family, id.table, id.prefix.length)];
      if (record.meta.attributes != 0) ++attributes[record.meta.attributes];
      if (record.nexthop >= kFirstFreeNexthop) {
        auto& [configured, derived] = users[record.nexthop];
        ++(record.derived ? derived : configured);
      }
      const NexthopSpec spec = config.Spec(record.nexthop);
      EXPECT_EQ(spec.type, record.type);
      EXPECT_TRUE(spec.link == 0 || config.links.Contains(spec.link))
          << RouteLine(std::get<Route>(DescribeRoute(config, id, record).value));
    }
  }
  EXPECT_EQ(config.nexthops.size(), users.size());
  EXPECT_EQ(config.nexthop_of.size(), users.size());
  for (auto it = config.nexthops.begin(); it.Valid(); it.Next()) {
    const auto [configured, derived] = users[it.key()];
    EXPECT_EQ(it.value().configured, configured);
    EXPECT_EQ(it.value().derived, derived);
    EXPECT_EQ(it.value().spec.provisional, 0u);
    const NexthopIndex* index = config.nexthop_of.Find(it.value().spec);
    ASSERT_NE(index, nullptr);
    EXPECT_EQ(*index, it.key());
  }
  EXPECT_EQ(config.lengths.size(), lengths.size());
  for (const auto& [key, count] : lengths) {
    ASSERT_NE(config.lengths.Find(key), nullptr);
    EXPECT_EQ(*config.lengths.Find(key), count);
  }
  for (auto it = config.addresses.begin(); it.Valid(); it.Next()) {
    EXPECT_TRUE(config.links.Contains(it.key().link));
    if (it.value().meta.attributes != 0) ++attributes[it.value().meta.attributes];
  }
  for (auto it = config.neighbors.begin(); it.Valid(); it.Next()) {
    EXPECT_TRUE(config.links.Contains(it.key().link));
    if (it.value().meta.attributes != 0) ++attributes[it.value().meta.attributes];
  }
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    EXPECT_EQ(config.FindLink(it.value().name.view()), it.key());
    if (it.value().meta.attributes != 0) ++attributes[it.value().meta.attributes];
  }
  EXPECT_EQ(config.links.size(), config.link_names.size());
  EXPECT_EQ(config.attributes.size(), attributes.size());
  EXPECT_EQ(config.attributes_of.size(), attributes.size());
  for (const auto& [id, users_of] : attributes) {
    ASSERT_NE(config.attributes.Find(id), nullptr);
    EXPECT_EQ(config.attributes.Find(id)->users, users_of);
  }
}

struct World {
  Config config;
  CandidateOptions options;

  Candidate::Outcome Try(const std::vector<Operation>& operations) const {
    Candidate candidate(config, options);
    for (const Operation& op : operations) candidate.Apply(op);
    return candidate.Finish();
  }
  // Must be accepted, and is.
  Candidate::Outcome Must(const std::vector<Operation>& operations) {
    Candidate::Outcome outcome = Try(operations);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    if (outcome.status.ok()) config = outcome.config;
    ExpectConsistent(config);
    return outcome;
  }
  // Must be refused: "INDEX REASON FIELD" of each problem, joined by ", ". Also checks that nothing changed.
  std::string Refused(const std::vector<Operation>& operations) const {
    const std::string before = Dump(config);
    const Candidate::Outcome outcome = Try(operations);
    EXPECT_FALSE(outcome.status.ok());
    EXPECT_EQ(Dump(config), before);
    EXPECT_EQ(Dump(outcome.config), before);
    EXPECT_EQ(outcome.config.generation, config.generation);
    std::vector<std::string> problems;
    for (const OperationResult& result : outcome.results) {
      EXPECT_NE(result.problem.code, absl::StatusCode::kInternal) << result.problem.reason;
      EXPECT_FALSE(result.problem.message.empty());
      problems.push_back(absl::StrCat(result.index, " ", result.problem.reason, " ", result.problem.field));
    }
    return absl::StrJoin(problems, ", ");
  }
  std::string Table(Family family, uint32_t table) const { return config::Table(config, family, table); }
  std::string Cascaded(const Candidate::Outcome& outcome) const {
    std::string text;
    for (const OperationResult& result : outcome.results) {
      for (const Object& object : result.cascaded) absl::StrAppend(&text, ObjectLine(object), "\n");
    }
    return text;
  }
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_TEST_UTIL_H_
