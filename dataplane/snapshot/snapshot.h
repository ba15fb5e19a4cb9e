// Everything a packet can meet, as one immutable value.
//
// Why: a worker loads one pointer at the start of a burst, and every packet of that burst sees all of a transaction or
// none of it. The parts are persistent structures over one Arena: a new snapshot shares every part it does not change.
//
//   const Snapshot* s = reader.Enter();                        // publisher.h
//   const Nexthop& nh = s->nexthop(LookupRoute(*s, destination).nexthop);
//
// Threads: any reader, while its publisher's grace period protects it. Cost: see trie.h and cow_vector.h.
#ifndef SLUICE_DATAPLANE_SNAPSHOT_SNAPSHOT_H_
#define SLUICE_DATAPLANE_SNAPSHOT_SNAPSHOT_H_

#include <cstdint>

#include "dataplane/base/arena.h"
#include "dataplane/base/cow_hash.h"
#include "dataplane/base/cow_vector.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/fib/trie.h"
#include "dataplane/link/link.h"

namespace sluice {

inline constexpr uint32_t kTableLocal = 255;
inline constexpr uint32_t kTableMain = 254;
inline constexpr uint32_t kTableDefault = 253;
inline constexpr uint32_t kMaxPorts = 64;  // DPDK ports that can carry links

// The tables that a lookup walks, in order, when no rule says otherwise: local, main, default (LINUX.md §1.1). Tables
// that are absent or empty are left out when the snapshot is built.
template <class Trie>
struct LookupPlan {
  static constexpr uint32_t kMax = 4;
  struct Step {
    Trie trie;
    uint32_t table = 0;
  };
  uint32_t count = 0;
  Step steps[kMax];
};

// Which addresses may be in the local table: nearly every packet is asked twice (destination, source), and nearly
// always the answer is no. A Bloom filter with one hash: no false negatives; a prefix shorter than a host's makes it
// answer yes for everything. Kept by the builder.
struct LocalFilter {
  static constexpr int kBits = 11;
  uint64_t words[(1 << kBits) / 64] = {};

  [[gnu::always_inline]] static uint32_t Hash(uint32_t key) { return (key * 0x9e3779b1u) >> (32 - kBits); }
  [[gnu::always_inline]] static uint32_t Hash(const Ipv6Key& key) {
    return static_cast<uint32_t>(((key.high ^ key.low * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull) >>
                                 (64 - kBits));
  }
  template <class Key>
  [[gnu::always_inline]] bool MayHave(const Key& key) const {
    const uint32_t h = Hash(key);
    return words[h / 64] >> (h % 64) & 1;
  }
  template <class Key>
  void Add(const Key& key, int length, int host_length) {
    const uint32_t h = Hash(key);
    words[h / 64] |= uint64_t{1} << (h % 64);
    if (length == host_length) return;
    for (uint64_t& w : words) w = ~uint64_t{0};
  }
};

struct Snapshot {
  uint64_t epoch = 0;       // moves with every publication
  uint64_t generation = 0;  // moves with every commit
  char* base = nullptr;     // Arena::base()

  LookupPlan<Trie4> plan4;
  LookupPlan<Trie6> plan6;
  LocalFilter local4;  // of table kTableLocal
  LocalFilter local6;

  CowVector<LinkEntry> links;               // by LinkIndex
  CowVector<LinkAddresses> link_addresses;  // by LinkIndex
  CowVector<Nexthop> nexthops;              // by NexthopIndex
  CowHash<uint32_t, Trie4> tables4;         // by table id
  CowHash<uint32_t, Trie6> tables6;
  LinkIndex link_of_port[kMaxPorts] = {};  // untagged frames of a DPDK port

  // Entries that do not exist read as default-constructed (index 0, kind kNone; type kNone).
  const LinkEntry& link(LinkIndex i) const { return links.Get(base, i); }
  const LinkAddresses& addresses(LinkIndex i) const { return link_addresses.Get(base, i); }
  const Nexthop& nexthop(NexthopIndex i) const { return nexthops.Get(base, i); }
};

struct RouteResult {
  NexthopIndex nexthop = 0;  // 0: no table had a route
  uint32_t table = 0;        // that gave the result
};

// The walk of LINUX.md §1.3 over the plan: a table that misses, or answers `throw`, passes on to the next.
// Force-inlined: each instruction set has its own copy.
[[gnu::always_inline]] inline RouteResult LookupRoute(const Snapshot& s, Ipv4Address destination) {
  for (uint32_t i = 0; i < s.plan4.count; ++i) {
    const uint32_t leaf = s.plan4.steps[i].trie.Lookup(s.base, destination.ToHost());
    if (leaf != 0 && leaf != kThrowNexthop) return {leaf, s.plan4.steps[i].table};
  }
  return {};
}
[[gnu::always_inline]] inline RouteResult LookupRoute(const Snapshot& s, const Ipv6Address& destination) {
  for (uint32_t i = 0; i < s.plan6.count; ++i) {
    const uint32_t leaf = s.plan6.steps[i].trie.Lookup(s.base, Ipv6Key{destination.high(), destination.low()});
    if (leaf != 0 && leaf != kThrowNexthop) return {leaf, s.plan6.steps[i].table};
  }
  return {};
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_SNAPSHOT_SNAPSHOT_H_
