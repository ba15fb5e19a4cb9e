#include "dataplane/neighbor/neighbor_machine.h"

#include <algorithm>
#include <utility>

#include "dataplane/neighbor/arp.h"
#include "dataplane/neighbor/nd.h"
#include "dataplane/neighbor/neighbor_entry.h"

namespace sluice {

using neighbor_internal::IsFixed;
using neighbor_internal::IsUnresolved;
using neighbor_internal::IsValid;

namespace {

// An entry that was updated so lately is not evicted for a newer one (Linux's forced collection spares 5 s).
constexpr Nanos kEvictionGrace = 5 * kSecond;

}  // namespace

absl::string_view NeighborStateName(NeighborState state) {
  switch (state) {
    case NeighborState::kNone:
      return "NONE";
    case NeighborState::kIncomplete:
      return "INCOMPLETE";
    case NeighborState::kReachable:
      return "REACHABLE";
    case NeighborState::kStale:
      return "STALE";
    case NeighborState::kDelay:
      return "DELAY";
    case NeighborState::kProbe:
      return "PROBE";
    case NeighborState::kFailed:
      return "FAILED";
    case NeighborState::kNoArp:
      return "NOARP";
    case NeighborState::kPermanent:
      return "PERMANENT";
  }
  return "UNKNOWN";
}

NeighborMachine::NeighborMachine(AdjacencyTable& table, NeighborHost& host, const NeighborOptions& options)
    : table_(table),
      host_(host),
      options_(options),
      max_entries_(options.max_entries != 0 ? std::min<size_t>(options.max_entries, table.capacity())
                                            : std::max<size_t>(1, table.capacity() - table.capacity() / 8)),
      entries_(table.capacity() + 1),
      timers_(static_cast<uint32_t>(table.capacity() + 1)),
      hold_(options.hold, [this](const HeldPacket& p) { host_.DropHeld(p, DropReason::kNeighborQueueFull); }) {}

NeighborMachine::~NeighborMachine() {
  for (const std::unique_ptr<Entry>& e : entries_) {
    if (e != nullptr) hold_.Drain(e->queue, [](const HeldPacket&) {});
  }
}

void NeighborMachine::Append(List& list, Entry& e) {
  e.list = &list;
  e.prev = list.last;
  e.next = nullptr;
  (list.last ? list.last->next : list.first) = &e;
  list.last = &e;
  ++list.size;
}

void NeighborMachine::Unlink(Entry& e) {
  if (e.list == nullptr) return;
  (e.prev ? e.prev->next : e.list->first) = e.next;
  (e.next ? e.next->prev : e.list->last) = e.prev;
  --e.list->size;
  e.list = nullptr;
  e.prev = e.next = nullptr;
}

NeighborMachine::Entry* NeighborMachine::Find(const NeighborKey& key) const {
  const AdjacencyIndex index = table_.Find(key);
  return index == 0 ? nullptr : entries_[index].get();
}

NeighborMachine::Entry* NeighborMachine::Create(const NeighborKey& key, bool unresolved, Nanos now) {
  if (key.link == 0 || key.address.empty()) return nullptr;
  // Somebody else knows this neighbour: a nexthop whose gateway it is. There are only as many of those as were
  // configured, and losing one would cost all its routes.
  const bool gateway = table_.Find(key) != 0;
  if (!gateway) {
    if (unresolved && unresolved_ >= max_entries_ / 2 && !EvictFailed()) {
      stats_.table_full.Add(1);
      return nullptr;
    }
    if (size_ >= max_entries_ && !EvictFailed() && (unresolved || !EvictStale(now))) {
      stats_.table_full.Add(1);
      return nullptr;
    }
  }
  auto index = table_.Acquire(key);
  if (!index.ok()) {
    stats_.table_full.Add(1);
    return nullptr;
  }
  return Adopt(*index, key, now);
}

NeighborMachine::Entry* NeighborMachine::Adopt(AdjacencyIndex index, const NeighborKey& key, Nanos now) {
  auto e = std::make_unique<Entry>();
  e->key = key;
  e->index = index;
  e->used = e->updated = now;
  entries_[index] = std::move(e);
  ++size_;
  return entries_[index].get();
}

bool NeighborMachine::EvictFailed() {
  if (failed_.first == nullptr) return false;
  stats_.evictions.Add(1);
  Destroy(failed_.first, DropReason::kNeighborFailed);
  return true;
}

bool NeighborMachine::EvictStale(Nanos now) {
  // A few tries: gateways of routes are passed over, and go to the end of the line.
  for (int tries = 0; tries < 4 && stale_.first != nullptr; ++tries) {
    Entry& e = *stale_.first;
    if (now < e.updated + kEvictionGrace) return false;
    if (table_.users(e.index) > 1) {
      Unlink(e);
      Append(stale_, e);
      continue;
    }
    stats_.evictions.Add(1);
    Destroy(&e, DropReason::kNeighborFailed);
    return true;
  }
  return false;
}

void NeighborMachine::Destroy(Entry* e, DropReason reason) {
  const AdjacencyIndex index = e->index;
  std::unique_ptr<Entry> dying = std::move(entries_[index]);
  timers_.Cancel(index);
  Unlink(*dying);
  if (IsUnresolved(dying->state)) --unresolved_;
  --size_;
  // A nexthop may still name the cell: it lives on, unresolved.
  table_.Write(index, MacAddress(), false, false);
  const bool last = table_.Release(index);
  hold_.Drain(dying->queue, [&](const HeldPacket& p) { host_.DropHeld(p, reason); });
  if (last) host_.RecycleAfterGrace(index);
}

void NeighborMachine::WriteCell(const Entry& e) {
  const bool usable = IsValid(e.state);
  table_.Write(e.index, usable ? e.mac : MacAddress(), usable, e.state == NeighborState::kStale);
}

void NeighborMachine::Enter(Entry& e, NeighborState state, Nanos now) {
  Unlink(e);
  unresolved_ += IsUnresolved(state);
  unresolved_ -= IsUnresolved(e.state);
  if (e.state != state) e.probes = 0;
  e.state = state;
  switch (state) {
    case NeighborState::kReachable: {
      const Nanos half = options_.base_reachable / 2;
      e.reachable_until = e.confirmed + half + (half > 0 ? host_.Random() % (2 * half) : 0);
      timers_.Set(e.index, e.reachable_until);
      break;
    }
    case NeighborState::kStale:
      Append(stale_, e);
      timers_.Set(e.index, now + options_.gc_stale);
      break;
    case NeighborState::kFailed:
      Append(failed_, e);
      timers_.Set(e.index, now + options_.gc_stale);
      break;
    case NeighborState::kDelay:
      timers_.Set(e.index, now + options_.delay_first_probe);
      break;
    case NeighborState::kIncomplete:
    case NeighborState::kProbe:
      StartQueries(e, now);
      break;
    default:
      timers_.Cancel(e.index);
  }
  WriteCell(e);
}

// At most one query a second goes to a neighbour, also where a new round begins right after the last one failed.
void NeighborMachine::StartQueries(Entry& e, Nanos now) {
  const Nanos next = e.last_query == 0 ? now : std::max(now, e.last_query + options_.retransmit);
  if (next <= now) {
    Query(e, now);
    timers_.Set(e.index, now + options_.retransmit);
  } else {
    timers_.Set(e.index, next);
  }
}

bool NeighborMachine::Query(Entry& e, Nanos now) {
  ++e.probes;
  const NeighborHost::Link link = host_.GetLink(e.key.link);
  if (!link.up) return false;
  const bool unicast = e.state == NeighborState::kProbe;
  const IpAddress source = host_.SourceFor(e.key.link, e.key.address);
  if (e.key.address.is_v4()) {
    // A link without an address asks with 0.0.0.0, as Linux does.
    const Ipv4Address own = source.is_v4() ? source.v4() : Ipv4Address{};
    host_.SendFrame(e.key.link, ArpRequest(link.mac, own, e.key.address.v4(), unicast ? e.mac : kBroadcastMac));
  } else {
    // :: would make it a question about a duplicate address (RFC 4862 §5.4.3): without an address nobody can be asked.
    if (!source.is_v6()) return true;
    host_.SendFrame(e.key.link, NeighborSolicit(link.mac, source.v6(), e.key.address.v6(),
                                                unicast ? std::optional<MacAddress>(e.mac) : std::nullopt));
  }
  e.last_query = now;
  stats_.queries.Add(1);
  return true;
}

size_t NeighborMachine::Fail(Entry& e, DropReason reason, Nanos now) {
  stats_.failures.Add(1);
  e.updated = now;
  Enter(e, NeighborState::kFailed, now);
  return hold_.Drain(e.queue, [&](const HeldPacket& p) { host_.DropHeld(p, reason); });
}

void NeighborMachine::ReleaseQueue(Entry& e, Nanos now) {
  if (e.queue.empty()) return;
  const MacAddress mac = e.mac;
  hold_.Drain(e.queue, [&](const HeldPacket& p) { host_.SendHeld(p, mac); });
  MarkUsed(e, now);
}

void NeighborMachine::MarkUsed(Entry& e, Nanos now) {
  e.used = std::max(e.used, now);
  if (e.state == NeighborState::kStale) Enter(e, NeighborState::kDelay, now);
}

NeighborMachine::Resolution NeighborMachine::Resolve(const NeighborKey& key, const HeldPacket& packet, Nanos now) {
  if (!host_.GetLink(key.link).up) return {.reason = DropReason::kOutLinkDown};
  Entry* e = Find(key);
  if (e == nullptr) {
    e = Create(key, /*unresolved=*/true, now);
    if (e == nullptr) return {.reason = DropReason::kNeighborTableFull};
  }
  if (IsValid(e->state)) {
    MarkUsed(*e, now);
    return {.verdict = Verdict::kSend, .mac = e->mac};
  }
  e->used = now;
  if (e->state != NeighborState::kIncomplete) Enter(*e, NeighborState::kIncomplete, now);
  if (!hold_.Push(e->queue, packet)) return {.reason = DropReason::kNeighborQueueFull};
  return {.verdict = Verdict::kHeld};
}

void NeighborMachine::OnStaleUse(AdjacencyIndex index, Nanos now) {
  if (index == 0 || index >= entries_.size() || entries_[index] == nullptr) return;
  MarkUsed(*entries_[index], now);
}

size_t NeighborMachine::OnTimers(Nanos now, size_t budget) {
  return timers_.Advance(
      now, [&](uint32_t index) { return OnTimer(*entries_[index], now); }, budget);
}

size_t NeighborMachine::OnTimer(Entry& e, Nanos now) {
  switch (e.state) {
    case NeighborState::kIncomplete:
    case NeighborState::kProbe: {
      const uint32_t limit = e.state == NeighborState::kProbe ? options_.unicast_probes : options_.multicast_probes;
      if (e.probes >= limit) return Fail(e, DropReason::kNeighborFailed, now);
      if (!Query(e, now)) return Fail(e, DropReason::kOutLinkDown, now);
      timers_.Set(e.index, now + options_.retransmit);
      return 0;
    }
    case NeighborState::kReachable:
      e.updated = now;
      Enter(e, NeighborState::kStale, now);
      return 0;
    case NeighborState::kDelay:
      Enter(e, NeighborState::kProbe, now);
      return 0;
    case NeighborState::kStale:
    case NeighborState::kFailed:
      // Unused for gc_stale. A gateway's MAC is kept: it costs an entry that its nexthop holds anyway.
      if (size_ > options_.gc_threshold && (e.state == NeighborState::kFailed || table_.users(e.index) == 1)) {
        Destroy(&e, DropReason::kNeighborFailed);
      } else {
        timers_.Set(e.index, now + options_.gc_stale);
      }
      return 0;
    default:
      return 0;
  }
}

void NeighborMachine::SetPermanent(AdjacencyIndex index, MacAddress mac, NeighborState state, Nanos now) {
  Entry* e = entries_[index].get();
  if (e == nullptr) {
    e = Adopt(index, table_.Key(index), now);
  } else if (table_.Release(index)) {  // the machine has its own user already
    return;                            // never: that one is still there
  }
  e->mac = mac;
  e->updated = e->confirmed = now;
  Enter(*e, state, now);
  ReleaseQueue(*e, now);
}

bool NeighborMachine::Remove(const NeighborKey& key) {
  Entry* e = Find(key);
  if (e == nullptr) return false;
  Destroy(e, DropReason::kNeighborFailed);
  return true;
}

size_t NeighborMachine::Flush(LinkIndex link, Family family) {
  size_t flushed = 0;
  for (const std::unique_ptr<Entry>& e : entries_) {
    if (e == nullptr || IsFixed(e->state) || (link != 0 && e->key.link != link) ||
        (family != Family::kNone && e->key.address.family != family)) {
      continue;
    }
    Destroy(e.get(), DropReason::kNeighborFailed);
    ++flushed;
  }
  return flushed;
}

void NeighborMachine::RemoveLink(LinkIndex link) {
  for (const std::unique_ptr<Entry>& e : entries_) {
    if (e != nullptr && e->key.link == link) Destroy(e.get(), DropReason::kOutLinkDown);
  }
}

NeighborInfo NeighborMachine::Info(const Entry& e, Nanos now) const {
  const auto age = [now](Nanos then) { return now > then ? now - then : 0; };
  NeighborInfo info;
  info.link = e.key.link;
  info.address = e.key.address;
  info.mac = IsValid(e.state) ? e.mac : MacAddress();
  info.state = e.state;
  info.router = e.router;
  info.queued = static_cast<uint32_t>(e.queue.packets());
  info.probes = e.probes;
  info.used = age(e.used);
  info.confirmed = age(e.confirmed);
  info.updated = age(e.updated);
  return info;
}

void NeighborMachine::ForEach(Nanos now, absl::FunctionRef<void(const NeighborInfo&)> visit) const {
  for (const std::unique_ptr<Entry>& e : entries_) {
    if (e != nullptr) visit(Info(*e, now));
  }
}

std::optional<NeighborInfo> NeighborMachine::Get(const NeighborKey& key, Nanos now) const {
  const Entry* e = Find(key);
  if (e == nullptr) return std::nullopt;
  return Info(*e, now);
}

}  // namespace sluice
