#include "dataplane/local/icmp_error.h"

#include <algorithm>
#include <cstring>

#include "dataplane/packet/checksum.h"
#include "dataplane/packet/parse.h"

namespace sluice {
namespace {

// Linux sends errors about these and no other ICMPv4 types.
bool IsKnownQuery4(uint8_t type) {
  switch (type) {
    case IcmpHeader::kEchoReply:
    case IcmpHeader::kEchoRequest:
    case IcmpHeader::kTimestamp:
    case IcmpHeader::kTimestampReply:
    case IcmpHeader::kInformationRequest:
    case IcmpHeader::kInformationReply:
    case IcmpHeader::kAddressRequest:
    case IcmpHeader::kAddressReply:
      return true;
    default:
      return false;
  }
}

// The bytes of `packet` that are its own: without padding. 0 when it is no IP packet.
uint32_t PacketLength4(absl::Span<const uint8_t> packet) {
  if (packet.size() < Ipv4Header::kMinSize) return 0;
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  const auto length = static_cast<uint32_t>(std::min<size_t>(packet.size(), ip->total_length.ToHost()));
  const bool fine = ip->version() == 4 && ip->header_length() >= Ipv4Header::kMinSize && ip->header_length() <= length;
  return fine ? length : 0;
}

uint32_t PacketLength6(absl::Span<const uint8_t> packet) {
  if (packet.size() < Ipv6Header::kSize) return 0;
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  if (ip->version() != 6) return 0;
  return static_cast<uint32_t>(std::min<size_t>(packet.size(), Ipv6Header::kSize + ip->payload_length.ToHost()));
}

bool MayAnswer4(const IcmpError& error, absl::Span<const uint8_t> packet) {
  const uint32_t length = PacketLength4(packet);
  if (length == 0 || error.link_broadcast || error.to_broadcast) return false;
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  const Ipv4Address source = ip->source;
  const Ipv4Address destination = ip->destination;
  if (destination.IsMulticast() || destination.IsLimitedBroadcast()) return false;
  if (source.IsZero() || source.IsLoopback() || source.IsMulticast() || source.IsLimitedBroadcast()) return false;
  if (ip->fragment_offset() != 0) return false;
  if (ip->protocol != kProtocolIcmp) return true;
  return ip->header_length() < length && IsKnownQuery4(packet[ip->header_length()]);
}

bool MayAnswer6(const IcmpError& error, absl::Span<const uint8_t> packet) {
  const uint32_t length = PacketLength6(packet);
  if (length == 0) return false;
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  if (error.link_broadcast || ip->destination.IsMulticast()) {
    const bool report_option = error.kind == IcmpErrorKind::kUnrecognizedOption && error.info < length &&
                               packet[error.info] >> 6 == 2;  // RFC 8200 §4.2: discard and report, multicast or not
    if (error.kind != IcmpErrorKind::kTooBig && !report_option) return false;
  }
  const bool v4_mapped = ip->source.high() == 0 && ip->source.low() >> 32 == 0xffff;
  if (ip->source.IsZero() || ip->source.IsLoopback() || ip->source.IsMulticast() || v4_mapped) return false;
  const TransportView view = WalkExtensions6(packet.data(), length);
  if (view.status == TransportView::kTooDeep) return false;
  if (view.status != TransportView::kFound || view.protocol != kProtocolIcmpv6) return true;
  if (view.offset >= length) return false;
  const uint8_t type = packet[view.offset];
  return type >= 128 && type != Icmpv6Header::kRedirect;
}

}  // namespace

std::optional<IcmpTypeCode> IcmpErrorCode(Family family, IcmpErrorKind kind) {
  constexpr uint8_t kUnreachable4 = IcmpHeader::kUnreachable, kUnreachable6 = Icmpv6Header::kUnreachable;
  const bool v4 = family == Family::kIpv4;
  if (!v4 && family != Family::kIpv6) return std::nullopt;
  switch (kind) {
    case IcmpErrorKind::kNone:
      return std::nullopt;
    case IcmpErrorKind::kNoRoute:
      return v4 ? IcmpTypeCode{kUnreachable4, 0} : IcmpTypeCode{kUnreachable6, 0};
    case IcmpErrorKind::kUnreachable:
      return v4 ? IcmpTypeCode{kUnreachable4, 1} : IcmpTypeCode{kUnreachable6, 0};
    case IcmpErrorKind::kHostUnreachable:
      return v4 ? IcmpTypeCode{kUnreachable4, 1} : IcmpTypeCode{kUnreachable6, 3};
    case IcmpErrorKind::kProhibited:
      return v4 ? IcmpTypeCode{kUnreachable4, 13} : IcmpTypeCode{kUnreachable6, 1};
    case IcmpErrorKind::kTtlExceeded:
      return v4 ? IcmpTypeCode{IcmpHeader::kTimeExceeded, 0} : IcmpTypeCode{Icmpv6Header::kTimeExceeded, 0};
    case IcmpErrorKind::kTooBig:
      return v4 ? IcmpTypeCode{kUnreachable4, 4} : IcmpTypeCode{Icmpv6Header::kPacketTooBig, 0};
    case IcmpErrorKind::kProtocolUnreachable:
      return v4 ? IcmpTypeCode{kUnreachable4, 2} : IcmpTypeCode{Icmpv6Header::kParameterProblem, 1};
    case IcmpErrorKind::kPortUnreachable:
      return v4 ? IcmpTypeCode{kUnreachable4, 3} : IcmpTypeCode{kUnreachable6, 4};
    case IcmpErrorKind::kParameterProblem:
      return v4 ? IcmpTypeCode{IcmpHeader::kParameterProblem, 0} : IcmpTypeCode{Icmpv6Header::kParameterProblem, 0};
    case IcmpErrorKind::kSourceScope:
      if (v4) return std::nullopt;
      return IcmpTypeCode{kUnreachable6, 2};
    case IcmpErrorKind::kUnrecognizedOption:
      if (v4) return std::nullopt;
      return IcmpTypeCode{Icmpv6Header::kParameterProblem, 2};
  }
  return std::nullopt;
}

bool MayAnswer(Family family, const IcmpError& error, absl::Span<const uint8_t> packet) {
  if (!IcmpErrorCode(family, error.kind).has_value()) return false;
  return family == Family::kIpv4 ? MayAnswer4(error, packet) : MayAnswer6(error, packet);
}

uint32_t BuildIcmpError4(const IcmpError& error, absl::Span<const uint8_t> packet, Ipv4Address source,
                         const ReplyContext& context, absl::Span<uint8_t> out) {
  const std::optional<IcmpTypeCode> code = IcmpErrorCode(Family::kIpv4, error.kind);
  if (!code.has_value() || !MayAnswer4(error, packet)) return 0;
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  uint8_t options[Ipv4Header::kMaxSize - Ipv4Header::kMinSize];
  const uint32_t option_size = BuildReplyOptions(packet.data(), source, context.ms_since_midnight, options);
  const uint32_t headers = Ipv4Header::kMinSize + option_size + IcmpHeader::kSize;
  const uint32_t quote = std::min(PacketLength4(packet), kMaxIcmpError4 - headers);
  if (out.size() < headers + quote) return 0;

  constexpr uint8_t kTosMask = 0x1e, kInternetControl = 0xc0;
  const ReplySpec spec = {.protocol = kProtocolIcmp,
                          .tos = static_cast<uint8_t>((ip->tos & kTosMask) | kInternetControl),
                          .dont_fragment = false,
                          .length = IcmpHeader::kSize + quote};
  const uint32_t at =
      WriteReplyHeader4(source, ip->source, spec, context, absl::MakeConstSpan(options, option_size), out.data());
  auto* icmp = HeaderAt<IcmpHeader>(out.data() + at);
  icmp->type = code->type;
  icmp->code = code->code;
  icmp->checksum = be16{};
  uint32_t rest = 0;
  if (error.kind == IcmpErrorKind::kTooBig) rest = std::min<uint32_t>(error.info, 0xffff);  // RFC 1191 §4
  if (error.kind == IcmpErrorKind::kParameterProblem) rest = std::min<uint32_t>(error.info, 0xff) << 24;
  icmp->rest = be32::FromHost(rest);
  std::memcpy(out.data() + at + IcmpHeader::kSize, packet.data(), quote);
  icmp->checksum = InternetChecksum(out.subspan(at, spec.length));
  return at + spec.length;
}

uint32_t BuildIcmpError6(const IcmpError& error, absl::Span<const uint8_t> packet, const Ipv6Address& source,
                         absl::Span<uint8_t> out) {
  const std::optional<IcmpTypeCode> code = IcmpErrorCode(Family::kIpv6, error.kind);
  if (!code.has_value() || !MayAnswer6(error, packet)) return 0;
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  constexpr uint32_t kHeaders = Ipv6Header::kSize + Icmpv6Header::kSize;
  const uint32_t quote = std::min(PacketLength6(packet), kMaxIcmpError - kHeaders);
  if (out.size() < kHeaders + quote) return 0;

  const ReplySpec spec = {
      .protocol = kProtocolIcmpv6, .tos = 0, .dont_fragment = false, .length = Icmpv6Header::kSize + quote};
  const uint32_t at = WriteReplyHeader6(source, ip->source, spec, out.data());
  auto* icmp = HeaderAt<Icmpv6Header>(out.data() + at);
  icmp->type = code->type;
  icmp->code = code->code;
  icmp->checksum = be16{};
  const bool has_info = code->type == Icmpv6Header::kPacketTooBig || code->type == Icmpv6Header::kParameterProblem;
  icmp->rest = be32::FromHost(has_info ? error.info : 0);
  std::memcpy(out.data() + at + Icmpv6Header::kSize, packet.data(), quote);
  icmp->checksum = Icmpv6Checksum(source, ip->source, out.subspan(at, spec.length));
  return at + spec.length;
}

}  // namespace sluice
