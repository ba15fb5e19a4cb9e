// One instruction set's copy of the pipeline. Compiled several times: SLUICE_PIPELINE_NAMESPACE names the copy,
// SLUICE_PIPELINE_ENTRY its only symbol that the linker may see (dataplane/worker/CMakeLists.txt).
#include "dataplane/worker/pipeline.h"
#include "dataplane/worker/stages.h"

namespace sluice {
inline namespace SLUICE_PIPELINE_NAMESPACE {
namespace {

// The link of untagged frames of a port; one that does not exist is down.
const LinkEntry& LinkOf(const Snapshot& snapshot, uint16_t port) {
  return snapshot.link(port < kMaxPorts ? snapshot.link_of_port[port] : 0);
}

void Process(WorkerContext& context, const Snapshot& snapshot, uint16_t port, rte_mbuf** packets, uint32_t count) {
  RunPipeline(context, snapshot, LinkOf(snapshot, port), packets, count);
}

void ProcessLedger(LedgerContext& context, const Snapshot& snapshot, uint16_t port, rte_mbuf** packets,
                   uint32_t count) {
  context.Begin();
  RunPipeline(context, snapshot, LinkOf(snapshot, port), packets, count);
  context.Flush();
  context.Mark(Stage::kTransmit);
}

}  // namespace
}  // namespace SLUICE_PIPELINE_NAMESPACE
}  // namespace sluice

extern "C" const sluice::PipelineEntries SLUICE_PIPELINE_ENTRY = {sluice::SLUICE_PIPELINE_NAMESPACE::Process,
                                                                  sluice::SLUICE_PIPELINE_NAMESPACE::ProcessLedger};
