// What becomes of a packet for an own address: an echo reply, a reset, an error about it, or nothing.
//
// Why: Sluice has no sockets. All that a host must do for its addresses (RFC 1122 §3.2.2, RFC 1812 §4.3) is judged
// here, in one pure function from bytes to a verdict, which the slow path carries out and a fuzzer can call.
//
//   uint8_t out[2048];
//   const LocalVerdict verdict = HandleLocal({.family = Family::kIpv4, .bytes = l3}, context, out);
//   if (verdict.action == LocalAction::kReply) Route({out, verdict.reply_length});
//   if (verdict.action == LocalAction::kError) -> MayAnswer, limiter, BuildIcmpError with verdict.error, verdict.info
//   count verdict.reason
//
// The packet is already counted as delivered (punt.h); `reason` says what became of it, for a counter beside that one.
//
// Threads: functions of their arguments. Cost: one checksum over the packet and, for echo, a copy.
#ifndef SLUICE_DATAPLANE_LOCAL_LOCAL_DELIVERY_H_
#define SLUICE_DATAPLANE_LOCAL_LOCAL_DELIVERY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/cells/drop_reason.h"
#include "dataplane/local/punt.h"
#include "dataplane/local/reply.h"

namespace sluice {

enum class LocalAction : uint8_t {
  kReply,     // `reply_length` bytes of L3 packet are in `out`; its source is what the request was sent to
  kError,     // an ICMP error is due, if MayAnswer and the limiter agree; `reason` holds if it is not sent, too
  kDrop,      // nothing, for `reason`
  kFragment,  // a fragment: needs reassembly before it can be judged; `reason` is kBadLocalPacket where there is none
  kNd,        // neighbour discovery, not looked at: for neighbor/
};

struct LocalVerdict {
  LocalAction action = LocalAction::kDrop;
  DropReason reason = DropReason::kBadLocalPacket;  // not for kReply and kNd
  IcmpErrorKind error = IcmpErrorKind::kNone;       // kError, with its MTU or pointer in `info`
  uint32_t info = 0;
  uint32_t reply_length = 0;
};

struct LocalPacket {
  Family family = Family::kNone;
  absl::Span<const uint8_t> bytes;  // from the L3 header on; padding behind the packet is ignored
  bool to_broadcast = false;        // the destination is a broadcast address of a link (255.255.255.255 is seen here)
};

struct LocalContext {
  ReplyContext reply;
  // The source of an answer to an IPv6 multicast echo request; :: leaves such requests unanswered.
  Ipv6Address multicast_source;
};

// Whether this IPv6 packet is neighbour discovery (ICMPv6 133-137 right after the header: behind an extension header
// it is none that anybody here would accept). `l3` may be any bytes.
bool IsNd(absl::Span<const uint8_t> l3);

// Judges a packet, any bytes at all, whose destination routing found to be an own address, a joined group or a
// broadcast. `out` should have packet.size() bytes and at least kMaxTcpReset; a reply that does not
// fit becomes kDrop with kNoBuffer.
//
// | packet | verdict |
// |---|---|
// | no valid IP header, bad upper checksum, length or header | kDrop, kBadLocalPacket (Linux: silent too) |
// | IPv4 options malformed | kError, parameter problem |
// | IPv4 source route | kDrop, kIpv4BadOptions (Linux: accept_source_route=0) |
// | fragment (not an IPv6 atomic one) | kFragment |
// | echo request, unicast | kReply |
// | echo request to IPv4 multicast or broadcast | kDrop, kIcmpIgnored (Linux: icmp_echo_ignore_broadcasts=1) |
// | echo request to IPv6 multicast | kReply from context.multicast_source |
// | any other ICMP; IGMP | kDrop, kIcmpIgnored |
// | UDP | kError, port unreachable; to multicast or broadcast kDrop, kPortUnreachable |
// | TCP, unicast | kReply: reset; a segment with RST, or to anything but unicast: kDrop, kPortUnreachable |
// | another protocol | kError, protocol unreachable (IPv6: pointer to the next-header field); multicast: kDrop |
// | IPv6 option or routing header not understood | as RFC 8200 §4.2, §4.4 say: skip, kDrop or kError |
// | IPv6 no next header | kDrop, kProtocolUnreachable |
LocalVerdict HandleLocal(const LocalPacket& packet, const LocalContext& context, absl::Span<uint8_t> out);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_LOCAL_LOCAL_DELIVERY_H_
