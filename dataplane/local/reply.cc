#include "dataplane/local/reply.h"

#include <cstring>

#include "dataplane/packet/checksum.h"
#include "dataplane/packet/ipv4_options.h"

namespace sluice {
namespace {

// One entry of ours in a record route option, if there is room.
void RecordRoute(uint8_t* option, Ipv4Address own) {
  const uint32_t pointer = option[2];
  if (pointer + 3 > option[1]) return;
  std::memcpy(option + pointer - 1, &own, 4);
  option[2] = static_cast<uint8_t>(pointer + 4);
}

// One entry of ours in a timestamp option (RFC 791: flag 0 times, 1 addresses and times, 3 times at addresses given).
// False when there is no room, which the caller counts.
bool Stamp(uint8_t* option, Ipv4Address own, uint32_t ms) {
  constexpr uint8_t kTimes = 0, kAddresses = 1, kPrespecified = 3;
  const uint8_t flag = option[3] & 0xf;
  if (flag != kTimes && flag != kAddresses && flag != kPrespecified) return true;
  const uint32_t size = flag == kTimes ? 4 : 8;
  const uint32_t pointer = option[2];
  if (pointer + size - 1 > option[1]) return flag == kPrespecified;
  uint8_t* slot = option + pointer - 1;
  if (flag == kPrespecified && std::memcmp(slot, &own, 4) != 0) return true;
  if (flag == kAddresses) std::memcpy(slot, &own, 4);
  const be32 time = be32::FromHost(ms);
  std::memcpy(slot + size - 4, &time, 4);
  option[2] = static_cast<uint8_t>(pointer + size);
  return true;
}

}  // namespace

uint32_t BuildReplyOptions(const uint8_t* l3, Ipv4Address own, uint32_t ms_since_midnight, uint8_t* out) {
  if (HeaderAt<Ipv4Header>(l3)->header_length() == Ipv4Header::kMinSize) return 0;
  const Ipv4Options options = ParseIpv4Options(l3);
  if (!options.well_formed()) return 0;
  uint32_t size = 0;
  if (options.record_route != 0) {
    uint8_t* option = out + size;
    std::memcpy(option, l3 + options.record_route, l3[options.record_route + 1]);
    RecordRoute(option, own);
    RecordRoute(option, own);
    size += option[1];
  }
  if (options.timestamp != 0) {
    uint8_t* option = out + size;
    std::memcpy(option, l3 + options.timestamp, l3[options.timestamp + 1]);
    if (!Stamp(option, own, ms_since_midnight)) option[3] = static_cast<uint8_t>(option[3] + 0x10);
    Stamp(option, own, ms_since_midnight);
    size += option[1];
  }
  while (size % 4 != 0) out[size++] = kOptionEnd;
  return size;
}

uint32_t WriteReplyHeader4(Ipv4Address source, Ipv4Address destination, const ReplySpec& spec,
                           const ReplyContext& context, absl::Span<const uint8_t> options, uint8_t* out) {
  const auto header_length = static_cast<uint32_t>(Ipv4Header::kMinSize + options.size());
  auto* ip = HeaderAt<Ipv4Header>(out);
  ip->version_ihl = static_cast<uint8_t>(0x40 | header_length / 4);
  ip->tos = spec.tos;
  ip->total_length = be16::FromHost(static_cast<uint16_t>(header_length + spec.length));
  ip->id = be16::FromHost(context.ip_id);
  ip->fragment = be16::FromHost(spec.dont_fragment ? Ipv4Header::kDontFragment : 0);
  ip->ttl = kReplyTtl;
  ip->protocol = spec.protocol;
  ip->checksum = be16{};
  ip->source = source;
  ip->destination = destination;
  if (!options.empty()) std::memcpy(out + Ipv4Header::kMinSize, options.data(), options.size());
  ip->checksum = InternetChecksum(absl::MakeConstSpan(out, header_length));
  return header_length;
}

uint32_t WriteReplyHeader6(const Ipv6Address& source, const Ipv6Address& destination, const ReplySpec& spec,
                           uint8_t* out) {
  auto* ip = HeaderAt<Ipv6Header>(out);
  ip->SetVersionClassFlow(spec.tos, 0);
  ip->payload_length = be16::FromHost(static_cast<uint16_t>(spec.length));
  ip->next_header = spec.protocol;
  ip->hop_limit = kReplyTtl;
  ip->source = source;
  ip->destination = destination;
  return Ipv6Header::kSize;
}

}  // namespace sluice
