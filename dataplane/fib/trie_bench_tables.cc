#include "dataplane/fib/trie_bench_tables.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// What keeps the compiler from knowing that a dependent chain adds nothing.
volatile uint32_t g_zero = 0;

uint32_t Keep(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

void StartEal() {
  static const bool started = [] {
    std::string args[] = {"sluice-bench",
                          "--no-huge",
                          "--no-pci",
                          "--no-shconf",
                          "--no-telemetry",
                          "-m",
                          "6144",
                          absl::StrCat("--file-prefix=sluice-bench-", getpid()),
                          "--force-max-simd-bitwidth=512",
                          "--log-level=*:error"};
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
      ABSL_RAW_LOG(FATAL, "EAL: %s", rte_strerror(rte_errno));
    }
    return true;
  }();
  (void)started;
}

void Must(bool ok, const char* what) {
  if (!ok) ABSL_RAW_LOG(FATAL, "%s: %s", what, rte_strerror(rte_errno));
}

struct Bytes16 {
  uint8_t b[16];
};
Bytes16 Wire(const Ipv6Key& key) {
  const uint64_t words[2] = {ByteSwap(key.high), ByteSwap(key.low)};
  Bytes16 out;
  std::memcpy(out.b, words, 16);
  return out;
}

#define SLUICE_AVX512 [[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi,bmi2,lzcnt")]]

template <class Key>
[[gnu::noinline]] void BatchV2(const Trie<Key>& t, const char* base, const Key* keys, Leaf* leaves, size_t n) {
  t.LookupBatch(base, keys, leaves, n);
}
template <class Key>
SLUICE_AVX512 [[gnu::noinline]] void BatchV4(const Trie<Key>& t, const char* base, const Key* keys, Leaf* leaves,
                                             size_t n) {
  t.LookupBatch(base, keys, leaves, n);
}
uint32_t Mixed(uint32_t key, uint32_t zero) { return key ^ zero; }
Ipv6Key Mixed(const Ipv6Key& key, uint32_t zero) { return {key.high ^ zero, key.low}; }

template <class Key>
[[gnu::noinline]] uint32_t ChainV2(const Trie<Key>& t, const char* base, absl::Span<const Key> keys, uint32_t zero) {
  uint32_t last = 0;
  for (const Key& key : keys) last = t.Lookup(base, Mixed(key, last & zero));
  return last;
}
template <class Key>
SLUICE_AVX512 [[gnu::noinline]] uint32_t ChainV4(const Trie<Key>& t, const char* base, absl::Span<const Key> keys,
                                                 uint32_t zero) {
  uint32_t last = 0;
  for (const Key& key : keys) last = t.Lookup(base, Mixed(key, last & zero));
  return last;
}

}  // namespace

template <class Key>
World<Key>& World<Key>::Get(bool nested) {
  static World* worlds[2] = {};
  if (worlds[nested] != nullptr) return *worlds[nested];
  World* world = worlds[nested] = new World;
  Oracle<Key> all;
  for (const auto& r : ReadRealPrefixes<Key>(1000)) all.Set(r.prefix, r.leaf);
  if (nested) {
    const auto real = all.Sorted();
    std::mt19937_64 random(9);
    while (all.size() < real.size() + 100000) {
      const auto& p = real[random() % real.size()].prefix;
      const int length = std::min<int>(Trie<Key>::kMaxLength, p.length + 1 + static_cast<int>(random() % 8));
      const Key host = HostMask(p.length, static_cast<Key*>(nullptr));
      const Key key = Or(p.key, AndNot(host, RandomKey(random, static_cast<Key*>(nullptr))));
      const typename Trie<Key>::Prefix more{Network(key, length), static_cast<uint8_t>(length)};
      if (all.Get(more) == 0) all.Set(more, 1 + static_cast<Leaf>(random() % 1000));
    }
  }
  world->routes = all.Sorted();
  world->shuffled = world->routes;
  std::shuffle(world->shuffled.begin(), world->shuffled.end(), std::mt19937_64(4));
  // By single changes, in random order: the blocks then lie as they do after days of updates.
  Edit edit(world->arena);
  for (const auto& r : world->shuffled) {
    if (!world->trie.Set(edit, r.prefix, r.leaf).ok()) std::abort();
  }
  (void)edit.Commit();
  return *world;
}

template <>
void World<uint32_t>::Add(const std::string& who, const Trie4::Route& r) {
  if (who == "lpm") {
    Must(rte_lpm_add(dpdk.lpm, r.prefix.key, r.prefix.length, r.leaf) == 0, "rte_lpm_add");
  } else {
    Must(rte_fib_add(dpdk.fib, r.prefix.key, r.prefix.length, r.leaf) == 0, "rte_fib_add");
  }
}
template <>
void World<Ipv6Key>::Add(const std::string& who, const Trie6::Route& r) {
  if (who == "lpm") {
    Must(rte_lpm6_add(dpdk.lpm, Wire(r.prefix.key).b, r.prefix.length, r.leaf) == 0, "rte_lpm6_add");
  } else {
    Must(rte_fib6_add(dpdk.fib, Wire(r.prefix.key).b, r.prefix.length, r.leaf) == 0, "rte_fib6_add");
  }
}

