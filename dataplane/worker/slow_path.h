// The slow-path thread: neighbours, ICMP, and packets for ourselves.
//
// Why a thread of its own: a worker may neither wait nor remember. What needs memory, timers or judgement crosses to
// this one thread as a copy (local/punt.h) and comes back as a finished frame. Everything it does is bounded, a round
// by the number of records and timers it handles, its memory by NeighborOptions and the ICMP limiter: a flood costs
// packets, not the router.
//
//   SlowPath slow_path(publisher, counters.lane(workers), adjacencies, rings);     // control
//   slow_path.Start();
//   RETURN_IF_ERROR(slow_path.SetPermanentNeighbor({link, address}, mac));
//   for (const NeighborInfo& n : slow_path.DumpNeighbors()) ...
//   slow_path.Stop();
//   if (ring.Reserve(...)) { ...; ring.Publish(); slow_path.Wake(); }              // worker
//
// What it forwards or sends of its own is routed by the same lookup on the current snapshot as a worker's. It is a
// reader of the publisher like a worker. Tests drive it without its thread: RunOnce(now).
//
// Threads: the constructor, Start and Stop from one control thread; Wake from any; RunOnce from one thread and not
// while started; everything else from any thread. Cost: Wake is a load while the thread is awake. Idle, the thread
// sleeps at most a millisecond at a time (some 0.5 % of a core), which bounds the delay also of a worker that does not
// wake it.
#ifndef SLUICE_DATAPLANE_WORKER_SLOW_PATH_H_
#define SLUICE_DATAPLANE_WORKER_SLOW_PATH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "dataplane/base/record_ring.h"
#include "dataplane/cells/counters.h"
#include "dataplane/local/icmp_error.h"
#include "dataplane/local/punt.h"
#include "dataplane/local/rate_limit.h"
#include "dataplane/neighbor/neighbor_machine.h"
#include "dataplane/snapshot/publisher.h"
#include "dataplane/worker/slow_path_output.h"
#include "dataplane/worker/slow_path_route.h"

namespace sluice {

class SlowPath : private NeighborHost {
 public:
  struct RingPair {
    RecordRing* from_worker = nullptr;  // PuntHeader and payload
    RecordRing* to_worker = nullptr;    // InjectHeader and frame
  };
  // What one round handles at most: records of each ring, timers (and packets dropped by them).
  static constexpr size_t kRecordsPerRing = 64;
  static constexpr size_t kTimersPerRound = 512;
  static constexpr size_t kCommandsPerRound = 256;
  // Of host-unreachable errors; what fails beyond that in one round fails without one.
  static constexpr size_t kErrorsPerRound = 1024;
  static constexpr Nanos kLongestSleep = 1 * kMillisecond;

  // All outlive this; `adjacencies` also outlives `publisher`, which recycles its entries. At most 255 rings.
  SlowPath(Publisher& publisher, Counters::Lane& lane, AdjacencyTable& adjacencies, std::vector<RingPair> rings);
  ~SlowPath() override;  // stops

  void Start();
  // Packets that wait for a neighbour stay held; Start goes on with them.
  void Stop();
  // There may be something in a ring, or a command. Cheap: called by workers after each burst that punted.
  void Wake();

  // An entry that traffic does not change; `state` is kPermanent or kNoArp. This and the commands below take effect in
  // order, normally within a millisecond. INVALID_ARGUMENT: no link or address, another state, a MAC that is a
  // group's (or, kPermanent, zero). RESOURCE_EXHAUSTED: the table is full.
  absl::Status SetPermanentNeighbor(const NeighborKey& key, MacAddress mac,
                                    NeighborState state = NeighborState::kPermanent);
  // Any entry, learned or not.
  void RemoveNeighbor(const NeighborKey& key);
  // Learned entries of one link (0: all) and family (kNone: both): `ip neigh flush`; also when a link loses its
  // carrier, goes down or changes its MAC.
  void FlushNeighbors(LinkIndex link, Family family = Family::kNone);
  // The link is deleted: all its entries go, and its index may be used again.
  void RemoveLink(LinkIndex link);
  void SetIcmpLimits(const IcmpRateLimitSettings& settings);

  // A copy, after all commands that the caller issued before have been applied (while started).
  std::vector<NeighborInfo> DumpNeighbors();

