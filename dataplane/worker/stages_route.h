// Stage 2: which nexthop? Part of stages.h.
//
// The walk of LINUX.md §1.3 over the tables of the plan, for a whole burst at once: the packets that a table has no
// answer for go on to the next.
//
// The local table comes first and nearly never has an answer, so a filter is asked before it (snapshot.h).
//
// Route hint: a packet with the route key of the one before it takes the same answer. The key is the destination; the
// input link is the same for all frames of a pass, and nothing else is read as long as there are no rules and no routes
// by TOS or source. The answer is a nexthop index, and what may differ between such packets (size, hop limit, source)
// is looked at later for each. A burst has one snapshot, so the meaning of the key cannot change under it.
//
// Threads: the context's. Cost: README.md.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_

#include <type_traits>

#include "dataplane/worker/stages_end.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

[[gnu::always_inline]] inline bool IsMiss(Leaf leaf) { return (leaf == 0) | (leaf == kThrowNexthop); }

// leaves[i] for keys[i]; 0, or kThrowNexthop: no table had a route.
template <class F>
[[gnu::always_inline]] inline void WalkTables(const Snapshot& s, const typename F::Key* keys, Leaf* leaves,
                                              uint32_t count) {
  const auto& plan = F::Plan(s);
  uint32_t step = 0;
  if (plan.count != 0 && plan.steps[0].table == kTableLocal) {
    bool maybe_local = false;
    for (uint32_t i = 0; i < count; ++i) maybe_local |= F::Filter(s).MayHave(keys[i]);
    if (!maybe_local) [[likely]]
      step = 1;
  }
  if (step >= plan.count) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) leaves[i] = 0;
    return;
  }
  plan.steps[step].trie.LookupBatch(s.base, keys, leaves, count);
  for (++step; step < plan.count; ++step) {
    bool missed = false;
    for (uint32_t i = 0; i < count; ++i) missed |= IsMiss(leaves[i]);
    if (!missed) return;
    typename F::Key left_keys[kBurst];
    Leaf left_leaves[kBurst];
    uint8_t left[kBurst];
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; ++i) {
      left[n] = static_cast<uint8_t>(i);
      left_keys[n] = keys[i];
      n += IsMiss(leaves[i]);
    }
    plan.steps[step].trie.LookupBatch(s.base, left_keys, left_leaves, n);
    for (uint32_t i = 0; i < n; ++i) leaves[left[i]] = left_leaves[i];
  }
}

// Marks packets whose source is one of our own addresses (LINUX.md §3: what is checked with rp_filter off).
[[gnu::always_inline]] inline void CheckSources(const Snapshot& s, Burst<V4>* b) {
  if (s.plan4.count == 0 || s.plan4.steps[0].table != kTableLocal) return;
  bool maybe_own = false;
  for (uint32_t i = 0; i < b->count; ++i) maybe_own |= s.local4.MayHave(b->source4[i]);
  if (!maybe_own) [[likely]]
    return;
  for (uint32_t i = 0; i < b->count; ++i) {
    const Leaf leaf = s.plan4.steps[0].trie.Lookup(s.base, b->source4[i]);
    if (leaf != 0 && s.nexthop(leaf).type == RouteType::kLocal) b->unusual[i] |= Burst<V4>::kOwnSource;
  }
}

template <class F, class Context>
[[gnu::always_inline]] inline void RouteStage(Pass<Context>& pass, Burst<F>* b) {
  const Snapshot& s = pass.snapshot;
  const uint32_t count = b->count;
  uint32_t hits = 0;
  for (uint32_t i = 1; i < count; ++i) hits += !F::Differ(b->destination[i], b->destination[i - 1]);
  if (hits == 0) {
    WalkTables<F>(s, b->destination, b->nexthop, count);
  } else {
    typename F::Key keys[kBurst];  // each run of equal keys once
    uint8_t run[kBurst];
    uint32_t n = 0;
    keys[0] = b->destination[0];
    run[0] = 0;
    for (uint32_t i = 1; i < count; ++i) {
      n += F::Differ(b->destination[i], b->destination[i - 1]);
      keys[n] = b->destination[i];
      run[i] = static_cast<uint8_t>(n);
    }
    Leaf leaves[kBurst];
    WalkTables<F>(s, keys, leaves, n + 1);
    for (uint32_t i = 0; i < count; ++i) b->nexthop[i] = leaves[run[i]];
    pass.context.totals().hint_hits.Add(hits);
  }
  pass.context.totals().hint_misses.Add(count - hits);
  if constexpr (std::is_same_v<F, V4>) CheckSources(s, b);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_ROUTE_H_
