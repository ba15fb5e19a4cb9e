#include "dataplane/cells/counters.h"

#include "absl/status/status.h"

namespace sluice {

uint64_t Counters::Lane::dropped() const {
  uint64_t sum = 0;
  for (const OwnedCounter& d : drops_) sum += d.Get();
  return sum;
}

Counters::Counters(size_t lanes) {
  for (size_t i = 0; i < lanes; ++i) {
    lanes_.push_back(std::make_unique<Lane>());
    // Cell 0 takes what nobody reads, so the first chunk is there from the start.
    lanes_.back()->chunks_[0].store(new Lane::Chunk, std::memory_order_release);
  }
}

Counters::~Counters() {
  for (const auto& lane : lanes_) {
    for (auto& chunk : lane->chunks_) delete chunk.load(std::memory_order_relaxed);
  }
}

absl::StatusOr<CellIndex> Counters::AllocateCell() {
  absl::MutexLock lock(&mutex_);
  CellIndex cell;
  if (!free_.empty()) {
    cell = free_.back();
    free_.pop_back();
  } else if (next_ < kChunkCells * kMaxChunks) {
    cell = next_++;
    if (cell % kChunkCells == 0) {
      for (const auto& lane : lanes_) {
        lane->chunks_[cell / kChunkCells].store(new Lane::Chunk, std::memory_order_release);
      }
    }
  } else {
    return absl::ResourceExhaustedError("all counter cells are in use");
  }
  ++in_use_;
  return cell;
}

void Counters::FreeCell(CellIndex cell) {
  if (cell == 0) return;
  absl::MutexLock lock(&mutex_);
  for (const auto& lane : lanes_) {
    Lane::Cell& c = lane->chunks_[cell / kChunkCells].load(std::memory_order_relaxed)->cells[cell % kChunkCells];
    // Nobody counts here now: the grace period has passed.
    c.packets.Add(0 - c.packets.Get());
    c.bytes.Add(0 - c.bytes.Get());
  }
  free_.push_back(cell);
  --in_use_;
}

size_t Counters::cells_in_use() const {
  absl::MutexLock lock(&mutex_);
  return in_use_;
}

PacketBytes Counters::Read(CellIndex cell) const {
  PacketBytes sum;
  for (const auto& lane : lanes_) {
    const Lane::Chunk* chunk = lane->chunks_[cell / kChunkCells].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    sum.packets += chunk->cells[cell % kChunkCells].packets.Get();
    sum.bytes += chunk->cells[cell % kChunkCells].bytes.Get();
  }
  return sum;
}

uint64_t Counters::Drops(DropReason reason) const {
  uint64_t sum = 0;
  for (const auto& lane : lanes_) sum += lane->drops(reason);
  return sum;
}

}  // namespace sluice
