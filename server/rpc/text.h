// Strict parsing of the texts in requests, with the reason of what is wrong.
//
// Why: an address, a prefix and a MAC can be wrong in ways that a caller wants to tell apart, and every message has to
// name the field and show the text, whatever bytes are in it and however many.
//
//   if (absl::string_view why = ParsePrefix(text, &prefix); !why.empty()) return Refuse(why, field, ...);
//
// Threads: pure functions.
#ifndef SLUICE_SERVER_RPC_TEXT_H_
#define SLUICE_SERVER_RPC_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "dataplane/base/address.h"

namespace sluice::rpc {

// Each returns "" and sets `*out`, or the name of the reason.
[[nodiscard]] absl::string_view ParseAddress(absl::string_view text, IpAddress* out);  // INVALID_ADDRESS
[[nodiscard]] absl::string_view ParsePrefix(absl::string_view text, IpPrefix* out);    // INVALID_PREFIX, HOST_BITS_SET
[[nodiscard]] absl::string_view ParseMac(absl::string_view text, MacAddress* out);     // INVALID_MAC
// "ADDRESS/LENGTH" with host bits, or "ADDRESS" for a host: INVALID_ADDRESS, INVALID_PREFIX.
[[nodiscard]] absl::string_view ParseInterfaceAddress(absl::string_view text, IpAddress* address, uint8_t* length);

// The text in quotes, made printable, and cut to some 80 bytes.
std::string Quoted(absl::string_view text);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_TEXT_H_
