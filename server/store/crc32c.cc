#include "server/store/crc32c.h"

#include <nmmintrin.h>

#include <cstring>

namespace sluice::store {

// x86-64-v2, the floor of every build, has the instruction.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
  uint64_t state = crc ^ 0xffffffffu;
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<uint32_t>(state);
  for (; left > 0; ++p, --left) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*p));
  return narrow ^ 0xffffffffu;
}

}  // namespace sluice::store
