// Neighbour Discovery messages (RFC 4861): what a received one says, and how to write one.
//
// Why apart from the state machine: as arp.h. Every check that RFC 4861 §7.1 asks for is made here, before anything is
// believed.
//
//   std::optional<NdMessage> m = ParseNd(packet, l4_offset);
//   if (m && m->kind == NdMessage::Kind::kSolicit) SendFrame(link, NeighborAdvert(mac, *m, destination, true));
//
// Threads: functions of their arguments. Cost: a checksum.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_ND_H_
#define SLUICE_DATAPLANE_NEIGHBOR_ND_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "dataplane/base/address.h"

namespace sluice {

// True for the ICMPv6 types of Neighbour Discovery: router and neighbour solicitations and advertisements, redirect.
constexpr bool IsNdType(uint8_t icmpv6_type) { return icmpv6_type >= 133 && icmpv6_type <= 137; }

struct NdMessage {
  enum class Kind : uint8_t {
    kSolicit,
    kAdvert,
    kOther,  // router solicitation, router advertisement, redirect: a router that sends no advertisements ignores them
  };
  Kind kind = Kind::kOther;
  Ipv6Address source;       // :: in a solicitation for a duplicate address
  Ipv6Address destination;  // as it was sent to us
  Ipv6Address target;
  std::optional<MacAddress>
      mac;              // of the option that belongs to the kind: source in a solicitation, target in an advert
  bool router = false;  // flags of an advert
  bool solicited = false;
  bool overrides = false;
};

// `packet` from its IPv6 header on (not longer than the header says), with the ICMPv6 message at `l4_offset`. Nothing
// unless it passes RFC 4861 §7.1.1, §7.1.2: hop limit 255, code 0, checksum, length, no multicast target, options none
// of which has length 0 or runs over the end, :: only to a solicited-node address and without a source option, no S
// flag to a group; and a MAC that is a station's.
std::optional<NdMessage> ParseNd(absl::Span<const uint8_t> packet, uint32_t l4_offset);

// 33:33 and the last four bytes (RFC 2464 §7).
MacAddress MulticastMac(const Ipv6Address& group);

// Ethernet, IPv6, message and one link-layer address option.
using NdFrame = std::array<uint8_t, 14 + 40 + 24 + 8>;
// Who has `target`? To its solicited-node group; or, with `unicast_to`, to itself at that MAC.
NdFrame NeighborSolicit(MacAddress own_mac, const Ipv6Address& own, const Ipv6Address& target,
                        std::optional<MacAddress> unicast_to = std::nullopt);
// `own` is at `own_mac`, in answer to `solicit`, whose answers go to `destination` (ignored when it came from ::; the
// answer then goes to all nodes, without the solicited flag: RFC 4861 §7.2.4).
NdFrame NeighborAdvert(MacAddress own_mac, const NdMessage& solicit, MacAddress destination, bool router);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_ND_H_
