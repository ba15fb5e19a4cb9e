// The Internet checksum: whole, in pieces, and by difference.
//
// Why in memory order: the ones' complement sum does not care for byte order (RFC 1071 §2 (B)), so sums are taken over
// 64-bit words as they lie in memory and a be16 comes out by folding, without one byte swap. Differences are RFC 1624's
// equation 3, whose result is the one a full recomputation gives, also where RFC 1141 would yield 0xffff for 0.
//
//   ip->checksum = be16{};
//   ip->checksum = InternetChecksum(header);
//   ChecksumSum sum;                                   // over pieces, of any length, odd ones too
//   sum.Add(PseudoHeader(source, destination, kProtocolUdp, udp_length)).Add(udp).Add(rest_of_a_chain);
//   if (sum.Finish() == be16{}) ...                    // a datagram that carries its checksum sums to 0
//   check = UpdateChecksum(check, old_word, new_word);
//
// Threads: functions of their arguments. Cost: an add with carry for each eight bytes.
#ifndef SLUICE_DATAPLANE_PACKET_CHECKSUM_H_
#define SLUICE_DATAPLANE_PACKET_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/base/byte_order.h"
#include "dataplane/packet/headers.h"

namespace sluice {

// a + b with the carry brought round: a sum modulo 2^64-1, which keeps the sum modulo 0xffff.
[[gnu::always_inline]] inline uint64_t AddWithCarry(uint64_t a, uint64_t b) {
  uint64_t sum;
  const bool carry = __builtin_add_overflow(a, b, &sum);
  return sum + carry;
}

// The 64-bit sum folded to 16 bits, memory order. 0 only for a sum of zeros.
[[gnu::always_inline]] inline uint16_t FoldSum(uint64_t sum) {
  sum += sum >> 32 | sum << 32;  // the upper half is now the end-around sum of both halves
  uint32_t half = static_cast<uint32_t>(sum >> 32);
  half += half >> 16 | half << 16;
  return static_cast<uint16_t>(half >> 16);
}

// Adds `bytes` to a running sum (an odd last byte is padded with zero, RFC 1071 §4.1).
inline uint64_t SumBytes(absl::Span<const uint8_t> bytes, uint64_t sum = 0) {
  const uint8_t* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    sum = AddWithCarry(sum, word);
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, p, left);
    sum = AddWithCarry(sum, word);
  }
  return sum;
}

// The checksum field for `bytes`, whose own field is zero; or 0 for bytes that include their correct checksum.
inline be16 InternetChecksum(absl::Span<const uint8_t> bytes) {
  return be16{static_cast<uint16_t>(~FoldSum(SumBytes(bytes)))};
}

// A running sum over pieces of any length: a piece that begins at an odd distance is swapped (RFC 1071 §2 (B)).
class ChecksumSum {
 public:
  ChecksumSum& Add(absl::Span<const uint8_t> bytes) {
    uint64_t piece = SumBytes(bytes);
    if (odd_) piece = piece << 8 | piece >> 56;
    sum_ = AddWithCarry(sum_, piece);
    odd_ ^= bytes.size() & 1;
    return *this;
  }
  // A sum of an even number of bytes, such as a pseudo header.
  ChecksumSum& Add(uint64_t even_sum) {
    sum_ = AddWithCarry(sum_, even_sum);
    return *this;
  }
  be16 Finish() const { return be16{static_cast<uint16_t>(~FoldSum(sum_))}; }

 private:
  uint64_t sum_ = 0;
  bool odd_ = false;
};

// The sum of the pseudo header (RFC 768, RFC 9293 §3.1). `length`: bytes of the upper layer's header and data.
inline uint64_t PseudoHeader(Ipv4Address source, Ipv4Address destination, uint8_t protocol, uint32_t length) {
  return uint64_t{source.value.raw} + destination.value.raw + be32::FromHost(protocol).raw + be32::FromHost(length).raw;
}

// RFC 8200 §8.1. `protocol`: the upper layer's, not that of an extension header before it.
inline uint64_t PseudoHeader(const Ipv6Address& source, const Ipv6Address& destination, uint8_t protocol,
                             uint32_t length) {
  return SumBytes(destination.bytes,
                  SumBytes(source.bytes, uint64_t{be32::FromHost(protocol).raw} + be32::FromHost(length).raw));
}

// The checksum of a UDP datagram whose field is zero; 0 is sent as 0xffff (RFC 768). `pseudo`: PseudoHeader(...).
inline be16 UdpChecksum(uint64_t pseudo, absl::Span<const uint8_t> datagram) {
  const be16 checksum = be16{static_cast<uint16_t>(~FoldSum(SumBytes(datagram, pseudo)))};
  return checksum.raw == 0 ? be16{0xffff} : checksum;
}

// The checksum of an ICMPv6 message whose field is zero (RFC 4443 §2.3).
inline be16 Icmpv6Checksum(const Ipv6Address& source, const Ipv6Address& destination,
                           absl::Span<const uint8_t> message) {
  const uint64_t pseudo = PseudoHeader(source, destination, kProtocolIcmpv6, static_cast<uint32_t>(message.size()));
  return be16{static_cast<uint16_t>(~FoldSum(SumBytes(message, pseudo)))};
}

// The checksum after one aligned word under it changed (RFC 1624 eqn. 3). For UDP the caller keeps the two meanings of
// 0 apart: a field of 0 is "none" and stays, a result of 0 is sent as 0xffff.
inline be16 UpdateChecksum(be16 checksum, be16 old_word, be16 new_word) {
  uint32_t sum = static_cast<uint16_t>(~checksum.raw);
  sum += static_cast<uint16_t>(~old_word.raw);
  sum += new_word.raw;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return be16{static_cast<uint16_t>(~sum)};
}

inline be16 UpdateChecksum(be16 checksum, be32 old_word, be32 new_word) {
  uint64_t sum = static_cast<uint16_t>(~checksum.raw);
  sum += static_cast<uint32_t>(~old_word.raw);
  sum += new_word.raw;
  return be16{static_cast<uint16_t>(~FoldSum(sum))};
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_CHECKSUM_H_
