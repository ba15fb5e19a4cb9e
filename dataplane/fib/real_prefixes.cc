#include "dataplane/fib/real_prefixes.h"

#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace sluice {

template <class Key>
std::vector<typename Trie<Key>::Route> ReadRealPrefixes(uint32_t nexthops) {
  const std::string path =
      std::string(SLUICE_TEST_DATA) + (std::is_same_v<Key, uint32_t> ? "/prefixes4.txt.zst" : "/prefixes6.txt.zst");
  std::ifstream file(path, std::ios::binary);
  if (!file) ABSL_RAW_LOG(FATAL, "cannot open %s", path.c_str());
  const std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string text;
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::vector<char> piece(ZSTD_DStreamOutSize());
  for (size_t left = 1; in.pos < in.size || left != 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(left) || (left != 0 && out.pos == 0 && in.pos == in.size)) {
      ABSL_RAW_LOG(FATAL, "%s is damaged", path.c_str());
    }
    text.append(piece.data(), out.pos);
  }
  ZSTD_freeDStream(stream);

  std::vector<typename Trie<Key>::Route> routes;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const absl::StatusOr<IpPrefix> prefix = IpPrefix::Parse(words.first);
    uint32_t asn = 0;
    if (!prefix.ok() || !absl::SimpleAtoi(words.second, &asn)) {
      ABSL_RAW_LOG(FATAL, "%s: bad line %s", path.c_str(), std::string(line).c_str());
    }
    routes.push_back({Trie<Key>::Prefix::Of(*prefix), 1 + asn % nexthops});
  }
  // One IPv4 prefix is listed twice: the last line counts, as it would if each were a replace.
  std::reverse(routes.begin(), routes.end());
  std::stable_sort(routes.begin(), routes.end(), [](const auto& a, const auto& b) { return a.prefix < b.prefix; });
  const auto same = [](const auto& a, const auto& b) { return a.prefix == b.prefix; };
  routes.erase(std::unique(routes.begin(), routes.end(), same), routes.end());
  return routes;
}

template std::vector<Trie4::Route> ReadRealPrefixes<uint32_t>(uint32_t);
template std::vector<Trie6::Route> ReadRealPrefixes<Ipv6Key>(uint32_t);

}  // namespace sluice
