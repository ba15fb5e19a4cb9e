#include "server/config/compile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"

namespace sluice::config {

// One Compile, from the keys touched to the builder.
class CompileRun {
 public:
  CompileRun(const Compiler& compiler, const Config& next, SnapshotBuilder& builder)
      : compiler_(compiler), hooks_(compiler.hooks_), next_(next), builder_(builder) {}

  absl::Status Run(const Touched& touched) {
    // What others refer to comes first and goes last.
    for (const LinkIndex link : touched.links) {
      if (absl::Status s = next_.links.Contains(link) ? SetLink(link) : absl::OkStatus(); !s.ok()) return s;
    }
    for (const LinkIndex link : touched.link_addresses) {
      if (absl::Status s = SetAddresses(link); !s.ok()) return s;
    }
    if (absl::Status s = Nexthops(touched); !s.ok()) return s;
    for (const Touched::Prefix& route : touched.routes) {
      if (absl::Status s = SetRoute(route); !s.ok()) return s;
    }
    for (const NexthopIndex nexthop : touched.nexthops) {
      if (next_.nexthops.Contains(nexthop)) continue;
      if (absl::Status s = builder_.RemoveNexthop(nexthop); !s.ok()) return s;
    }
    for (const LinkIndex link : touched.links) {
      if (next_.links.Contains(link)) continue;
      if (absl::Status s = RemoveLink(link); !s.ok()) return s;
    }
    Neighbors(touched);
    return absl::OkStatus();
  }

  Compiled result;

 private:
  absl::StatusOr<CellIndex> AllocateCell() {
    absl::StatusOr<CellIndex> cell = hooks_.cells->Allocate();
    if (cell.ok()) result.acquired_.cells.push_back(*cell);
    return cell;
  }

  absl::Status SetLink(LinkIndex index) {
    const LinkRecord& record = *next_.links.Find(index);
    Compiler::LinkState state;
    if (const auto pending = result.links_.find(index); pending != result.links_.end() && pending->second) {
      state = *pending->second;
    } else if (const auto live = compiler_.links_.find(index); live != compiler_.links_.end()) {
      state = live->second;
    } else {
      absl::StatusOr<CellIndex> rx = AllocateCell();
      if (!rx.ok()) return rx.status();
      absl::StatusOr<CellIndex> tx = AllocateCell();
      if (!tx.ok()) return tx.status();
      state = {*rx, *tx};
    }
    result.links_[index] = state;
    const LinkRuntime runtime = hooks_.links->Get(index, record);
    LinkEntry entry;
    entry.index = index;
    entry.kind = record.kind;
    entry.port = runtime.port;
    entry.mtu = record.mtu_in_use();
    entry.mac = runtime.mac.IsZero() ? record.mac_in_use() : runtime.mac;
    entry.rx_cell = state.rx_cell;
    entry.tx_cell = state.tx_cell;
    entry.flags = LinkEntry::kForward4 | LinkEntry::kForward6;
    if (record.up && runtime.present) entry.flags |= LinkEntry::kUp;
    if (runtime.present && runtime.running) entry.flags |= LinkEntry::kRunning;
    if (record.speaks_ipv6()) entry.flags |= LinkEntry::kIpv6;
    return builder_.SetLink(entry);
  }

  absl::Status RemoveLink(LinkIndex index) {
    if (result.links_.contains(index)) return absl::OkStatus();
    const auto live = compiler_.links_.find(index);
    if (live == compiler_.links_.end()) return absl::OkStatus();  // came and went between two compilations
    result.links_[index] = std::nullopt;
    result.replaced_.cells.push_back(live->second.rx_cell);
    result.replaced_.cells.push_back(live->second.tx_cell);
    return builder_.RemoveLink(index);
  }

