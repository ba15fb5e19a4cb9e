#include "server/config/selector.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace sluice::config {
namespace {

// Whether a path is among the fields that were given, also when it is spelled with the kind before it.
bool Has(const std::vector<std::string>& fields, absl::string_view field) {
  return std::any_of(fields.begin(), fields.end(), [&](absl::string_view f) {
    if (f == field) return true;
    const size_t dot = f.find('.');
    return dot != absl::string_view::npos && f.substr(dot + 1) == field;
  });
}

LinkIndex IndexOf(const Config& config, const std::string& name) { return config.FindLink(name); }

template <class T, class U>
bool Agrees(const std::optional<T>& wanted, const U& is) {
  return !wanted || *wanted == is;
}

}  // namespace

Matcher::Matcher(const Config& config, const Selector& selector) {
  family_ = selector.family;
  for (const Origin origin : selector.origins) origins_ |= static_cast<uint8_t>(1 << static_cast<int>(origin));
  uids_.insert(selector.uids.begin(), selector.uids.end());
  owner_ = selector.owner;
  labels_ = selector.labels;
  Take(config, selector.match, selector.fields);
}

Matcher Matcher::OfObject(const Config& config, const Object& object, const std::vector<std::string>& fields) {
  Matcher m;
  m.Take(config, object.value, fields);
  if (const config::Route* route = std::get_if<config::Route>(&object.value)) {
    const bool local = route->type == RouteType::kLocal || route->type == RouteType::kBroadcast;
    m.table_ = route->table.value_or(local ? 255 : 254);
    m.prefix_ = route->prefix;
    m.tos_ = static_cast<uint8_t>(route->tos.value_or(0));
  } else if (const config::Address* address = std::get_if<config::Address>(&object.value)) {
    m.length_ = address->prefix_length;
  }
  return m;
}

void Matcher::Take(const Config& config, const AnyObject& match, const std::vector<std::string>& fields) {
  if (const config::Link* link = std::get_if<config::Link>(&match)) {
    kinds_ = kLinks;
    if (!link->name.empty()) link_ = IndexOf(config, link->name);
    up_ = link->up;
    link_mtu_ = link->mtu;
    mac_ = link->mac;
    rx_queues_ = link->rx_queues;
    tx_queues_ = link->tx_queues;
    if (Has(fields, "port")) kind_ = LinkKind::kPort;
    if (!link->devargs.empty()) devargs_ = link->devargs;
  } else if (const config::Address* address = std::get_if<config::Address>(&match)) {
    kinds_ = kAddresses;
    if (!address->link.empty()) link_ = IndexOf(config, address->link);
    if (!address->address.empty()) {
      address_ = address->address;
      length_ = address->prefix_length;
    }
    if (address->scope) scope_ = *address->scope;
    metric_ = address->metric;
    if (address->no_prefix_route || Has(fields, "noprefixroute")) no_prefix_route_ = address->no_prefix_route;
    if (!address->label.empty()) label_ = address->label;
  } else if (const config::Neighbor* neighbor = std::get_if<config::Neighbor>(&match)) {
    kinds_ = kNeighbors;
    if (!neighbor->link.empty()) link_ = IndexOf(config, neighbor->link);
    if (!neighbor->address.empty()) address_ = neighbor->address;
    mac_ = neighbor->mac;
    if (Has(fields, "nud")) nud_ = neighbor->nud;
    if (neighbor->router) router_ = true;
  } else if (const config::Route* route = std::get_if<config::Route>(&match)) {
    kinds_ = kRoutes;
    TakeRoute(config, *route, fields);
  }
}

void Matcher::TakeRoute(const Config& config, const config::Route& route, const std::vector<std::string>& fields) {
  table_ = route.table;
  if (!route.prefix.address.empty()) prefix_ = route.prefix;
  if (route.tos) tos_ = static_cast<uint8_t>(*route.tos);
  if (route.tos && *route.tos > 255) no_route_ = true;
  metric_ = route.metric;
  if (Has(fields, "type") || route.type != RouteType::kUnicast) type_ = route.type;
  protocol_ = route.protocol;
  scope_ = route.scope;
  if (!route.prefsrc.empty()) source_ = route.prefsrc;
  route_mtu_ = route.mtu;
  if (route.mtu_locked || Has(fields, "mtu_locked")) mtu_locked_ = route.mtu_locked;
  if (route.counted || Has(fields, "counted")) counted_ = route.counted;
  for (const RouteLeg& leg : route.legs) {
    // Routes have one nexthop: every one that is given must agree with it.
    if (!leg.gateway.empty()) {
      if (gateway_ && *gateway_ != leg.gateway) no_route_ = true;
      gateway_ = leg.gateway;
    }
    if (!leg.link.empty()) {
      const LinkIndex index = IndexOf(config, leg.link);
      if (link_ && *link_ != index) no_route_ = true;
      link_ = index;
    }
    if (leg.onlink) onlink_ = true;
    if (leg.weight != 1) no_route_ = true;
  }
}

