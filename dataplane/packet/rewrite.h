// What forwarding changes in a packet: one hop less, and a new Ethernet header.
//
//   DecrementTtl(l3);
//   WriteEthernetHeader(l3 - EthernetHeader::kSize, adjacency.mac(), link.mac, kEtherTypeIpv4);
//
// Threads: the packet's owner. Cost: a few stores; no checksum is recomputed.
#ifndef SLUICE_DATAPLANE_PACKET_REWRITE_H_
#define SLUICE_DATAPLANE_PACKET_REWRITE_H_

#include <cstdint>
#include <cstring>

#include "dataplane/base/address.h"
#include "dataplane/packet/headers.h"

namespace sluice {

// One hop less for the IPv4 packet at `l3`, whose TTL is not 0 and whose checksum is right. TTL is the upper byte of
// its word, so the sum falls by 0x0100 and its complement, the checksum, rises by as much, with the carry brought
// round. A rise to 0xffff is written as 0x0000, as recomputing would (RFC 1624 §3; RFC 1141 gets this wrong).
[[gnu::always_inline]] inline void DecrementTtl(uint8_t* l3) {
  uint32_t word;  // TTL, protocol, checksum as one load: the three change together
  std::memcpy(&word, l3 + 8, 4);
  uint32_t checksum = word >> 16;  // memory order: 0x0100 on the wire is 0x0001 here
  checksum += 1 + (checksum >= 0xfffe);
  word = ((word & 0xffff) - 1) | checksum << 16;
  std::memcpy(l3 + 8, &word, 4);
}

// One hop less for the IPv6 packet at `l3`, whose hop limit is not 0.
[[gnu::always_inline]] inline void DecrementHopLimit(uint8_t* l3) { --l3[7]; }

// Writes 14 bytes at `at`, which need not be aligned. Addresses as MacAddress::ToBits gives them, and as adjacency
// cells hold them: what lies in their upper 16 bits is overwritten by the store that follows.
[[gnu::always_inline]] inline void WriteEthernetHeader(uint8_t* at, uint64_t destination_bits, uint64_t source_bits,
                                                       be16 type) {
  std::memcpy(at, &destination_bits, 8);
  std::memcpy(at + 6, &source_bits, 8);
  std::memcpy(at + 12, &type, 2);
}

[[gnu::always_inline]] inline void WriteEthernetHeader(uint8_t* at, MacAddress destination, MacAddress source,
                                                       be16 type) {
  WriteEthernetHeader(at, destination.ToBits(), source.ToBits(), type);
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_REWRITE_H_
