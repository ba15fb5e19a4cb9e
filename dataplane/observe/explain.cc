#include "dataplane/observe/explain.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "dataplane/worker/slow_path_route.h"

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

constexpr size_t kMaxFrame = 65535 - 2 * 128;

// A packet buffer on the heap, of one segment: never freed to a pool, since no pool knows it.
class Buffer {
 public:
  // Contents undefined.
  explicit Buffer(size_t bytes) : data_(kHeadroom + bytes) {
    std::memset(static_cast<void*>(&mbuf_), 0, sizeof mbuf_);
    mbuf_.buf_addr = data_.data();
    mbuf_.buf_len = static_cast<uint16_t>(data_.size());
    mbuf_.data_off = kHeadroom;
    mbuf_.data_len = static_cast<uint16_t>(bytes);
    mbuf_.pkt_len = static_cast<uint32_t>(bytes);
    mbuf_.nb_segs = 1;
    rte_mbuf_refcnt_set(&mbuf_, 1);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  rte_mbuf* mbuf() { return &mbuf_; }

 private:
  static constexpr uint16_t kHeadroom = 128;
  std::vector<uint8_t> data_;
  rte_mbuf mbuf_;
};

// Writes down what WorkerContext does.
class RecordingContext {
 public:
  static constexpr bool kRecording = true;
  static constexpr bool kLedger = false;

  RecordingContext(const AdjacencyTable& adjacencies, LinkName link_name, Explanation* out)
      : adjacencies_(adjacencies), link_name_(link_name), out_(out) {}

  // What the stages act upon, as WorkerContext has it.
  const AdjacencyTable& adjacencies() const { return adjacencies_; }
  LaneTotals& totals() { return totals_; }
  void Count(CellIndex, uint64_t, uint64_t) {}
  void Mark(Stage) {}
  void Free(rte_mbuf*) {}
  bool MayReport(AdjacencyIndex) { return true; }
  rte_mbuf* Allocate(uint32_t bytes) {
    if (bytes > kMaxFrame) return nullptr;
    return buffers_.emplace_back(bytes).mbuf();
  }
  void Drop(rte_mbuf*, DropReason reason) { DropUnmade(reason); }
  void DropUnmade(DropReason reason) {
    out_->drop = reason;
    out_->outcome = Outcome::kDropped;
    Step("drop", std::string(DropReasonHelp(reason)), {{"reason", std::string(DropReasonName(reason))}});
  }
  bool Punt(const PuntHeader& header, const rte_mbuf*, uint32_t, bool urgent = false);
  void Send(rte_mbuf* m, const LinkEntry& out);

