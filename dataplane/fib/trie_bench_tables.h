// The tables that trie_bench.cc compares: the trie and DPDK's, over the same routes.
//
// Threads: one builds and looks up; Add may run beside lookups. Cost: rte_lpm takes half a minute to load.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_BENCH_TABLES_H_
#define SLUICE_DATAPLANE_FIB_TRIE_BENCH_TABLES_H_

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "dataplane/fib/real_prefixes.h"
#include "dataplane/fib/trie.h"
#include "dataplane/fib/trie_test_util.h"

struct rte_fib;
struct rte_fib6;
struct rte_lpm;
struct rte_lpm6;

namespace sluice {

template <class Key>
struct DpdkTables;
template <>
struct DpdkTables<uint32_t> {
  rte_fib* fib = nullptr;
  rte_lpm* lpm = nullptr;
};
template <>
struct DpdkTables<Ipv6Key> {
  rte_fib6* fib = nullptr;
  rte_lpm6* lpm = nullptr;
};

// One set of routes in every table. The DPDK tables are filled on first use.
template <class Key>
struct World {
  static constexpr size_t kBurst = 64;
  static std::vector<std::string> Who() { return {"sluice", "sluice_v4", "fib_scalar", "fib_avx512", "lpm"}; }

  // The real prefixes; `nested`: with 100,000 more-specifics of them, 1 to 8 bits longer.
  static World& Get(bool nested);

  bool Has(const std::string& who);
  // Empty if `who` answers for every key as the trie does.
  std::string Check(const std::string& who, const std::vector<Key>& keys);
  // Looks up every key.
  void Run(const std::string& who, absl::Span<const Key> keys, bool dependent);
  void Add(const std::string& who, const typename Trie<Key>::Route& route);

  std::vector<typename Trie<Key>::Route> routes, shuffled;
  std::map<std::string, std::vector<Key>> addresses;
  Arena arena;
  Trie<Key> trie;
  std::atomic<const Trie<Key>*> live{&trie};
  std::array<Trie<Key>, 4096> versions;
  std::atomic<uint64_t> bursts{0};  // done by the reader
  DpdkTables<Key> dpdk;

 private:
  void Select(const std::string& who);
  // Calls burst(first, count) for each burst, and counts them.
  template <typename F>
  void Bursts(size_t total, F burst) {
    for (size_t i = 0; i < total; i += kBurst) {
      burst(i, std::min(kBurst, total - i));
      bursts.store(i / kBurst + first_burst_, std::memory_order_release);
    }
    first_burst_ += total / kBurst + 1;
  }
  uint64_t first_burst_ = 1;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_TRIE_BENCH_TABLES_H_
