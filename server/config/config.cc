#include "server/config/config.h"

namespace sluice::config {

LinkIndex Config::FindLink(absl::string_view name) const {
  if (name.empty() || name.size() > 15) return 0;
  const LinkIndex* index = link_names.Find(ShortName(name));
  return index == nullptr ? 0 : *index;
}

std::string Config::LinkName(LinkIndex link) const {
  const LinkRecord* record = links.Find(link);
  return record == nullptr ? "?" : std::string(record->name.view());
}

const RouteRecord* Config::FindRoute(const RouteId& id) const {
  return id.prefix.family() == Family::kIpv4 ? routes4.Find(RouteKey4::Of(id)) : routes6.Find(RouteKey6::Of(id));
}

RouteCursor Config::SeekRoutes(const RouteId& id) const {
  RouteCursor cursor;
  cursor.v4_ = id.prefix.family() == Family::kIpv4;
  if (cursor.v4_) {
    cursor.it4_ = routes4.LowerBound(RouteKey4::Of(id));
  } else {
    cursor.it6_ = routes6.LowerBound(RouteKey6::Of(id));
  }
  return cursor;
}

RouteCursor Config::FirstRoute(Family family) const {
  RouteCursor cursor;
  cursor.v4_ = family == Family::kIpv4;
  if (cursor.v4_) {
    cursor.it4_ = routes4.begin();
  } else {
    cursor.it6_ = routes6.begin();
  }
  return cursor;
}

NexthopSpec Config::Spec(NexthopIndex nexthop) const {
  if (const NexthopRecord* record = nexthops.Find(nexthop)) return record->spec;
  NexthopSpec spec;
  switch (nexthop) {
    case kBlackholeNexthop:
      spec.type = RouteType::kBlackhole;
      break;
    case kUnreachableNexthop:
      spec.type = RouteType::kUnreachable;
      break;
    case kProhibitNexthop:
      spec.type = RouteType::kProhibit;
      break;
    case kThrowNexthop:
      spec.type = RouteType::kThrow;
      break;
    default:
      break;
  }
  return spec;
}

std::optional<Config::Found> Config::Lookup(const IpAddress& address) const {
  for (uint32_t table : {kLocalTable, kMainTable, kDefaultTable}) {
    auto found = LookupIn(table, address, [](const RouteId& id, const RouteRecord&) { return id.tos == 0; });
    if (found && found->record.type != RouteType::kThrow) return found;
  }
  return std::nullopt;
}

bool Config::IsLocal(const IpAddress& address) const {
  const auto found = LookupIn(kLocalTable, address, [](const RouteId& id, const RouteRecord&) { return id.tos == 0; });
  return found && found->record.type == RouteType::kLocal;
}

bool Config::InsertRoute(const RouteId& id, const RouteRecord& record) {
  const Family family = id.prefix.family();
  const bool inserted =
      family == Family::kIpv4 ? routes4.Insert(RouteKey4::Of(id), record) : routes6.Insert(RouteKey6::Of(id), record);
  if (inserted) ++lengths[LengthKey(family, id.table, id.prefix.length)];
  return inserted;
}

RouteRecord* Config::FindRouteMutable(const RouteId& id) {
  return id.prefix.family() == Family::kIpv4 ? routes4.FindMutable(RouteKey4::Of(id))
                                             : routes6.FindMutable(RouteKey6::Of(id));
}

bool Config::EraseRoute(const RouteId& id) {
  const Family family = id.prefix.family();
  const bool erased = family == Family::kIpv4 ? routes4.Erase(RouteKey4::Of(id)) : routes6.Erase(RouteKey6::Of(id));
  if (erased) {
    const uint64_t key = LengthKey(family, id.table, id.prefix.length);
    if (--*lengths.FindMutable(key) == 0) lengths.Erase(key);
  }
  return erased;
}

}  // namespace sluice::config
