// Which records a Selector means: its fields turned into values that packed records can be compared with.
//
// Why: FLUSH, DELETE and Read look at every record of a table; they compare integers, and turn nothing into text. Only
// the fields that were given count.
//
//   Matcher matcher(config, selector);
//   if (matcher.Wants(Matcher::kRoutes) && matcher.Route(config, id, record)) ...
//
// Threads: const methods from any. Cost: about 10 ns a record.
#ifndef SLUICE_SERVER_CONFIG_SELECTOR_H_
#define SLUICE_SERVER_CONFIG_SELECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "server/config/config.h"
#include "server/config/objects.h"

namespace sluice::config {

class Matcher {
 public:
  enum Kind : uint8_t { kLinks = 1, kAddresses = 2, kNeighbors = 4, kRoutes = 8, kAll = 15 };

  // Names of links are looked up in `config`; a name that does not exist matches nothing.
  Matcher(const Config& config, const Selector& selector);
  // What a DELETE by object means: identity, where fields that are not given have their defaults but the metric, and
  // every other field that is given. `fields` as Operation has it.
  static Matcher OfObject(const Config& config, const Object& object, const std::vector<std::string>& fields);

  bool Wants(Kind kind) const { return kinds_ & kind; }
  bool WantsFamily(Family family) const { return family_ == Family::kNone || family_ == family; }
  // For who can seek: the table and prefix that every match has.
  const std::optional<uint32_t>& table() const { return table_; }
  const std::optional<IpPrefix>& prefix() const { return prefix_; }
  // Unset: any link. 0: a link that does not exist.
  const std::optional<LinkIndex>& link() const { return link_; }

  bool Link(const Config& config, LinkIndex index, const LinkRecord& record) const;
  bool Address(const Config& config, const AddressKey& key, const AddressRecord& record) const;
  bool Neighbor(const Config& config, const NeighborId& id, const NeighborRecord& record) const;
  bool Route(const Config& config, const RouteId& id, const RouteRecord& record) const;

 private:
  Matcher() = default;
  bool Common(const Config& config, const RecordMeta& meta, Origin origin) const;
  void Take(const Config& config, const AnyObject& match, const std::vector<std::string>& fields);
  void TakeRoute(const Config& config, const config::Route& route, const std::vector<std::string>& fields);

  uint8_t kinds_ = kAll;
  Family family_ = Family::kNone;
  uint8_t origins_ = 0;  // bits 1 << Origin; 0: all
  absl::flat_hash_set<uint64_t> uids_;
  std::string owner_;
  std::map<std::string, std::string> labels_;

  std::optional<LinkIndex> link_;  // named as `link`, `nexthops.link`, or by a link's own name
  // Links.
  std::optional<bool> up_;
  std::optional<uint32_t> link_mtu_, rx_queues_, tx_queues_;
  std::optional<LinkKind> kind_;
  std::optional<std::string> devargs_;
  // Addresses and neighbours.
  std::optional<IpAddress> address_;
  std::optional<uint8_t> length_;
  std::optional<MacAddress> mac_;  // of links too
  std::optional<NudState> nud_;
  std::optional<bool> no_prefix_route_, router_;
  std::optional<std::string> label_;
  // Routes; scope and metric of addresses too.
  std::optional<uint32_t> table_, metric_, protocol_, scope_, route_mtu_;
  std::optional<uint8_t> tos_;
  std::optional<IpPrefix> prefix_;
  std::optional<RouteType> type_;
  std::optional<IpAddress> gateway_, source_;
  std::optional<bool> onlink_, mtu_locked_, counted_;
  bool no_route_ = false;  // a field that no route of this build can have, such as weight 2
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_SELECTOR_H_
