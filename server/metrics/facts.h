// What there is to tell Prometheus, as plain numbers.
//
// Why: the catalogue of metrics then depends on nothing that runs. The engine fills a Facts at each scrape from the
// cells; tests fill one by hand.
//
// Threads: a value. Cost: a scrape copies a few thousand numbers.
#ifndef SLUICE_SERVER_METRICS_FACTS_H_
#define SLUICE_SERVER_METRICS_FACTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/cells/drop_reason.h"

namespace sluice::metrics {

// One port: a DPDK device.
struct PortFacts {
  std::string name, pci, driver, mac;
  int numa = -1;  // -1: unknown
  bool up = false;
  uint64_t speed_bytes = 0;
  uint64_t rx_packets = 0, rx_bytes = 0, rx_errors = 0, rx_drops = 0;
  uint64_t tx_packets = 0, tx_bytes = 0, tx_errors = 0, tx_drops = 0;
};

// One lane: a worker, or the slow path. The fields are those of LaneTotals.
struct LaneFacts {
  std::string cpu;  // "3"; "slow" for the slow path
  uint64_t received = 0, generated = 0, handed_in = 0;
  uint64_t transmitted = 0, delivered = 0, absorbed = 0, handed_out = 0;
  int64_t held = 0;
  uint64_t hint_hits = 0, hint_misses = 0;
  uint64_t slow_path_events = 0, slow_path_lost = 0;
  double busy_seconds = 0, idle_seconds = 0;
  double heartbeat_age_seconds = 0;
  uint64_t epoch = 0;
  std::array<uint64_t, kDropReasons> drops = {};
};

struct TableFacts {
  std::string table;   // "main", "local", "default" or a number
  std::string family;  // "ipv4", "ipv6"
  uint64_t entries = 0;
  uint64_t memory_bytes = 0;
};

struct PoolFacts {
  std::string pool;
  uint64_t available = 0, capacity = 0;
};

struct NeighborFacts {
  std::string state;  // as `ip neigh`: "REACHABLE" ...
  uint64_t entries = 0;
};

// A nexthop that something uses, for sluice_nexthop_*.
struct NexthopFacts {
  std::string link, gateway;  // gateway "" is on-link
  uint64_t packets = 0, bytes = 0;
};

struct Facts {
  std::string version, dpdk_version, isa, instance_id;
  uint64_t generation = 0, epoch = 0;
  double start_time_seconds = 0;  // since the Unix epoch
  std::vector<PortFacts> ports;
  std::vector<LaneFacts> lanes;
  std::vector<TableFacts> tables;
  std::vector<PoolFacts> pools;
  std::vector<NeighborFacts> neighbors;
  std::vector<NexthopFacts> nexthops;
  uint64_t config_routes = 0, config_addresses = 0, config_links = 0, config_neighbors = 0;
  uint64_t reclaim_objects = 0, reclaim_bytes = 0;
};

}  // namespace sluice::metrics

#endif  // SLUICE_SERVER_METRICS_FACTS_H_
