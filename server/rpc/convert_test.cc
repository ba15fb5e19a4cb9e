#include "server/rpc/convert.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/engine/error.h"
#include "server/rpc/reasons.h"
#include "server/rpc/status.h"

namespace sluice::rpc {
namespace {

using ::google::protobuf::TextFormat;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

v1::Operation Parse(const std::string& text) {
  v1::Operation m;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &m)) << text;
  return m;
}

// Reason and field of what is wrong with an operation, or "ok".
std::string Outcome(const std::string& text) {
  config::Operation op;
  const config::Problem p = DecodeOperation(Parse(text), &op);
  if (p.ok()) return "ok";
  EXPECT_EQ(p.code, ReasonCode(ReasonByName(p.reason)));
  EXPECT_NE(p.message, "");
  return absl::StrCat(p.reason, " ", p.field);
}

TEST(DecodeOperationTest, RefusesEachFaultWithItsReasonAndField) {
  const std::string route = "verb: VERB_ADD object { route { ";
  const std::string add = "verb: VERB_ADD object { ";
  const struct {
    std::string text, outcome;
  } cases[] = {
      {"object { route { prefix: '10.0.0.0/8' } }", "VERB_MISSING verb"},
      {"verb: 99 object { route { prefix: '10.0.0.0/8' } }", "UNKNOWN_ENUM_VALUE verb"},
      {"verb: VERB_ADD", "TARGET_MISSING object"},
      {"verb: VERB_ADD object { }", "KIND_MISSING object"},
      {"verb: VERB_ADD selector { match { route { } } }", "TARGET_NOT_ALLOWED selector"},
      {"verb: VERB_FLUSH object { route { prefix: '10.0.0.0/8' } }", "TARGET_NOT_ALLOWED object"},
      {"verb: VERB_FLUSH selector { }", "SELECTOR_EMPTY selector"},
      {"verb: VERB_FLUSH selector { origins: ORIGIN_LEARNED family: FAMILY_IPV4 }", "SELECTOR_EMPTY selector"},
      {"verb: VERB_DELETE selector { match { route {} } origins: ORIGIN_DERIVED }",
       "SELECTOR_ORIGIN selector.origins[0]"},
      {"verb: VERB_DELETE selector { match { route {} } origins: 9 }", "UNKNOWN_ENUM_VALUE selector.origins[0]"},
      {"verb: VERB_DELETE selector { match { route {} } family: 9 }", "UNKNOWN_ENUM_VALUE selector.family"},
      {"verb: VERB_DELETE selector { match { route { prefix: 'x' } } }", "INVALID_PREFIX selector.match.route.prefix"},
      {route + "prefix: '10.0.0.0/8' } } missing_ok: true", "MISSING_OK_NOT_ALLOWED missing_ok"},
      {route + "prefix: '10.0.0.0/8' } } update_mask { paths: 'route.mtu' }", "UPDATE_MASK update_mask"},
      {"verb: VERB_CHANGE object { route { prefix: '::/0' } } update_mask { }", "UPDATE_MASK update_mask"},
      {"verb: VERB_CHANGE object { route { prefix: '::/0' } } update_mask { paths: 'route.prefix' }",
       "UPDATE_MASK update_mask.paths[0]"},
      {"verb: VERB_CHANGE object { route { prefix: '::/0' } } update_mask { paths: 'route.mtu' paths: 'mtu' }",
       "UPDATE_MASK update_mask.paths[1]"},
      {"verb: VERB_CHANGE object { link { name: 'a' } } update_mask { paths: 'link.state' }",
       "UPDATE_MASK update_mask.paths[0]"},
      {"verb: VERB_CHANGE object { link { name: 'a' } } update_mask { paths: 'route.mtu' }",
       "UPDATE_MASK update_mask.paths[0]"},
      {route + "} }", "FIELD_MISSING object.route.prefix"},
      {route + "prefix: '10.0.0.0/33' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '10.0.0.0/08' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '10.0.0.0/' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '10.0.0.0/8 ' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '10.0.0.256' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '2001:db8::/129' } }", "INVALID_PREFIX object.route.prefix"},
      {route + "prefix: '10.0.0.1/8' } }", "HOST_BITS_SET object.route.prefix"},
      {route + "prefix: '2001:db8::1/64' } }", "HOST_BITS_SET object.route.prefix"},
      {route + "prefix: '::/0' table: 0 } }", "VALUE_OUT_OF_RANGE object.route.table"},
      {route + "prefix: '::/0' tos: 256 } }", "VALUE_OUT_OF_RANGE object.route.tos"},
      {route + "prefix: '::/0' protocol: 256 } }", "VALUE_OUT_OF_RANGE object.route.protocol"},
      {route + "prefix: '::/0' type: 99 } }", "UNKNOWN_ENUM_VALUE object.route.type"},
      {route + "prefix: '::/0' scope: 99 } }", "UNKNOWN_ENUM_VALUE object.route.scope"},
      {route + "prefix: '::/0' prefsrc: 'x' } }", "INVALID_ADDRESS object.route.prefsrc"},
      {route + "prefix: '::/0' nexthops { link: 'a' } nexthops { gateway: '1.2.3' } } }",
       "INVALID_ADDRESS object.route.nexthops[1].gateway"},
      {route + "prefix: '::/0' nexthops { link: 'sixteen-bytes-xx' } } }",
       "INVALID_LINK_NAME object.route.nexthops[0].link"},
      {route + "prefix: '::/0' nexthops { weight: 0 } } }", "VALUE_OUT_OF_RANGE object.route.nexthops[0].weight"},
      {route + "prefix: '::/0' nexthops { weight: 300 } } }", "VALUE_OUT_OF_RANGE object.route.nexthops[0].weight"},
      {add + "link { port { devargs: 'net_null0' } } }", "FIELD_MISSING object.link.name"},
      {add + "link { name: 'sixteen-bytes-xx' } }", "INVALID_LINK_NAME object.link.name"},
      {add + "link { name: 'a' mac: '02:00:00:00:00' } }", "INVALID_MAC object.link.mac"},
      {add + "link { name: 'a' new_name: 'b' } }", "FIELD_NOT_ALLOWED object.link.new_name"},
      {"verb: VERB_DELETE object { link { name: 'a' new_name: 'b' } }", "FIELD_NOT_ALLOWED object.link.new_name"},
      {add + "link { name: 'a' port { devargs: '" + std::string(1025, 'x') + "' } } }",
       "TEXT_TOO_LONG object.link.port.devargs"},
      {add + "address { address: '10.0.0.1/8' } }", "FIELD_MISSING object.address.link"},
      {add + "address { link: 'a' } }", "FIELD_MISSING object.address.address"},
      {add + "address { link: 'a' address: '10.0.0.1/33' } }", "INVALID_PREFIX object.address.address"},
      {add + "address { link: 'a' address: '10.0.0/8' } }", "INVALID_ADDRESS object.address.address"},
      {add + "address { link: 'a' address: '::1/64' scope: 77 } }", "UNKNOWN_ENUM_VALUE object.address.scope"},
      {add + "neighbor { link: 'a' } }", "FIELD_MISSING object.neighbor.address"},
      {add + "neighbor { link: 'a' address: '10.0.0.1/24' } }", "INVALID_ADDRESS object.neighbor.address"},
      {add + "neighbor { link: 'a' address: '::1' lladdr: '0' } }", "INVALID_MAC object.neighbor.lladdr"},
      {add + "neighbor { link: 'a' address: '::1' nud: 99 } }", "UNKNOWN_ENUM_VALUE object.neighbor.nud"},
      {route + "prefix: '0.0.0.0/0' nexthops { gateway: '10.0.0.1' } } }", "ok"},
      {route + "prefix: '0.0.0.0/1' } }", "ok"},
      {"verb: VERB_DELETE object { route { prefix: '10.0.0.0/8' } } missing_ok: true", "ok"},
      {"verb: VERB_FLUSH selector { uids: 7 }", "ok"},
      {"verb: VERB_CHANGE object { link { name: 'a' new_name: 'b' } }", "ok"},
  };
  for (const auto& c : cases) EXPECT_EQ(Outcome(c.text), c.outcome) << c.text;
}

