// Writes JSON as iproute2 does: compact, or with its line breaks (-pretty).
//
// Why our own: protobuf's JSON has other keys, and big tables must not become a tree first.
//
//   Json json(&text, pretty);
//   json.BeginArray(); json.BeginObject(); json.Key("dst"); json.String("default"); json.EndObject(); json.EndArray();
//
// The caller keeps the nesting right. Threads: one per writer. Cost: appends to the text.
#ifndef SLUICE_CLIENT_OUTPUT_JSON_H_
#define SLUICE_CLIENT_OUTPUT_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::client {

class Json {
 public:
  Json(std::string* out, bool pretty) : out_(out), pretty_(pretty) {}

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(absl::string_view key);
  void String(absl::string_view value);
  void Number(uint64_t value);
  void Bool(bool value);
  void Null();

  // A key with its value.
  void Field(absl::string_view key, absl::string_view value) { Key(key), String(value); }
  void Field(absl::string_view key, uint64_t value) { Key(key), Number(value); }
  void FlagField(absl::string_view key, bool value) { Key(key), Bool(value); }
  void BeginArray(absl::string_view key) { Key(key), BeginArray(); }
  void BeginObject(absl::string_view key) { Key(key), BeginObject(); }

 private:
  struct Level {
    bool object;
    bool empty;
  };
  void BeforeValue();
  void NewLine();

  std::string* out_;
  bool pretty_;
  bool after_key_ = false;
  std::vector<Level> levels_;
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OUTPUT_JSON_H_
