#include "server/metrics/collector.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/cells/counters.h"
#include "server/engine/runtime.h"
#include "server/engine/stats.h"
#include "server/engine/writer.h"
#include "server/metrics/families.h"

namespace sluice::metrics {
namespace {

using engine::Runtime;

double D(uint64_t value) { return static_cast<double>(value); }

void Build(Families& out) {
  out.Gauge("sluice_build_info", "The version that runs.").Add(1, {{"version", SLUICE_VERSION}});
}

void Ports(Runtime& runtime, Families& out) {
  static constexpr const char* kDirections[] = {"receive", "transmit"};
  static constexpr const char* kSaid[] = {"received by", "sent by"};
  Family* families[2][4];
  for (int d = 0; d < 2; ++d) {
    const auto name = [d](const char* what) {
      return absl::StrCat("sluice_port_", kDirections[d], "_", what, "_total");
    };
    families[d][0] = &out.Counter(name("packets"), absl::StrCat("Frames ", kSaid[d], " the device."));
    families[d][1] = &out.Counter(name("bytes"), absl::StrCat("Bytes ", kSaid[d], " the device."));
    families[d][2] = &out.Counter(
        name("errors"), d == 0 ? "Frames that the device found wrong." : "Frames that the device could not send.");
    families[d][3] =
        &out.Counter(name("drops"), d == 0 ? "Frames that the device dropped for want of a buffer or queue entry."
                                           : "Frames that the device was given and dropped.");
  }
  for (const engine::PortCounters& port : runtime.port_counters()) {
    const Labels labels = {{"port", port.name}};
    families[0][0]->Add(D(port.rx_packets), labels);
    families[0][1]->Add(D(port.rx_bytes), labels);
    families[0][2]->Add(D(port.rx_errors), labels);
    families[0][3]->Add(D(port.rx_drops), labels);
    families[1][0]->Add(D(port.tx_packets), labels);
    families[1][1]->Add(D(port.tx_bytes), labels);
    families[1][2]->Add(D(port.tx_errors), labels);
    families[1][3]->Add(D(port.tx_drops), labels);
  }
  Family& up = out.Gauge("sluice_port_up", "Whether the port is up: administratively, and with carrier.");
  Family& info = out.Gauge("sluice_port_info", "What the port is.");
  for (const engine::PortInfo& port : runtime.port_infos()) {
    up.Add(port.up, {{"port", port.name}});
    info.Add(1, {{"port", port.name},
                 {"pci", port.pci_address},
                 {"driver", port.driver},
                 {"numa", port.numa < 0 ? "" : absl::StrCat(port.numa)},
                 {"mac", port.mac}});
  }
}

void Links(engine::Engine& engine, Families& out, uint64_t* left_out) {
  const config::Config config = engine.writer().live().config;
  const Counters& counters = engine.runtime().counters();
  Family* families[2][2] = {
      {&out.Counter("sluice_link_receive_packets_total", "Good frames that arrived on the link."),
       &out.Counter("sluice_link_receive_bytes_total", "Bytes of good frames that arrived on the link.")},
      {&out.Counter("sluice_link_transmit_packets_total", "Frames sent by the link."),
       &out.Counter("sluice_link_transmit_bytes_total", "Bytes of frames sent by the link.")}};
  size_t count = 0;
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    if (++count > Collector::kMaxSeries) {
      ++*left_out;
      continue;
    }
    const Labels labels = {{"link", std::string(it.value().name.view())}};
    const PacketBytes rx = counters.Read(engine.writer().rx_cell(it.key()));
    const PacketBytes tx = counters.Read(engine.writer().tx_cell(it.key()));
    families[0][0]->Add(D(rx.packets), labels);
    families[0][1]->Add(D(rx.bytes), labels);
    families[1][0]->Add(D(tx.packets), labels);
    families[1][1]->Add(D(tx.bytes), labels);
  }
}

void Lanes(Runtime& runtime, Families& out) {
  const Counters& counters = runtime.counters();
  const std::vector<std::string>& names = runtime.lane_names();
  const double hz = runtime.tsc_hz();
  const auto each = [&](Family& family, auto value) {
    for (size_t i = 0; i < counters.lanes(); ++i) family.Add(value(counters.lane(i)), {{"cpu", names[i]}});
  };
  const struct {
    const char* name;
    const char* help;
    OwnedCounter LaneTotals::*counter;
  } totals[] = {
      {"receive", "Packets received from devices.", &LaneTotals::received},
      {"generated", "Packets made here: ICMP, ARP, ND, fragments beyond the first.", &LaneTotals::generated},
      {"transmit", "Packets given to devices.", &LaneTotals::transmitted},
      {"delivered", "Packets for an own address.", &LaneTotals::delivered},
      {"absorbed", "ARP and ND packets consumed.", &LaneTotals::absorbed},
      {"handed_in", "Packets taken over from another thread.", &LaneTotals::handed_in},
      {"handed_over", "Packets handed over to another thread.", &LaneTotals::handed_out},
  };
  for (const auto& total : totals) {
    each(out.Counter(absl::StrCat("sluice_worker_", total.name, "_packets_total"), total.help),
         [&](const Counters::Lane& lane) { return D((lane.totals.*total.counter).Get()); });
  }
  each(out.Gauge("sluice_worker_held_packets", "Packets that wait for a neighbour."),
       [](const Counters::Lane& lane) { return D(lane.totals.held.Get()) - D(lane.totals.held_out.Get()); });
  each(out.Counter("sluice_worker_busy_seconds_total", "Time in rounds that carried packets."),
       [&](const Counters::Lane& lane) { return D(lane.totals.busy_cycles.Get()) / hz; });
  each(out.Counter("sluice_worker_idle_seconds_total", "Time in empty rounds and asleep."),
       [&](const Counters::Lane& lane) { return D(lane.totals.idle_cycles.Get()) / hz; });
  each(out.Counter("sluice_worker_slow_path_lost_total", "Notes to the slow path that found no room."),
       [](const Counters::Lane& lane) { return D(lane.totals.slow_path_lost.Get()); });
  each(out.Counter("sluice_route_hint_hits_total", "Packets that took the route of the packet before."),
       [](const Counters::Lane& lane) { return D(lane.totals.hint_hits.Get()); });
  each(out.Counter("sluice_route_hint_misses_total", "Packets that were looked up."),
       [](const Counters::Lane& lane) { return D(lane.totals.hint_misses.Get()); });
  Family& drops =
      out.Counter("sluice_drops_total", "Packets that died, by reason and by the thread that dropped them.");
  for (size_t r = 0; r < kDropReasons; ++r) {
    const auto reason = static_cast<DropReason>(r);
    for (size_t i = 0; i < counters.lanes(); ++i) {
      drops.Add(D(counters.lane(i).drops(reason)),
                {{"reason", std::string(DropReasonName(reason))}, {"cpu", names[i]}});
    }
  }
}

void Tables(Runtime& runtime, Families& out, uint64_t* left_out) {
  Family& entries = out.Gauge("sluice_fib_entries", "Prefixes in the forwarding table.");
  Family& bytes = out.Gauge("sluice_fib_memory_bytes", "Memory of the forwarding table.");
  size_t count = 0;
  const auto add = [&](uint32_t table, const char* family, const auto& trie) {
    if (++count > Collector::kMaxSeries) {
      ++*left_out;
      return;
    }
    const Labels labels = {{"table", absl::StrCat(table)}, {"family", family}};
    entries.Add(D(trie.size()), labels);
    bytes.Add(D(trie.memory_bytes()), labels);
  };
  bool main4 = false, main6 = false;
  {
    const Runtime::SnapshotPin pin(runtime);
    const Snapshot& s = pin.snapshot();
    s.tables4.ForEach(s.base, [&](uint32_t table, const Trie4& trie) {
      main4 |= table == kTableMain;
      add(table, "ipv4", trie);
    });
    s.tables6.ForEach(s.base, [&](uint32_t table, const Trie6& trie) {
      main6 |= table == kTableMain;
      add(table, "ipv6", trie);
    });
  }
  // A table that has no route yet has no trie; the main ones are shown all the same.
  if (!main4) add(kTableMain, "ipv4", Trie4());
  if (!main6) add(kTableMain, "ipv6", Trie6());
  out.Gauge("sluice_arena_used_bytes", "Memory of all published tables together.").Add(D(runtime.arena().used_bytes()));
  out.Gauge("sluice_arena_resident_bytes", "Memory taken from the system for them.")
      .Add(D(runtime.arena().resident_bytes()));
}

void Pools(Runtime& runtime, Families& out) {
  Family& available = out.Gauge("sluice_mempool_available_buffers", "Packet buffers that are free.");
  Family& capacity = out.Gauge("sluice_mempool_capacity_buffers", "Packet buffers there are.");
  for (const engine::PoolLevel& pool : runtime.pool_levels()) {
    available.Add(D(pool.available), {{"pool", pool.name}});
    capacity.Add(D(pool.capacity), {{"pool", pool.name}});
  }
}

void ConfigState(engine::Engine& engine, Families& out) {
  const engine::EngineStats& stats = engine.stats();
  Runtime& runtime = engine.runtime();
  out.Gauge("sluice_config_generation", "Moves with every commit.").Add(D(engine.writer().generation()));
  out.Gauge("sluice_config_epoch", "Moves with every publication.").Add(D(engine.writer().epoch()));
  Family& results = out.Counter("sluice_config_apply_total", "Batches, by what became of them.");
  for (size_t i = 0; i < stats.results.size(); ++i) {
    results.Add(D(stats.results[i].load(std::memory_order_relaxed)), {{"result", engine::kApplyResultNames[i]}});
  }
  out.Counter("sluice_config_operations_total", "Operations of batches that were committed.")
      .Add(D(stats.operations.load(std::memory_order_relaxed)));
  out.Counter("sluice_config_visible_timeouts_total", "Commits that some worker did not load in time.")
      .Add(D(stats.visible_timeouts.load(std::memory_order_relaxed)));
  Family& seconds = out.Histogram("sluice_config_apply_seconds", "Time of each stage of a commit.");
  for (size_t s = 0; s < stats.stages.size(); ++s) {
    prometheus::ClientMetric::Histogram histogram;
    uint64_t sum = 0;
    for (size_t b = 0; b < engine::Histogram::kBounds.size(); ++b) {
      sum += stats.stages[s].bucket(b);
      histogram.bucket.push_back({sum, engine::Histogram::kBounds[b]});
    }
    histogram.sample_count = sum + stats.stages[s].bucket(engine::Histogram::kBounds.size());
    histogram.sample_sum = stats.stages[s].sum();
    seconds.Add(std::move(histogram), {{"stage", engine::kStageNames[s]}});
  }
  out.Gauge("sluice_rcu_pending_reclaim_objects", "Retired parts that wait for workers.")
      .Add(D(runtime.publisher().pending_objects()));
  out.Gauge("sluice_rcu_pending_reclaim_bytes", "Their memory.").Add(D(runtime.publisher().pending_bytes()));
  out.Gauge("sluice_ready", "Whether the server is ready.").Add(engine.ready());
}

void Workers(Runtime& runtime, Families& out) {
  Family& age = out.Gauge("sluice_worker_heartbeat_age_seconds", "Time since the worker's last sign of life.");
  Family& epoch = out.Gauge("sluice_worker_epoch", "The newest epoch that the worker has loaded.");
  for (const engine::WorkerInfo& worker : runtime.worker_infos()) {
    const Labels labels = {{"cpu", absl::StrCat(worker.cpu)}};
    age.Add(absl::ToDoubleSeconds(worker.heartbeat_age), labels);
    epoch.Add(D(worker.epoch), labels);
  }
}

void Neighbors(Runtime& runtime, Families& out) {
  const engine::NeighborCounters n = runtime.neighbor_counters();
  Family& entries = out.Gauge("sluice_neighbor_entries", "Neighbours, by state.");
  for (const auto& [state, count] : n.by_state) entries.Add(D(count), {{"state", state}});
  out.Gauge("sluice_neighbor_adjacencies", "Adjacency cells in use.").Add(D(runtime.adjacencies().size()));
  out.Gauge("sluice_neighbor_adjacencies_capacity", "Adjacency cells there are.")
      .Add(D(runtime.adjacencies().capacity()));
  out.Counter("sluice_neighbor_queries_total", "ARP requests and neighbour solicitations sent.").Add(D(n.queries));
  out.Counter("sluice_neighbor_answers_total", "Answers to those of others.").Add(D(n.answers));
  out.Counter("sluice_neighbor_failures_total", "Neighbours that did not answer.").Add(D(n.failures));
  out.Counter("sluice_neighbor_evictions_total", "Entries pushed out by others.").Add(D(n.evictions));
  out.Counter("sluice_neighbor_table_full_total", "Entries that found no room.").Add(D(n.table_full));
  out.Counter("sluice_icmp_errors_sent_total", "ICMP errors sent.").Add(D(n.icmp_sent));
  out.Counter("sluice_icmp_errors_limited_total", "ICMP errors withheld by the rate limit.").Add(D(n.icmp_limited));
  Family& rejected = out.Counter("sluice_local_rejected_packets_total",
                                 "Packets that were delivered or absorbed and were no good, by reason.");
  for (const auto& [reason, count] : n.rejected) {
    rejected.Add(D(count), {{"reason", std::string(DropReasonName(reason))}});
  }
}

}  // namespace

std::vector<prometheus::MetricFamily> Collector::Collect() const {
  Families out;
  Runtime& runtime = engine_.runtime();
  uint64_t tables_left_out = 0, links_left_out = 0;
  Build(out);
  Ports(runtime, out);
  Links(engine_, out, &links_left_out);
  Lanes(runtime, out);
  Workers(runtime, out);
  Tables(runtime, out, &tables_left_out);
  Pools(runtime, out);
  Neighbors(runtime, out);
  ConfigState(engine_, out);
  Family& left_out = out.Counter("sluice_metrics_series_dropped_total", "Series left out of scrapes, by family.");
  left_out.Add(D(links_left_out_ += links_left_out), {{"family", "sluice_link"}});
  left_out.Add(D(tables_left_out_ += tables_left_out), {{"family", "sluice_fib"}});
  return std::move(out).Take();
}

}  // namespace sluice::metrics
