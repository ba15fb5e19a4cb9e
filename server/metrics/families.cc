#include "server/metrics/families.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

// A family being written, one series at a time.
class Family {
 public:
  Family(std::vector<MetricFamily>* out, std::string name, std::string help, MetricType type) : out_(out) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }
  ~Family() { out_->push_back(std::move(family_)); }
  Family(const Family&) = delete;

  Family& Add(const Labels& labels, double value) {
    ClientMetric metric;
    for (const auto& [name, text] : labels) metric.label.push_back({name, text});
    if (family_.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
    return *this;
  }

 private:
  std::vector<MetricFamily>* out_;
  MetricFamily family_;
};

class Catalogue {
 public:
  Family Counter(std::string name, std::string help) {
    return Family(&families_, absl::StrCat("sluice_", name), std::move(help), MetricType::Counter);
  }
  Family Gauge(std::string name, std::string help) {
    return Family(&families_, absl::StrCat("sluice_", name), std::move(help), MetricType::Gauge);
  }

  // A family with one series for each element of `things`.
  template <typename Thing, typename Value>
  void Each(bool counter, const char* name, const char* help, const std::vector<Thing>& things,
            Labels (*labels)(const Thing&), Value Thing::*value) {
    Family family = counter ? Counter(name, help) : Gauge(name, help);
    for (const Thing& thing : things) family.Add(labels(thing), static_cast<double>(thing.*value));
  }

  std::vector<MetricFamily> families_;
};

Labels PortLabels(const PortFacts& p) { return {{"port", p.name}}; }
Labels LaneLabels(const LaneFacts& l) { return {{"cpu", l.cpu}}; }
Labels TableLabels(const TableFacts& t) { return {{"table", t.table}, {"family", t.family}}; }
Labels PoolLabels(const PoolFacts& p) { return {{"pool", p.pool}}; }
Labels NeighborLabels(const NeighborFacts& n) { return {{"state", n.state}}; }
Labels NexthopLabels(const NexthopFacts& n) { return {{"link", n.link}, {"gateway", n.gateway}}; }

void AddPorts(Catalogue& c, const std::vector<PortFacts>& ports) {
  constexpr bool kCounter = true;
  c.Each(kCounter, "port_receive_packets_total", "Frames received by the device", ports, PortLabels,
         &PortFacts::rx_packets);
  c.Each(kCounter, "port_receive_bytes_total", "Bytes received by the device", ports, PortLabels, &PortFacts::rx_bytes);
  c.Each(kCounter, "port_receive_errors_total", "Frames that the device received with errors", ports, PortLabels,
         &PortFacts::rx_errors);
  c.Each(kCounter, "port_receive_drops_total", "Frames that the device dropped since no buffer or descriptor was free",
         ports, PortLabels, &PortFacts::rx_drops);
  c.Each(kCounter, "port_transmit_packets_total", "Frames sent by the device", ports, PortLabels,
         &PortFacts::tx_packets);
  c.Each(kCounter, "port_transmit_bytes_total", "Bytes sent by the device", ports, PortLabels, &PortFacts::tx_bytes);
  c.Each(kCounter, "port_transmit_errors_total", "Frames that the device failed to send", ports, PortLabels,
         &PortFacts::tx_errors);
  c.Each(kCounter, "port_transmit_drops_total", "Frames that found the transmit queue full", ports, PortLabels,
         &PortFacts::tx_drops);
  c.Each(!kCounter, "port_up", "1 if the port is administratively up and has carrier", ports, PortLabels,
         &PortFacts::up);
  c.Each(!kCounter, "port_speed_bytes", "Speed that the device reports, in bytes a second; 0 if it does not say", ports,
         PortLabels, &PortFacts::speed_bytes);
  Family info = c.Gauge("port_info", "What the port is; always 1");
  for (const PortFacts& p : ports) {
    info.Add({{"port", p.name}, {"pci", p.pci}, {"driver", p.driver}, {"numa", absl::StrCat(p.numa)}, {"mac", p.mac}},
             1);
  }
}

