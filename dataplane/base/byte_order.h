// Integers as they lie on the wire, as types of their own.
//
// Why: half of a router's bugs are a forgotten or a doubled byte swap. A be16 does not convert to an integer, nor an
// integer to it, except through these two named functions; the compiler then finds what a reviewer would miss.
//
//   be16 type = eth->type;
//   if (type == be16::FromHost(0x0800)) ...        // compares without a swap at run time
//   uint16_t length = ip->total_length.ToHost();
//
// Threads: values. Cost: one bswap, or none where the argument is a constant.
#ifndef SLUICE_DATAPLANE_BASE_BYTE_ORDER_H_
#define SLUICE_DATAPLANE_BASE_BYTE_ORDER_H_

#include <bit>
#include <compare>
#include <cstdint>

namespace sluice {

static_assert(std::endian::native == std::endian::little, "Sluice runs on x86-64");

constexpr uint16_t ByteSwap(uint16_t v) { return __builtin_bswap16(v); }
constexpr uint32_t ByteSwap(uint32_t v) { return __builtin_bswap32(v); }
constexpr uint64_t ByteSwap(uint64_t v) { return __builtin_bswap64(v); }

// A big-endian integer. `raw` is the memory image; it is public for code that works on many at once (vector loads,
// checksums), which must not mistake it for the value.
template <typename T>
struct BigEndian {
  T raw = 0;

  static constexpr BigEndian FromHost(T host) { return BigEndian{ByteSwap(host)}; }
  constexpr T ToHost() const { return ByteSwap(raw); }

  friend constexpr bool operator==(BigEndian a, BigEndian b) { return a.raw == b.raw; }
  friend constexpr auto operator<=>(BigEndian a, BigEndian b) { return a.ToHost() <=> b.ToHost(); }
  friend constexpr BigEndian operator&(BigEndian a, BigEndian b) { return {static_cast<T>(a.raw & b.raw)}; }
  friend constexpr BigEndian operator|(BigEndian a, BigEndian b) { return {static_cast<T>(a.raw | b.raw)}; }
};

using be16 = BigEndian<uint16_t>;
using be32 = BigEndian<uint32_t>;
using be64 = BigEndian<uint64_t>;

static_assert(sizeof(be16) == 2 && sizeof(be32) == 4 && sizeof(be64) == 8);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_BASE_BYTE_ORDER_H_