  // What they say on the way.
  void RecordParsed(Family family, const uint8_t* l3, uint32_t length);
  void RecordRoute(const Snapshot& s, const IpAddress& destination, NexthopIndex nexthop);
  void RecordHopLimit(uint8_t limit) {
    Step("ttl", absl::StrCat("hops left: ", limit, limit > 1 ? "" : ", too few"), {{"ttl", absl::StrCat(limit)}});
  }
  void RecordMtu(uint32_t length, uint32_t mtu) {
    Step("mtu", absl::StrCat(length, " bytes, of at most ", mtu),
         {{"length", absl::StrCat(length)}, {"mtu", absl::StrCat(mtu)}});
  }
  void RecordNeighbor(const IpAddress& next_hop, const LinkEntry& out, Adjacency adjacency);
  void RecordRewrite(const uint8_t* frame, uint8_t limit);

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

void RecordingContext::RecordParsed(Family family, const uint8_t* l3, uint32_t length) {
  const IpAddress source = family == Family::kIpv4 ? IpAddress(V4::Source(l3)) : IpAddress(V6::Source(l3));
  const IpAddress destination =
      family == Family::kIpv4 ? IpAddress(V4::Destination(l3)) : IpAddress(V6::Destination(l3));
  const TransportView transport = family == Family::kIpv4 ? FindTransport4(l3, length) : FindTransport6(l3, length);
  Step("parse",
       absl::StrCat(length, " bytes from ", source.ToString(), " to ", destination.ToString(), ", protocol ",
                    transport.protocol),
       {{"source", source.ToString()},
        {"destination", destination.ToString()},
        {"protocol", absl::StrCat(transport.protocol)},
        {"length", absl::StrCat(length)}});
}

void RecordingContext::RecordRoute(const Snapshot& s, const IpAddress& destination, NexthopIndex nexthop) {
  // The walk once more, for the table: the stages keep only what they need.
  out_->route = destination.is_v4() ? LookupRoute(s, destination.v4()) : LookupRoute(s, destination.v6());
  out_->route.nexthop = nexthop;
  if (nexthop == 0 || nexthop == kThrowNexthop) {
    out_->route = {};
    Step("route", absl::StrCat("no table has a route to ", destination.ToString()),
         {{"destination", destination.ToString()}});
    return;
  }
  out_->prefix = MatchedPrefix(s, out_->route.table, destination);
  const Nexthop& nh = s.nexthop(nexthop);
  Step("route",
       absl::StrCat(destination.ToString(), " matches ", out_->prefix.ToString(), " in table ",
                    TableName(out_->route.table), ": ", TypeName(nh.type)),
       {{"destination", destination.ToString()},
        {"table", TableName(out_->route.table)},
        {"prefix", out_->prefix.ToString()},
        {"type", std::string(TypeName(nh.type))},
        {"nexthop", absl::StrCat(nexthop)}});
  if (nh.type != RouteType::kUnicast) return;
  const std::string gateway = nh.on_link() ? std::string() : nh.gateway.ToString();
  Step(
      "nexthop",
      absl::StrCat(nh.on_link() ? std::string("on link ") : absl::StrCat("via ", gateway, " on "), link_name_(nh.link)),
      {{"gateway", gateway}, {"link", link_name_(nh.link)}});
}

void RecordingContext::RecordNeighbor(const IpAddress& next_hop, const LinkEntry& out, Adjacency adjacency) {
  out_->next_hop = next_hop;
  std::string state = !adjacency.usable() ? "unresolved" : adjacency.wants_report() ? "stale" : "usable";
  std::string text = absl::StrCat(next_hop.ToString(), " on ", link_name_(out.index), " is ", state);
  std::vector<std::pair<std::string, std::string>> facts = {
      {"next_hop", next_hop.ToString()}, {"link", link_name_(out.index)}, {"state", state}};
  if (adjacency.usable()) {
    absl::StrAppend(&text, ", at ", adjacency.mac().ToString());
    facts.emplace_back("mac", adjacency.mac().ToString());
  }
  Step("neighbor", std::move(text), std::move(facts));
}

void RecordingContext::RecordRewrite(const uint8_t* frame, uint8_t limit) {
  const auto* ethernet = HeaderAt<EthernetHeader>(frame);
  Step("rewrite",
       absl::StrCat("from ", ethernet->source.ToString(), " to ", ethernet->destination.ToString(),
                    ", hops left: ", limit),
       {{"source_mac", ethernet->source.ToString()},
        {"destination_mac", ethernet->destination.ToString()},
        {"ttl", absl::StrCat(limit)}});
}

bool RecordingContext::Punt(const PuntHeader& header, const rte_mbuf*, uint32_t, bool urgent) {
  switch (header.kind) {
    case PuntKind::kResolve:
      out_->outcome = Outcome::kHeld;
      out_->link_out = header.link_out;
      out_->next_hop = header.next_hop;
      Step("hold",
           absl::StrCat("waits until ", header.next_hop.ToString(), " answers on ", link_name_(header.link_out)),
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
      Step("local", urgent ? "neighbour discovery, for the neighbour table" : "for ourselves",
           {{"kind", urgent ? "nd" : "local"}});
      break;
    case PuntKind::kArp:
      out_->outcome = Outcome::kDelivered;
      Step("local", "ARP, for the neighbour table", {{"kind", "arp"}});
      break;
    case PuntKind::kStaleUse:  // "neighbor" has said it
      break;
  }
  return true;
}

void RecordingContext::Send(rte_mbuf* m, const LinkEntry& out) {
  const uint8_t* bytes = rte_pktmbuf_mtod(m, const uint8_t*);
  out_->frames.emplace_back(bytes, bytes + m->pkt_len);
  if (!out_->drop.has_value()) out_->outcome = Outcome::kForwarded;
  out_->link_out = out.index;
  Step("transmit", absl::StrCat("leaves by ", link_name_(out.index), ", ", m->pkt_len, " bytes"),
       {{"link", link_name_(out.index)}, {"bytes", absl::StrCat(m->pkt_len)}});
}

}  // namespace

Explanation Explain(const Snapshot& snapshot, const AdjacencyTable& adjacencies, LinkIndex link,
                    absl::Span<const uint8_t> frame, LinkName link_name) {
  Explanation out;
  frame = frame.subspan(0, std::min(frame.size(), kMaxFrame));
  out.steps.push_back({"receive",
                       absl::StrCat(frame.size(), " bytes on ", link_name(link)),
                       {{"link", link_name(link)}, {"bytes", absl::StrCat(frame.size())}}});
  RecordingContext context(adjacencies, link_name, &out);
  rte_mbuf* packet = context.Allocate(static_cast<uint32_t>(frame.size()));
  if (!frame.empty()) std::memcpy(rte_pktmbuf_mtod(packet, void*), frame.data(), frame.size());
  RunPipeline(context, snapshot, LinkOrNone(snapshot, link), &packet, 1);
  return out;
}

RouteAnswer ExplainRoute(const Snapshot& snapshot, const RouteQuery& query) {
  RouteAnswer answer;
  const IpAddress& destination = query.destination;
  answer.source = query.source;
  answer.result =
      destination.is_v4() ? LookupRoute(snapshot, destination.v4()) : LookupRoute(snapshot, destination.v6());
  if (answer.result.nexthop == 0) return answer;
  answer.prefix = MatchedPrefix(snapshot, answer.result.table, destination);
  answer.nexthop = snapshot.nexthop(answer.result.nexthop);
  if (answer.nexthop.type == RouteType::kLocal && query.link_in == 0 && query.source.empty()) {
    answer.source = destination;  // as Linux: from the address to itself
  }
  if (answer.nexthop.type != RouteType::kUnicast) return answer;
  answer.next_hop = answer.nexthop.on_link() ? destination : answer.nexthop.gateway;
  if (query.link_in == 0 && query.source.empty()) {
    const IpAddress target = answer.next_hop.family == destination.family ? answer.next_hop : destination;
    answer.source =
        !answer.nexthop.source.empty() ? answer.nexthop.source : SourceAddress(snapshot, answer.nexthop.link, target);
  }
  return answer;
}

}  // namespace sluice
