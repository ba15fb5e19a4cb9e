// The inside of a Candidate: the copy that is edited, and what has to be looked at when the batch ends. One file for
// each kind of object (links.cc, addresses.cc, neighbors.cc, routes.cc), finish.cc for the end, derive.cc for what
// follows from links and addresses.
//
// Threads: one.
#ifndef SLUICE_SERVER_CONFIG_BATCH_H_
#define SLUICE_SERVER_CONFIG_BATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "server/config/apply.h"
#include "server/config/selector.h"

namespace sluice::config {

class Batch {
 public:
  Batch(const Config& base, CandidateOptions options);

  void Apply(const Operation& operation);
  void SetDevice(LinkIndex link, const DeviceFacts& facts);
  Candidate::Outcome Finish();

  size_t operations() const { return ids_.size(); }
  size_t problems() const { return problems_; }

 private:
  using Fields = std::vector<std::string>;

  // What the routes of one kind have in common that must be checked at the end: one look for all of them.
  struct RouteCheck {
    NexthopIndex nexthop = 0;  // as routes were given it; changed when the gateway leads elsewhere at the end
    uint32_t table = 0;
    Family family = Family::kNone;
    RouteType type = RouteType::kUnicast;
    bool onlink = false;
    LinkIndex link = 0;  // as asked for; 0: to be found
    std::string link_name;
    IpAddress gateway;
    IpAddress source;
  };
  struct RouteTouch {
    RouteId id;
    uint32_t op;
    uint32_t check;  // index into checks_, or kNoCheck
  };
  static constexpr uint32_t kNoCheck = ~uint32_t{0};
  // A route that was written over a derived one: refused if that one is still there at the end.
  struct DerivedClash {
    RouteId id;
    uint32_t op;
    Verb verb;
    bool missing_ok;
  };
  // A route of a request, checked by itself.
  struct NewRoute {
    RouteId id;
    RouteRecord record;
    NexthopSpec spec;
    uint32_t check = kNoCheck;
    uint32_t attributes = 0;
  };
  using Equals = absl::InlinedVector<Config::Found, 2>;
  struct RefDelta {
    uint32_t key;
    int64_t configured = 0;
    int64_t derived = 0;
  };
  enum class Described : uint8_t { kLink, kAddress, kNeighbor, kRoute };
  struct Stored {
    uint32_t op;
    Described kind;
    LinkIndex link;
    IpAddress address;
    uint8_t length;
    RouteId route;
  };

  // --- Problems and results. Fail is for the current operation and returns false.
  bool Fail(absl::string_view reason, absl::string_view field, std::string message);
  bool FailAt(uint32_t op, Problem problem);
  bool HasProblem(uint32_t op) const;
  OperationResult& Result(uint32_t op);
  void Cascade(uint32_t op, Object object);
  bool CascadeFull() const { return cascaded_ >= Candidate::kMaxCascaded; }
  uint32_t op() const { return static_cast<uint32_t>(ids_.size() - 1); }
  // False, and a problem, when the operation expects another generation_changed.
  bool Expected(const Operation& operation, const RecordMeta& meta, const std::string& what);
  // False, and a problem, for a path that is not in `allowed`.
  bool CheckMask(const Operation& operation, absl::string_view kind, const std::vector<absl::string_view>& allowed,
                 Fields* mask);
  bool CheckAttributes(const Object& object, uint32_t* attributes);
  bool NotFound(const Operation& operation, absl::string_view field, const std::string& what);

  RecordMeta NewMeta(uint32_t attributes);
  void Changed(RecordMeta* meta) {
    meta->changed = generation_;
    changed_ = true;
  }

  // --- Interned parts.
  uint32_t InternAttributes(const Attributes& attributes);
  void RefAttributes(uint32_t id, int n);
  // 0 and a problem of the current operation when there are too many.
  NexthopIndex InternNexthop(const NexthopSpec& spec);
  void RefNexthop(NexthopIndex nexthop, bool derived, int n);
  void FlushRefs();

  // --- Links (links.cc).
  void ApplyLink(const Operation& operation, const Object& object, const Link& link);
  void DeleteLink(LinkIndex index, uint32_t op);
  bool CheckLink(const Link& link, const LinkRecord& record);
  bool RenameLink(LinkIndex index, LinkRecord* record, const std::string& to);
  // The index of a name, now or once the link is added in this batch; 0 when there are too many.
  LinkIndex LinkRef(const std::string& name);
  LinkIndex AllocateLink();
  // The name of a link that is named in this batch and not added yet.
  std::string PendingName(LinkIndex link) const;

  // --- Addresses (addresses.cc) and neighbours (neighbors.cc).
  void ApplyAddress(const Operation& operation, const Object& object, const Address& address);
  void EraseAddress(const AddressKey& key, uint32_t op);
  const AddressRecord* FindAddress(AddressKey* key) const;
  void ApplyNeighbor(const Operation& operation, const Object& object, const Neighbor& neighbor);
  void EraseNeighbor(const NeighborId& id);

