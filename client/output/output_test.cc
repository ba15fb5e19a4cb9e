// Messages to text and JSON. The wanted texts were printed by iproute2 6.1 for the same objects in a network namespace,
// but for what Sluice does not have (qdisc, qlen).
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "client/output/objects.h"
#include "client/output/reports.h"

namespace sluice::client {
namespace {

using google::protobuf::TextFormat;

template <typename Message>
Message Make(const std::string& text) {
  Message message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string Print(const Style& style, const Query& query, const std::vector<std::string>& objects) {
  std::string out;
  const Sink sink = [&out](absl::string_view text) { out.append(text.data(), text.size()); };
  ObjectPrinter printer(style, query, sink);
  for (const std::string& object : objects) printer.Print(Make<v1::Object>(object));
  printer.Finish();
  return out;
}

const char kConnected[] =
    "route { table: 254 prefix: '10.0.0.0/24' type: ROUTE_TYPE_UNICAST nexthops { link: 'd0' } protocol: 2 "
    "scope: SCOPE_LINK prefsrc: '10.0.0.1' metric: 0 }";
const char kStatic[] =
    "route { table: 254 prefix: '10.1.0.0/16' metric: 5 type: ROUTE_TYPE_UNICAST "
    "nexthops { gateway: '10.0.0.9' link: 'd0' } protocol: 4 scope: SCOPE_UNIVERSE prefsrc: '10.0.0.2' mtu: 1400 "
    "mtu_locked: true }";
const char kMultipath[] =
    "route { table: 254 prefix: '10.3.0.0/16' tos: 16 type: ROUTE_TYPE_UNICAST protocol: 3 scope: SCOPE_UNIVERSE "
    "nexthops { gateway: '10.0.0.9' link: 'd0' weight: 2 } nexthops { gateway: '10.0.0.8' link: 'd0' } }";

struct RouteCase {
  std::string object, text, json;
};

const RouteCase kRoutes[] = {
    {"route { table: 254 prefix: '0.0.0.0/0' type: ROUTE_TYPE_UNICAST protocol: 3 scope: SCOPE_UNIVERSE "
     "nexthops { gateway: '10.0.0.9' link: 'd0' } }",
     "default via 10.0.0.9 dev d0 \n", R"({"dst":"default","gateway":"10.0.0.9","dev":"d0","flags":[]})"},
    {kConnected, "10.0.0.0/24 dev d0 proto kernel scope link src 10.0.0.1 \n",
     R"({"dst":"10.0.0.0/24","dev":"d0","protocol":"kernel","scope":"link","prefsrc":"10.0.0.1","flags":[]})"},
    {kStatic, "10.1.0.0/16 via 10.0.0.9 dev d0 proto static src 10.0.0.2 metric 5 mtu lock 1400 \n",
     R"({"dst":"10.1.0.0/16","gateway":"10.0.0.9","dev":"d0","protocol":"static","prefsrc":"10.0.0.2","metric":5,)"
     R"("flags":[],"metrics":[{"mtu":1400}]})"},
    {"route { table: 254 prefix: '10.2.0.0/16' type: ROUTE_TYPE_BLACKHOLE protocol: 3 scope: SCOPE_UNIVERSE }",
     "blackhole 10.2.0.0/16 \n", R"({"type":"blackhole","dst":"10.2.0.0/16","flags":[]})"},
    {kMultipath,
     "10.3.0.0/16 tos 0x10 \n\tnexthop via 10.0.0.9 dev d0 weight 2 \n\tnexthop via 10.0.0.8 dev d0 weight 1 \n",
     R"({"dst":"10.3.0.0/16","tos":"0x10","flags":[],"nexthops":[{"gateway":"10.0.0.9","dev":"d0","weight":2,)"
     R"("flags":[]},{"gateway":"10.0.0.8","dev":"d0","weight":1,"flags":[]}]})"},
    {"route { table: 254 prefix: '10.4.0.0/16' type: ROUTE_TYPE_UNICAST protocol: 3 scope: SCOPE_UNIVERSE "
     "nexthops { gateway: 'fe80::9' link: 'd0' } }",
     "10.4.0.0/16 via inet6 fe80::9 dev d0 \n",
     R"({"dst":"10.4.0.0/16","via":{"family":"inet6","host":"fe80::9"},"dev":"d0","flags":[]})"},
    {"route { table: 100 prefix: '10.6.0.0/16' type: ROUTE_TYPE_UNICAST protocol: 3 scope: SCOPE_UNIVERSE "
     "nexthops { gateway: '99.9.9.9' link: 'd0' onlink: true } }",
     "10.6.0.0/16 via 99.9.9.9 dev d0 table 100 onlink \n",
     R"({"dst":"10.6.0.0/16","gateway":"99.9.9.9","dev":"d0","table":"100","flags":["onlink"]})"},
    {"route { table: 255 prefix: '10.0.0.1/32' type: ROUTE_TYPE_LOCAL nexthops { link: 'd0' } protocol: 2 "
     "scope: SCOPE_HOST prefsrc: '10.0.0.1' }",
     "local 10.0.0.1 dev d0 table local proto kernel scope host src 10.0.0.1 \n",
     R"({"type":"local","dst":"10.0.0.1","dev":"d0","table":"local","protocol":"kernel","scope":"host",)"
     R"("prefsrc":"10.0.0.1","flags":[]})"},
    {"route { table: 254 prefix: '2001:db8:1::/48' metric: 1024 type: ROUTE_TYPE_UNICAST protocol: 3 "
     "nexthops { gateway: '2001:db8::9' link: 'd0' } }",
     "2001:db8:1::/48 via 2001:db8::9 dev d0 metric 1024 pref medium\n",
     R"({"dst":"2001:db8:1::/48","gateway":"2001:db8::9","dev":"d0","metric":1024,"flags":[],"pref":"medium"})"},
    {"route { table: 255 prefix: '2001:db8::1/128' metric: 0 type: ROUTE_TYPE_LOCAL protocol: 2 "
     "nexthops { link: 'd0' } }",
     "local 2001:db8::1 dev d0 table local proto kernel metric 0 pref medium\n",
     R"({"type":"local","dst":"2001:db8::1","dev":"d0","table":"local","protocol":"kernel","metric":0,"flags":[],)"
     R"("pref":"medium"})"},
    {"route { table: 254 prefix: '10.7.0.0/16' type: ROUTE_TYPE_UNICAST protocol: 3 scope: SCOPE_UNIVERSE "
     "nexthops { gateway: '10.0.0.9' link: 'd0' state { dead: true linkdown: true } } }",
     "10.7.0.0/16 via 10.0.0.9 dev d0 dead linkdown \n",
     R"({"dst":"10.7.0.0/16","gateway":"10.0.0.9","dev":"d0","flags":["dead","linkdown"]})"},
};

TEST(RouteOutput, IsIproute2s) {
  for (const RouteCase& c : kRoutes) {
    EXPECT_EQ(Print(Style{}, Query{}, {c.object}), c.text);
    EXPECT_EQ(Print(Style{.json = true}, Query{}, {c.object}), "[" + c.json + "]\n");
  }
  EXPECT_EQ(Print(Style{.json = true}, Query{}, {}), "[]\n");
  EXPECT_EQ(Print(Style{.json = true, .pretty = true}, Query{}, {}), "[ ]\n");
}

TEST(RouteOutput, DetailsSayWhatIsElseLeftOut) {
  EXPECT_EQ(Print(Style{.details = true}, Query{}, {kStatic}),
            "unicast 10.1.0.0/16 via 10.0.0.9 dev d0 table main proto static scope global src 10.0.0.2 metric 5 mtu "
            "lock 1400 \n");
}

TEST(RouteOutput, WhatTheCommandFixedIsLeftOut) {
  Query query;
  query.hide_dev = query.hide_via = query.hide_protocol = query.hide_src = query.hide_table = true;
  EXPECT_EQ(Print(Style{}, query, {kStatic}), "10.1.0.0/16 metric 5 mtu lock 1400 \n");
}

TEST(RouteOutput, CountersAreShownWithStatistics) {
  const std::string object =
      "route { table: 254 prefix: '10.0.0.0/8' type: ROUTE_TYPE_BLACKHOLE counted: true state { packets: 3 bytes: 84 } "
      "}";
  EXPECT_EQ(Print(Style{}, Query{}, {object}), "blackhole 10.0.0.0/8 counted \n");
  EXPECT_EQ(Print(Style{.statistics = true}, Query{}, {object}), "blackhole 10.0.0.0/8 counted packets 3 bytes 84 \n");
  EXPECT_EQ(Print(Style{.json = true, .statistics = true}, Query{}, {object}),
            R"([{"type":"blackhole","dst":"10.0.0.0/8","flags":[],"counted":true,"stats":{"packets":3,"bytes":84}}])"
            "\n");
}

TEST(RouteOutput, PrettyJsonHasIproute2sLineBreaks) {
  EXPECT_EQ(Print(Style{.json = true, .pretty = true}, Query{}, {kMultipath}),
            R"([ {
        "dst": "10.3.0.0/16",
        "tos": "0x10",
        "flags": [ ],
        "nexthops": [ {
                "gateway": "10.0.0.9",
                "dev": "d0",
                "weight": 2,
                "flags": [ ]
            },{
                "gateway": "10.0.0.8",
                "dev": "d0",
                "weight": 1,
                "flags": [ ]
            } ]
    } ]
)");
}

const char kLink[] =
    "link { name: 'd0' up: true mtu: 1500 port { devargs: 'net_null0' } state { index: 3 oper_state: OPER_STATE_UP "
    "carrier: true mac: '02:00:00:00:00:01' mtu: 1500 max_mtu: 9000 rx_queues: 2 tx_queues: 1 driver: 'net_null' "
    "speed_mbps: 10000 statistics { rx_bytes: 176 rx_packets: 2 tx_bytes: 180 tx_packets: 2 rx_missed: 12345678 } } }";

Query LinkQuery() {
  Query query;
  query.noun = Noun::kLink;
  return query;
}

TEST(LinkOutput, IsIproute2s) {
  EXPECT_EQ(Print(Style{}, LinkQuery(), {kLink}),
            "3: d0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP mode DEFAULT group default\n"
            "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n");
  EXPECT_EQ(Print(Style{.json = true}, LinkQuery(), {kLink}),
            R"([{"ifindex":3,"ifname":"d0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,)"
            R"("operstate":"UP","linkmode":"DEFAULT","group":"default","link_type":"ether",)"
            R"("address":"02:00:00:00:00:01","broadcast":"ff:ff:ff:ff:ff:ff"}])"
            "\n");
}