TEST(DecodeOperationTest, TextsInMessagesAreCutAndMadePrintable) {
  config::Operation op;
  v1::Operation m = Parse("verb: VERB_ADD object { route { } }");
  m.mutable_object()->mutable_route()->set_prefix(std::string(100000, '\x01'));
  const config::Problem p = DecodeOperation(m, &op);
  EXPECT_EQ(p.reason, "INVALID_PREFIX");
  EXPECT_LT(p.message.size(), 300u);
  EXPECT_EQ(p.message.find('\x01'), std::string::npos);
}

TEST(DecodeOperationTest, DeleteKnowsWhichFieldsAreGiven) {
  config::Operation op;
  ASSERT_TRUE(DecodeOperation(Parse("verb: VERB_DELETE object { route { prefix: '10.0.0.0/8' metric: 0 "
                                    "nexthops { gateway: '10.1.1.1' } nexthops { link: 'a' } } }"),
                              &op)
                  .ok());
  EXPECT_THAT(op.fields, UnorderedElementsAre("prefix", "metric", "nexthops.gateway", "nexthops.link"));
  const auto& route = std::get<config::Route>(std::get<config::Object>(op.target).value);
  EXPECT_EQ(route.metric, 0u);
  EXPECT_EQ(route.table, std::nullopt);
  EXPECT_EQ(route.legs.size(), 2u);
}

