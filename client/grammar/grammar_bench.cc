// How fast lines of a big file become operations, and those bytes.
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>

#include "absl/strings/str_cat.h"
#include "client/grammar/ip.h"

namespace sluice::client {
namespace {

void ParseRoutes(benchmark::State& state, const std::vector<std::string>& lines, bool serialize) {
  std::vector<absl::string_view> words;
  google::protobuf::Arena arena;
  std::string bytes;
  size_t at = 0;
  for (auto _ : state) {
    auto* chunk = google::protobuf::Arena::CreateMessage<v1::CommitStreamRequest>(&arena);
    for (int i = 0; i < 2000; ++i) {
      Command command(chunk->mutable_chunk()->add_operations());
      if (!SplitLine(lines[at], &words)) state.SkipWithError("line");
      if (!ParseIp({}, Words(words), &command).ok()) state.SkipWithError("parse");
      at = at + 1 == lines.size() ? 0 : at + 1;
    }
    if (serialize) chunk->SerializeToString(&bytes);
    benchmark::DoNotOptimize(bytes);
    arena.Reset();
  }
  state.SetItemsProcessed(state.iterations() * 2000);
}

void GrammarIpv4Routes(benchmark::State& state) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100000; ++i) {
    lines.push_back(absl::StrCat("route add ", 1 + i % 200, ".", i / 256 % 256, ".", i % 256, ".0/24 via 192.0.2.",
                                 1 + i % 8, " dev up", i % 2));
  }
  ParseRoutes(state, lines, state.range(0) != 0);
}
BENCHMARK(GrammarIpv4Routes)->ArgName("serialize")->Arg(0)->Arg(1);

void GrammarIpv6Routes(benchmark::State& state) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100000; ++i) {
    lines.push_back(absl::StrCat("route add 2001:db8:", absl::Hex(i % 65536), "::/48 via fe80::1 dev up", i % 2));
  }
  ParseRoutes(state, lines, state.range(0) != 0);
}
BENCHMARK(GrammarIpv6Routes)->ArgName("serialize")->Arg(0)->Arg(1);

}  // namespace
}  // namespace sluice::client
