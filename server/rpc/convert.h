// Between the messages of sluice.v1 and the structs of server/config: the only code that knows both.
//
// Why: text (addresses, prefixes, MACs) is parsed here, once and strictly, so that everything below works on values and
// cannot meet bad text. What is refused here is wrong by itself, whatever the state is; what depends on the state is
// refused by config. Everything that comes in is hostile: unknown enum values, numbers out of range, texts of any
// length.
//
//   config::Operation op;
//   config::Problem problem = DecodeOperation(message, &op);
//   if (!problem.ok()) ... problem.field == "object.route.nexthops[0].gateway"
//
// Threads: pure functions. Cost: about 200 ns to decode a route.
#ifndef SLUICE_SERVER_RPC_CONVERT_H_
#define SLUICE_SERVER_RPC_CONVERT_H_

#include <cstdint>

#include "server/config/objects.h"
#include "server/engine/engine.h"
#include "sluice/v1/commit.pb.h"
#include "sluice/v1/object.pb.h"

namespace sluice::rpc {

// Longest texts; more is TEXT_TOO_LONG.
inline constexpr size_t kMaxRequestId = 128;
inline constexpr size_t kMaxComment = 1024;
inline constexpr size_t kMaxDevargs = 1024;
inline constexpr size_t kMaxMaskPaths = 64;
inline constexpr size_t kMaxSelectorUids = 65536;

// An operation. Problem.field is a path from the operation on ("verb", "object.route.prefix"). Refused for:
// VERB_MISSING, UNKNOWN_ENUM_VALUE, TARGET_MISSING, TARGET_NOT_ALLOWED, KIND_MISSING, MISSING_OK_NOT_ALLOWED,
// UPDATE_MASK, SELECTOR_EMPTY, SELECTOR_ORIGIN, FIELD_MISSING, FIELD_NOT_ALLOWED, TEXT_TOO_LONG, VALUE_OUT_OF_RANGE,
// INVALID_ADDRESS, INVALID_PREFIX, HOST_BITS_SET, INVALID_MAC.
config::Problem DecodeOperation(const v1::Operation& message, config::Operation* operation);

// What to read: every field may be absent. Problem.field is a path from the selector on ("match.route.prefix").
config::Problem DecodeSelector(const v1::Selector& message, config::Selector* selector);

// Refused for: TEXT_TOO_LONG, UNKNOWN_ENUM_VALUE, VISIBLE_TIMEOUT. Problem.field is a path from the options on.
config::Problem DecodeOptions(const v1::CommitOptions& message, engine::CommitOptions* options);

// The message of an object. Without `state` observed fields stay away. In canonical form: addresses as RFC 5952 writes
// them, prefixes with their length.
enum class WithState : uint8_t { kNo, kYes };
void EncodeObject(const config::Object& object, WithState with_state, v1::Object* message);

// The operation that DecodeOperation makes `operation` of. For the store: what is decoded from it does the same.
void EncodeOperation(const config::Operation& operation, v1::Operation* message);

void EncodeProblem(const config::Problem& problem, v1::Problem* message);
void EncodeResult(const config::OperationResult& result, v1::OperationResult* message);
void EncodeCommitResult(const engine::CommitResult& result, v1::CommitResponse* message);

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_CONVERT_H_
