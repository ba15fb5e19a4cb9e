#include "client/output/json.h"

#include "absl/strings/str_cat.h"

namespace sluice::client {

void Json::NewLine() {
  out_->push_back('\n');
  out_->append(4 * levels_.size(), ' ');
}

void Json::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  // In an array; members of an object come after their key.
  if (!level.empty) {
    out_->push_back(',');
  } else if (pretty_) {
    out_->push_back(' ');
  }
  level.empty = false;
}

void Json::BeginObject() {
  BeforeValue();
  out_->push_back('{');
  levels_.push_back({true, true});
}

void Json::EndObject() {
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (pretty_ && !empty) NewLine();
  if (pretty_ && empty) out_->push_back(' ');
  out_->push_back('}');
}

void Json::BeginArray() {
  BeforeValue();
  out_->push_back('[');
  levels_.push_back({false, true});
}

void Json::EndArray() {
  levels_.pop_back();
  if (pretty_) out_->push_back(' ');
  out_->push_back(']');
}

void Json::Key(absl::string_view key) {
  Level& level = levels_.back();
  if (!level.empty) out_->push_back(',');
  level.empty = false;
  if (pretty_) NewLine();
  absl::StrAppend(out_, "\"", key, pretty_ ? "\": " : "\":");
  after_key_ = true;
}

void Json::String(absl::string_view value) {
  static constexpr char kHex[] = "0123456789abcdef";
  BeforeValue();
  out_->push_back('"');
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out_->append("\\\"");
        break;
      case '\\':
        out_->append("\\\\");
        break;
      case '\n':
        out_->append("\\n");
        break;
      case '\t':
        out_->append("\\t");
        break;
      case '\r':
        out_->append("\\r");
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out_->append("\\u00");
          out_->push_back(kHex[byte >> 4]);
          out_->push_back(kHex[byte & 15]);
        } else {
          out_->push_back(c);
        }
    }
  }
  out_->push_back('"');
}

void Json::Number(uint64_t value) {
  BeforeValue();
  absl::StrAppend(out_, value);
}

void Json::Bool(bool value) {
  BeforeValue();
  out_->append(value ? "true" : "false");
}

void Json::Null() {
  BeforeValue();
  out_->append("null");
}

}  // namespace sluice::client
