#include "server/store/log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store/crc32c.h"

namespace sluice::store {
namespace {

constexpr char kMagic[] = {'S', 'L', 'U', 'I', 'C', 'E', 'L', 'G', 1, 0, 0, 0, 0, 0, 0, 0};
constexpr size_t kHeader = sizeof kMagic;
constexpr size_t kRecordHeader = 8;
constexpr size_t kCompactionBuffer = 1 << 20;

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  const int error = errno;
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::generic_category().message(error)));
}

uint32_t Load32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

void AppendRecord(absl::string_view payload, std::string* out) {
  char head[kRecordHeader];
  const auto length = static_cast<uint32_t>(payload.size());
  std::memcpy(head, &length, 4);
  const uint32_t crc = ExtendCrc32c(ExtendCrc32c(0, {head, 4}), payload);
  std::memcpy(head + 4, &crc, 4);
  out->append(head, kRecordHeader);
  out->append(payload.data(), payload.size());
}

absl::Status WriteAll(int fd, absl::string_view bytes, uint64_t at, absl::string_view path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<File> OpenFile(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("cannot open", path);
  return File(fd);
}

// A file as bytes, for reading it through once.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Of(int fd, uint64_t bytes, absl::string_view path) {
    void* at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return SystemError("cannot map", path);
    madvise(at, bytes, MADV_SEQUENTIAL);
    return Mapping(static_cast<const char*>(at), bytes);
  }
  Mapping(Mapping&& o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (at_ != nullptr) munmap(const_cast<char*>(at_), bytes_);
  }
  absl::string_view view() const { return {at_, bytes_}; }

 private:
  Mapping(const char* at, uint64_t bytes) : at_(at), bytes_(bytes) {}
  const char* at_;
  uint64_t bytes_;
};

}  // namespace

