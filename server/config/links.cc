// Links: the verbs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"
#include "server/config/read.h"

namespace sluice::config {
namespace {

// Names that iproute2 reads as words, and what IFNAMSIZ and dev_valid_name forbid. Empty: fine.
std::string WhyNoName(absl::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > 15) return "is longer than 15 bytes";
  if (name == "." || name == "..") return "is not a name";
  if (name == "all" || name == "any" || name == "default") return "is a word of the ip command";
  for (const char c : name) {
    if (c <= ' ' || c > '~' || c == '/' || c == ':') return "has a character that no link name may have";
  }
  return "";
}

bool Names(const std::vector<std::string>& mask, absl::string_view field) {
  for (const std::string& f : mask) {
    if (f == field) return true;
  }
  return false;
}

}  // namespace

void Batch::ApplyLink(const Operation& operation, const Object& object, const config::Link& link) {
  const Verb verb = operation.verb;
  if (verb == Verb::kAppend || verb == Verb::kPrepend) {
    Fail("VERB_NOT_ALLOWED", "verb", "a link takes ADD, REPLACE, CHANGE and DELETE");
    return;
  }
  if (const std::string why = WhyNoName(link.name); !why.empty()) {
    Fail("INVALID_LINK_NAME", "object.link.name", absl::StrCat("link name \"", link.name, "\" ", why));
    return;
  }
  const std::string what = absl::StrCat("link ", link.name);
  const LinkIndex existing = next_.FindLink(link.name);
  if (verb == Verb::kDelete) {
    if (existing == 0) {
      NotFound(operation, "object.link.name", what);
      return;
    }
    const LinkRecord& record = *next_.links.Find(existing);
    if (!Matcher::OfObject(next_, object, operation.fields).Link(next_, existing, record)) {
      NotFound(operation, "object.link", absl::StrCat(what, " that agrees with every field given"));
      return;
    }
    if (Expected(operation, record.meta, what)) DeleteLink(existing, op());
    return;
  }

  Fields mask;
  uint32_t attributes = 0;
  if (verb == Verb::kChange &&
      !CheckMask(operation, "link", {"up", "mtu", "mac", "new_name", "port.rx_queues", "port.tx_queues"}, &mask)) {
    return;
  }
  if (!link.new_name.empty() && verb != Verb::kChange) {
    Fail("FIELD_NOT_ALLOWED", "object.link.new_name", "new_name has a place in CHANGE only");
    return;
  }
  if (verb == Verb::kAdd && existing != 0) {
    Fail("ALREADY_EXISTS", "object.link.name", absl::StrCat(what, " exists already"));
    return;
  }
  if (verb == Verb::kChange && existing == 0) {
    NotFound(operation, "object.link.name", what);
    return;
  }
  if (existing == 0 && operation.expected_changed) {
    NotFound(operation, "object.link.name", what);
    return;
  }
  if (existing == 0) {
    if (link.kind == LinkKind::kNone || link.devargs.empty()) {
      Fail("FIELD_MISSING", "object.link.port.devargs", absl::StrCat(what, " needs a device"));
      return;
    }
    if (next_.links.size() >= options_.limits.links) {
      Fail("LIMIT_REACHED", "object.link", absl::StrCat("there are ", next_.links.size(), " links already"));
      return;
    }
  }
  if (link.kind != LinkKind::kNone && link.kind != LinkKind::kPort) {
    Fail("NOT_SUPPORTED", "object.link", absl::StrCat(what, " is of a kind that this build does not do"));
    return;
  }

  LinkRecord record = existing == 0 ? LinkRecord() : *next_.links.Find(existing);
  if (existing != 0 && !Expected(operation, record.meta, what)) return;
  const bool whole = mask.empty();
  if (existing == 0) {
    record.name = ShortName(link.name);
    record.kind = link.kind;
    record.devargs = link.devargs;
    if (options_.devices != nullptr) {
      Problem problem = options_.devices->Describe(link.name, link.devargs, &record.device);
      if (!problem.ok()) {
        if (problem.field.empty()) problem.field = "object.link.port.devargs";
        FailAt(op(), std::move(problem));
        return;
      }
    }
  } else if (whole && link.kind != LinkKind::kNone && !link.devargs.empty() && link.devargs != record.devargs) {
    Fail("LINK_KIND_CHANGED", "object.link.port.devargs",
         absl::StrCat(what, " has the device \"", record.devargs, "\" and keeps it; delete it and add it again"));
    return;
  }
  if (whole ? link.up.has_value() : Names(mask, "up")) record.up = link.up.value_or(false);
  if (whole || Names(mask, "mtu")) record.mtu = link.mtu.value_or(0);
  if (whole || Names(mask, "mac")) {
    record.has_mac = link.mac.has_value();
    record.mac = link.mac.value_or(MacAddress{});
  }
  if (whole || Names(mask, "port.rx_queues")) record.rx_queues = link.rx_queues.value_or(0);
  if (whole || Names(mask, "port.tx_queues")) record.tx_queues = link.tx_queues.value_or(0);
  if (!CheckLink(link, record)) return;
  if (whole) {
    if (!CheckAttributes(object, &attributes)) return;
  } else {
    attributes = record.meta.attributes;
  }

  LinkIndex index = existing;
  if (existing == 0) {
    index = LinkRef(link.name);
    if (index == 0) {
      Fail("LIMIT_REACHED", "object.link", "no link index is free");
      return;
    }
    pending_links_.erase(link.name);
    record.meta = NewMeta(attributes);
    RefAttributes(attributes, 1);
    next_.links.Assign(index, record);
    next_.link_names.Assign(record.name, index);
  } else {
    const LinkRecord& old = *next_.links.Find(existing);
    const bool rename = (whole || Names(mask, "new_name")) && !link.new_name.empty() && link.new_name != link.name;
    if (rename && !RenameLink(index, &record, link.new_name)) return;
    const bool same = !rename && old.up == record.up && old.mtu == record.mtu && old.has_mac == record.has_mac &&
                      old.mac == record.mac && old.rx_queues == record.rx_queues && old.tx_queues == record.tx_queues &&
                      old.meta.attributes == attributes;
    if (!same) {
      RefAttributes(old.meta.attributes, -1);
      RefAttributes(attributes, 1);
      record.meta.attributes = attributes;
      Changed(&record.meta);
      next_.links.Assign(index, record);
    }
  }
  touched_links_[index] = op();
  derive_links_[index] = op();
  if (existing == 0 || options_.describe_stored) {
    stored_.push_back({op(), Described::kLink, index, {}, 0, {}});
  }
}

