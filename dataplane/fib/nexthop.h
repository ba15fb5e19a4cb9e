// Where a route leads: one slot of a vector, shared by all routes that lead there.
//
// Why: a leaf of the trie is an index into a CowVector of these. Changing a shared nexthop is then one small change for
// a million routes (SOURCES S3.2), and a packet finds everything about its way out in one cache line.
//
// Threads: values inside a Snapshot. Cost: one line a packet.
#ifndef SLUICE_DATAPLANE_FIB_NEXTHOP_H_
#define SLUICE_DATAPLANE_FIB_NEXTHOP_H_

#include <cstdint>
#include <type_traits>

#include "dataplane/base/address.h"
#include "dataplane/cells/counters.h"
#include "dataplane/link/link.h"

namespace sluice {

// Index of a Nexthop slot, and the leaf value of a trie. 0 is "no route". Bit 31 of a leaf is kept for conditional
// leaves (TOS, source-specific, expiring).
using NexthopIndex = uint32_t;
inline constexpr uint32_t kConditionalLeaf = 0x80000000u;

// Names the cell that holds a neighbour's MAC (neighbor/adjacency.h); 0 is "none".
using AdjacencyIndex = uint32_t;

enum class RouteType : uint8_t {  // values of rtnetlink's RTN_*
  kNone = 0,
  kUnicast = 1,
  kLocal = 2,
  kBroadcast = 3,
  kMulticast = 5,
  kBlackhole = 6,
  kUnreachable = 7,
  kProhibit = 8,
  kThrow = 9,
};

// Slots that every snapshot has, for routes that lead nowhere.
inline constexpr NexthopIndex kBlackholeNexthop = 1;
inline constexpr NexthopIndex kUnreachableNexthop = 2;
inline constexpr NexthopIndex kProhibitNexthop = 3;
inline constexpr NexthopIndex kThrowNexthop = 4;
inline constexpr NexthopIndex kFirstFreeNexthop = 16;

struct alignas(64) Nexthop {
  static constexpr uint8_t kOnLink = 1;     // no gateway: the neighbour is the packet's destination
  static constexpr uint8_t kMtuLocked = 2;  // `mtu lock`
  static constexpr uint8_t kGateway6 = 4;   // the gateway is an IPv6 neighbour, whatever the packet is (RFC 5549)

  RouteType type = RouteType::kNone;
  uint8_t flags = 0;
  uint16_t mtu = 0;              // of the route; 0: the link's
  LinkIndex link = 0;            // out link; for kLocal the link that has the address
  AdjacencyIndex adjacency = 0;  // the gateway's cell; 0 with kOnLink
  CellIndex cell = 0;            // counts what leaves by this nexthop
  IpAddress gateway;             // empty with kOnLink; for explain and for the slow path
  IpAddress source;              // preferred source of what we originate; empty: the link's

  bool on_link() const { return flags & kOnLink; }
};
static_assert(sizeof(Nexthop) == 64 && std::is_trivially_copyable_v<Nexthop>);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_NEXTHOP_H_
