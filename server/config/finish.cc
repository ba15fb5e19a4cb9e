// The end of a batch: links, addresses and neighbours against the final state; cascades; the outcome.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"
#include "server/config/read.h"
#include "server/config/route_checks.h"

namespace sluice::config {

// A device carries one link.
void Batch::CheckLinks() {
  bool added = false;
  for (const auto& [index, op] : touched_links_) added |= next_.links.Contains(index) && !base_.links.Contains(index);
  if (!added) return;
  absl::flat_hash_map<std::string, LinkIndex> by_device;
  for (auto it = next_.links.begin(); it.Valid(); it.Next()) {
    const auto [first, inserted] = by_device.try_emplace(it.value().devargs, it.key());
    if (inserted) continue;
    // The one that is new is at fault.
    const LinkIndex fault = base_.links.Contains(it.key()) ? first->second : it.key();
    const LinkIndex user = fault == it.key() ? first->second : it.key();
    const auto touched = touched_links_.find(fault);
    if (touched == touched_links_.end()) continue;
    Problem problem = Refuse("DEVICE_IN_USE", "object.link.port.devargs",
                             absl::StrCat("link ", next_.LinkName(fault), ": link ", next_.LinkName(user),
                                          " has the device \"", it.value().devargs, "\""));
    problem.users.push_back(absl::StrCat("link ", next_.LinkName(user)));
    FailAt(touched->second, std::move(problem));
  }
}

void Batch::CheckIpv6Mtu() {
  absl::flat_hash_map<LinkIndex, uint32_t> links(touched_links_.begin(), touched_links_.end());
  for (const auto& [key, op] : touched_addresses_) {
    const LinkRecord* link = next_.links.Find(key.link);
    if (!key.address.is_v6() || link == nullptr || link->speaks_ipv6()) continue;
    if (!next_.addresses.Contains(key)) continue;
    FailAt(op, Refuse("MTU_BELOW_IPV6", "object.address.address",
                      absl::StrCat("address ", key.address.ToString(), ": link ", link->name.view(), " has mtu ",
                                   link->mtu_in_use(), ", and IPv6 needs 1280")));
    links.erase(key.link);
  }
  for (const auto& [index, op] : links) {
    const LinkRecord* link = next_.links.Find(index);
    if (link == nullptr || link->speaks_ipv6() || op >= ids_.size()) continue;
    for (auto it = next_.addresses.LowerBound({index, {}, 0}); it.Valid() && it.key().link == index; it.Next()) {
      if (!it.key().address.is_v6() || it.value().derived) continue;
      Problem problem = Refuse("MTU_BELOW_IPV6", "object.link.mtu",
                               absl::StrCat("link ", link->name.view(),
                                            " has IPv6 addresses, which need mtu 1280, not ", link->mtu_in_use()));
      problem.users.push_back(absl::StrCat("address ", it.key().address.ToString()));
      FailAt(op, std::move(problem));
      break;
    }
  }
}

void Batch::CheckAddressesAndNeighbors() {
  for (const auto& [key, op] : touched_addresses_) {
    if (next_.links.Contains(key.link) || !next_.addresses.Contains(key)) continue;
    const std::string name = PendingName(key.link);
    FailAt(op, Refuse("UNKNOWN_LINK", "object.address.link",
                      absl::StrCat("address ", key.address.ToString(), ": there is no link \"", name, "\"")));
  }
  for (const auto& [id, op] : touched_neighbors_) {
    if (next_.links.Contains(id.link) || !next_.neighbors.Contains(id)) continue;
    const std::string name = PendingName(id.link);
    FailAt(op, Refuse("UNKNOWN_LINK", "object.neighbor.link",
                      absl::StrCat("neighbour ", id.address.ToString(), ": there is no link \"", name, "\"")));
  }
}

void Batch::CascadeRoute(const RouteId& id, uint32_t op) {
  if (op < ids_.size() && !CascadeFull()) {
    Cascade(op, DescribeRoute(next_, id, *next_.FindRoute(id)));
  } else {
    ++cascaded_;
  }
  touched_routes_.push_back({id, op, kNoCheck});
  EraseRouteRecord(id);
}

// What Linux removes behind one's back: routes by a link that goes down (IPv4 keeps those of type local), IPv4 routes
// that name a preferred source which is gone (IPv6 ones only forget it).
void Batch::CascadeRoutes() {
  struct Fate {
    uint32_t op;
    bool down;  // otherwise: the source is gone
  };
  absl::flat_hash_map<NexthopIndex, Fate> fates;
  for (auto it = next_.nexthops.begin(); it.Valid(); it.Next()) {
    const NexthopSpec& spec = it.value().spec;
    if (it.value().configured == 0) continue;
    if (const auto link = touched_links_.find(spec.link); link != touched_links_.end()) {
      const LinkRecord* before = base_.links.Find(spec.link);
      const LinkRecord* after = next_.links.Find(spec.link);
      if (before != nullptr && after != nullptr && before->up && !after->up) {
        fates[it.key()] = {link->second, true};
        continue;
      }
    }
    if (spec.source.empty() || gone_ops_.empty()) continue;
    const auto gone = gone_ops_.find(spec.source);
    if (gone != gone_ops_.end() && !next_.IsLocal(spec.source)) fates[it.key()] = {gone->second, false};
  }
  if (fates.empty()) return;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    std::vector<std::pair<RouteId, Fate>> hit;
    for (RouteCursor route = next_.FirstRoute(family); route.Valid(); route.Next()) {
      if (route.record().derived) continue;
      const auto fate = fates.find(route.record().nexthop);
      if (fate == fates.end()) continue;
      const bool local = route.record().type == RouteType::kLocal;
      if (fate->second.down && local && family == Family::kIpv4) continue;
      if (!fate->second.down && local && route.id().prefix.is_host() &&
          route.id().prefix.address == next_.Spec(route.record().nexthop).source) {
        continue;
      }
      hit.emplace_back(route.id(), fate->second);
    }
    for (const auto& [id, fate] : hit) {
      if (fate.down || family == Family::kIpv4) {
        CascadeRoute(id, fate.op);
        continue;
      }
      RouteRecord* record = next_.FindRouteMutable(id);
      NexthopSpec spec = next_.Spec(record->nexthop);
      spec.source = {};
      const NexthopIndex to = InternNexthop(spec);
      if (to == 0) return;
      RefNexthop(record->nexthop, false, -1);
      RefNexthop(to, false, 1);
      record->nexthop = to;
      Changed(&record->meta);
      touched_routes_.push_back({id, fate.op, kNoCheck});
    }
  }
}