  // --- Routes (routes.cc).
  void ApplyRoute(const Operation& operation, const Object& object, const Route& route);
  void DeleteRoute(const Operation& operation, const Object& object, const Route& route);
  void StoreRoute(const Operation& operation, const Route& route, NewRoute* wanted);
  void ChangeRouteFields(const Operation& operation, const Route& route);
  bool CheckIdentity(const Route& route, NewRoute* out);
  bool CheckRoute(const Route& route, NewRoute* out);
  bool CheckLegs(const Route& route, NewRoute* out);
  bool CheckScope(const Route& route, NewRoute* out);
  bool CheckNumbers(const Route& route);
  bool CheckGateway(const Route& route);
  uint32_t FindCheck(const Route& route, const NewRoute& route_as_checked);
  // The routes equal in table, prefix, TOS and metric, in order.
  Equals EqualRoutes(const RouteId& id) const;
  bool Duplicate(const Route& route, const NewRoute& wanted, const Equals& equals, size_t from);
  void PutRoute(const Operation& operation, NewRoute* route, const Config::Found* replaces, uint16_t order);
  bool SameRoute(const RouteRecord& stored, const NewRoute& route) const;
  void AddRouteRecord(const RouteId& id, const RouteRecord& record);
  void EraseRouteRecord(const RouteId& id);
  uint16_t OrderAround(Equals* equals, bool after);
  void TouchRoute(const RouteId& id, uint32_t check) { touched_routes_.push_back({id, op(), check}); }

  // --- Selectors (flush.cc).
  void ApplySelector(const Operation& operation, const Selector& selector);

  // --- The end (finish.cc, route_references.cc).
  void CheckLinks();
  void CheckIpv6Mtu();
  void CheckAddressesAndNeighbors();
  // Where a gateway leads in the state now, as Linux looks: first in the route's own table, unless that
  // is main.
  struct Resolved {
    LinkIndex link = 0;
    Problem problem;
  };
  Resolved Resolve(const RouteCheck& check) const;
  Resolved ResolveIn(const RouteCheck& check, const Config::Found& found) const;
  void CheckRoutes();
  void CheckRouteGroup(uint32_t check);
  Problem ReferenceProblem(const RouteCheck& check, LinkIndex* link) const;
  void MoveGroup(uint32_t check, LinkIndex link);
  // Routes that this batch wrote for the group and that are still there, each with its operation.
  template <class Use>
  void ForGroup(uint32_t check, Use use);
  void CascadeRoutes();
  void CascadeRoute(const RouteId& id, uint32_t op);
  void CheckClashes();
  void DescribeStored();

  // --- Derived objects (derive.cc).
  void Derive();
  void DeriveLink(LinkIndex link, uint32_t op);
  void SyncLinkLocal(LinkIndex link);

  const Config base_;
  Config next_;
  const CandidateOptions options_;
  const uint64_t generation_;
  bool changed_ = false;
  bool device_changed_ = false;

  std::vector<uint64_t> ids_;  // of the operations
  std::map<uint32_t, OperationResult> results_;
  size_t problems_ = 0;
  uint64_t cascaded_ = 0;
  std::vector<Stored> stored_;

  absl::flat_hash_map<std::string, LinkIndex> pending_links_;
  std::string last_link_name_;  // of LinkRef: most routes name the same link as the one before
  LinkIndex last_link_ = 0;
  std::map<LinkIndex, uint32_t> touched_links_;  // with the last operation
  std::map<LinkIndex, uint32_t> derive_links_;   // whose derived objects may change
  std::vector<std::pair<AddressKey, uint32_t>> touched_addresses_;
  std::vector<std::pair<NeighborId, uint32_t>> touched_neighbors_;
  std::vector<RouteTouch> touched_routes_;
  std::vector<DerivedClash> clashes_;
  std::map<IpAddress, uint32_t> gone_ops_;  // addresses whose users as preferred source may have to go

  struct CheckKey {
    std::string bytes;
    friend bool operator==(const CheckKey&, const CheckKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const CheckKey& k) {
      return H::combine(std::move(h), k.bytes);
    }
  };
  std::vector<RouteCheck> checks_;
  std::vector<uint32_t> touches_by_check_;  // made when first needed: places in touched_routes_, sorted by check
  absl::flat_hash_map<CheckKey, uint32_t> check_of_;
  CheckKey check_key_;  // scratch
  // The spec and check of the route before, since most routes are like it.
  NexthopSpec last_spec_;
  NexthopIndex last_nexthop_ = 0;

  std::vector<RefDelta> nexthop_refs_;
  absl::flat_hash_map<NexthopIndex, uint32_t> nexthop_ref_of_;
  NexthopIndex last_ref_ = 0;
  uint32_t last_ref_at_ = 0;
  std::vector<NexthopIndex> touched_nexthops_;
  std::map<uint32_t, int64_t> attribute_refs_;
};

// The derived routes of a link, as the state in `config` makes them (derive.cc).
struct DerivedRoute {
  RouteId id;
  NexthopSpec spec;
  uint8_t scope = 0;
  friend bool operator<(const DerivedRoute& a, const DerivedRoute& b) {
    return std::tie(a.id.table, a.id.prefix, a.id.metric, a.spec, a.scope) <
           std::tie(b.id.table, b.id.prefix, b.id.metric, b.spec, b.scope);
  }
};
std::vector<DerivedRoute> DerivedRoutes(const Config& config, LinkIndex link);

// The addresses of a link in the order in which `ip address` lists them (derive.cc).
struct ListedAddress {
  AddressKey key;
  AddressRecord record;
  bool secondary = false;  // IPv4: an earlier address has the same subnet
  IpAddress primary;       // then: that one; otherwise the address itself
};
std::vector<ListedAddress> ListAddresses(const Config& config, LinkIndex link);

// The derived routes that one address makes.
std::vector<DerivedRoute> DerivedRoutesOf(const LinkRecord& link, const ListedAddress& address);

// The same as DescribeAddress, for who has listed the addresses of the link: that takes a sort.
Object DescribeListed(const Config& config, const ListedAddress& address);

// fe80::/64 with the modified EUI-64 of `mac` (RFC 4291 appendix A).
Ipv6Address LinkLocalOf(const MacAddress& mac);

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_BATCH_H_
