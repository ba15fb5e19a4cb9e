#include "dataplane/packet/fragment.h"

#include <algorithm>
#include <cstring>

#include "dataplane/packet/checksum.h"
#include "dataplane/packet/ipv4_options.h"

namespace sluice {
namespace {

constexpr uint32_t kMaxDatagram = 65535;

// Overwrites the options that later fragments do not carry. Where the options are malformed, all that follows.
void KeepCopiedOptions(uint8_t* options, uint32_t size) {
  uint32_t at = 0;
  while (at < size && options[at] != kOptionEnd) {
    if (options[at] == kOptionNoOperation) {
      ++at;
      continue;
    }
    const uint32_t left = size - at;
    uint32_t length = left >= 2 ? options[at + 1] : 0;
    const bool malformed = length < 2 || length > left;
    if (malformed) length = left;
    if (malformed || !(options[at] & kOptionCopyBit)) std::memset(options + at, kOptionNoOperation, length);
    at += length;
  }
}

}  // namespace

Ipv4Fragmenter::Ipv4Fragmenter(const uint8_t* l3, uint32_t length, uint32_t mtu) {
  const auto* ip = HeaderAt<Ipv4Header>(l3);
  header_length_ = ip->header_length();
  length_ = length;
  position_ = header_length_;
  offset_ = ip->fragment_offset();
  more_after_ = ip->more_fragments();
  std::memcpy(header_, l3, header_length_);
  if (length < header_length_ || offset_ + (length - header_length_) > kMaxDatagram) return;
  if (length <= mtu) {
    room_ = length - header_length_;
  } else {
    if (mtu < header_length_ + 8) return;
    room_ = (mtu - header_length_) & ~7u;
  }
  ok_ = true;
}

uint32_t Ipv4Fragmenter::count() const {
  if (!ok_) return 0;
  const uint32_t payload = length_ - header_length_;
  return payload <= room_ ? 1 : (payload + room_ - 1) / room_;
}

bool Ipv4Fragmenter::Next(Ipv4Fragment* out) {
  if (!ok_ || done_) return false;
  const uint32_t left = length_ - position_;
  const uint32_t take = std::min(left, room_);
  const bool last = take == left;
  const uint32_t at = offset_ + (position_ - header_length_);

  auto* ip = HeaderAt<Ipv4Header>(header_);
  const bool more = !last || more_after_;
  ip->fragment = be16::FromHost(static_cast<uint16_t>(at / 8 | (more ? Ipv4Header::kMoreFragments : 0)));
  ip->total_length = be16::FromHost(static_cast<uint16_t>(header_length_ + take));
  ip->checksum = be16{};
  ip->checksum = InternetChecksum(absl::MakeConstSpan(header_, header_length_));
  std::memcpy(out->header, header_, header_length_);
  out->header_length = header_length_;
  out->payload_offset = position_;
  out->payload_length = take;

  if (position_ == header_length_) {
    KeepCopiedOptions(header_ + Ipv4Header::kMinSize, header_length_ - Ipv4Header::kMinSize);
  }
  position_ += take;
  done_ = last;
  return true;
}

}  // namespace sluice
