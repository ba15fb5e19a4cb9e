// Configured neighbours: the verbs.
#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"

namespace sluice::config {

void Batch::ApplyNeighbor(const Operation& operation, const Object& object, const config::Neighbor& neighbor) {
  const Verb verb = operation.verb;
  if (verb == Verb::kAppend || verb == Verb::kPrepend) {
    Fail("VERB_NOT_ALLOWED", "verb", "a neighbour takes ADD, REPLACE, CHANGE and DELETE");
    return;
  }
  if (neighbor.link.empty()) {
    Fail("FIELD_MISSING", "object.neighbor.link", "a neighbour needs a link");
    return;
  }
  if (neighbor.address.empty()) {
    Fail("FIELD_MISSING", "object.neighbor.address", "a neighbour needs an address");
    return;
  }
  const std::string what = absl::StrCat("neighbour ", neighbor.address.ToString(), " on link ", neighbor.link);
  NeighborId id{0, neighbor.address};
  if (verb == Verb::kDelete || verb == Verb::kChange) {
    id.link = next_.FindLink(neighbor.link);
    if (id.link == 0 && !pending_links_.contains(neighbor.link)) {
      if (operation.missing_ok) return;
      Fail("UNKNOWN_LINK", "object.neighbor.link", absl::StrCat("there is no link \"", neighbor.link, "\""));
      return;
    }
  }
  if (id.link == 0) id.link = LinkRef(neighbor.link);
  if (id.link == 0) {
    Fail("LIMIT_REACHED", "object.neighbor.link", "no link index is free");
    return;
  }
  const NeighborRecord* existing = next_.neighbors.Find(id);
  if (verb == Verb::kDelete) {
    if (existing == nullptr || !Matcher::OfObject(next_, object, operation.fields).Neighbor(next_, id, *existing)) {
      NotFound(operation, "object.neighbor", what);
      return;
    }
    if (Expected(operation, existing->meta, what)) {
      changed_ = true;
      EraseNeighbor(id);
    }
    return;
  }
  const bool v4 = neighbor.address.is_v4();
  if (neighbor.address.IsZero() || neighbor.address.IsMulticast() ||
      (v4 && neighbor.address.v4().IsLimitedBroadcast()) || (!v4 && neighbor.address.v6().IsLoopback())) {
    Fail("ADDRESS_NOT_UNICAST", "object.neighbor.address", absl::StrCat(what, " is not a unicast address"));
    return;
  }
  if (verb == Verb::kAdd && existing != nullptr) {
    Fail("ALREADY_EXISTS", "object.neighbor.address", absl::StrCat(what, " exists already"));
    return;
  }
  if (existing == nullptr && (verb == Verb::kChange || operation.expected_changed)) {
    NotFound(operation, "object.neighbor", what);
    return;
  }
  if (existing != nullptr && !Expected(operation, existing->meta, what)) return;
  Fields mask;
  if (verb == Verb::kChange && !CheckMask(operation, "neighbor", {"lladdr", "nud"}, &mask)) return;
  const bool whole = mask.empty();
  NeighborRecord record = existing != nullptr ? *existing : NeighborRecord();
  bool set_mac = whole, set_nud = whole;
  for (const std::string& field : mask) (field == "lladdr" ? set_mac : set_nud) = true;
  if (set_mac) {
    record.has_mac = neighbor.mac.has_value();
    record.mac = neighbor.mac.value_or(MacAddress{});
  }
  if (set_nud) record.nud = neighbor.nud == NudState::kNone ? NudState::kPermanent : neighbor.nud;
  if (whole) record.router = neighbor.router;
  if (record.nud != NudState::kPermanent && record.nud != NudState::kNoArp) {
    Fail("NUD_NOT_SETTABLE", "object.neighbor.nud",
         absl::StrCat("the state of ", what, " can be set to permanent or noarp only; the others are learned"));
    return;
  }
  if (!record.has_mac && record.nud != NudState::kNoArp) {
    Fail("FIELD_MISSING", "object.neighbor.lladdr", absl::StrCat(what, " needs a link-layer address"));
    return;
  }
  if (record.has_mac && (record.mac.IsMulticast() || record.mac.IsZero())) {
    Fail("MAC_NOT_UNICAST", "object.neighbor.lladdr",
         absl::StrCat("lladdr ", record.mac.ToString(), " of ", what, " is not a unicast address"));
    return;
  }
  if (existing == nullptr && next_.neighbors.size() >= options_.limits.neighbors) {
    Fail("LIMIT_REACHED", "object.neighbor", absl::StrCat("there are ", next_.neighbors.size(), " neighbours already"));
    return;
  }
  uint32_t attributes = record.meta.attributes;
  if (whole && !CheckAttributes(object, &attributes)) return;
  const bool same = existing != nullptr && existing->mac == record.mac && existing->has_mac == record.has_mac &&
                    existing->nud == record.nud && existing->router == record.router &&
                    existing->meta.attributes == attributes;
  if (!same) {
    RefAttributes(attributes, 1);
    if (existing != nullptr) {
      RefAttributes(existing->meta.attributes, -1);
      record.meta.attributes = attributes;
      Changed(&record.meta);
    } else {
      record.meta = NewMeta(attributes);
    }
    next_.neighbors.Assign(id, record);
  }
  touched_neighbors_.emplace_back(id, op());
  if (options_.describe_stored) stored_.push_back({op(), Described::kNeighbor, id.link, id.address, 0, {}});
}

void Batch::EraseNeighbor(const NeighborId& id) {
  RefAttributes(next_.neighbors.Find(id)->meta.attributes, -1);
  next_.neighbors.Erase(id);
  touched_neighbors_.emplace_back(id, op());
}

}  // namespace sluice::config
