// Reads a file line by line; a '\' at its end joins a line with the next.
#ifndef SLUICE_CLIENT_LINES_H_
#define SLUICE_CLIENT_LINES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::client {

class LineReader {
 public:
  // Takes what `fd` gives, as it comes; does not close it.
  explicit LineReader(int fd);

  // The next line, without its end; valid until the next call. False: there are no more, or error() is set.
  bool Next(absl::string_view* line);
  // The number of the line that Next() gave, from 1; of the first when several are joined.
  uint64_t number() const { return number_; }
  // errno of a read that failed, or 0.
  int error() const { return error_; }

 private:
  bool RawNext(absl::string_view* line);
  bool Fill();

  int fd_;
  std::string buffer_;
  size_t start_ = 0, end_ = 0;
  bool eof_ = false;
  int error_ = 0;
  uint64_t number_ = 0, read_ = 0;
  std::string joined_;
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_LINES_H_
