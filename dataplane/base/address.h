// Addresses and prefixes of both families, and MAC addresses: plain values that can be compared, hashed, parsed and
// printed.
//
// Why our own: they are keys in persistent maps and packed records, so they have no padding
// (std::has_unique_object_representations), no heap, and a byte order that the type states.
//
//   absl::StatusOr<IpPrefix> p = IpPrefix::Parse("10.0.0.0/8");
//   if (p.ok() && p->Contains(*IpAddress::Parse("10.1.2.3"))) ...
//   Ipv4Address::FromHost(0x0a000001).ToString()        // "10.0.0.1"
//
// Threads: values. Cost: as integers; Parse and ToString are for the control side.
#ifndef SLUICE_DATAPLANE_BASE_ADDRESS_H_
#define SLUICE_DATAPLANE_BASE_ADDRESS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/base/byte_order.h"

namespace sluice {

enum class Family : uint8_t { kNone = 0, kIpv4 = 4, kIpv6 = 6 };

// The largest prefix length of a family: 32 or 128 (0 for kNone).
constexpr int MaxPrefixLength(Family family) {
  return family == Family::kIpv4 ? 32 : family == Family::kIpv6 ? 128 : 0;
}

struct Ipv4Address {
  be32 value;

  static constexpr Ipv4Address FromHost(uint32_t host) { return {be32::FromHost(host)}; }
  // Dotted quad, four decimal parts, nothing else (RFC 6943 §3.1.1 "strict"). INVALID_ARGUMENT names the text.
  static absl::StatusOr<Ipv4Address> Parse(absl::string_view text);
  constexpr uint32_t ToHost() const { return value.ToHost(); }
  std::string ToString() const;

  constexpr bool IsZero() const { return value.raw == 0; }
  constexpr bool IsLoopback() const { return (ToHost() >> 24) == 127; }
  constexpr bool IsMulticast() const { return (ToHost() >> 28) == 0xe; }
  constexpr bool IsLimitedBroadcast() const { return value.raw == 0xffffffffu; }

  friend constexpr bool operator==(const Ipv4Address&, const Ipv4Address&) = default;
  friend constexpr auto operator<=>(const Ipv4Address& a, const Ipv4Address& b) { return a.ToHost() <=> b.ToHost(); }
  template <typename H>
  friend H AbslHashValue(H h, const Ipv4Address& a) {
    return H::combine(std::move(h), a.value.raw);
  }
};

struct Ipv6Address {
  std::array<uint8_t, 16> bytes = {};

  // The first and last eight bytes as host integers, most significant first: the form that lookups work on.
  static Ipv6Address FromHost(uint64_t high, uint64_t low);
  // RFC 4291 text, without zone or prefix. INVALID_ARGUMENT names the text.
  static absl::StatusOr<Ipv6Address> Parse(absl::string_view text);
  uint64_t high() const { return Load(0); }
  uint64_t low() const { return Load(8); }
  std::string ToString() const;  // RFC 5952

  bool IsZero() const { return high() == 0 && low() == 0; }
  bool IsLoopback() const { return high() == 0 && low() == 1; }
  bool IsMulticast() const { return bytes[0] == 0xff; }
  bool IsLinkLocal() const { return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80; }
  // ff02::1:ffXX:XXXX of this address (RFC 4291 §2.7.1).
  Ipv6Address SolicitedNode() const;

  friend bool operator==(const Ipv6Address&, const Ipv6Address&) = default;
  friend auto operator<=>(const Ipv6Address&, const Ipv6Address&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Ipv6Address& a) {
    return H::combine(std::move(h), a.high(), a.low());
  }

 private:
  uint64_t Load(int at) const {
    uint64_t raw;
    std::memcpy(&raw, bytes.data() + at, sizeof raw);
    return ByteSwap(raw);
  }
};

// An address of either family; the family kNone is "no address".
struct IpAddress {
  Family family = Family::kNone;
  std::array<uint8_t, 16> bytes = {};  // IPv4 in the first four, the rest zero

  constexpr IpAddress() = default;
  IpAddress(Ipv4Address a) : family(Family::kIpv4) { std::memcpy(bytes.data(), &a.value.raw, 4); }  // NOLINT
  IpAddress(const Ipv6Address& a) : family(Family::kIpv6), bytes(a.bytes) {}                        // NOLINT
  static absl::StatusOr<IpAddress> Parse(absl::string_view text);

  bool is_v4() const { return family == Family::kIpv4; }
  bool is_v6() const { return family == Family::kIpv6; }
  bool empty() const { return family == Family::kNone; }
  Ipv4Address v4() const;  // requires is_v4()
  Ipv6Address v6() const { return Ipv6Address{bytes}; }
  bool IsZero() const;
  bool IsMulticast() const;
  std::string ToString() const;  // "" for kNone

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const IpAddress& a) {
    return H::combine(std::move(h), a.family, a.bytes);
  }
};
static_assert(std::has_unique_object_representations_v<IpAddress>);

// A prefix in canonical form: no bit set beyond `length`. 0.0.0.0/0 and 0.0.0.0/1 are two prefixes like any others.
struct IpPrefix {
  IpAddress address;
  uint8_t length = 0;

  // "ADDRESS/LENGTH", or "ADDRESS" for a host prefix. INVALID_ARGUMENT for a bad address or length, or for host bits
  // set beyond the length (as `ip route add`, RTNETLINK EINVAL).
  static absl::StatusOr<IpPrefix> Parse(absl::string_view text);
  // The prefix of `length` that holds `address`; host bits are cleared.
  static IpPrefix Of(const IpAddress& address, int length);
  static IpPrefix Host(const IpAddress& address) { return Of(address, MaxPrefixLength(address.family)); }
  static IpPrefix Default(Family family);

  Family family() const { return address.family; }
  bool is_host() const { return length == MaxPrefixLength(family()); }
  bool Contains(const IpAddress& a) const;
  std::string ToString() const;  // always with "/LENGTH"

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const IpPrefix& p) {
    return H::combine(std::move(h), p.address, p.length);
  }
};
static_assert(std::has_unique_object_representations_v<IpPrefix>);

struct MacAddress {
  std::array<uint8_t, 6> bytes = {};

  // Six pairs of hex digits with ':' between. INVALID_ARGUMENT names the text.
  static absl::StatusOr<MacAddress> Parse(absl::string_view text);
  // The low 48 bits of `v`, first byte lowest (as the bytes lie in memory): how adjacency cells hold a MAC.
  static MacAddress FromBits(uint64_t v) {
    MacAddress m;
    std::memcpy(m.bytes.data(), &v, 6);
    return m;
  }
  uint64_t ToBits() const {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data(), 6);
    return v;
  }
  bool IsZero() const { return ToBits() == 0; }
  bool IsMulticast() const { return bytes[0] & 1; }  // broadcast included
  bool IsBroadcast() const { return ToBits() == 0xffffffffffffull; }
  std::string ToString() const;

  friend bool operator==(const MacAddress&, const MacAddress&) = default;
  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MacAddress& m) {
    return H::combine(std::move(h), m.bytes);
  }
};
static_assert(std::has_unique_object_representations_v<MacAddress>);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_ADDRESS_H_
