#include <cstring>

#include "absl/strings/str_cat.h"
#include "dataplane/observe/explain.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"

namespace sluice {

absl::StatusOr<std::vector<uint8_t>> BuildFrame(const PacketFields& fields, MacAddress destination, MacAddress source) {
  const Family family = fields.destination.family;
  if (family == Family::kNone || fields.source.family != family) {
    return absl::InvalidArgumentError("source and destination must be addresses of one family");
  }
  const bool v4 = family == Family::kIpv4;
  const uint32_t l3_header = v4 ? Ipv4Header::kMinSize : Ipv6Header::kSize;
  const uint32_t l4_header =
      ProtocolHasPorts(fields.protocol) || fields.protocol == kProtocolIcmp || fields.protocol == kProtocolIcmpv6 ? 8
                                                                                                                  : 0;
  const uint32_t length = fields.length != 0 ? fields.length : l3_header + l4_header;
  if (length < l3_header + l4_header || length > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("length ", length, " is not between ", l3_header + l4_header, " (the headers) and 65535"));
  }
  std::vector<uint8_t> frame(EthernetHeader::kSize + length);
  WriteEthernetHeader(frame.data(), destination, source, v4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  uint8_t* l3 = frame.data() + EthernetHeader::kSize;
  if (v4) {
    auto* ip = HeaderAt<Ipv4Header>(l3);
    ip->version_ihl = 0x45;
    ip->tos = fields.tos;
    ip->total_length = be16::FromHost(static_cast<uint16_t>(length));
    ip->fragment = be16::FromHost(fields.dont_fragment ? Ipv4Header::kDontFragment : 0);
    ip->ttl = fields.ttl;
    ip->protocol = fields.protocol;
    ip->source = fields.source.v4();
    ip->destination = fields.destination.v4();
    ip->checksum = InternetChecksum(absl::MakeConstSpan(l3, l3_header));
  } else {
    auto* ip = HeaderAt<Ipv6Header>(l3);
    ip->SetVersionClassFlow(fields.tos, /*flow_label=*/0);
    ip->payload_length = be16::FromHost(static_cast<uint16_t>(length - l3_header));
    ip->next_header = fields.protocol;
    ip->hop_limit = fields.ttl;
    ip->source = fields.source.v6();
    ip->destination = fields.destination.v6();
  }
  uint8_t* l4 = l3 + l3_header;
  if (ProtocolHasPorts(fields.protocol)) {
    const be16 ports[2] = {be16::FromHost(fields.source_port), be16::FromHost(fields.destination_port)};
    std::memcpy(l4, ports, 4);
    if (fields.protocol == kProtocolUdp) {
      const be16 udp_length = be16::FromHost(static_cast<uint16_t>(length - l3_header));
      std::memcpy(l4 + 4, &udp_length, 2);
    }
  } else if (fields.protocol == kProtocolIcmp) {
    l4[0] = IcmpHeader::kEchoRequest;
  } else if (fields.protocol == kProtocolIcmpv6) {
    l4[0] = Icmpv6Header::kEchoRequest;
  }
  return frame;
}

}  // namespace sluice
