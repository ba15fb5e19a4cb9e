// One instruction set's copy of the pipeline. Compiled several times: SLUICE_PIPELINE_NAMESPACE names the copy,
// SLUICE_PIPELINE_ENTRY its only symbol that the linker may see (dataplane/worker/CMakeLists.txt).
#include "dataplane/worker/stages.h"
#include "dataplane/worker/worker_context.h"

extern "C" void SLUICE_PIPELINE_ENTRY(sluice::WorkerContext& context, const sluice::Snapshot& snapshot, uint16_t port,
                                      rte_mbuf** packets, uint32_t count) {
  sluice::Pipeline<sluice::WorkerContext>(context, snapshot).Process(port, packets, count);
}
