#include "dataplane/neighbor/nd.h"

#include <algorithm>

#include "dataplane/packet/checksum.h"
#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

constexpr Ipv6Address kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr uint8_t kHopLimit = 255;  // RFC 4861 §7.1: nobody beyond the link can have sent it

// ff02::1:ff00:0/104
bool IsSolicitedNode(const Ipv6Address& a) {
  static constexpr uint8_t kPrefix[13] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  return std::equal(std::begin(kPrefix), std::end(kPrefix), a.bytes.begin());
}

// Walks the options; false when one is malformed. The first link-layer address option of `wanted` type goes to `mac`.
bool ParseOptions(absl::Span<const uint8_t> options, uint8_t wanted, std::optional<MacAddress>& mac) {
  while (!options.empty()) {
    if (options.size() < NdOption::kSize) return false;
    const auto* option = HeaderAt<NdOption>(options.data());
    const size_t length = size_t{option->length} * 8;
    if (length == 0 || length > options.size()) return false;
    if (option->type == wanted && !mac.has_value()) {
      if (length != NdLinkAddressOption::kSize) return false;  // of some link type that is not ours
      mac = HeaderAt<NdLinkAddressOption>(options.data())->address;
      if (mac->IsZero() || mac->IsMulticast()) return false;
    }
    options.remove_prefix(length);
  }
  return true;
}

struct Layout {
  EthernetHeader ethernet;
  Ipv6Header ip;
  NdNeighborAdvert message;  // a solicitation has the same layout, its flags reserved
  NdLinkAddressOption option;
};
static_assert(sizeof(Layout) == std::tuple_size_v<NdFrame>);

NdFrame Build(uint8_t type, uint32_t flags, MacAddress own_mac, const Ipv6Address& source,
              const Ipv6Address& destination, const Ipv6Address& target, MacAddress to) {
  NdFrame frame = {};
  auto* f = HeaderAt<Layout>(frame.data());
  f->ethernet.destination = to;
  f->ethernet.source = own_mac;
  f->ethernet.type = kEtherTypeIpv6;
  f->ip.SetVersionClassFlow(0, 0);
  constexpr size_t kMessage = NdNeighborAdvert::kSize + NdLinkAddressOption::kSize;
  f->ip.payload_length = be16::FromHost(kMessage);
  f->ip.next_header = kProtocolIcmpv6;
  f->ip.hop_limit = kHopLimit;
  f->ip.source = source;
  f->ip.destination = destination;
  f->message.type = type;
  f->message.flags = be32::FromHost(flags);
  f->message.target = target;
  f->option.type = type == Icmpv6Header::kNeighborSolicit ? NdOption::kSourceLinkAddress : NdOption::kTargetLinkAddress;
  f->option.length = 1;
  f->option.address = own_mac;
  f->message.checksum =
      Icmpv6Checksum(source, destination, absl::MakeConstSpan(frame).subspan(frame.size() - kMessage));
  return frame;
}

}  // namespace

std::optional<NdMessage> ParseNd(absl::Span<const uint8_t> packet, uint32_t l4_offset) {
  if (packet.size() < Ipv6Header::kSize || l4_offset < Ipv6Header::kSize || packet.size() < l4_offset) {
    return std::nullopt;
  }
  const auto* ip = HeaderAt<Ipv6Header>(packet.data());
  const absl::Span<const uint8_t> message = packet.subspan(l4_offset);
  if (message.size() < Icmpv6Header::kSize || ip->hop_limit != kHopLimit) return std::nullopt;
  const auto* icmp = HeaderAt<Icmpv6Header>(message.data());
  if (!IsNdType(icmp->type) || icmp->code != 0) return std::nullopt;
  if (Icmpv6Checksum(ip->source, ip->destination, message).raw != 0) return std::nullopt;

  NdMessage m;
  m.source = ip->source;
  m.destination = ip->destination;
  if (icmp->type != Icmpv6Header::kNeighborSolicit && icmp->type != Icmpv6Header::kNeighborAdvert) {
    return m;
  }
  if (message.size() < NdNeighborSolicit::kSize) return std::nullopt;
  m.target = HeaderAt<NdNeighborSolicit>(message.data())->target;
  if (m.target.IsMulticast() || m.target.IsZero() || m.source.IsMulticast()) return std::nullopt;
  const bool solicit = icmp->type == Icmpv6Header::kNeighborSolicit;
  if (!ParseOptions(message.subspan(NdNeighborSolicit::kSize),
                    solicit ? NdOption::kSourceLinkAddress : NdOption::kTargetLinkAddress, m.mac)) {
    return std::nullopt;
  }
  if (solicit) {
    m.kind = NdMessage::Kind::kSolicit;
    if (m.source.IsZero() && (!IsSolicitedNode(m.destination) || m.mac.has_value())) return std::nullopt;
  } else {
    m.kind = NdMessage::Kind::kAdvert;
    const uint32_t flags = HeaderAt<NdNeighborAdvert>(message.data())->flags.ToHost();
    m.router = flags & NdNeighborAdvert::kRouter;
    m.solicited = flags & NdNeighborAdvert::kSolicited;
    m.overrides = flags & NdNeighborAdvert::kOverride;
    if (m.solicited && m.destination.IsMulticast()) return std::nullopt;
  }
  return m;
}

MacAddress MulticastMac(const Ipv6Address& group) {
  return {{0x33, 0x33, group.bytes[12], group.bytes[13], group.bytes[14], group.bytes[15]}};
}

NdFrame NeighborSolicit(MacAddress own_mac, const Ipv6Address& own, const Ipv6Address& target,
                        std::optional<MacAddress> unicast_to) {
  const Ipv6Address destination = unicast_to ? target : target.SolicitedNode();
  return Build(Icmpv6Header::kNeighborSolicit, 0, own_mac, own, destination, target,
               unicast_to ? *unicast_to : MulticastMac(destination));
}

NdFrame NeighborAdvert(MacAddress own_mac, const NdMessage& solicit, MacAddress destination, bool router) {
  const bool to_all = solicit.source.IsZero();
  const uint32_t flags = NdNeighborAdvert::kOverride | (router ? NdNeighborAdvert::kRouter : 0) |
                         (to_all ? 0 : NdNeighborAdvert::kSolicited);
  return Build(Icmpv6Header::kNeighborAdvert, flags, own_mac, solicit.target, to_all ? kAllNodes : solicit.source,
               solicit.target, to_all ? MulticastMac(kAllNodes) : destination);
}

}  // namespace sluice
