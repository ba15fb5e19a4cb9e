// The pipeline as a worker calls it: one function for a received burst, compiled once per instruction set.
//
// Why a function pointer: a release binary runs on any x86-64-v2 CPU and still uses what a better one has. The stages
// (stages.h) are compiled for each level in a namespace of its own, from which only the entry is visible to the linker;
// the best level that the CPU has is chosen at start.
//
//   absl::StatusOr<const PipelineLevel*> level = ChoosePipeline();      // SLUICE_ISA=x86-64-v2 forces one, for tests
//   (*level)->entries->process(context, *snapshot, queue.port, packets, n);
//   context.Flush();
//
// Threads: a WorkerContext belongs to one worker. Cost: README.md has the ledger.
#ifndef SLUICE_DATAPLANE_WORKER_PIPELINE_H_
#define SLUICE_DATAPLANE_WORKER_PIPELINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "dataplane/worker/worker_context.h"

namespace sluice {

// What a copy of the pipeline offers. Both take `count` (<= kBurst) packets received on DPDK port `port` through every
// stage. What leaves stands in the context's transmit buffers; every other packet has been counted to its end.
struct PipelineEntries {
  void (*process)(WorkerContext& context, const Snapshot& snapshot, uint16_t port, rte_mbuf** packets, uint32_t count);
  // The same with a TSC read after each stage, and flushed.
  void (*process_ledger)(LedgerContext& context, const Snapshot& snapshot, uint16_t port, rte_mbuf** packets,
                         uint32_t count);
};

struct PipelineLevel {
  const char* name;  // "x86-64-v3"
  const PipelineEntries* entries;
  bool supported;  // by this CPU and its operating system
};

// All levels, lowest first.
absl::Span<const PipelineLevel> PipelineLevels();
// The best supported level, or the one that the environment variable SLUICE_ISA names. INVALID_ARGUMENT: it names none;
// FAILED_PRECONDITION: one that this CPU does not have.
absl::StatusOr<const PipelineLevel*> ChoosePipeline();

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_PIPELINE_H_