TEST(LinkOutput, StatisticsAreColumns) {
  EXPECT_EQ(Print(Style{.statistics = true}, LinkQuery(), {kLink}),
            "3: d0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP mode DEFAULT group default\n"
            "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
            "    RX:  bytes packets errors dropped   missed   mcast \n"
            "           176       2      0       0 12345678       0 \n"
            "    TX:  bytes packets errors dropped carrier collsns \n"
            "           180       2      0       0       0       0 \n");
  EXPECT_EQ(Print(Style{.json = true, .statistics = true}, LinkQuery(), {kLink}),
            R"([{"ifindex":3,"ifname":"d0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,)"
            R"("operstate":"UP","linkmode":"DEFAULT","group":"default","link_type":"ether",)"
            R"("address":"02:00:00:00:00:01","broadcast":"ff:ff:ff:ff:ff:ff","stats64":{"rx":{"bytes":176,"packets":2,)"
            R"("errors":0,"dropped":0,"over_errors":12345678,"multicast":0},"tx":{"bytes":180,"packets":2,"errors":0,)"
            R"("dropped":0,"carrier_errors":0,"collisions":0}}}])"
            "\n");
}

TEST(LinkOutput, DetailsTellTheDevice) {
  EXPECT_EQ(Print(Style{.details = true, .oneline = true}, LinkQuery(), {kLink}),
            "3: d0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP mode DEFAULT group default\\    link/ether "
            "02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff minmtu 68 maxmtu 9000\\    port devargs net_null0 driver net_null "
            "speed 10000 numtxqueues 1 numrxqueues 2\n");
}

