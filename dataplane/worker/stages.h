// The stages of the pipeline, in order. Templates over a context (WorkerContext, or the one of observe/ that writes
// down), each a loop over a Burst:
//
//   rx -> parse -> route -> resolve -> output -> tx
//
// Where what is to come has its place: tc ingress after parse, rules in route, tunnels after resolve (an outer key goes
// through route again), tc egress in output.
//
// Include it only where a translation unit instantiates the pipeline: everything lies in an inline namespace named
// after SLUICE_PIPELINE_NAMESPACE, since the same source is compiled for several instruction sets.
//
//   #define SLUICE_PIPELINE_NAMESPACE mine
//   #include "dataplane/worker/stages.h"
//   RunPipeline(context, snapshot, snapshot.link(snapshot.link_of_port[port]), packets, count);
//
// Threads: the context's. Cost: README.md has the ledger.
#ifndef SLUICE_DATAPLANE_WORKER_STAGES_H_
#define SLUICE_DATAPLANE_WORKER_STAGES_H_

#include "dataplane/worker/stages_end.h"
#include "dataplane/worker/stages_output.h"
#include "dataplane/worker/stages_parse.h"
#include "dataplane/worker/stages_resolve.h"
#include "dataplane/worker/stages_route.h"
#include "dataplane/worker/worker_context.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {

template <class F, class Context>
[[gnu::always_inline]] inline void ForwardBurst(Pass<Context>& pass, Burst<F>* b) {
  RouteStage<F>(pass, b);
  pass.context.Mark(Stage::kRoute);
  ResolveStage<F>(pass, b);
  pass.context.Mark(Stage::kResolve);
  OutputStage<F>(pass, b);
  pass.context.Mark(Stage::kOutput);
}

// Takes `count` (<= kBurst) frames that arrived on link `in` through every stage. Afterwards each has been counted
// to its end, or stands in a transmit buffer of the context.
template <class Context>
[[gnu::always_inline]] inline void RunPipeline(Context& context, const Snapshot& snapshot, const LinkEntry& in,
                                               rte_mbuf** packets, uint32_t count) {
  Pass<Context> pass{context, snapshot};
  Burst<V4> v4;
  Burst<V6> v6;
  ParseStage(pass, in, packets, count, &v4, &v6);
  context.Mark(Stage::kParse);
  if (v4.count != 0) ForwardBurst<V4>(pass, &v4);
  if (v6.count != 0) ForwardBurst<V6>(pass, &v6);
}

}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_STAGES_H_
