#include "dataplane/observe/explain.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"

#define SLUICE_PIPELINE_NAMESPACE explain_stages
#include "dataplane/worker/stages.h"

namespace sluice {
namespace {

absl::string_view TypeName(RouteType type) {
  switch (type) {
    case RouteType::kUnicast:
      return "unicast";
    case RouteType::kLocal:
      return "local";
    case RouteType::kBroadcast:
      return "broadcast";
    case RouteType::kMulticast:
      return "multicast";
    case RouteType::kBlackhole:
      return "blackhole";
    case RouteType::kUnreachable:
      return "unreachable";
    case RouteType::kProhibit:
      return "prohibit";
    case RouteType::kThrow:
      return "throw";
    case RouteType::kNone:
      break;
  }
  return "none";
}

std::string TableName(uint32_t table) {
  switch (table) {
    case kTableLocal:
      return "local";
    case kTableMain:
      return "main";
    case kTableDefault:
      return "default";
    default:
      return absl::StrCat(table);
  }
}

absl::string_view ErrorText(IcmpErrorKind kind) {
  switch (kind) {
    case IcmpErrorKind::kNoRoute:
      return "network unreachable";
    case IcmpErrorKind::kUnreachable:
    case IcmpErrorKind::kHostUnreachable:
      return "host unreachable";
    case IcmpErrorKind::kProhibited:
      return "administratively prohibited";
    case IcmpErrorKind::kTtlExceeded:
      return "time exceeded";
    case IcmpErrorKind::kTooBig:
      return "too big";
    case IcmpErrorKind::kSourceScope:
      return "beyond scope of source address";
    default:
      return "an ICMP error";
  }
}

template <class TrieType, class Key>
IpPrefix PrefixOf(const Snapshot& s, const CowHash<uint32_t, TrieType>& tables, uint32_t table, const Key& key,
                  const IpAddress& destination) {
  const TrieType* trie = tables.Find(s.base, table);
  if (trie == nullptr) return {};
  return IpPrefix::Of(destination, trie->LookupPrefix(s.base, key).length);
}

IpPrefix MatchedPrefix(const Snapshot& s, uint32_t table, const IpAddress& destination) {
  if (destination.is_v4()) return PrefixOf(s, s.tables4, table, destination.v4().ToHost(), destination);
  return PrefixOf(s, s.tables6, table, Ipv6Key{destination.v6().high(), destination.v6().low()}, destination);
}

// A packet buffer on the heap: never freed to a pool, since no pool knows it.
struct Buffer {
  static constexpr uint16_t kHeadroom = 128;
  explicit Buffer(size_t bytes) : data(kHeadroom + bytes + 128) {
    std::memset(static_cast<void*>(&m), 0, sizeof m);
    m.buf_addr = data.data();
    m.buf_len = static_cast<uint16_t>(std::min<size_t>(data.size(), 0xffff));
    m.data_off = kHeadroom;
    m.nb_segs = 1;
    rte_mbuf_refcnt_set(&m, 1);
  }
  std::vector<uint8_t> data;
  rte_mbuf m;
};

// Writes down what WorkerContext does.
class RecordingContext {
 public:
  static constexpr bool kRecording = true;

  RecordingContext(const AdjacencyTable& adjacencies, LinkName link_name, Explanation* out)
      : adjacencies_(adjacencies), link_name_(link_name), out_(out) {}

  rte_mbuf* Take(absl::Span<const uint8_t> frame) {
    Buffer& buffer = buffers_.emplace_back(frame.size());
    std::memcpy(rte_pktmbuf_mtod(&buffer.m, char*), frame.data(), frame.size());
    buffer.m.data_len = static_cast<uint16_t>(frame.size());
    buffer.m.pkt_len = static_cast<uint32_t>(frame.size());
    return &buffer.m;
  }

  const AdjacencyTable& adjacencies() const { return adjacencies_; }
  LaneTotals& totals() { return totals_; }
  void Count(CellIndex, uint64_t, uint64_t) {}
  void Free(rte_mbuf*) {}
  rte_mbuf* Allocate() { return &buffers_.emplace_back(65536 - 2 * Buffer::kHeadroom - 128).m; }

  void RecordRoute(const IpAddress& destination, const RouteResult& result, const Snapshot& s) {
    out_->route = result;
    if (result.nexthop == 0) {
      Step("route", absl::StrCat("no table has a route to ", destination.ToString()),
           {{"destination", destination.ToString()}});
      return;
    }
    out_->prefix = MatchedPrefix(s, result.table, destination);
    const Nexthop& nh = s.nexthop(result.nexthop);
    Step("route",
         absl::StrCat(destination.ToString(), " matches ", out_->prefix.ToString(), " in table ",
                      TableName(result.table)),
         {{"destination", destination.ToString()},
          {"prefix", out_->prefix.ToString()},
          {"table", TableName(result.table)},
          {"type", std::string(TypeName(nh.type))}});
    if (nh.type != RouteType::kUnicast) return;
    const uint32_t mtu = nh.mtu != 0 ? nh.mtu : s.link(nh.link).mtu;
    out_->next_hop = nh.on_link() ? destination : nh.gateway;
    Step("nexthop",
         absl::StrCat(nh.on_link() ? "on link " : absl::StrCat("via ", nh.gateway.ToString(), " on "),
                      link_name_(nh.link)),
         {{"gateway", nh.on_link() ? "" : nh.gateway.ToString()},
          {"link", link_name_(nh.link)},
          {"mtu", absl::StrCat(mtu)}});
  }

