// Words to messages, and words to mistakes: both are tables.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/grammar/explain.h"
#include "client/grammar/ip.h"
#include "client/grammar/names.h"
#include "client/grammar/query.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

struct Parsed {
  v1::Operation operation;
  Command command{&operation};
  absl::Status status;
};

void Parse(const std::string& line, Parsed* parsed, Family family = Family::kNone) {
  std::vector<absl::string_view> words;
  ASSERT_TRUE(SplitLine(line, &words));
  parsed->status = ParseIp(IpOptions{family}, Words(words), &parsed->command);
}

template <typename Message>
void ExpectMessage(const Message& message, const std::string& expected, const std::string& line) {
  Message wanted;
  ASSERT_TRUE(TextFormat::ParseFromString(expected, &wanted)) << line;
  EXPECT_TRUE(MessageDifferencer::Equals(message, wanted))
      << line << "\n  is     " << message.ShortDebugString() << "\n  wanted " << wanted.ShortDebugString();
}

struct Change {
  const char* line;
  const char* operation;
};

constexpr Change kChanges[] = {
    {"route add 10.0.0.0/8 via 192.0.2.1 dev up0",
     "verb: VERB_ADD object { route { prefix: '10.0.0.0/8' nexthops { gateway: '192.0.2.1' link: 'up0' } } }"},
    {"r a 10/8 via 192.0.2.1",
     "verb: VERB_ADD object { route { prefix: '10.0.0.0/8' nexthops { gateway: '192.0.2.1' } } }"},
    {"route add 10.1/255.255.0.0 dev up0",
     "verb: VERB_ADD object { route { prefix: '10.1.0.0/16' nexthops { link: 'up0' } } }"},
    {"route add 10.0.0.1 dev up0", "verb: VERB_ADD object { route { prefix: '10.0.0.1' nexthops { link: 'up0' } } }"},
    {"route add to 10.0.0.1/8 dev up0",
     "verb: VERB_ADD object { route { prefix: '10.0.0.1/8' nexthops { link: 'up0' } } }"},
    {"route add default via 192.0.2.1",
     "verb: VERB_ADD object { route { prefix: '0.0.0.0/0' nexthops { gateway: '192.0.2.1' } } }"},
    {"route add default via fe80::1 dev up0",
     "verb: VERB_ADD object { route { prefix: '::/0' nexthops { gateway: 'fe80::1' link: 'up0' } } }"},
    {"route add default via inet6 fe80::1 dev up0",
     "verb: VERB_ADD object { route { prefix: '0.0.0.0/0' nexthops { gateway: 'fe80::1' link: 'up0' } } }"},
    {"route add blackhole 10.2.0.0/16",
     "verb: VERB_ADD object { route { prefix: '10.2.0.0/16' type: ROUTE_TYPE_BLACKHOLE } }"},
    {"route add unreachable default metric 4278198272",
     "verb: VERB_ADD object { route { prefix: '0.0.0.0/0' type: ROUTE_TYPE_UNREACHABLE metric: 4278198272 } }"},
    {"route add prohibit 10.2.0.0/16 table 0x64",
     "verb: VERB_ADD object { route { table: 100 prefix: '10.2.0.0/16' type: ROUTE_TYPE_PROHIBIT } }"},
    {"route add throw 10.2.0.0/16 table local",
     "verb: VERB_ADD object { route { table: 255 prefix: '10.2.0.0/16' type: ROUTE_TYPE_THROW } }"},
    {"route add local 10.2.0.1 dev up0",
     "verb: VERB_ADD object { route { prefix: '10.2.0.1' type: ROUTE_TYPE_LOCAL nexthops { link: 'up0' } } }"},
    {"route replace 10.0.0.0/8 tos 10 metric 5 proto static scope link src 192.0.2.9 dev up0 mtu lock 1400 counted",
     "verb: VERB_REPLACE object { route { prefix: '10.0.0.0/8' tos: 16 metric: 5 protocol: 4 scope: SCOPE_LINK "
     "prefsrc: '192.0.2.9' mtu: 1400 mtu_locked: true counted: true nexthops { link: 'up0' } } }"},
    {"route change 10.0.0.0/8 dsfield AF21 priority 7 via 192.0.2.1 dev up0 onlink",
     "verb: VERB_CHANGE object { route { prefix: '10.0.0.0/8' tos: 0x48 metric: 7 "
     "nexthops { gateway: '192.0.2.1' link: 'up0' onlink: true } } }"},
    {"route append 2001:db8::/32 via fe80::1 dev up0 pref medium",
     "verb: VERB_APPEND object { route { prefix: '2001:db8::/32' nexthops { gateway: 'fe80::1' link: 'up0' } } }"},
    {"route prepend 10.0.0.0/8 nexthop via 192.0.2.1 dev up0 weight 2 nexthop via 192.0.2.2 onlink dev up1",
     "verb: VERB_PREPEND object { route { prefix: '10.0.0.0/8' nexthops { gateway: '192.0.2.1' link: 'up0' weight: 2 } "
     "nexthops { gateway: '192.0.2.2' link: 'up1' onlink: true } } }"},
    {"route del 10.0.0.0/8", "verb: VERB_DELETE object { route { prefix: '10.0.0.0/8' } }"},
    {"route d default metric 0", "verb: VERB_DELETE object { route { prefix: '0.0.0.0/0' metric: 0 } }"},
    {"route flush table 100", "verb: VERB_FLUSH selector { match { route { table: 100 } } family: FAMILY_IPV4 }"},
    {"route flush 10.0.0.0/8 proto static",
     "verb: VERB_FLUSH selector { match { route { table: 254 prefix: '10.0.0.0/8' protocol: 4 } } "
     "family: FAMILY_IPV4 }"},
    {"addr add 10.0.0.1/24 dev up0", "verb: VERB_ADD object { address { link: 'up0' address: '10.0.0.1/24' } }"},
    {"a r dev up0 local 2001:db8::1/64 scope link metric 7 noprefixroute valid_lft forever preferred_lft forever",
     "verb: VERB_REPLACE object { address { link: 'up0' address: '2001:db8::1/64' scope: SCOPE_LINK metric: 7 "
     "noprefixroute: true } }"},
    {"addr del 10.0.0.1/24 dev up0", "verb: VERB_DELETE object { address { link: 'up0' address: '10.0.0.1/24' } }"},
    {"addr flush dev up0", "verb: VERB_FLUSH selector { match { address { link: 'up0' } } }"},
    {"neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev up0",
     "verb: VERB_ADD object { neighbor { link: 'up0' address: '10.0.0.2' lladdr: '02:00:00:00:00:02' } }"},
    {"neighbour replace fe80::2 dev up0 lladdr 02:00:00:00:00:02 nud permanent",
     "verb: VERB_REPLACE object { neighbor { link: 'up0' address: 'fe80::2' lladdr: '02:00:00:00:00:02' "
     "nud: NUD_STATE_PERMANENT } }"},
    {"n change to 10.0.0.2 dev up0 nud noarp",
     "verb: VERB_CHANGE object { neighbor { link: 'up0' address: '10.0.0.2' nud: NUD_STATE_NOARP } }"},
    {"n del 10.0.0.2 dev up0 lladdr 02:00:00:00:00:02",
     "verb: VERB_DELETE object { neighbor { link: 'up0' address: '10.0.0.2' } }"},
    {"n flush dev up0", "verb: VERB_FLUSH selector { match { neighbor { link: 'up0' } } origins: ORIGIN_LEARNED }"},
    {"link add up0 type port devargs 0000:3b:02.1",
     "verb: VERB_ADD object { link { name: 'up0' port { devargs: '0000:3b:02.1' } } }"},
    {"l add name up0 mtu 9000 address 02:00:00:00:00:01 up numrxqueues 2 type port devargs net_null0 tx_queues 3",
     "verb: VERB_ADD object { link { name: 'up0' mtu: 9000 mac: '02:00:00:00:00:01' up: true "
     "port { devargs: 'net_null0' rx_queues: 2 tx_queues: 3 } } }"},
    {"link set dev up0 up",
     "verb: VERB_CHANGE object { link { name: 'up0' up: true } } update_mask { paths: 'link.up' }"},
    {"link set up0 down mtu 1400 address 02:00:00:00:00:01 name up1",
     "verb: VERB_CHANGE object { link { name: 'up0' up: false mtu: 1400 mac: '02:00:00:00:00:01' new_name: 'up1' } } "
     "update_mask { paths: 'link.up' paths: 'link.mtu' paths: 'link.mac' paths: 'link.new_name' }"},
    {"link del dev up0", "verb: VERB_DELETE object { link { name: 'up0' } }"},
};

