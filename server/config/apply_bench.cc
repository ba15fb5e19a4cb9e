// Half a million routes: applied, compiled, read back, changed by single commits.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "server/config/apply.h"
#include "server/config/compile.h"
#include "server/config/read.h"

namespace sluice::config {
namespace {

constexpr uint32_t kRoutes = 500000;

class NoHooks : public AdjacencyAllocator, public CellAllocator, public LinkRuntimes {
 public:
  absl::StatusOr<AdjacencyIndex> Acquire(LinkIndex, const IpAddress&) override { return ++adjacency_; }
  void Release(AdjacencyIndex) override {}
  absl::StatusOr<CellIndex> Allocate() override { return ++cell_; }
  void Free(CellIndex) override {}
  LinkRuntime Get(LinkIndex, const LinkRecord&) override {
    return {.port = 0, .present = true, .running = true, .mac = {}};
  }

 private:
  AdjacencyIndex adjacency_ = 0;
  CellIndex cell_ = 0;
};

Operation Make(Verb verb, AnyObject object) {
  Operation op;
  op.verb = verb;
  op.target.emplace<Object>().value = std::move(object);
  return op;
}

Config Start() {
  Link link;
  link.name = "up0";
  link.devargs = "net_null0";
  link.up = true;
  Address address;
  address.link = "up0";
  address.address = *IpAddress::Parse("10.0.0.1");
  address.prefix_length = 24;
  Candidate candidate{Config()};
  candidate.Apply(Make(Verb::kAdd, link));
  candidate.Apply(Make(Verb::kAdd, address));
  return candidate.Finish().config;
}

Route RouteOf(uint32_t i) {
  Route route;
  route.prefix = IpPrefix::Of(Ipv4Address::FromHost(0x14000000u + (i << 8)), 24);
  route.legs.resize(1);
  route.legs[0].gateway = Ipv4Address::FromHost(0x0a000002u + i % 8);
  return route;
}

std::vector<Operation> Routes(bool shuffled) {
  std::vector<Operation> ops;
  for (uint32_t i = 0; i < kRoutes; ++i) ops.push_back(Make(Verb::kAdd, RouteOf(i)));
  if (shuffled) std::shuffle(ops.begin(), ops.end(), std::mt19937(1));
  return ops;
}

Candidate::Outcome Loaded(const Config& start, const std::vector<Operation>& ops) {
  Candidate candidate(start, {.describe_stored = false});
  for (const Operation& op : ops) candidate.Apply(op);
  return candidate.Finish();
}

void BM_ConfigApplyRoutes(benchmark::State& state) {
  const Config start = Start();
  const std::vector<Operation> ops = Routes(state.range(0) != 0);
  for (auto _ : state) {
    Candidate::Outcome outcome = Loaded(start, ops);
    if (!outcome.status.ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(outcome);
  }
  state.SetItemsProcessed(state.iterations() * kRoutes);
}
BENCHMARK(BM_ConfigApplyRoutes)->Arg(0)->Arg(1)->ArgName("shuffled")->Unit(benchmark::kMillisecond);

void BM_ConfigCompileRoutes(benchmark::State& state) {
  const Candidate::Outcome outcome = Loaded(Start(), Routes(false));
  NoHooks hooks;
  for (auto _ : state) {
    Arena arena;
    Compiler compiler({&hooks, &hooks, &hooks});
    const std::unique_ptr<Snapshot> empty = MakeEmptySnapshot(arena);
    SnapshotBuilder builder(arena, *empty);
    absl::StatusOr<Compiled> compiled = compiler.Compile(outcome.config, Compiler::Everything(outcome.config), builder);
    if (!compiled.ok()) state.SkipWithError("refused");
    compiler.Abort(*std::move(compiled));
    builder.Abort();
  }
  state.SetItemsProcessed(state.iterations() * kRoutes);
}
BENCHMARK(BM_ConfigCompileRoutes)->Unit(benchmark::kMillisecond);

// One commit into the full table; the version before is held meanwhile.
void BM_ConfigSingleCommit(benchmark::State& state) {
  Config live = Loaded(Start(), Routes(false)).config;
  uint32_t i = 0;
  for (auto _ : state) {
    Route route = RouteOf(static_cast<uint32_t>(uint64_t{i} * 7919 % kRoutes));
    route.legs[0].gateway = Ipv4Address::FromHost(0x0a000010u + i++ % 8);
    Candidate change(live, {.describe_stored = false});
    change.Apply(Make(Verb::kReplace, route));
    live = change.Finish().config;
  }
}
BENCHMARK(BM_ConfigSingleCommit)->Unit(benchmark::kMicrosecond);

void BM_ConfigRead(benchmark::State& state) {
  const Config config = Loaded(Start(), Routes(false)).config;
  std::vector<Object> objects;
  for (auto _ : state) {
    Reader reader(config, {});
    while (!reader.done()) {
      objects.clear();
      reader.Next(1000, &objects);
    }
  }
  state.SetItemsProcessed(state.iterations() * kRoutes);
}
BENCHMARK(BM_ConfigRead)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::config
