// What a neighbour is, as `ip neigh` shows it, and what the state machine needs of the world around it.
//
// Threads: values; NeighborHost is called by the thread that runs the machine.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_H_
#define SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/cells/drop_reason.h"
#include "dataplane/link/link.h"
#include "dataplane/neighbor/hold_queue.h"

namespace sluice {

// Nanoseconds of a monotonic clock.
using Nanos = uint64_t;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

enum class NeighborState : uint8_t {  // values of rtnetlink's NUD_*
  kNone = 0x00,
  kIncomplete = 0x01,  // being asked for; packets wait
  kReachable = 0x02,   // heard of lately
  kStale = 0x04,       // used as it is; asked for again when somebody uses it
  kDelay = 0x08,       // was stale and is being used: a moment's grace, then
  kProbe = 0x10,       // asked for at its known MAC
  kFailed = 0x20,      // did not answer
  kNoArp = 0x40,       // set by the user, needs no resolution
  kPermanent = 0x80,   // set by the user, never changed by traffic
};
// "REACHABLE", as iproute2 prints it.
absl::string_view NeighborStateName(NeighborState state);

struct NeighborInfo {
  LinkIndex link = 0;
  IpAddress address;
  MacAddress mac;  // zero when none is known
  NeighborState state = NeighborState::kNone;
  bool router = false;
  uint32_t queued = 0;  // packets that wait for it
  uint32_t probes = 0;  // queries sent in this state
  Nanos used = 0;       // ages: since a packet was known to use it,
  Nanos confirmed = 0;  // since it was known to be there,
  Nanos updated = 0;    // since state or MAC changed by what it said
};

// Linux's defaults (Documentation/networking/ip-sysctl.rst, "neigh"; RFC 4861 §10).
struct NeighborOptions {
  Nanos base_reachable = 30 * kSecond;  // times a random factor of 0.5 to 1.5
  Nanos delay_first_probe = 5 * kSecond;
  Nanos retransmit = 1 * kSecond;
  Nanos gc_stale = 60 * kSecond;  // unused for so long, an entry may go
  Nanos locktime = 1 * kSecond;   // an ARP answer does not override one that is younger
  uint32_t unicast_probes = 3;
  uint32_t multicast_probes = 3;
  uint32_t gc_threshold = 128;  // with fewer entries than this none is collected
  uint32_t max_entries = 0;     // 0: seven eighths of the adjacency table, the rest is left to gateways
  HoldLimits hold;
};

// Called from within the machine, by functions that are in the middle of changing it: none of these may call it.
class NeighborHost {
 public:
  struct Link {
    bool up = false;  // exists, administratively up
    MacAddress mac;
    bool router6 = false;  // forwards IPv6: the R flag of what we advertise
  };

  virtual ~NeighborHost() = default;
  virtual Link GetLink(LinkIndex link) = 0;
  // The own address from which to ask for `target`: one in the same subnet, else the primary; empty when there is none.
  virtual IpAddress SourceFor(LinkIndex link, const IpAddress& target) = 0;
  // IPv4: an address of any link (weak host model, LINUX.md §4.1). IPv6: of this link.
  virtual bool IsOwnAddress(LinkIndex link, const IpAddress& address) = 0;

  // A finished frame that Sluice makes.
  virtual void SendFrame(LinkIndex link, absl::Span<const uint8_t> frame) = 0;
  // The end of a packet that was held: its neighbour is at `mac`, or it is dropped (kNeighborFailed: with an error to
  // its sender; kNeighborQueueFull, kOutLinkDown: without).
  virtual void SendHeld(const HeldPacket& packet, MacAddress mac) = 0;
  virtual void DropHeld(const HeldPacket& packet, DropReason reason) = 0;
  // AdjacencyTable::Recycle(index) is due after the grace period.
  virtual void RecycleAfterGrace(uint32_t index) = 0;
  virtual uint64_t Random() = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_H_