TEST(Grammar, ChangesBecomeOperations) {
  for (const Change& change : kChanges) {
    Parsed parsed;
    Parse(change.line, &parsed);
    ASSERT_TRUE(parsed.status.ok()) << change.line << ": " << parsed.status;
    EXPECT_EQ(parsed.command.kind, Command::Kind::kChange) << change.line;
    ExpectMessage(parsed.operation, change.operation, change.line);
  }
}

struct Reading {
  const char* line;
  const char* request;
};

constexpr Reading kReadings[] = {
    {"route", "selectors { match { route { table: 254 } } family: FAMILY_IPV4 }"},
    {"r s table all", "selectors { match { route {} } }"},
    {"route show 10/8 dev up0 via 192.0.2.1 proto 4 scope global type unicast src 192.0.2.9 tos 10 metric 3 table 7",
     "selectors { match { route { table: 7 prefix: '10.0.0.0/8' tos: 16 metric: 3 type: ROUTE_TYPE_UNICAST "
     "nexthops { gateway: '192.0.2.1' link: 'up0' } protocol: 4 scope: SCOPE_UNIVERSE prefsrc: '192.0.2.9' } } "
     "family: FAMILY_IPV4 }"},
    {"route list exact 2001:db8::/32",
     "selectors { match { route { table: 254 prefix: '2001:db8::/32' } } family: FAMILY_IPV6 }"},
    {"addr show dev up0",
     "selectors { match { address { link: 'up0' } } } selectors { match { link { name: 'up0' } } }"},
    {"a", "selectors { match { address {} } } selectors { match { link {} } }"},
    {"link show up0", "selectors { match { link { name: 'up0' } } }"},
    {"neigh show dev up0 10.0.0.2",
     "selectors { match { neighbor { link: 'up0' address: '10.0.0.2' } } family: FAMILY_IPV4 }"},
};

