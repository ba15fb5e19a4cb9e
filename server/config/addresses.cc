// Addresses: the verbs. The routes that follow from them are made in derive.cc.
#include "absl/strings/str_cat.h"
#include "server/config/batch.h"
#include "server/config/problem.h"

namespace sluice::config {
namespace {

bool Names(const std::vector<std::string>& mask, absl::string_view field) {
  for (const std::string& f : mask) {
    if (f == field) return true;
  }
  return false;
}

// The scope that an address has by itself.
uint8_t NaturalScope(const IpAddress& address) {
  if (address.is_v4()) return address.v4().IsLoopback() ? kScopeHost : kScopeUniverse;
  const Ipv6Address a = address.v6();
  return a.IsLoopback() ? kScopeHost : a.IsLinkLocal() ? kScopeLink : kScopeUniverse;
}

bool CanBeOwn(const IpAddress& address) {
  if (address.IsZero() || address.IsMulticast()) return false;
  if (address.is_v4()) return !address.v4().IsLimitedBroadcast();
  return !address.v6().IsLoopback();
}

std::string NameOf(const config::Address& address) {
  return absl::StrCat("address ", address.address.ToString(), "/", address.prefix_length, " of link ", address.link);
}

}  // namespace

const AddressRecord* Batch::FindAddress(AddressKey* key) const {
  if (key->address.is_v4()) return next_.addresses.Find(*key);
  const auto it = next_.addresses.LowerBound({key->link, key->address, 0});
  if (!it.Valid() || it.key().link != key->link || it.key().address != key->address) return nullptr;
  key->length = it.key().length;
  return &it.value();
}

void Batch::ApplyAddress(const Operation& operation, const Object& object, const config::Address& address) {
  const Verb verb = operation.verb;
  if (verb == Verb::kAppend || verb == Verb::kPrepend) {
    Fail("VERB_NOT_ALLOWED", "verb", "an address takes ADD, REPLACE, CHANGE and DELETE");
    return;
  }
  if (address.link.empty()) {
    Fail("FIELD_MISSING", "object.address.link", "an address needs a link");
    return;
  }
  if (address.address.empty()) {
    Fail("FIELD_MISSING", "object.address.address", "an address needs an address");
    return;
  }
  if (address.prefix_length > MaxPrefixLength(address.address.family)) {
    Fail("INVALID_PREFIX", "object.address.address", absl::StrCat(NameOf(address), " is longer than its family"));
    return;
  }
  const std::string what = NameOf(address);
  AddressKey key{0, address.address, address.prefix_length};
  if (verb == Verb::kDelete || verb == Verb::kChange) {
    key.link = next_.FindLink(address.link);
    if (key.link == 0 && !pending_links_.contains(address.link)) {
      if (operation.missing_ok) return;
      Fail("UNKNOWN_LINK", "object.address.link", absl::StrCat("there is no link \"", address.link, "\""));
      return;
    }
  }
  if (key.link == 0) key.link = LinkRef(address.link);
  if (key.link == 0) {
    Fail("LIMIT_REACHED", "object.address.link", "no link index is free");
    return;
  }
  const AddressKey wanted = key;
  const AddressRecord* existing = FindAddress(&key);
  if (verb == Verb::kDelete) {
    if (existing == nullptr || key.length != wanted.length ||
        !Matcher::OfObject(next_, object, operation.fields).Address(next_, key, *existing)) {
      NotFound(operation, "object.address", what);
      return;
    }
    if (existing->derived) {
      Fail("DERIVED", "object.address", absl::StrCat(what, " follows from the MAC address and goes with the link"));
      return;
    }
    if (Expected(operation, existing->meta, what)) {
      changed_ = true;
      EraseAddress(key, op());
    }
    return;
  }
  if (!CanBeOwn(address.address)) {
    Fail("ADDRESS_NOT_UNICAST", "object.address.address", absl::StrCat(what, " is not a unicast address"));
    return;
  }
  // A derived address that is asked for becomes a configured one.
  const bool mine = existing != nullptr && !existing->derived;
  if (verb == Verb::kAdd && mine) {
    Fail("ALREADY_EXISTS", "object.address.address", absl::StrCat(what, " exists already"));
    return;
  }
  if (!mine && (verb == Verb::kChange || operation.expected_changed)) {
    NotFound(operation, "object.address", what);
    return;
  }
  if (mine && !Expected(operation, existing->meta, what)) return;
  Fields mask;
  if (verb == Verb::kChange && !CheckMask(operation, "address", {"scope", "metric", "noprefixroute"}, &mask)) return;
  const bool whole = mask.empty();
  const uint8_t natural = NaturalScope(address.address);
  if (address.scope && address.address.is_v6() && *address.scope != natural) {
    Fail("SCOPE_NOT_ALLOWED", "object.address.scope", absl::StrCat("the scope of ", what, " is that of its address"));
    return;
  }
  if (address.label.size() > 15) {
    Fail("TEXT_TOO_LONG", "object.address.label", absl::StrCat("the label of ", what, " is longer than 15 bytes"));
    return;
  }
  if (!mine && next_.addresses.size() >= options_.limits.addresses) {
    Fail("LIMIT_REACHED", "object.address", absl::StrCat("there are ", next_.addresses.size(), " addresses already"));
    return;
  }

  AddressRecord record = mine ? *existing : AddressRecord();
  uint32_t attributes = record.meta.attributes;
  if (whole && !CheckAttributes(object, &attributes)) return;
  if (whole || Names(mask, "scope")) record.scope = address.scope.value_or(natural);
  if (whole || Names(mask, "metric")) {
    record.has_metric = address.metric.has_value();
    record.metric = address.metric.value_or(0);
  }
  if (whole || Names(mask, "noprefixroute")) record.no_prefix_route = address.no_prefix_route;
  if (whole) record.label = ShortName(address.label);

  const bool same = mine && key == wanted && record.scope == existing->scope && record.metric == existing->metric &&
                    record.has_metric == existing->has_metric && record.label == existing->label &&
                    record.no_prefix_route == existing->no_prefix_route && attributes == existing->meta.attributes;
  if (!same) {
    RefAttributes(record.meta.attributes, mine ? -1 : 0);
    RefAttributes(attributes, 1);
    if (mine) {
      record.meta.attributes = attributes;
      Changed(&record.meta);
    } else {
      record.meta = NewMeta(attributes);
    }
    if (existing != nullptr && key != wanted) next_.addresses.Erase(key);  // IPv6: another length
    next_.addresses.Assign(wanted, record);
  }
  touched_addresses_.emplace_back(wanted, op());
  derive_links_[wanted.link] = op();
  if (options_.describe_stored) {
    stored_.push_back({op(), Described::kAddress, wanted.link, wanted.address, wanted.length, {}});
  }
}

void Batch::EraseAddress(const AddressKey& key, uint32_t op) {
  RefAttributes(next_.addresses.Find(key)->meta.attributes, -1);
  next_.addresses.Erase(key);
  derive_links_[key.link] = op;
  gone_ops_[key.address] = op;
}

}  // namespace sluice::config
