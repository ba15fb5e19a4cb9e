#include "client/lines.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>

namespace sluice::client {

LineReader::LineReader(int fd) : fd_(fd), buffer_(256 << 10, '\0') {}

bool LineReader::Fill() {
  if (start_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
    end_ -= start_;
    start_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  for (;;) {
    const ssize_t got = read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_ = errno;
    if (got <= 0) return false;
    end_ += static_cast<size_t>(got);
    return true;
  }
}

bool LineReader::RawNext(absl::string_view* line) {
  size_t searched = start_;
  for (;;) {
    const char* const from = buffer_.data() + searched;
    if (const void* found = std::memchr(from, '\n', end_ - searched); found != nullptr) {
      const size_t at = static_cast<const char*>(found) - buffer_.data();
      *line = absl::string_view(buffer_.data() + start_, at - start_);
      start_ = at + 1;
      ++read_;
      return true;
    }
    const size_t pending = end_ - start_;
    if (eof_ || !Fill()) {
      eof_ = true;
      if (error_ != 0 || pending == 0) return false;
      *line = absl::string_view(buffer_.data() + start_, end_ - start_);
      start_ = end_;
      ++read_;
      return true;
    }
    searched = start_ + pending;
  }
}

bool LineReader::Next(absl::string_view* line) {
  if (!RawNext(line)) return false;
  number_ = read_;
  if (line->empty() || line->back() != '\\') return true;
  joined_.clear();
  for (;;) {
    const bool more = !line->empty() && line->back() == '\\';
    joined_.append(line->data(), line->size() - (more ? 1 : 0));
    if (!more || !RawNext(line)) break;
    joined_.push_back(' ');
  }
  *line = joined_;
  return error_ == 0;
}

}  // namespace sluice::client
