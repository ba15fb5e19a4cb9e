// The pipeline between a generator in this process and a device that takes everything: what a packet costs, by stage.
//
// One burst of 32 is made as net_pcap makes it (buffers from the pool, 60 bytes copied into each), goes through the
// pipeline and out by net_null. 4,096 packets to 2,048 random destinations over 8 routes, everything on. `Io` is the
// same without the pipeline. Counters are TSC cycles a packet; the ledger's include what reading the TSC five times a
// burst costs (some 4 in all).
#include <benchmark/benchmark.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>

#include <memory>
#include <random>

#include "dataplane/worker/pipeline_fixture.h"

namespace sluice {
namespace {

constexpr uint32_t kPackets = 4096;
constexpr uint32_t kDestinations = 2048;
constexpr uint32_t kRoutes = 8;
constexpr uint32_t kBurstSize = 32;
constexpr LinkIndex kSink = 9;

void Must(bool ok) {
  if (!ok) std::abort();
}

// A device whose transmit frees what it gets.
uint16_t SinkPort(rte_mempool* pool) {
  static const uint16_t port = [pool] {
    uint16_t id = 0;
    Must(rte_vdev_init("net_null_sink", "") == 0);
    Must(rte_eth_dev_get_port_by_name("net_null_sink", &id) == 0);
    rte_eth_conf conf = {};
    Must(rte_eth_dev_configure(id, 1, 1, &conf) == 0);
    Must(rte_eth_rx_queue_setup(id, 0, 256, SOCKET_ID_ANY, nullptr, pool) == 0);
    Must(rte_eth_tx_queue_setup(id, 0, 256, SOCKET_ID_ANY, nullptr) == 0);
    Must(rte_eth_dev_start(id) == 0);
    return id;
  }();
  return port;
}

rte_mempool* CachedPool() {
  static rte_mempool* pool = rte_pktmbuf_pool_create("bench", 8191, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  Must(pool != nullptr);
  return pool;
}

class Bench {
 public:
  explicit Bench(bool v4) {
    StartTestEal(6144);  // as the other benchmarks of this process
    pool_ = CachedPool();
    sink_ = SinkPort(pool_);
    f_ = std::make_unique<PipelineFixture>();
    f_->plan.pool = pool_;
    f_->plan.tx[sink_] = {0, 0};
    f_->Change([&](SnapshotBuilder& b) {
      LinkEntry sink = f_->snapshot().link(2);
      sink.index = kSink;
      sink.port = sink_;
      Must(b.SetLink(sink).ok());
      for (uint32_t r = 0; r < kRoutes; ++r) {
        const IpAddress gateway = Ipv4Address::FromHost(0x0a000900u + 2 + r);
        const AdjacencyIndex adjacency = *f_->adjacencies.Acquire({kSink, gateway});
        f_->adjacencies.Write(adjacency, PipelineFixture::HostMac(2), true, false);
        Must(b.SetNexthop(100 + r, {.type = RouteType::kUnicast,
                                    .link = kSink,
                                    .adjacency = adjacency,
                                    .cell = *f_->counters.AllocateCell(),
                                    .gateway = gateway})
                 .ok());
        Must(b.SetRoute(kTableMain, IpPrefix::Of(Ipv4Address::FromHost(0x14000000u + (r << 16)), 16), 100 + r).ok());
        Must(b.SetRoute(kTableMain,
                        IpPrefix::Of(Ipv6Address::FromHost(0x20010db800140000ull + (uint64_t{r} << 4), 0), 60), 100 + r)
                 .ok());
      }
    });
    context_ = std::make_unique<LedgerContext>(WorkerContext::Options{.worker = 0,
                                                                      .adjacencies = &f_->adjacencies,
                                                                      .lane = &f_->counters.lane(0),
                                                                      .to_slow_path = &f_->ring,
                                                                      .outboxes = {nullptr}});
    context_->UsePlan(&f_->plan);
    std::mt19937 random(3);
    std::vector<std::string> destinations;
    for (uint32_t i = 0; i < kDestinations; ++i) {
      const uint32_t low = random() % (kRoutes << 16);
      destinations.push_back(
          v4 ? Ipv4Address::FromHost(0x14000000u + low).ToString()
             : Ipv6Address::FromHost(0x20010db800140000ull + ((low >> 16) << 4), (uint64_t{random()} << 32) | low)
                   .ToString());
    }
    for (uint32_t i = 0; i < kPackets; ++i) {
      frames_.push_back(PipelineFixture::Udp(v4 ? "10.0.1.2" : "2001:db8:1::2",
                                             destinations[random() % kDestinations].c_str(), v4 ? 46 : 28));
      frames_.back().resize(v4 ? 60 : 62);
    }
  }

  // The next burst of the generator.
  void Generate(rte_mbuf** packets) {
    Must(rte_pktmbuf_alloc_bulk(pool_, packets, kBurstSize) == 0);
    for (uint32_t i = 0; i < kBurstSize; ++i) {
      const Frame& frame = frames_[next_++ % kPackets];
      std::memcpy(rte_pktmbuf_mtod(packets[i], void*), frame.data(), 62);
      packets[i]->data_len = static_cast<uint16_t>(frame.size());
      packets[i]->pkt_len = static_cast<uint32_t>(frame.size());
    }
  }

  PipelineFixture& fixture() { return *f_; }
  LedgerContext& context() { return *context_; }
  uint16_t sink() const { return sink_; }
  uint16_t in() { return f_->snapshot().link(1).port; }

 private:
  rte_mempool* pool_;
  uint16_t sink_;
  std::unique_ptr<PipelineFixture> f_;
  std::unique_ptr<LedgerContext> context_;
  std::vector<Frame> frames_;
  uint32_t next_ = 0;
};

void CountPackets(benchmark::State& state, uint64_t cycles) {
  const double packets = static_cast<double>(state.iterations()) * kBurstSize;
  state.SetItemsProcessed(static_cast<int64_t>(packets));
  state.counters["cycles"] = static_cast<double>(cycles) / packets;
}

void Io(benchmark::State& state, bool v4) {
  Bench bench(v4);
  rte_mbuf* packets[kBurstSize];
  const uint64_t start = rte_rdtsc();
  for (auto _ : state) {
    bench.Generate(packets);
    Must(rte_eth_tx_burst(bench.sink(), 0, packets, kBurstSize) == kBurstSize);
  }
  CountPackets(state, rte_rdtsc() - start);
}

void Pipeline(benchmark::State& state, bool v4, const PipelineLevel* level) {
  Bench bench(v4);
  const Snapshot& snapshot = bench.fixture().snapshot();
  rte_mbuf* packets[kBurstSize];
  const uint64_t start = rte_rdtsc();
  for (auto _ : state) {
    bench.Generate(packets);
    level->entries->process(bench.context(), snapshot, bench.in(), packets, kBurstSize);
    bench.context().Flush();
  }
  CountPackets(state, rte_rdtsc() - start);
  Must(bench.fixture().lane().dropped() == 0);
}

void Ledger(benchmark::State& state, bool v4, const PipelineLevel* level) {
  Bench bench(v4);
  const Snapshot& snapshot = bench.fixture().snapshot();
  rte_mbuf* packets[kBurstSize];
  for (auto _ : state) {
    bench.Generate(packets);
    level->entries->process_ledger(bench.context(), snapshot, bench.in(), packets, kBurstSize);
  }
  const double count = static_cast<double>(state.iterations()) * kBurstSize;
  const char* names[kStages] = {"1parse", "2route", "3resolve", "4output", "5transmit"};
  for (size_t i = 0; i < kStages; ++i) {
    state.counters[names[i]] = static_cast<double>(bench.context().cycles(static_cast<Stage>(i))) / count;
  }
}

const bool kRegistered = [] {
  for (bool v4 : {true, false}) {
    const std::string family = v4 ? "/ipv4" : "/ipv6";
    benchmark::RegisterBenchmark(("PipelineIo" + family).c_str(), Io, v4)->MinTime(0.5);
    for (const PipelineLevel& level : PipelineLevels()) {
      if (!level.supported) continue;
      const std::string name = family + "/" + level.name;
      benchmark::RegisterBenchmark(("Pipeline" + name).c_str(), Pipeline, v4, &level)->MinTime(0.5);
      benchmark::RegisterBenchmark(("PipelineLedger" + name).c_str(), Ledger, v4, &level)->MinTime(0.5);
    }
  }
  return true;
}();

}  // namespace
}  // namespace sluice
