// The trie beside DPDK's tables, in one process, on the same routes and addresses.
//
//   sluice-bench --benchmark_filter=Fib
//
// Names: Fib4/<addresses>/<table>/<chain>/<who> and Fib6/...; "cycles" are of the time stamp counter, for one lookup:
// over 2^20 addresses in bursts of 64, the best of the repetitions for each 32nd part (so that a machine that is shared
// with others disturbs less). "sluice" is built for x86-64-v2, "sluice_v4" for
// AVX-512 machines, as the pipeline is. The chain is independent (burst), or dependent: each address waits for the
// answer before it. "updates" runs a second thread that publishes (or, for DPDK, writes) single /24 (/48) changes.
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <thread>

#include "benchmark/benchmark.h"
#include "dataplane/fib/trie_bench_tables.h"

namespace sluice {
namespace {

constexpr size_t kAddresses = 1 << 20;
constexpr size_t kPieces = 32;
constexpr int kRepetitions = 15;

uint64_t Now() { return __builtin_ia32_rdtsc(); }

template <class Key>
const std::vector<Key>& Addresses(World<Key>& world, const std::string& kind) {
  std::vector<Key>& keys = world.addresses[kind];
  if (!keys.empty()) return keys;
  std::mt19937_64 random(42);
  const auto inside = [&](const typename Trie<Key>::Prefix& p) {
    const Key host = HostMask(p.length, static_cast<Key*>(nullptr));
    return Or(p.key, AndNot(host, RandomKey(random, static_cast<Key*>(nullptr))));
  };
  std::vector<Key> hot;
  for (int i = 0; i < 1000; ++i) hot.push_back(inside(world.routes[random() % world.routes.size()].prefix));
  keys.resize(kAddresses);
  for (Key& key : keys) {
    if (kind == "uniform") {
      key = RandomKey(random, static_cast<Key*>(nullptr));
      if constexpr (!std::is_same_v<Key, uint32_t>) key.high = key.high >> 3 | uint64_t{1} << 61;  // 2000::/3
    } else if (kind == "table") {
      key = inside(world.routes[random() % world.routes.size()].prefix);
    } else {
      key = hot[random() % hot.size()];
    }
  }
  return keys;
}

// Publishes changes of single prefixes, as fast as `pause` lets it, until it is destroyed.
template <class Key>
class Updater {
 public:
  Updater(World<Key>& world, const std::string& who) : world_(world), who_(who), thread_([this] { Run(); }) {}
  ~Updater() {
    stop_.store(true);
    thread_.join();
  }
  size_t updates() const { return updates_.load(); }

