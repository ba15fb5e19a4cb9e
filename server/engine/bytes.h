// Little-endian numbers and texts, one after the other: the heads of the journal's records. Reading is bounds-checked
// and fails for good at the first thing that is not there.
//
// Threads: values.
#ifndef SLUICE_SERVER_ENGINE_BYTES_H_
#define SLUICE_SERVER_ENGINE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace sluice::engine {

class ByteWriter {
 public:
  explicit ByteWriter(std::string* out) : out_(out) {}
  template <class T>
  void Number(T value) {
    static_assert(std::is_integral_v<T>);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_->append(raw, sizeof value);
  }
  void Text(absl::string_view text) {
    Number(static_cast<uint32_t>(text.size()));
    out_->append(text.data(), text.size());
  }

 private:
  std::string* out_;
};

class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T Number() {
    static_assert(std::is_integral_v<T>);
    T value{};
    if (bytes_.size() < sizeof value) {
      ok_ = false;
      bytes_ = {};
      return T{};
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  absl::string_view Text() {
    const auto size = Number<uint32_t>();
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const absl::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  absl::string_view rest() const { return bytes_; }
  bool ok() const { return ok_; }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_BYTES_H_
