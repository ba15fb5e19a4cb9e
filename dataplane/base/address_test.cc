#include "dataplane/base/address.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(Ipv4Address, ReadsAndPrintsDottedQuads) {
  EXPECT_EQ(Ipv4Address::Parse("10.0.0.1")->ToHost(), 0x0a000001u);
  EXPECT_EQ(Ipv4Address::FromHost(0xc0a80102).ToString(), "192.168.1.2");
}

TEST(Ipv4Address, RefusesWhatIsNotAStrictQuad) {
  for (const char* text : {"", "10", "10.0.0", "10.0.0.256", "10.0.0.1 ", "0x0a.0.0.1", "10.0.0.1/32", "1.2.3.4.5"}) {
    EXPECT_FALSE(Ipv4Address::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(Ipv4Address::Parse(absl::string_view("10.0.0.1\0", 9)).ok());
}

TEST(Ipv6Address, PrintsTheCanonicalForm) {
  EXPECT_EQ(Ipv6Address::Parse("2001:DB8:0:0:0:0:0:1")->ToString(), "2001:db8::1");
  EXPECT_EQ(Ipv6Address::FromHost(0x20010db800000000ull, 1).ToString(), "2001:db8::1");
  EXPECT_EQ(Ipv6Address::Parse("2001:db8::12:3456")->SolicitedNode().ToString(), "ff02::1:ff12:3456");
}

TEST(IpPrefix, ReadsBothFamiliesAndHostPrefixes) {
  EXPECT_EQ(IpPrefix::Parse("10.0.0.0/8")->ToString(), "10.0.0.0/8");
  EXPECT_EQ(IpPrefix::Parse("10.0.0.1")->ToString(), "10.0.0.1/32");
  EXPECT_EQ(IpPrefix::Parse("::/0")->ToString(), "::/0");
  EXPECT_NE(*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("0.0.0.0/1"));
  EXPECT_NE(*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("::/0"));
}

TEST(IpPrefix, RefusesHostBitsAndNamesTheRightPrefix) {
  EXPECT_THAT(std::string(IpPrefix::Parse("10.0.0.1/8").status().message()), testing::HasSubstr("10.0.0.0/8"));
  for (const char* text :
       {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "::1/0", "/8", "10.0.0.0/8/8", "10.0.0.0/+8"}) {
    EXPECT_FALSE(IpPrefix::Parse(text).ok()) << text;
  }
}

TEST(IpPrefix, ContainsOnlyItsOwnFamily) {
  EXPECT_TRUE(IpPrefix::Parse("10.0.0.0/9")->Contains(*IpAddress::Parse("10.127.255.255")));
  EXPECT_FALSE(IpPrefix::Parse("10.0.0.0/9")->Contains(*IpAddress::Parse("10.128.0.0")));
  EXPECT_TRUE(IpPrefix::Default(Family::kIpv6).Contains(*IpAddress::Parse("2001:db8::1")));
  EXPECT_FALSE(IpPrefix::Default(Family::kIpv6).Contains(*IpAddress::Parse("10.0.0.1")));
}

TEST(MacAddress, ReadsPrintsAndPacks) {
  const MacAddress m = *MacAddress::Parse("02:00:00:00:01:aF");
  EXPECT_EQ(m.ToString(), "02:00:00:00:01:af");
  EXPECT_EQ(MacAddress::FromBits(m.ToBits()), m);
  EXPECT_FALSE(MacAddress::Parse("02:00:00:00:01").ok());
  EXPECT_FALSE(MacAddress::Parse("02-00-00-00-01-af").ok());
}

}  // namespace
}  // namespace sluice