TEST(Grammar, QuestionsBecomeReads) {
  for (const Reading& reading : kReadings) {
    Parsed parsed;
    Parse(reading.line, &parsed);
    ASSERT_TRUE(parsed.status.ok()) << reading.line << ": " << parsed.status;
    ASSERT_EQ(parsed.command.kind, Command::Kind::kShow) << reading.line;
    ExpectMessage(parsed.command.query->request, reading.request, reading.line);
  }
}

TEST(Grammar, TheFamilyOptionChoosesTheFamily) {
  Parsed six;
  Parse("route", &six, Family::kIpv6);
  EXPECT_EQ(six.command.query->request.selectors(0).family(), v1::FAMILY_IPV6);
  Parsed dflt;
  Parse("route add default dev up0", &dflt, Family::kIpv6);
  EXPECT_EQ(dflt.operation.object().route().prefix(), "::/0");
  Parsed wrong;
  Parse("route add 10.0.0.0/8 dev up0", &wrong, Family::kIpv6);
  EXPECT_EQ(wrong.status.message(), "Error: inet6 prefix is expected rather than \"10.0.0.0/8\".");
}

TEST(Grammar, RootAndMatchAreChosenByTheClient) {
  Parsed parsed;
  Parse("route show root 10.0.0.0/8 match 10.1.0.0/24", &parsed);
  ASSERT_TRUE(parsed.status.ok());
  const Query& query = *parsed.command.query;
  EXPECT_FALSE(SelectorSuffices(query));
  const auto shows = [&query](const char* prefix) {
    v1::Object object;
    object.mutable_route()->set_prefix(prefix);
    return Shows(query, object);
  };
  EXPECT_TRUE(shows("10.0.0.0/8"));
  EXPECT_TRUE(shows("10.1.0.0/24"));
  EXPECT_FALSE(shows("0.0.0.0/0"));
  EXPECT_FALSE(shows("10.1.0.0/25"));
  EXPECT_FALSE(shows("10.2.0.0/16"));
  EXPECT_FALSE(shows("2001:db8::/32"));
}

TEST(Grammar, AFlushThatASelectorCannotSayReadsFirst) {
  Parsed parsed;
  Parse("route flush root 10.0.0.0/8", &parsed);
  ASSERT_TRUE(parsed.status.ok());
  EXPECT_EQ(parsed.command.kind, Command::Kind::kFlush);
}

TEST(Grammar, RouteGetBecomesAnExplanation) {
  Parsed parsed;
  Parse("route get 10.1.2.3 from 10.9.9.9 iif up0 mark 0x10 tos 8 ipproto tcp sport 1 dport 65535", &parsed);
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  ASSERT_EQ(parsed.command.kind, Command::Kind::kLookup);
  ExpectMessage(*parsed.command.explain,
                "link: 'up0' fields { destination: '10.1.2.3' source: '10.9.9.9' mark: 16 tos: 8 protocol: 6 "
                "source_port: 1 destination_port: 65535 }",
                "route get");
}