TEST(LinkOutput, NoCarrierAndDown) {
  EXPECT_EQ(Print(Style{}, LinkQuery(),
                  {"link { name: 'd0' up: true state { index: 3 oper_state: OPER_STATE_DOWN mtu: 1500 mac: 'm' } }",
                   "link { name: 'd1' up: false state { index: 4 carrier: true oper_state: OPER_STATE_DOWN mtu: 1500 "
                   "mac: 'm' } }"}),
            "3: d0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 state DOWN mode DEFAULT group default\n"
            "    link/ether m brd ff:ff:ff:ff:ff:ff\n"
            "4: d1: <BROADCAST,MULTICAST> mtu 1500 state DOWN mode DEFAULT group default\n"
            "    link/ether m brd ff:ff:ff:ff:ff:ff\n");
}

const char kAddress4[] =
    "address { link: 'd0' address: '10.5.0.1/24' scope: SCOPE_UNIVERSE metric: 7 noprefixroute: true }";
const char kSecondary[] =
    "address { link: 'd0' address: '10.0.0.2/24' scope: SCOPE_UNIVERSE state { secondary: true } }";
const char kAddress6[] = "address { link: 'd0' address: 'fe80::1/64' scope: SCOPE_LINK }";

TEST(AddressOutput, StandsUnderItsLink) {
  Query query;
  query.noun = Noun::kAddress;
  EXPECT_EQ(Print(Style{}, query, {kLink, kAddress4, kSecondary, kAddress6}),
            "3: d0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP group default\n"
            "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
            "    inet 10.5.0.1/24 metric 7 scope global noprefixroute d0\n"
            "       valid_lft forever preferred_lft forever\n"
            "    inet 10.0.0.2/24 scope global secondary d0\n"
            "       valid_lft forever preferred_lft forever\n"
            "    inet6 fe80::1/64 scope link \n"
            "       valid_lft forever preferred_lft forever\n");
  EXPECT_EQ(Print(Style{.json = true}, query, {kLink, kAddress4, kSecondary, kAddress6}),
            R"([{"ifindex":3,"ifname":"d0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,)"
            R"("operstate":"UP","group":"default","link_type":"ether","address":"02:00:00:00:00:01",)"
            R"("broadcast":"ff:ff:ff:ff:ff:ff","addr_info":[{"family":"inet","local":"10.5.0.1","prefixlen":24,)"
            R"("metric":7,"scope":"global","noprefixroute":true,"label":"d0","valid_life_time":4294967295,)"
            R"("preferred_life_time":4294967295},{"family":"inet","local":"10.0.0.2","prefixlen":24,"scope":"global",)"
            R"("secondary":true,"label":"d0","valid_life_time":4294967295,"preferred_life_time":4294967295},)"
            R"({"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link","valid_life_time":4294967295,)"
            R"("preferred_life_time":4294967295}]}])"
            "\n");
  EXPECT_EQ(Print(Style{.oneline = true}, query, {kLink, kSecondary}),
            "3: d0    inet 10.0.0.2/24 scope global secondary d0\\       valid_lft forever preferred_lft forever\n");
}

