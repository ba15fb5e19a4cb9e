#include "dataplane/base/address.h"

#include <arpa/inet.h>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice {
namespace {

absl::Status Invalid(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", what));
}

// inet_pton wants a terminated string; no address is longer than this.
template <typename Out>
bool ParseWith(int family, absl::string_view text, Out* out) {
  char buffer[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof buffer || text.find('\0') != absl::string_view::npos) return false;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return inet_pton(family, buffer, out) == 1;
}

// Zeroes the bits of `bytes` from bit `length` on; true when any of them was set.
bool ClearHostBits(std::array<uint8_t, 16>& bytes, int length, int max_length) {
  bool had = false;
  for (int i = 0; i < max_length / 8; ++i) {
    const int keep = length - i * 8;
    const uint8_t mask = keep >= 8 ? 0xff : keep <= 0 ? 0 : static_cast<uint8_t>(0xff << (8 - keep));
    had = had || (bytes[i] & ~mask) != 0;
    bytes[i] &= mask;
  }
  return had;
}

}  // namespace

absl::StatusOr<Ipv4Address> Ipv4Address::Parse(absl::string_view text) {
  Ipv4Address a;
  if (!ParseWith(AF_INET, text, &a.value.raw)) return Invalid("an IPv4 address", text);
  return a;
}

std::string Ipv4Address::ToString() const {
  const uint32_t v = ToHost();
  return absl::StrCat(v >> 24, ".", (v >> 16) & 0xff, ".", (v >> 8) & 0xff, ".", v & 0xff);
}

Ipv6Address Ipv6Address::FromHost(uint64_t high, uint64_t low) {
  Ipv6Address a;
  high = ByteSwap(high);
  low = ByteSwap(low);
  std::memcpy(a.bytes.data(), &high, 8);
  std::memcpy(a.bytes.data() + 8, &low, 8);
  return a;
}

absl::StatusOr<Ipv6Address> Ipv6Address::Parse(absl::string_view text) {
  Ipv6Address a;
  if (!ParseWith(AF_INET6, text, a.bytes.data())) return Invalid("an IPv6 address", text);
  return a;
}

std::string Ipv6Address::ToString() const {
  char buffer[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

Ipv6Address Ipv6Address::SolicitedNode() const {
  return FromHost(0xff02000000000000ull, 0x00000001ff000000ull | (low() & 0xffffff));
}

absl::StatusOr<IpAddress> IpAddress::Parse(absl::string_view text) {
  if (text.find(':') != absl::string_view::npos) {
    absl::StatusOr<Ipv6Address> a = Ipv6Address::Parse(text);
    if (!a.ok()) return a.status();
    return IpAddress(*a);
  }
  Ipv4Address a;
  if (!ParseWith(AF_INET, text, &a.value.raw)) return Invalid("an IP address", text);
  return IpAddress(a);
}

Ipv4Address IpAddress::v4() const {
  Ipv4Address a;
  std::memcpy(&a.value.raw, bytes.data(), 4);
  return a;
}

bool IpAddress::IsZero() const { return bytes == std::array<uint8_t, 16>{}; }

bool IpAddress::IsMulticast() const {
  return family == Family::kIpv4 ? v4().IsMulticast() : family == Family::kIpv6 && bytes[0] == 0xff;
}

std::string IpAddress::ToString() const {
  switch (family) {
    case Family::kIpv4:
      return v4().ToString();
    case Family::kIpv6:
      return v6().ToString();
    case Family::kNone:
      break;
  }
  return "";
}

absl::StatusOr<IpPrefix> IpPrefix::Parse(absl::string_view text) {
  const size_t slash = text.find('/');
  absl::StatusOr<IpAddress> address = IpAddress::Parse(text.substr(0, slash));
  if (!address.ok()) return Invalid("a prefix (ADDRESS/LENGTH)", text);
  const int max_length = MaxPrefixLength(address->family);
  int length = max_length;
  if (slash != absl::string_view::npos) {
    const absl::string_view digits = text.substr(slash + 1);
    if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
        !absl::SimpleAtoi(digits, &length) || length > max_length) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": the prefix length must be 0 to ", max_length));
    }
  }
  IpPrefix prefix{*address, static_cast<uint8_t>(length)};
  if (ClearHostBits(prefix.address.bytes, length, max_length)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" has host bits set beyond its length; did you mean ", prefix.ToString(), "?"));
  }
  return prefix;
}

IpPrefix IpPrefix::Of(const IpAddress& address, int length) {
  IpPrefix prefix{address, static_cast<uint8_t>(length)};
  ClearHostBits(prefix.address.bytes, length, MaxPrefixLength(address.family));
  return prefix;
}

IpPrefix IpPrefix::Default(Family family) {
  IpPrefix prefix;
  prefix.address.family = family;
  return prefix;
}

bool IpPrefix::Contains(const IpAddress& a) const {
  return a.family == address.family && Of(a, length).address == address;
}

std::string IpPrefix::ToString() const { return absl::StrCat(address.ToString(), "/", int{length}); }

absl::StatusOr<MacAddress> MacAddress::Parse(absl::string_view text) {
  MacAddress m;
  if (text.size() != 17) return Invalid("a MAC address (aa:bb:cc:dd:ee:ff)", text);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i % 3 == 2 ? c != ':' : !absl::ascii_isxdigit(c)) return Invalid("a MAC address (aa:bb:cc:dd:ee:ff)", text);
    if (i % 3 != 2) {
      const int digit = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
      m.bytes[i / 3] = static_cast<uint8_t>(m.bytes[i / 3] << 4 | digit);
    }
  }
  return m;
}

std::string MacAddress::ToString() const {
  return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
}

}  // namespace sluice
