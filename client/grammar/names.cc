#include "client/grammar/names.h"

#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::client {
namespace {

struct Name {
  uint32_t number = 0;
  absl::string_view word;
};

constexpr Name kTables[] = {{kTableLocal, "local"}, {kTableMain, "main"}, {kTableDefault, "default"}};

constexpr Name kProtocols[] = {
    {0, "unspec"},      {1, "redirect"}, {2, "kernel"}, {3, "boot"},      {4, "static"}, {8, "gated"}, {9, "ra"},
    {10, "mrt"},        {11, "zebra"},   {12, "bird"},  {13, "dnrouted"}, {14, "xorp"},  {15, "ntk"},  {16, "dhcp"},
    {18, "keepalived"}, {42, "babel"},   {186, "bgp"},  {187, "isis"},    {188, "ospf"}, {189, "rip"}, {192, "eigrp"}};

constexpr Name kTos[] = {
    {0x00, "default"}, {0x28, "AF11"}, {0x30, "AF12"}, {0x38, "AF13"}, {0x48, "AF21"}, {0x50, "AF22"}, {0x58, "AF23"},
    {0x68, "AF31"},    {0x70, "AF32"}, {0x78, "AF33"}, {0x88, "AF41"}, {0x90, "AF42"}, {0x98, "AF43"}, {0x20, "CS1"},
    {0x40, "CS2"},     {0x60, "CS3"},  {0x80, "CS4"},  {0xa0, "CS5"},  {0xc0, "CS6"},  {0xe0, "CS7"},  {0xb8, "EF"}};

constexpr Name kIpProtocols[] = {{1, "icmp"}, {6, "tcp"},  {17, "udp"},   {47, "gre"},       {50, "esp"},
                                 {51, "ah"},  {4, "ipip"}, {132, "sctp"}, {58, "ipv6-icmp"}, {58, "icmpv6"}};

constexpr Name kScopes[] = {{v1::SCOPE_UNIVERSE, "global"}, {v1::SCOPE_UNIVERSE, "universe"}, {v1::SCOPE_UNIVERSE, "0"},
                            {v1::SCOPE_SITE, "site"},       {v1::SCOPE_SITE, "200"},          {v1::SCOPE_LINK, "link"},
                            {v1::SCOPE_LINK, "253"},        {v1::SCOPE_HOST, "host"},         {v1::SCOPE_HOST, "254"},
                            {v1::SCOPE_NOWHERE, "nowhere"}, {v1::SCOPE_NOWHERE, "255"}};

constexpr Name kRouteTypes[] = {{v1::ROUTE_TYPE_UNICAST, "unicast"},
                                {v1::ROUTE_TYPE_LOCAL, "local"},
                                {v1::ROUTE_TYPE_BROADCAST, "broadcast"},
                                {v1::ROUTE_TYPE_BLACKHOLE, "blackhole"},
                                {v1::ROUTE_TYPE_UNREACHABLE, "unreachable"},
                                {v1::ROUTE_TYPE_PROHIBIT, "prohibit"},
                                {v1::ROUTE_TYPE_THROW, "throw"}};

constexpr Name kNud[] = {{v1::NUD_STATE_INCOMPLETE, "INCOMPLETE"}, {v1::NUD_STATE_REACHABLE, "REACHABLE"},
                         {v1::NUD_STATE_STALE, "STALE"},           {v1::NUD_STATE_DELAY, "DELAY"},
                         {v1::NUD_STATE_PROBE, "PROBE"},           {v1::NUD_STATE_FAILED, "FAILED"},
                         {v1::NUD_STATE_NOARP, "NOARP"},           {v1::NUD_STATE_PERMANENT, "PERMANENT"}};

template <size_t n>
std::optional<uint32_t> NumberOf(const Name (&names)[n], absl::string_view word) {
  for (const Name& name : names) {
    if (name.word == word) return name.number;
  }
  return std::nullopt;
}

template <size_t n>
absl::string_view WordOf(const Name (&names)[n], uint32_t number) {
  for (const Name& name : names) {
    if (name.number == number) return name.word;
  }
  return {};
}

std::optional<uint32_t> Digits(absl::string_view digits, int base) {
  uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool HasHexPrefix(absl::string_view word) {
  return word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
}

}  // namespace

std::optional<uint32_t> ParseNumber(absl::string_view word) {
  if (HasHexPrefix(word)) return Digits(word.substr(2), 16);
  if (word.size() > 1 && word[0] == '0') return Digits(word.substr(1), 8);
  return Digits(word, 10);
}

std::optional<uint32_t> TableOf(absl::string_view word) {
  std::optional<uint32_t> table = NumberOf(kTables, word);
  if (!table.has_value()) table = ParseNumber(word);
  if (table == 0u) return std::nullopt;
  return table;
}

std::string TableWord(uint32_t table) {
  const absl::string_view word = WordOf(kTables, table);
  return word.empty() ? absl::StrCat(table) : std::string(word);
}

std::optional<uint32_t> ProtocolOf(absl::string_view word) {
  std::optional<uint32_t> protocol = NumberOf(kProtocols, word);
  if (!protocol.has_value()) protocol = ParseNumber(word);
  if (protocol.has_value() && *protocol > 255) return std::nullopt;
  return protocol;
}

std::string ProtocolWord(uint32_t protocol) {
  const absl::string_view word = WordOf(kProtocols, protocol);
  return word.empty() ? absl::StrCat(protocol) : std::string(word);
}

std::optional<uint32_t> TosOf(absl::string_view word) {
  std::optional<uint32_t> tos = NumberOf(kTos, word);
  if (!tos.has_value()) tos = Digits(HasHexPrefix(word) ? word.substr(2) : word, 16);
  if (tos.has_value() && *tos > 255) return std::nullopt;
  return tos;
}

std::string TosWord(uint32_t tos) {
  const absl::string_view word = WordOf(kTos, tos);
  return word.empty() ? absl::StrFormat("0x%02x", tos) : std::string(word);
}

std::optional<uint32_t> IpProtocolOf(absl::string_view word) {
  std::optional<uint32_t> protocol = NumberOf(kIpProtocols, word);
  if (!protocol.has_value()) protocol = ParseNumber(word);
  if (protocol.has_value() && *protocol > 255) return std::nullopt;
  return protocol;
}

v1::Scope ScopeOf(absl::string_view word) { return static_cast<v1::Scope>(NumberOf(kScopes, word).value_or(0)); }
absl::string_view ScopeWord(v1::Scope scope) { return WordOf(kScopes, scope); }

v1::RouteType RouteTypeOf(absl::string_view word) {
  return static_cast<v1::RouteType>(NumberOf(kRouteTypes, word).value_or(0));
}
absl::string_view RouteTypeWord(v1::RouteType type) { return WordOf(kRouteTypes, type); }

v1::NudState NudOf(absl::string_view word) {
  for (const Name& name : kNud) {
    if (absl::EqualsIgnoreCase(name.word, word)) return static_cast<v1::NudState>(name.number);
  }
  return v1::NUD_STATE_UNSPECIFIED;
}
absl::string_view NudWord(v1::NudState state) { return WordOf(kNud, state); }

}  // namespace sluice::client
