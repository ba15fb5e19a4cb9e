// IPv4 options: whether they are well formed, and where the ones are that anybody here cares about.
//
// Why: a packet with options is rare and hostile until proven otherwise. One walk, with Linux's rules for what is
// malformed, decides; the offending byte is what a parameter problem points at (RFC 792).
//
//   const Ipv4Options options = ParseIpv4Options(l3);
//   if (!options.well_formed()) -> IcmpErrorKind::kParameterProblem with info = options.bad
//   if (options.source_route) -> refuse, DropReason::kIpv4BadOptions (Linux: accept_source_route=0, the default)
//
// Threads: functions of their arguments. Cost: a walk over at most 40 bytes.
#ifndef SLUICE_DATAPLANE_PACKET_IPV4_OPTIONS_H_
#define SLUICE_DATAPLANE_PACKET_IPV4_OPTIONS_H_

#include <cstdint>

namespace sluice {

inline constexpr uint8_t kOptionEnd = 0;
inline constexpr uint8_t kOptionNoOperation = 1;
inline constexpr uint8_t kOptionRecordRoute = 7;
inline constexpr uint8_t kOptionTimestamp = 68;
inline constexpr uint8_t kOptionLooseSourceRoute = 131;
inline constexpr uint8_t kOptionStrictSourceRoute = 137;
inline constexpr uint8_t kOptionRouterAlert = 148;
inline constexpr uint8_t kOptionCopyBit = 0x80;

// Offsets from the start of the IP header; 0: absent. An option that is here lies inside the header with the length it
// states, and its pointer, where it has one, is at least the smallest that the option allows.
struct Ipv4Options {
  uint8_t bad = 0;  // the offending byte; then nothing after it was looked at
  uint8_t record_route = 0;
  uint8_t timestamp = 0;
  uint8_t source_route = 0;
  uint8_t router_alert = 0;

  bool well_formed() const { return bad == 0; }
};

// `l3`: a header that CheckIpv4 found ok. Options that are not known pass; anything after end-of-list is ignored.
Ipv4Options ParseIpv4Options(const uint8_t* l3);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_IPV4_OPTIONS_H_
