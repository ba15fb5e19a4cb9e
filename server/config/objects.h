// What a user can ask for, as plain structs: the language that rpc, engine, store and config share.
//
// Why: protobuf stays at the edge. Addresses are parsed once, at that edge; here they are binary, and every field says
// whether it was given. These structs are the form in which objects come in and go out; how config stores them is
// config's business (packed records).
//
//   Operation op{.verb = Verb::kReplace, .object = Route{.prefix = *IpPrefix::Parse("10.0.0.0/8"), .legs = {{.gateway =
//   gw}}}};
//
// Threads: values.
#ifndef SLUICE_SERVER_CONFIG_OBJECTS_H_
#define SLUICE_SERVER_CONFIG_OBJECTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "dataplane/base/address.h"
#include "dataplane/cells/counters.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/link/link.h"

namespace sluice::config {

enum class Origin : uint8_t { kConfigured = 1, kDerived = 2, kLearned = 3 };

struct Meta {
  uint64_t uid = 0;  // never reused
  uint64_t generation_created = 0;
  uint64_t generation_changed = 0;
  Origin origin = Origin::kConfigured;
  std::string unresolved;  // why a stored object has no effect now; empty: it has
};

enum class OperState : uint8_t { kUnspecified = 0, kUp = 1, kDown = 2, kUnknown = 3, kNotPresent = 4 };

struct LinkState {
  LinkIndex index = 0;
  OperState oper_state = OperState::kUnspecified;
  bool carrier = false;
  uint32_t speed_mbps = 0;  // 0: unknown
  std::string driver;
  std::string bus_address;
  MacAddress mac;  // in use
  uint32_t mtu = 0;
  uint32_t max_mtu = 0;
  uint32_t rx_queues = 0, tx_queues = 0;  // in use
  std::optional<uint32_t> numa_node;      // absent: unknown
  PacketBytes rx, tx;
  uint64_t rx_errors = 0, rx_dropped = 0, rx_missed = 0, rx_multicast = 0, tx_errors = 0, tx_dropped = 0;
};

// Identity: name. Kind `port`: a DPDK device.
struct Link {
  std::string name;  // 1 to 15 bytes, no '/' or space, as IFNAMSIZ
  LinkKind kind = LinkKind::kPort;
  std::string devargs;  // "0000:03:00.1", "net_null0", "iface:eth1" ...
  std::optional<bool> up;
  std::optional<uint32_t> mtu;  // 68 to 65535; default 1500
  std::optional<MacAddress> mac;
  std::optional<uint32_t> rx_queues, tx_queues;  // default: as many as workers, within the device's limits
  std::string new_name;                          // CHANGE only: the name from now on; never read back
  LinkState state;
};

struct Route;

// Identity: link and address with length, as Linux.
struct Address {
  std::string link;
  IpAddress address;
  uint8_t prefix_length = 0;
  std::optional<uint8_t> scope;    // rtnetlink scope; default 0, link for fe80::/10, host for 127/8
  std::optional<uint32_t> metric;  // of the prefix route
  bool no_prefix_route = false;
  std::string label;
  bool secondary = false;             // on read
  std::vector<Route> derived_routes;  // on read: what the address made
};

enum class NudState : uint8_t { kNone, kIncomplete, kReachable, kStale, kDelay, kProbe, kFailed, kNoArp, kPermanent };

// Identity: link and address. Only kPermanent and kNoArp can be configured; the others are learned.
struct Neighbor {
  std::string link;
  IpAddress address;
  std::optional<MacAddress> mac;
  NudState nud = NudState::kPermanent;
  bool router = false;
  uint32_t used_seconds = 0, confirmed_seconds = 0, updated_seconds = 0;  // ages, on read
  uint32_t probes = 0, held_packets = 0;                                  // on read
};

struct RouteLeg {
  IpAddress gateway;  // empty: on-link
  std::string link;   // empty: found by resolving the gateway
  bool onlink = false;
  uint32_t weight = 1;                   // 1 to 256
  bool link_down = false, dead = false;  // on read
};

struct RouteState {
  PacketBytes counted;  // for routes with `counted`
  bool link_down = false;
};

// Identity: table, prefix, source_prefix, tos, metric; entries equal in all of these (append, prepend) are told apart
// by uid.
struct Route {
  std::optional<uint32_t> table;  // default: main; local for local and broadcast types
  IpPrefix prefix;
  std::optional<uint32_t> tos;
  std::optional<uint32_t> metric;  // default 0; IPv6: 1024 (0 means 1024)
  RouteType type = RouteType::kUnicast;
  absl::InlinedVector<RouteLeg, 1> legs;
  std::optional<uint32_t> protocol;  // rtnetlink protocol; default 3 (boot)
  std::optional<uint32_t> scope;     // default by type and gateway
  IpAddress prefsrc;
  std::optional<uint32_t> mtu;
  bool mtu_locked = false;
  bool counted = false;  // keep packet and byte counters for this route
  RouteState state;
};

using AnyObject = std::variant<std::monostate, Link, Address, Neighbor, Route>;

struct Object {
  AnyObject value;
  std::string owner;
  std::map<std::string, std::string> labels;
  Meta meta;
};

enum class Verb : uint8_t { kAdd = 1, kReplace, kChange, kAppend, kPrepend, kDelete, kFlush };

// What a DELETE of several, a FLUSH, or a Read means. `fields` holds the paths that the user set in `match`, in the
// proto's spelling ("link", "prefix", "nexthops.gateway"), since for DELETE and FLUSH only the given fields count.
struct Selector {
  AnyObject match;  // the kind, and the fields to compare; monostate: every kind
  std::vector<std::string> fields;
  std::vector<uint64_t> uids;
  std::string owner;
  std::map<std::string, std::string> labels;
  std::vector<Origin> origins;
  Family family = Family::kNone;  // only objects of this family; links have none and are never excluded by it
};

struct Operation {
  uint64_t id = 0;
  Verb verb = Verb::kAdd;
  std::variant<Object, Selector> target;
  std::vector<std::string>
      fields;  // set fields of the object (DELETE compares only these), or the update mask (CHANGE)
  bool missing_ok = false;
  std::optional<uint64_t> expected_changed;
};

// Reasons are those of sluice.v1.Reason, spelled as there without the prefix ("UNKNOWN_LINK"); one absl code each.
struct Problem {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string reason;
  std::string field;    // path from the operation on: "object.route.nexthops[0].gateway"
  std::string message;  // a sentence that names the object, the field and why
  std::vector<std::string> users;

  bool ok() const { return code == absl::StatusCode::kOk; }
};

struct OperationResult {
  uint32_t index = 0;
  uint64_t id = 0;
  std::optional<Object> stored;  // when numbers were assigned
  std::vector<Object> cascaded;  // what else changed or went, as Linux does
  Problem problem;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_OBJECTS_H_
