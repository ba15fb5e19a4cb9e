#include "server/engine/request_memory.h"

#include <utility>

namespace sluice::engine {

RequestMemory::Entered RequestMemory::Enter(const std::string& id, uint64_t fingerprint, Done* done) {
  CommitResult answer;
  {
    absl::MutexLock lock(&mutex_);
    const auto [it, fresh] = entries_.try_emplace(id);
    Entry& entry = it->second;
    if (fresh) {
      entry.fingerprint = fingerprint;
      return Entered::kNew;
    }
    if (entry.fingerprint != fingerprint) return Entered::kReused;
    if (!entry.answered) {
      entry.waiting.push_back(std::move(*done));
      return Entered::kTaken;
    }
    answer = entry.result;
  }
  std::move (*done)(std::move(answer));
  return Entered::kTaken;
}

void RequestMemory::Leave(const std::string& id, const CommitResult& result) {
  std::vector<Done> waiting;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) return;
    waiting = std::move(it->second.waiting);
    if (!result.status.ok()) {
      entries_.erase(it);
    } else {
      it->second.answered = true;
      it->second.result = result;
      it->second.weight = 1;
      for (const config::OperationResult& r : result.results) it->second.weight += 1 + r.cascaded.size();
      weight_ += it->second.weight;
      order_.push_back(id);
      while (order_.size() > capacity_ || (weight_ > kMaxWeight && order_.size() > 1)) {
        const auto oldest = entries_.find(order_.front());
        weight_ -= oldest->second.weight;
        entries_.erase(oldest);
        order_.pop_front();
      }
    }
  }
  for (Done& done : waiting) std::move(done)(result);
}

}  // namespace sluice::engine
