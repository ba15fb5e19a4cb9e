// Words for numbers: tables, protocols, scopes, route types, neighbour states, TOS values.
//
// The names are those of iproute2's files in /etc/iproute2 as they are shipped (rt_tables, rt_protos, rt_scopes,
// rt_dsfield); the files themselves are not read, so that a command means the same on every machine.
//
// Threads: constants. Each parser returns nothing for a word that it does not know.
#ifndef SLUICE_CLIENT_GRAMMAR_NAMES_H_
#define SLUICE_CLIENT_GRAMMAR_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sluice/v1/neighbor.pb.h"
#include "sluice/v1/route.pb.h"
#include "sluice/v1/scope.pb.h"

namespace sluice::client {

inline constexpr uint32_t kTableDefault = 253, kTableMain = 254, kTableLocal = 255;
inline constexpr uint32_t kProtocolBoot = 3;

// Decimal, 0x..., or octal with a leading 0, as strtoul with base 0, but strict.
std::optional<uint32_t> ParseNumber(absl::string_view word);

std::optional<uint32_t> TableOf(absl::string_view word);  // "main", "0x64"; never 0
std::string TableWord(uint32_t table);
std::optional<uint32_t> ProtocolOf(absl::string_view word);  // "static", "4"; up to 255
std::string ProtocolWord(uint32_t protocol);
std::optional<uint32_t> TosOf(absl::string_view word);  // "AF21", or hexadecimal with or without 0x, as iproute2
std::string TosWord(uint32_t tos);
std::optional<uint32_t> IpProtocolOf(absl::string_view word);  // "udp", "17"

// v1::SCOPE_UNSPECIFIED and the like: not known.
v1::Scope ScopeOf(absl::string_view word);
absl::string_view ScopeWord(v1::Scope scope);
v1::RouteType RouteTypeOf(absl::string_view word);
absl::string_view RouteTypeWord(v1::RouteType type);
v1::NudState NudOf(absl::string_view word);     // "permanent", any case
absl::string_view NudWord(v1::NudState state);  // "PERMANENT"

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_NAMES_H_
