#include "server/engine/cursor.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/time/clock.h"
#include "server/engine/error.h"
#include "server/engine/learned.h"

namespace sluice::engine {

using config::Object;

PinnedRead::PinnedRead(Writer& writer, Runtime& runtime, std::vector<config::Selector> selectors, bool with_state)
    : writer_(writer),
      runtime_(runtime),
      selectors_(std::move(selectors)),
      with_state_(with_state),
      last_(absl::Now()) {
  const Writer::Live live = writer.live();
  generation_ = live.config.generation;
  epoch_ = live.epoch;
  reader_.emplace(live.config, selectors_);
}

bool PinnedRead::ExpireIfIdle(absl::Time now, absl::Duration idle) {
  absl::MutexLock lock(&mutex_);
  if (reader_.has_value() && now - last_ > idle) {
    reader_.reset();
    expired_ = true;
    ready_.clear();
    ready_at_ = 0;
  }
  return !reader_.has_value();
}

absl::StatusOr<std::vector<Object>> PinnedRead::Next(size_t limit) {
  absl::MutexLock lock(&mutex_);
  last_ = absl::Now();
  if (expired_) {
    return Error(absl::StatusCode::kAborted, "READ_EXPIRED",
                 "the reader was idle for too long, and its generation was let go");
  }
  while (ready_at_ == ready_.size() && !(neighbors_done_ && reader_->done())) {
    ready_.clear();
    ready_at_ = 0;
    std::vector<Object> piece;
    if (!reader_->done()) reader_->Next(limit, &piece);
    if (with_state_) FillState(piece, reader_->nexthops());
    for (Object& object : piece) {
      if (std::holds_alternative<config::Route>(object.value) && !neighbors_done_) AddLearned();
      const bool hold = std::holds_alternative<config::Neighbor>(object.value);
      (hold ? neighbors_ : ready_).push_back(std::move(object));
    }
    if (reader_->done() && !neighbors_done_) AddLearned();
  }
  const size_t n = std::min(limit, ready_.size() - ready_at_);
  const auto from = ready_.begin() + static_cast<long>(ready_at_);
  std::vector<Object> out(std::make_move_iterator(from), std::make_move_iterator(from + static_cast<long>(n)));
  ready_at_ += n;
  return out;
}

void PinnedRead::FillState(std::vector<Object>& objects, const std::vector<NexthopIndex>& nexthops) {
  const std::vector<CellIndex> cells = writer_.nexthop_cells(nexthops);
  size_t route_at = 0;
  for (Object& object : objects) {
    if (auto* link = std::get_if<config::Link>(&object.value)) {
      runtime_.FillLinkState(*link);
      const LinkIndex index = link->state.index;
      link->state.rx = runtime_.counters().Read(writer_.rx_cell(index));
      link->state.tx = runtime_.counters().Read(writer_.tx_cell(index));
    } else if (auto* route = std::get_if<config::Route>(&object.value)) {
      const CellIndex cell = route_at < cells.size() ? cells[route_at] : 0;
      ++route_at;
      if (route->counted && cell != 0) route->state.counted = runtime_.counters().Read(cell);
    }
  }
}

// Merges the neighbours that were learned with those of config, by link and address.
void PinnedRead::AddLearned() {
  neighbors_done_ = true;
  const config::Config& config = reader_->config();
  std::vector<Object> all = std::exchange(neighbors_, {});
  for (const LearnedNeighbor& learned : runtime_.learned_neighbors()) {
    // One that has become a configured one is listed as that.
    if (config.neighbors.Find({learned.link, learned.address}) != nullptr) continue;
    if (ChoosesLearned(config, learned, selectors_)) all.push_back(DescribeLearned(config, learned));
  }
  const auto key = [&config](const Object& object) {
    const auto& n = std::get<config::Neighbor>(object.value);
    return std::make_tuple(config.FindLink(n.link), n.address);
  };
  std::stable_sort(all.begin(), all.end(), [&](const Object& a, const Object& b) { return key(a) < key(b); });
  std::move(all.begin(), all.end(), std::back_inserter(ready_));
}

}  // namespace sluice::engine
