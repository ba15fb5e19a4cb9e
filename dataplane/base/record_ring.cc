#include "dataplane/base/record_ring.h"

#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr uint32_t kWrap = 0xffffffffu;
constexpr size_t kAlign = 16;

size_t RoundUp(size_t n) { return (n + kAlign - 1) & ~(kAlign - 1); }

}  // namespace

// Positions only grow; `& mask_` gives the offset. A record is a 16-byte header and its bytes, rounded up to 16, and
// never crosses the end: a header with bytes = kWrap sends the consumer to the start.
RecordRing::RecordRing(size_t bytes) {
  const size_t size = std::bit_ceil(bytes < 4096 ? size_t{4096} : bytes);
  memory_ = std::make_unique<char[]>(size + kAlign);
  base_ = reinterpret_cast<char*>(RoundUp(reinterpret_cast<size_t>(memory_.get())));
  mask_ = size - 1;
}

char* RecordRing::Reserve(size_t bytes) {
  const size_t size = mask_ + 1;
  const size_t stride = kAlign + RoundUp(bytes);
  if (bytes == 0 || bytes > size / 4 || stride > size / 4) return nullptr;
  uint64_t head = head_.load(std::memory_order_relaxed);
  const size_t to_end = size - (head & mask_);
  const bool wraps = to_end < stride;
  const size_t need = stride + (wraps ? to_end : 0);
  if (head + need - cached_tail_ > size) {
    cached_tail_ = tail_.load(std::memory_order_acquire);
    if (head + need - cached_tail_ > size) return nullptr;
  }
  if (wraps) {
    const Header wrap{kWrap, static_cast<uint32_t>(to_end)};
    std::memcpy(base_ + (head & mask_), &wrap, sizeof wrap);
    head += to_end;
  }
  const Header header{static_cast<uint32_t>(bytes), static_cast<uint32_t>(stride)};
  std::memcpy(base_ + (head & mask_), &header, sizeof header);
  pending_end_ = head + stride;
  return base_ + (head & mask_) + kAlign;
}

void RecordRing::Publish() {
  pushed_.store(pushed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  head_.store(pending_end_, std::memory_order_release);
}

absl::Span<const char> RecordRing::Front() {
  for (;;) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == cached_head_) {
      cached_head_ = head_.load(std::memory_order_acquire);
      if (tail == cached_head_) return {};
    }
    Header header;
    std::memcpy(&header, base_ + (tail & mask_), sizeof header);
    if (header.bytes != kWrap) return {base_ + (tail & mask_) + kAlign, header.bytes};
    tail_.store(tail + header.stride, std::memory_order_release);
  }
}

void RecordRing::Pop() {
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  Header header;
  std::memcpy(&header, base_ + (tail & mask_), sizeof header);
  popped_.store(popped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  tail_.store(tail + header.stride, std::memory_order_release);
}

size_t RecordRing::size() const {
  const uint64_t popped = popped_.load(std::memory_order_relaxed);
  const uint64_t pushed = pushed_.load(std::memory_order_relaxed);
  return pushed > popped ? pushed - popped : 0;
}

}  // namespace sluice
