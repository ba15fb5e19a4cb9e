// DELETE and FLUSH by selector.
#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"
#include "server/config/route_checks.h"

namespace sluice::config {

void Batch::ApplySelector(const Operation& operation, const Selector& selector) {
  if (operation.verb != Verb::kDelete && operation.verb != Verb::kFlush) {
    Fail("TARGET_NOT_ALLOWED", "selector", "a selector goes with DELETE and FLUSH only");
    return;
  }
  if (std::holds_alternative<std::monostate>(selector.match) && selector.uids.empty() && selector.owner.empty() &&
      selector.labels.empty()) {
    Fail("SELECTOR_EMPTY", "selector", "a selector of DELETE or FLUSH needs a kind in `match`, or uids");
    return;
  }
  for (const Origin origin : selector.origins) {
    if (origin == Origin::kDerived) {
      Fail("SELECTOR_ORIGIN", "selector.origins",
           "derived objects go with what they follow from, and cannot be deleted by themselves");
      return;
    }
  }
  const bool one = operation.verb == Verb::kDelete;
  const Matcher matcher(next_, selector);
  const bool configured = selector.origins.empty() || std::find(selector.origins.begin(), selector.origins.end(),
                                                                Origin::kConfigured) != selector.origins.end();
  size_t found = 0;
  bool expected = true;
  const auto done = [&] { return !configured || !expected || (one && found > 0); };
  // What depends on other objects goes first, so that nothing is both flushed and cascaded.
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    if (!matcher.Wants(Matcher::kRoutes) || !matcher.WantsFamily(family)) continue;
    if (matcher.prefix() && matcher.prefix()->family() != family) continue;
    RouteCursor route = next_.FirstRoute(family);
    const bool exact = matcher.table() && matcher.prefix();
    if (exact) {
      route = next_.SeekRoutes(
          {.table = *matcher.table(), .prefix = *matcher.prefix(), .tos = 255, .order = 0, .metric = 0});
    }
    std::vector<RouteId> ids;
    for (; route.Valid() && !done(); route.Next()) {
      const RouteId id = route.id();
      if (exact && (id.table != *matcher.table() || id.prefix != *matcher.prefix())) break;
      if (route.record().derived || !matcher.Route(next_, id, route.record())) continue;
      expected = Expected(operation, route.record().meta, NameOfRoute(id));
      if (!expected) return;
      ids.push_back(id);
      ++found;
    }
    for (const RouteId& id : ids) {
      touched_routes_.push_back({id, op(), kNoCheck});
      EraseRouteRecord(id);
    }
  }
  if (matcher.Wants(Matcher::kNeighbors) && !done()) {
    std::vector<NeighborId> ids;
    for (auto it = next_.neighbors.begin(); it.Valid() && !done(); it.Next()) {
      if (!matcher.WantsFamily(it.key().address.family) || !matcher.Neighbor(next_, it.key(), it.value())) continue;
      expected = Expected(operation, it.value().meta, absl::StrCat("neighbour ", it.key().address.ToString()));
      if (!expected) return;
      ids.push_back(it.key());
      ++found;
    }
    for (const NeighborId& id : ids) EraseNeighbor(id);
    changed_ |= !ids.empty();
  }
  if (matcher.Wants(Matcher::kAddresses) && !done()) {
    std::vector<AddressKey> keys;
    for (auto it = next_.addresses.begin(); it.Valid() && !done(); it.Next()) {
      if (it.value().derived || !matcher.WantsFamily(it.key().address.family)) continue;
      if (!matcher.Address(next_, it.key(), it.value())) continue;
      expected = Expected(operation, it.value().meta, absl::StrCat("address ", it.key().address.ToString()));
      if (!expected) return;
      keys.push_back(it.key());
      ++found;
    }
    for (const AddressKey& key : keys) EraseAddress(key, op());
    changed_ |= !keys.empty();
  }
  if (matcher.Wants(Matcher::kLinks) && !done()) {
    std::vector<LinkIndex> links;
    for (auto it = next_.links.begin(); it.Valid() && !done(); it.Next()) {
      if (!matcher.Link(next_, it.key(), it.value())) continue;
      expected = Expected(operation, it.value().meta, absl::StrCat("link ", it.value().name.view()));
      if (!expected) return;
      links.push_back(it.key());
      ++found;
    }
    for (const LinkIndex link : links) DeleteLink(link, op());
  }
  if (one && found == 0) NotFound(operation, "selector", "object that the selector chooses");
}

}  // namespace sluice::config