  // What became of packets that a worker had counted as delivered or absorbed and that were no good: malformed ARP, ND
  // or local packets, closed ports, fragments. Beside the law of counters.h, not in it. Any thread.
  uint64_t rejected(DropReason reason) const { return rejected_[static_cast<size_t>(reason)].Get(); }
  uint64_t icmp_errors_sent() const { return icmp_sent_.Get(); }
  uint64_t icmp_errors_limited() const { return icmp_limited_.Get(); }
  const NeighborMachine::Stats& neighbor_stats() const { return machine_.stats(); }

  // One round: commands, records, timers. Returns the work done; 0 means idle.
  size_t RunOnce(Nanos now);

 private:
  struct Command {
    enum class Kind : uint8_t { kSetPermanent, kRemove, kFlush, kRemoveLink, kIcmpLimits };
    Kind kind;
    NeighborKey key;  // kFlush: link and, in address.family, family
    AdjacencyIndex index = 0;
    MacAddress mac;
    NeighborState state = NeighborState::kNone;
    IcmpRateLimitSettings limits;
  };

  // About a packet whose neighbour failed; sent once the machine is at rest.
  struct LateError {
    Family family;
    bool link_broadcast;
    size_t ring;
    LinkIndex link_in;
    std::vector<uint8_t> packet;  // as much as a quote needs
  };

  void Run();
  void Sleep();
  bool Idle();
  void ReclaimSometimes();
  void Push(Command command);
  size_t ApplyCommands();
  void Apply(const Command& command);
  void Handle(absl::Span<const char> record, size_t ring);
  void OnResolve(const PuntHeader& header, absl::Span<const uint8_t> packet, size_t ring);
  void OnLocal(const PuntHeader& header, absl::Span<const uint8_t> packet);
  void SendLateErrors();
  void SendError(Family family, const IcmpError& error, absl::Span<const uint8_t> packet, LinkIndex link_in);
  // An L3 packet that Sluice made: routed, fragmented if need be, resolved and sent, or dropped for a reason.
  void Originate(absl::Span<const uint8_t> packet, const OutputRoute& route);
  void Transmit(absl::Span<const uint8_t> packet, const OutputRoute& route);
  void Reject(DropReason reason) { rejected_[static_cast<size_t>(reason)].Add(1); }

  // NeighborHost
  Link GetLink(LinkIndex link) override;
  IpAddress SourceFor(LinkIndex link, const IpAddress& target) override;
  bool IsOwnAddress(LinkIndex link, const IpAddress& address) override;
  void SendFrame(LinkIndex link, absl::Span<const uint8_t> frame) override;
  void SendHeld(const HeldPacket& packet, MacAddress mac) override;
  void DropHeld(const HeldPacket& packet, DropReason reason) override;
  void RecycleAfterGrace(uint32_t index) override;
  uint64_t Random() override;

  Publisher& publisher_;
  AdjacencyTable& adjacencies_;
  const std::vector<RingPair> rings_;
  Publisher::Reader* const reader_;

  // Held for a round, and by DumpNeighbors: guards all below that the thread uses.
  absl::Mutex state_mutex_;
  const Snapshot* snapshot_ = nullptr;  // within a round
  Nanos now_ = 0;
  SlowPathOutput output_;
  NeighborMachine machine_;
  IcmpRateLimiter limiter_;
  uint64_t random_[2];
  uint16_t ip_id_ = 0;
  std::vector<uint8_t> reply_;  // room for the answer to a local packet
  std::vector<LateError> late_errors_;
  Nanos reclaim_at_ = 0;

  absl::Mutex command_mutex_;
  std::deque<Command> commands_ ABSL_GUARDED_BY(command_mutex_);
  uint64_t commands_pushed_ ABSL_GUARDED_BY(command_mutex_) = 0;
  uint64_t commands_applied_ ABSL_GUARDED_BY(command_mutex_) = 0;

  OwnedCounter rejected_[kDropReasons];
  OwnedCounter icmp_sent_;
  OwnedCounter icmp_limited_;

  std::shared_ptr<std::atomic<int64_t>> recycling_;  // entries that wait for their grace period
  std::atomic<uint32_t> sleeping_{0};                // the futex
  std::atomic<uint32_t> dumps_waiting_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  std::thread thread_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_SLOW_PATH_H_
