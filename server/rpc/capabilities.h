// What this build can do, as GetCapabilities says it.
#ifndef SLUICE_SERVER_RPC_CAPABILITIES_H_
#define SLUICE_SERVER_RPC_CAPABILITIES_H_

#include "server/engine/engine.h"
#include "sluice/v1/capabilities.pb.h"

namespace sluice::rpc {

void FillCapabilities(engine::Engine& engine, v1::GetCapabilitiesResponse* out);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_CAPABILITIES_H_
