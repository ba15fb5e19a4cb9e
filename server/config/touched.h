// What a batch touched: the keys that must be compiled again.
//
// Why: a commit into a full table costs what it changes. Keys may be listed more than once and need not have changed in
// effect; compiling a key twice is harmless.
//
// Threads: a value.
#ifndef SLUICE_SERVER_CONFIG_TOUCHED_H_
#define SLUICE_SERVER_CONFIG_TOUCHED_H_

#include <vector>

#include "server/config/records.h"

namespace sluice::config {

struct Touched {
  struct Prefix {
    uint32_t table = 0;
    IpPrefix prefix;
    friend bool operator==(const Prefix&, const Prefix&) = default;
  };

  std::vector<LinkIndex> links;           // the link entry itself
  std::vector<LinkIndex> link_addresses;  // the addresses of the link
  std::vector<NexthopIndex> nexthops;
  std::vector<Prefix> routes;
  std::vector<NeighborId> neighbors;

  bool empty() const {
    return links.empty() && link_addresses.empty() && nexthops.empty() && routes.empty() && neighbors.empty();
  }
  // Adds what a later batch touched, so that both are compiled as one publication.
  void Append(const Touched& later) {
    links.insert(links.end(), later.links.begin(), later.links.end());
    link_addresses.insert(link_addresses.end(), later.link_addresses.begin(), later.link_addresses.end());
    nexthops.insert(nexthops.end(), later.nexthops.begin(), later.nexthops.end());
    routes.insert(routes.end(), later.routes.begin(), later.routes.end());
    neighbors.insert(neighbors.end(), later.neighbors.begin(), later.neighbors.end());
  }
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_TOUCHED_H_
