// ARP frames (RFC 826, Ethernet and IPv4): what a received one says, and how to write one.
//
// Why apart from the state machine: everything here is a function of bytes, so that hostile input is tested without
// one.
//
//   if (std::optional<ArpMessage> m = ParseArp(frame)) ...
//   SendFrame(link, ArpRequest(mac, source, target, MacAddress::...));
//
// Threads: functions of their arguments. Cost: a few loads and stores.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_ARP_H_
#define SLUICE_DATAPLANE_NEIGHBOR_ARP_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "dataplane/base/address.h"

namespace sluice {

inline constexpr MacAddress kBroadcastMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

struct ArpMessage {
  bool reply = false;  // else a request
  MacAddress frame_destination;
  MacAddress sender_mac;
  Ipv4Address sender;  // zero in a probe for a duplicate address (RFC 5227 §2.1.1)
  MacAddress target_mac;
  Ipv4Address target;

  // About the sender itself, unasked (RFC 5227 §3 "announcement"). In a reply the target's MAC must be the sender's
  // too.
  bool gratuitous() const { return target == sender && (!reply || target_mac == sender_mac); }
};

// `frame` from its Ethernet header on, untagged; trailing padding is allowed. Nothing when it is cut short, not ARP for
// Ethernet and IPv4, neither request nor reply, or claims what cannot be: a sender that is multicast, broadcast or
// loopback, a sender MAC that is zero or a group, a target that is multicast or loopback.
std::optional<ArpMessage> ParseArp(absl::Span<const uint8_t> frame);

// A frame without padding to the 60-byte minimum: the device adds it.
using ArpFrame = std::array<uint8_t, 42>;
// Who has `target`? To `destination`: broadcast, or the neighbour's own MAC to see whether it is still there.
ArpFrame ArpRequest(MacAddress own_mac, Ipv4Address own, Ipv4Address target, MacAddress destination = kBroadcastMac);
// `own` is at `own_mac`, for the sender of `request`.
ArpFrame ArpReply(MacAddress own_mac, Ipv4Address own, const ArpMessage& request);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_ARP_H_
