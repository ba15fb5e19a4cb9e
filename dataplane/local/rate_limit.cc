#include "dataplane/local/rate_limit.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/local/icmp_error.h"

namespace sluice {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// More time than this does not count: buckets are smaller by far, and sums stay far from overflow.
constexpr int64_t kLongAgo = 3600 * kSecond;

// SipHash-2-4 (Aumasson and Bernstein, 2012) of three words.
uint64_t SipHash(uint64_t k0, uint64_t k1, const uint64_t (&words)[3]) {
  uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d;
  uint64_t v2 = k0 ^ 0x6c7967656e657261, v3 = k1 ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  };
  for (const uint64_t word : words) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

// What the route lookup says in IPv4, and so pays route.error_cost.
bool FromRouteLookup(IcmpErrorKind kind) {
  return kind == IcmpErrorKind::kNoRoute || kind == IcmpErrorKind::kUnreachable || kind == IcmpErrorKind::kProhibited;
}

}  // namespace

IcmpRateLimiter::IcmpRateLimiter(const IcmpRateLimitSettings& settings, Seed seed, size_t capacity)
    : settings_(settings),
      seed_(seed),
      entries_(std::bit_ceil(std::max(capacity, kWays))),
      random_(seed.k0 ^ std::rotl(seed.k1, 32)),
      credit_(settings.icmp_msgs_burst) {}

bool IcmpRateLimiter::Charge(Entry* entry, int64_t cost, int64_t limit, int64_t now_ns) {
  const int64_t passed = std::clamp<int64_t>(now_ns - entry->last, 0, kLongAgo);
  entry->tokens = std::min(entry->tokens + passed, limit);
  entry->last = std::max(entry->last, now_ns);
  if (entry->tokens < cost) return false;
  entry->tokens -= cost;
  return true;
}

IcmpRateLimiter::Entry& IcmpRateLimiter::Find(const IpAddress& host, int64_t now_ns) {
  uint64_t words[3];
  std::memcpy(words, host.bytes.data(), 16);
  words[2] = static_cast<uint64_t>(host.family) | uint64_t{17} << 56;
  const size_t sets = entries_.size() / kWays;
  Entry* set = &entries_[(SipHash(seed_.k0, seed_.k1, words) & (sets - 1)) * kWays];
  Entry* oldest = set;
  for (size_t way = 0; way < kWays; ++way) {
    Entry& entry = set[way];
    if (entry.host == host) return entry;
    if (oldest->host.empty()) continue;
    if (entry.host.empty() || entry.last < oldest->last) oldest = &entry;
  }
  *oldest = Entry{.host = host, .tokens = kLongAgo, .last = now_ns};
  return *oldest;
}

uint64_t IcmpRateLimiter::Random() {  // splitmix64
  uint64_t z = random_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

bool IcmpRateLimiter::GlobalCredit(int64_t now_ns) {
  if (!credit_started_) {
    credit_started_ = true;
    credit_at_ = now_ns;
  }
  const int64_t rate = settings_.icmp_msgs_per_sec;
  const int64_t passed = std::clamp<int64_t>(now_ns - credit_at_, 0, kSecond);
  const int64_t earned = rate * passed / kSecond;
  if (earned > 0) {
    credit_ += earned;
    // What is left of the last fraction of a credit stays, unless the time was cut.
    credit_at_ = passed == kSecond ? now_ns : credit_at_ + earned * kSecond / rate;
  }
  credit_ = std::min(credit_, settings_.icmp_msgs_burst);
  return credit_ > 0;
}

void IcmpRateLimiter::ConsumeGlobalCredit() { credit_ -= static_cast<int64_t>(Random() % 3); }

bool IcmpRateLimiter::Allow(const Request& request, int64_t now_ns) {
  const std::optional<IcmpTypeCode> code = IcmpErrorCode(request.to.family, request.kind);
  if (!code.has_value()) return false;
  const bool v4 = request.to.is_v4();
  int64_t cost;
  Entry* host = nullptr;
  if (v4) {
    cost = settings_.icmp_ratelimit_ns;
    if (FromRouteLookup(request.kind) && settings_.route_error_cost_ns > 0) {
      host = &Find(request.to, now_ns);
      if (!Charge(host, settings_.route_error_cost_ns, settings_.route_error_burst_ns, now_ns)) {
        ++refused_by_host_;
        return false;
      }
    }
    const bool masked = (settings_.icmp_ratemask >> code->type & 1) != 0;
    if (!masked || request.kind == IcmpErrorKind::kTooBig) return true;
  } else {
    if (request.kind == IcmpErrorKind::kTooBig) return true;
    const int short_of = 128 - std::clamp(request.route_prefix_length, 0, 128);
    cost = settings_.icmpv6_ratelimit_ns >> (short_of >> 5);
  }
  if (!GlobalCredit(now_ns)) {
    ++refused_by_all_;
    return false;
  }
  if (cost > 0) {
    if (host == nullptr) host = &Find(request.to, now_ns);
    if (!Charge(host, cost, cost * settings_.burst, now_ns)) {
      ++refused_by_host_;
      return false;
    }
  }
  ConsumeGlobalCredit();
  return true;
}

size_t IcmpRateLimiter::hosts() const {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.host.empty(); }));
}

}  // namespace sluice