struct Mistake {
  const char* line;
  int exit_code;
  const char* text;
};

// Texts and codes of iproute2 6.1, where it has the case.
constexpr Mistake kMistakes[] = {
    {"foo", 1, "Object \"foo\" is unknown, try \"ip help\"."},
    {"route foo", 255, "Command \"foo\" is unknown, try \"ip route help\"."},
    {"route add foo", 1, "Error: any valid prefix is expected rather than \"foo\"."},
    {"route add 10.1.0.300/24 dev up0", 1, "Error: any valid prefix is expected rather than \"10.1.0.300/24\"."},
    {"route add 10.0.0.0/33 dev up0", 1, "Error: any valid prefix is expected rather than \"10.0.0.0/33\"."},
    {"route add 300/8 dev up0", 1, "Error: any valid prefix is expected rather than \"300/8\"."},
    {"route add 10.0.0.0/255.0.255.0 dev up0", 1,
     "Error: any valid prefix is expected rather than \"10.0.0.0/255.0.255.0\"."},
    {"route add 2001:db8::/129 dev up0", 1, "Error: any valid prefix is expected rather than \"2001:db8::/129\"."},
    {"route add 10.9.0.0/16 via", 255, "Command line is not complete. Try option \"help\""},
    {"route add 10.9.0.0/16 mtu", 255, "Command line is not complete. Try option \"help\""},
    {"route add blackhole", 255, "Command line is not complete. Try option \"help\""},
    {"route add 10.9.0.0/16 nexthop", 255, "Command line is not complete. Try option \"help\""},
    {"route add 10.9.0.0/16 metric x", 255, "Error: argument \"x\" is wrong: \"metric\" value is invalid\n"},
    {"route add 10.9.0.0/16 table x", 255, "Error: argument \"x\" is wrong: \"table\" value is invalid\n"},
    {"route add 10.9.0.0/16 table 0", 255, "Error: argument \"0\" is wrong: \"table\" value is invalid\n"},
    {"route add 10.9.0.0/16 proto xx", 255, "Error: argument \"xx\" is wrong: \"protocol\" value is invalid\n"},
    {"route add 10.9.0.0/16 proto 256", 255, "Error: argument \"256\" is wrong: \"protocol\" value is invalid\n"},
    {"route add 10.9.0.0/16 scope xx", 255, "Error: argument \"xx\" is wrong: invalid \"scope\" value\n"},
    {"route add 10.9.0.0/16 tos 100", 255, "Error: argument \"100\" is wrong: \"tos\" value is invalid\n"},
    {"route add 10.9.0.0/16 via 2001:db8::9", 1, "Error: inet address is expected rather than \"2001:db8::9\"."},
    {"route add 10.9.0.0/16 via 10.0.0.1/24", 1, "Error: inet address is expected rather than \"10.0.0.1/24\"."},
    {"route add 10.9.0.0/16 dev up0 10.8.0.0/16", 255,
     "Error: either \"to\" is duplicate, or \"10.8.0.0/16\" is a garbage."},
    {"route add 10.9.0.0/16 dev up0 weight 3", 255, "Error: either \"to\" is duplicate, or \"weight\" is a garbage."},
    {"route add 10.9.0.0/16 nexthop dev up0 weight 257", 255,
     "Error: argument \"257\" is wrong: \"weight\" is invalid\n"},
    {"route add 10.9.0.0/16 dev up0 nexthop dev up1", 255,
     "Error: \"via\" and \"dev\" outside of \"nexthop\" do not go with \"nexthop\"."},
    {"route add dev up0", 255, "Error: a route needs a prefix."},
    {"route add 10.9.0.0/16 nhid 3", 255, "Error: \"nhid\" is not supported."},
    {"route add multicast 10.9.0.0/16", 255, "Error: \"multicast\" is not supported."},
    {"route add 2001:db8::/32 dev up0 pref high", 255,
     "Error: argument \"high\" is wrong: only \"medium\" is supported as \"pref\""},
    {"route save", 255, "Error: \"ip route save|restore|showdump|test\" is not supported: use a batch file."},
    {"route flush", 1, "\"ip route flush\" requires arguments."},
    {"route get", 1, "need at least a destination address"},
    {"route get 10.0.0.1 oif up0", 255, "Error: \"oif\" is not supported."},
    {"route show table x", 255, "Error: argument \"x\" is wrong: table id value is invalid\n"},
    {"route show table cache", 255, "Error: there is no route cache."},
    {"route show root 10.0.0.1/8", 1, "Error: \"10.0.0.1/8\" has bits set beyond its length."},
    {"addr add 10.0.0.5/24", 1, "Not enough information: \"dev\" argument is required."},
    {"addr add dev up0", 255, "Error: an address is required."},
    {"addr add 10.0.0.999/24 dev up0", 1, "Error: any valid prefix is expected rather than \"10.0.0.999/24\"."},
    {"addr add 10.0.0.1/24 10.0.0.2/24 dev up0", 255,
     "Error: duplicate \"local\": \"10.0.0.2/24\" is the second value."},
    {"addr add 10.0.0.1/24 dev up0 valid_lft 5", 255,
     "Error: argument \"5\" is wrong: only \"forever\" is supported as a lifetime"},
    {"addr add 10.0.0.1/24 dev up0 label x", 255, "Error: \"label\" is not supported."},
    {"addr flush", 1, "Flush requires arguments."},
    {"addr show scope x", 255, "Error: argument \"x\" is wrong: invalid \"scope\"\n"},
    {"addr foo", 255, "Command \"foo\" is unknown, try \"ip address help\"."},
    {"neigh add 10.0.0.5", 255, "Device and destination are required arguments."},
    {"neigh add 10.0.0.5 dev up0 lladdr zz", 1, "\"zz\" is invalid lladdr."},
    {"neigh add 10.0.0.5 dev up0 nud foo", 255, "Error: argument \"foo\" is wrong: nud state is bad"},
    {"neigh add 10.0.0.5/24 dev up0", 1, "Error: any valid address is expected rather than \"10.0.0.5/24\"."},
    {"neigh get 10.0.0.9", 1, "Device and address are required arguments."},
    {"neigh flush", 1, "Flush requires arguments."},
    {"neigh foo", 255, "Command \"foo\" is unknown, try \"ip neigh help\"."},
    {"link add x type foo", 1, "Error: Unknown device type \"foo\"."},
    {"link add x", 255, "Not enough information: \"type\" argument is required"},
    {"link add x type port", 255, "Not enough information: \"devargs\" argument is required"},
    {"link add x type port devargs", 255, "Command line is not complete. Try option \"help\""},
    {"link add x type port devargs a foo", 1, "port: unknown command \"foo\"?"},
    {"link set", 255, "Not enough information: \"dev\" argument is required."},
    {"link set up0", 255, "Command line is not complete. Try option \"help\""},
    {"link set up0 mtu x", 255, "Error: argument \"x\" is wrong: Invalid \"mtu\" value\n"},
    {"link set up0 foo", 255, "Error: either \"dev\" is duplicate, or \"foo\" is a garbage."},
    {"link set up0 address 02:00:00:00:00", 1, "\"02:00:00:00:00\" is invalid lladdr."},
    {"link set up0 master br0", 255, "Error: \"master\" is not supported."},
    {"link foo", 255, "Command \"foo\" is unknown, try \"ip link help\"."},
};

