// Publishes snapshots to readers, and frees what they replaced when no reader can hold it any more.
//
// Problem: a worker forwards millions of packets a second out of tables that the control side changes. A lock would
// stop the worker, a reference count would be a cache line that all workers write. So: readers load a pointer at the
// start of a burst and report, between bursts, that they hold nothing (QSBR, rte_rcu_qsbr). A publication is one store.
// What it replaced is freed once every reader has reported after it; the writer never waits for that.
//
//   Publisher publisher(MakeEmptySnapshot(arena));               // control
//   Publisher::Reader* reader = publisher.AddReader("worker-3"); // before its thread polls
//   while (running) { const Snapshot* s = reader->Enter(); process(s, burst); reader->Quiesce(); }    // worker
//   publisher.Publish(std::move(snapshot), std::move(retired));  // writer
//   publisher.AllSee(epoch)                                      // the ack VISIBLE
//
// A reader that parks goes Offline: it holds nothing and counts as seeing everything. One that hangs holds memory back;
// pending_bytes() says how much and readers() who.
//
// Threads: AddReader/RemoveReader, Publish, Reclaim from control threads (a mutex); each Reader from its own thread.
// Cost: Enter one load; Quiesce one store.
#ifndef SLUICE_DATAPLANE_SNAPSHOT_PUBLISHER_H_
#define SLUICE_DATAPLANE_SNAPSHOT_PUBLISHER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "dataplane/base/edit.h"
#include "dataplane/snapshot/snapshot.h"

struct rte_rcu_qsbr;

namespace sluice {

class Publisher {
 public:
  static constexpr uint32_t kMaxReaders = 128;

  class Reader {
   public:
    // The live snapshot; valid until the next Quiesce or Offline. The first Enter after Offline goes online.
    const Snapshot* Enter();
    // The reader holds no snapshot, nor anything out of one.
    void Quiesce();
    void Offline();

    const std::string& name() const { return name_; }
    // The epoch of the snapshot last entered.
    uint64_t seen_epoch() const { return seen_epoch_.load(std::memory_order_acquire); }
    bool online() const { return online_.load(std::memory_order_seq_cst); }

   private:
    friend class Publisher;
    Publisher* publisher_ = nullptr;
    uint32_t id_ = 0;
    std::string name_;
    std::atomic<uint64_t> seen_epoch_{0};
    std::atomic<bool> online_{false};
  };

  explicit Publisher(std::unique_ptr<Snapshot> first);
  ~Publisher();  // requires that no reader is online

  // Null when there are kMaxReaders.
  Reader* AddReader(std::string name);
  void RemoveReader(Reader* reader);  // the reader is offline

  // The writer thread's view. Others use a Reader.
  const Snapshot* current() const { return current_.load(std::memory_order_acquire); }

  // One store; cannot fail. `snapshot->epoch` is above the last one's.
  void Publish(std::unique_ptr<Snapshot> snapshot, RetiredBlocks retired);

  // Runs `f` (on the thread that calls Reclaim) once every reader has been quiescent after this call.
  void AfterGrace(absl::AnyInvocable<void()> f);

  // True when every online reader has entered a snapshot of at least `epoch`.
  bool AllSee(uint64_t epoch) const;
  // Names of the online readers that have not.
  std::vector<std::string> Lagging(uint64_t epoch) const;

  // Frees what may be freed, oldest first; never waits. Returns the number of batches freed. From one thread at a time
  // if the order of AfterGrace matters to the caller.
  size_t Reclaim();
  size_t pending_bytes() const;
  size_t pending_objects() const;

  struct ReaderState {
    std::string name;
    uint64_t seen_epoch;
    bool online;
  };
  std::vector<ReaderState> readers() const;

 private:
  struct Pending {
    uint64_t token;
    size_t bytes;
    std::unique_ptr<Snapshot> snapshot;
    RetiredBlocks retired;
    absl::AnyInvocable<void()> then;
  };

  std::atomic<const Snapshot*> current_;
  rte_rcu_qsbr* qsbr_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<Snapshot> owned_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Reader>> readers_ ABSL_GUARDED_BY(mutex_);
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_SNAPSHOT_PUBLISHER_H_
