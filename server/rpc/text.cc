#include "server/rpc/text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sluice::rpc {
namespace {

// A decimal number without sign, space or leading zero; -1 if it is none or above `max`.
int ParseLength(absl::string_view text, int max) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return -1;
  int value = 0;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value <= max ? value : -1;
}

}  // namespace

absl::string_view ParseAddress(absl::string_view text, IpAddress* out) {
  auto address = IpAddress::Parse(text);
  if (!address.ok()) return "INVALID_ADDRESS";
  *out = *address;
  return "";
}

absl::string_view ParseInterfaceAddress(absl::string_view text, IpAddress* address, uint8_t* length) {
  const size_t slash = text.find('/');
  if (ParseAddress(text.substr(0, slash), address) != "") return "INVALID_ADDRESS";
  const int max = MaxPrefixLength(address->family);
  if (slash == absl::string_view::npos) {
    *length = static_cast<uint8_t>(max);
    return "";
  }
  const int value = ParseLength(text.substr(slash + 1), max);
  if (value < 0) return "INVALID_PREFIX";
  *length = static_cast<uint8_t>(value);
  return "";
}

absl::string_view ParsePrefix(absl::string_view text, IpPrefix* out) {
  IpAddress address;
  uint8_t length;
  if (ParseInterfaceAddress(text, &address, &length) != "") return "INVALID_PREFIX";
  *out = IpPrefix::Of(address, length);
  if (out->address != address) return "HOST_BITS_SET";
  return "";
}

absl::string_view ParseMac(absl::string_view text, MacAddress* out) {
  auto mac = MacAddress::Parse(text);
  if (!mac.ok()) return "INVALID_MAC";
  *out = *mac;
  return "";
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kMax = 80;
  std::string escaped = absl::CHexEscape(text.substr(0, kMax));
  return absl::StrCat("\"", escaped.substr(0, kMax), text.size() > kMax || escaped.size() > kMax ? "..." : "", "\"");
}

}  // namespace sluice::rpc
