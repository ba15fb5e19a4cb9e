#include "dataplane/snapshot/builder.h"

#include <utility>

namespace sluice {
namespace {

// The walk without rules (LINUX.md §1.1).
constexpr uint32_t kWalk[] = {kTableLocal, kTableMain, kTableDefault};

template <class TrieType>
void Plan(const char* base, const CowHash<uint32_t, TrieType>& tables, LookupPlan<TrieType>* plan) {
  *plan = {};
  for (uint32_t table : kWalk) {
    if (const TrieType* trie = tables.Find(base, table)) plan->steps[plan->count++] = {*trie, table};
  }
}

// Sets (leaf != 0) or removes a route of one family; the table comes and goes with its routes.
template <class TrieType>
absl::Status Change(Edit& edit, CowHash<uint32_t, TrieType>* tables, uint32_t table, const IpPrefix& prefix,
                    uint32_t leaf) {
  const TrieType* found = tables->Find(edit.arena().base(), table);
  if (found == nullptr && leaf == 0) return absl::OkStatus();
  TrieType trie = found == nullptr ? TrieType() : *found;
  const auto key = TrieType::Prefix::Of(prefix);
  const absl::Status status = leaf == 0 ? trie.Remove(edit, key) : trie.Set(edit, key, leaf);
  if (!status.ok()) return status;
  return trie.empty() ? tables->Erase(edit, table) : tables->Set(edit, table, trie);
}

// Keeps a filter a superset of the local table: a new prefix is added, a removed one makes it stale.
template <class TrieType>
void NoteLocal(const IpPrefix& prefix, uint32_t leaf, LocalFilter* filter, bool* stale) {
  if (leaf == 0) {
    *stale = true;
  } else {
    filter->Add(TrieType::Prefix::Of(prefix).key, prefix.length, TrieType::kMaxLength);
  }
}

template <class TrieType>
void Refilter(const char* base, const CowHash<uint32_t, TrieType>& tables, LocalFilter* filter) {
  *filter = {};
  const TrieType* local = tables.Find(base, kTableLocal);
  if (local == nullptr) return;
  local->ForEach(base, [&](const typename TrieType::Prefix& prefix, Leaf) {
    filter->Add(prefix.key, prefix.length, TrieType::kMaxLength);
  });
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(Arena& arena, const Snapshot& base) : next_(base), edit_(arena) {}

SnapshotBuilder::~SnapshotBuilder() { Abort(); }

void SnapshotBuilder::UnmapPort(LinkIndex index) {
  const LinkEntry& link = next_.link(index);
  if (link.kind == LinkKind::kPort && link.port < kMaxPorts && next_.link_of_port[link.port] == index) {
    next_.link_of_port[link.port] = 0;
  }
}

absl::Status SnapshotBuilder::SetLink(const LinkEntry& link) {
  UnmapPort(link.index);
  if (const absl::Status s = next_.links.Set(edit_, link.index, link); !s.ok()) return s;
  if (link.kind == LinkKind::kPort && link.port < kMaxPorts) next_.link_of_port[link.port] = link.index;
  return absl::OkStatus();
}

absl::Status SnapshotBuilder::RemoveLink(LinkIndex index) {
  if (next_.link(index).index != 0) {
    UnmapPort(index);
    if (const absl::Status s = next_.links.Set(edit_, index, LinkEntry{}); !s.ok()) return s;
  }
  return SetLinkAddresses(index, LinkAddresses{});
}

absl::Status SnapshotBuilder::SetLinkAddresses(LinkIndex index, const LinkAddresses& addresses) {
  const LinkAddresses& now = next_.addresses(index);
  const bool none = addresses.count4 == 0 && addresses.count6 == 0;
  if (none && now.count4 == 0 && now.count6 == 0) return absl::OkStatus();
  return next_.link_addresses.Set(edit_, index, addresses);
}

absl::Status SnapshotBuilder::SetNexthop(NexthopIndex index, const Nexthop& nexthop) {
  return next_.nexthops.Set(edit_, index, nexthop);
}

absl::Status SnapshotBuilder::RemoveNexthop(NexthopIndex index) {
  if (next_.nexthop(index).type == RouteType::kNone) return absl::OkStatus();
  return next_.nexthops.Set(edit_, index, Nexthop{});
}

absl::Status SnapshotBuilder::SetRoute(uint32_t table, const IpPrefix& prefix, uint32_t leaf) {
  if (table == kTableLocal) {
    if (prefix.family() == Family::kIpv4) {
      NoteLocal<Trie4>(prefix, leaf, &next_.local4, &stale_filter4_);
    } else {
      NoteLocal<Trie6>(prefix, leaf, &next_.local6, &stale_filter6_);
    }
  }
  return prefix.family() == Family::kIpv4 ? Change(edit_, &next_.tables4, table, prefix, leaf)
                                          : Change(edit_, &next_.tables6, table, prefix, leaf);
}

absl::Status SnapshotBuilder::RemoveRoute(uint32_t table, const IpPrefix& prefix) { return SetRoute(table, prefix, 0); }

void SnapshotBuilder::ComputePlans() {
  Plan(next_.base, next_.tables4, &next_.plan4);
  Plan(next_.base, next_.tables6, &next_.plan6);
  if (stale_filter4_) Refilter(next_.base, next_.tables4, &next_.local4);
  if (stale_filter6_) Refilter(next_.base, next_.tables6, &next_.local6);
  stale_filter4_ = stale_filter6_ = false;
}

SnapshotBuilder::Built SnapshotBuilder::Finish(uint64_t epoch, uint64_t generation) {
  ComputePlans();
  next_.epoch = epoch;
  next_.generation = generation;
  done_ = true;
  return {std::make_unique<Snapshot>(next_), edit_.Commit()};
}

void SnapshotBuilder::Abort() {
  if (done_) return;
  done_ = true;
  edit_.Abort();
}

const Snapshot& SnapshotBuilder::Candidate() {
  ComputePlans();
  return next_;
}

std::unique_ptr<Snapshot> MakeEmptySnapshot(Arena& arena) {
  Snapshot empty;
  empty.base = arena.base();
  SnapshotBuilder builder(arena, empty);
  constexpr std::pair<NexthopIndex, RouteType> kFixed[] = {{kBlackholeNexthop, RouteType::kBlackhole},
                                                           {kUnreachableNexthop, RouteType::kUnreachable},
                                                           {kProhibitNexthop, RouteType::kProhibit},
                                                           {kThrowNexthop, RouteType::kThrow}};
  for (const auto& [index, type] : kFixed) {
    if (!builder.SetNexthop(index, Nexthop{.type = type}).ok()) return nullptr;
  }
  return builder.Finish(0, 0).snapshot;
}

}  // namespace sluice