TEST(DecodeOperationTest, AMaskNamesFieldsBelowTheKind) {
  config::Operation op;
  ASSERT_TRUE(DecodeOperation(Parse("verb: VERB_CHANGE object { link { name: 'a' up: true port { rx_queues: 2 } } } "
                                    "update_mask { paths: 'link.up' paths: 'link.port.rx_queues' }"),
                              &op)
                  .ok());
  EXPECT_THAT(op.fields, ElementsAre("up", "port.rx_queues"));
}

TEST(EncodeOperationTest, WhatIsDecodedAgainIsTheSame) {
  const char* texts[] = {
      "id: 7 verb: VERB_ADD object { link { name: 'up0' up: true mtu: 9000 mac: '02:00:00:00:00:01' "
      "port { devargs: 'net_null0' rx_queues: 2 tx_queues: 1 } } }",
      "verb: VERB_REPLACE object { address { link: 'up0' address: '10.0.0.1/24' scope: SCOPE_LINK metric: 0 "
      "noprefixroute: true } }",
      "verb: VERB_ADD object { neighbor { link: 'up0' address: 'fe80::2' lladdr: '02:00:00:00:00:02' "
      "nud: NUD_STATE_PERMANENT } }",
      "verb: VERB_APPEND object { route { table: 4294967295 prefix: '10.0.0.0/8' tos: 16 metric: 0 "
      "type: ROUTE_TYPE_UNICAST nexthops { gateway: '2001:db8::1' link: 'up0' onlink: true weight: 256 } "
      "protocol: 0 scope: SCOPE_UNIVERSE prefsrc: '10.0.0.1' mtu: 1400 mtu_locked: true counted: true } }",
      "verb: VERB_DELETE object { route { prefix: '::/0' } } missing_ok: true expected_changed: 0",
      "verb: VERB_DELETE object { route { prefix: '::/0' type: ROUTE_TYPE_BLACKHOLE nexthops { weight: 1 } } }",
      "verb: VERB_CHANGE object { link { name: 'up0' new_name: 'up1' } } update_mask { paths: 'link.new_name' }",
      "verb: VERB_FLUSH selector { match { route { table: 100 protocol: 4 } } uids: 5 uids: 6 "
      "origins: ORIGIN_CONFIGURED family: FAMILY_IPV6 }",
      "verb: VERB_FLUSH selector { match { neighbor { link: 'a' } } }",
      "verb: VERB_DELETE selector { match { link { port { devargs: 'net_null0' } } } }",
  };
  for (const char* text : texts) {
    const v1::Operation m = Parse(text);
    config::Operation op;
    ASSERT_TRUE(DecodeOperation(m, &op).ok()) << text;
    v1::Operation again;
    EncodeOperation(op, &again);
    EXPECT_TRUE(MessageDifferencer::Equals(m, again)) << text << "\n became \n" << again.DebugString();
  }
}

TEST(EncodeObjectTest, TextsAreCanonical) {
  config::Operation op;
  ASSERT_TRUE(DecodeOperation(Parse("verb: VERB_ADD object { route { prefix: '2001:DB8:0:0::1' "
                                    "nexthops { gateway: 'FE80:0::1' link: 'a' } } }"),
                              &op)
                  .ok());
  v1::Object m;
  EncodeObject(std::get<config::Object>(op.target), WithState::kNo, &m);
  EXPECT_EQ(m.route().prefix(), "2001:db8::1/128");
  EXPECT_EQ(m.route().nexthops(0).gateway(), "fe80::1");
  EXPECT_FALSE(m.route().has_state());
}

TEST(EncodeObjectTest, ALearnedNeighbourHasItsAddressInItsStateOnly) {
  config::Object object;
  config::Neighbor n;
  n.link = "a";
  n.address = *IpAddress::Parse("10.0.0.2");
  n.mac = *MacAddress::Parse("02:00:00:00:00:02");
  n.nud = config::NudState::kStale;
  object.value = n;
  object.meta.origin = config::Origin::kLearned;
  v1::Object m;
  EncodeObject(object, WithState::kYes, &m);
  EXPECT_EQ(m.neighbor().lladdr(), "");
  EXPECT_EQ(m.neighbor().nud(), v1::NUD_STATE_UNSPECIFIED);
  EXPECT_EQ(m.neighbor().state().lladdr(), "02:00:00:00:00:02");
  EXPECT_EQ(m.neighbor().state().nud(), v1::NUD_STATE_STALE);
}

