// The packets that go through the stages together, as a struct of arrays; and what differs between the families.
//
// Why arrays: a stage is a loop that reads a few of them; what it does not touch stays out of its way, and the lookup
// sees plain arrays of keys. Packets that leave early are compacted out, so a later stage never asks whether a packet
// is still there. Each family has its own burst: a loop over one kind of header needs no branch on it, and the order of
// packets within a family (so within a flow) is that of their arrival.
//
// Example: stages.h. Threads: one worker. Cost: 6 KB on its stack for each family.
#ifndef SLUICE_DATAPLANE_WORKER_BURST_H_
#define SLUICE_DATAPLANE_WORKER_BURST_H_

#include <cstdint>

#include "dataplane/base/address.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/fib/trie.h"
#include "dataplane/link/link.h"
#include "dataplane/packet/headers.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"
#include "dataplane/snapshot/snapshot.h"

struct rte_mbuf;

namespace sluice {

inline constexpr uint32_t kBurst = 64;

// What differs between the families.
struct V4 {
  using Address = Ipv4Address;
  using Key = uint32_t;
  static constexpr Family kFamily = Family::kIpv4;
  static constexpr uint8_t kForwards = LinkEntry::kForward4;
  static constexpr be16 kEtherType = kEtherTypeIpv4;

  [[gnu::always_inline]] static HeaderCheck Check(const uint8_t* l3, uint32_t available, uint32_t* length) {
    return CheckIpv4(l3, available, length);
  }
  [[gnu::always_inline]] static bool HasOptions(const uint8_t* l3) { return l3[0] != 0x45; }
  [[gnu::always_inline]] static Address Source(const uint8_t* l3) { return HeaderAt<Ipv4Header>(l3)->source; }
  [[gnu::always_inline]] static Address Destination(const uint8_t* l3) { return HeaderAt<Ipv4Header>(l3)->destination; }
  [[gnu::always_inline]] static Key KeyOf(Address a) { return a.ToHost(); }
  [[gnu::always_inline]] static Address AddressOf(Key key) { return Ipv4Address::FromHost(key); }
  [[gnu::always_inline]] static bool Differ(Key a, Key b) { return a != b; }
  [[gnu::always_inline]] static uint8_t HopLimit(const uint8_t* l3) { return l3[8]; }
  [[gnu::always_inline]] static void Decrement(uint8_t* l3) { DecrementTtl(l3); }
  [[gnu::always_inline]] static const LookupPlan<Trie4>& Plan(const Snapshot& s) { return s.plan4; }
  [[gnu::always_inline]] static const LocalFilter& Filter(const Snapshot& s) { return s.local4; }
};

struct V6 {
  using Address = Ipv6Address;
  using Key = Ipv6Key;
  static constexpr Family kFamily = Family::kIpv6;
  static constexpr uint8_t kForwards = LinkEntry::kForward6;
  static constexpr be16 kEtherType = kEtherTypeIpv6;

  [[gnu::always_inline]] static HeaderCheck Check(const uint8_t* l3, uint32_t available, uint32_t* length) {
    return CheckIpv6(l3, available, length);
  }
  [[gnu::always_inline]] static bool HasOptions(const uint8_t*) { return false; }
  [[gnu::always_inline]] static Address Source(const uint8_t* l3) { return HeaderAt<Ipv6Header>(l3)->source; }
  [[gnu::always_inline]] static Address Destination(const uint8_t* l3) { return HeaderAt<Ipv6Header>(l3)->destination; }
  [[gnu::always_inline]] static Key KeyOf(const Address& a) { return {a.high(), a.low()}; }
  [[gnu::always_inline]] static Address AddressOf(const Key& key) { return Ipv6Address::FromHost(key.high, key.low); }
  [[gnu::always_inline]] static bool Differ(const Key& a, const Key& b) {
    return ((a.high ^ b.high) | (a.low ^ b.low)) != 0;
  }
  [[gnu::always_inline]] static uint8_t HopLimit(const uint8_t* l3) { return l3[7]; }
  [[gnu::always_inline]] static void Decrement(uint8_t* l3) { DecrementHopLimit(l3); }
  [[gnu::always_inline]] static const LookupPlan<Trie6>& Plan(const Snapshot& s) { return s.plan6; }
  [[gnu::always_inline]] static const LocalFilter& Filter(const Snapshot& s) { return s.local6; }
};

template <class F>
struct Burst {
  // Bits of `unusual`: reasons why a packet is not plainly forwarded. Zero for nearly all.
  static constexpr uint8_t kLinkGroup = 1;         // came as a link-layer broadcast or multicast
  static constexpr uint8_t kMulticast = 2;         // IP destination
  static constexpr uint8_t kLimitedBroadcast = 4;  // IPv4 destination 255.255.255.255
  static constexpr uint8_t kLinkLocal = 8;         // IPv6 source or destination
  static constexpr uint8_t kOwnSource = 16;        // IPv4 source is an address of ours
  static constexpr uint8_t kNotForwarding = 32;    // the link does not forward this family

  uint32_t count = 0;
  // From parse on.
  rte_mbuf* mbuf[kBurst];
  uint8_t* l3[kBurst];      // the IP header; the Ethernet header lies right before it
  uint32_t length[kBurst];  // L3 bytes, padding excluded
  const LinkEntry* in[kBurst];
  uint8_t unusual[kBurst];
  // The flow key, as lookups want it.
  typename F::Key destination[kBurst];
  uint32_t source4[kBurst];  // IPv4 only
  // From the lookup on.
  NexthopIndex nexthop[kBurst];
  // From resolving on: all that is left is forwarded.
  const LinkEntry* out[kBurst];
  uint64_t adjacency[kBurst];  // Adjacency::bits()
  uint64_t fragments = 0;      // bit i: packet i is cut to fragment[i], an MTU
  uint32_t fragment[kBurst];
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_BURST_H_
