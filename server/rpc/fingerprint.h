// A checksum over the operations of a batch, however they are cut into messages: so that a request_id that comes again
// with another batch is noticed.
//
// Threads: a value. Cost: one serialization of each operation; only batches with a request_id pay it.
#ifndef SLUICE_SERVER_RPC_FINGERPRINT_H_
#define SLUICE_SERVER_RPC_FINGERPRINT_H_

#include <cstdint>
#include <string>

#include "absl/hash/hash.h"
#include "sluice/v1/commit.pb.h"

namespace sluice::rpc {

class Fingerprint {
 public:
  void Add(const v1::Operation& operation) {
    bytes_.clear();
    operation.AppendToString(&bytes_);
    value_ = absl::HashOf(value_, bytes_);
  }
  // Never 0, which means "none" to the engine. Not the same in another process.
  uint64_t value() const { return value_ | 1; }

 private:
  uint64_t value_ = 0;
  std::string bytes_;
};

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_FINGERPRINT_H_