  absl::Status SetAddresses(LinkIndex link) {
    if (!next_.links.Contains(link)) return absl::OkStatus();  // RemoveLink removes them
    LinkAddresses addresses;
    std::vector<ListedAddress> listed = ListAddresses(next_, link);
    for (const ListedAddress& a : listed) {
      if (!a.key.address.is_v4() || addresses.count4 == LinkAddresses::kMax) continue;
      addresses.ipv4[addresses.count4++] = {a.key.address.v4(), a.key.length, a.record.scope};
    }
    // Linux lists the youngest IPv6 address of a scope first; the source of what Sluice sends should not change with
    // every new address, so here the oldest comes first. The last place is kept for the link-local address.
    int wide = 0;
    for (auto a = listed.rbegin(); a != listed.rend(); ++a) {
      if (!a->key.address.is_v6() || a->record.scope == kScopeLink || wide == LinkAddresses::kMax - 1) continue;
      addresses.ipv6[wide++] = {a->key.address.v6(), a->key.length, a->record.scope};
    }
    for (auto a = listed.rbegin(); a != listed.rend() && wide < LinkAddresses::kMax; ++a) {
      if (!a->key.address.is_v6() || a->record.scope != kScopeLink) continue;
      addresses.ipv6[wide++] = {a->key.address.v6(), a->key.length, a->record.scope};
    }
    addresses.count6 = static_cast<uint8_t>(wide);
    const LinkRecord& record = *next_.links.Find(link);
    if (!record.up || !record.speaks_ipv6()) addresses.count6 = 0;
    return builder_.SetLinkAddresses(link, addresses);
  }

  // Slots that go first, so that what a counted route has counted passes on to the slot that the route has now.
  absl::Status Nexthops(const Touched& touched) {
    for (const NexthopIndex index : touched.nexthops) {
      const NexthopRecord* record = next_.nexthops.Find(index);
      const auto live = compiler_.nexthops_.find(index);
      if (live == compiler_.nexthops_.end() || result.nexthops_.contains(index)) continue;
      if (record != nullptr && record->spec == live->second.spec) continue;
      result.nexthops_[index] = std::nullopt;
      if (live->second.adjacency != 0) result.replaced_.adjacencies.push_back(live->second.adjacency);
      if (live->second.spec.counted_uid != 0) {
        passed_on_[live->second.spec.counted_uid] = live->second.cell;
      } else {
        result.replaced_.cells.push_back(live->second.cell);
      }
    }
    for (const NexthopIndex index : touched.nexthops) {
      if (const NexthopRecord* record = next_.nexthops.Find(index)) {
        if (absl::Status s = SetNexthop(index, record->spec); !s.ok()) return s;
      }
    }
    for (const auto& [uid, cell] : passed_on_) result.replaced_.cells.push_back(cell);
    return absl::OkStatus();
  }

  absl::Status SetNexthop(NexthopIndex index, const NexthopSpec& spec) {
    Compiler::NexthopState state;
    const auto pending = result.nexthops_.find(index);
    const auto live = compiler_.nexthops_.find(index);
    if (pending != result.nexthops_.end() && pending->second) {
      return absl::OkStatus();  // touched twice
    } else if (pending == result.nexthops_.end() && live != compiler_.nexthops_.end()) {
      state = live->second;  // as it was
    } else {
      state.spec = spec;
      const auto passed = spec.counted_uid != 0 ? passed_on_.find(spec.counted_uid) : passed_on_.end();
      if (passed != passed_on_.end()) {
        state.cell = passed->second;
        passed_on_.erase(passed);
      } else {
        absl::StatusOr<CellIndex> cell = AllocateCell();
        if (!cell.ok()) return cell.status();
        state.cell = *cell;
      }
      if (!spec.gateway.empty()) {
        absl::StatusOr<AdjacencyIndex> adjacency = hooks_.adjacencies->Acquire(spec.link, spec.gateway);
        if (!adjacency.ok()) return adjacency.status();
        state.adjacency = *adjacency;
        result.acquired_.adjacencies.push_back(*adjacency);
      }
    }
    result.nexthops_[index] = state;
    Nexthop nexthop;
    nexthop.type = spec.type;
    nexthop.mtu = spec.mtu;
    nexthop.link = spec.link;
    nexthop.adjacency = state.adjacency;
    nexthop.cell = state.cell;
    nexthop.gateway = spec.gateway;
    nexthop.source = spec.source;
    if (spec.type == RouteType::kUnicast && spec.gateway.empty()) nexthop.flags |= Nexthop::kOnLink;
    if (spec.flags & NexthopSpec::kMtuLocked) nexthop.flags |= Nexthop::kMtuLocked;
    if (spec.gateway.is_v6()) nexthop.flags |= Nexthop::kGateway6;
    return builder_.SetNexthop(index, nexthop);
  }

