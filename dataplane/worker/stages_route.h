// Stage 2: which nexthop? Part of stages.h.
//
// The walk of LINUX.md §1.3 over the tables of the plan, for a whole burst at once: the packets that a table has no
// answer for go on to the next.
//
// Route hint: a packet with the route key of the one before it takes the same answer. The key is destination and input
// link, and nothing else as long as there are no rules and no routes by TOS or source; the answer is a nexthop index,
// and what may differ between such packets (size, hop limit, source) is looked at later for each. A burst has one
// snapshot, so the meaning of the key cannot change under it.
//
// Threads: the context's. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_

#include <type_traits>

#include "dataplane/worker/stages_end.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

// leaves[i] for keys[i]; 0: no table had a route.
template <class F>
[[gnu::always_inline]] inline void WalkTables(const Snapshot& s, const typename F::Key* keys, Leaf* leaves,
                                              uint32_t count) {
  const auto& plan = F::Plan(s);
  if (plan.count == 0) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) leaves[i] = 0;
    return;
  }
  plan.steps[0].trie.LookupBatch(s.base, keys, leaves, count);
  for (uint32_t step = 1; step < plan.count; ++step) {
    typename F::Key left_keys[kBurst];
    Leaf left_leaves[kBurst];
    uint8_t left[kBurst];
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; ++i) {
      left[n] = static_cast<uint8_t>(i);
      left_keys[n] = keys[i];
      n += (leaves[i] == 0) | (leaves[i] == kThrowNexthop);
    }
    if (n == 0) return;
    plan.steps[step].trie.LookupBatch(s.base, left_keys, left_leaves, n);
    for (uint32_t i = 0; i < n; ++i) leaves[left[i]] = left_leaves[i];
  }
}

// Marks packets whose source is one of our own addresses (LINUX.md §3: what is checked with rp_filter off).
[[gnu::always_inline]] inline void CheckSources(const Snapshot& s, Burst<V4>* b) {
  if (s.plan4.count == 0 || s.plan4.steps[0].table != kTableLocal) return;
  Leaf leaves[kBurst];
  s.plan4.steps[0].trie.LookupBatch(s.base, b->source4, leaves, b->count);
  uint32_t any = 0;
  for (uint32_t i = 0; i < b->count; ++i) any |= leaves[i];
  if (any == 0) [[likely]]
    return;
  for (uint32_t i = 0; i < b->count; ++i) {
    if (leaves[i] != 0 && s.nexthop(leaves[i]).type == RouteType::kLocal) b->unusual[i] |= Burst<V4>::kOwnSource;
  }
}

template <class F, class Context>
[[gnu::always_inline]] inline void RouteStage(Pass<Context>& pass, Burst<F>* b) {
  const Snapshot& s = pass.snapshot;
  const uint32_t count = b->count;
  typename F::Key keys[kBurst];  // each run of equal keys once
  uint8_t run[kBurst];
  uint32_t n = 0;
  keys[0] = b->destination[0];
  run[0] = 0;
  for (uint32_t i = 1; i < count; ++i) {
    n += F::Differ(b->destination[i], b->destination[i - 1]) | (b->in[i] != b->in[i - 1]);
    keys[n] = b->destination[i];
    run[i] = static_cast<uint8_t>(n);
  }
  ++n;
  Leaf leaves[kBurst];
  WalkTables<F>(s, keys, leaves, n);
  for (uint32_t i = 0; i < count; ++i) b->nexthop[i] = leaves[run[i]];
  pass.context.totals().hint_hits.Add(count - n);
  pass.context.totals().hint_misses.Add(n);
  if constexpr (std::is_same_v<F, V4>) CheckSources(s, b);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_
