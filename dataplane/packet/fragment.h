// IPv4 fragmentation: one packet into the fragments that fit an MTU (RFC 791 §3.2, RFC 1812 §5.2.7.2).
//
// Why pieces and not packets: only the header of a fragment is new. Each piece is that header and a range of the
// original, so the caller decides whether to copy the range, or to chain a buffer to it.
//
//   Ipv4Fragmenter fragmenter(l3, length, mtu);
//   if (!fragmenter.ok()) return Drop(DropReason::kFragmentFailed);
//   for (Ipv4Fragment f; fragmenter.Next(&f);) Send(f.header_bytes(), l3 + f.payload_offset, f.payload_length);
//
// Fragments are those of Linux: every one but the last as full as the MTU allows, the header length the same for all.
// The first keeps all options; later ones keep those whose copy bit is set, and have no-operations in place of the
// others. A packet that is itself a fragment keeps its offset, and its last piece keeps MF.
//
// Threads: the packet's owner. Cost: a header of at most 60 bytes and its checksum for each fragment; no memory.
#ifndef SLUICE_DATAPLANE_PACKET_FRAGMENT_H_
#define SLUICE_DATAPLANE_PACKET_FRAGMENT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "dataplane/packet/headers.h"

namespace sluice {

struct Ipv4Fragment {
  uint8_t header[Ipv4Header::kMaxSize];
  uint32_t header_length = 0;
  uint32_t payload_offset = 0;  // from the start of the original's L3 header, bytes
  uint32_t payload_length = 0;

  absl::Span<const uint8_t> header_bytes() const { return absl::MakeConstSpan(header, header_length); }
};

class Ipv4Fragmenter {
 public:
  // `l3`: a packet that CheckIpv4 found ok, `length` its total length; only its header is read. It has DF clear, or the
  // caller overrides it: fragments have DF clear. `mtu`: L3 bytes of the way out.
  Ipv4Fragmenter(const uint8_t* l3, uint32_t length, uint32_t mtu);

  // False when the MTU has no room for 8 bytes of payload, or when data would lie beyond byte 65535 of the datagram,
  // which only a forged fragment claims. Then there are no fragments.
  bool ok() const { return ok_; }
  // How many Next will give; 1 for a packet that fits.
  uint32_t count() const;
  // The next fragment; false after the last.
  bool Next(Ipv4Fragment* out);

 private:
  uint8_t header_[Ipv4Header::kMaxSize];
  uint32_t header_length_;
  uint32_t length_;
  uint32_t room_ = 0;  // payload bytes of a full fragment: a multiple of 8, or all
  uint32_t position_;  // of the next payload byte in the packet
  uint32_t offset_;    // of the packet's payload in its datagram, bytes
  bool more_after_;    // the packet is a fragment with MF
  bool ok_ = false;
  bool done_ = false;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_FRAGMENT_H_
