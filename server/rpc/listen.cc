#include "server/rpc/listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice::rpc {
namespace {

absl::Status Cannot(const ListenAddress& address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address.text, ": ", why));
}

std::string ErrnoText() { return std::generic_category().message(errno); }

absl::Status ProbeUnix(const ListenAddress& address) {
  sockaddr_un sun = {};
  sun.sun_family = AF_UNIX;
  if (address.unix_path.size() >= sizeof sun.sun_path) {
    return Cannot(address, absl::StrCat("the path is longer than ", sizeof sun.sun_path - 1, " bytes"));
  }
  std::memcpy(sun.sun_path, address.unix_path.data(), address.unix_path.size());
  const std::filesystem::path dir = std::filesystem::path(address.unix_path).parent_path();
  std::error_code error;
  if (!dir.empty()) std::filesystem::create_directories(dir, error);
  if (error) return Cannot(address, absl::StrCat("cannot make ", dir.string(), ": ", error.message()));
  struct stat st;
  if (lstat(address.unix_path.c_str(), &st) == 0) {
    if (!S_ISSOCK(st.st_mode)) return Cannot(address, "the path is there and is no socket");
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return Cannot(address, ErrnoText());
    const bool in_use = connect(fd, reinterpret_cast<const sockaddr*>(&sun), sizeof sun) == 0;
    close(fd);
    if (in_use) return Cannot(address, "another process listens there");
    if (unlink(address.unix_path.c_str()) != 0) return Cannot(address, ErrnoText());
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Cannot(address, ErrnoText());
  const absl::Cleanup closer = [fd] { close(fd); };
  if (bind(fd, reinterpret_cast<const sockaddr*>(&sun), sizeof sun) != 0) return Cannot(address, ErrnoText());
  unlink(address.unix_path.c_str());
  return absl::OkStatus();
}

absl::Status ProbeTcp(const ListenAddress& address) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int e = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); e != 0) {
    return Cannot(address, gai_strerror(e));
  }
  const absl::Cleanup freer = [found] { freeaddrinfo(found); };
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Cannot(address, ErrnoText());
  const absl::Cleanup closer = [fd] { close(fd); };
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0) return Cannot(address, ErrnoText());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  ListenAddress out{.text = text};
  const auto bad = [&text] {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not unix:PATH or HOST:PORT"));
  };
  if (absl::StartsWith(text, "unix:")) {
    out.unix_path = text.substr(5);
    out.loopback = true;
    if (out.unix_path.empty()) return bad();
    return out;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad();
  out.host = text.substr(0, colon);
  out.port = text.substr(colon + 1);
  uint32_t port;
  if (!absl::SimpleAtoi(out.port, &port) || port > 65535) return bad();
  if (out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return bad();  // an IPv6 address needs brackets
  }
  out.loopback = out.host == "localhost" || out.host == "::1" || absl::StartsWith(out.host, "127.");
  return out;
}

absl::Status ProbeListenAddress(const ListenAddress& address) {
  return address.unix_path.empty() ? ProbeTcp(address) : ProbeUnix(address);
}

}  // namespace sluice::rpc