TEST(NeighborOutput, IsIproute2s) {
  Query query;
  query.noun = Noun::kNeighbor;
  const std::vector<std::string> objects = {
      "neighbor { link: 'd0' address: '10.0.0.9' state { lladdr: '02:00:00:00:00:09' nud: NUD_STATE_PERMANENT } }",
      "neighbor { link: 'd0' address: 'fe80::9' state { lladdr: '02:00:00:00:00:09' nud: NUD_STATE_STALE router: true "
      "used_seconds: 1 confirmed_seconds: 60 updated_seconds: 2 probes: 3 } }",
      "neighbor { link: 'd0' address: '10.0.0.10' state { nud: NUD_STATE_INCOMPLETE } }"};
  EXPECT_EQ(Print(Style{}, query, objects),
            "10.0.0.9 dev d0 lladdr 02:00:00:00:00:09 PERMANENT \n"
            "fe80::9 dev d0 lladdr 02:00:00:00:00:09 router STALE \n"
            "10.0.0.10 dev d0 INCOMPLETE \n");
  EXPECT_EQ(Print(Style{.json = true}, query, objects),
            R"([{"dst":"10.0.0.9","dev":"d0","lladdr":"02:00:00:00:00:09","state":["PERMANENT"]},)"
            R"({"dst":"fe80::9","dev":"d0","lladdr":"02:00:00:00:00:09","router":null,"state":["STALE"]},)"
            R"({"dst":"10.0.0.10","dev":"d0","state":["INCOMPLETE"]}])"
            "\n");
  EXPECT_EQ(Print(Style{.statistics = true}, query, {objects[1]}),
            "fe80::9 dev d0 lladdr 02:00:00:00:00:09 router used 1/60/2 probes 3 STALE \n");
  query.nud = 1u << v1::NUD_STATE_STALE;
  query.hide_dev = true;
  EXPECT_EQ(Print(Style{}, query, objects), "fe80::9 lladdr 02:00:00:00:00:09 router STALE \n");
}

