#include "dataplane/neighbor/timer_wheel.h"

#include <algorithm>

namespace sluice {

TimerWheel::TimerWheel(uint32_t ids) : ids_(ids), links_(size_t{ids} + kSlots + 1), due_tick_(ids) {
  for (uint32_t i = 0; i < links_.size(); ++i) links_[i] = {i, i};
}

void TimerWheel::Append(uint32_t head, uint32_t id) {
  const uint32_t last = links_[head].prev;
  links_[id] = {last, head};
  links_[last].next = id;
  links_[head].prev = id;
}

void TimerWheel::Unlink(uint32_t id) {
  links_[links_[id].prev].next = links_[id].next;
  links_[links_[id].next].prev = links_[id].prev;
  links_[id] = {id, id};
}

void TimerWheel::Set(uint32_t id, uint64_t due) {
  Unlink(id);
  due_tick_[id] = (due + kTick - 1) / kTick;
  // What is overdue already goes where the next Advance looks.
  const uint64_t tick = started_ ? std::max(due_tick_[id], next_tick_) : due_tick_[id];
  Append(SlotHead(tick), id);
}

void TimerWheel::Cancel(uint32_t id) { Unlink(id); }

size_t TimerWheel::Advance(uint64_t now, absl::FunctionRef<size_t(uint32_t)> fire, size_t budget) {
  const uint64_t now_tick = now / kTick;
  // At the start, and after a long silence, one look at each slot is enough.
  if (!started_ || now_tick >= next_tick_ + kSlots) next_tick_ = now_tick >= kSlots ? now_tick - kSlots + 1 : 0;
  started_ = true;
  size_t work = 0;
  for (;;) {
    while (links_[DueHead()].next != DueHead()) {
      if (work >= budget) return work;
      const uint32_t id = links_[DueHead()].next;
      Unlink(id);
      ++work;
      if (due_tick_[id] <= now_tick) {
        work += fire(id);
      } else {
        Append(SlotHead(due_tick_[id]), id);  // of a later turn
      }
    }
    if (next_tick_ > now_tick) return work;
    // The whole list of the next slot becomes the list of what is due.
    const uint32_t head = SlotHead(next_tick_++);
    if (links_[head].next == head) continue;
    const Link chain = links_[head];
    links_[head] = {head, head};
    links_[DueHead()] = chain;
    links_[chain.next].prev = DueHead();
    links_[chain.prev].next = DueHead();
  }
}

}  // namespace sluice
