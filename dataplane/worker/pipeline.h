// The pipeline as a worker calls it: one function for a received burst, compiled once per instruction set.
//
// Why a function pointer: a release binary runs on any x86-64-v2 CPU and still uses what a better one has. The stages
// (stages.h) are compiled for each level in a namespace of its own, from which only the entry is visible to the linker;
// the best level that the CPU has is chosen at start.
//
//   const PipelineLevel& level = ChoosePipeline();                 // SLUICE_ISA=x86-64-v2 forces one, for tests
//   level.process(context, *snapshot, queue.port, packets, n);
//   context.Flush(*snapshot);
//
// Threads: a WorkerContext belongs to one worker. Cost: README.md has the ledger.
#ifndef SLUICE_DATAPLANE_WORKER_PIPELINE_H_
#define SLUICE_DATAPLANE_WORKER_PIPELINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "dataplane/worker/worker_context.h"

namespace sluice {

// Takes `count` (<= kBurst) packets received on DPDK port `port` through every stage. What leaves is in the context's
// transmit buffers; every packet has been counted to its end or stands in one of those.
using ProcessBurst = void (*)(WorkerContext& context, const Snapshot& snapshot, uint16_t port, rte_mbuf** packets,
                              uint32_t count);

struct PipelineLevel {
  const char* name;  // "x86-64-v3"
  ProcessBurst process;
  bool supported;  // by this CPU
};

// All levels, lowest first.
absl::Span<const PipelineLevel> PipelineLevels();
// The best supported level, or the one that the environment variable SLUICE_ISA names if it is supported.
const PipelineLevel& ChoosePipeline();

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_PIPELINE_H_
