#include "dataplane/neighbor/hold_queue.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sluice {

HoldPool::HoldPool(const HoldLimits& limits, absl::AnyInvocable<void(const HeldPacket&)> pushed_out)
    : limits_(limits), pushed_out_(std::move(pushed_out)) {}

HoldPool::~HoldPool() = default;

HoldPool::Node* HoldPool::PopFront(HoldQueue& queue) {
  Node* node = queue.head_;
  queue.head_ = node->next;
  if (queue.head_ == nullptr) queue.tail_ = nullptr;
  --queue.packets_;
  queue.bytes_ -= node->cost;
  (node->older_all ? node->older_all->newer_all : oldest_) = node->newer_all;
  (node->newer_all ? node->newer_all->older_all : newest_) = node->older_all;
  --packets_;
  bytes_ -= node->cost;
  return node;
}

void HoldPool::PushOut(HoldQueue& queue) {
  Node* node = PopFront(queue);
  pushed_out_(node->packet);
  std::free(node);
}

bool HoldPool::Push(HoldQueue& queue, const HeldPacket& packet) {
  const size_t length = packet.bytes.size();
  const size_t cost = Cost(length);
  if (cost > limits_.queue_bytes || cost > limits_.total_bytes) return false;
  void* memory = std::malloc(sizeof(Node) + length);
  if (memory == nullptr) return false;
  while (queue.bytes_ + cost > limits_.queue_bytes) PushOut(queue);
  // The oldest of all is the first of its own queue too.
  while (bytes_ + cost > limits_.total_bytes) PushOut(*oldest_->queue);
  Node* node = new (memory) Node{packet, &queue, nullptr, newest_, nullptr, cost};
  uint8_t* copy = reinterpret_cast<uint8_t*>(node + 1);
  if (length > 0) std::memcpy(copy, packet.bytes.data(), length);
  node->packet.bytes = absl::MakeConstSpan(copy, length);
  (queue.tail_ ? queue.tail_->next : queue.head_) = node;
  queue.tail_ = node;
  ++queue.packets_;
  queue.bytes_ += cost;
  (newest_ ? newest_->newer_all : oldest_) = node;
  newest_ = node;
  ++packets_;
  bytes_ += cost;
  return true;
}

size_t HoldPool::Drain(HoldQueue& queue, absl::FunctionRef<void(const HeldPacket&)> use) {
  // What `use` may push meanwhile stays.
  const size_t count = queue.packets_;
  size_t drained = 0;
  for (; drained < count && !queue.empty(); ++drained) {
    Node* node = PopFront(queue);
    use(node->packet);
    std::free(node);
  }
  return drained;
}

}  // namespace sluice
