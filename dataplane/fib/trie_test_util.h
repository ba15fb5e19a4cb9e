// A plain oracle for the trie, and the random prefixes that are hard for it. For tests.
//
//   Oracle<Ipv6Key> oracle;  oracle.Set(prefix, leaf);  EXPECT_EQ(trie.Lookup(base, key), oracle.Lookup(key).leaf);
//
// Threads: one. Cost: a hash lookup for each length in use.
#ifndef SLUICE_DATAPLANE_FIB_TRIE_TEST_UTIL_H_
#define SLUICE_DATAPLANE_FIB_TRIE_TEST_UTIL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "dataplane/fib/trie.h"

namespace sluice {

using Random = std::mt19937_64;

inline uint32_t RandomKey(Random& random, uint32_t*) { return static_cast<uint32_t>(random()); }
inline Ipv6Key RandomKey(Random& random, Ipv6Key*) { return {random(), random()}; }
inline uint32_t Plus(uint32_t key, int delta) { return key + static_cast<uint32_t>(delta); }
inline Ipv6Key Plus(const Ipv6Key& key, int delta) {
  const unsigned __int128 sum = ((static_cast<unsigned __int128>(key.high) << 64) | key.low) + delta;
  return {static_cast<uint64_t>(sum >> 64), static_cast<uint64_t>(sum)};
}
// Independent of the code under test.
inline uint32_t HostMask(int length, uint32_t*) { return static_cast<uint32_t>((uint64_t{1} << (32 - length)) - 1); }
inline Ipv6Key HostMask(int length, Ipv6Key*) {
  const auto bits = [](int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
  return {bits(std::max(64 - length, 0)), bits(std::min(128 - length, 64))};
}
inline uint32_t AndNot(uint32_t a, uint32_t b) { return a & ~b; }
inline uint32_t Or(uint32_t a, uint32_t b) { return a | b; }
inline Ipv6Key AndNot(const Ipv6Key& a, const Ipv6Key& b) { return {a.high & ~b.high, a.low & ~b.low}; }
inline Ipv6Key Or(const Ipv6Key& a, const Ipv6Key& b) { return {a.high | b.high, a.low | b.low}; }

template <class Key>
Key Network(const Key& key, int length) {
  return AndNot(key, HostMask(length, static_cast<Key*>(nullptr)));
}
template <class Key>
Key LastOf(const typename Trie<Key>::Prefix& p) {
  return Or(p.key, HostMask(p.length, static_cast<Key*>(nullptr)));
}

template <class Key>
class Oracle {
 public:
  using Prefix = typename Trie<Key>::Prefix;
  static constexpr int kMaxLength = Trie<Key>::kMaxLength;
  struct Hash {
    size_t operator()(uint32_t k) const { return absl::Hash<uint32_t>()(k); }
    size_t operator()(const Ipv6Key& k) const { return absl::Hash<std::pair<uint64_t, uint64_t>>()({k.high, k.low}); }
  };

  void Set(const Prefix& p, Leaf leaf) {
    if (by_length_[p.length].insert_or_assign(p.key, leaf).second) ++size_;
  }
  void Remove(const Prefix& p) { size_ -= by_length_[p.length].erase(p.key); }
  Leaf Get(const Prefix& p) const {
    const auto it = by_length_[p.length].find(p.key);
    return it == by_length_[p.length].end() ? 0 : it->second;
  }
  typename Trie<Key>::Match Lookup(const Key& key, int max_length = kMaxLength) const {
    for (int length = max_length; length >= 0; --length) {
      if (by_length_[length].empty()) continue;
      const auto it = by_length_[length].find(Network(key, length));
      if (it != by_length_[length].end()) return {it->second, static_cast<uint8_t>(length)};
    }
    return {};
  }
  size_t size() const { return size_; }
  std::vector<typename Trie<Key>::Route> Sorted() const {
    std::vector<typename Trie<Key>::Route> routes;
    for (int length = 0; length <= kMaxLength; ++length) {
      for (const auto& [key, leaf] : by_length_[length]) {
        routes.push_back({{key, static_cast<uint8_t>(length)}, leaf});
      }
    }
    std::sort(routes.begin(), routes.end(), [](const auto& a, const auto& b) { return a.prefix < b.prefix; });
    return routes;
  }

 private:
  std::array<std::unordered_map<Key, Leaf, Hash>, kMaxLength + 1> by_length_;
  size_t size_ = 0;
};

// Prefixes that nest, touch and repeat: a third anywhere, a third in one dense region, a third made from earlier ones
// (longer, shorter, beside).
template <class Key>
class PrefixSource {
 public:
  using Prefix = typename Trie<Key>::Prefix;
  static constexpr int kMaxLength = Trie<Key>::kMaxLength;

  explicit PrefixSource(uint64_t seed) : random_(seed) {}

  Prefix Next() {
    Key key = RandomKey(random_, static_cast<Key*>(nullptr));
    int length = static_cast<int>(random_() % (kMaxLength + 1));
    switch (random_() % 6) {
      case 0:
        if (random_() % 2) length = kMaxLength;
        break;
      case 1:
        if (random_() % 4 == 0) length = static_cast<int>(random_() % 9);
        break;
      case 2:
      case 3: {  // dense: at most 256 values of some 12 bits
        const int depth = static_cast<int>(dense_depth_);
        const Key spread = AndNot(HostMask(depth, static_cast<Key*>(nullptr)),
                                  HostMask(std::min(depth + 10, kMaxLength), static_cast<Key*>(nullptr)));
        key = Or(AndNot(dense_, HostMask(depth, static_cast<Key*>(nullptr))), AndNot(key, AndNot(Ones(), spread)));
        length = std::min(kMaxLength, depth + static_cast<int>(random_() % 12));
        break;
      }
      default:
        if (recent_.empty()) break;
        const Prefix& p = recent_[random_() % recent_.size()];
        const int shift = static_cast<int>(random_() % 14) - 5;
        length = std::clamp(p.length + shift, 0, kMaxLength);
        key = random_() % 2 ? Or(p.key, AndNot(key, AndNot(Ones(), HostMask(p.length, static_cast<Key*>(nullptr)))))
                            : Plus(random_() % 2 ? p.key : LastOf<Key>(p), random_() % 2 ? 1 : -1);
    }
    if (random_() % 5000 == 0) {
      dense_ = key;
      dense_depth_ = random_() % static_cast<unsigned>(kMaxLength - 4);
    }
    const Prefix p{Network(key, length), static_cast<uint8_t>(length)};
    if (recent_.size() < 4096) {
      recent_.push_back(p);
    } else {
      recent_[random_() % recent_.size()] = p;
    }
    return p;
  }
  Random& random() { return random_; }

 private:
  static Key Ones() { return HostMask(0, static_cast<Key*>(nullptr)); }

  Random random_;
  std::vector<Prefix> recent_;
  Key dense_ = HostMask(0, static_cast<Key*>(nullptr));
  size_t dense_depth_ = 12;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_TRIE_TEST_UTIL_H_
