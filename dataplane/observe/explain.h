// Explain: what would happen to this packet, step by step, in this snapshot.
//
// Why it can be believed: it runs the very stages that packets run (worker/stages.h), instantiated over a context that
// writes down instead of acting. Nothing is sent, learned or counted; the counters that the stages move are shadows.
//
//   absl::StatusOr<std::vector<uint8_t>> frame = BuildFrame({.source = a, .destination = b}, link.mac, MacAddress{});
//   Explanation e = Explain(*snapshot, adjacencies, link.index, *frame, name_of_link);
//   e.outcome == Outcome::kDropped && *e.drop == DropReason::kNoRoute
//   for (const ExplainStep& step : e.steps) ...        // "route": "10.1.2.3 matches 10.0.0.0/8 in table main"
//
// Threads: any that protects the snapshot (a Publisher::Reader, or the writer). Cost: some ten microseconds.
#ifndef SLUICE_DATAPLANE_OBSERVE_EXPLAIN_H_
#define SLUICE_DATAPLANE_OBSERVE_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "dataplane/cells/drop_reason.h"
#include "dataplane/local/punt.h"
#include "dataplane/neighbor/adjacency.h"
#include "dataplane/snapshot/snapshot.h"

namespace sluice {

struct ExplainStep {
  // In the order of the stages: "receive", "parse", "route", "nexthop", "ttl", "mtu", "neighbor", "rewrite", then how
  // it ends: "transmit", "local", "hold", "drop"; "icmp" for what its source is told.
  std::string stage;
  std::string text;                                        // a sentence
  std::vector<std::pair<std::string, std::string>> facts;  // the same as keys and values
};

enum class Outcome : uint8_t {
  kForwarded,  // one or more frames leave
  kDelivered,  // to the slow path: for ourselves, or link control (ARP, ND)
  kDropped,
  kHeld,  // waits for its neighbour to be resolved
};

struct Explanation {
  std::vector<ExplainStep> steps;
  Outcome outcome = Outcome::kDropped;
  std::optional<DropReason> drop;              // with kDropped
  IcmpErrorKind error = IcmpErrorKind::kNone;  // sent back about the packet (if its rate limit allows)
  uint32_t error_info = 0;                     // its MTU or pointer
  LinkIndex link_out = 0;                      // with kForwarded and kHeld
  IpAddress next_hop;                          // likewise
  std::vector<std::vector<uint8_t>> frames;    // with kForwarded: what leaves
  // The route that decided; nexthop 0 when none did or the packet did not get that far.
  RouteResult route;
  IpPrefix prefix;
};

using LinkName = absl::FunctionRef<std::string(LinkIndex)>;

// `frame` arrives on `link`, from its Ethernet header on; what is beyond 65 KB is cut off. A link that does not exist
// is one that is down.
Explanation Explain(const Snapshot& snapshot, const AdjacencyTable& adjacencies, LinkIndex link,
                    absl::Span<const uint8_t> frame, LinkName link_name);

// The route of a destination by the walk of a lookup, for `ip route get`.
struct RouteQuery {
  IpAddress destination;
  IpAddress source;       // empty: not known
  LinkIndex link_in = 0;  // 0: sent by Sluice itself
};
struct RouteAnswer {
  RouteResult result;  // nexthop 0: no route
  IpPrefix prefix;
  Nexthop nexthop;
  IpAddress next_hop;  // unicast: the neighbour
  IpAddress source;    // of what Sluice sends: the query's, else the one that it would choose
};
RouteAnswer ExplainRoute(const Snapshot& snapshot, const RouteQuery& query);

// A packet by its fields. Addresses are of one family, which is the packet's.
struct PacketFields {
  IpAddress source, destination;
  uint8_t protocol = 17;
  uint16_t source_port = 0, destination_port = 0;
  uint8_t ttl = 64;
  uint8_t tos = 0;
  uint32_t length = 0;  // L3 bytes; 0: headers alone
  bool dont_fragment = false;
};
// A frame with right lengths and checksums of IP. INVALID_ARGUMENT: mixed or missing addresses, or a length below what
// the headers take or above 65535.
absl::StatusOr<std::vector<uint8_t>> BuildFrame(const PacketFields& fields, MacAddress destination, MacAddress source);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_OBSERVE_EXPLAIN_H_
