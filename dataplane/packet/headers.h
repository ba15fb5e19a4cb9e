// The headers as they lie on the wire, and the numbers in them.
//
// Why not plain structs of be16 and be32: an IP header follows 14 bytes of Ethernet, so nothing in it is aligned. Every
// field wider than a byte is a Wire<T>, bytes that read and write as a T; each struct has alignment 1 and may be laid
// over any byte of a frame that is long enough. Laying it there is the caller's claim that the bytes exist: parse.h
// makes that true.
//
//   const auto* ip = HeaderAt<Ipv4Header>(l3);
//   uint16_t length = ip->total_length.ToHost();
//   ip->destination.get() == Ipv4Address::FromHost(0x0a000001)
//   HeaderAt<UdpHeader>(l4)->checksum = be16{};
//
// Threads: values. Cost: one unaligned load or store and a byte swap.
#ifndef SLUICE_DATAPLANE_PACKET_HEADERS_H_
#define SLUICE_DATAPLANE_PACKET_HEADERS_H_

#include <cstdint>
#include <cstring>

#include "dataplane/base/address.h"
#include "dataplane/base/byte_order.h"

namespace sluice {

// A T at any address. Converts to and from T; ToHost() where T has it.
template <typename T>
struct Wire {
  uint8_t bytes[sizeof(T)];

  T get() const {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  operator T() const { return get(); }  // NOLINT: a field is used as its value
  Wire& operator=(const T& value) {
    std::memcpy(bytes, &value, sizeof value);
    return *this;
  }
  auto ToHost() const { return get().ToHost(); }
};

template <typename Header>
Header* HeaderAt(uint8_t* bytes) {
  return reinterpret_cast<Header*>(bytes);
}
template <typename Header>
const Header* HeaderAt(const uint8_t* bytes) {
  return reinterpret_cast<const Header*>(bytes);
}

// IEEE 802 EtherTypes.
inline constexpr be16 kEtherTypeIpv4 = be16::FromHost(0x0800);
inline constexpr be16 kEtherTypeArp = be16::FromHost(0x0806);
inline constexpr be16 kEtherTypeVlan = be16::FromHost(0x8100);
inline constexpr be16 kEtherTypeQinQ = be16::FromHost(0x88a8);
inline constexpr be16 kEtherTypeIpv6 = be16::FromHost(0x86dd);

// IANA protocol numbers; the IPv6 extension headers among them.
inline constexpr uint8_t kProtocolHopByHop = 0;
inline constexpr uint8_t kProtocolIcmp = 1;
inline constexpr uint8_t kProtocolIgmp = 2;
inline constexpr uint8_t kProtocolIpip = 4;
inline constexpr uint8_t kProtocolTcp = 6;
inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kProtocolIpv6 = 41;
inline constexpr uint8_t kProtocolRouting = 43;
inline constexpr uint8_t kProtocolFragment = 44;
inline constexpr uint8_t kProtocolGre = 47;
inline constexpr uint8_t kProtocolEsp = 50;
inline constexpr uint8_t kProtocolAh = 51;
inline constexpr uint8_t kProtocolIcmpv6 = 58;
inline constexpr uint8_t kProtocolNoNext = 59;
inline constexpr uint8_t kProtocolDestinationOptions = 60;
inline constexpr uint8_t kProtocolDccp = 33;
inline constexpr uint8_t kProtocolSctp = 132;
inline constexpr uint8_t kProtocolUdpLite = 136;

struct EthernetHeader {
  static constexpr uint32_t kSize = 14;
  MacAddress destination;
  MacAddress source;
  Wire<be16> type;
};

struct VlanTag {  // what follows the 0x8100: IEEE 802.1Q
  static constexpr uint32_t kSize = 4;
  Wire<be16> control;  // priority 3, drop eligible 1, VLAN id 12 bits
  Wire<be16> type;
  uint16_t id() const { return control.ToHost() & 0xfff; }
};

struct Ipv4Header {  // RFC 791
  static constexpr uint32_t kMinSize = 20;
  static constexpr uint32_t kMaxSize = 60;
  static constexpr uint16_t kDontFragment = 0x4000;
  static constexpr uint16_t kMoreFragments = 0x2000;
  static constexpr uint16_t kOffsetMask = 0x1fff;  // in units of 8 bytes

