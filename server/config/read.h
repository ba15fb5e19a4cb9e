// Reading a Config back as objects, in the order in which Linux lists them, a piece at a time.
//
// Why: a dump of a million routes must neither be built in memory nor block the writer. A Reader holds its own copy of
// the Config (O(1)) and makes objects as they are asked for; it may stop anywhere and go on later.
//
//   Reader reader(config, selectors);
//   while (!reader.done()) { std::vector<Object> piece; reader.Next(1000, &piece); send(piece); }
//
// Order: links by index; addresses by link, in each as `ip address` lists them; neighbours by link and address; IPv4
// routes by table and as `ip route` lists a table; IPv6 routes likewise. Counters and what only devices know
// (LinkState but index, mac, mtu; RouteState; learned neighbours) are left to the caller.
//
// Threads: one thread per Reader. Cost: about 0.5 us an object; skipping one that does not match 20 ns; a selector with
// table and prefix looks only there.
#ifndef SLUICE_SERVER_CONFIG_READ_H_
#define SLUICE_SERVER_CONFIG_READ_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/config/config.h"
#include "server/config/objects.h"
#include "server/config/selector.h"

namespace sluice::config {

// One stored object as the API shows it.
Object DescribeLink(const Config& config, LinkIndex index, const LinkRecord& record);
Object DescribeAddress(const Config& config, const AddressKey& key, const AddressRecord& record);
Object DescribeNeighbor(const Config& config, const NeighborId& id, const NeighborRecord& record);
Object DescribeRoute(const Config& config, const RouteId& id, const RouteRecord& record);

struct ListedAddress;

class Reader {
 public:
  // Objects that any of `selectors` chooses; none given: all.
  Reader(const Config& config, std::vector<Selector> selectors);

  // Appends up to `limit` objects. Nothing appended only when done() holds afterwards. Looks at no more than `limit` *
  // 1000 records, so that a call is short even when nothing matches; then it may append none with done() still false.
  void Next(size_t limit, std::vector<Object>* out);
  bool done() const { return phase_ == Phase::kDone; }
  const Config& config() const { return config_; }
  // For who looks up counters: the nexthops of the routes that the last Next appended, in the same order.
  const std::vector<NexthopIndex>& nexthops() const { return nexthops_; }

 private:
  enum class Phase : uint8_t { kLinks, kAddresses, kNeighbors, kRoutes4, kRoutes6, kDone };
  void StartRoutes(Family family);
  bool Wanted(Family family) const;
  template <class Match>
  bool Any(Match match) const;

  Config config_;
  std::vector<Matcher> matchers_;
  Phase phase_ = Phase::kLinks;
  PersistentMap<LinkIndex, LinkRecord>::Iterator link_;
  std::shared_ptr<const std::vector<ListedAddress>> address_list_;  // of the current link
  size_t address_at_ = 0;
  PersistentMap<NeighborId, NeighborRecord>::Iterator neighbor_;
  RouteCursor route_;
  std::vector<NexthopIndex> nexthops_;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_READ_H_
