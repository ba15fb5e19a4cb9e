// Cycles of the fast path's packet arithmetic. Each pass runs over 64 packets in cache, as a burst would.
#include <vector>

#include "benchmark/benchmark.h"
#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"

namespace sluice {
namespace {

constexpr int kBurst = 64;

// A burst of 60-byte frames; each packet in a cache line of its own.
struct Burst {
  explicit Burst(const Bytes& l3) {
    for (auto& slot : bytes) std::copy(l3.begin(), l3.end(), slot + EthernetHeader::kSize);
  }
  alignas(64) uint8_t bytes[kBurst][128] = {};
  uint8_t* l3(int i) { return bytes[i] + EthernetHeader::kSize; }
};

void SetCounters(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBurst);
}

void BM_PacketCheckIpv4(benchmark::State& state) {
  Burst burst(BuildIpv4({.options = Bytes(static_cast<size_t>(state.range(0))), .payload = Pattern(26)}));
  for (auto _ : state) {
    uint32_t sum = 0;
    for (int i = 0; i < kBurst; ++i) {
      uint32_t length = 0;
      if (CheckIpv4(burst.l3(i), 100, &length).ok()) sum += length;
    }
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
  }
  SetCounters(state);
}
BENCHMARK(BM_PacketCheckIpv4)->Arg(0)->Arg(4)->ArgName("options");

void BM_PacketCheckIpv6(benchmark::State& state) {
  Burst burst(BuildIpv6({.payload = Pattern(8)}));
  for (auto _ : state) {
    uint32_t sum = 0;
    for (int i = 0; i < kBurst; ++i) {
      uint32_t length = 0;
      if (CheckIpv6(burst.l3(i), 100, &length).ok()) sum += length;
    }
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
  }
  SetCounters(state);
}
BENCHMARK(BM_PacketCheckIpv6);

void BM_PacketRewriteIpv4(benchmark::State& state) {
  Burst burst(BuildIpv4({.ttl = 255, .payload = Pattern(26)}));
  uint64_t destination = kFixtureMacA.ToBits(), source = kFixtureMacB.ToBits();
  benchmark::DoNotOptimize(destination);
  benchmark::DoNotOptimize(source);
  for (auto _ : state) {
    for (int i = 0; i < kBurst; ++i) {
      DecrementTtl(burst.l3(i));
      WriteEthernetHeader(burst.bytes[i], destination, source, kEtherTypeIpv4);
    }
    benchmark::ClobberMemory();
  }
  SetCounters(state);
}
BENCHMARK(BM_PacketRewriteIpv4);

}  // namespace
}  // namespace sluice