TEST(Grammar, MistakesAreTold) {
  for (const Mistake& mistake : kMistakes) {
    Parsed parsed;
    Parse(mistake.line, &parsed);
    EXPECT_EQ(parsed.status.message(), mistake.text) << mistake.line;
    EXPECT_EQ(ExitCodeOf(parsed.status), mistake.exit_code) << mistake.line;
  }
}

TEST(Grammar, EveryLineCutAtEveryWordIsParsedOrRefused) {
  for (const Change& change : kChanges) {
    std::vector<absl::string_view> words;
    ASSERT_TRUE(SplitLine(change.line, &words));
    for (size_t n = 0; n < words.size(); ++n) {
      Parsed parsed;
      parsed.status = ParseIp({}, Words(absl::MakeConstSpan(words).subspan(0, n)), &parsed.command);
      if (!parsed.status.ok()) {
        EXPECT_FALSE(parsed.status.message().empty());
      }
    }
  }
}

TEST(Grammar, LinesAreSplitAsIpSplitsThem) {
  std::vector<absl::string_view> words;
  EXPECT_TRUE(SplitLine("  route\tadd 'a b' \"c\"x # comment", &words));
  EXPECT_THAT(words, testing::ElementsAre("route", "add", "a b", "c", "x"));
  EXPECT_TRUE(SplitLine("", &words));
  EXPECT_THAT(words, testing::IsEmpty());
  EXPECT_FALSE(SplitLine("route 'add", &words));
}