bool Batch::CheckLink(const config::Link& link, const LinkRecord& record) {
  const std::string what = absl::StrCat("link ", link.name);
  if (link.mtu && (*link.mtu < 68 || *link.mtu > record.device.max_mtu)) {
    return Fail("MTU_OUT_OF_RANGE", "object.link.mtu",
                absl::StrCat("mtu ", *link.mtu, " of ", what, " is not within 68 to ", record.device.max_mtu));
  }
  if (link.mac && (link.mac->IsMulticast() || link.mac->IsZero())) {
    return Fail("MAC_NOT_UNICAST", "object.link.mac",
                absl::StrCat("mac ", link.mac->ToString(), " of ", what, " is not a unicast address"));
  }
  if (link.mac && record.device.known && !record.device.mac_settable && *link.mac != record.device.mac) {
    return Fail("MAC_NOT_SETTABLE", "object.link.mac", absl::StrCat("the device of ", what, " keeps its own address"));
  }
  const auto queues = [&](const std::optional<uint32_t>& n, uint32_t max, absl::string_view field) {
    if (!n) return true;
    if (*n < 1 || *n > 64) {
      return Fail("VALUE_OUT_OF_RANGE", absl::StrCat("object.link.port.", field),
                  absl::StrCat(field, " ", *n, " of ", what, " is not within 1 to 64"));
    }
    if (*n <= max) return true;
    return Fail("QUEUES_OUT_OF_RANGE", absl::StrCat("object.link.port.", field),
                absl::StrCat(field, " ", *n, " of ", what, ": the device has ", max));
  };
  return queues(link.rx_queues, record.device.max_rx_queues, "rx_queues") &&
         queues(link.tx_queues, record.device.max_tx_queues, "tx_queues");
}

