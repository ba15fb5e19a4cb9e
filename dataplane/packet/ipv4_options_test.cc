#include "dataplane/packet/ipv4_options.h"

#include <memory>
#include <random>

#include "dataplane/packet/fixtures.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

struct OptionCase {
  const char* name;
  Bytes options;
  int bad;  // as pointed at by Linux 6.18 in a parameter problem, 0 for none
};

TEST(ParseIpv4Options, JudgesAsLinuxDoes) {
  const OptionCase cases[] = {
      {"none", {}, 0},
      {"padding", {1, 1, 1, 0}, 0},
      {"anything after the end", {0, 7, 1, 1}, 0},
      {"unknown", {0x9e, 4, 1, 2}, 0},
      {"length 0", {0x9e, 0, 1, 2}, 20},
      {"length 1", {0x9e, 1, 1, 2}, 20},
      {"length beyond the header", {0x9e, 5, 1, 2}, 20},
      {"no room for a length", {1, 1, 1, 7}, 23},
      {"record route", {7, 7, 4, 0, 0, 0, 0, 0}, 0},
      {"record route, full", {7, 7, 8, 1, 2, 3, 4, 0}, 0},
      {"record route, pointer far beyond", {7, 7, 255, 1, 2, 3, 4, 0}, 0},
      {"record route, short", {7, 2, 1, 1}, 21},
      {"record route, pointer 3", {7, 7, 3, 0, 0, 0, 0, 1}, 22},
      {"record route, slot of 3 bytes", {7, 6, 4, 0, 0, 0, 1, 1}, 22},
      {"record route twice", {7, 7, 4, 0, 0, 0, 0, 7, 7, 4, 0, 0, 0, 0, 1, 1}, 27},
      {"timestamp", {68, 8, 5, 0, 0, 0, 0, 0}, 0},
      {"timestamp, short", {68, 3, 5, 1}, 21},
      {"timestamp, pointer 4", {68, 8, 4, 0, 0, 0, 0, 0}, 22},
      {"timestamp with address in half a slot", {68, 8, 5, 1, 0, 0, 0, 0}, 22},
      {"timestamp, overflow 3", {68, 8, 9, 0x30, 1, 1, 1, 1}, 0},
      {"timestamp, overflow 15", {68, 8, 9, 0xf0, 1, 1, 1, 1}, 23},
      {"source route", {131, 7, 4, 10, 0, 9, 9, 1}, 0},
      {"source route, pointer 3", {137, 7, 3, 10, 0, 9, 9, 1}, 22},
      {"router alert", {148, 4, 0, 0}, 0},
      {"router alert, short", {148, 3, 0, 0}, 21},
  };
  for (const OptionCase& c : cases) {
    EXPECT_EQ(ParseIpv4Options(BuildIpv4({.options = c.options}).data()).bad, c.bad) << c.name;
  }
}

TEST(ParseIpv4Options, SaysWhereEachIs) {
  const Bytes options = {1, 7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0, 68, 4, 5, 0, 131, 3, 4};
  const Ipv4Options parsed = ParseIpv4Options(BuildIpv4({.options = options}).data());
  EXPECT_TRUE(parsed.well_formed());
  EXPECT_EQ(parsed.record_route, 21);
  EXPECT_EQ(parsed.router_alert, 28);
  EXPECT_EQ(parsed.timestamp, 32);
  EXPECT_EQ(parsed.source_route, 36);
}

TEST(ParseIpv4Options, OfRandomBytesStaysInside) {
  std::mt19937 random(8);
  const uint8_t kinds[] = {0, 1, 7, 68, 131, 137, 148, 130};
  for (int round = 0; round < 100000; ++round) {
    Bytes options(4 + random() % 10 * 4);
    for (uint8_t& b : options) {
      b = static_cast<uint8_t>(random() % 3 ? random() % 12 : kinds[random() % std::size(kinds)]);
    }
    const Bytes packet = BuildIpv4({.options = options});
    std::unique_ptr<uint8_t[]> exact(new uint8_t[packet.size()]);
    std::copy(packet.begin(), packet.end(), exact.get());
    const Ipv4Options parsed = ParseIpv4Options(exact.get());
    for (uint8_t at : {parsed.record_route, parsed.timestamp, parsed.source_route, parsed.router_alert}) {
      if (at != 0) {
        ASSERT_LE(at + packet[at + 1], packet.size());
      }
    }
    ASSERT_LT(parsed.bad, packet.size());
  }
}

}  // namespace
}  // namespace sluice
