// Packets for tests: a builder with every field at hand, and a table of valid packets.
//
// Why a table: whatever reads packets is tested with the same ones, cut at every byte, and a packet that once found a
// bug is added here for all of them. For tests and benchmarks only.
//
//   Bytes p = BuildIpv4({.source = "10.0.0.1", .destination = "10.0.1.1", .ttl = 1, .payload = BuildUdp4(...)});
//   Bytes frame = BuildFrame(p, kEtherTypeIpv4);
//   for (const PacketFixture& f : ValidPackets()) ...
//
// Threads: any. Cost: allocates.
#ifndef SLUICE_DATAPLANE_PACKET_FIXTURES_H_
#define SLUICE_DATAPLANE_PACKET_FIXTURES_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

inline Ipv4Address V4(absl::string_view text) { return Ipv4Address::Parse(text).value(); }
inline Ipv6Address V6(absl::string_view text) { return Ipv6Address::Parse(text).value(); }

inline Bytes Concat(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `size` bytes that differ from their neighbours and from zero.
inline Bytes Pattern(size_t size, uint8_t seed = 1) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed + i * 7 + (i >> 8)) | 1;
  return bytes;
}

struct Ipv4Spec {
  std::string source = "10.0.0.1";
  std::string destination = "10.0.1.1";
  uint8_t protocol = kProtocolUdp;
  uint8_t ttl = 64;
  uint8_t tos = 0;
  uint16_t id = 0x1234;
  uint16_t fragment = 0;  // flags and offset, host order
  Bytes options = {};     // padded with end-of-list to a multiple of 4
  Bytes payload = {};
};

// Writes the header checksum of the packet anew, after a test has changed it.
inline void FixIpv4Checksum(Bytes* packet) {
  auto* ip = HeaderAt<Ipv4Header>(packet->data());
  ip->checksum = be16{};
  ip->checksum = InternetChecksum(absl::MakeConstSpan(packet->data(), ip->header_length()));
}

inline Bytes BuildIpv4(Ipv4Spec spec) {
  while (spec.options.size() % 4 != 0) spec.options.push_back(0);
  Bytes packet(Ipv4Header::kMinSize);
  packet.insert(packet.end(), spec.options.begin(), spec.options.end());
  auto* ip = HeaderAt<Ipv4Header>(packet.data());
  ip->version_ihl = static_cast<uint8_t>(0x40 | packet.size() / 4);
  ip->tos = spec.tos;
  ip->total_length = be16::FromHost(static_cast<uint16_t>(packet.size() + spec.payload.size()));
  ip->id = be16::FromHost(spec.id);
  ip->fragment = be16::FromHost(spec.fragment);
  ip->ttl = spec.ttl;
  ip->protocol = spec.protocol;
  ip->source = V4(spec.source);
  ip->destination = V4(spec.destination);
  FixIpv4Checksum(&packet);
  return Concat(std::move(packet), spec.payload);
}

struct Ipv6Spec {
  std::string source = "2001:db8::1";
  std::string destination = "2001:db8:1::1";
  uint8_t next_header = kProtocolUdp;  // of the last extension header, or of the header itself
  uint8_t hop_limit = 64;
  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;
  // {protocol number, header bytes}: the first byte of each is set to what follows.
  std::vector<std::pair<uint8_t, Bytes>> extensions = {};
  Bytes payload = {};
};

inline Bytes BuildIpv6(const Ipv6Spec& spec) {
  Bytes packet(Ipv6Header::kSize);
  for (const auto& extension : spec.extensions) {
    packet.insert(packet.end(), extension.second.begin(), extension.second.end());
  }
  packet.insert(packet.end(), spec.payload.begin(), spec.payload.end());
  auto* ip = HeaderAt<Ipv6Header>(packet.data());
  ip->SetVersionClassFlow(spec.traffic_class, spec.flow_label);
  ip->payload_length = be16::FromHost(static_cast<uint16_t>(packet.size() - Ipv6Header::kSize));
  ip->hop_limit = spec.hop_limit;
  ip->source = V6(spec.source);
  ip->destination = V6(spec.destination);
  uint8_t* next = &ip->next_header;
  size_t at = Ipv6Header::kSize;
  for (const auto& extension : spec.extensions) {
    *next = extension.first;
    next = &packet[at];
    at += extension.second.size();
  }
  *next = spec.next_header;
  return packet;
}

// An extension header of `size` bytes (a multiple of 8) filled with one PadN option (RFC 8200 §4.2).
inline Bytes PaddedOptions(size_t size) {
  Bytes header(size);
  header[1] = static_cast<uint8_t>(size / 8 - 1);
  header[2] = 1;
  header[3] = static_cast<uint8_t>(size - 4);
  return header;
}

