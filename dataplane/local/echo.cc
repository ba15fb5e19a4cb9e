#include "dataplane/local/echo.h"

#include <cstring>

#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {

uint32_t BuildEchoReply4(absl::Span<const uint8_t> packet, Ipv4Address source, const ReplyContext& context,
                         absl::Span<uint8_t> out) {
  const auto* request = HeaderAt<Ipv4Header>(packet.data());
  const absl::Span<const uint8_t> message = packet.subspan(request->header_length());
  uint8_t options[Ipv4Header::kMaxSize - Ipv4Header::kMinSize];
  const uint32_t option_size = BuildReplyOptions(packet.data(), source, context.ms_since_midnight, options);
  if (out.size() < Ipv4Header::kMinSize + option_size + message.size()) return 0;
  const ReplySpec spec = {.protocol = kProtocolIcmp,
                          .tos = request->tos,
                          .dont_fragment = false,
                          .length = static_cast<uint32_t>(message.size())};
  const uint32_t at =
      WriteReplyHeader4(source, request->source, spec, context, absl::MakeConstSpan(options, option_size), out.data());
  std::memcpy(out.data() + at, message.data(), message.size());
  auto* icmp = HeaderAt<IcmpHeader>(out.data() + at);
  icmp->type = IcmpHeader::kEchoReply;
  icmp->checksum = be16{};
  icmp->checksum = InternetChecksum(out.subspan(at, message.size()));
  return at + spec.length;
}

uint32_t BuildEchoReply6(absl::Span<const uint8_t> packet, uint32_t offset, const Ipv6Address& source,
                         absl::Span<uint8_t> out) {
  const auto* request = HeaderAt<Ipv6Header>(packet.data());
  const absl::Span<const uint8_t> message = packet.subspan(offset);
  if (out.size() < Ipv6Header::kSize + message.size()) return 0;
  const ReplySpec spec = {.protocol = kProtocolIcmpv6,
                          .tos = request->traffic_class(),
                          .dont_fragment = false,
                          .length = static_cast<uint32_t>(message.size())};
  const uint32_t at = WriteReplyHeader6(source, request->source, spec, out.data());
  std::memcpy(out.data() + at, message.data(), message.size());
  auto* icmp = HeaderAt<Icmpv6Header>(out.data() + at);
  icmp->type = Icmpv6Header::kEchoReply;
  icmp->checksum = be16{};
  icmp->checksum = Icmpv6Checksum(source, request->source, out.subspan(at, message.size()));
  return at + spec.length;
}

}  // namespace sluice
