// Timers for a dense set of ids: one timer an id, set and cancelled in O(1).
//
// Why: tens of thousands of neighbours each have one timer, and a flood of packets to unresolved destinations sets and
// cancels them by the thousand; a heap would pay a logarithm for each. A wheel of 8,192 slots of 8 ms covers 65 s in
// one turn, which is more than any neighbour timer; a later one stays in its slot for another turn.
//
//   TimerWheel wheel(/*ids=*/1000);
//   wheel.Set(17, now + kSecond);
//   wheel.Advance(now, [&](uint32_t id) { ...; return work; }, /*budget=*/64);
//
// A timer fires at most one tick late (later if the budget ran out), never early, in order of ticks and then of Set.
//
// Threads: one. Cost: 8 bytes an id and 64 KB.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_TIMER_WHEEL_H_
#define SLUICE_DATAPLANE_NEIGHBOR_TIMER_WHEEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace sluice {

class TimerWheel {
 public:
  static constexpr uint64_t kTick = 8'000'000;  // nanoseconds
  static constexpr uint32_t kSlots = 8192;

  // For ids from 0 to `ids` - 1.
  explicit TimerWheel(uint32_t ids);

  // Nanoseconds of any clock that does not run backwards. Replaces the id's timer.
  void Set(uint32_t id, uint64_t due);
  void Cancel(uint32_t id);
  bool armed(uint32_t id) const { return links_[id].next != id; }

  // Fires what is due, each timer once; it may be set again from `fire`. `fire` returns the work it did; Advance stops
  // once the sum, with one for each timer looked at, reaches `budget`, and goes on there next time. Returns the work.
  size_t Advance(uint64_t now, absl::FunctionRef<size_t(uint32_t id)> fire, size_t budget);

 private:
  struct Link {
    uint32_t prev;
    uint32_t next;
  };
  uint32_t SlotHead(uint64_t tick) const { return ids_ + static_cast<uint32_t>(tick % kSlots); }
  uint32_t DueHead() const { return ids_ + kSlots; }
  void Append(uint32_t head, uint32_t id);
  void Unlink(uint32_t id);

  const uint32_t ids_;
  std::vector<Link> links_;         // ids, then slot heads, then the head of the timers whose slot has come
  std::vector<uint64_t> due_tick_;  // by id
  uint64_t next_tick_ = 0;          // the first whose slot has not come
  bool started_ = false;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_TIMER_WHEEL_H_