inline Bytes FragmentExtension(uint16_t offset_bytes, bool more, uint32_t id = 7) {
  Bytes header(Ipv6FragmentHeader::kSize);
  auto* fragment = HeaderAt<Ipv6FragmentHeader>(header.data());
  fragment->offset_flags = be16::FromHost(static_cast<uint16_t>((offset_bytes & 0xfff8) | (more ? 1 : 0)));
  fragment->id = be32::FromHost(id);
  return header;
}

// A UDP datagram. `pseudo_zero`: PseudoHeader(source, destination, kProtocolUdp, 0), 0 for no checksum.
inline Bytes BuildUdp(uint64_t pseudo_zero, uint16_t source_port, uint16_t destination_port, const Bytes& data) {
  Bytes datagram = Concat(Bytes(UdpHeader::kSize), data);
  auto* udp = HeaderAt<UdpHeader>(datagram.data());
  const auto length = static_cast<uint16_t>(datagram.size());
  udp->source_port = be16::FromHost(source_port);
  udp->destination_port = be16::FromHost(destination_port);
  udp->length = be16::FromHost(length);
  if (pseudo_zero != 0) udp->checksum = UdpChecksum(AddWithCarry(pseudo_zero, be32::FromHost(length).raw), datagram);
  return datagram;
}

inline Bytes BuildUdp4(absl::string_view source, absl::string_view destination, uint16_t source_port,
                       uint16_t destination_port, const Bytes& data) {
  return BuildUdp(PseudoHeader(V4(source), V4(destination), kProtocolUdp, 0), source_port, destination_port, data);
}

inline Bytes BuildUdp6(absl::string_view source, absl::string_view destination, uint16_t source_port,
                       uint16_t destination_port, const Bytes& data) {
  return BuildUdp(PseudoHeader(V6(source), V6(destination), kProtocolUdp, 0), source_port, destination_port, data);
}

// A whole TCP header with a right checksum and no data. `pseudo_zero` as for BuildUdp.
inline Bytes BuildTcp(uint64_t pseudo_zero, uint16_t source_port, uint16_t destination_port, uint8_t flags) {
  Bytes segment(TcpHeader::kMinSize);
  auto* tcp = HeaderAt<TcpHeader>(segment.data());
  tcp->source_port = be16::FromHost(source_port);
  tcp->destination_port = be16::FromHost(destination_port);
  tcp->sequence = be32::FromHost(1000);
  tcp->data_offset = 0x50;
  tcp->flags = flags;
  tcp->window = be16::FromHost(4096);
  tcp->checksum = be16{static_cast<uint16_t>(~FoldSum(
      SumBytes(segment, AddWithCarry(pseudo_zero, be32::FromHost(static_cast<uint32_t>(segment.size())).raw))))};
  return segment;
}

inline Bytes BuildIcmp(uint8_t type, uint8_t code, uint32_t rest, const Bytes& data) {
  Bytes message = Concat(Bytes(IcmpHeader::kSize), data);
  auto* icmp = HeaderAt<IcmpHeader>(message.data());
  icmp->type = type;
  icmp->code = code;
  icmp->rest = be32::FromHost(rest);
  icmp->checksum = InternetChecksum(message);
  return message;
}

inline Bytes BuildIcmpv6(absl::string_view source, absl::string_view destination, uint8_t type, uint8_t code,
                         uint32_t rest, const Bytes& data) {
  Bytes message = Concat(Bytes(Icmpv6Header::kSize), data);
  auto* icmp = HeaderAt<Icmpv6Header>(message.data());
  icmp->type = type;
  icmp->code = code;
  icmp->rest = be32::FromHost(rest);
  icmp->checksum = Icmpv6Checksum(V6(source), V6(destination), message);
  return message;
}

inline constexpr MacAddress kFixtureMacA = {{0x02, 0, 0, 0, 0, 0x0a}};
inline constexpr MacAddress kFixtureMacB = {{0x02, 0, 0, 0, 0, 0x0b}};

inline Bytes BuildFrame(const Bytes& l3, be16 type, MacAddress destination = kFixtureMacB,
                        MacAddress source = kFixtureMacA) {
  Bytes frame(EthernetHeader::kSize);
  auto* ethernet = HeaderAt<EthernetHeader>(frame.data());
  ethernet->destination = destination;
  ethernet->source = source;
  ethernet->type = type;
  return Concat(std::move(frame), l3);
}

// A packet that CheckIpv4 or CheckIpv6 accepts, and what FindTransport says of it.
struct PacketFixture {
  std::string name;
  Family family;
  Bytes l3;
  uint8_t protocol;
  uint32_t transport_offset;
  bool ports;
};

// Valid packets of both families, of every shape that a parser distinguishes. Addresses are ordinary unicast.
const std::vector<PacketFixture>& ValidPackets();

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_FIXTURES_H_
