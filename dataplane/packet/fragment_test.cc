#include "dataplane/packet/fragment.h"

#include <algorithm>
#include <map>
#include <random>

#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/parse.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

std::vector<Bytes> Fragment(const Bytes& packet, uint32_t mtu) {
  std::vector<Bytes> fragments;
  Ipv4Fragmenter fragmenter(packet.data(), static_cast<uint32_t>(packet.size()), mtu);
  const uint32_t count = fragmenter.count();
  for (Ipv4Fragment f; fragmenter.Next(&f);) {
    const auto header = f.header_bytes();
    Bytes bytes(header.begin(), header.end());
    bytes.insert(bytes.end(), packet.begin() + f.payload_offset, packet.begin() + f.payload_offset + f.payload_length);
    fragments.push_back(std::move(bytes));
  }
  EXPECT_EQ(fragments.size(), count);
  return fragments;
}

// As a receiver would: by offset, whatever the order, each byte once.
struct Reassembled {
  Bytes payload;
  uint32_t begin = 0;  // offset of the first byte in the datagram
  bool complete = false;
  bool more = false;
};

Reassembled Reassemble(std::vector<Bytes> fragments) {
  std::map<uint32_t, Bytes> by_offset;
  for (const Bytes& f : fragments) by_offset[HeaderAt<Ipv4Header>(f.data())->fragment_offset()] = f;
  Reassembled out;
  out.complete = by_offset.size() == fragments.size() && !fragments.empty();
  if (!out.complete) return out;
  out.begin = by_offset.begin()->first;
  uint32_t next = out.begin;
  for (const auto& [offset, f] : by_offset) {
    const auto* ip = HeaderAt<Ipv4Header>(f.data());
    if (offset != next) out.complete = false;
    out.payload.insert(out.payload.end(), f.begin() + ip->header_length(), f.end());
    next = offset + static_cast<uint32_t>(f.size()) - ip->header_length();
    out.more = ip->more_fragments();
  }
  return out;
}

TEST(Ipv4Fragmenter, APacketThatFitsIsItsOnlyFragment) {
  const Bytes packet = BuildIpv4({.payload = Pattern(1480)});
  EXPECT_EQ(Fragment(packet, 1500), std::vector<Bytes>{packet});
  EXPECT_EQ(Fragment(packet, 9000), std::vector<Bytes>{packet});
}

TEST(Ipv4Fragmenter, FillsEveryFragmentButTheLast) {
  const std::vector<Bytes> fragments = Fragment(BuildIpv4({.payload = Pattern(3000)}), 1006);
  ASSERT_EQ(fragments.size(), 4u);
  EXPECT_EQ(fragments[0].size(), 20u + 984);  // (1006 - 20) / 8 * 8
  EXPECT_EQ(fragments[2].size(), 20u + 984);
  EXPECT_EQ(fragments[3].size(), 20u + 3000 - 3 * 984);
}

TEST(Ipv4Fragmenter, MtuWithoutRoomForEightBytesIsRefused) {
  const Bytes plain = BuildIpv4({.payload = Pattern(100)});
  const Bytes options = BuildIpv4({.options = Bytes(40, 1), .payload = Pattern(100)});
  EXPECT_FALSE(Ipv4Fragmenter(plain.data(), 120, 27).ok());
  EXPECT_TRUE(Ipv4Fragmenter(plain.data(), 120, 28).ok());
  EXPECT_FALSE(Ipv4Fragmenter(options.data(), 160, 67).ok());
  EXPECT_TRUE(Ipv4Fragmenter(options.data(), 160, 68).ok());  // the smallest MTU there is
  EXPECT_FALSE(Ipv4Fragmenter(plain.data(), 120, 0).ok());
  EXPECT_TRUE(Fragment(plain, 27).empty());
}

TEST(Ipv4Fragmenter, DataBeyondTheLargestDatagramIsRefused) {
  Bytes packet = BuildIpv4({.fragment = 0x1fff, .payload = Pattern(100)});
  EXPECT_FALSE(Ipv4Fragmenter(packet.data(), 120, 68).ok());
  packet = BuildIpv4({.fragment = 0x1fff, .payload = Pattern(7)});
  EXPECT_TRUE(Ipv4Fragmenter(packet.data(), 27, 1500).ok());
}