void Batch::DescribeStored() {
  absl::flat_hash_map<LinkIndex, std::map<AddressKey, ListedAddress>> listed;  // once for each link
  for (const Stored& stored : stored_) {
    std::optional<Object> object;
    switch (stored.kind) {
      case Described::kLink:
        if (const LinkRecord* record = next_.links.Find(stored.link)) {
          object = DescribeLink(next_, stored.link, *record);
        }
        break;
      case Described::kAddress: {
        const auto [of_link, first] = listed.try_emplace(stored.link);
        if (first) {
          for (ListedAddress& a : ListAddresses(next_, stored.link)) of_link->second.emplace(a.key, std::move(a));
        }
        const auto it = of_link->second.find({stored.link, stored.address, stored.length});
        if (it != of_link->second.end()) object = DescribeListed(next_, it->second);
        break;
      }
      case Described::kNeighbor: {
        const NeighborId id{stored.link, stored.address};
        if (const NeighborRecord* record = next_.neighbors.Find(id)) object = DescribeNeighbor(next_, id, *record);
        break;
      }
      case Described::kRoute:
        if (const RouteRecord* record = next_.FindRoute(stored.route)) {
          object = DescribeRoute(next_, stored.route, *record);
        }
        break;
    }
    if (object) Result(stored.op).stored = std::move(*object);
  }
}

Candidate::Outcome Batch::Finish() {
  CheckLinks();
  CheckAddressesAndNeighbors();
  CheckIpv6Mtu();
  Derive();
  CheckRoutes();
  CheckClashes();
  if (problems_ == 0) {
    FlushRefs();
    CascadeRoutes();
    FlushRefs();
  }

  Candidate::Outcome outcome;
  outcome.problems = problems_;
  outcome.cascaded = cascaded_;
  if (problems_ != 0) {
    for (auto& [index, result] : results_) {
      result.cascaded.clear();  // nothing went
      result.stored.reset();
      if (!result.problem.ok()) {
        if (outcome.status.ok()) outcome.status = StatusOf(result.problem, problems_);
        outcome.results.push_back(std::move(result));
      }
    }
    outcome.cascaded = 0;
    outcome.config = base_;
    return outcome;
  }
  outcome.changed = changed_;
  next_.generation = changed_ ? generation_ : base_.generation;
  if (!changed_ && !device_changed_) next_ = base_;
  DescribeStored();
  for (auto& [index, result] : results_) outcome.results.push_back(std::move(result));

  Touched& touched = outcome.touched;
  for (const auto& [link, op] : touched_links_) touched.links.push_back(link);
  for (const auto& [link, op] : derive_links_) touched.link_addresses.push_back(link);
  for (const auto& [id, op] : touched_neighbors_) touched.neighbors.push_back(id);
  touched.nexthops = std::move(touched_nexthops_);
  touched.routes.reserve(touched_routes_.size());
  for (const RouteTouch& touch : touched_routes_) {
    const Touched::Prefix prefix{touch.id.table, touch.id.prefix};
    if (touched.routes.empty() || !(touched.routes.back() == prefix)) touched.routes.push_back(prefix);
  }
  outcome.config = std::move(next_);
  return outcome;
}

}  // namespace sluice::config
