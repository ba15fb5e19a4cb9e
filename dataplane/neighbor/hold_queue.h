// Packets that wait for a neighbour: one queue for each, under one common limit.
//
// Why: a packet whose neighbour is not resolved is worth keeping for the three seconds that resolution may take, and
// nobody may make us keep more than we can afford. A queue that is full gives up its oldest packet (Linux does; the
// newest is the one that somebody still waits for), and when all queues together are full the oldest packet of all
// gives way, whichever queue it is in.
//
//   HoldLimits limits;
//   HoldPool pool(limits, [&](const HeldPacket& p) { host.DropHeld(p, DropReason::kNeighborQueueFull); });
//   HoldQueue queue;
//   pool.Push(queue, packet, bytes);
//   pool.Drain(queue, [&](const HeldPacket& p) { send(p); });
//
// Threads: one. Cost: an allocation and a copy a packet; all else O(1).
#ifndef SLUICE_DATAPLANE_NEIGHBOR_HOLD_QUEUE_H_
#define SLUICE_DATAPLANE_NEIGHBOR_HOLD_QUEUE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "dataplane/base/address.h"
#include "dataplane/link/link.h"

namespace sluice {

// An L3 packet, complete but for its Ethernet header, and what is known of it. No pointer into a snapshot.
struct HeldPacket {
  Family family = Family::kNone;
  bool generated = false;       // made by Sluice, not forwarded
  bool link_broadcast = false;  // came in a link-layer broadcast or multicast
  uint8_t ring = 0;             // index of the worker that handed it in
  LinkIndex link_in = 0;        // 0 for what Sluice made
  LinkIndex link_out = 0;
  absl::Span<const uint8_t> bytes;
};

struct HoldLimits {
  // By HoldPool::Cost, which counts what Linux counts, so that a queue takes about as many packets as there: 277 small
  // ones (unres_qlen_bytes).
  size_t queue_bytes = 212992;
  size_t total_bytes = 16 << 20;
};

class HoldPool;

class HoldQueue {
 public:
  HoldQueue() = default;
  HoldQueue(const HoldQueue&) = delete;
  HoldQueue& operator=(const HoldQueue&) = delete;

  bool empty() const { return head_ == nullptr; }
  size_t packets() const { return packets_; }
  size_t bytes() const { return bytes_; }

 private:
  friend class HoldPool;
  struct Node {
    HeldPacket packet;
    HoldQueue* queue;
    Node* next;                   // in its queue
    Node *older_all, *newer_all;  // among all packets
    size_t cost;
  };
  Node* head_ = nullptr;
  Node* tail_ = nullptr;
  size_t packets_ = 0;
  size_t bytes_ = 0;
};

class HoldPool {
 public:
  // `pushed_out` is called for a packet that gives way to a newer one.
  HoldPool(const HoldLimits& limits, absl::AnyInvocable<void(const HeldPacket&)> pushed_out);
  ~HoldPool();  // requires that all queues are empty
  HoldPool(const HoldPool&) = delete;
  HoldPool& operator=(const HoldPool&) = delete;

  // What a packet of `length` bytes counts for: its bytes in steps of 256, and 512 for what surrounds it.
  static size_t Cost(size_t length) { return 512 + (length + 255) / 256 * 256; }

  // Keeps a copy. False, and nothing is kept or given up, when the packet alone is above a limit.
  bool Push(HoldQueue& queue, const HeldPacket& packet);
  // Takes out what is in the queue, oldest first. `use` may push to any queue.
  size_t Drain(HoldQueue& queue, absl::FunctionRef<void(const HeldPacket&)> use);

  size_t packets() const { return packets_; }
  size_t bytes() const { return bytes_; }

 private:
  using Node = HoldQueue::Node;
  Node* PopFront(HoldQueue& queue);
  void PushOut(HoldQueue& queue);

  const HoldLimits limits_;
  absl::AnyInvocable<void(const HeldPacket&)> pushed_out_;
  Node* oldest_ = nullptr;
  Node* newest_ = nullptr;
  size_t packets_ = 0;
  size_t bytes_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_HOLD_QUEUE_H_