File& File::operator=(File&& o) noexcept {
  std::swap(fd_, o.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<Log>> Log::Open(std::string dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot make ", dir, ": ", error.message()));
  std::unique_ptr<Log> log(new Log());
  log->dir_ = dir;
  log->path_ = absl::StrCat(dir, "/commits.log");
  auto lock = OpenFile(absl::StrCat(dir, "/lock"), O_RDWR | O_CREAT);
  if (!lock.ok()) return lock.status();
  log->lock_ = *std::move(lock);
  if (flock(log->lock_.fd(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("state directory ", dir, " is in use by another process"));
  }
  std::filesystem::remove(log->path_ + ".new", error);  // of a compaction that did not come to its end
  auto file = OpenFile(log->path_, O_RDWR | O_CREAT);
  if (!file.ok()) return file.status();
  log->file_ = *std::move(file);
  struct stat st;
  if (fstat(log->file_.fd(), &st) != 0) return SystemError("cannot stat", log->path_);
  log->end_ = static_cast<uint64_t>(st.st_size);
  char head[kHeader] = {};
  const size_t have = std::min<uint64_t>(log->end_, kHeader);
  if (pread(log->file_.fd(), head, have, 0) != static_cast<ssize_t>(have)) {
    return SystemError("cannot read", log->path_);
  }
  if (std::memcmp(head, kMagic, have) != 0) {
    return absl::DataLossError(absl::StrCat(log->path_, " is not a log of this version"));
  }
  if (have < kHeader) {  // new, or torn while it was made
    if (auto s = WriteAll(log->file_.fd(), {kMagic, kHeader}, 0, log->path_); !s.ok()) return s;
    if (fdatasync(log->file_.fd()) != 0) return SystemError("cannot sync", log->path_);
    log->end_ = kHeader;
    if (auto s = log->SyncDirectory(); !s.ok()) return s;
  }
  return log;
}

absl::Status Log::SyncDirectory() {
  auto dir = OpenFile(dir_, O_RDONLY | O_DIRECTORY);
  if (!dir.ok()) return dir.status();
  if (fsync(dir->fd()) != 0) return SystemError("cannot sync", dir_);
  return absl::OkStatus();
}

absl::Status Log::Replay(absl::FunctionRef<absl::Status(absl::string_view)> apply) {
  if (std::exchange(replayed_, true)) return absl::FailedPreconditionError("the log was replayed before");
  uint64_t at = kHeader;
  {
    auto mapping = Mapping::Of(file_.fd(), end_, path_);
    if (!mapping.ok()) return mapping.status();
    const absl::string_view all = mapping->view();
    while (end_ - at >= kRecordHeader) {
      const char* head = all.data() + at;
      const uint64_t length = Load32(head);
      if (length > kMaxRecord || length > end_ - at - kRecordHeader) break;
      const absl::string_view payload = all.substr(at + kRecordHeader, length);
      if (ExtendCrc32c(ExtendCrc32c(0, {head, 4}), payload) != Load32(head + 4)) break;
      if (auto s = apply(payload); !s.ok()) return s;
      at += kRecordHeader + length;
    }
    if (at == end_) return absl::OkStatus();
    // What follows is no record: the tail of a write that a crash cut short. It is kept aside, not thrown away.
    auto cut = OpenFile(path_ + ".cut", O_RDWR | O_CREAT | O_TRUNC);
    if (!cut.ok()) return cut.status();
    if (auto s = WriteAll(cut->fd(), all.substr(at), 0, path_ + ".cut"); !s.ok()) return s;
  }
  notice_ = absl::StrCat(path_, ": cut ", end_ - at, " bytes at offset ", at, " that are no whole record; kept in ",
                         path_, ".cut");
  if (ftruncate(file_.fd(), static_cast<off_t>(at)) != 0) return SystemError("cannot truncate", path_);
  if (fdatasync(file_.fd()) != 0) return SystemError("cannot sync", path_);
  end_ = at;
  return absl::OkStatus();
}

absl::Status Log::Append(absl::Span<const std::string> records, Durability durability) {
  if (!broken_.ok()) return broken_;
  if (!replayed_) return absl::FailedPreconditionError("the log is not replayed yet");
  std::string bytes;
  for (const std::string& record : records) {
    if (record.size() > kMaxRecord) return absl::ResourceExhaustedError("a record is larger than the log takes");
    AppendRecord(record, &bytes);
  }
  if (auto s = WriteAll(file_.fd(), bytes, end_, path_); !s.ok()) {
    if (ftruncate(file_.fd(), static_cast<off_t>(end_)) != 0) broken_ = SystemError("cannot truncate", path_);
    return s;
  }
  // After a failed sync nobody knows what is on the disk, and a second sync would lie: no more appends.
  if (durability == Durability::kSynced && fdatasync(file_.fd()) != 0) {
    broken_ = SystemError("cannot sync", path_);
    if (ftruncate(file_.fd(), static_cast<off_t>(end_)) != 0) return broken_;
    return broken_;
  }
  end_ += bytes.size();
  return absl::OkStatus();
}

absl::Status Log::Compaction::Flush() {
  if (auto s = WriteAll(file_.fd(), buffer_, bytes_, path_); !s.ok()) return s;
  bytes_ += buffer_.size();
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status Log::Compaction::Add(absl::string_view record) {
  if (record.size() > kMaxRecord) return absl::ResourceExhaustedError("a record is larger than the log takes");
  AppendRecord(record, &buffer_);
  return buffer_.size() < kCompactionBuffer ? absl::OkStatus() : Flush();
}

absl::Status Log::Compaction::Sync() {
  if (auto s = Flush(); !s.ok()) return s;
  if (fdatasync(file_.fd()) != 0) return SystemError("cannot sync", path_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Log::Compaction>> Log::BeginCompaction() {
  if (!broken_.ok()) return broken_;
  auto compaction = std::make_unique<Compaction>();
  compaction->path_ = path_ + ".new";
  auto file = OpenFile(compaction->path_, O_RDWR | O_CREAT | O_TRUNC);
  if (!file.ok()) return file.status();
  compaction->file_ = *std::move(file);
  compaction->from_ = end_;
  compaction->buffer_.assign(kMagic, kHeader);
  return compaction;
}

absl::Status Log::Finish(std::unique_ptr<Compaction> compaction) {
  if (!broken_.ok()) return broken_;
  if (auto s = compaction->Flush(); !s.ok()) return s;
  std::string tail(end_ - compaction->from_, '\0');
  for (size_t got = 0; got < tail.size();) {
    const ssize_t n =
        pread(file_.fd(), tail.data() + got, tail.size() - got, static_cast<off_t>(compaction->from_ + got));
    if (n <= 0) return SystemError("cannot read", path_);
    got += static_cast<size_t>(n);
  }
  if (auto s = WriteAll(compaction->file_.fd(), tail, compaction->bytes_, compaction->path_); !s.ok()) return s;
  if (fdatasync(compaction->file_.fd()) != 0) return SystemError("cannot sync", compaction->path_);
  if (rename(compaction->path_.c_str(), path_.c_str()) != 0) return SystemError("cannot rename", compaction->path_);
  std::swap(file_, compaction->file_);
  end_ = compaction->bytes_ + tail.size();
  // The new log is in use from here on, whether or not the directory could be synced: both logs say the same.
  return SyncDirectory();
}

}  // namespace sluice::store