  uint8_t version_ihl;
  uint8_t tos;
  Wire<be16> total_length;
  Wire<be16> id;
  Wire<be16> fragment;
  uint8_t ttl;
  uint8_t protocol;
  Wire<be16> checksum;
  Wire<Ipv4Address> source;
  Wire<Ipv4Address> destination;

  uint8_t version() const { return version_ihl >> 4; }
  uint32_t header_length() const { return (version_ihl & 0xfu) * 4; }  // bytes
  bool dont_fragment() const { return fragment.ToHost() & kDontFragment; }
  bool more_fragments() const { return fragment.ToHost() & kMoreFragments; }
  uint32_t fragment_offset() const { return (fragment.ToHost() & kOffsetMask) * 8u; }  // bytes
  bool is_fragment() const { return fragment.ToHost() & (kMoreFragments | kOffsetMask); }
};

struct Ipv6Header {  // RFC 8200
  static constexpr uint32_t kSize = 40;
  static constexpr uint32_t kMinMtu = 1280;

  Wire<be32> version_class_flow;
  Wire<be16> payload_length;
  uint8_t next_header;
  uint8_t hop_limit;
  Ipv6Address source;
  Ipv6Address destination;

  uint8_t version() const { return version_class_flow.bytes[0] >> 4; }
  uint8_t traffic_class() const { return static_cast<uint8_t>(version_class_flow.ToHost() >> 20); }
  uint32_t flow_label() const { return version_class_flow.ToHost() & 0xfffff; }
  void SetVersionClassFlow(uint8_t traffic_class, uint32_t flow_label) {
    version_class_flow = be32::FromHost(0x60000000u | uint32_t{traffic_class} << 20 | (flow_label & 0xfffff));
  }
};

struct Ipv6FragmentHeader {  // RFC 8200 §4.5
  static constexpr uint32_t kSize = 8;
  uint8_t next_header;
  uint8_t reserved;
  Wire<be16> offset_flags;  // offset in units of 8 bytes: 13 bits, reserved 2, M 1
  Wire<be32> id;
  uint32_t offset() const { return offset_flags.ToHost() & 0xfff8u; }  // bytes
  bool more_fragments() const { return offset_flags.ToHost() & 1; }
};

struct UdpHeader {  // RFC 768
  static constexpr uint32_t kSize = 8;
  Wire<be16> source_port;
  Wire<be16> destination_port;
  Wire<be16> length;
  Wire<be16> checksum;
};

struct TcpHeader {  // RFC 9293
  static constexpr uint32_t kMinSize = 20;
  static constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;
  Wire<be16> source_port;
  Wire<be16> destination_port;
  Wire<be32> sequence;
  Wire<be32> acknowledgement;
  uint8_t data_offset;  // in the high four bits, words
  uint8_t flags;
  Wire<be16> window;
  Wire<be16> checksum;
  Wire<be16> urgent;
};

struct IcmpHeader {  // RFC 792, RFC 1191
  static constexpr uint32_t kSize = 8;
  static constexpr uint8_t kEchoReply = 0, kUnreachable = 3, kSourceQuench = 4, kRedirect = 5, kEchoRequest = 8,
                           kTimeExceeded = 11, kParameterProblem = 12, kTimestamp = 13, kTimestampReply = 14,
                           kInformationRequest = 15, kInformationReply = 16, kAddressRequest = 17, kAddressReply = 18;
  uint8_t type;
  uint8_t code;
  Wire<be16> checksum;
  Wire<be32> rest;  // echo: id, sequence; 3/4: 0, next-hop MTU; 12/0: pointer in the first byte
};

struct Icmpv6Header {  // RFC 4443
  static constexpr uint32_t kSize = 8;
  static constexpr uint8_t kUnreachable = 1, kPacketTooBig = 2, kTimeExceeded = 3, kParameterProblem = 4,
                           kEchoRequest = 128, kEchoReply = 129, kRouterSolicit = 133, kRouterAdvert = 134,
                           kNeighborSolicit = 135, kNeighborAdvert = 136, kRedirect = 137;
  uint8_t type;
  uint8_t code;
  Wire<be16> checksum;
  Wire<be32> rest;  // echo: id, sequence; 2/0: MTU; 4: pointer
};

struct ArpPacket {  // RFC 826, for Ethernet and IPv4
  static constexpr uint32_t kSize = 28;
  static constexpr be16 kEthernet = be16::FromHost(1);
  static constexpr be16 kRequest = be16::FromHost(1);
  static constexpr be16 kReply = be16::FromHost(2);
  Wire<be16> hardware_type;
  Wire<be16> protocol_type;
  uint8_t hardware_length;
  uint8_t protocol_length;
  Wire<be16> operation;
  MacAddress sender_mac;
  Wire<Ipv4Address> sender;
  MacAddress target_mac;
  Wire<Ipv4Address> target;
};

struct NdNeighborSolicit {  // RFC 4861 §4.3; options follow
  static constexpr uint32_t kSize = 24;
  uint8_t type;
  uint8_t code;
  Wire<be16> checksum;
  Wire<be32> reserved;
  Ipv6Address target;
};

struct NdNeighborAdvert {  // RFC 4861 §4.4; options follow
  static constexpr uint32_t kSize = 24;
  static constexpr uint32_t kRouter = 0x80000000u, kSolicited = 0x40000000u, kOverride = 0x20000000u;
  uint8_t type;
  uint8_t code;
  Wire<be16> checksum;
  Wire<be32> flags;
  Ipv6Address target;
};

struct NdOption {  // RFC 4861 §4.6
  static constexpr uint32_t kSize = 2;
  static constexpr uint8_t kSourceLinkAddress = 1, kTargetLinkAddress = 2, kPrefix = 3, kRedirected = 4, kMtu = 5,
                           kNonce = 14;
  uint8_t type;
  uint8_t length;  // in units of 8 bytes, this header included; 0 is malformed
};

struct NdLinkAddressOption {  // RFC 4861 §4.6.1 over Ethernet (RFC 2464 §6)
  static constexpr uint32_t kSize = 8;
  uint8_t type;
  uint8_t length;  // 1
  MacAddress address;
};

static_assert(sizeof(EthernetHeader) == EthernetHeader::kSize && alignof(EthernetHeader) == 1);
static_assert(sizeof(VlanTag) == VlanTag::kSize && alignof(VlanTag) == 1);
static_assert(sizeof(Ipv4Header) == Ipv4Header::kMinSize && alignof(Ipv4Header) == 1);
static_assert(sizeof(Ipv6Header) == Ipv6Header::kSize && alignof(Ipv6Header) == 1);
static_assert(sizeof(Ipv6FragmentHeader) == Ipv6FragmentHeader::kSize && alignof(Ipv6FragmentHeader) == 1);
static_assert(sizeof(UdpHeader) == UdpHeader::kSize && alignof(UdpHeader) == 1);
static_assert(sizeof(TcpHeader) == TcpHeader::kMinSize && alignof(TcpHeader) == 1);
static_assert(sizeof(IcmpHeader) == IcmpHeader::kSize && alignof(IcmpHeader) == 1);
static_assert(sizeof(Icmpv6Header) == Icmpv6Header::kSize && alignof(Icmpv6Header) == 1);
static_assert(sizeof(ArpPacket) == ArpPacket::kSize && alignof(ArpPacket) == 1);
static_assert(sizeof(NdNeighborSolicit) == NdNeighborSolicit::kSize && alignof(NdNeighborSolicit) == 1);
static_assert(sizeof(NdNeighborAdvert) == NdNeighborAdvert::kSize && alignof(NdNeighborAdvert) == 1);
static_assert(sizeof(NdOption) == NdOption::kSize && alignof(NdOption) == 1);
static_assert(sizeof(NdLinkAddressOption) == NdLinkAddressOption::kSize && alignof(NdLinkAddressOption) == 1);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PACKET_HEADERS_H_
