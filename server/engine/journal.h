// What of the desired state outlives the process: records in a log, and how they become a Config again.
//
// Why batches and not objects: what was asked for is small, and applying it again by the same code gives the same
// state. So that it does, a record says upon which generation and uid the batch was applied, and what its devices were
// like then. When the log has grown to several times the state, a dump of the state takes the place of what made it.
//
//   auto journal = Journal::Open("/var/lib/sluice", codec);
//   Config config;
//   (*journal)->Restore(&config);
//   (*journal)->Append({record1, record2}, store::Durability::kSynced);
//
// Records (little endian; the first byte is the kind): 'B' a batch; 'S' the start of a dump, 'O' objects of it, 'E' its
// end. Operations and objects in them are the Codec's.
//
// Threads: the writer's, but for the dump, which has its own. Cost: see store/log.h.
#ifndef SLUICE_SERVER_ENGINE_JOURNAL_H_
#define SLUICE_SERVER_ENGINE_JOURNAL_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/config/apply.h"
#include "server/engine/engine.h"
#include "server/store/log.h"

namespace sluice::engine {

// A device as it was when its link was added.
struct KnownDevice {
  std::string name;
  std::string devargs;
  config::DeviceFacts facts;
};

// Passes on to another directory, and remembers what it said.
class RecordingDirectory final : public config::DeviceDirectory {
 public:
  explicit RecordingDirectory(config::DeviceDirectory& devices) : devices_(devices) {}
  config::Problem Describe(const std::string& name, const std::string& devargs, config::DeviceFacts* facts) override;
  std::vector<KnownDevice> Take() { return std::move(known_); }

 private:
  config::DeviceDirectory& devices_;
  std::vector<KnownDevice> known_;
};

class Journal {
 public:
  // A dump is started when the log is larger than this and than kGrowth times the last dump.
  static constexpr uint64_t kCompactAbove = uint64_t{16} << 20;
  static constexpr uint64_t kGrowth = 4;

  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& dir, const Codec& codec);
  ~Journal();

  // Once, first. DATA_LOSS: a record that cannot be understood or applied; the message says which.
  absl::Status Restore(config::Config* config);
  // A line about what Restore had to cut off; empty: nothing.
  const std::string& notice() const { return log_->notice(); }

  struct BatchRecord {
    uint64_t generation = 0;  // that it made
    uint64_t first_uid = 0;   // Config::next_uid before it
    absl::string_view comment;
    absl::Span<const KnownDevice> devices;
    absl::string_view operations;  // encoded
  };
  static std::string Encode(const BatchRecord& record);

  absl::Status Append(absl::Span<const std::string> records, store::Durability durability);
  // Whether something was appended and not synced.
  bool dirty() const { return dirty_; }
  absl::Status Sync() { return Append({}, store::Durability::kSynced); }

  // Starts or finishes a dump when it is time; called between commits. A dump that fails is told of and given up.
  void Compact(const config::Config& live);
  // The same, whatever the size, and to its end. For tests and for a quiet end.
  absl::Status CompactNow(const config::Config& live);
  uint64_t bytes() const { return log_->bytes(); }

 private:
  Journal(std::unique_ptr<store::Log> log, const Codec& codec) : log_(std::move(log)), codec_(codec) {}
  absl::Status Dump(const config::Config& config, store::Log::Compaction& out) const;
  absl::Status Finish();

  std::unique_ptr<store::Log> log_;
  const Codec& codec_;
  bool dirty_ = false;
  uint64_t last_dump_ = 0;
  std::unique_ptr<store::Log::Compaction> compaction_;
  std::thread dumper_;
  std::atomic<bool> dumped_{false};
  absl::Status dump_status_;
};

}  // namespace sluice::engine

#endif  // SLUICE_SERVER_ENGINE_JOURNAL_H_
