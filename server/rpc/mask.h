// Update masks: which fields a CHANGE may name.
//
// Threads: pure functions.
#ifndef SLUICE_SERVER_RPC_MASK_H_
#define SLUICE_SERVER_RPC_MASK_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/field_mask.pb.h"
#include "server/config/objects.h"

namespace sluice::rpc {

// The paths of `mask` below `kind` ("route.mtu" gives "mtu"). Refused (UPDATE_MASK) for: an empty mask, a path of
// another kind, one that names no field, an identity field or an observed one, too many paths.
config::Problem DecodeMask(absl::string_view kind, const google::protobuf::FieldMask& mask,
                           std::vector<std::string>* fields);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_MASK_H_