TEST(DecodeOptionsTest, RefusesWhatIsWrong) {
  const auto outcome = [](const std::string& text) {
    v1::CommitOptions m;
    EXPECT_TRUE(TextFormat::ParseFromString(text, &m)) << text;
    engine::CommitOptions options;
    const config::Problem p = DecodeOptions(m, &options);
    return p.ok() ? "ok" : absl::StrCat(p.reason, " ", p.field);
  };
  EXPECT_EQ(outcome("request_id: '" + std::string(128, 'x') + "'"), "ok");
  EXPECT_EQ(outcome("request_id: '" + std::string(129, 'x') + "'"), "TEXT_TOO_LONG request_id");
  EXPECT_EQ(outcome("comment: '" + std::string(1025, 'x') + "'"), "TEXT_TOO_LONG comment");
  EXPECT_EQ(outcome("ack: 9"), "UNKNOWN_ENUM_VALUE ack");
  EXPECT_EQ(outcome("visible_timeout { seconds: 60 }"), "ok");
  EXPECT_EQ(outcome("visible_timeout { seconds: 60 nanos: 1 }"), "VISIBLE_TIMEOUT visible_timeout");
  EXPECT_EQ(outcome("visible_timeout { seconds: -1 }"), "VISIBLE_TIMEOUT visible_timeout");
  EXPECT_EQ(outcome("visible_timeout { nanos: -1 }"), "VISIBLE_TIMEOUT visible_timeout");
}

TEST(ReasonTest, CodesAreThoseOfTheProtoComments) {
  std::ifstream in(SLUICE_SOURCE_DIR "/proto/sluice/v1/reason.proto");
  ASSERT_TRUE(in.good());
  const std::regex code("// ([A-Z_]{7,})\\. .*"), value(" *REASON_([A-Z0-9_]+) = ([0-9]+);");
  std::smatch match;
  std::string line, expected;
  size_t checked = 0;
  while (std::getline(in, line)) {
    const size_t comment = line.find("//");
    if (comment != std::string::npos) {
      const std::string text = line.substr(comment);
      if (std::regex_match(text, match, code)) expected = match[1];
    } else if (std::regex_match(line, match, value) && match[2] != "0") {
      const v1::Reason reason = ReasonByName(match[1].str());
      EXPECT_EQ(static_cast<int>(reason), std::stoi(match[2].str()));
      EXPECT_EQ(ReasonName(reason), match[1].str());
      EXPECT_EQ(absl::StatusCodeToString(ReasonCode(reason)), expected) << line;
      ++checked;
    }
  }
  EXPECT_EQ(checked, static_cast<size_t>(v1::Reason_descriptor()->value_count()) - 1);
}

TEST(StatusTest, HasOneErrorInfoAndAtMostTenViolationsWithinFourKiB) {
  std::vector<config::OperationResult> results(50);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].index = static_cast<uint32_t>(i);
    results[i].problem = Refuse("INVALID_PREFIX", "object.route.prefix", std::string(i == 0 ? 20 : 2000, 'm'));
  }
  const google::rpc::Status status = MakeError(absl::InvalidArgumentError("x"), results);
  EXPECT_EQ(status.code(), 3);
  ASSERT_EQ(status.details_size(), 2);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(status.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "INVALID_PREFIX");
  EXPECT_EQ(info.domain(), "sluice");
  EXPECT_EQ(info.metadata().at("problems"), "50");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(status.details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations(0).field(), "operations[0].object.route.prefix");
  EXPECT_GE(bad.field_violations_size(), 2);
  EXPECT_LE(bad.field_violations_size(), 10);
  EXPECT_LE(ToGrpc(status).error_details().size(), kMaxDetailBytes);
  EXPECT_THAT(status.message(), HasSubstr("and 49 more"));
}

TEST(StatusTest, ShortProblemsFillTenViolations) {
  std::vector<config::OperationResult> results(50);
  for (auto& r : results) r.problem = Refuse("INVALID_PREFIX", "object.route.prefix", "short");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(MakeError(absl::InvalidArgumentError("x"), results).details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations_size(), 10);
}

TEST(StatusTest, AStatusOfTheEngineKeepsItsReason) {
  const grpc::Status s = ToGrpc(engine::Error(absl::StatusCode::kAborted, "GENERATION_MOVED", "moved"));
  EXPECT_EQ(s.error_code(), grpc::StatusCode::ABORTED);
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(s.error_details()));
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(status.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "GENERATION_MOVED");
}

}  // namespace
}  // namespace sluice::rpc
