// Makes the next Snapshot beside the live one: verbs by key, then Finish or Abort.
//
// Why: validation, candidate and publication are one mechanism. A builder that is dropped leaves no trace.
//
//   SnapshotBuilder builder(arena, *publisher.current());
//   RETURN_IF_ERROR(builder.SetNexthop(17, nexthop));
//   RETURN_IF_ERROR(builder.SetRoute(kTableMain, prefix, 17));
//   SnapshotBuilder::Built built = builder.Finish(epoch, generation);
//   publisher.Publish(std::move(built.snapshot), std::move(built.retired));     // cannot fail
//
// Every verb is idempotent (set is insert or replace; removing what is absent is OK). Each returns RESOURCE_EXHAUSTED
// when memory for tables ran out, and nothing else; the builder is then good only for Abort.
//
// Threads: one. Cost: path copies on the first touch of a page, in place after that.
#ifndef SLUICE_DATAPLANE_SNAPSHOT_BUILDER_H_
#define SLUICE_DATAPLANE_SNAPSHOT_BUILDER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "dataplane/base/edit.h"
#include "dataplane/snapshot/snapshot.h"

namespace sluice {

class SnapshotBuilder {
 public:
  SnapshotBuilder(Arena& arena, const Snapshot& base);
  ~SnapshotBuilder();  // aborts if not finished

  // A link entry with its index; `addresses` likewise. Removing a link removes its addresses and its port mapping.
  absl::Status SetLink(const LinkEntry& link);
  absl::Status RemoveLink(LinkIndex index);
  absl::Status SetLinkAddresses(LinkIndex index, const LinkAddresses& addresses);

  absl::Status SetNexthop(NexthopIndex index, const Nexthop& nexthop);
  absl::Status RemoveNexthop(NexthopIndex index);

  // `leaf` is a NexthopIndex (nonzero). Tables come into being with their first route and go with their last.
  absl::Status SetRoute(uint32_t table, const IpPrefix& prefix, uint32_t leaf);
  absl::Status RemoveRoute(uint32_t table, const IpPrefix& prefix);

  struct Built {
    std::unique_ptr<Snapshot> snapshot;
    RetiredBlocks retired;
  };
  // Computes the lookup plans and closes the edit.
  Built Finish(uint64_t epoch, uint64_t generation);
  void Abort();

  // The candidate as it stands (plans computed), for a dry run and for explain. Valid until the next verb.
  const Snapshot& Candidate();

  Edit& edit() { return edit_; }

 private:
  void ComputePlans();
  void UnmapPort(LinkIndex index);

  Snapshot next_;
  Edit edit_;
  // Local routes were removed: the filter may say yes too often.
  bool stale_filter4_ = false;
  bool stale_filter6_ = false;
  bool done_ = false;
};

// The snapshot from which the first builder starts: epoch 0, the fixed nexthops (kBlackholeNexthop ...) in place. Null
// when the arena has no memory for it.
std::unique_ptr<Snapshot> MakeEmptySnapshot(Arena& arena);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_SNAPSHOT_BUILDER_H_
