#include "dataplane/packet/checksum.h"

#include <random>

#include "dataplane/packet/fixtures.h"
#include "dataplane/packet/rewrite.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// RFC 1071 word by word: what everything else is compared with.
uint16_t NaiveHostSum(const Bytes& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? uint32_t{bytes[i]} << 8 : bytes[i];
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

be16 NaiveChecksum(const Bytes& bytes) { return be16::FromHost(static_cast<uint16_t>(~NaiveHostSum(bytes))); }

Bytes RandomBytes(std::mt19937* random, size_t size) {
  Bytes bytes(size);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>((*random)());
  return bytes;
}

TEST(Checksum, OfTheExampleInRfc1071) {
  EXPECT_EQ(InternetChecksum(Bytes{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}).ToHost(), 0xffff - 0xddf2);
}

TEST(Checksum, EqualsTheNaiveSumForEveryLength) {
  std::mt19937 random(1);
  for (size_t size = 0; size <= 300; ++size) {
    for (int round = 0; round < 8; ++round) {
      const Bytes bytes = RandomBytes(&random, size);
      ASSERT_EQ(InternetChecksum(bytes), NaiveChecksum(bytes)) << size;
    }
    ASSERT_EQ(InternetChecksum(Bytes(size, 0xff)), NaiveChecksum(Bytes(size, 0xff))) << size;
    ASSERT_EQ(InternetChecksum(Bytes(size, 0)), NaiveChecksum(Bytes(size, 0))) << size;
  }
}

TEST(Checksum, OfPiecesEqualsThatOfTheWholeWhereverItIsCut) {
  std::mt19937 random(2);
  for (size_t size : {1, 2, 3, 7, 20, 65, 1500}) {
    const Bytes bytes = RandomBytes(&random, size);
    const absl::Span<const uint8_t> all = bytes;
    for (size_t i = 0; i <= size; i += 1 + size / 50) {
      for (size_t j = i; j <= size; j += 1 + size / 50) {
        ChecksumSum sum;
        sum.Add(all.subspan(0, i)).Add(all.subspan(i, j - i)).Add(all.subspan(j));
        ASSERT_EQ(sum.Finish(), NaiveChecksum(bytes)) << size << " cut at " << i << ", " << j;
      }
    }
  }
}

TEST(Checksum, OfDataThatIncludesItIsZero) {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    Bytes bytes = RandomBytes(&random, 20);
    bytes[10] = bytes[11] = 0;
    const be16 checksum = InternetChecksum(bytes);
    std::memcpy(&bytes[10], &checksum, 2);
    ASSERT_EQ(InternetChecksum(bytes), be16{});
  }
}

TEST(Checksum, PseudoHeadersAreThoseOfTheRfcs) {
  const Bytes v4 = {10, 0, 0, 1, 192, 168, 1, 2, 0, 17, 0, 8};
  EXPECT_EQ(FoldSum(PseudoHeader(V4("10.0.0.1"), V4("192.168.1.2"), 17, 8)), be16::FromHost(NaiveHostSum(v4)).raw);
  Bytes v6(40);
  const Ipv6Address a = V6("2001:db8::1"), b = V6("fe80::abcd");
  std::copy(a.bytes.begin(), a.bytes.end(), v6.begin());
  std::copy(b.bytes.begin(), b.bytes.end(), v6.begin() + 16);
  v6[33] = 1;  // 65541 bytes
  v6[35] = 5;
  v6[39] = 58;
  EXPECT_EQ(FoldSum(PseudoHeader(a, b, 58, 0x10005)), be16::FromHost(NaiveHostSum(v6)).raw);
}

TEST(Checksum, OfUdpIsNeverSentAsZero) {
  Bytes datagram(10);
  int zeros = 0;
  for (uint32_t word = 0; word <= 0xffff; ++word) {
    datagram[8] = static_cast<uint8_t>(word >> 8);
    datagram[9] = static_cast<uint8_t>(word);
    const be16 plain = InternetChecksum(datagram);
    const be16 udp = UdpChecksum(0, datagram);
    zeros += plain.raw == 0;
    ASSERT_EQ(udp.raw, plain.raw == 0 ? 0xffff : plain.raw);
  }
  EXPECT_EQ(zeros, 1);
}

