// The engine's Codec in terms of sluice.v1: what the store holds are the messages of the API, so that later versions
// read what earlier ones wrote by the same rules of compatibility.
//
// Threads: any.
#ifndef SLUICE_SERVER_RPC_STORE_CODEC_H_
#define SLUICE_SERVER_RPC_STORE_CODEC_H_

#include <string>

#include "server/engine/engine.h"

namespace sluice::rpc {

// Bytes are those of a sluice.v1.Operations and of a sluice.v1.ReadResponse with objects alone; either may be cut into
// pieces and put together again, as repeated fields may.
class StoreCodec final : public engine::Codec {
 public:
  void EncodeOperation(const config::Operation& operation, std::string* append) const override;
  absl::Status DecodeOperations(absl::string_view bytes,
                                absl::FunctionRef<absl::Status(config::Operation&&)> each) const override;
  void EncodeObject(const config::Object& object, std::string* append) const override;
  absl::Status DecodeObjects(absl::string_view bytes,
                             absl::FunctionRef<absl::Status(config::Object&&)> each) const override;
};

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_STORE_CODEC_H_
