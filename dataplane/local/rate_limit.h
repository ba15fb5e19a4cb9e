// The rate limit of ICMP errors: Linux's token buckets, one per host and one over all, in bounded memory.
//
// Why: a router that answers every bad packet is an amplifier and an oracle. Per host, so that one who scans does not
// silence the answers for others; over all, so that many cannot make us busy; bounded and keyed with a secret, so that
// spoofed sources can neither grow the table nor aim at one bucket of it.
//
//   IcmpRateLimiter limiter(settings, seed);
//   if (limiter.Allow({.kind = kind, .to = source, .route_prefix_length = 24}, now_ns)) -> build and send
//
// The rules of Linux 6.12 (net/ipv4/icmp.c, inetpeer.c, route.c; Documentation/networking/ip-sysctl.rst):
// - a host's bucket holds time: it fills with the clock up to `burst` times what an error costs, and starts full. An
//   IPv4 error costs icmp_ratelimit. An IPv6 error costs icmpv6 ratelimit halved for each full 32 bits that the route
//   to the host is short of 128;
// - types outside the mask are free: IPv4 all but 3, 4, 11, 12 (0x1818), and fragmentation needed always; IPv6 all but
//   errors, and too big always;
// - errors within the mask also need a credit of the bucket over all: 1000/s, burst 50. What an error takes from it is
//   random, 0 to 2, one on average: the count must not tell an outsider how many errors went elsewhere
//   (CVE-2020-25705);
// - an IPv4 unreachable that comes from the route lookup first pays route.error_cost out of the same host bucket, which
//   is cut to route.error_burst for it: both charges apply, so of many at once 2 or 3 are answered.
//   Divergence: with icmp_ratelimit 0, which means no limit, a 6.12 kernel empties the bucket and so starves the other
//   charge; later kernels leave the bucket alone, and so do we.
//
// Threads: one thread (the slow path) owns a limiter. Cost: one hash and one set of eight entries.
#ifndef SLUICE_DATAPLANE_LOCAL_RATE_LIMIT_H_
#define SLUICE_DATAPLANE_LOCAL_RATE_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/address.h"
#include "dataplane/local/punt.h"

namespace sluice {

// Names are the sysctls'. Times in nanoseconds; a cost of 0 is no limit. icmp_msgs_per_sec 0 is, as in Linux, a limit
// of 0: once the burst is used up, nothing within the mask is sent.
struct IcmpRateLimitSettings {
  int64_t icmp_ratelimit_ns = 1'000'000'000;
  int64_t icmpv6_ratelimit_ns = 1'000'000'000;
  uint32_t icmp_ratemask = 0x1818;
  int64_t burst = 6;                 // errors to one host; XRLIM_BURST_FACTOR, not a sysctl
  int64_t icmp_msgs_per_sec = 1000;  // over all hosts and both families
  int64_t icmp_msgs_burst = 50;
  int64_t route_error_cost_ns = 1'000'000'000;
  int64_t route_error_burst_ns = 5'000'000'000;
};

class IcmpRateLimiter {
 public:
  static constexpr size_t kWays = 8;
  static constexpr size_t kDefaultCapacity = 16384;

  struct Seed {
    uint64_t k0 = 0;
    uint64_t k1 = 0;
  };
  struct Request {
    IcmpErrorKind kind = IcmpErrorKind::kNone;
    IpAddress to;                   // the host that the error goes to
    int route_prefix_length = 128;  // of the route to it; IPv6 only
  };

  // `seed`: from a random source, once per start. `capacity`: hosts remembered, rounded up to a power of two; when a
  // set is full, the host that was asked about longest ago is forgotten.
  IcmpRateLimiter(const IcmpRateLimitSettings& settings, Seed seed, size_t capacity = kDefaultCapacity);

  void Configure(const IcmpRateLimitSettings& settings) { settings_ = settings; }
  const IcmpRateLimitSettings& settings() const { return settings_; }

  // Whether this error may be sent now, and if so pays for it. `now_ns`: a clock that does not go back; any origin.
  // kNone, and kinds that the family does not have, are refused.
  bool Allow(const Request& request, int64_t now_ns);

  size_t capacity() const { return entries_.size(); }
  // How many hosts are remembered.
  size_t hosts() const;
  // Refusals, by who refused.
  uint64_t refused_by_host() const { return refused_by_host_; }
  uint64_t refused_by_all() const { return refused_by_all_; }

 private:
  struct Entry {
    IpAddress host;  // empty: free
    int64_t tokens = 0;
    int64_t last = 0;
  };

  Entry& Find(const IpAddress& host, int64_t now_ns);
  // Fills the bucket to now, at most to `limit`, and takes `cost` if it is there.
  static bool Charge(Entry* entry, int64_t cost, int64_t limit, int64_t now_ns);
  bool GlobalCredit(int64_t now_ns);
  void ConsumeGlobalCredit();
  uint64_t Random();

  IcmpRateLimitSettings settings_;
  Seed seed_;
  std::vector<Entry> entries_;
  uint64_t random_;
  int64_t credit_ = 0;  // over all; below zero after a random take
  int64_t credit_at_ = 0;
  bool credit_started_ = false;
  uint64_t refused_by_host_ = 0;
  uint64_t refused_by_all_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_RATE_LIMIT_H_