std::string RouteGet(const Style& style, const std::string& request, const std::string& response, bool ok = true) {
  std::string text;
  EXPECT_EQ(RouteGetReport(style, Make<v1::ExplainRequest>(request), Make<v1::ExplainResponse>(response), &text), ok);
  return text;
}

TEST(RouteGetOutput, IsIproute2s) {
  const std::string request = "fields { destination: '10.1.2.3' }";
  const std::string response =
      "route { route { table: 254 prefix: '10.1.0.0/16' type: ROUTE_TYPE_UNICAST mtu: 1400 mtu_locked: true } "
      "gateway: '10.0.0.9' link: 'd0' prefsrc: '10.0.0.2' }";
  EXPECT_EQ(RouteGet(Style{}, request, response),
            "10.1.2.3 via 10.0.0.9 dev d0 src 10.0.0.2 \n    cache mtu lock 1400 \n");
  EXPECT_EQ(RouteGet(Style{.json = true}, request, response),
            R"([{"dst":"10.1.2.3","gateway":"10.0.0.9","dev":"d0","prefsrc":"10.0.0.2","flags":[],"cache":[],)"
            R"("metrics":[{"mtu":1400}]}])"
            "\n");
  EXPECT_EQ(RouteGet(Style{}, "link: 'd0' fields { destination: '10.1.2.3' source: '10.9.9.9' }",
                     "route { route { table: 254 type: ROUTE_TYPE_UNICAST } gateway: '10.0.0.9' link: 'd1' }"),
            "10.1.2.3 from 10.9.9.9 via 10.0.0.9 dev d1 \n    cache iif d0 \n");
  EXPECT_EQ(RouteGet(Style{}, "fields { destination: '10.0.0.1' }",
                     "route { route { table: 255 type: ROUTE_TYPE_LOCAL } link: 'lo' prefsrc: '10.0.0.1' }"),
            "local 10.0.0.1 dev lo src 10.0.0.1 \n    cache <local> \n");
  EXPECT_EQ(RouteGet(Style{}, "fields { destination: '2001:db8:1::5' }",
                     "route { route { table: 254 metric: 1024 type: ROUTE_TYPE_UNICAST } gateway: '2001:db8::9' "
                     "link: 'd0' prefsrc: '2001:db8::1' }"),
            "2001:db8:1::5 from :: via 2001:db8::9 dev d0 src 2001:db8::1 metric 1024 pref medium\n");
}

