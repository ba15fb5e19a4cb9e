// The append-only log in which desired state outlives the process.
//
// Why: what was committed must be there after a restart, before the first packet. A log of what was asked for is the
// smallest thing that gives it: one append and one fsync for all batches that wait together, and the torn tail of a
// crash is cut at the last record whose checksum is right. The log knows bytes only: what is in a record is the
// engine's business.
//
//   auto log = Log::Open("/var/lib/sluice");                     // locks the directory
//   (*log)->Replay([&](absl::string_view record) { return Apply(record); });
//   (*log)->Append({record1, record2}, Durability::kSynced);     // all of them or none
//
// On disk: `commits.log` is an 16-byte header, then records {u32 length, u32 CRC32C of length and payload, payload},
// little endian. When the log has grown to several times what is live, a compaction writes a new file beside
// it (BeginCompaction ... Finish) and takes its place by rename.
//
// Threads: Log from one thread (the writer). A Compaction is filled by another thread; Finish by the writer.
// Cost: a write(2) and, when synced, an fdatasync(2).
#ifndef SLUICE_SERVER_STORE_LOG_H_
#define SLUICE_SERVER_STORE_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::store {

enum class Durability : uint8_t { kBuffered, kSynced };

// A file descriptor that closes itself.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  File& operator=(File&& o) noexcept;
  ~File();
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

class Log {
 public:
  static constexpr size_t kMaxRecord = size_t{1} << 30;

  // A new log beside the old one; see BeginCompaction.
  class Compaction {
   public:
    // Any one thread. An error here abandons the compaction: dropping it leaves the old log as it is.
    absl::Status Add(absl::string_view record);
    // Any one thread, after the last Add: brings what was added to stable storage, off the writer's thread.
    absl::Status Sync();
    uint64_t bytes() const { return bytes_; }

   private:
    friend class Log;
    File file_;
    std::string path_;
    uint64_t from_ = 0;  // of the old log: where what was not compacted begins
    uint64_t bytes_ = 0;
    std::string buffer_;
    absl::Status Flush();
  };

  // Opens or makes `dir`/commits.log, and holds a lock on the directory. FAILED_PRECONDITION: another process has it;
  // DATA_LOSS: the file is not such a log; otherwise the error of the system call.
  static absl::StatusOr<std::unique_ptr<Log>> Open(std::string dir);

  // Calls `apply` with every whole record in order, once, before the first Append. A torn tail is cut off, kept in
  // `commits.log.cut`, and told in `notice()`. An error of `apply` ends the replay and is returned.
  absl::Status Replay(absl::FunctionRef<absl::Status(absl::string_view)> apply);
  // What Replay had to say; empty when nothing was torn.
  const std::string& notice() const { return notice_; }

  // Appends all records or none. UNAVAILABLE names the error of the system; after a failure that cannot be undone
  // every later call fails too.
  absl::Status Append(absl::Span<const std::string> records, Durability durability);

  // Starts a new log that shall replace everything up to now; Finish adds what was appended since and takes its place.
  absl::StatusOr<std::unique_ptr<Compaction>> BeginCompaction();
  absl::Status Finish(std::unique_ptr<Compaction> compaction);

  uint64_t bytes() const { return end_; }
  const std::string& dir() const { return dir_; }

 private:
  Log() = default;
  absl::Status SyncDirectory();

  std::string dir_;
  std::string path_;
  File lock_;
  File file_;
  uint64_t end_ = 0;
  bool replayed_ = false;
  absl::Status broken_;
  std::string notice_;
};

}  // namespace sluice::store

#endif  // SLUICE_SERVER_STORE_LOG_H_
