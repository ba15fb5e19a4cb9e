// What the engine counts about itself, for metrics.
//
// Threads: written by the engine's threads, read by any. Cost: relaxed adds.
#ifndef SLUICE_SERVER_ENGINE_STATS_H_
#define SLUICE_SERVER_ENGINE_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace sluice::engine {

// Seconds by bucket, as Prometheus has them. Several threads may record.
class Histogram {
 public:
  static constexpr std::array<double, 14> kBounds = {10e-6,  25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3,
                                                     2.5e-3, 5e-3,  10e-3, 50e-3,  250e-3, 1,      5};

  void Record(absl::Duration d) {
    const double seconds = absl::ToDoubleSeconds(d);
    size_t i = 0;
    while (i < kBounds.size() && seconds > kBounds[i]) ++i;
    buckets_[i].fetch_add(1, std::memory_order_relaxed);
    nanos_.fetch_add(static_cast<uint64_t>(absl::ToInt64Nanoseconds(d)), std::memory_order_relaxed);
  }
  // Of one bucket alone; index kBounds.size() is what is above all bounds.
  uint64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  double sum() const { return static_cast<double>(nanos_.load(std::memory_order_relaxed)) * 1e-9; }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_ = {};
  std::atomic<uint64_t> nanos_{0};
};

enum class Stage : uint8_t { kValidate, kStore, kBuild, kPublish, kVisible };
inline constexpr const char* kStageNames[] = {"validate", "store", "build", "publish", "visible"};

enum class ApplyResult : uint8_t { kCommitted, kUnchanged, kValidated, kRefused, kAborted, kExhausted, kFailed };
inline constexpr const char* kApplyResultNames[] = {"committed", "unchanged", "validated", "refused",
                                                    "aborted",   "exhausted", "failed"};

struct EngineStats {
  std::array<Histogram, std::size(kStageNames)> stages;
  std::array<std::atomic<uint64_t>, std::size(kApplyResultNames)> results = {};
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> visible_timeouts{0};
  std::atomic<uint64_t> publications{0};

  Histogram& stage(Stage s) { return stages[static_cast<size_t>(s)]; }
  void Count(ApplyResult r) { results[static_cast<size_t>(r)].fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_STATS_H_
