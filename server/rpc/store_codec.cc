#include "server/rpc/store_codec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/convert.h"
#include "sluice/v1/commit.pb.h"
#include "sluice/v1/read.pb.h"

namespace sluice::rpc {
namespace {

// A message as an element of the repeated field that `tag` begins.
void AppendElement(char tag, const google::protobuf::MessageLite& message, std::string* out) {
  out->push_back(tag);
  size_t size = message.ByteSizeLong();
  while (size >= 0x80) {
    out->push_back(static_cast<char>(size | 0x80));
    size >>= 7;
  }
  out->push_back(static_cast<char>(size));
  message.AppendToString(out);
}

// Calls `each` with the bytes of each element. Anything else in `bytes` is an error: nobody else wrote it.
absl::Status ForEachElement(char tag, absl::string_view bytes,
                            absl::FunctionRef<absl::Status(absl::string_view)> each) {
  const absl::Status torn = absl::DataLossError("a record of the log is not what it should be");
  while (!bytes.empty()) {
    if (bytes.front() != tag) return torn;
    bytes.remove_prefix(1);
    size_t size = 0;
    int shift = 0;
    while (true) {
      if (bytes.empty() || shift > 28) return torn;
      const auto byte = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      size |= size_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) == 0) break;
    }
    if (size > bytes.size()) return torn;
    if (auto s = each(bytes.substr(0, size)); !s.ok()) return s;
    bytes.remove_prefix(size);
  }
  return absl::OkStatus();
}

constexpr char Tag(int field) { return static_cast<char>(field << 3 | 2); }
constexpr char kOperation = Tag(v1::Operations::kOperationsFieldNumber);
constexpr char kObject = Tag(v1::ReadResponse::kObjectsFieldNumber);

}  // namespace

void StoreCodec::EncodeOperation(const config::Operation& operation, std::string* append) const {
  v1::Operation message;
  rpc::EncodeOperation(operation, &message);
  AppendElement(kOperation, message, append);
}

absl::Status StoreCodec::DecodeOperations(absl::string_view bytes,
                                          absl::FunctionRef<absl::Status(config::Operation&&)> each) const {
  v1::Operation message;
  return ForEachElement(kOperation, bytes, [&](absl::string_view one) -> absl::Status {
    if (!message.ParseFromArray(one.data(), static_cast<int>(one.size()))) {
      return absl::DataLossError("a stored operation cannot be parsed");
    }
    config::Operation operation;
    if (auto p = DecodeOperation(message, &operation); !p.ok()) {
      return absl::DataLossError(absl::StrCat("a stored operation is refused: ", p.message));
    }
    return each(std::move(operation));
  });
}

void StoreCodec::EncodeObject(const config::Object& object, std::string* append) const {
  v1::Object message;
  rpc::EncodeObject(object, WithState::kNo, &message);
  AppendElement(kObject, message, append);
}

absl::Status StoreCodec::DecodeObjects(absl::string_view bytes,
                                       absl::FunctionRef<absl::Status(config::Object&&)> each) const {
  v1::Operation message;
  message.set_verb(v1::VERB_ADD);
  return ForEachElement(kObject, bytes, [&](absl::string_view one) -> absl::Status {
    v1::Object* object = message.mutable_object();
    if (!object->ParseFromArray(one.data(), static_cast<int>(one.size()))) {
      return absl::DataLossError("a stored object cannot be parsed");
    }
    config::Operation operation;
    if (auto p = DecodeOperation(message, &operation); !p.ok()) {
      return absl::DataLossError(absl::StrCat("a stored object is refused: ", p.message));
    }
    auto& decoded = std::get<config::Object>(operation.target);
    decoded.meta.uid = object->meta().uid();
    decoded.meta.generation_created = object->meta().generation_created();
    decoded.meta.generation_changed = object->meta().generation_changed();
    return each(std::move(decoded));
  });
}

}  // namespace sluice::rpc
