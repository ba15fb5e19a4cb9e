#include "server/rpc/mask.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/rpc/convert.h"
#include "server/rpc/reasons.h"
#include "server/rpc/text.h"

namespace sluice::rpc {
namespace {

// What can be changed of each kind; identity and observed fields are not among them.
constexpr absl::string_view kLinkFields[] = {"up", "mtu", "mac", "new_name", "port.rx_queues", "port.tx_queues"};
constexpr absl::string_view kAddressFields[] = {"scope", "metric", "noprefixroute"};
constexpr absl::string_view kNeighborFields[] = {"lladdr", "nud"};
constexpr absl::string_view kRouteFields[] = {"type",    "nexthops", "protocol",   "scope",
                                              "prefsrc", "mtu",      "mtu_locked", "counted"};

template <size_t N>
bool Has(const absl::string_view (&names)[N], absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool Changeable(absl::string_view kind, absl::string_view field) {
  if (kind == "link") return Has(kLinkFields, field);
  if (kind == "address") return Has(kAddressFields, field);
  if (kind == "neighbor") return Has(kNeighborFields, field);
  if (kind == "route") return Has(kRouteFields, field);
  return false;
}

}  // namespace

config::Problem DecodeMask(absl::string_view kind, const google::protobuf::FieldMask& mask,
                           std::vector<std::string>* fields) {
  if (mask.paths().empty()) return Refuse("UPDATE_MASK", "update_mask", "update_mask names no field");
  if (static_cast<size_t>(mask.paths_size()) > kMaxMaskPaths) {
    return Refuse("UPDATE_MASK", "update_mask",
                  absl::StrCat("update_mask has ", mask.paths_size(), " paths, at most ", kMaxMaskPaths));
  }
  for (int i = 0; i < mask.paths_size(); ++i) {
    absl::string_view field = mask.paths(i);
    if (!absl::ConsumePrefix(&field, kind) || !absl::ConsumePrefix(&field, ".") || !Changeable(kind, field)) {
      return Refuse("UPDATE_MASK", absl::StrCat("update_mask.paths[", i, "]"),
                    absl::StrCat(Quoted(mask.paths(i)), " is not a field of a ", kind, " that can be changed"));
    }
    fields->emplace_back(field);
  }
  return {};
}

}  // namespace sluice::rpc