bool Matcher::Common(const Config& config, const RecordMeta& meta, Origin origin) const {
  if (origins_ != 0 && (origins_ & 1 << static_cast<int>(origin)) == 0) return false;
  if (!uids_.empty() && !uids_.contains(meta.uid)) return false;
  if (owner_.empty() && labels_.empty()) return true;
  const AttributesRecord* attributes = config.attributes.Find(meta.attributes);
  if (attributes == nullptr || (!owner_.empty() && attributes->attributes.owner != owner_)) return false;
  return std::all_of(labels_.begin(), labels_.end(), [&](const auto& label) {
    const auto it = attributes->attributes.labels.find(label.first);
    return it != attributes->attributes.labels.end() && it->second == label.second;
  });
}

bool Matcher::Link(const Config& config, LinkIndex index, const LinkRecord& record) const {
  return Agrees(link_, index) && Agrees(up_, record.up) && Agrees(link_mtu_, record.mtu_in_use()) &&
         Agrees(mac_, record.mac_in_use()) && Agrees(rx_queues_, record.rx_queues) &&
         Agrees(tx_queues_, record.tx_queues) && Agrees(kind_, record.kind) && Agrees(devargs_, record.devargs) &&
         Common(config, record.meta, Origin::kConfigured);
}

bool Matcher::Address(const Config& config, const AddressKey& key, const AddressRecord& record) const {
  return Agrees(link_, key.link) && Agrees(address_, key.address) && Agrees(length_, key.length) &&
         Agrees(scope_, record.scope) && (!metric_ || (record.has_metric && *metric_ == record.metric)) &&
         Agrees(no_prefix_route_, record.no_prefix_route) && Agrees(label_, record.label.view()) &&
         Common(config, record.meta, record.derived ? Origin::kDerived : Origin::kConfigured);
}

bool Matcher::Neighbor(const Config& config, const NeighborId& id, const NeighborRecord& record) const {
  return Agrees(link_, id.link) && Agrees(address_, id.address) && (!mac_ || (record.has_mac && *mac_ == record.mac)) &&
         Agrees(nud_, record.nud) && Agrees(router_, record.router) && Common(config, record.meta, Origin::kConfigured);
}

bool Matcher::Route(const Config& config, const RouteId& id, const RouteRecord& record) const {
  if (no_route_ || !Agrees(table_, id.table) || !Agrees(prefix_, id.prefix) || !Agrees(tos_, id.tos)) return false;
  const bool v6 = id.prefix.family() == Family::kIpv6;
  if (metric_ && *metric_ != id.metric && !(v6 && *metric_ == 0 && id.metric == 1024)) return false;
  if (!Agrees(type_, record.type) || !Agrees(protocol_, record.protocol)) return false;
  if (!(v6 && !scope_) && !Agrees(scope_, record.scope)) return false;
  if (link_ || gateway_ || source_ || route_mtu_ || onlink_ || mtu_locked_ || counted_) {
    const NexthopSpec spec = config.Spec(record.nexthop);
    if (link_ && (*link_ == 0 || *link_ != spec.link)) return false;
    if (!Agrees(gateway_, spec.gateway) || !Agrees(source_, spec.source) || !Agrees(route_mtu_, spec.mtu)) return false;
    if (!Agrees(onlink_, (spec.flags & NexthopSpec::kOnlinkFlag) != 0)) return false;
    if (!Agrees(mtu_locked_, (spec.flags & NexthopSpec::kMtuLocked) != 0)) return false;
    if (!Agrees(counted_, spec.counted_uid != 0)) return false;
  }
  return Common(config, record.meta, record.derived ? Origin::kDerived : Origin::kConfigured);
}

}  // namespace sluice::config
