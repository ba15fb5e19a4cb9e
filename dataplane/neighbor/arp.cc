#include "dataplane/neighbor/arp.h"

#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

ArpFrame Build(be16 operation, MacAddress own_mac, Ipv4Address own, MacAddress target_mac, Ipv4Address target,
               MacAddress destination) {
  ArpFrame frame = {};
  auto* ethernet = HeaderAt<EthernetHeader>(frame.data());
  ethernet->destination = destination;
  ethernet->source = own_mac;
  ethernet->type = kEtherTypeArp;
  auto* arp = HeaderAt<ArpPacket>(frame.data() + EthernetHeader::kSize);
  arp->hardware_type = ArpPacket::kEthernet;
  arp->protocol_type = kEtherTypeIpv4;
  arp->hardware_length = 6;
  arp->protocol_length = 4;
  arp->operation = operation;
  arp->sender_mac = own_mac;
  arp->sender = own;
  arp->target_mac = target_mac;
  arp->target = target;
  return frame;
}

}  // namespace

std::optional<ArpMessage> ParseArp(absl::Span<const uint8_t> frame) {
  if (frame.size() < EthernetHeader::kSize + ArpPacket::kSize) return std::nullopt;
  const auto* ethernet = HeaderAt<EthernetHeader>(frame.data());
  const auto* arp = HeaderAt<ArpPacket>(frame.data() + EthernetHeader::kSize);
  if (ethernet->type != kEtherTypeArp || arp->hardware_type != ArpPacket::kEthernet ||
      arp->protocol_type != kEtherTypeIpv4 || arp->hardware_length != 6 || arp->protocol_length != 4) {
    return std::nullopt;
  }
  if (arp->operation != ArpPacket::kRequest && arp->operation != ArpPacket::kReply) return std::nullopt;
  ArpMessage m;
  m.reply = arp->operation == ArpPacket::kReply;
  m.frame_destination = ethernet->destination;
  m.sender_mac = arp->sender_mac;
  m.sender = arp->sender;
  m.target_mac = arp->target_mac;
  m.target = arp->target;
  if (m.sender.IsMulticast() || m.sender.IsLimitedBroadcast() || m.sender.IsLoopback()) return std::nullopt;
  if (m.sender_mac.IsZero() || m.sender_mac.IsMulticast()) return std::nullopt;
  if (m.target.IsMulticast() || m.target.IsLimitedBroadcast() || m.target.IsLoopback()) return std::nullopt;
  return m;
}

ArpFrame ArpRequest(MacAddress own_mac, Ipv4Address own, Ipv4Address target, MacAddress destination) {
  return Build(ArpPacket::kRequest, own_mac, own, MacAddress(), target, destination);
}

ArpFrame ArpReply(MacAddress own_mac, Ipv4Address own, const ArpMessage& request) {
  return Build(ArpPacket::kReply, own_mac, own, request.sender_mac, request.sender, request.sender_mac);
}

}  // namespace sluice