TEST(Ipv4Fragmenter, LaterFragmentsCarryOnlyCopiedOptions) {
  // no-operation, record route (not copied), security 130 (copied), timestamp (not copied), router alert (copied), end
  const Bytes record_route = {7, 7, 4, 0, 0, 0, 0}, security = {130, 3, 9}, stamp = {68, 8, 5, 0, 0, 0, 0, 0},
              alert = {148, 4, 0, 0};
  const Bytes options = Concat(Concat(Concat(Concat(Concat({1}, record_route), security), stamp), alert), {0});
  ASSERT_EQ(options.size(), 24u);
  const Bytes packet = BuildIpv4({.options = options, .payload = Pattern(200)});
  const std::vector<Bytes> fragments = Fragment(packet, 120);
  ASSERT_EQ(fragments.size(), 3u);
  EXPECT_EQ(Bytes(fragments[0].begin() + 20, fragments[0].begin() + 44), options);
  const Bytes later = Concat(Concat(Concat(Concat(Bytes(8, 1), security), Bytes(8, 1)), alert), {0});
  EXPECT_EQ(Bytes(fragments[1].begin() + 20, fragments[1].begin() + 44), later);
  EXPECT_EQ(Bytes(fragments[2].begin() + 20, fragments[2].begin() + 44), later);
}

TEST(Ipv4Fragmenter, MalformedOptionsAreNotCopied) {
  for (const Bytes& options : {Bytes{130, 0, 1, 1}, {130, 1, 1, 1}, {130, 5, 1, 1}, {1, 1, 1, 130}}) {
    const std::vector<Bytes> fragments = Fragment(BuildIpv4({.options = options, .payload = Pattern(100)}), 68);
    ASSERT_EQ(fragments.size(), 3u);
    EXPECT_EQ(Bytes(fragments[1].begin() + 20, fragments[1].begin() + 24), Bytes(4, 1));
  }
}

// LINUX.md 4.1: a fragment can be fragmented again, MF and offset kept.
TEST(Ipv4Fragmenter, AFragmentKeepsItsOffsetAndItsMoreFlag) {
  for (bool more : {false, true}) {
    const uint16_t fragment = static_cast<uint16_t>(100 | (more ? Ipv4Header::kMoreFragments : 0));
    const std::vector<Bytes> fragments = Fragment(BuildIpv4({.fragment = fragment, .payload = Pattern(160)}), 100);
    ASSERT_EQ(fragments.size(), 2u);
    const auto* first = HeaderAt<Ipv4Header>(fragments[0].data());
    const auto* last = HeaderAt<Ipv4Header>(fragments[1].data());
    EXPECT_EQ(first->fragment_offset(), 800u);
    EXPECT_TRUE(first->more_fragments());
    EXPECT_EQ(last->fragment_offset(), 880u);
    EXPECT_EQ(last->more_fragments(), more);
  }
}

TEST(Ipv4Fragmenter, ReassembledFragmentsAreTheOriginal) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    Ipv4Spec spec;
    spec.options = Bytes(random() % 11 * 4, 1);
    spec.tos = static_cast<uint8_t>(random());
    spec.id = static_cast<uint16_t>(random());
    const uint32_t payload = random() % (round % 100 == 0 ? 65536 - 60 : 2000);
    if (random() % 4 == 0) spec.fragment = static_cast<uint16_t>(random() % 8192 | (random() % 2 ? 0x2000 : 0));
    spec.payload = Pattern(payload, static_cast<uint8_t>(random()));
    const Bytes packet = BuildIpv4(spec);
    const uint32_t mtu = 68 + random() % 1500;
    const uint32_t begin = HeaderAt<Ipv4Header>(packet.data())->fragment_offset();
    const std::vector<Bytes> fragments = Fragment(packet, mtu);
    if (begin + payload > 65535) {
      ASSERT_TRUE(fragments.empty());
      continue;
    }
    for (const Bytes& f : fragments) {
      ASSERT_LE(f.size(), mtu);
      uint32_t length = 0;
      ASSERT_TRUE(CheckIpv4(f.data(), static_cast<uint32_t>(f.size()), &length).plain());
      ASSERT_EQ(length, f.size());
      // All but lengths, flags, offset and checksum is the original's.
      ASSERT_TRUE(std::equal(f.begin(), f.begin() + 2, packet.begin()));
      ASSERT_TRUE(std::equal(f.begin() + 4, f.begin() + 6, packet.begin() + 4));
      ASSERT_TRUE(std::equal(f.begin() + 8, f.begin() + 10, packet.begin() + 8));
      ASSERT_TRUE(std::equal(f.begin() + 12, f.begin() + 20 + spec.options.size(), packet.begin() + 12));
    }
    std::vector<Bytes> shuffled = fragments;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const Reassembled result = Reassemble(shuffled);
    ASSERT_TRUE(result.complete);
    ASSERT_EQ(result.begin, begin);
    ASSERT_EQ(result.more, (spec.fragment & 0x2000) != 0);
    ASSERT_EQ(result.payload, spec.payload);
  }
}

}  // namespace
}  // namespace sluice