TEST(Grammar, NamesAndNumbersGoBothWays) {
  EXPECT_EQ(TableOf("main"), 254u);
  EXPECT_EQ(TableOf("010"), 8u);
  EXPECT_EQ(TableOf("4294967295"), 4294967295u);
  EXPECT_EQ(TableOf("4294967296"), std::nullopt);
  EXPECT_EQ(TableOf("-1"), std::nullopt);
  EXPECT_EQ(TableWord(255), "local");
  EXPECT_EQ(TableWord(1000), "1000");
  EXPECT_EQ(ProtocolWord(186), "bgp");
  EXPECT_EQ(TosWord(0x10), "0x10");
  EXPECT_EQ(TosWord(0xb8), "EF");
  EXPECT_EQ(TosOf("0x1c"), 0x1cu);
  EXPECT_EQ(ParseNumber("0x"), std::nullopt);
  EXPECT_EQ(ParseNumber("08"), std::nullopt);
  EXPECT_EQ(ParseNumber("1 "), std::nullopt);
  for (int type = 1; type < v1::RouteType_ARRAYSIZE; ++type) {
    EXPECT_EQ(RouteTypeOf(RouteTypeWord(static_cast<v1::RouteType>(type))), type);
  }
  for (int nud = 1; nud < v1::NudState_ARRAYSIZE; ++nud) {
    EXPECT_EQ(NudOf(NudWord(static_cast<v1::NudState>(nud))), nud);
  }
  for (int scope = 1; scope < v1::Scope_ARRAYSIZE; ++scope) {
    EXPECT_EQ(ScopeOf(ScopeWord(static_cast<v1::Scope>(scope))), scope);
  }
}

void ParseExplainLine(const std::string& line, Parsed* parsed) {
  std::vector<absl::string_view> words;
  ASSERT_TRUE(SplitLine(line, &words));
  parsed->status = ParseExplain(Words(words), &parsed->command);
}

TEST(ExplainGrammar, FieldsAndFrames) {
  Parsed fields;
  ParseExplainLine(
      "--port up0 --src 10.0.0.1 --dst 10.0.0.2 --proto udp --sport 1 --dport 2 --ttl 3 --tos 4 "
      "--length 100 --mark 6 --df --src-mac 02:00:00:00:00:01 --dst-mac 02:00:00:00:00:02",
      &fields);
  ASSERT_TRUE(fields.status.ok()) << fields.status;
  ExpectMessage(*fields.command.explain,
                "link: 'up0' fields { source: '10.0.0.1' destination: '10.0.0.2' protocol: 17 source_port: 1 "
                "destination_port: 2 ttl: 3 tos: 4 length: 100 mark: 6 dont_fragment: true "
                "source_mac: '02:00:00:00:00:01' destination_mac: '02:00:00:00:00:02' }",
                "explain");
  Parsed frame;
  ParseExplainLine("port up0 frame 0200:ff", &frame);
  ASSERT_TRUE(frame.status.ok()) << frame.status;
  EXPECT_EQ(frame.command.explain->frame(), std::string("\x02\x00\xff", 3));
}

TEST(ExplainGrammar, MistakesAreTold) {
  const Mistake mistakes[] = {
      {"", 255, "Error: --dst (or --frame) is required, try \"sluicectl explain --help\"."},
      {"--foo", 255, "\"--foo\" is unknown, try \"sluicectl explain --help\"."},
      {"--dst 10.0.0.1 --sport 65536", 255, "Error: argument \"65536\" is wrong: a number up to 65535 is expected"},
      {"--dst 10.0.0.1 --src 2001:db8::1", 1, "Error: inet address is expected rather than \"2001:db8::1\"."},
      {"--frame 0", 255, "Error: argument \"0\" is wrong: pairs of hexadecimal digits are expected"},
      {"--frame 00", 255, "Error: --frame needs --port."},
      {"--port up0 --frame 00 --ttl 3", 255, "Error: --frame does not go with fields of a packet."},
  };
  for (const Mistake& mistake : mistakes) {
    Parsed parsed;
    ParseExplainLine(mistake.line, &parsed);
    EXPECT_EQ(parsed.status.message(), mistake.text) << mistake.line;
    EXPECT_EQ(ExitCodeOf(parsed.status), mistake.exit_code) << mistake.line;
  }
}

}  // namespace
}  // namespace sluice::client
