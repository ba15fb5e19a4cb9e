#include "server/rpc/explain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/local/icmp_error.h"
#include "dataplane/observe/explain.h"
#include "server/config/read.h"
#include "server/engine/runtime.h"
#include "server/engine/writer.h"
#include "server/rpc/convert.h"
#include "server/rpc/reasons.h"
#include "server/rpc/status.h"
#include "server/rpc/text.h"

namespace sluice::rpc {
namespace {

constexpr size_t kShortestFrame = 14;
constexpr size_t kLongestFrame = 9728;
constexpr MacAddress kSomeone = {{0x02, 0, 0, 0, 0, 0x01}};

// What is to be explained, checked.
struct Question {
  LinkIndex link = 0;  // 0: Sluice's own packet
  PacketFields fields;
  MacAddress source_mac = kSomeone;
  std::optional<MacAddress> destination_mac;
  std::vector<uint8_t> frame;  // given, or still to be made of `fields`
};

using config::Problem;

Problem ReadNumber(bool has, uint32_t value, uint32_t max, absl::string_view field, auto* out) {
  if (!has) return {};
  if (value > max) return Refuse("VALUE_OUT_OF_RANGE", field, absl::StrCat(field, ": ", value, " is above ", max));
  *out = static_cast<std::remove_pointer_t<decltype(out)>>(value);
  return {};
}

Problem ReadFields(const v1::PacketFields& m, Question* q) {
  PacketFields& f = q->fields;
  if (m.destination().empty()) return Refuse("FIELD_MISSING", "fields.destination", "fields.destination is required");
  if (ParseAddress(m.destination(), &f.destination) != "") {
    return Refuse("INVALID_ADDRESS", "fields.destination", absl::StrCat(Quoted(m.destination()), " is no IP address"));
  }
  if (!m.source().empty() && ParseAddress(m.source(), &f.source) != "") {
    return Refuse("INVALID_ADDRESS", "fields.source", absl::StrCat(Quoted(m.source()), " is no IP address"));
  }
  if (!f.source.empty() && f.source.family != f.destination.family) {
    return Refuse("FAMILY_MISMATCH", "fields.source", "source and destination are of two families");
  }
  if (f.destination.is_v4()) {
    if (f.source.empty()) f.source = Ipv4Address{};
  } else if (f.source.empty()) {
    f.source = Ipv6Address{};
  }
  const Problem numbers[] = {
      ReadNumber(m.has_protocol(), m.protocol(), 255, "fields.protocol", &f.protocol),
      ReadNumber(m.has_source_port(), m.source_port(), 65535, "fields.source_port", &f.source_port),
      ReadNumber(m.has_destination_port(), m.destination_port(), 65535, "fields.destination_port", &f.destination_port),
      ReadNumber(m.has_ttl(), m.ttl(), 255, "fields.ttl", &f.ttl),
      ReadNumber(m.has_tos(), m.tos(), 255, "fields.tos", &f.tos),
      ReadNumber(m.has_length(), m.length(), kLongestFrame - 18, "fields.length", &f.length),
  };
  for (const Problem& p : numbers) {
    if (!p.ok()) return p;
  }
  f.dont_fragment = m.dont_fragment();
  if (!m.source_mac().empty() && ParseMac(m.source_mac(), &q->source_mac) != "") {
    return Refuse("INVALID_MAC", "fields.source_mac", absl::StrCat(Quoted(m.source_mac()), " is no MAC address"));
  }
  if (!m.destination_mac().empty() && ParseMac(m.destination_mac(), &q->destination_mac.emplace()) != "") {
    return Refuse("INVALID_MAC", "fields.destination_mac",
                  absl::StrCat(Quoted(m.destination_mac()), " is no MAC address"));
  }
  return {};
}

Problem ReadQuestion(const v1::ExplainRequest& m, const config::Config& config, Question* q) {
  if (!m.link().empty()) {
    q->link = config.FindLink(m.link());
    if (q->link == 0) return Refuse("UNKNOWN_LINK", "link", absl::StrCat("there is no link ", Quoted(m.link())));
  }
  switch (m.packet_case()) {
    case v1::ExplainRequest::kFields:
      return ReadFields(m.fields(), q);
    case v1::ExplainRequest::kFrame:
      break;
    case v1::ExplainRequest::PACKET_NOT_SET:
      return Refuse("FIELD_MISSING", "fields", "a packet is required: `frame` or `fields`");
  }
  if (q->link == 0) return Refuse("FIELD_MISSING", "link", "a frame needs the link that it comes in by");
  if (m.frame().size() < kShortestFrame || m.frame().size() > kLongestFrame) {
    return Refuse(
        "INVALID_PACKET", "frame",
        absl::StrCat("a frame has ", kShortestFrame, " to ", kLongestFrame, " bytes, not ", m.frame().size()));
  }
  q->frame.assign(m.frame().begin(), m.frame().end());
  return {};
}

v1::ExplainStep* AddStep(absl::string_view stage, std::string text, v1::ExplainResponse* out) {
  v1::ExplainStep* step = out->add_steps();
  step->set_stage(std::string(stage));
  step->set_text(std::move(text));
  return step;
}

// The route that was found, as Read shows it.
void FillRoute(const Snapshot& snapshot, const config::Config& config, const RouteResult& result,
               const IpPrefix& prefix, v1::RouteResult* out) {
  config::RouteCursor at =
      config.SeekRoutes({.table = result.table, .prefix = prefix, .tos = 255, .order = 0, .metric = 0});
  if (at.Valid() && at.id().table == result.table && at.id().prefix == prefix) {
    const config::Object object = DescribeRoute(config, at.id(), at.record());
    v1::Object message;
    EncodeObject(object, WithState::kNo, &message);
    *out->mutable_route() = std::move(*message.mutable_route());
    out->set_uid(object.meta.uid);
  }
  const Nexthop& nexthop = snapshot.nexthop(result.nexthop);
  if (!nexthop.gateway.empty()) out->set_gateway(nexthop.gateway.ToString());
  if (nexthop.link == 0) return;
  out->set_link(config.LinkName(nexthop.link));
  const uint32_t link_mtu = snapshot.link(nexthop.link).mtu;
  out->set_mtu(nexthop.mtu != 0 ? std::min<uint32_t>(nexthop.mtu, link_mtu) : link_mtu);
}

void FillVerdict(const Explanation& e, const config::Config& config, Family family, v1::Verdict* out) {
  switch (e.outcome) {
    case Outcome::kForwarded:
      out->set_outcome(v1::OUTCOME_FORWARDED);
      break;
    case Outcome::kDelivered:
      out->set_outcome(v1::OUTCOME_DELIVERED);
      break;
    case Outcome::kDropped:
      out->set_outcome(v1::OUTCOME_DROPPED);
      break;
    case Outcome::kHeld:
      out->set_outcome(v1::OUTCOME_HELD);
      break;
  }
  if (e.drop.has_value()) out->set_drop_reason(std::string(DropReasonName(*e.drop)));
  if (e.link_out != 0) out->set_link(config.LinkName(e.link_out));
  if (!e.next_hop.empty()) out->set_next_hop(e.next_hop.ToString());
  for (const std::vector<uint8_t>& frame : e.frames) {
    out->add_frames(frame.data(), frame.size());
    if (out->frames_size() > 1 || frame.size() < kShortestFrame) continue;
    MacAddress mac;
    std::copy_n(frame.begin(), 6, mac.bytes.begin());
    out->set_destination_mac(mac.ToString());
    std::copy_n(frame.begin() + 6, 6, mac.bytes.begin());
    out->set_source_mac(mac.ToString());
  }
  if (e.error == IcmpErrorKind::kNone) return;
  if (const auto code = IcmpErrorCode(family, e.error); code.has_value()) {
    out->set_icmp_type(code->type);
    out->set_icmp_code(code->code);
  }
}

// `ip route get` without iif: what route a packet of Sluice's own takes.
void ExplainOwn(const Snapshot& snapshot, const config::Config& config, const IpAddress& destination,
                const IpAddress& from, v1::ExplainResponse* out) {
  const RouteAnswer answer =
      ExplainRoute(snapshot, {.destination = destination, .source = from.IsZero() ? IpAddress() : from, .link_in = 0});
  v1::Verdict* verdict = out->mutable_verdict();
  const auto drop = [&](DropReason reason) {
    verdict->set_outcome(v1::OUTCOME_DROPPED);
    verdict->set_drop_reason(std::string(DropReasonName(reason)));
    AddStep("drop", std::string(DropReasonHelp(reason)), out);
  };
  if (answer.result.nexthop == 0) {
    AddStep("route", absl::StrCat("no table has a route to ", destination.ToString()), out);
    return drop(DropReason::kNoRoute);
  }
  FillRoute(snapshot, config, answer.result, answer.prefix, out->mutable_route());
  const Nexthop& nexthop = answer.nexthop;
  AddStep("route", absl::StrCat("table ", answer.result.table, ": ", answer.prefix.ToString()), out);
  switch (nexthop.type) {
    case RouteType::kUnicast:
      break;
    case RouteType::kLocal:
    case RouteType::kBroadcast:
      verdict->set_outcome(v1::OUTCOME_DELIVERED);
      AddStep("local", absl::StrCat(destination.ToString(), " is an own address"), out);
      return;
    case RouteType::kUnreachable:
      return drop(DropReason::kUnreachable);
    case RouteType::kProhibit:
      return drop(DropReason::kProhibit);
    default:
      return drop(DropReason::kBlackhole);
  }
  const IpAddress& next_hop = answer.next_hop;
  if (!answer.source.empty()) out->mutable_route()->set_prefsrc(answer.source.ToString());
  AddStep("nexthop", absl::StrCat("by ", config.LinkName(nexthop.link), " to ", next_hop.ToString()), out);
  verdict->set_outcome(v1::OUTCOME_FORWARDED);
  verdict->set_link(config.LinkName(nexthop.link));
  verdict->set_next_hop(next_hop.ToString());
}

}  // namespace

grpc::Status ExplainPacket(engine::Engine& engine, const v1::ExplainRequest& request, v1::ExplainResponse* out) {
  engine::Runtime& runtime = engine.runtime();
  const engine::Runtime::SnapshotPin pin(runtime);
  const Snapshot& snapshot = pin.snapshot();
  const config::Config config = engine.writer().live().config;
  Question q;
  if (Problem p = ReadQuestion(request, config, &q); !p.ok()) return ToGrpc(MakeError(p, ""));
  out->set_generation(snapshot.generation);
  out->set_epoch(snapshot.epoch);
  if (q.link == 0) {
    ExplainOwn(snapshot, config, q.fields.destination, q.fields.source, out);
    return grpc::Status::OK;
  }
  if (q.frame.empty()) {
    auto frame = BuildFrame(q.fields, q.destination_mac.value_or(snapshot.link(q.link).mac), q.source_mac);
    if (!frame.ok()) {
      return ToGrpc(MakeError(Refuse("INVALID_PACKET", "fields", std::string(frame.status().message())), ""));
    }
    q.frame = *std::move(frame);
  }
  const Explanation e = sluice::Explain(snapshot, runtime.adjacencies(), q.link, q.frame,
                                        [&](LinkIndex link) { return config.LinkName(link); });
  for (const ExplainStep& step : e.steps) {
    v1::ExplainStep* s = AddStep(step.stage, step.text, out);
    for (const auto& [key, value] : step.facts) {
      v1::ExplainFact* fact = s->add_facts();
      fact->set_key(key);
      fact->set_value(value);
    }
  }
  const bool ipv6 = q.frame.size() >= kShortestFrame && q.frame[12] == 0x86 && q.frame[13] == 0xdd;
  FillVerdict(e, config, ipv6 ? Family::kIpv6 : Family::kIpv4, out->mutable_verdict());
  if (e.route.table != 0) FillRoute(snapshot, config, e.route, e.prefix, out->mutable_route());
  out->set_frame(q.frame.data(), q.frame.size());
  return grpc::Status::OK;
}

}  // namespace sluice::rpc
