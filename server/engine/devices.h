// The devices below links: opened before the batch that names them, looked up by it, closed when no link has them.
//
// Why apart from config: opening a device takes up to seconds and may fail; applying a batch may not wait. So a device
// is opened on the port thread under the text by which a link names it (its devargs), and config only looks it up: its
// facts, or why it could not be opened.
//
//   devices.Open({.name = "up0", .devargs = "net_null0"});       // port thread
//   devices.Describe("up0", "net_null0", &facts);                // writer, candidates
//   devices.Get(link, record)                                    // compiler: port id, carrier
//   devices.Settle();                                            // port thread: closes what no link has
//
// Threads: Open, Settle, Configure, CloseAll from the port thread (one thread at a time); everything else from any.
// Cost: a map under a mutex.
#ifndef SLUICE_SERVER_ENGINE_DEVICES_H_
#define SLUICE_SERVER_ENGINE_DEVICES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "dataplane/port/device.h"
#include "dataplane/port/queue_planner.h"
#include "dataplane/snapshot/publisher.h"
#include "dataplane/worker/queue_plan.h"
#include "server/config/apply.h"
#include "server/config/compile.h"
#include "server/engine/runtime.h"

namespace sluice::engine {

class Devices final : public config::DeviceDirectory, public config::LinkRuntimes {
 public:
  // Runs work on the port thread, later.
  using Poster = std::function<void(absl::AnyInvocable<void()>)>;
  Devices(Publisher& publisher, PlanBoard& board, rte_mempool* worker_pool, Poster post);
  ~Devices() override;  // closes all; workers have stopped

  // Opens the device and gives its queues to workers, if that is not done yet. The caller has a claim on it until
  // Release.
  void Open(const PortRequest& request);
  void Release(absl::Span<const PortRequest> requests);
  // Closes what no link has and nobody claims.
  void Settle();
  // Brings a device in line with what its link is configured to: MTU and MAC.
  void Configure(const config::LinkRecord& record);
  void CloseAll();

  // A published link has the device; or has it no longer.
  void Adopt(const config::LinkRecord& record);
  void Forget(const config::LinkRecord& record);

  config::Problem Describe(const std::string& name, const std::string& devargs, config::DeviceFacts* facts) override;
  config::LinkRuntime Get(LinkIndex link, const config::LinkRecord& record) override;

  std::vector<std::string> PollLinks();
  void FillLinkState(config::Link& link) const;
  std::vector<PortInfo> infos() const;
  std::vector<PortCounters> counters() const;
  std::vector<QueueInfo> rx_queues(uint16_t worker) const;
  bool all_open() const;

 private:
  struct Entry {
    std::string name;            // of the link
    std::shared_ptr<Port> port;  // null: it could not be opened
    std::string reason;          // why, by name and in words
    std::string message;
    std::string trouble;  // open, but not as configured
    config::DeviceFacts facts;
    bool carrier = false;  // as PollLinks last saw it
    bool adopted = false;  // by a published link
    bool up = false;       // that is administratively up
    int claims = 0;
  };
  // Waits until no worker can be using what was taken from the plans before. False: one does not let go.
  bool WaitForGrace();
  // Publishes the queues as the planner has them.
  void SwapPlans() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Publisher& publisher_;
  PlanBoard& board_;
  rte_mempool* const worker_pool_;
  const Poster post_;
  mutable absl::Mutex mutex_;
  QueuePlanner planner_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by devargs
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_DEVICES_H_
