// What routes refer to, checked against the state at the end of the batch.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"
#include "server/config/route_checks.h"

namespace sluice::config {
namespace {

Problem Unreachable(const IpAddress& gateway, const std::string& link) {
  return Refuse("GATEWAY_UNREACHABLE", "object.route.nexthops[0].gateway",
                absl::StrCat("gateway ", gateway.ToString(), " is not reachable",
                             link.empty() ? "" : absl::StrCat(" on link ", link), " by a directly connected route"));
}

}  // namespace

// What a route that was found says of a gateway. IPv4 takes an address of its own for a gateway, as Linux does.
Batch::Resolved Batch::ResolveIn(const RouteCheck& check, const Config::Found& found) const {
  const NexthopSpec spec = next_.Spec(found.record.nexthop);
  const bool v4 = check.gateway.is_v4();
  Resolved resolved;
  switch (found.record.type) {
    case RouteType::kUnicast:
      if (!spec.gateway.empty()) break;
      resolved.link = spec.link;
      return resolved;
    case RouteType::kLocal:
      if (v4) {
        resolved.link = spec.link;
      } else {
        resolved.problem = Refuse("GATEWAY_IS_OWN", "object.route.nexthops[0].gateway",
                                  absl::StrCat("gateway ", check.gateway.ToString(), " is an address of Sluice's own"));
      }
      return resolved;
    case RouteType::kBroadcast:
      resolved.problem = Refuse("GATEWAY_NOT_UNICAST", "object.route.nexthops[0].gateway",
                                absl::StrCat("gateway ", check.gateway.ToString(), " is a broadcast address"));
      return resolved;
    default:
      break;
  }
  resolved.problem = Unreachable(check.gateway, check.link_name);
  return resolved;
}

Batch::Resolved Batch::Resolve(const RouteCheck& check) const {
  Resolved resolved;
  const bool v4 = check.gateway.is_v4();
  if (!v4 && check.link != 0 && check.gateway.v6().IsLinkLocal()) {
    resolved.link = check.link;  // on that link by its nature
    return resolved;
  }
  const auto accept = [&](const RouteId& id, const RouteRecord& record) {
    if (id.tos != 0) return false;
    if (v4 && record.scope < kScopeLink) return false;
    if (record.nexthop < kFirstFreeNexthop) return true;
    const NexthopSpec spec = next_.Spec(record.nexthop);
    if (check.link != 0 && spec.link != check.link) return false;
    const LinkRecord* link = next_.links.Find(spec.link);
    return link != nullptr && (link->up || (v4 && record.type == RouteType::kLocal));
  };
  if (check.table != kMainTable) {
    const auto found = next_.LookupIn(check.table, check.gateway, accept);
    if (found && found->record.type != RouteType::kThrow) {
      resolved = ResolveIn(check, *found);
      // IPv6 has no scopes that would have passed over, say, the default route of that very table.
      if (v4 || resolved.problem.ok()) return resolved;
    }
  }
  for (const uint32_t table : {kLocalTable, kMainTable, kDefaultTable}) {
    const auto found = next_.LookupIn(table, check.gateway, accept);
    if (found && found->record.type != RouteType::kThrow) return ResolveIn(check, *found);
  }
  resolved.link = 0;
  resolved.problem = Unreachable(check.gateway, check.link_name);
  return resolved;
}

// The first thing that is wrong with what a group refers to; *link is what its routes leave by.
Problem Batch::ReferenceProblem(const RouteCheck& check, LinkIndex* link) const {
  *link = check.link;
  if (check.link != 0 && !next_.links.Contains(check.link)) {
    return Refuse("UNKNOWN_LINK", "object.route.nexthops[0].link",
                  absl::StrCat("there is no link \"", check.link_name, "\""));
  }
  const auto up = [&](LinkIndex index) {
    const LinkRecord* record = next_.links.Find(index);
    return record != nullptr && record->up;
  };
  const auto down = [&](LinkIndex index) {
    return Refuse("LINK_DOWN", check.link != 0 ? "object.route.nexthops[0].link" : "object.route.nexthops[0].gateway",
                  absl::StrCat("link ", next_.LinkName(index), " is down"));
  };
  const bool needs_up = check.type != RouteType::kLocal || check.family == Family::kIpv6;
  if (check.link != 0 && needs_up && !up(check.link)) return down(check.link);
  if (!check.gateway.empty() && !check.onlink) {
    Resolved resolved = Resolve(check);
    if (!resolved.problem.ok()) return resolved.problem;
    *link = resolved.link;
    if (!up(*link)) return down(*link);
  }
  if (check.gateway.is_v6() && next_.IsLocal(check.gateway)) {
    return Refuse("GATEWAY_IS_OWN", "object.route.nexthops[0].gateway",
                  absl::StrCat("gateway ", check.gateway.ToString(), " is an address of Sluice's own"));
  }
  if (const LinkRecord* record = next_.links.Find(*link);
      record != nullptr && check.family == Family::kIpv6 && !record->speaks_ipv6()) {
    return Refuse(
        "MTU_BELOW_IPV6", "object.route.nexthops[0].link",
        absl::StrCat("link ", record->name.view(), " has mtu ", record->mtu_in_use(), ", and IPv6 needs 1280"));
  }
  return {};
}

template <class Use>
void Batch::ForGroup(uint32_t check, Use use) {
  if (touches_by_check_.size() != touched_routes_.size()) {
    touches_by_check_.resize(touched_routes_.size());
    std::iota(touches_by_check_.begin(), touches_by_check_.end(), 0);
    std::stable_sort(touches_by_check_.begin(), touches_by_check_.end(),
                     [&](uint32_t a, uint32_t b) { return touched_routes_[a].check < touched_routes_[b].check; });
  }
  const NexthopIndex nexthop = checks_[check].nexthop;
  auto at = std::partition_point(touches_by_check_.begin(), touches_by_check_.end(),
                                 [&](uint32_t i) { return touched_routes_[i].check < check; });
  for (; at != touches_by_check_.end() && touched_routes_[*at].check == check; ++at) {
    const RouteTouch touch = touched_routes_[*at];
    const RouteRecord* record = next_.FindRoute(touch.id);
    if (record == nullptr || record->derived || record->nexthop != nexthop) continue;
    use(touch);
  }
}

// The gateway is found on another link than was guessed: the routes of the group get the slot that says so.
void Batch::MoveGroup(uint32_t check, LinkIndex link) {
  RouteCheck& c = checks_[check];
  const NexthopSpec old = next_.Spec(c.nexthop);
  NexthopSpec spec = old;
  spec.link = link;
  spec.provisional = 0;
  if (old.provisional == check + 1 && !next_.nexthop_of.Contains(spec)) {
    // Nobody else has this slot: it can be what it was meant to be.
    next_.nexthop_of.Erase(old);
    next_.nexthop_of.Assign(spec, c.nexthop);
    next_.nexthops.FindMutable(c.nexthop)->spec = spec;
    last_nexthop_ = 0;
    return;
  }
  const NexthopIndex to = InternNexthop(spec);
  if (to == 0) return;
  ForGroup(check, [&](const RouteTouch& touch) {
    RefNexthop(c.nexthop, false, -1);
    RefNexthop(to, false, 1);
    next_.FindRouteMutable(touch.id)->nexthop = to;
  });
  c.nexthop = to;
}

void Batch::CheckRouteGroup(uint32_t check) {
  const RouteCheck& c = checks_[check];
  LinkIndex link = 0;
  const Problem problem = ReferenceProblem(c, &link);
  if (!problem.ok()) {
    ForGroup(check, [&](const RouteTouch& touch) {
      Problem mine = problem;
      mine.message = absl::StrCat(NameOfRoute(touch.id), ": ", mine.message);
      FailAt(touch.op, std::move(mine));
    });
    return;
  }
  if (!c.source.empty() && !next_.IsLocal(c.source)) {
    ForGroup(check, [&](const RouteTouch& touch) {
      // A local route may name the address that it itself makes local.
      if (c.type == RouteType::kLocal && touch.id.prefix == IpPrefix::Host(c.source)) return;
      FailAt(touch.op, Refuse("PREFSRC_NOT_LOCAL", "object.route.prefsrc",
                              absl::StrCat(NameOfRoute(touch.id), ": prefsrc ", c.source.ToString(),
                                           " is not an address of Sluice's own")));
    });
  }
  if (link != 0 && link != next_.Spec(c.nexthop).link) MoveGroup(check, link);
}

void Batch::CheckRoutes() {
  for (uint32_t check = 0; check < checks_.size(); ++check) CheckRouteGroup(check);
}

void Batch::CheckClashes() {
  for (const DerivedClash& clash : clashes_) {
    bool derived = false, configured = false;
    for (const Config::Found& found : EqualRoutes(clash.id)) {
      (found.record.derived ? derived : configured) = true;
    }
    const std::string what = NameOfRoute(clash.id);
    const bool writes = clash.verb == Verb::kAdd || clash.verb == Verb::kReplace;
    if (writes && !(derived && configured)) continue;
    if (derived && clash.verb == Verb::kAdd) {
      FailAt(clash.op, Refuse("ALREADY_EXISTS", "object.route.prefix",
                              absl::StrCat(what, " exists already: it follows from an address")));
    } else if (derived) {
      FailAt(clash.op, Refuse("DERIVED", "object.route.prefix",
                              absl::StrCat(what, " follows from an address and cannot be changed by itself")));
    } else if (!clash.missing_ok) {
      FailAt(clash.op, Refuse("NOT_FOUND", "object.route.prefix", absl::StrCat("there is no ", what)));
    }
  }
}

}  // namespace sluice::config