  // The first route of a prefix that packets without TOS may take is the leaf.
  absl::Status SetRoute(const Touched::Prefix& route) {
    const RouteId first{.table = route.table, .prefix = route.prefix, .tos = 0, .order = 0, .metric = 0};
    const RouteCursor at = next_.SeekRoutes(first);
    if (at.Valid()) {
      const RouteId id = at.id();
      if (id.table == route.table && id.prefix == route.prefix) {
        return builder_.SetRoute(route.table, route.prefix, at.record().nexthop);
      }
    }
    return builder_.RemoveRoute(route.table, route.prefix);
  }

  void Neighbors(const Touched& touched) {
    for (const NeighborId& id : touched.neighbors) {
      const NeighborRecord* record = next_.neighbors.Find(id);
      result.neighbors_.push_back({id, record == nullptr ? std::nullopt : std::optional<NeighborRecord>(*record)});
    }
  }

  const Compiler& compiler_;
  const CompileHooks& hooks_;
  const Config& next_;
  SnapshotBuilder& builder_;
  absl::flat_hash_map<uint64_t, CellIndex> passed_on_;  // cells of counted routes, by uid
};

Compiler::Compiler(CompileHooks hooks) : hooks_(hooks) {}

absl::StatusOr<Compiled> Compiler::Compile(const Config& next, const Touched& touched, SnapshotBuilder& builder) {
  CompileRun run(*this, next, builder);
  if (absl::Status status = run.Run(touched); !status.ok()) {
    Free(run.result.acquired_);
    return status;
  }
  return std::move(run.result);
}

Released Compiler::Commit(Compiled&& compiled) {
  for (const auto& [index, state] : compiled.nexthops_) {
    if (state) {
      nexthops_[index] = *state;
    } else {
      nexthops_.erase(index);
    }
  }
  for (const auto& [index, state] : compiled.links_) {
    if (state) {
      links_[index] = *state;
    } else {
      links_.erase(index);
    }
  }
  compiled.acquired_ = {};
  return std::move(compiled.replaced_);
}

void Compiler::Abort(Compiled&& compiled) {
  Free(compiled.acquired_);
  compiled.acquired_ = {};
  compiled.replaced_ = {};
}

void Compiler::Free(const Released& released) {
  for (const AdjacencyIndex adjacency : released.adjacencies) hooks_.adjacencies->Release(adjacency);
  for (const CellIndex cell : released.cells) hooks_.cells->Free(cell);
}

Touched Compiler::Everything(const Config& config) {
  Touched touched;
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    touched.links.push_back(it.key());
    touched.link_addresses.push_back(it.key());
  }
  for (auto it = config.nexthops.begin(); it.Valid(); it.Next()) touched.nexthops.push_back(it.key());
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (RouteCursor route = config.FirstRoute(family); route.Valid(); route.Next()) {
      const RouteId id = route.id();
      const Touched::Prefix prefix{id.table, id.prefix};
      if (touched.routes.empty() || !(touched.routes.back() == prefix)) touched.routes.push_back(prefix);
    }
  }
  for (auto it = config.neighbors.begin(); it.Valid(); it.Next()) touched.neighbors.push_back(it.key());
  return touched;
}

CellIndex Compiler::rx_cell(LinkIndex link) const {
  const auto it = links_.find(link);
  return it == links_.end() ? 0 : it->second.rx_cell;
}
CellIndex Compiler::tx_cell(LinkIndex link) const {
  const auto it = links_.find(link);
  return it == links_.end() ? 0 : it->second.tx_cell;
}
CellIndex Compiler::nexthop_cell(NexthopIndex nexthop) const {
  const auto it = nexthops_.find(nexthop);
  return it == nexthops_.end() ? 0 : it->second.cell;
}

}  // namespace sluice::config
