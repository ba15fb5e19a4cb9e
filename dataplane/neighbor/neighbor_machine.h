// Neighbour unreachability detection (RFC 4861 §7.3) for ARP and ND alike: who is where, who is asked, what waits.
//
// Why one machine: Linux has shown that ARP gains from ND's states, and two machines would be two sets of faults. Why
// no thread, clock or device in it: `now` is an argument and the world is a NeighborHost, so hours pass in a test in
// milliseconds, and the order of events is the test's.
//
//   NeighborMachine machine(table, host);
//   auto r = machine.Resolve({link, next_hop}, packet, now);       // kSend to r.mac, kHeld, or kDrop for r.reason
//   machine.OnArp(link, frame, now);                               // may call host.SendHeld for what waited
//   machine.OnTimers(now, /*budget=*/64);                          // queries again, gives up, ages
//
// The states are Linux's (LINUX.md "ARP / ND"):
//
//   (none) --packet--> INCOMPLETE --answer--> REACHABLE --time--> STALE --use--> DELAY --5 s--> PROBE --answer-->
//   REACHABLE
//                          `--3 queries--> FAILED --packet--> INCOMPLETE            `-- 3 queries --> FAILED
//
// Bounds: entries by `max_entries`; those that nobody has answered for (INCOMPLETE, FAILED) by half of that, so that
// packets to addresses where nobody lives cannot push out who does (RFC 6583 §7), except that a gateway of a route
// always finds room; held bytes by HoldLimits; queries by one a second a neighbour. Every event is O(1).
//
// Threads: one, except where noted. The cells that it writes are read by the workers.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_MACHINE_H_
#define SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "dataplane/cells/counters.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/neighbor/neighbor.h"
#include "dataplane/neighbor/timer_wheel.h"

namespace sluice {

class NeighborMachine {
 public:
  enum class Verdict : uint8_t { kSend, kHeld, kDrop };
  struct Resolution {
    Verdict verdict = Verdict::kDrop;
    MacAddress mac;                                      // kSend
    DropReason reason = DropReason::kNeighborTableFull;  // kDrop
  };
  struct Stats {  // any thread may read
    OwnedCounter queries, answers, failures, evictions, table_full;
  };

  NeighborMachine(AdjacencyTable& table, NeighborHost& host, const NeighborOptions& options = {});
  // Frees what is held without telling the host. The entries' users in the table are not given back.
  ~NeighborMachine();
  NeighborMachine(const NeighborMachine&) = delete;
  NeighborMachine& operator=(const NeighborMachine&) = delete;

  // What to do with a packet for this neighbour. kHeld: a copy was made, and it will be passed to SendHeld or DropHeld.
  // kDrop: kOutLinkDown, kNeighborTableFull, kNeighborQueueFull (too large to keep).
  Resolution Resolve(const NeighborKey& key, const HeldPacket& packet, Nanos now);
  // A worker uses a cell that wants_report().
  void OnStaleUse(AdjacencyIndex index, Nanos now);

  // An ARP frame from its Ethernet header on. False when it was malformed (kBadArp); nothing happened then.
  bool OnArp(LinkIndex link, absl::Span<const uint8_t> frame, Nanos now);
  // A neighbour discovery packet from its IPv6 header on; `source_mac` from its frame. False: malformed (kBadNd).
  bool OnNd(LinkIndex link, absl::Span<const uint8_t> packet, uint32_t l4_offset, MacAddress source_mac, Nanos now);

  // Fires due timers until `budget` is spent (a timer and a packet that it drops cost one each). Returns what was
  // spent.
  size_t OnTimers(Nanos now, size_t budget);

  // From the user: `state` is kPermanent or kNoArp, `index` was acquired for this and belongs to the machine from now
  // on.
  void SetPermanent(AdjacencyIndex index, MacAddress mac, NeighborState state, Nanos now);
  // `ip neigh del`: whatever its state; what waits for it is dropped. False when there is no such entry.
  bool Remove(const NeighborKey& key);
  // `ip neigh flush`: entries that were learned, of one link (0: all) and one family (kNone: both). Returns how many.
  size_t Flush(LinkIndex link, Family family);
  // Also what the user set. What waits is dropped as kOutLinkDown.
  void RemoveLink(LinkIndex link);

  void ForEach(Nanos now, absl::FunctionRef<void(const NeighborInfo&)> visit) const;
  std::optional<NeighborInfo> Get(const NeighborKey& key, Nanos now) const;
  size_t size() const { return size_; }
  size_t max_entries() const { return max_entries_; }
  size_t held_packets() const { return hold_.packets(); }
  const Stats& stats() const { return stats_; }

 private:
  struct Entry;
  struct List {  // oldest first
    Entry* first = nullptr;
    Entry* last = nullptr;
    size_t size = 0;
  };
  struct Claim {  // what a neighbour says of itself
    std::optional<MacAddress> mac;
    NeighborState state = NeighborState::kStale;
    bool override_mac = false;  // a known MAC may be replaced
    bool weak = false;          // else a different MAC at least casts doubt (RFC 4861 §7.2.5)
  };

  Entry* Find(const NeighborKey& key) const;
  // Null when there is no room. `unresolved`: it will be asked for; else it has introduced itself.
  Entry* Create(const NeighborKey& key, bool unresolved, Nanos now);
  Entry* Adopt(AdjacencyIndex index, const NeighborKey& key, Nanos now);
  bool EvictFailed();
  bool EvictStale(Nanos now);
  void Destroy(Entry* e, DropReason reason);
  void Enter(Entry& e, NeighborState state, Nanos now);
  void Apply(Entry& e, const Claim& claim, Nanos now);
  void StartQueries(Entry& e, Nanos now);
  bool Query(Entry& e, Nanos now);  // false: the link is down
  size_t Fail(Entry& e, DropReason reason, Nanos now);
  size_t OnTimer(Entry& e, Nanos now);
  void WriteCell(const Entry& e);
  void ReleaseQueue(Entry& e, Nanos now);
  void MarkUsed(Entry& e, Nanos now);
  NeighborInfo Info(const Entry& e, Nanos now) const;
  void Learn(const NeighborKey& key, bool create, const Claim& claim, Nanos now);
  static void Append(List& list, Entry& e);
  static void Unlink(Entry& e);

  AdjacencyTable& table_;
  NeighborHost& host_;
  const NeighborOptions options_;
  const size_t max_entries_;
  std::vector<std::unique_ptr<Entry>> entries_;  // by adjacency index
  size_t size_ = 0;
  size_t unresolved_ = 0;  // INCOMPLETE and FAILED
  List failed_, stale_;
  TimerWheel timers_;  // by adjacency index
  HoldPool hold_;
  Stats stats_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_MACHINE_H_
