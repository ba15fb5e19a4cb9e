// A link: what `ip link` lists, and the index by which everything else names an interface.
//
// Why: input and output are links, never ports. A VLAN sub-interface, a tunnel, a VRF are links like a port is; code
// that routes to a link need not know which it is.
//
// Threads: values inside a Snapshot. Cost: one 64-byte line a link on the packet path.
#ifndef SLUICE_DATAPLANE_LINK_LINK_H_
#define SLUICE_DATAPLANE_LINK_LINK_H_

#include <cstdint>
#include <type_traits>

#include "dataplane/base/address.h"
#include "dataplane/cells/counters.h"

namespace sluice {

// Small, dense, reused only after the grace period; 0 is "no link". What users see as ifindex.
using LinkIndex = uint32_t;
inline constexpr LinkIndex kMaxLinks = 65536;

enum class LinkKind : uint8_t { kNone = 0, kPort = 1 };  // vlan, dummy, vrf and tunnels join later

// What a worker needs of a link, in one cache line.
struct alignas(64) LinkEntry {
  static constexpr uint8_t kUp = 1;        // administratively up
  static constexpr uint8_t kRunning = 2;   // the device has carrier
  static constexpr uint8_t kForward4 = 4;  // forwards IPv4 that arrives here
  static constexpr uint8_t kForward6 = 8;
  static constexpr uint8_t kIpv6 = 16;  // speaks IPv6 at all (MTU >= 1280)

  LinkIndex index = 0;  // 0: no such link
  LinkKind kind = LinkKind::kNone;
  uint8_t flags = 0;
  uint16_t port = 0;      // DPDK port id, for kPort
  uint32_t mtu = 0;       // L3 bytes
  CellIndex rx_cell = 0;  // good frames received and sent
  CellIndex tx_cell = 0;
  MacAddress mac;

  bool up() const { return flags & kUp; }
  bool running() const { return flags & kRunning; }
};
static_assert(sizeof(LinkEntry) == 64 && std::is_trivially_copyable_v<LinkEntry>);

// The addresses of a link from which the slow path picks the source of what it sends (ICMP errors, ARP, ND). The first
// is the primary. A link may have more addresses than this holds: the rest are local all the same (local table), but
// are not picked as a source.
struct LinkAddresses {
  static constexpr int kMax = 8;
  struct Entry4 {
    Ipv4Address address;
    uint8_t prefix_length;
    uint8_t scope;  // rtnetlink scope: 0 universe, 253 link, 254 host
  };
  struct Entry6 {
    Ipv6Address address;
    uint8_t prefix_length;
    uint8_t scope;
  };
  uint8_t count4 = 0;
  uint8_t count6 = 0;
  Entry4 ipv4[kMax] = {};
  Entry6 ipv6[kMax] = {};  // the link-local address too
};
static_assert(std::is_trivially_copyable_v<LinkAddresses>);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LINK_LINK_H_
