// How what the slow path makes leaves: by which link, to which neighbour, from which own address.
//
// Why apart: they are functions of a Snapshot and an address, the same lookup that forwarding uses, and are tested so.
//
//   const OutputRoute route = RouteOutput(*snapshot, destination, link_in);
//   if (route.ok()) { source = SourceAddress(*snapshot, route.link, route.next_hop); ... }
//
// Threads: a reader of the snapshot. Cost: a lookup; source selection looks at up to eight addresses of a link.
#ifndef SLUICE_DATAPLANE_WORKER_SLOW_PATH_ROUTE_H_
#define SLUICE_DATAPLANE_WORKER_SLOW_PATH_ROUTE_H_

#include <cstdint>

#include "dataplane/base/address.h"
#include "dataplane/cells/drop_reason.h"
#include "dataplane/snapshot/snapshot.h"

namespace sluice {

struct OutputRoute {
  LinkIndex link = 0;  // 0: nowhere, for `reason`
  DropReason reason = DropReason::kNoRoute;
  IpAddress next_hop;
  IpAddress source;  // the route's preferred one; mostly empty
  uint32_t mtu = 0;
  CellIndex cell = 0;  // of the nexthop

  bool ok() const { return link != 0; }
};

// The way to `destination`. An IPv6 link-local address is always on `link_in`, whatever the tables say (RFC 4007 §9).
// Own addresses, broadcast and multicast have no way: kIcmpIgnored.
OutputRoute RouteOutput(const Snapshot& snapshot, const IpAddress& destination, LinkIndex link_in);

// The address of `link` from which to talk to `target` there. IPv4: the first one whose subnet has the target, else the
// link's first, else the first global one of any link that is a port's (an unnumbered link; as Linux). IPv6: a
// link-local one for a link-local target or group, else the global one with the longest common prefix, else a global
// one of another link, else the link-local one (RFC 6724 §5, rules 2 and 8). Empty: there is none.
IpAddress SourceAddress(const Snapshot& snapshot, LinkIndex link, const IpAddress& target);

// From where to ask for a neighbour. As above, but for IPv6 of this link only, and the link-local one first.
IpAddress SolicitSource(const Snapshot& snapshot, LinkIndex link, const IpAddress& target);

// Where routing would take `address`: kLocal for an own address, kBroadcast for a broadcast address of a link.
RouteType RouteTypeOf(const Snapshot& snapshot, const IpAddress& address);

// IPv4: an address of any link; IPv6: of this link (RFC 4861 §7.2.3; a link-local one may be on several links).
bool IsOwnOnLink(const Snapshot& snapshot, LinkIndex link, const IpAddress& address);

// Length of the prefix by which `address` is reached; 0 also for none.
int RoutePrefixLength(const Snapshot& snapshot, const Ipv6Address& address);

// The link of this index, index 0 in it when there is none; any number may be asked for.
const LinkEntry& LinkOrNone(const Snapshot& snapshot, LinkIndex link);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_SLOW_PATH_ROUTE_H_