 private:
  void Run() {
    std::mt19937_64 random(5);
    std::vector<typename Trie<Key>::Route> picks;
    while (picks.size() < 1024) {
      const auto& r = world_.routes[random() % world_.routes.size()];
      if (r.prefix.length == (sizeof(Key) == 4 ? 24 : 48)) picks.push_back(r);
    }
    for (size_t i = 0; !stop_.load(); ++i) {
      auto route = picks[i % picks.size()];
      route.leaf = 1 + (route.leaf + static_cast<Leaf>(i / picks.size() % 2)) % 1000;
      Apply(i, route);
      updates_.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    // As it was, so that all tables agree again.
    for (size_t i = 0; i < picks.size(); ++i) Apply(i, picks[i]);
    world_.trie = *world_.live.load();
    world_.live.store(&world_.trie);
  }

  void Apply(size_t i, const typename Trie<Key>::Route& route) {
    if (!who_.starts_with("sluice")) return world_.Add(who_, route);
    Trie<Key>& next = world_.versions[i % world_.versions.size()];
    const Trie<Key>& now = *world_.live.load();
    if (&next != &now) next = now;
    Edit edit(world_.arena);
    if (!next.Set(edit, route.prefix, route.leaf).ok()) std::abort();
    RetiredBlocks old = edit.Commit();
    world_.live.store(&next, std::memory_order_release);
    waiting_.emplace_back(world_.bursts.load() + 2, std::move(old));
    // A reader that finished two bursts since holds none of it.
    while (!waiting_.empty() && world_.bursts.load() >= waiting_.front().first) waiting_.pop_front();
  }

  World<Key>& world_;
  std::string who_;
  std::deque<std::pair<uint64_t, RetiredBlocks>> waiting_;  // freed at the end: the reader is done by then
  std::atomic<bool> stop_{false};
  std::atomic<size_t> updates_{0};
  std::thread thread_;
};

template <class Key>
void BM_Lookup(benchmark::State& state, const std::string& kind, bool nested, bool dependent, bool updates,
               const std::string& who) {
  World<Key>& world = World<Key>::Get(nested);
  if (!world.Has(who)) {
    state.SkipWithError("not on this machine");
    return;
  }
  const std::vector<Key>& keys = Addresses(world, kind);
  if (const std::string wrong = world.Check(who, keys); !wrong.empty()) {
    state.SkipWithError(wrong.c_str());
    return;
  }
  std::vector<uint64_t> best(kPieces, ~uint64_t{0});
  {
    std::unique_ptr<Updater<Key>> updater;
    if (updates) updater = std::make_unique<Updater<Key>>(world, who);
    for (auto _ : state) {
      for (size_t piece = 0; piece < kPieces; ++piece) {
        const absl::Span<const Key> part(&keys[piece * (kAddresses / kPieces)], kAddresses / kPieces);
        const uint64_t start = Now();
        world.Run(who, part, dependent);
        best[piece] = std::min(best[piece], Now() - start);
      }
    }
    if (updates) state.counters["updates"] = static_cast<double>(updater->updates());
  }
  const uint64_t sum = std::accumulate(best.begin(), best.end(), uint64_t{0});
  state.counters["cycles"] = static_cast<double>(sum) / kAddresses;
}

template <class Key>
void BM_Load(benchmark::State& state, bool bulk) {
  World<Key>& world = World<Key>::Get(false);
  double best = 1e9, bytes = 0;
  for (auto _ : state) {
    Arena arena;
    Trie<Key> table;
    const auto start = std::chrono::steady_clock::now();
    Edit edit(arena);
    if (bulk) {
      if (!table.Assign(edit, world.routes).ok()) std::abort();
    } else {
      for (const auto& r : world.shuffled) {
        if (!table.Set(edit, r.prefix, r.leaf).ok()) std::abort();
      }
    }
    (void)edit.Commit();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    bytes = static_cast<double>(table.memory_bytes());
  }
  state.counters["Mroutes/s"] = static_cast<double>(world.routes.size()) / best / 1e6;
  state.counters["MB"] = bytes / 1e6;
}

// One change, with the making and the commit of its edit, and the freeing of what it replaced. `length` -1: a random
// prefix of /24 (/48) that the table has.
template <class Key>
void BM_Commit(benchmark::State& state, int length) {
  World<Key>& world = World<Key>::Get(false);
  std::mt19937_64 random(3);
  std::vector<typename Trie<Key>::Prefix> picks;
  while (picks.size() < 4096) {
    const auto& r = world.routes[random() % world.routes.size()];
    const int want = length >= 0 ? length : sizeof(Key) == 4 ? 24 : 48;
    picks.push_back({Network(r.prefix.key, want), static_cast<uint8_t>(want)});
  }
  Trie<Key> table = world.trie;
  std::vector<double> all;
  size_t i = 0;
  double retired = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    Edit edit(world.arena);
    if (!table.Set(edit, picks[i % picks.size()], 2000 + static_cast<Leaf>(i)).ok()) std::abort();
    RetiredBlocks old = edit.Commit();
    retired += static_cast<double>(old.bytes());
    old.Free();
    ++i;
    all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  // Back to the world's routes, in blocks of its own.
  Edit edit(world.arena);
  table.Clear(edit);
  world.trie = Trie<Key>();
  if (!world.trie.Assign(edit, world.routes).ok()) std::abort();
  edit.Commit().Free();
  std::sort(all.begin(), all.end());
  state.counters["us_median"] = all[all.size() / 2];
  state.counters["us_p99"] = all[all.size() * 99 / 100];
  state.counters["bytes"] = retired / static_cast<double>(all.size());
}

template <class Key>
void RegisterFamily(const std::string& family) {
  for (const std::string kind : {"uniform", "table", "hot"}) {
    for (bool nested : {false, true}) {
      for (bool dependent : {false, true}) {
        for (bool updates : {false, true}) {
          if (updates && (nested || dependent)) continue;
          for (const std::string& who : World<Key>::Who()) {
            const std::string name = family + "/" + kind + (nested ? "/nested" : "/real") +
                                     (dependent ? "/dependent/"
                                      : updates ? "/updates/"
                                                : "/burst/") +
                                     who;
            benchmark::RegisterBenchmark(name.c_str(), BM_Lookup<Key>, kind, nested, dependent, updates, who)
                ->Iterations(kRepetitions)
                ->Unit(benchmark::kMillisecond);
          }
        }
      }
    }
  }
  benchmark::RegisterBenchmark((family + "/load/bulk").c_str(), BM_Load<Key>, true)->Iterations(3);
  benchmark::RegisterBenchmark((family + "/load/single").c_str(), BM_Load<Key>, false)->Iterations(3);
  const std::vector<std::pair<std::string, int>> lengths = {{"some", -1}, {"8", 8}, {"0", 0}, {"9", 9}, {"16", 16}};
  for (const auto& [name, length] : lengths) {
    benchmark::RegisterBenchmark((family + "/commit/" + name).c_str(), BM_Commit<Key>, length)
        ->Iterations(length > 8 ? 200 : 20000);
  }
}

const bool kRegistered = [] {
  RegisterFamily<uint32_t>("Fib4");
  RegisterFamily<Ipv6Key>("Fib6");
  return true;
}();

}  // namespace
}  // namespace sluice
