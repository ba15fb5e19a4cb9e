// Neighbours that were learned, as objects: they are not in config, and still can be read, deleted and flushed.
//
// Why apart: traffic makes and removes them, so they have no generation and are not stored. A DELETE or FLUSH that
// means them is carried out by the slow path, after the rest of its batch was committed.
//
//   LearnedChanges changes = TakeLearned(runtime, config, operations);   // before the batch is applied
//   ... committed ...
//   runtime.ForgetNeighbors(changes);
//
// Threads: any. Cost: a copy of the neighbour table, only for batches that delete neighbours.
#ifndef SLUICE_SERVER_ENGINE_LEARNED_H_
#define SLUICE_SERVER_ENGINE_LEARNED_H_

#include <vector>

#include "server/config/config.h"
#include "server/engine/runtime.h"

namespace sluice::engine {

config::Object DescribeLearned(const config::Config& config, const LearnedNeighbor& learned);

// Whether any of `selectors` chooses it (none: it is chosen). Selectors by uid never do: it has none.
bool ChoosesLearned(const config::Config& config, const LearnedNeighbor& learned,
                    const std::vector<config::Selector>& selectors);

// What DELETE and FLUSH in `operations` mean of the neighbours that were learned. A DELETE that means one of those
// is made to find nothing in config (missing_ok).
std::vector<NeighborKey> TakeLearned(const Runtime& runtime, const config::Config& config,
                                     std::vector<config::Operation>& operations);

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_LEARNED_H_
