// Every reason that config can give has a request here that provokes it, and is in the proto with the same code.
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "server/config/problem.h"
#include "server/config/test_util.h"

#ifndef SLUICE_SOURCE_DIR
#error "the build names the source directory"
#endif

namespace sluice::config {
namespace {

class Devices : public DeviceDirectory {
 public:
  Problem Describe(const std::string& name, const std::string&, DeviceFacts* facts) override {
    facts->known = true;
    facts->mac = Mac("02:00:00:00:00:aa");
    facts->max_mtu = 1500;
    facts->max_rx_queues = facts->max_tx_queues = 4;
    facts->mac_settable = name != "fixed";
    if (name == "none") return Refuse("DEVICE_NOT_FOUND", "", "there is no such device");
    if (name == "bad") return Refuse("DEVICE_FAILED", "", "probe: -19");
    if (name == "odd") return Refuse("INVALID_DEVARGS", "", "no such driver");
    return {};
  }
};

struct Row {
  std::string expected;  // "REASON FIELD"
  Operation op;
};

template <class T, class Edit>
Operation With(Verb verb, T object, Edit edit) {
  edit(object);
  return Op(verb, std::move(object));
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  const auto add = [&](std::string expected, Operation op) { rows.push_back({std::move(expected), std::move(op)}); };
  const auto route = [&](std::string expected, const char* prefix, const char* gateway, const char* link, auto edit) {
    add(std::move(expected), With(Verb::kAdd, MakeRoute(prefix, gateway, link), edit));
  };
  const auto as_is = [](auto&) {};
  // Operations.
  Operation verbless = AddLink("v5");
  verbless.verb = static_cast<Verb>(99);
  add("UNKNOWN_ENUM_VALUE verb", verbless);
  Operation missing = AddLink("v5");
  missing.missing_ok = true;
  add("MISSING_OK_NOT_ALLOWED missing_ok", missing);
  add("KIND_MISSING object", Op(Verb::kAdd, {}));
  add("TARGET_NOT_ALLOWED object", Op(Verb::kFlush, MakeLink("v0")));
  add("VERB_NOT_ALLOWED verb", Op(Verb::kAppend, MakeLink("v5")));
  add("VERB_NOT_ALLOWED verb", Op(Verb::kPrepend, MakeAddress("v0", "10.7.0.1/24")));
  add("VERB_NOT_ALLOWED verb", Op(Verb::kAppend, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99")));
  Operation select;
  select.verb = Verb::kFlush;
  select.target = Selector{};
  add("SELECTOR_EMPTY selector", select);
  Selector derived;
  derived.match = Route{};
  derived.origins = {Origin::kDerived};
  select.target = derived;
  add("SELECTOR_ORIGIN selector.origins", select);
  add("UPDATE_MASK update_mask", Op(Verb::kChange, MakeLink("v0"), {"name"}));
  add("UPDATE_MASK update_mask", Op(Verb::kChange, MakeAddress("v0", "10.0.0.1/24"), {"address"}));
  Operation changed = DeleteRoute("10.9.0.0/16");
  changed.expected_changed = 77;
  add("OBJECT_CHANGED expected_changed", changed);
  Operation owner = AddRoute("10.10.0.0/16", "10.0.0.9");
  std::get<Object>(owner.target).owner = std::string(300, 'x');
  add("TEXT_TOO_LONG object.owner", owner);
  Operation labels = AddRoute("10.10.0.0/16", "10.0.0.9");
  for (int i = 0; i < 65; ++i) std::get<Object>(labels.target).labels[absl::StrCat(i)] = "";
  add("LIMIT_REACHED object.labels", labels);
  // Links.
  for (const char* name : {"", "a/b", "a b", "a:b", ".", "..", "all", "default", "sixteen-bytes-xx"}) {
    Link link = MakeLink("v5");
    link.name = name;
    add("INVALID_LINK_NAME object.link.name", Op(Verb::kAdd, link));
  }
  add("FIELD_MISSING object.link.port.devargs", With(Verb::kAdd, MakeLink("v5"), [](Link& l) { l.devargs.clear(); }));
  add("FIELD_NOT_ALLOWED object.link.new_name", With(Verb::kAdd, MakeLink("v5"), [](Link& l) { l.new_name = "v6"; }));
  for (const uint32_t mtu : {0u, 67u, 1501u}) {
    add("MTU_OUT_OF_RANGE object.link.mtu", With(Verb::kAdd, MakeLink("v5"), [mtu](Link& l) { l.mtu = mtu; }));
  }
  for (const uint32_t queues : {0u, 65u}) {
    add("VALUE_OUT_OF_RANGE object.link.port.rx_queues",
        With(Verb::kAdd, MakeLink("v5"), [queues](Link& l) { l.rx_queues = queues; }));
  }
  add("QUEUES_OUT_OF_RANGE object.link.port.tx_queues",
      With(Verb::kAdd, MakeLink("v5"), [](Link& l) { l.tx_queues = 5; }));
  for (const char* mac : {"ff:ff:ff:ff:ff:ff", "01:00:00:00:00:01", "00:00:00:00:00:00"}) {
    add("MAC_NOT_UNICAST object.link.mac", With(Verb::kAdd, MakeLink("v5"), [mac](Link& l) { l.mac = Mac(mac); }));
  }
  add("MAC_NOT_SETTABLE object.link.mac", Op(Verb::kAdd, MakeLink("fixed")));
  add("DEVICE_NOT_FOUND object.link.port.devargs", Op(Verb::kAdd, MakeLink("none")));
  add("DEVICE_FAILED object.link.port.devargs", Op(Verb::kAdd, MakeLink("bad")));
  add("INVALID_DEVARGS object.link.port.devargs", Op(Verb::kAdd, MakeLink("odd")));
  add("DEVICE_IN_USE object.link.port.devargs",
      With(Verb::kAdd, MakeLink("v5"), [](Link& l) { l.devargs = "net_null_v0"; }));
  add("LINK_KIND_CHANGED object.link.port.devargs",
      With(Verb::kReplace, MakeLink("v0"), [](Link& l) { l.devargs = "net_null9"; }));
  add("ALREADY_EXISTS object.link.name", AddLink("v0"));
  add("NOT_FOUND object.link.name", BringUp("v9", true));
  // Addresses.
  for (const char* text : {"0.0.0.0/8", "224.0.0.1/24", "255.255.255.255/32", "::/64", "ff02::1/64", "::1/128"}) {
    add("ADDRESS_NOT_UNICAST object.address.address", AddAddress("v0", text));
  }
  add("INVALID_PREFIX object.address.address",
      With(Verb::kAdd, MakeAddress("v0", "10.7.0.1/24"), [](Address& a) { a.prefix_length = 33; }));
  add("SCOPE_NOT_ALLOWED object.address.scope",
      With(Verb::kAdd, MakeAddress("v0", "2001:db8:7::1/64"), [](Address& a) { a.scope = 253; }));
  add("FIELD_MISSING object.address.link", AddAddress("", "10.7.0.1/24"));
  add("UNKNOWN_LINK object.address.link", AddAddress("v9", "10.7.0.1/24"));
  add("MTU_BELOW_IPV6 object.address.address", AddAddress("low", "2001:db8:7::1/64"));
  // Neighbours.
  for (const char* text : {"0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::1"}) {
    add("ADDRESS_NOT_UNICAST object.neighbor.address", Op(Verb::kAdd, MakeNeighbor("v0", text, "02:00:00:00:00:99")));
  }
  add("FIELD_MISSING object.neighbor.lladdr", Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "")));
  add("MAC_NOT_UNICAST object.neighbor.lladdr", Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "ff:ff:ff:ff:ff:ff")));
  add("NUD_NOT_SETTABLE object.neighbor.nud", With(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99"),
                                                   [](Neighbor& n) { n.nud = NudState::kReachable; }));
  // Routes.
  const char* leg = "object.route.nexthops[0].";
  add("FIELD_MISSING object.route.prefix", Op(Verb::kAdd, Route{}));
  route("HOST_BITS_SET object.route.prefix", "10.0.0.0/8", "10.0.0.9", "",
        [](Route& r) { r.prefix.address = Ip("10.0.0.1"); });
  route("INVALID_PREFIX object.route.prefix", "10.0.0.0/8", "10.0.0.9", "", [](Route& r) { r.prefix.length = 33; });
  route("VALUE_OUT_OF_RANGE object.route.table", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.table = 0; });
  route("VALUE_OUT_OF_RANGE object.route.tos", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.tos = 256; });
  route("TOS_NOT_ALLOWED object.route.tos", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.tos = 1; });
  route("TOS_NOT_ALLOWED object.route.tos", "2001:db8:9::/48", "fe80::9", "v0", [](Route& r) { r.tos = 16; });
  route("NOT_SUPPORTED object.route.tos", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.tos = 16; });
  route("NOT_SUPPORTED object.route.nexthops", "10.10.0.0/16", "10.0.0.9", "",
        [](Route& r) { r.legs.push_back(r.legs[0]); });
  route("NOT_SUPPORTED object.route.type", "10.10.0.0/16", "", "v0", [](Route& r) { r.type = RouteType::kMulticast; });
  route("UNKNOWN_ENUM_VALUE object.route.type", "10.10.0.0/16", "", "v0",
        [](Route& r) { r.type = static_cast<RouteType>(99); });
  route("VALUE_OUT_OF_RANGE object.route.protocol", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.protocol = 256; });
  for (const uint32_t mtu : {0u, 67u, 65536u}) {
    route("MTU_OUT_OF_RANGE object.route.mtu", "10.10.0.0/16", "10.0.0.9", "", [mtu](Route& r) { r.mtu = mtu; });
  }
  route("MTU_OUT_OF_RANGE object.route.mtu", "2001:db8:9::/48", "fe80::9", "v0", [](Route& r) { r.mtu = 1279; });
  route("FIELD_NOT_ALLOWED object.route.mtu_locked", "10.10.0.0/16", "10.0.0.9", "",
        [](Route& r) { r.mtu_locked = true; });
  route("NEXTHOP_MISSING object.route.nexthops", "10.10.0.0/16", "", "", as_is);
  route("NEXTHOP_MISSING object.route.nexthops", "10.10.0.0/16", "", "", [](Route& r) { r.legs.resize(1); });
  for (const uint32_t weight : {0u, 257u}) {
    route(absl::StrCat("VALUE_OUT_OF_RANGE ", leg, "weight"), "10.10.0.0/16", "10.0.0.9", "",
          [weight](Route& r) { r.legs[0].weight = weight; });
  }
  route("NEXTHOP_NOT_ALLOWED object.route.nexthops", "10.10.0.0/16", "10.0.0.9", "",
        [](Route& r) { r.type = RouteType::kBlackhole; });
  route(absl::StrCat("NEXTHOP_NOT_ALLOWED ", leg, "gateway"), "10.10.0.0/16", "10.0.0.9", "v0",
        [](Route& r) { r.type = RouteType::kLocal; });
  route("FAMILY_MISMATCH object.route.type", "2001:db8:9::/48", "", "v0",
        [](Route& r) { r.type = RouteType::kBroadcast; });
  route(absl::StrCat("FAMILY_MISMATCH ", leg, "gateway"), "2001:db8:9::/48", "10.0.0.9", "v0", as_is);
  route("FAMILY_MISMATCH object.route.prefsrc", "10.10.0.0/16", "10.0.0.9", "",
        [](Route& r) { r.prefsrc = Ip("2001:db8::1"); });
  route("FIELD_NOT_ALLOWED object.route.prefsrc", "10.10.0.0/16", "", "", [](Route& r) {
    r.type = RouteType::kUnreachable;
    r.prefsrc = Ip("10.0.0.1");
  });
  route("FIELD_NOT_ALLOWED object.route.counted", "10.10.0.0/16", "", "", [](Route& r) {
    r.type = RouteType::kThrow;
    r.counted = true;
  });
  route("FIELD_NOT_ALLOWED object.route.scope", "2001:db8:9::/48", "fe80::9", "v0", [](Route& r) { r.scope = 0; });
  route("SCOPE_NOT_ALLOWED object.route.scope", "10.10.0.0/16", "10.0.0.9", "", [](Route& r) { r.scope = 253; });
  route("SCOPE_NOT_ALLOWED object.route.scope", "10.10.0.0/16", "", "v0", [](Route& r) { r.scope = 255; });
  route("SCOPE_NOT_ALLOWED object.route.scope", "10.10.0.0/16", "", "v0", [](Route& r) {
    r.type = RouteType::kLocal;
    r.scope = 253;
  });
  for (const char* gateway : {"0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::1", "10.0.0.255"}) {
    route(absl::StrCat("GATEWAY_NOT_UNICAST ", leg, "gateway"), "10.10.0.0/16", gateway, "v0", as_is);
  }
  route(absl::StrCat("FIELD_NOT_ALLOWED ", leg, "onlink"), "10.10.0.0/16", "", "v0",
        [](Route& r) { r.legs[0].onlink = true; });
  route(absl::StrCat("GATEWAY_NEEDS_LINK ", leg, "link"), "10.10.0.0/16", "10.9.9.9", "",
        [](Route& r) { r.legs[0].onlink = true; });
  route(absl::StrCat("GATEWAY_NEEDS_LINK ", leg, "link"), "2001:db8:9::/48", "fe80::9", "", as_is);
  route(absl::StrCat("INVALID_LINK_NAME ", leg, "link"), "10.10.0.0/16", "", "sixteen-bytes-xx", as_is);
  route(absl::StrCat("UNKNOWN_LINK ", leg, "link"), "10.10.0.0/16", "", "v9", as_is);
  route(absl::StrCat("LINK_DOWN ", leg, "link"), "10.10.0.0/16", "", "down", as_is);
  route(absl::StrCat("GATEWAY_UNREACHABLE ", leg, "gateway"), "10.10.0.0/16", "10.9.9.9", "", as_is);
  route(absl::StrCat("GATEWAY_IS_OWN ", leg, "gateway"), "2001:db8:9::/48", "2001:db8::1", "", as_is);
  route(absl::StrCat("MTU_BELOW_IPV6 ", leg, "link"), "2001:db8:9::/48", "fe80::9", "low", as_is);
  route("PREFSRC_NOT_LOCAL object.route.prefsrc", "10.10.0.0/16", "10.0.0.9", "",
        [](Route& r) { r.prefsrc = Ip("10.0.0.9"); });
  add("DERIVED object.route.prefix", DeleteRoute("10.0.0.0/24"));
  return rows;
}

