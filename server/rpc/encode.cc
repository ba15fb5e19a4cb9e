#include <algorithm>

#include "server/rpc/convert.h"
#include "server/rpc/reasons.h"

namespace sluice::rpc {
namespace {

// The fields to write: those named, or all when nothing is.
class Fields {
 public:
  explicit Fields(const std::vector<std::string>* only) : only_(only) {}
  bool Has(absl::string_view name) const {
    return only_ == nullptr || std::find(only_->begin(), only_->end(), name) != only_->end();
  }
  bool limited() const { return only_ != nullptr; }

 private:
  const std::vector<std::string>* only_;
};

v1::Scope ScopeOf(uint32_t scope) {
  switch (scope) {
    case 0:
      return v1::SCOPE_UNIVERSE;
    case 200:
      return v1::SCOPE_SITE;
    case 253:
      return v1::SCOPE_LINK;
    case 254:
      return v1::SCOPE_HOST;
    case 255:
      return v1::SCOPE_NOWHERE;
    default:
      return v1::SCOPE_UNSPECIFIED;
  }
}

v1::RouteType TypeOf(RouteType type) {
  switch (type) {
    case RouteType::kUnicast:
      return v1::ROUTE_TYPE_UNICAST;
    case RouteType::kLocal:
      return v1::ROUTE_TYPE_LOCAL;
    case RouteType::kBroadcast:
      return v1::ROUTE_TYPE_BROADCAST;
    case RouteType::kBlackhole:
      return v1::ROUTE_TYPE_BLACKHOLE;
    case RouteType::kUnreachable:
      return v1::ROUTE_TYPE_UNREACHABLE;
    case RouteType::kProhibit:
      return v1::ROUTE_TYPE_PROHIBIT;
    case RouteType::kThrow:
      return v1::ROUTE_TYPE_THROW;
    case RouteType::kNone:
    case RouteType::kMulticast:
      break;
  }
  return v1::ROUTE_TYPE_UNSPECIFIED;
}

v1::NudState NudOf(config::NudState nud) {
  switch (nud) {
    case config::NudState::kNone:
      return v1::NUD_STATE_UNSPECIFIED;
    case config::NudState::kIncomplete:
      return v1::NUD_STATE_INCOMPLETE;
    case config::NudState::kReachable:
      return v1::NUD_STATE_REACHABLE;
    case config::NudState::kStale:
      return v1::NUD_STATE_STALE;
    case config::NudState::kDelay:
      return v1::NUD_STATE_DELAY;
    case config::NudState::kProbe:
      return v1::NUD_STATE_PROBE;
    case config::NudState::kFailed:
      return v1::NUD_STATE_FAILED;
    case config::NudState::kNoArp:
      return v1::NUD_STATE_NOARP;
    case config::NudState::kPermanent:
      return v1::NUD_STATE_PERMANENT;
  }
  return v1::NUD_STATE_UNSPECIFIED;
}

void Encode(const config::Link& link, Fields fields, WithState with_state, v1::Link* m) {
  m->set_name(link.name);
  if (link.up.has_value()) m->set_up(*link.up);
  if (link.mtu.has_value()) m->set_mtu(*link.mtu);
  if (link.mac.has_value()) m->set_mac(link.mac->ToString());
  if (!link.new_name.empty()) m->set_new_name(link.new_name);
  if (link.kind == LinkKind::kPort && fields.Has("port")) {
    v1::PortLink* port = m->mutable_port();
    port->set_devargs(link.devargs);
    if (link.rx_queues.has_value()) port->set_rx_queues(*link.rx_queues);
    if (link.tx_queues.has_value()) port->set_tx_queues(*link.tx_queues);
  }
  if (with_state == WithState::kNo) return;
  const config::LinkState& state = link.state;
  v1::LinkState* s = m->mutable_state();
  s->set_index(state.index);
  s->set_oper_state(static_cast<v1::OperState>(state.oper_state));
  s->set_carrier(state.carrier);
  s->set_speed_mbps(state.speed_mbps);
  s->set_driver(state.driver);
  s->set_pci_address(state.bus_address);
  if (!state.mac.IsZero()) s->set_mac(state.mac.ToString());
  s->set_mtu(state.mtu);
  s->set_max_mtu(state.max_mtu);
  s->set_rx_queues(state.rx_queues);
  s->set_tx_queues(state.tx_queues);
  if (state.numa_node.has_value()) s->set_numa_node(*state.numa_node);
  v1::LinkStatistics* counts = s->mutable_statistics();
  counts->set_rx_packets(state.rx.packets);
  counts->set_rx_bytes(state.rx.bytes);
  counts->set_rx_errors(state.rx_errors);
  counts->set_rx_dropped(state.rx_dropped);
  counts->set_rx_missed(state.rx_missed);
  counts->set_rx_multicast(state.rx_multicast);
  counts->set_tx_packets(state.tx.packets);
  counts->set_tx_bytes(state.tx.bytes);
  counts->set_tx_errors(state.tx_errors);
  counts->set_tx_dropped(state.tx_dropped);
}

void Encode(const config::Neighbor& neighbor, Fields fields, bool learned, WithState with_state, v1::Neighbor* m) {
  m->set_link(neighbor.link);
  if (!neighbor.address.empty()) m->set_address(neighbor.address.ToString());
  if (!learned) {
    if (neighbor.mac.has_value()) m->set_lladdr(neighbor.mac->ToString());
    if (fields.Has("nud")) m->set_nud(NudOf(neighbor.nud));
  }
  if (with_state == WithState::kNo) return;
  v1::NeighborState* state = m->mutable_state();
  if (neighbor.mac.has_value()) state->set_lladdr(neighbor.mac->ToString());
  state->set_nud(NudOf(neighbor.nud));
  state->set_used_seconds(neighbor.used_seconds);
  state->set_confirmed_seconds(neighbor.confirmed_seconds);
  state->set_updated_seconds(neighbor.updated_seconds);
  state->set_probes(neighbor.probes);
  state->set_held_packets(neighbor.held_packets);
  state->set_router(neighbor.router);
}

void Encode(const config::Route& route, Fields fields, WithState with_state, v1::Route* m) {
  if (route.table.has_value()) m->set_table(*route.table);
  if (!route.prefix.address.empty()) m->set_prefix(route.prefix.ToString());
  if (route.tos.has_value()) m->set_tos(*route.tos);
  if (route.metric.has_value()) m->set_metric(*route.metric);
  if (fields.Has("type")) m->set_type(TypeOf(route.type));
  for (const config::RouteLeg& leg : route.legs) {
    v1::RouteNexthop* nexthop = m->add_nexthops();
    if (!leg.gateway.empty()) nexthop->set_gateway(leg.gateway.ToString());
    if (!leg.link.empty()) nexthop->set_link(leg.link);
    if (leg.onlink) nexthop->set_onlink(true);
    if (fields.limited() ? fields.Has("nexthops.weight") : leg.weight != 1) nexthop->set_weight(leg.weight);
    if (with_state == WithState::kYes && (leg.link_down || leg.dead)) {
      nexthop->mutable_state()->set_linkdown(leg.link_down);
      nexthop->mutable_state()->set_dead(leg.dead);
    }
  }
  if (route.protocol.has_value()) m->set_protocol(*route.protocol);
  if (route.scope.has_value()) m->set_scope(ScopeOf(*route.scope));
  if (!route.prefsrc.empty()) m->set_prefsrc(route.prefsrc.ToString());
  if (route.mtu.has_value()) m->set_mtu(*route.mtu);
  if (route.mtu_locked) m->set_mtu_locked(true);
  if (route.counted) m->set_counted(true);
  if (with_state == WithState::kYes && route.counted) {
    m->mutable_state()->set_packets(route.state.counted.packets);
    m->mutable_state()->set_bytes(route.state.counted.bytes);
  }
}

void Encode(const config::Address& address, WithState with_state, v1::Address* m) {
  m->set_link(address.link);
  if (!address.address.empty()) {
    m->set_address(address.address.ToString() + "/" + std::to_string(address.prefix_length));
  }
  if (address.scope.has_value()) m->set_scope(ScopeOf(*address.scope));
  if (address.metric.has_value()) m->set_metric(*address.metric);
  m->set_noprefixroute(address.no_prefix_route);
  if (with_state == WithState::kNo) return;
  v1::AddressState* state = m->mutable_state();
  state->set_secondary(address.secondary);
  for (const config::Route& route : address.derived_routes) {
    Encode(route, Fields(nullptr), WithState::kNo, state->add_derived_routes());
  }
}

void EncodeAny(const config::AnyObject& any, Fields fields, bool learned, WithState with_state, v1::Object* m) {
  if (const auto* link = std::get_if<config::Link>(&any)) {
    Encode(*link, fields, with_state, m->mutable_link());
  } else if (const auto* address = std::get_if<config::Address>(&any)) {
    Encode(*address, with_state, m->mutable_address());
  } else if (const auto* neighbor = std::get_if<config::Neighbor>(&any)) {
    Encode(*neighbor, fields, learned, with_state, m->mutable_neighbor());
  } else if (const auto* route = std::get_if<config::Route>(&any)) {
    Encode(*route, fields, with_state, m->mutable_route());
  }
}

absl::string_view KindOf(const config::AnyObject& any) {
  static constexpr absl::string_view kNames[] = {"", "link", "address", "neighbor", "route"};
  return kNames[any.index()];
}

}  // namespace

void EncodeObject(const config::Object& object, WithState with_state, v1::Object* m) {
  EncodeAny(object.value, Fields(nullptr), object.meta.origin == config::Origin::kLearned, with_state, m);
  v1::Meta* meta = m->mutable_meta();
  meta->set_uid(object.meta.uid);
  meta->set_generation_created(object.meta.generation_created);
  meta->set_generation_changed(object.meta.generation_changed);
  meta->set_origin(static_cast<v1::Origin>(object.meta.origin));
  if (!object.meta.unresolved.empty()) meta->set_unresolved(object.meta.unresolved);
}

void EncodeOperation(const config::Operation& operation, v1::Operation* m) {
  m->set_id(operation.id);
  m->set_verb(static_cast<v1::Verb>(operation.verb));
  m->set_missing_ok(operation.missing_ok);
  if (operation.expected_changed.has_value()) m->set_expected_changed(*operation.expected_changed);
  if (const auto* object = std::get_if<config::Object>(&operation.target)) {
    const bool deletes = operation.verb == config::Verb::kDelete;
    EncodeAny(object->value, Fields(deletes ? &operation.fields : nullptr), /*learned=*/false, WithState::kNo,
              m->mutable_object());
    if (operation.verb != config::Verb::kChange || operation.fields.empty()) return;
    const absl::string_view kind = KindOf(object->value);
    for (const std::string& field : operation.fields) {
      std::string* path = m->mutable_update_mask()->add_paths();
      path->append(kind.data(), kind.size()).append(".").append(field);
    }
    return;
  }
  const auto& selector = std::get<config::Selector>(operation.target);
  v1::Selector* s = m->mutable_selector();
  if (!std::holds_alternative<std::monostate>(selector.match)) {
    EncodeAny(selector.match, Fields(&selector.fields), /*learned=*/false, WithState::kNo, s->mutable_match());
  }
  for (const uint64_t uid : selector.uids) s->add_uids(uid);
  for (const config::Origin origin : selector.origins) s->add_origins(static_cast<v1::Origin>(origin));
  if (selector.family == Family::kIpv4) s->set_family(v1::FAMILY_IPV4);
  if (selector.family == Family::kIpv6) s->set_family(v1::FAMILY_IPV6);
}

void EncodeProblem(const config::Problem& problem, v1::Problem* m) {
  m->set_reason(ReasonByName(problem.reason));
  m->set_field(problem.field);
  m->set_message(problem.message);
  for (size_t i = 0; i < problem.users.size() && i < 16; ++i) m->add_users(problem.users[i]);
}

void EncodeResult(const config::OperationResult& result, v1::OperationResult* m) {
  m->set_index(result.index);
  m->set_id(result.id);
  if (result.stored.has_value()) EncodeObject(*result.stored, WithState::kNo, m->mutable_stored());
  for (const config::Object& object : result.cascaded) EncodeObject(object, WithState::kNo, m->add_cascaded());
  if (!result.problem.ok()) EncodeProblem(result.problem, m->mutable_problem());
}

void EncodeCommitResult(const engine::CommitResult& result, v1::CommitResponse* m) {
  m->set_instance_id(result.instance_id);
  m->set_generation(result.generation);
  m->set_epoch(result.epoch);
  m->set_reached(result.reached == engine::Ack::kVisible ? v1::ACK_VISIBLE : v1::ACK_ACCEPTED);
  for (const std::string& worker : result.lagging_workers) m->add_lagging_workers(worker);
  for (const config::OperationResult& one : result.results) EncodeResult(one, m->add_results());
}

}  // namespace sluice::rpc
