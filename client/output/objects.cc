#include "client/output/objects.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

constexpr size_t kDrainAt = 64 << 10;

}  // namespace

std::string ShownPrefix(absl::string_view prefix) {
  if (prefix == "0.0.0.0/0" || prefix == "::/0") return "default";
  const bool v6 = FamilyOfText(prefix) == Family::kIpv6;
  return std::string(absl::StripSuffix(prefix, v6 ? "/128" : "/32"));
}

ObjectPrinter::ObjectPrinter(const Style& style, const Query& query, const Sink& sink)
    : style_(style), query_(query), sink_(sink), json_(&text_, style.pretty) {
  if (style_.json) json_.BeginArray();
}

void ObjectPrinter::Drain(size_t limit) {
  if (text_.size() < limit || text_.empty()) return;
  sink_(text_);
  text_.clear();
}

void ObjectPrinter::Print(const v1::Object& object) {
  if (!Shows(query_, object)) return;
  switch (object.kind_case()) {
    case v1::Object::kLink:
      if (query_.noun == Noun::kAddress) {
        links_.push_back(object.link());
        return;
      }
      ++shown_;
      if (style_.json) {
        PrintLink(style_, object.link(), false, &json_);
        json_.EndObject();
      } else {
        PrintLink(style_, object.link(), false, &text_);
      }
      break;
    case v1::Object::kAddress:
      addresses_[object.address().link()].push_back(object.address());
      return;
    case v1::Object::kNeighbor:
      ++shown_;
      if (style_.json) {
        PrintNeighbor(style_, query_, object.neighbor(), &json_);
      } else {
        PrintNeighbor(style_, query_, object.neighbor(), &text_);
      }
      break;
    case v1::Object::kRoute:
      ++shown_;
      if (style_.json) {
        PrintRoute(style_, query_, object, &json_);
      } else {
        PrintRoute(style_, query_, object, &text_);
      }
      break;
    case v1::Object::KIND_NOT_SET:
      break;
  }
  Drain(kDrainAt);
}

void ObjectPrinter::Finish() {
  for (const v1::Link& link : links_) {
    const auto found = addresses_.find(link.name());
    const bool empty = found == addresses_.end();
    if (empty && query_.cascade_empty) continue;
    ++shown_;
    if (style_.json) {
      PrintLink(style_, link, true, &json_);
      json_.BeginArray("addr_info");
      if (!empty) {
        for (const v1::Address& address : found->second) PrintAddress(style_, address, &json_);
      }
      json_.EndArray();
      json_.EndObject();
    } else {
      if (!style_.oneline) PrintLink(style_, link, true, &text_);
      if (empty) continue;
      for (const v1::Address& address : found->second) PrintAddress(style_, link, address, &text_);
    }
    Drain(kDrainAt);
  }
  if (style_.json) {
    json_.EndArray();
    text_.push_back('\n');
  }
  Drain(0);
}

}  // namespace sluice::client
