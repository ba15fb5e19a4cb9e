// Routes: the verbs. What a route refers to is checked in finish.cc.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"
#include "server/config/read.h"
#include "server/config/route_checks.h"

namespace sluice::config {

Batch::Equals Batch::EqualRoutes(const RouteId& id) const {
  Equals equals;
  RouteId from = id;
  from.order = 0;
  for (RouteCursor route = next_.SeekRoutes(from); route.Valid(); route.Next()) {
    RouteId at = route.id();
    from.order = at.order;
    if (at != from) break;
    equals.push_back({at, route.record()});
  }
  return equals;
}

// One check, found again by its bytes: table, family, type, scope and what the nexthop is asked to be.
uint32_t Batch::FindCheck(const config::Route& route, const NewRoute& r) {
  std::string& key = check_key_.bytes;
  key.assign(reinterpret_cast<const char*>(&r.spec), sizeof r.spec);
  const uint8_t small[] = {static_cast<uint8_t>(r.id.prefix.family()), static_cast<uint8_t>(r.spec.type)};
  key.append(reinterpret_cast<const char*>(&r.id.table), sizeof r.id.table);
  key.append(reinterpret_cast<const char*>(small), sizeof small);
  const auto [it, added] = check_of_.try_emplace(check_key_, static_cast<uint32_t>(checks_.size()));
  if (added) {
    RouteCheck check;
    check.table = r.id.table;
    check.family = r.id.prefix.family();
    check.type = r.spec.type;
    check.gateway = r.spec.gateway;
    check.source = r.spec.source;
    check.link = r.spec.link;
    if (!route.legs.empty()) {
      check.onlink = route.legs[0].onlink;
      check.link_name = route.legs[0].link;
    }
    NexthopSpec spec = r.spec;
    if (spec.link == 0) {
      // The link will be what the gateway is found on at the end. A guess from the state now is nearly always right,
      // and then the slot need not be named anew.
      spec.link = Resolve(check).link;
      if (spec.link == 0) spec.provisional = it->second + 1;
    }
    check.nexthop = InternNexthop(spec);
    if (check.nexthop == 0) {
      check_of_.erase(it);
      return kNoCheck;
    }
    checks_.push_back(std::move(check));
  }
  return it->second;
}

bool Batch::SameRoute(const RouteRecord& stored, const NewRoute& route) const {
  return stored.nexthop == route.record.nexthop && stored.protocol == route.record.protocol &&
         stored.type == route.record.type && stored.scope == route.record.scope;
}

void Batch::AddRouteRecord(const RouteId& id, const RouteRecord& record) {
  next_.InsertRoute(id, record);
  RefNexthop(record.nexthop, record.derived, 1);
  RefAttributes(record.meta.attributes, 1);
  if (!record.derived) changed_ = true;  // what is derived changes with what it follows from
}

void Batch::EraseRouteRecord(const RouteId& id) {
  const RouteRecord* record = next_.FindRoute(id);
  RefNexthop(record->nexthop, record->derived, -1);
  RefAttributes(record->meta.attributes, -1);
  if (!record->derived) changed_ = true;
  next_.EraseRoute(id);
}

// A place before or after the routes in `equals`; when there is none left they move together first.
uint16_t Batch::OrderAround(Equals* equals, bool after) {
  if (equals->empty()) return kFirstOrder;
  const auto edge = [&] { return after ? equals->back().id.order : equals->front().id.order; };
  if (edge() == (after ? 0xffff : 0)) {
    for (const Config::Found& found : *equals) next_.EraseRoute(found.id);
    uint16_t order = static_cast<uint16_t>(kFirstOrder - equals->size() / 2);
    for (Config::Found& found : *equals) {
      found.id.order = order++;
      next_.InsertRoute(found.id, found.record);
      for (RouteTouch& touch : touched_routes_) {
        // Touches name routes by place. A place that moved is looked up again by its table and prefix at compile time;
        // for the checks the operation must follow its route.
        if (touch.id.prefix == found.id.prefix && touch.id.table == found.id.table && touch.id.tos == found.id.tos &&
            touch.id.metric == found.id.metric && touch.check != kNoCheck) {
          touch.id.order = found.id.order;
        }
      }
    }
  }
  return static_cast<uint16_t>(after ? edge() + 1 : edge() - 1);
}

// Stores `route` in place of *replaces, or as a new one at `order`.
void Batch::PutRoute(const Operation& operation, NewRoute* route, const Config::Found* replaces, uint16_t order) {
  RouteId id = route->id;
  uint64_t uid = 0;
  if (replaces != nullptr) {
    id = replaces->id;
    uid = replaces->record.meta.uid;
  } else {
    id.order = order;
    uid = next_.next_uid;
  }
  if (route->spec.counted_uid != 0) route->spec.counted_uid = uid;
  const auto type = route->record.type;
  const bool fixed = type != RouteType::kUnicast && type != RouteType::kLocal && type != RouteType::kBroadcast;
  if (fixed && route->spec.counted_uid == 0) {
    route->record.nexthop = FixedNexthop(type);
  } else if (fixed) {
    route->record.nexthop = InternNexthop(route->spec);
    if (route->record.nexthop == 0) return;
  } else {
    route->check = FindCheck(std::get<config::Route>(std::get<Object>(operation.target).value), *route);
    if (route->check == kNoCheck) return;
    route->record.nexthop = checks_[route->check].nexthop;
  }
  if (replaces == nullptr) {
    route->record.meta = NewMeta(route->attributes);
    AddRouteRecord(id, route->record);
  } else if (!SameRoute(replaces->record, *route) || replaces->record.meta.attributes != route->attributes) {
    RefNexthop(replaces->record.nexthop, false, -1);
    RefNexthop(route->record.nexthop, false, 1);
    RefAttributes(replaces->record.meta.attributes, -1);
    RefAttributes(route->attributes, 1);
    route->record.meta = replaces->record.meta;
    route->record.meta.attributes = route->attributes;
    Changed(&route->record.meta);
    *next_.FindRouteMutable(id) = route->record;
  }
  TouchRoute(id, route->check);
  if (options_.describe_stored) stored_.push_back({op(), Described::kRoute, 0, {}, 0, id});
}

void Batch::ApplyRoute(const Operation& operation, const Object& object, const config::Route& route) {
  const Verb verb = operation.verb;
  if (verb == Verb::kDelete) {
    DeleteRoute(operation, object, route);
    return;
  }
  if (verb == Verb::kChange && !operation.fields.empty()) {
    ChangeRouteFields(operation, route);
    return;
  }
  NewRoute wanted;
  if (!CheckRoute(route, &wanted) || !CheckAttributes(object, &wanted.attributes)) return;
  StoreRoute(operation, route, &wanted);
}

void Batch::StoreRoute(const Operation& operation, const config::Route& route, NewRoute* wanted) {
  const Verb verb = operation.verb;
  Equals equals = EqualRoutes(wanted->id);
  const Config::Found* first = nullptr;  // configured
  bool derived = false;
  for (const Config::Found& found : equals) {
    if (found.record.derived) {
      derived = true;
    } else if (first == nullptr) {
      first = &found;
    }
  }
  const std::string what = first != nullptr || verb == Verb::kChange ? NameOfRoute(wanted->id) : "";
  if (operation.expected_changed) {
    if (first == nullptr) {
      NotFound(operation, "object.route", NameOfRoute(wanted->id));
      return;
    }
    if (!Expected(operation, first->record.meta, what)) return;
  }
  if (first == nullptr && next_.routes() >= options_.limits.routes) {
    Fail("LIMIT_REACHED", "object.route", absl::StrCat("there are ", next_.routes(), " routes already"));
    return;
  }
  switch (verb) {
    case Verb::kAdd:
      if (first != nullptr) {
        Fail("ALREADY_EXISTS", "object.route.prefix", absl::StrCat(what, " exists already"));
        return;
      }
      break;
    case Verb::kReplace:
      break;
    case Verb::kChange:
      if (first == nullptr) {
        if (derived) {
          clashes_.push_back({wanted->id, op(), verb, false});
        } else {
          NotFound(operation, "object.route.prefix", what);
        }
        return;
      }
      break;
    case Verb::kAppend:
    case Verb::kPrepend:
      if (wanted->id.prefix.family() == Family::kIpv6 && first != nullptr) {
        Fail("NOT_SUPPORTED", "object.route.nexthops",
             absl::StrCat(what, " exists already; several nexthops are not done yet"));
        return;
      }
      break;
    default:
      return;
  }
  const bool around = verb == Verb::kAppend || verb == Verb::kPrepend;
  if (!around && derived && first == nullptr) clashes_.push_back({wanted->id, op(), verb, false});
  if (!around && first != nullptr) {
    const size_t nth = static_cast<size_t>(first - equals.data());
    if (equals.size() > nth + 1 && Duplicate(route, *wanted, equals, nth + 1)) {
      Fail("ALREADY_EXISTS", "object.route", absl::StrCat("a later ", what, " is the same"));
      return;
    }
    PutRoute(operation, wanted, first, 0);
    return;
  }
  if (around && Duplicate(route, *wanted, equals, 0)) {
    Fail("ALREADY_EXISTS", "object.route", absl::StrCat("the same ", NameOfRoute(wanted->id), " exists already"));
    return;
  }
  const uint16_t order = OrderAround(&equals, verb == Verb::kAppend);
  PutRoute(operation, wanted, nullptr, order);
}

// Whether one of `equals` from `from` on leads where `route` would, as Linux compares (gateway, link, source, MTU,
// type, scope, protocol).
bool Batch::Duplicate(const config::Route& route, const NewRoute& wanted, const Equals& equals, size_t from) {
  for (size_t i = from; i < equals.size(); ++i) {
    const RouteRecord& record = equals[i].record;
    if (record.type != wanted.record.type || record.scope != wanted.record.scope ||
        record.protocol != wanted.record.protocol || record.derived) {
      continue;
    }
    NexthopSpec spec = next_.Spec(record.nexthop);
    spec.counted_uid = 0;
    spec.provisional = 0;
    NexthopSpec mine = wanted.spec;
    mine.counted_uid = 0;
    if (route.legs.empty() || route.legs[0].link.empty()) mine.link = spec.link;
    if (spec == mine) return true;
  }
  return false;
}

void Batch::ChangeRouteFields(const Operation& operation, const config::Route& route) {
  Fields mask;
  if (!CheckMask(operation, "route",
                 {"type", "nexthops", "protocol", "scope", "prefsrc", "mtu", "mtu_locked", "counted"}, &mask)) {
    return;
  }
  NewRoute named;
  if (!CheckIdentity(route, &named)) return;
  const Config::Found* first = nullptr;
  const Equals equals = EqualRoutes(named.id);
  for (const Config::Found& found : equals) {
    if (!found.record.derived && first == nullptr) first = &found;
  }
  if (first == nullptr) {
    if (!equals.empty()) {
      clashes_.push_back({named.id, op(), Verb::kChange, false});
    } else {
      NotFound(operation, "object.route.prefix", NameOfRoute(named.id));
    }
    return;
  }
  // The stored route with the named fields of the request.
  Object merged = DescribeRoute(next_, first->id, first->record);
  config::Route& whole = std::get<config::Route>(merged.value);
  const LinkIndex link = next_.Spec(first->record.nexthop).link;
  if (link != 0 && !next_.links.Contains(link)) {
    // Named earlier in the batch, to be added later in it.
    for (config::RouteLeg& leg : whole.legs) leg.link = PendingName(link);
  }
  for (const std::string& field : mask) {
    if (field == "type") whole.type = route.type;
    if (field == "nexthops") whole.legs = route.legs;
    if (field == "protocol") whole.protocol = route.protocol;
    if (field == "scope") whole.scope = route.scope;
    if (field == "prefsrc") whole.prefsrc = route.prefsrc;
    if (field == "mtu") whole.mtu = route.mtu;
    if (field == "mtu_locked") whole.mtu_locked = route.mtu_locked;
    if (field == "counted") whole.counted = route.counted;
  }
  // What was chosen for the fields that stay may not fit those that change: choose again, unless it was named.
  const auto named_field = [&](absl::string_view f) { return std::find(mask.begin(), mask.end(), f) != mask.end(); };
  if (!named_field("scope") && (named_field("type") || named_field("nexthops"))) whole.scope.reset();
  if (named_field("type") && !named_field("nexthops") && FixedNexthop(whole.type) != 0) whole.legs.clear();
  Operation change = operation;
  change.fields.clear();
  NewRoute wanted;
  if (!CheckRoute(whole, &wanted)) return;
  wanted.attributes = first->record.meta.attributes;
  change.target = std::move(merged);
  StoreRoute(change, std::get<config::Route>(std::get<Object>(change.target).value), &wanted);
}

void Batch::DeleteRoute(const Operation& operation, const Object& object, const config::Route& route) {
  NewRoute named;
  if (!CheckIdentity(route, &named)) return;
  const Matcher matcher = Matcher::OfObject(next_, object, operation.fields);
  const uint32_t table = named.id.table;
  RouteId first{.table = table, .prefix = route.prefix, .tos = 255, .order = 0, .metric = 0};
  bool derived = false;
  for (RouteCursor at = next_.SeekRoutes(first); at.Valid(); at.Next()) {
    const RouteId id = at.id();
    if (id.table != table || id.prefix != route.prefix) break;
    if (!matcher.Route(next_, id, at.record())) continue;
    if (at.record().derived) {
      if (!derived) clashes_.push_back({id, op(), Verb::kDelete, operation.missing_ok});
      derived = true;
      continue;
    }
    if (derived) clashes_.pop_back();
    if (!Expected(operation, at.record().meta, NameOfRoute(id))) return;
    touched_routes_.push_back({id, op(), kNoCheck});
    EraseRouteRecord(id);
    return;
  }
  if (!derived) NotFound(operation, "object.route", NameOfRoute(named.id));
}

}  // namespace sluice::config
