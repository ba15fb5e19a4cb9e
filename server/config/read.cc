#include "server/config/read.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"

namespace sluice::config {
namespace {

void Fill(const Config& config, const RecordMeta& meta, bool derived, Object* object) {
  object->meta.uid = meta.uid;
  object->meta.generation_created = meta.created;
  object->meta.generation_changed = meta.changed;
  object->meta.origin = derived ? Origin::kDerived : Origin::kConfigured;
  if (meta.attributes == 0) return;
  if (const AttributesRecord* record = config.attributes.Find(meta.attributes)) {
    object->owner = record->attributes.owner;
    object->labels = record->attributes.labels;
  }
}

Route RouteOf(const Config& config, const RouteId& id, RouteType type, uint8_t protocol, uint8_t scope,
              const NexthopSpec& spec) {
  Route route;
  route.table = id.table;
  route.prefix = id.prefix;
  if (id.prefix.family() == Family::kIpv4) {
    if (id.tos != 0) route.tos = id.tos;
    route.scope = scope;
  }
  route.metric = id.metric;
  route.type = type;
  if (spec.link != 0 || !spec.gateway.empty()) {
    RouteLeg leg;
    leg.gateway = spec.gateway;
    if (spec.link != 0) leg.link = config.LinkName(spec.link);
    leg.onlink = spec.flags & NexthopSpec::kOnlinkFlag;
    route.legs.push_back(std::move(leg));
  }
  route.protocol = protocol;
  route.prefsrc = spec.source;
  if (spec.mtu != 0) route.mtu = spec.mtu;
  route.mtu_locked = spec.flags & NexthopSpec::kMtuLocked;
  route.counted = spec.counted_uid != 0;
  return route;
}

}  // namespace

Object DescribeLink(const Config& config, LinkIndex index, const LinkRecord& record) {
  Object object;
  Link& link = object.value.emplace<Link>();
  link.name = std::string(record.name.view());
  link.kind = record.kind;
  link.devargs = record.devargs;
  link.up = record.up;
  if (record.mtu != 0) link.mtu = record.mtu;
  if (record.has_mac) link.mac = record.mac;
  if (record.rx_queues != 0) link.rx_queues = record.rx_queues;
  if (record.tx_queues != 0) link.tx_queues = record.tx_queues;
  link.state.index = index;
  link.state.mac = record.mac_in_use();
  link.state.mtu = record.mtu_in_use();
  if (record.device.known) link.state.max_mtu = record.device.max_mtu;
  Fill(config, record.meta, false, &object);
  return object;
}

Object DescribeListed(const Config& config, const ListedAddress& listed) {
  Object object;
  Address& address = object.value.emplace<Address>();
  address.link = config.LinkName(listed.key.link);
  address.address = listed.key.address;
  address.prefix_length = listed.key.length;
  address.scope = listed.record.scope;
  if (listed.record.has_metric) address.metric = listed.record.metric;
  address.no_prefix_route = listed.record.no_prefix_route;
  address.label = std::string(listed.record.label.view());
  address.secondary = listed.secondary;
  Fill(config, listed.record.meta, listed.record.derived, &object);
  const LinkRecord* link = config.links.Find(listed.key.link);
  if (link == nullptr) return object;
  for (const DerivedRoute& route : DerivedRoutesOf(*link, listed)) {
    const RouteType type = route.spec.type;
    address.derived_routes.push_back(RouteOf(config, route.id, type, kProtocolKernel, route.scope, route.spec));
  }
  if (!link->up) object.meta.unresolved = absl::StrCat("link ", link->name.view(), " is down");
  return object;
}

Object DescribeAddress(const Config& config, const AddressKey& key, const AddressRecord& record) {
  for (const ListedAddress& listed : ListAddresses(config, key.link)) {
    if (listed.key == key) return DescribeListed(config, listed);
  }
  return DescribeListed(config, {key, record, false, key.address});
}

Object DescribeNeighbor(const Config& config, const NeighborId& id, const NeighborRecord& record) {
  Object object;
  Neighbor& neighbor = object.value.emplace<Neighbor>();
  neighbor.link = config.LinkName(id.link);
  neighbor.address = id.address;
  if (record.has_mac) neighbor.mac = record.mac;
  neighbor.nud = record.nud;
  neighbor.router = record.router;
  Fill(config, record.meta, false, &object);
  return object;
}

Object DescribeRoute(const Config& config, const RouteId& id, const RouteRecord& record) {
  Object object;
  object.value = RouteOf(config, id, record.type, record.protocol, record.scope, config.Spec(record.nexthop));
  Fill(config, record.meta, record.derived, &object);
  return object;
}

Reader::Reader(const Config& config, std::vector<Selector> selectors) : config_(config) {
  if (selectors.empty()) selectors.emplace_back();
  for (const Selector& selector : selectors) matchers_.emplace_back(config_, selector);
  link_ = config_.links.begin();
}

template <class Match>
bool Reader::Any(Match match) const {
  return std::any_of(matchers_.begin(), matchers_.end(), match);
}

bool Reader::Wanted(Family family) const {
  return Any([&](const Matcher& m) {
    return m.Wants(Matcher::kRoutes) && m.WantsFamily(family) && (!m.prefix() || m.prefix()->family() == family);
  });
}

// Starts at the first route that can match, when there is one selector that says where that is.
void Reader::StartRoutes(Family family) {
  phase_ = family == Family::kIpv4 ? Phase::kRoutes4 : Phase::kRoutes6;
  route_ = config_.FirstRoute(family);
  if (matchers_.size() != 1 || !matchers_[0].table()) return;
  if (matchers_[0].prefix()) {
    route_ = config_.SeekRoutes(
        {.table = *matchers_[0].table(), .prefix = *matchers_[0].prefix(), .tos = 255, .order = 0, .metric = 0});
    return;
  }
  // The least key of a table: of IPv4 the longest prefix at address 0, of IPv6 likewise.
  const IpAddress zero = IpPrefix::Default(family).address;
  route_ = config_.SeekRoutes(
      {.table = *matchers_[0].table(), .prefix = IpPrefix::Host(zero), .tos = 255, .order = 0, .metric = 0});
}

void Reader::Next(size_t limit, std::vector<Object>* out) {
  nexthops_.clear();
  size_t looked = 0, added = 0;
  const auto full = [&] { return added >= limit || looked >= limit * 1000; };
  while (phase_ == Phase::kLinks && !full()) {
    if (!link_.Valid()) {
      link_ = config_.links.begin();
      phase_ = Phase::kAddresses;
      break;
    }
    ++looked;
    const LinkIndex index = link_.key();
    if (Any([&](const Matcher& m) { return m.Wants(Matcher::kLinks) && m.Link(config_, index, link_.value()); })) {
      out->push_back(DescribeLink(config_, index, link_.value()));
      ++added;
    }
    link_.Next();
  }
  while (phase_ == Phase::kAddresses && !full()) {
    if (address_list_ != nullptr && address_at_ < address_list_->size()) {
      const ListedAddress& listed = (*address_list_)[address_at_++];
      const AddressKey& key = listed.key;
      const AddressRecord& record = listed.record;
      ++looked;
      if (Any([&](const Matcher& m) {
            return m.Wants(Matcher::kAddresses) && m.WantsFamily(key.address.family) && m.Address(config_, key, record);
          })) {
        out->push_back(DescribeListed(config_, listed));
        ++added;
      }
      continue;
    }
    if (!link_.Valid() || !Any([](const Matcher& m) { return m.Wants(Matcher::kAddresses); })) {
      neighbor_ = config_.neighbors.begin();
      phase_ = Phase::kNeighbors;
      break;
    }
    address_at_ = 0;
    address_list_ = std::make_shared<std::vector<ListedAddress>>(ListAddresses(config_, link_.key()));
    link_.Next();
  }
  while (phase_ == Phase::kNeighbors && !full()) {
    if (!neighbor_.Valid()) {
      StartRoutes(Family::kIpv4);
      break;
    }
    ++looked;
    const NeighborId& id = neighbor_.key();
    if (Any([&](const Matcher& m) {
          return m.Wants(Matcher::kNeighbors) && m.WantsFamily(id.address.family) &&
                 m.Neighbor(config_, id, neighbor_.value());
        })) {
      out->push_back(DescribeNeighbor(config_, id, neighbor_.value()));
      ++added;
    }
    neighbor_.Next();
  }
  while ((phase_ == Phase::kRoutes4 || phase_ == Phase::kRoutes6) && !full()) {
    const bool v4 = phase_ == Phase::kRoutes4;
    const auto next_phase = [&] {
      if (v4) {
        StartRoutes(Family::kIpv6);
      } else {
        phase_ = Phase::kDone;
      }
    };
    if (!route_.Valid() || !Wanted(v4 ? Family::kIpv4 : Family::kIpv6)) {
      next_phase();
      continue;
    }
    ++looked;
    const RouteId id = route_.id();
    if (matchers_.size() == 1 && matchers_[0].table()) {
      const bool past =
          id.table != *matchers_[0].table() || (matchers_[0].prefix() && id.prefix != *matchers_[0].prefix());
      if (past) {
        next_phase();
        continue;
      }
    }
    const RouteRecord& record = route_.record();
    if (Any([&](const Matcher& m) {
          return m.Wants(Matcher::kRoutes) && m.WantsFamily(id.prefix.family()) && m.Route(config_, id, record);
        })) {
      out->push_back(DescribeRoute(config_, id, record));
      nexthops_.push_back(record.nexthop);
      ++added;
    }
    route_.Next();
  }
}

}  // namespace sluice::config
