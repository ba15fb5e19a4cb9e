// CRC32C (Castagnoli, RFC 3720 appendix B.4), by the SSE4.2 instruction: records of the log carry it.
//
// Threads: pure. Cost: about 0.1 ns a byte.
#ifndef SLUICE_SERVER_STORE_CRC32C_H_
#define SLUICE_SERVER_STORE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice::store {

// The checksum of what `crc` covers followed by `bytes`. ExtendCrc32c(0, "123456789") == 0xe3069283.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

}  // namespace sluice::store

#endif  // SLUICE_SERVER_STORE_CRC32C_H_
