// One neighbour, as the state machine keeps it. Private to neighbor_machine.cc and neighbor_input.cc.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_ENTRY_H_
#define SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_ENTRY_H_

#include "dataplane/neighbor/neighbor_machine.h"

namespace sluice {

struct NeighborMachine::Entry {
  NeighborKey key;
  AdjacencyIndex index = 0;
  MacAddress mac;
  NeighborState state = NeighborState::kNone;
  bool router = false;
  uint32_t probes = 0;
  Nanos used = 0;
  Nanos confirmed = 0;
  Nanos updated = 0;
  Nanos reachable_until = 0;
  Nanos last_query = 0;  // 0: never
  HoldQueue queue;
  List* list = nullptr;  // failed_ or stale_, while in one
  Entry* prev = nullptr;
  Entry* next = nullptr;
};

namespace neighbor_internal {

// A frame may be sent.
constexpr bool IsValid(NeighborState s) {
  return s == NeighborState::kReachable || s == NeighborState::kStale || s == NeighborState::kDelay ||
         s == NeighborState::kProbe || s == NeighborState::kPermanent || s == NeighborState::kNoArp;
}
constexpr bool IsUnresolved(NeighborState s) { return s == NeighborState::kIncomplete || s == NeighborState::kFailed; }
// Set by the user; traffic changes nothing.
constexpr bool IsFixed(NeighborState s) { return s == NeighborState::kPermanent || s == NeighborState::kNoArp; }

}  // namespace neighbor_internal
}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_NEIGHBOR_ENTRY_H_