World Start(Devices* devices) {
  World w;
  w.options.devices = devices;
  Link low = MakeLink("low");
  low.mtu = 1000;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "2001:db8::1/64"),
          AddRoute("10.9.0.0/16", "10.0.0.9"), AddLink("down", false), Op(Verb::kAdd, low)});
  return w;
}

TEST(Refusal, EveryBadRequestIsRefusedWithItsReasonAndField) {
  Devices devices;
  const World w = Start(&devices);
  const std::vector<Row> rows = Rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(w.Refused({rows[i].op}), absl::StrCat("0 ", rows[i].expected)) << "row " << i;
    // The same after good operations in the batch.
    EXPECT_EQ(w.Refused({AddRoute("30.0.0.0/8", "10.0.0.9"), rows[i].op}), absl::StrCat("1 ", rows[i].expected))
        << "row " << i;
  }
}

TEST(Refusal, LimitsHold) {
  Devices devices;
  World w = Start(&devices);
  w.options.limits.links = 4;
  w.options.limits.addresses = w.config.addresses.size() + 1;
  w.options.limits.neighbors = 1;
  w.options.limits.routes = w.config.routes() + 1;
  w.Must({AddLink("v5")});
  EXPECT_EQ(w.Refused({AddLink("v6")}), "0 LIMIT_REACHED object.link");
  EXPECT_EQ(w.Refused({Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.8", "02:00:00:00:00:99")),
                       Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99"))}),
            "1 LIMIT_REACHED object.neighbor");
  w.options.limits.routes = w.config.routes() + 1;
  EXPECT_EQ(w.Refused({AddRoute("20.0.0.0/8", "10.0.0.9"), AddRoute("21.0.0.0/8", "10.0.0.9")}),
            "1 LIMIT_REACHED object.route");
  w.options.limits.nexthops = w.config.nexthops.size();
  EXPECT_EQ(w.Refused({AddRoute("20.0.0.0/8", "10.0.0.77")}), "0 LIMIT_REACHED object.route.nexthops");
}

TEST(Refusal, ReasonsAreThoseOfTheProtoWithTheCodesOfItsComments) {
  std::ifstream file(absl::StrCat(SLUICE_SOURCE_DIR, "/proto/sluice/v1/reason.proto"));
  ASSERT_TRUE(file.good());
  std::map<std::string, std::string> codes;  // reason: first word of its comment
  std::string line, comment;
  while (std::getline(file, line)) {
    absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(text, "//")) {
      comment = absl::StrCat(comment, text.substr(2));
      continue;
    }
    if (absl::StartsWith(text, "REASON_")) {
      const std::string name(text.substr(7, text.find(' ') - 7));
      const absl::string_view words = absl::StripAsciiWhitespace(comment);
      codes[name] = std::string(words.substr(0, words.find('.')));
    }
    comment.clear();
  }
  std::set<std::string> provoked;
  for (const Row& row : Rows()) provoked.insert(row.expected.substr(0, row.expected.find(' ')));
  for (const auto& [reason, code] : AllReasons()) {
    const auto it = codes.find(std::string(reason));
    ASSERT_NE(it, codes.end()) << reason;
    EXPECT_EQ(it->second, absl::StatusCodeToString(code)) << reason;
    if (reason == "INTERNAL" || reason == "OUT_OF_MEMORY") continue;
    EXPECT_TRUE(provoked.contains(std::string(reason))) << reason << " has no row";
  }
}

}  // namespace
}  // namespace sluice::config