template <>
void World<uint32_t>::Select(const std::string& who) {
  if (who.starts_with("sluice")) return;
  StartEal();
  if (who == "lpm" && dpdk.lpm == nullptr) {
    rte_lpm_config config = {};
    config.max_rules = static_cast<uint32_t>(routes.size()) + 1000;
    config.number_tbl8s = 250000;
    dpdk.lpm = rte_lpm_create(absl::StrCat("lpm", routes.size()).c_str(), SOCKET_ID_ANY, &config);
    Must(dpdk.lpm != nullptr, "rte_lpm_create");
    for (const Trie4::Route& r : routes) Add(who, r);
  } else if (who != "lpm" && dpdk.fib == nullptr) {
    rte_fib_conf config = {};
    config.type = RTE_FIB_DIR24_8;
    config.max_routes = static_cast<int>(routes.size()) * 2;
    config.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
    config.dir24_8.num_tbl8 = 250000;
    dpdk.fib = rte_fib_create(absl::StrCat("fib", routes.size()).c_str(), SOCKET_ID_ANY, &config);
    Must(dpdk.fib != nullptr, "rte_fib_create");
    for (const Trie4::Route& r : routes) Add(who, r);
  }
}
template <>
void World<Ipv6Key>::Select(const std::string& who) {
  if (who.starts_with("sluice")) return;
  StartEal();
  if (who == "lpm" && dpdk.lpm == nullptr) {
    rte_lpm6_config config = {};
    config.max_rules = static_cast<uint32_t>(routes.size()) + 1000;
    config.number_tbl8s = 400000;
    dpdk.lpm = rte_lpm6_create(absl::StrCat("lpm6", routes.size()).c_str(), SOCKET_ID_ANY, &config);
    Must(dpdk.lpm != nullptr, "rte_lpm6_create");
    for (const Trie6::Route& r : routes) Add(who, r);
  } else if (who != "lpm" && dpdk.fib == nullptr) {
    rte_fib6_conf config = {};
    config.type = RTE_FIB6_TRIE;
    config.max_routes = static_cast<int>(routes.size()) * 2;
    config.trie.nh_sz = RTE_FIB6_TRIE_4B;
    config.trie.num_tbl8 = static_cast<uint32_t>(routes.size()) * 3;  // it reserves for the worst case
    dpdk.fib = rte_fib6_create(absl::StrCat("fib6", routes.size()).c_str(), SOCKET_ID_ANY, &config);
    Must(dpdk.fib != nullptr, "rte_fib6_create");
    for (const Trie6::Route& r : routes) Add(who, r);
  }
}

template <>
bool World<uint32_t>::Has(const std::string& who) {
  Select(who);
  if (who == "sluice_v4") return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
  if (who == "fib_scalar") return rte_fib_select_lookup(dpdk.fib, RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO) == 0;
  if (who == "fib_avx512") return rte_fib_select_lookup(dpdk.fib, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512) == 0;
  return true;
}
template <>
bool World<Ipv6Key>::Has(const std::string& who) {
  Select(who);
  if (who == "sluice_v4") return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
  if (who == "fib_scalar") return rte_fib6_select_lookup(dpdk.fib, RTE_FIB6_LOOKUP_TRIE_SCALAR) == 0;
  if (who == "fib_avx512") return rte_fib6_select_lookup(dpdk.fib, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512) == 0;
  return true;
}

template <>
void World<uint32_t>::Run(const std::string& who, absl::Span<const uint32_t> keys, bool dependent) {
  uint32_t* all = const_cast<uint32_t*>(keys.data());  // DPDK's interface lacks a const
  const uint32_t zero = g_zero;
  Leaf leaves[kBurst];
  uint64_t hops[kBurst];
  if (who.starts_with("sluice")) {
    const bool v4 = who == "sluice_v4";
    if (dependent) {
      const auto chain = v4 ? ChainV4<uint32_t> : ChainV2<uint32_t>;
      g_zero = 0 & Keep(chain(*live.load(), arena.base(), keys, zero));
    } else if (v4) {
      Bursts(keys.size(), [&](size_t i, size_t n) { BatchV4(*live.load(), arena.base(), all + i, leaves, n); });
    } else {
      Bursts(keys.size(), [&](size_t i, size_t n) { BatchV2(*live.load(), arena.base(), all + i, leaves, n); });
    }
  } else if (who == "lpm") {
    if (dependent) {
      uint32_t last = 0;
      for (uint32_t key : keys) {
        uint32_t hop = 0;
        rte_lpm_lookup(dpdk.lpm, key ^ (last & zero), &hop);
        last = hop;
      }
      g_zero = 0 & Keep(static_cast<uint32_t>(last));
    } else {
      Bursts(keys.size(), [&](size_t i, size_t n) {
        rte_lpm_lookup_bulk(dpdk.lpm, all + i, leaves, static_cast<unsigned>(n));
        asm volatile("" : : "r"(leaves) : "memory");
      });
    }
  } else if (dependent) {
    uint64_t last = 0;
    for (uint32_t key : keys) {
      uint32_t one = key ^ (static_cast<uint32_t>(last) & zero);
      rte_fib_lookup_bulk(dpdk.fib, &one, &last, 1);
    }
    g_zero = 0 & Keep(static_cast<uint32_t>(last));
  } else {
    Bursts(keys.size(), [&](size_t i, size_t n) { rte_fib_lookup_bulk(dpdk.fib, all + i, hops, static_cast<int>(n)); });
  }
}

