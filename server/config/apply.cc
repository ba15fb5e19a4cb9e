#include "server/config/apply.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/config/batch.h"
#include "server/config/problem.h"

namespace sluice::config {

Candidate::Candidate(const Config& base, CandidateOptions options)
    : batch_(std::make_unique<Batch>(base, std::move(options))) {}
Candidate::~Candidate() = default;
Candidate::Candidate(Candidate&&) noexcept = default;
Candidate& Candidate::operator=(Candidate&&) noexcept = default;
void Candidate::Apply(const Operation& operation) { batch_->Apply(operation); }
void Candidate::SetDevice(LinkIndex link, const DeviceFacts& facts) { batch_->SetDevice(link, facts); }
size_t Candidate::operations() const { return batch_->operations(); }
size_t Candidate::problems() const { return batch_->problems(); }
Candidate::Outcome Candidate::Finish() { return batch_->Finish(); }

Batch::Batch(const Config& base, CandidateOptions options)
    : base_(base), next_(base), options_(std::move(options)), generation_(base.generation + 1) {}

void Batch::Apply(const Operation& operation) {
  ids_.push_back(operation.id);
  if (operation.verb < Verb::kAdd || operation.verb > Verb::kFlush) {
    Fail("UNKNOWN_ENUM_VALUE", "verb", absl::StrCat(static_cast<int>(operation.verb), " is not a verb"));
    return;
  }
  if (operation.missing_ok && operation.verb != Verb::kDelete) {
    Fail("MISSING_OK_NOT_ALLOWED", "missing_ok", "missing_ok goes with DELETE only");
    return;
  }
  if (const Selector* selector = std::get_if<Selector>(&operation.target)) {
    ApplySelector(operation, *selector);
    return;
  }
  const Object& object = std::get<Object>(operation.target);
  if (operation.verb == Verb::kFlush) {
    Fail("TARGET_NOT_ALLOWED", "object", "FLUSH takes a selector, not an object");
  } else if (const Link* link = std::get_if<Link>(&object.value)) {
    ApplyLink(operation, object, *link);
  } else if (const Address* address = std::get_if<Address>(&object.value)) {
    ApplyAddress(operation, object, *address);
  } else if (const Neighbor* neighbor = std::get_if<Neighbor>(&object.value)) {
    ApplyNeighbor(operation, object, *neighbor);
  } else if (const Route* route = std::get_if<Route>(&object.value)) {
    ApplyRoute(operation, object, *route);
  } else {
    Fail("KIND_MISSING", "object", "the object has no kind: nothing is set in it");
  }
}

bool Batch::FailAt(uint32_t op, Problem problem) {
  if (HasProblem(op)) return false;  // one for each operation: the first found
  ++problems_;
  if (problems_ <= Candidate::kMaxProblems) Result(op).problem = std::move(problem);
  return false;
}

bool Batch::Fail(absl::string_view reason, absl::string_view field, std::string message) {
  return FailAt(op(), Refuse(reason, std::string(field), std::move(message)));
}

bool Batch::HasProblem(uint32_t op) const {
  const auto it = results_.find(op);
  return it != results_.end() && !it->second.problem.ok();
}

OperationResult& Batch::Result(uint32_t op) {
  OperationResult& result = results_[op];
  result.index = op;
  result.id = op < ids_.size() ? ids_[op] : 0;
  return result;
}

void Batch::Cascade(uint32_t op, Object object) {
  if (++cascaded_ <= Candidate::kMaxCascaded) Result(op).cascaded.push_back(std::move(object));
}

bool Batch::Expected(const Operation& operation, const RecordMeta& meta, const std::string& what) {
  if (!operation.expected_changed || *operation.expected_changed == meta.changed) return true;
  return Fail("OBJECT_CHANGED", "expected_changed",
              absl::StrCat(what, " was changed by generation ", meta.changed, ", not ", *operation.expected_changed));
}

bool Batch::NotFound(const Operation& operation, absl::string_view field, const std::string& what) {
  if (operation.expected_changed) {
    return Fail("OBJECT_CHANGED", "expected_changed",
                absl::StrCat("there is no ", what, ", though generation ", *operation.expected_changed,
                             " is expected to have changed it"));
  }
  if (operation.missing_ok) return false;
  return Fail("NOT_FOUND", field, absl::StrCat("there is no ", what));
}

bool Batch::CheckMask(const Operation& operation, absl::string_view kind, const std::vector<absl::string_view>& allowed,
                      Fields* mask) {
  for (absl::string_view path : operation.fields) {
    if (absl::StartsWith(path, kind) && path.size() > kind.size() && path[kind.size()] == '.') {
      path.remove_prefix(kind.size() + 1);
    }
    bool found = false;
    for (absl::string_view name : allowed) found |= name == path;
    if (!found) {
      return Fail("UPDATE_MASK", "update_mask",
                  absl::StrCat("\"", path, "\" is not a field of a ", kind, " that can be changed"));
    }
    mask->emplace_back(path);
  }
  return true;
}

bool Batch::CheckAttributes(const Object& object, uint32_t* attributes) {
  *attributes = 0;
  if (object.owner.empty() && object.labels.empty()) return true;
  if (object.owner.size() > 256) return Fail("TEXT_TOO_LONG", "object.owner", "an owner has at most 256 bytes");
  if (object.labels.size() > options_.limits.labels_per_object) {
    return Fail("LIMIT_REACHED", "object.labels",
                absl::StrCat("an object has at most ", options_.limits.labels_per_object, " labels"));
  }
  for (const auto& [key, value] : object.labels) {
    if (key.empty() || key.size() > 256 || value.size() > 1024) {
      return Fail("TEXT_TOO_LONG", "object.labels", "a label has a key of 1 to 256 and a value of up to 1024 bytes");
    }
  }
  *attributes = InternAttributes({object.owner, object.labels});
  return true;
}

RecordMeta Batch::NewMeta(uint32_t attributes) {
  RecordMeta meta;
  meta.uid = next_.next_uid++;
  meta.created = generation_;
  meta.attributes = attributes;
  Changed(&meta);
  return meta;
}

uint32_t Batch::InternAttributes(const Attributes& attributes) {
  if (const uint32_t* id = next_.attributes_of.Find(attributes)) return *id;
  uint32_t id = next_.attributes_cursor;
  while (id == 0 || next_.attributes.Contains(id)) ++id;
  next_.attributes_cursor = id + 1;
  next_.attributes.Assign(id, {attributes, 0});
  next_.attributes_of.Assign(attributes, id);
  RefAttributes(id, 0);
  return id;
}

void Batch::RefAttributes(uint32_t id, int n) {
  if (id != 0) attribute_refs_[id] += n;
}

NexthopIndex Batch::InternNexthop(const NexthopSpec& spec) {
  if (last_nexthop_ != 0 && spec == last_spec_) return last_nexthop_;
  NexthopIndex index = 0;
  if (const NexthopIndex* found = next_.nexthop_of.Find(spec)) {
    index = *found;
  } else {
    if (next_.nexthops.size() >= options_.limits.nexthops) {
      Fail("LIMIT_REACHED", "object.route.nexthops",
           absl::StrCat("there are ", next_.nexthops.size(), " distinct nexthops already"));
      return 0;
    }
    // Upwards, so that a number is not taken again at once; and round, so that the vector of slots stays short.
    index = next_.nexthop_cursor;
    const size_t room = 4096 + 2 * next_.nexthops.size();
    while (index >= kFirstFreeNexthop + room || next_.nexthops.Contains(index)) {
      index = index >= kFirstFreeNexthop + room ? kFirstFreeNexthop : index + 1;
    }
    next_.nexthop_cursor = index + 1;
    next_.nexthops.Assign(index, {spec, 0, 0});
    next_.nexthop_of.Assign(spec, index);
    touched_nexthops_.push_back(index);
    RefNexthop(index, false, 0);  // goes again at the end if nobody takes it
  }
  last_spec_ = spec;
  last_nexthop_ = index;
  return index;
}

void Batch::RefNexthop(NexthopIndex nexthop, bool derived, int n) {
  if (nexthop < kFirstFreeNexthop) return;
  if (nexthop != last_ref_) {
    const auto [it, added] = nexthop_ref_of_.try_emplace(nexthop, static_cast<uint32_t>(nexthop_refs_.size()));
    if (added) nexthop_refs_.push_back({nexthop});
    last_ref_ = nexthop;
    last_ref_at_ = it->second;
  }
  (derived ? nexthop_refs_[last_ref_at_].derived : nexthop_refs_[last_ref_at_].configured) += n;
}

void Batch::FlushRefs() {
  for (const RefDelta& delta : nexthop_refs_) {
    NexthopRecord* record = next_.nexthops.FindMutable(delta.key);
    if (record == nullptr) continue;
    record->configured = static_cast<uint32_t>(record->configured + delta.configured);
    record->derived = static_cast<uint32_t>(record->derived + delta.derived);
    if (record->configured != 0 || record->derived != 0) continue;
    touched_nexthops_.push_back(delta.key);
    if (const NexthopIndex* index = next_.nexthop_of.Find(record->spec); index != nullptr && *index == delta.key) {
      next_.nexthop_of.Erase(record->spec);
    }
    next_.nexthops.Erase(delta.key);
  }
  nexthop_refs_.clear();
  nexthop_ref_of_.clear();
  last_ref_ = 0;
  last_nexthop_ = 0;
  for (const auto& [id, delta] : attribute_refs_) {
    AttributesRecord* record = next_.attributes.FindMutable(id);
    if (record == nullptr) continue;
    record->users = static_cast<uint32_t>(record->users + delta);
    if (record->users != 0) continue;
    next_.attributes_of.Erase(record->attributes);
    next_.attributes.Erase(id);
  }
  attribute_refs_.clear();
}

void Batch::SetDevice(LinkIndex link, const DeviceFacts& facts) {
  LinkRecord* record = next_.links.FindMutable(link);
  if (record == nullptr) return;
  record->device = facts;
  device_changed_ = true;
  const uint32_t no_op = static_cast<uint32_t>(ids_.size());
  touched_links_.try_emplace(link, no_op);
  derive_links_.try_emplace(link, no_op);
}

}  // namespace sluice::config
