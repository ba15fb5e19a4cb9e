// The desired state: everything that users have asked for, and what follows from it, as one value.
//
// Why: validation works on a copy and leaves no trace; readers, history and export walk a copy that nobody changes
// under them. A copy is a dozen pointers. The data plane's snapshot is compiled from it (compile.h) and holds nothing
// that is not here.
//
//   Config config;                                       // empty, generation 0
//   Candidate candidate(config, options);                // apply.h: a copy, and the verbs that change it
//   const Config pinned = config;                        // O(1); good for as long as it is held
//
// Threads: a value: one thread may change an object, any number may hold, read and drop copies of it at once. Cost: a
// copy is O(1); an IPv4 route takes about 65 bytes, an IPv6 route about 80.
#ifndef SLUICE_SERVER_CONFIG_CONFIG_H_
#define SLUICE_SERVER_CONFIG_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/config/persistent_map.h"
#include "server/config/records.h"

namespace sluice::config {

// Walks the routes of one family in the order of their keys. Good while its Config is neither changed nor destroyed.
class RouteCursor {
 public:
  bool Valid() const { return v4_ ? it4_.Valid() : it6_.Valid(); }
  RouteId id() const { return v4_ ? it4_.key().ToId() : it6_.key().ToId(); }
  const RouteRecord& record() const { return v4_ ? it4_.value() : it6_.value(); }
  void Next() { v4_ ? it4_.Next() : it6_.Next(); }

 private:
  friend struct Config;
  bool v4_ = true;
  PersistentMap<RouteKey4, RouteRecord>::Iterator it4_;
  PersistentMap<RouteKey6, RouteRecord>::Iterator it6_;
};

struct Config {
  uint64_t generation = 0;  // moves only when a batch changes something
  uint64_t next_uid = 1;    // uids are never used again

  PersistentMap<LinkIndex, LinkRecord> links;
  PersistentMap<ShortName, LinkIndex> link_names;
  PersistentMap<AddressKey, AddressRecord> addresses;
  PersistentMap<NeighborId, NeighborRecord> neighbors;
  PersistentMap<RouteKey4, RouteRecord> routes4;
  PersistentMap<RouteKey6, RouteRecord> routes6;

  // Interned parts, and what makes lookups in the config fast.
  PersistentMap<NexthopIndex, NexthopRecord> nexthops;
  PersistentMap<NexthopSpec, NexthopIndex> nexthop_of;
  PersistentMap<uint32_t, AttributesRecord> attributes;
  PersistentMap<Attributes, uint32_t> attributes_of;
  PersistentMap<uint64_t, uint32_t> lengths;  // routes by (family, table, prefix length): LengthKey

  // Where the search for a free number starts.
  LinkIndex link_cursor = 1;
  NexthopIndex nexthop_cursor = kFirstFreeNexthop;
  uint32_t attributes_cursor = 1;

  // --- Reading. All log n.
  // 0: no such link.
  LinkIndex FindLink(absl::string_view name) const;
  // "?" for a link that does not exist.
  std::string LinkName(LinkIndex link) const;
  const RouteRecord* FindRoute(const RouteId& id) const;
  // The first route not before `id` in its family.
  RouteCursor SeekRoutes(const RouteId& id) const;
  RouteCursor FirstRoute(Family family) const;
  // The spec of a route's nexthop; the fixed ones have only a type.
  NexthopSpec Spec(NexthopIndex nexthop) const;
  size_t routes() const { return routes4.size() + routes6.size(); }

  // Longest prefix in one table that holds `address` and of which `accept(id, record)` is true for some route, tried in
  // the order of preference. For tests, for resolving gateways, and for "is this address mine?".
  struct Found {
    RouteId id;
    RouteRecord record;
  };
  template <class Accept>
  std::optional<Found> LookupIn(uint32_t table, const IpAddress& address, Accept accept) const;
  // The walk of tables local, main, default (Linux's default rules), as packets without TOS see it: `throw`
  // leaves a table.
  std::optional<Found> Lookup(const IpAddress& address) const;
  // Whether table local delivers `address` to Sluice itself.
  bool IsLocal(const IpAddress& address) const;

  // --- Writing, for Candidate. Keeps `lengths` right; reference counts of nexthops are the caller's.
  bool InsertRoute(const RouteId& id, const RouteRecord& record);
  RouteRecord* FindRouteMutable(const RouteId& id);
  bool EraseRoute(const RouteId& id);
};

// Key of Config::lengths. Longer prefixes sort first.
constexpr uint64_t LengthKey(Family family, uint32_t table, int length) {
  return static_cast<uint64_t>(family) << 40 | uint64_t{table} << 8 | static_cast<uint64_t>(128 - length);
}

template <class Accept>
std::optional<Config::Found> Config::LookupIn(uint32_t table, const IpAddress& address, Accept accept) const {
  const uint64_t end = LengthKey(address.family, table, 0);
  for (auto it = lengths.LowerBound(LengthKey(address.family, table, MaxPrefixLength(address.family)));
       it.Valid() && it.key() <= end; it.Next()) {
    const int length = 128 - static_cast<int>(it.key() & 0xff);
    const IpPrefix prefix = IpPrefix::Of(address, length);
    for (RouteCursor route = SeekRoutes({.table = table, .prefix = prefix, .tos = 255, .order = 0, .metric = 0});
         route.Valid(); route.Next()) {
      const RouteId id = route.id();
      if (id.table != table || id.prefix != prefix) break;
      if (accept(id, route.record())) return Found{id, route.record()};
    }
  }
  return std::nullopt;
}

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_CONFIG_H_