template <>
void World<Ipv6Key>::Run(const std::string& who, absl::Span<const Ipv6Key> keys, bool dependent) {
  // DPDK takes addresses as they lie in packets; the trie's are turned into integers here, at its cost.
  static std::map<const void*, std::vector<Bytes16>> cache;
  std::vector<Bytes16>& wire = cache[keys.data()];
  if (wire.empty()) {
    for (const Ipv6Key& key : keys) wire.push_back(Wire(key));
  }
  auto* all = reinterpret_cast<uint8_t(*)[16]>(wire.data());
  const uint32_t zero = g_zero;
  uint64_t hops[kBurst];
  int32_t hops32[kBurst];
  Leaf leaves[kBurst];
  if (who.starts_with("sluice")) {
    const bool v4 = who == "sluice_v4";
    if (dependent) {
      const auto chain = v4 ? ChainV4<Ipv6Key> : ChainV2<Ipv6Key>;
      g_zero = 0 & Keep(chain(*live.load(), arena.base(), keys, zero));
      return;
    }
    Bursts(keys.size(), [&](size_t i, size_t n) {
      Ipv6Key burst[kBurst];
      for (size_t k = 0; k < n; ++k) {
        uint64_t words[2];
        std::memcpy(words, all[i + k], 16);
        burst[k] = {ByteSwap(words[0]), ByteSwap(words[1])};
      }
      (v4 ? BatchV4<Ipv6Key> : BatchV2<Ipv6Key>)(*live.load(), arena.base(), burst, leaves, n);
    });
  } else if (who == "lpm") {
    if (dependent) {
      uint32_t last = 0;
      for (Bytes16 key : wire) {
        key.b[3] ^= static_cast<uint8_t>(last & zero);
        uint32_t hop = 0;
        rte_lpm6_lookup(dpdk.lpm, key.b, &hop);
        last = hop;
      }
      g_zero = 0 & Keep(static_cast<uint32_t>(last));
    } else {
      Bursts(keys.size(), [&](size_t i, size_t n) {
        rte_lpm6_lookup_bulk_func(dpdk.lpm, all + i, hops32, static_cast<unsigned>(n));
      });
    }
  } else if (dependent) {
    uint64_t last = 0;
    for (Bytes16 key : wire) {
      key.b[3] ^= static_cast<uint8_t>(last & zero);
      rte_fib6_lookup_bulk(dpdk.fib, &key.b, &last, 1);
    }
    g_zero = 0 & Keep(static_cast<uint32_t>(last));
  } else {
    Bursts(keys.size(),
           [&](size_t i, size_t n) { rte_fib6_lookup_bulk(dpdk.fib, all + i, hops, static_cast<int>(n)); });
  }
}

template <>
std::string World<uint32_t>::Check(const std::string& who, const std::vector<uint32_t>& keys) {
  for (uint32_t key : keys) {
    const Leaf want = trie.Lookup(arena.base(), key);
    uint32_t one = key, got = 0;
    uint64_t hop = 0;
    if (who == "lpm") {
      if (rte_lpm_lookup(dpdk.lpm, key, &got) != 0) got = 0;
    } else if (who.starts_with("fib")) {
      rte_fib_lookup_bulk(dpdk.fib, &one, &hop, 1);
      got = static_cast<uint32_t>(hop);
    } else {
      BatchV2(trie, arena.base(), &key, &got, 1);
    }
    if (got != want) return absl::StrCat("answers differ at ", absl::Hex(key), ": ", got, ", trie ", want);
  }
  return "";
}
template <>
std::string World<Ipv6Key>::Check(const std::string& who, const std::vector<Ipv6Key>& keys) {
  for (const Ipv6Key& key : keys) {
    const Leaf want = trie.Lookup(arena.base(), key);
    Bytes16 one = Wire(key);
    uint32_t got = 0;
    uint64_t hop = 0;
    if (who == "lpm") {
      if (rte_lpm6_lookup(dpdk.lpm, one.b, &got) != 0) got = 0;
    } else if (who.starts_with("fib")) {
      rte_fib6_lookup_bulk(dpdk.fib, &one.b, &hop, 1);
      got = static_cast<uint32_t>(hop);
    } else {
      BatchV2(trie, arena.base(), &key, &got, 1);
    }
    if (got != want) return absl::StrCat("answers differ: ", got, ", trie ", want);
  }
  return "";
}

template World<uint32_t>& World<uint32_t>::Get(bool);
template World<Ipv6Key>& World<Ipv6Key>::Get(bool);

}  // namespace sluice