void AddLanes(Catalogue& c, const std::vector<LaneFacts>& lanes) {
  constexpr bool kCounter = true;
  const auto each = [&](bool counter, const char* name, const char* help, auto value) {
    c.Each(counter, name, help, lanes, LaneLabels, value);
  };
  each(kCounter, "worker_receive_packets_total", "Packets taken from devices", &LaneFacts::received);
  each(kCounter, "worker_generated_packets_total", "Packets made here: ICMP, ARP, ND, further fragments",
       &LaneFacts::generated);
  each(kCounter, "worker_handed_in_packets_total", "Packets taken over from another lane", &LaneFacts::handed_in);
  each(kCounter, "worker_transmit_packets_total", "Packets given to devices", &LaneFacts::transmitted);
  each(kCounter, "worker_delivered_packets_total", "Packets for an address of our own", &LaneFacts::delivered);
  each(kCounter, "worker_absorbed_packets_total", "ARP and neighbour discovery packets consumed", &LaneFacts::absorbed);
  each(kCounter, "worker_handed_over_packets_total", "Packets handed to another lane", &LaneFacts::handed_out);
  each(!kCounter, "worker_held_packets", "Packets waiting for a neighbour", &LaneFacts::held);
  each(kCounter, "worker_busy_seconds_total", "Time in bursts that carried packets", &LaneFacts::busy_seconds);
  each(kCounter, "worker_idle_seconds_total", "Time in empty polls and asleep", &LaneFacts::idle_seconds);
  each(!kCounter, "worker_heartbeat_age_seconds", "Time since the lane last came round",
       &LaneFacts::heartbeat_age_seconds);
  each(!kCounter, "worker_epoch", "Epoch of the snapshot that the lane last loaded", &LaneFacts::epoch);
  each(kCounter, "worker_slow_path_events_total", "Notifications to the slow path", &LaneFacts::slow_path_events);
  each(kCounter, "worker_slow_path_lost_total", "Notifications to the slow path that found its ring full",
       &LaneFacts::slow_path_lost);
  each(kCounter, "route_hint_hits_total", "Packets that took the route of the packet before them in the burst",
       &LaneFacts::hint_hits);
  each(kCounter, "route_hint_misses_total", "Packets whose route was looked up", &LaneFacts::hint_misses);
  Family drops = c.Counter("drops_total", "Packets dropped, by reason");
  for (const LaneFacts& lane : lanes) {
    for (size_t r = 0; r < kDropReasons; ++r) {
      drops.Add({{"reason", std::string(kDropReasonNames[r])}, {"cpu", lane.cpu}}, static_cast<double>(lane.drops[r]));
    }
  }
}

void AddTables(Catalogue& c, const Facts& f) {
  constexpr bool kCounter = true;
  c.Each(!kCounter, "fib_entries", "Prefixes in the table that workers use", f.tables, TableLabels,
         &TableFacts::entries);
  c.Each(!kCounter, "fib_memory_bytes", "Memory of the table that workers use", f.tables, TableLabels,
         &TableFacts::memory_bytes);
  c.Each(!kCounter, "mempool_available_buffers", "Packet buffers that are free", f.pools, PoolLabels,
         &PoolFacts::available);
  c.Each(!kCounter, "mempool_capacity_buffers", "Packet buffers there are", f.pools, PoolLabels, &PoolFacts::capacity);
  c.Each(!kCounter, "neighbors", "Neighbours by state", f.neighbors, NeighborLabels, &NeighborFacts::entries);
  c.Each(kCounter, "nexthop_packets_total", "Packets sent by way of the nexthop", f.nexthops, NexthopLabels,
         &NexthopFacts::packets);
  c.Each(kCounter, "nexthop_bytes_total", "Bytes (from the IP header on) sent by way of the nexthop", f.nexthops,
         NexthopLabels, &NexthopFacts::bytes);
}

void AddConfig(Catalogue& c, const Facts& f) {
  c.Gauge("config_generation", "Number of the last commit that changed desired state").Add({}, f.generation);
  c.Gauge("config_epoch", "Number of the last publication to the workers").Add({}, f.epoch);
  c.Gauge("config_objects", "Objects of desired state, derived ones included")
      .Add({{"kind", "link"}}, f.config_links)
      .Add({{"kind", "address"}}, f.config_addresses)
      .Add({{"kind", "neighbor"}}, f.config_neighbors)
      .Add({{"kind", "route"}}, f.config_routes);
  c.Gauge("rcu_pending_reclaim_objects", "Replaced parts that a reader may still hold").Add({}, f.reclaim_objects);
  c.Gauge("rcu_pending_reclaim_bytes", "Bytes of replaced parts that a reader may still hold").Add({}, f.reclaim_bytes);
  c.Gauge("build_info", "What is running; always 1")
      .Add({{"version", f.version}, {"dpdk", f.dpdk_version}, {"isa", f.isa}, {"instance_id", f.instance_id}}, 1);
}

// The process_* families that Prometheus client libraries agree on.
void AddProcess(std::vector<MetricFamily>* out, double start_time_seconds) {
  const double tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  double cpu = 0, resident = 0, vsize = 0;
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  const size_t after_name = text.rfind(')');
  if (after_name != std::string::npos) {
    unsigned long utime = 0, stime = 0, bytes = 0;
    long pages = 0;
    if (std::sscanf(text.c_str() + after_name + 1,
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %lu %ld", &utime,
                    &stime, &bytes, &pages) == 4) {
      cpu = static_cast<double>(utime + stime) / tick;
      vsize = static_cast<double>(bytes);
      resident = static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
    }
  }
  Family(out, "process_cpu_seconds_total", "CPU time used, user and system", MetricType::Counter).Add({}, cpu);
  Family(out, "process_resident_memory_bytes", "Resident memory", MetricType::Gauge).Add({}, resident);
  Family(out, "process_virtual_memory_bytes", "Address space, reservations included", MetricType::Gauge).Add({}, vsize);
  Family(out, "process_start_time_seconds", "When the process started, since the Unix epoch", MetricType::Gauge)
      .Add({}, start_time_seconds);
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Facts& facts) {
  Catalogue catalogue;
  AddConfig(catalogue, facts);
  AddPorts(catalogue, facts.ports);
  AddLanes(catalogue, facts.lanes);
  AddTables(catalogue, facts);
  AddProcess(&catalogue.families_, facts.start_time_seconds);
  return std::move(catalogue.families_);
}

}  // namespace sluice::metrics
