// Why a packet died: one list that gives the enum, the name in metrics, traces and explain, and the sentence for
// people.
//
// Why one list: a drop without a reason is a support call. Every packet that dies does so through drop(reason), and a
// reason cannot exist without its name and help.
//
//   counters.Drop(DropReason::kNoRoute);
//   DropReasonName(DropReason::kNoRoute)      // "no_route", the `reason` label of sluice_drops_total
//
// Threads: constants. Cost: none.
#ifndef SLUICE_DATAPLANE_CELLS_DROP_REASON_H_
#define SLUICE_DATAPLANE_CELLS_DROP_REASON_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// clang-format off
#define SLUICE_DROP_REASONS(X) \
  X(LinkDown,             "link_down",              "arrived on a link that is administratively down or unknown") \
  X(FrameTooShort,        "frame_too_short",        "shorter than an Ethernet header") \
  X(FrameTooFragmented,   "frame_too_fragmented",   "its headers were spread over buffers and could not be gathered") \
  X(NotForUs,             "not_for_us",             "link-layer destination is another station (Linux: PACKET_OTHERHOST)") \
  X(UnknownEtherType,     "unknown_ethertype",      "an EtherType that nobody here handles") \
  X(UnknownVlan,          "unknown_vlan",           "a VLAN tag for which the port has no sub-interface") \
  X(Ipv4Truncated,        "ipv4_truncated",         "shorter than an IPv4 header, or than the length that header states") \
  X(Ipv4BadVersion,       "ipv4_bad_version",       "EtherType IPv4, version field not 4") \
  X(Ipv4BadHeaderLength,  "ipv4_bad_header_length", "IHL below 5 words or beyond the packet") \
  X(Ipv4BadTotalLength,   "ipv4_bad_total_length",  "total length smaller than the header") \
  X(Ipv4BadChecksum,      "ipv4_bad_checksum",      "IPv4 header checksum wrong") \
  X(Ipv4BadOptions,       "ipv4_bad_options",       "malformed IPv4 options, or a source route that we refuse") \
  X(Ipv4MartianSource,    "ipv4_martian_source",    "source is multicast, broadcast, zero or loopback") \
  X(Ipv4MartianDestination, "ipv4_martian_destination", "destination is zero, loopback, or not for forwarding") \
  X(Ipv4OwnSource,        "ipv4_own_source",        "source is one of our own addresses") \
  X(Ipv6Truncated,        "ipv6_truncated",         "shorter than an IPv6 header, or than the payload length states") \
  X(Ipv6BadVersion,       "ipv6_bad_version",       "EtherType IPv6, version field not 6") \
  X(Ipv6BadExtension,     "ipv6_bad_extension",     "malformed extension header chain") \
  X(Ipv6MartianSource,    "ipv6_martian_source",    "source is multicast, loopback, or unspecified where it may not be") \
  X(Ipv6MartianDestination, "ipv6_martian_destination", "destination is loopback or unspecified") \
  X(Ipv6ScopeViolation,   "ipv6_scope_violation",   "link-local source or destination would leave its link (RFC 4007)") \
  X(MulticastNotForwarded, "multicast_not_forwarded", "multicast that we neither joined nor forward") \
  X(BroadcastNotForwarded, "broadcast_not_forwarded", "IP unicast in a link-layer broadcast, or directed broadcast of another link") \
  X(ForwardingOff,        "forwarding_off",         "not for us, and the link does not forward this family") \
  X(NoRoute,              "no_route",               "no table had a route") \
  X(Blackhole,            "blackhole",              "a blackhole route, rule or nexthop") \
  X(Unreachable,          "unreachable",            "an unreachable route or rule") \
  X(Prohibit,             "prohibit",               "a prohibit route or rule") \
  X(TtlExceeded,          "ttl_exceeded",           "TTL or hop limit ran out here") \
  X(TooBig,               "too_big",                "larger than the MTU of the way out, and may not be fragmented") \
  X(FragmentFailed,       "fragment_failed",        "could not be fragmented") \
  X(NeighborQueueFull,    "neighbor_queue_full",    "pushed out of the queue of an unresolved neighbour") \
  X(NeighborFailed,       "neighbor_failed",        "the neighbour did not answer") \
  X(NeighborTableFull,    "neighbor_table_full",    "no room for another neighbour entry") \
  X(OutLinkDown,          "out_link_down",          "the way out is down") \
  X(ProtocolUnreachable,  "protocol_unreachable",   "for an own address, by a protocol that nothing here speaks") \
  X(PortUnreachable,      "port_unreachable",       "for an own address, to a UDP or TCP port where nothing listens") \
  X(IcmpIgnored,          "icmp_ignored",           "an ICMP message to us that needs no answer") \
  X(BadLocalPacket,       "bad_local_packet",       "for us, but malformed above the IP header (checksum, length, type)") \
  X(BadArp,               "bad_arp",                "malformed or martian ARP") \
  X(BadNd,                "bad_nd",                 "malformed neighbour discovery, or its hop limit was not 255") \
  X(SlowPathFull,         "slow_path_full",         "the ring to the slow path was full") \
  X(HandoverFull,         "handover_full",          "the inbox of the worker that owns the queue was full") \
  X(TxFull,               "tx_full",                "the transmit queue was full") \
  X(NoBuffer,             "no_buffer",              "no packet buffer left")
// clang-format on

enum class DropReason : uint8_t {
#define SLUICE_DROP_ENUM(id, name, help) k##id,
  SLUICE_DROP_REASONS(SLUICE_DROP_ENUM)
#undef SLUICE_DROP_ENUM
};

inline constexpr absl::string_view kDropReasonNames[] = {
#define SLUICE_DROP_NAME(id, name, help) name,
    SLUICE_DROP_REASONS(SLUICE_DROP_NAME)
#undef SLUICE_DROP_NAME
};

inline constexpr absl::string_view kDropReasonHelp[] = {
#define SLUICE_DROP_HELP(id, name, help) help,
    SLUICE_DROP_REASONS(SLUICE_DROP_HELP)
#undef SLUICE_DROP_HELP
};

inline constexpr size_t kDropReasons = sizeof(kDropReasonNames) / sizeof(kDropReasonNames[0]);

constexpr absl::string_view DropReasonName(DropReason r) { return kDropReasonNames[static_cast<size_t>(r)]; }
constexpr absl::string_view DropReasonHelp(DropReason r) { return kDropReasonHelp[static_cast<size_t>(r)]; }

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_CELLS_DROP_REASON_H_