TEST(RouteGetOutput, RefusalsAreErrors) {
  const std::string request = "fields { destination: '10.1.2.3' }";
  EXPECT_EQ(RouteGet(Style{}, request, "", false), "RTNETLINK answers: Network is unreachable\n");
  EXPECT_EQ(RouteGet(Style{}, request, "route { route { type: ROUTE_TYPE_BLACKHOLE } }", false),
            "RTNETLINK answers: Invalid argument\n");
  EXPECT_EQ(RouteGet(Style{}, request, "route { route { type: ROUTE_TYPE_UNREACHABLE } }", false),
            "RTNETLINK answers: No route to host\n");
  EXPECT_EQ(RouteGet(Style{}, request, "route { route { type: ROUTE_TYPE_PROHIBIT } }", false),
            "RTNETLINK answers: Permission denied\n");
}

TEST(ExplainOutput, TellsStepsAndVerdict) {
  const auto response = Make<v1::ExplainResponse>(
      "generation: 4 epoch: 5 steps { stage: 'parse' text: 'IPv4' facts { key: 'ttl' value: '64' } } "
      "verdict { outcome: OUTCOME_FORWARDED link: 'd1' next_hop: '10.0.0.9' source_mac: 'a' destination_mac: 'b' "
      "frames: '\\001\\377' }");
  EXPECT_EQ(ExplainReport(Style{}, response),
            "parse: IPv4\nverdict: forwarded, dev d1, next hop 10.0.0.9, from a, to b\nframe 2 bytes: 01ff\n"
            "generation 4 epoch 5\n");
  EXPECT_EQ(ExplainReport(Style{.json = true}, response),
            R"({"generation":4,"epoch":5,"steps":[{"stage":"parse","text":"IPv4","facts":{"ttl":"64"}}],)"
            R"("verdict":{"outcome":"forwarded","dev":"d1","next_hop":"10.0.0.9","source_mac":"a",)"
            R"("destination_mac":"b","frames":["01ff"]}})"
            "\n");
  const auto dropped = Make<v1::ExplainResponse>(
      "verdict { outcome: OUTCOME_DROPPED drop_reason: 'ttl_expired' icmp_type: 11 icmp_code: 0 }");
  EXPECT_EQ(ExplainReport(Style{}, dropped),
            "verdict: dropped, reason ttl_expired, answered by ICMP 11/0\ngeneration 0 epoch 0\n");
}

TEST(StatusOutput, HasTheGenerationInJson) {
  const auto status = Make<v1::GetStatusResponse>(
      "instance_id: 'i' generation: 7 epoch: 9 version: '0.1.0' uptime { seconds: 3 } ready: true "
      "workers { index: 0 cpu: 1 epoch: 9 health: WORKER_HEALTH_POLLING rx_queues { link: 'd0' queue: 0 } "
      "heartbeat_age { nanos: 2000000 } } ports { name: 'd0' driver: 'net_null' mac: 'm' up: true speed_mbps: 10000 "
      "rx_queues: 1 tx_queues: 1 } warnings: 'no huge pages'");
  EXPECT_EQ(StatusReport(Style{}, status),
            "instance i version 0.1.0 up 3s ready\ngeneration 7 epoch 9 retired 0 bytes\n"
            "worker 0 cpu 1 epoch 9 polling queues d0:0\nport d0 net_null m up 10000 Mbit/s queues rx 1 tx 1\n"
            "warning: no huge pages\n");
  EXPECT_EQ(StatusReport(Style{.json = true}, status),
            R"({"instance_id":"i","generation":7,"epoch":9,"version":"0.1.0","start_time":0,"uptime_seconds":3,)"
            R"("ready":true,"retired_bytes":0,"workers":[{"index":0,"cpu":1,"epoch":9,"health":"polling",)"
            R"("heartbeat_age_ms":2,"rx_queues":[{"dev":"d0","queue":0}]}],"ports":[{"name":"d0","driver":"net_null",)"
            R"("mac":"m","up":true,"speed_mbps":10000,"rx_queues":1,"tx_queues":1}],"warnings":["no huge pages"]})"
            "\n");
}

TEST(JsonOutput, EscapesWhatJsonCannotHold) {
  std::string text;
  Json json(&text, false);
  json.String("a\"b\\c\n\x01\xc3\xa9");
  EXPECT_EQ(text, "\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\"");
}

}  // namespace
}  // namespace sluice::client