TEST(UpdateChecksum, EqualsRecomputingForEveryWord) {
  std::mt19937 random(4);
  Bytes bytes = RandomBytes(&random, 20);
  bytes[10] = bytes[11] = 0;
  const be16 before = InternetChecksum(bytes);
  be16 old_word;
  std::memcpy(&old_word, &bytes[4], 2);
  for (uint32_t word = 0; word <= 0xffff; ++word) {
    const be16 new_word{static_cast<uint16_t>(word)};
    std::memcpy(&bytes[4], &new_word, 2);
    ASSERT_EQ(UpdateChecksum(before, old_word, new_word), InternetChecksum(bytes)) << word;
  }
}

TEST(UpdateChecksum, EqualsRecomputingForAddresses) {
  std::mt19937 random(5);
  for (int round = 0; round < 10000; ++round) {
    Bytes bytes = RandomBytes(&random, 20);
    const be16 before = InternetChecksum(bytes);
    be32 old_word, new_word{static_cast<uint32_t>(random())};
    std::memcpy(&old_word, &bytes[12], 4);
    std::memcpy(&bytes[12], &new_word, 4);
    ASSERT_EQ(UpdateChecksum(before, old_word, new_word), InternetChecksum(bytes));
  }
}

TEST(DecrementTtl, EqualsRecomputingForEveryTtlAndChecksum) {
  // The id runs over all values, so that every checksum occurs with every sixteenth TTL.
  for (uint32_t id = 0; id <= 0xffff; ++id) {
    for (uint32_t ttl = 1 + id % 16; ttl <= 255; ttl += 16) {
      Bytes packet(20);
      packet[0] = 0x45;
      packet[4] = static_cast<uint8_t>(id >> 8);
      packet[5] = static_cast<uint8_t>(id);
      packet[8] = static_cast<uint8_t>(ttl);
      packet[9] = kProtocolUdp;
      FixIpv4Checksum(&packet);
      Bytes expected = packet;
      --expected[8];
      FixIpv4Checksum(&expected);
      DecrementTtl(packet.data());
      ASSERT_EQ(packet, expected) << "id " << id << " ttl " << ttl;
    }
  }
}

TEST(DecrementTtl, CorrectsAChecksumOfMinusZero) {
  Bytes packet = BuildIpv4({});
  auto* ip = HeaderAt<Ipv4Header>(packet.data());
  // Choose the id so that the right checksum is 0, then write the other zero.
  for (uint32_t id = 0; id <= 0xffff; ++id) {
    ip->id = be16{static_cast<uint16_t>(id)};
    FixIpv4Checksum(&packet);
    if (ip->checksum.get().raw == 0) break;
  }
  ASSERT_EQ(ip->checksum.get().raw, 0);
  ip->checksum = be16{0xffff};
  DecrementTtl(packet.data());
  Bytes expected = packet;
  FixIpv4Checksum(&expected);
  EXPECT_EQ(packet, expected);
}

TEST(DecrementHopLimit, ChangesNothingElse) {
  Bytes packet = BuildIpv6({.hop_limit = 2, .payload = Pattern(8)});
  Bytes expected = packet;
  expected[7] = 1;
  DecrementHopLimit(packet.data());
  EXPECT_EQ(packet, expected);
}

TEST(WriteEthernetHeader, WritesFourteenBytesAndNoMore) {
  Bytes frame(16, 0xee);
  WriteEthernetHeader(frame.data() + 1, MacAddress{{1, 2, 3, 4, 5, 6}}, MacAddress{{7, 8, 9, 10, 11, 12}},
                      kEtherTypeIpv6);
  const Bytes expected = {0xee, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x86, 0xdd, 0xee};
  EXPECT_EQ(frame, expected);
  // From cells whose upper bits are in use.
  std::fill(frame.begin(), frame.end(), 0xee);
  WriteEthernetHeader(frame.data() + 1, uint64_t{0xabcd060504030201}, uint64_t{0x12340c0b0a090807}, kEtherTypeIpv6);
  EXPECT_EQ(frame, expected);
}

}  // namespace
}  // namespace sluice
