// What follows from links and addresses, as Linux makes it: the routes of addresses, the link-local address of a link.
// A pure function of the state, so that the order of operations cannot matter: the derived routes of a link before and
// after the batch are computed and compared.
#include <algorithm>
#include <set>
#include <utility>

#include "server/config/batch.h"
#include "server/config/read.h"

namespace sluice::config {

Ipv6Address LinkLocalOf(const MacAddress& mac) {
  Ipv6Address a;
  a.bytes = {0xfe, 0x80};
  const auto& m = mac.bytes;
  const uint8_t id[8] = {static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
  std::copy(id, id + 8, a.bytes.begin() + 8);
  return a;
}

std::vector<ListedAddress> ListAddresses(const Config& config, LinkIndex link) {
  std::vector<ListedAddress> v4, v6;
  for (auto it = config.addresses.LowerBound({link, {}, 0}); it.Valid() && it.key().link == link; it.Next()) {
    (it.key().address.is_v4() ? v4 : v6).push_back({it.key(), it.value(), false, it.key().address});
  }
  // IPv4: of the addresses of one subnet the oldest is primary; primaries by scope (narrow first) and age, then
  // secondaries by age.
  const auto older = [](const ListedAddress& a, const ListedAddress& b) {
    return a.record.meta.uid < b.record.meta.uid;
  };
  std::sort(v4.begin(), v4.end(), older);
  std::map<std::pair<IpPrefix, uint8_t>, IpAddress> primary;
  for (ListedAddress& a : v4) {
    const auto subnet = std::make_pair(IpPrefix::Of(a.key.address, a.key.length), a.key.length);
    const auto [it, first] = primary.try_emplace(subnet, a.key.address);
    a.secondary = !first;
    a.primary = it->second;
  }
  std::stable_sort(v4.begin(), v4.end(), [](const ListedAddress& a, const ListedAddress& b) {
    if (a.secondary != b.secondary) return b.secondary;
    return !a.secondary && a.record.scope > b.record.scope;
  });
  // IPv6: by scope (wide first), the youngest first.
  std::sort(v6.begin(), v6.end(), [](const ListedAddress& a, const ListedAddress& b) {
    if (a.record.scope != b.record.scope) return a.record.scope < b.record.scope;
    return a.record.meta.uid > b.record.meta.uid;
  });
  v4.insert(v4.end(), v6.begin(), v6.end());
  return v4;
}

namespace {

// Routes in the order in which they are made, each once.
class RouteList {
 public:
  void Add(const DerivedRoute& route) {
    if (seen_.insert(route).second) routes_.push_back(route);
  }
  std::vector<DerivedRoute> Take() { return std::move(routes_); }

 private:
  std::set<DerivedRoute> seen_;
  std::vector<DerivedRoute> routes_;
};

void Derive4(const LinkRecord& link, const ListedAddress& a, RouteList* routes) {
  DerivedRoute route;
  route.spec.link = a.key.link;
  route.spec.source = a.primary;
  route.id = {.table = kLocalTable, .prefix = IpPrefix::Host(a.key.address)};
  route.spec.type = RouteType::kLocal;
  route.scope = kScopeHost;
  routes->Add(route);  // also when the link is down
  if (!link.up || a.secondary || a.key.length == 32) return;
  const IpPrefix subnet = IpPrefix::Of(a.key.address, a.key.length);
  const uint32_t network = subnet.address.v4().ToHost();
  if (network >> 24 == 0) return;
  route.scope = kScopeLink;
  if (!a.record.no_prefix_route) {
    route.id = {.table = kMainTable, .prefix = subnet, .metric = a.record.metric};
    route.spec.type = RouteType::kUnicast;
    routes->Add(route);
  }
  if (a.key.length < 31) {
    const uint32_t host_bits = ~uint32_t{0} >> a.key.length;
    route.id = {.table = kLocalTable, .prefix = IpPrefix::Host(Ipv4Address::FromHost(network | host_bits))};
    route.spec.type = RouteType::kBroadcast;
    routes->Add(route);
  }
}

void Derive6(const ListedAddress& a, RouteList* routes) {
  DerivedRoute route;
  route.spec.link = a.key.link;
  route.id = {.table = kLocalTable, .prefix = IpPrefix::Host(a.key.address)};
  route.spec.type = RouteType::kLocal;
  routes->Add(route);
  if (a.record.no_prefix_route) return;
  route.id = {.table = kMainTable,
              .prefix = IpPrefix::Of(a.key.address, a.key.length),
              .metric = a.record.metric != 0 ? a.record.metric : 256};
  route.spec.type = RouteType::kUnicast;
  routes->Add(route);
}

}  // namespace

std::vector<DerivedRoute> DerivedRoutesOf(const LinkRecord& link, const ListedAddress& address) {
  RouteList routes;
  if (address.key.address.is_v4()) {
    Derive4(link, address, &routes);
  } else if (link.up && link.speaks_ipv6()) {
    Derive6(address, &routes);
  }
  return routes.Take();
}

std::vector<DerivedRoute> DerivedRoutes(const Config& config, LinkIndex link) {
  RouteList routes;
  const LinkRecord* record = config.links.Find(link);
  if (record == nullptr) return {};
  const bool v6 = record->up && record->speaks_ipv6();
  for (const ListedAddress& a : ListAddresses(config, link)) {
    if (a.key.address.is_v4()) {
      Derive4(*record, a, &routes);
    } else if (v6) {
      Derive6(a, &routes);
    }
  }
  if (v6) {
    DerivedRoute all;
    all.id = {.table = kLocalTable, .prefix = IpPrefix::Of(Ipv6Address{{0xff}}, 8), .metric = 256};
    all.spec.link = link;
    all.spec.type = RouteType::kMulticast;
    routes.Add(all);
  }
  return routes.Take();
}

// The link has a link-local address made of its MAC while it is up and speaks IPv6 (RFC 4862 §5.3).
void Batch::SyncLinkLocal(LinkIndex link) {
  const LinkRecord* record = next_.links.Find(link);
  if (record == nullptr) return;
  const bool wanted = record->up && record->speaks_ipv6() && !record->mac_in_use().IsZero();
  AddressKey key{link, LinkLocalOf(record->mac_in_use()), 64};
  std::vector<AddressKey> stale;
  for (auto it = next_.addresses.LowerBound({link, {}, 0}); it.Valid() && it.key().link == link; it.Next()) {
    if (it.value().derived && (!wanted || it.key().address != key.address)) stale.push_back(it.key());
  }
  for (const AddressKey& old : stale) next_.addresses.Erase(old);
  if (!wanted) return;
  AddressKey found = key;
  if (FindAddress(&found) != nullptr) return;  // it is, or a user asked for it
  AddressRecord address;
  address.meta.uid = next_.next_uid++;
  address.meta.created = address.meta.changed = ids_.empty() ? base_.generation : generation_;
  address.scope = kScopeLink;
  address.derived = true;
  next_.addresses.Assign(key, address);
}

void Batch::DeriveLink(LinkIndex link, uint32_t op) {
  const std::vector<DerivedRoute> before = DerivedRoutes(base_, link);
  SyncLinkLocal(link);
  const std::vector<DerivedRoute> after = DerivedRoutes(next_, link);
  const std::set<DerivedRoute> old(before.begin(), before.end()), now(after.begin(), after.end());
  std::set<std::pair<uint32_t, IpPrefix>> kept;  // prefixes that still have a derived route, though another one
  for (const DerivedRoute& route : after) kept.emplace(route.id.table, route.id.prefix);
  for (const DerivedRoute& gone : before) {
    if (now.contains(gone)) continue;
    for (const Config::Found& found : EqualRoutes(gone.id)) {
      if (!found.record.derived || !(next_.Spec(found.record.nexthop) == gone.spec)) continue;
      const bool moved = kept.contains({gone.id.table, gone.id.prefix});
      if (op < ids_.size() && !moved) {
        if (CascadeFull()) {
          ++cascaded_;
        } else {
          Object object = DescribeRoute(next_, found.id, found.record);
          // The link may be gone; its name is not.
          for (RouteLeg& leg : std::get<config::Route>(object.value).legs) leg.link = base_.LinkName(link);
          Cascade(op, std::move(object));
        }
      }
      touched_routes_.push_back({found.id, op, kNoCheck});
      EraseRouteRecord(found.id);
      break;
    }
  }
  for (const DerivedRoute& made : after) {
    if (old.contains(made)) continue;
    Equals equals = EqualRoutes(made.id);
    RouteId id = made.id;
    id.order = OrderAround(&equals, /*after=*/true);
    RouteRecord record;
    record.meta.uid = next_.next_uid++;
    record.meta.created = record.meta.changed = ids_.empty() ? base_.generation : generation_;
    record.nexthop = InternNexthop(made.spec);
    record.protocol = kProtocolKernel;
    record.type = made.spec.type;
    record.scope = made.scope;
    record.derived = true;
    if (record.nexthop == 0) return;
    AddRouteRecord(id, record);
    touched_routes_.push_back({id, op, kNoCheck});
  }
}

void Batch::Derive() {
  // By name, not by index: indices depend on the order of operations. Links that are gone come first.
  std::map<std::pair<bool, std::string>, std::pair<LinkIndex, uint32_t>> links;
  for (const auto& [link, op] : derive_links_) {
    const bool there = next_.links.Contains(link);
    links[{there, there ? next_.LinkName(link) : std::to_string(link)}] = {link, op};
  }
  for (const auto& [name, link] : links) DeriveLink(link.first, link.second);
}

}  // namespace sluice::config