bool Batch::RenameLink(LinkIndex index, LinkRecord* record, const std::string& to) {
  if (const std::string why = WhyNoName(to); !why.empty()) {
    return Fail("INVALID_LINK_NAME", "object.link.new_name", absl::StrCat("link name \"", to, "\" ", why));
  }
  if (next_.FindLink(to) != 0) {
    return Fail("ALREADY_EXISTS", "object.link.new_name", absl::StrCat("link ", to, " exists already"));
  }
  if (pending_links_.contains(to)) {
    return Fail("ALREADY_EXISTS", "object.link.new_name",
                absl::StrCat("link ", to, " is named by earlier operations of this batch; rename before that"));
  }
  next_.link_names.Erase(record->name);
  record->name = ShortName(to);
  next_.link_names.Assign(record->name, index);
  last_link_name_.clear();
  return true;
}

void Batch::DeleteLink(LinkIndex index, uint32_t op) {
  const LinkRecord record = *next_.links.Find(index);
  changed_ = true;
  for (const ListedAddress& address : ListAddresses(next_, index)) {
    if (!CascadeFull()) {
      Cascade(op, DescribeListed(next_, address));
    } else {
      ++cascaded_;
    }
    EraseAddress(address.key, op);
  }
  std::vector<NeighborId> neighbors;
  for (auto it = next_.neighbors.LowerBound({index, {}}); it.Valid() && it.key().link == index; it.Next()) {
    neighbors.push_back(it.key());
  }
  for (const NeighborId& id : neighbors) {
    if (!CascadeFull()) {
      Cascade(op, DescribeNeighbor(next_, id, *next_.neighbors.Find(id)));
    } else {
      ++cascaded_;
    }
    EraseNeighbor(id);
  }
  // Routes by the link go now, so that a link of the same name, added later in the batch, starts without any. (Derived
  // ones follow at the end.)
  absl::flat_hash_set<NexthopIndex> through;
  for (auto it = next_.nexthops.begin(); it.Valid(); it.Next()) {
    if (it.value().spec.link != index) continue;
    // Only where a configured route may be: otherwise there is no need to look through the tables.
    if (it.value().configured != 0 || nexthop_ref_of_.contains(it.key())) through.insert(it.key());
  }
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    if (through.empty()) break;
    std::vector<RouteId> ids;
    for (RouteCursor route = next_.FirstRoute(family); route.Valid(); route.Next()) {
      if (!route.record().derived && through.contains(route.record().nexthop)) ids.push_back(route.id());
    }
    for (const RouteId& id : ids) {
      if (!CascadeFull()) {
        Cascade(op, DescribeRoute(next_, id, *next_.FindRoute(id)));
      } else {
        ++cascaded_;
      }
      touched_routes_.push_back({id, op, kNoCheck});
      EraseRouteRecord(id);
    }
  }
  RefAttributes(record.meta.attributes, -1);
  next_.links.Erase(index);
  next_.link_names.Erase(record.name);
  last_link_name_.clear();
  touched_links_[index] = op;
  derive_links_[index] = op;
}

// Upwards, so that a number is not taken again soon; and round, so that vectors of links stay short.
LinkIndex Batch::AllocateLink() {
  const size_t room = std::min<size_t>(kMaxLinks, 4096 + 2 * (next_.links.size() + pending_links_.size()));
  const auto taken = [&](LinkIndex index) {
    if (next_.links.Contains(index) || base_.links.Contains(index)) return true;
    return std::any_of(pending_links_.begin(), pending_links_.end(), [&](const auto& p) { return p.second == index; });
  };
  for (size_t tried = 0; tried <= room; ++tried) {
    if (next_.link_cursor >= room) next_.link_cursor = 1;
    const LinkIndex index = next_.link_cursor++;
    if (!taken(index)) return index;
  }
  return 0;
}

LinkIndex Batch::LinkRef(const std::string& name) {
  if (name == last_link_name_ && !name.empty()) return last_link_;
  LinkIndex index = next_.FindLink(name);
  if (index == 0) {
    const auto [it, added] = pending_links_.try_emplace(name, 0);
    if (added) {
      // Bounded by what could be links at all, whatever names a batch makes up.
      it->second = pending_links_.size() <= options_.limits.links ? AllocateLink() : 0;
      if (it->second == 0) {
        pending_links_.erase(it);
        return 0;
      }
    }
    index = it->second;
  }
  last_link_name_ = name;
  last_link_ = index;
  return index;
}

std::string Batch::PendingName(LinkIndex link) const {
  for (const auto& [name, index] : pending_links_) {
    if (index == link) return name;
  }
  return next_.LinkName(link);
}

}  // namespace sluice::config