  void Drop(rte_mbuf*, DropReason reason) {
    out_->drop = reason;
    out_->outcome = Outcome::kDropped;
    Step("drop", std::string(DropReasonHelp(reason)), {{"reason", std::string(DropReasonName(reason))}});
  }

  bool Punt(const PuntHeader& header, const rte_mbuf*, uint32_t) {
    switch (header.kind) {
      case PuntKind::kResolve:
        out_->outcome = Outcome::kHeld;
        out_->link_out = header.link_out;
        out_->next_hop = header.next_hop;
        Step("neighbor",
             absl::StrCat(header.next_hop.ToString(), " is not resolved on ", link_name_(header.link_out),
                          ": the packet waits"),
             {{"next_hop", header.next_hop.ToString()}, {"link", link_name_(header.link_out)}});
        break;
      case PuntKind::kError:
        out_->error = header.error;
        out_->error_info = header.info;
        Step("icmp", absl::StrCat("its source is told: ", ErrorText(header.error)),
             {{"error", std::string(ErrorText(header.error))}, {"info", absl::StrCat(header.info)}});
        break;
      case PuntKind::kLocal:
        out_->outcome = Outcome::kDelivered;
        Step("local", "for ourselves", {});
        break;
      case PuntKind::kArp:
        out_->outcome = Outcome::kDelivered;
        Step("local", "ARP, for the neighbour table", {});
        break;
      case PuntKind::kStaleUse:
        Step("neighbor", "the entry is stale: used, and verified soon", {});
        break;
    }
    return true;
  }

  void Send(const Snapshot& s, rte_mbuf* m, uint16_t port) {
    const LinkIndex link = s.link_of_port[port];
    const uint8_t* bytes = rte_pktmbuf_mtod(m, const uint8_t*);
    out_->frames.emplace_back(bytes, bytes + m->pkt_len);
    out_->outcome = Outcome::kForwarded;
    out_->link_out = link;
    const auto* ethernet = HeaderAt<EthernetHeader>(bytes);
    Step("neighbor", absl::StrCat(out_->next_hop.ToString(), " is at ", ethernet->destination.ToString()),
         {{"next_hop", out_->next_hop.ToString()}, {"mac", ethernet->destination.ToString()}});
    Step("tx", absl::StrCat("leaves by ", link_name_(link), ", ", m->pkt_len, " bytes"),
         {{"link", link_name_(link)},
          {"source_mac", ethernet->source.ToString()},
          {"destination_mac", ethernet->destination.ToString()},
          {"bytes", absl::StrCat(m->pkt_len)}});
  }

 private:
  void Step(std::string stage, std::string text, std::vector<std::pair<std::string, std::string>> facts) {
    out_->steps.push_back({std::move(stage), std::move(text), std::move(facts)});
  }

  const AdjacencyTable& adjacencies_;
  LinkName link_name_;
  Explanation* out_;
  LaneTotals totals_;
  std::deque<Buffer> buffers_;
};

absl::string_view EtherTypeName(be16 type) {
  if (type == kEtherTypeIpv4) return "IPv4";
  if (type == kEtherTypeIpv6) return "IPv6";
  if (type == kEtherTypeArp) return "ARP";
  return "unknown EtherType";
}

}  // namespace

Explanation Explain(const Snapshot& snapshot, const AdjacencyTable& adjacencies, LinkIndex link,
                    absl::Span<const uint8_t> frame, LinkName link_name) {
  Explanation out;
  const LinkEntry& in = snapshot.link(link);
  constexpr size_t kMaxFrame = 65535 - 2 * Buffer::kHeadroom - 128;
  frame = frame.subspan(0, std::min(frame.size(), kMaxFrame));
  std::string what = "a runt";
  if (frame.size() >= EthernetHeader::kSize) {
    what = std::string(EtherTypeName(HeaderAt<EthernetHeader>(frame.data())->type));
  }
  out.steps.push_back({"parse",
                       absl::StrCat(frame.size(), " bytes of ", what, " on ", link_name(link)),
                       {{"link", link_name(link)}, {"bytes", absl::StrCat(frame.size())}, {"type", what}}});
  RecordingContext context(adjacencies, link_name, &out);
  rte_mbuf* packet = context.Take(frame);
  Pipeline<RecordingContext>(context, snapshot).Process(in.port, &packet, 1);
  return out;
}

RouteAnswer FindRoute(const Snapshot& snapshot, const IpAddress& destination) {
  RouteAnswer answer;
  answer.result =
      destination.is_v4() ? LookupRoute(snapshot, destination.v4()) : LookupRoute(snapshot, destination.v6());
  if (answer.result.nexthop != 0) {
    answer.prefix = MatchedPrefix(snapshot, answer.result.table, destination);
    answer.nexthop = snapshot.nexthop(answer.result.nexthop);
  }
  return answer;
}

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
    uint32_t sum = 0;
    for (uint32_t i = 0; i < l3_header; i += 2) sum += static_cast<uint32_t>(l3[i]) << 8 | l3[i + 1];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    ip->checksum = be16::FromHost(static_cast<uint16_t>(~sum));
  } else {
    auto* ip = HeaderAt<Ipv6Header>(l3);
    const uint32_t first = 0x60000000u | static_cast<uint32_t>(fields.tos) << 20;
    const be32 word = be32::FromHost(first);
    std::memcpy(l3, &word, 4);
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
    l4[0] = 8;  // echo request
  } else if (fields.protocol == kProtocolIcmpv6) {
    l4[0] = 128;
  }
  return frame;
}

}  // namespace sluice
