#include "dataplane/local/tcp_reset.h"

#include "dataplane/local/reply.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

constexpr uint8_t kEcnMask = 3;

// The segment that answers `segment`, 20 bytes at `out`.
void WriteReset(absl::Span<const uint8_t> segment, uint64_t pseudo, uint8_t* out) {
  const auto* tcp = HeaderAt<TcpHeader>(segment.data());
  auto* reset = HeaderAt<TcpHeader>(out);
  reset->source_port = tcp->destination_port.get();
  reset->destination_port = tcp->source_port.get();
  reset->data_offset = TcpHeader::kMinSize / 4 << 4;
  if (tcp->flags & TcpHeader::kAck) {
    reset->sequence = tcp->acknowledgement.get();
    reset->acknowledgement = be32{};
    reset->flags = TcpHeader::kRst;
  } else {
    const uint32_t data = static_cast<uint32_t>(segment.size()) - (tcp->data_offset >> 4) * 4u;
    const uint32_t controls = ((tcp->flags & TcpHeader::kSyn) ? 1 : 0) + ((tcp->flags & TcpHeader::kFin) ? 1 : 0);
    reset->sequence = be32{};
    reset->acknowledgement = be32::FromHost(tcp->sequence.ToHost() + data + controls);
    reset->flags = TcpHeader::kRst | TcpHeader::kAck;
  }
  reset->window = be16{};
  reset->urgent = be16{};
  reset->checksum = be16{};
  ChecksumSum sum;
  sum.Add(pseudo).Add(absl::MakeConstSpan(out, TcpHeader::kMinSize));
  reset->checksum = sum.Finish();
}

}  // namespace

uint32_t BuildTcpReset4(absl::Span<const uint8_t> packet, uint32_t offset, absl::Span<uint8_t> out) {
  if (out.size() < kMaxTcpReset) return 0;
  const auto* ip = HeaderAt<Ipv4Header>(packet.data());
  const ReplySpec spec = {.protocol = kProtocolTcp,
                          .tos = static_cast<uint8_t>(ip->tos & ~kEcnMask),
                          .dont_fragment = true,
                          .length = TcpHeader::kMinSize};
  const uint32_t at = WriteReplyHeader4(ip->destination, ip->source, spec, {}, {}, out.data());
  WriteReset(packet.subspan(offset), PseudoHeader(ip->destination, ip->source, kProtocolTcp, spec.length),
             out.data() + at);
  return at + spec.length;
}

uint32_t BuildTcpReset6(absl::Span<const uint8_t> packet, uint32_t offset, absl::Span<uint8_t> out) {
  if (out.size() < kMaxTcpReset) return 0;
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  const ReplySpec spec = {.protocol = kProtocolTcp,
                          .tos = static_cast<uint8_t>(ip->traffic_class() & ~kEcnMask),
                          .dont_fragment = false,
                          .length = TcpHeader::kMinSize};
  const uint32_t at = WriteReplyHeader6(ip->destination, ip->source, spec, out.data());
  WriteReset(packet.subspan(offset), PseudoHeader(ip->destination, ip->source, kProtocolTcp, spec.length),
             out.data() + at);
  return at + spec.length;
}

}  // namespace sluice
