#include "dataplane/port/kernel_interface.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case EPERM:
    case EACCES:
      return absl::PermissionDeniedError(message);
    case ENODEV:
    case ENXIO:
      return absl::NotFoundError(message);
    case EINVAL:
    case ERANGE:
    case EOPNOTSUPP:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

ifreq Request(const std::string& name) {
  ifreq request = {};
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelInterface>> KernelInterface::Open(absl::string_view name) {
  // Such names are no interface, or would end a DPDK argument early.
  if (name.empty() || name.size() >= IFNAMSIZ || name == "." || name == ".." ||
      name.find_first_of(absl::string_view(",=[]/: \t\n\r\v\f\0", 13)) != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no name of an interface"));
  }
  auto interface = std::unique_ptr<KernelInterface>(new KernelInterface(std::string(name)));
  interface->control_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (interface->control_ < 0) return ErrnoStatus(errno, "a socket for ioctl");
  ifreq request = Request(interface->name_);
  if (ioctl(interface->control_, SIOCGIFINDEX, &request) != 0) {
    return ErrnoStatus(errno, absl::StrCat("no interface '", name, "'"));
  }
  interface->index_ = request.ifr_ifindex;
  request = Request(interface->name_);
  if (ioctl(interface->control_, SIOCGIFHWADDR, &request) != 0 || request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not an Ethernet interface"));
  }
  // Protocol 0: the socket receives nothing.
  interface->multicast_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (interface->multicast_ < 0) return ErrnoStatus(errno, "a packet socket (needs CAP_NET_RAW)");
  packet_mreq all = {};
  all.mr_ifindex = interface->index_;
  all.mr_type = PACKET_MR_ALLMULTI;
  if (setsockopt(interface->multicast_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0) {
    return ErrnoStatus(errno, absl::StrCat("all multicast on '", name, "'"));
  }
  return interface;
}

KernelInterface::~KernelInterface() {
  if (multicast_ >= 0) close(multicast_);
  if (control_ >= 0) close(control_);
}

absl::StatusOr<MacAddress> KernelInterface::Mac() const {
  ifreq request = Request(name_);
  if (ioctl(control_, SIOCGIFHWADDR, &request) != 0) return ErrnoStatus(errno, absl::StrCat("MAC of '", name_, "'"));
  MacAddress mac;
  std::memcpy(mac.bytes.data(), request.ifr_hwaddr.sa_data, mac.bytes.size());
  return mac;
}

absl::Status KernelInterface::SetMac(const MacAddress& mac) {
  ifreq request = Request(name_);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, mac.bytes.data(), mac.bytes.size());
  if (ioctl(control_, SIOCSIFHWADDR, &request) != 0) {
    return ErrnoStatus(errno, absl::StrCat("MAC ", mac.ToString(), " on '", name_, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> KernelInterface::Mtu() const {
  ifreq request = Request(name_);
  if (ioctl(control_, SIOCGIFMTU, &request) != 0) return ErrnoStatus(errno, absl::StrCat("MTU of '", name_, "'"));
  return static_cast<uint32_t>(request.ifr_mtu);
}

absl::Status KernelInterface::SetMtu(uint32_t mtu) {
  const absl::StatusOr<uint32_t> now = Mtu();
  if (now.ok() && *now == mtu) return absl::OkStatus();
  ifreq request = Request(name_);
  request.ifr_mtu = static_cast<int>(mtu);
  if (ioctl(control_, SIOCSIFMTU, &request) != 0) {
    return ErrnoStatus(errno, absl::StrCat("MTU ", mtu, " on '", name_, "'"));
  }
  return absl::OkStatus();
}

absl::Status KernelInterface::BringUp() {
  ifreq request = Request(name_);
  if (ioctl(control_, SIOCGIFFLAGS, &request) != 0) return ErrnoStatus(errno, absl::StrCat("flags of '", name_, "'"));
  if (request.ifr_flags & IFF_UP) return absl::OkStatus();
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (ioctl(control_, SIOCSIFFLAGS, &request) != 0) {
    return ErrnoStatus(errno, absl::StrCat("bringing '", name_, "' up"));
  }
  return absl::OkStatus();
}

absl::Status KernelInterface::TurnOffAggregation() {
  ifreq request = Request(name_);
  const auto get = [&](uint32_t command) -> absl::StatusOr<uint32_t> {
    ethtool_value value = {.cmd = command, .data = 0};
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(control_, SIOCETHTOOL, &request) != 0) return ErrnoStatus(errno, "ethtool");
    return value.data;
  };
  const auto set = [&](uint32_t command, uint32_t data) {
    ethtool_value value = {.cmd = command, .data = data};
    request.ifr_data = reinterpret_cast<char*>(&value);
    return ioctl(control_, SIOCETHTOOL, &request) == 0 ? 0 : errno;
  };
  int error = 0;
  if (const absl::StatusOr<uint32_t> gro = get(ETHTOOL_GGRO); gro.ok() && *gro != 0) error = set(ETHTOOL_SGRO, 0);
  if (const absl::StatusOr<uint32_t> flags = get(ETHTOOL_GFLAGS); flags.ok() && (*flags & ETH_FLAG_LRO)) {
    if (const int e = set(ETHTOOL_SFLAGS, *flags & ~uint32_t{ETH_FLAG_LRO}); e != 0) error = e;
  }
  if (error == 0 || error == EOPNOTSUPP) return absl::OkStatus();
  return ErrnoStatus(error, absl::StrCat("turning GRO and LRO of '", name_, "' off"));
}

bool KernelInterface::HasCarrier() const {
  ifreq request = Request(name_);
  return ioctl(control_, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0;
}

uint64_t KernelInterface::SpeedMbps() const {
  ifreq request = Request(name_);
  ethtool_cmd command = {};
  command.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (ioctl(control_, SIOCETHTOOL, &request) != 0) return 0;
  const uint32_t speed = ethtool_cmd_speed(&command);
  return speed == static_cast<uint32_t>(SPEED_UNKNOWN) || speed == 0xffff ? 0 : speed;
}

std::string KernelInterface::PciAddress() const {
  ifreq request = Request(name_);
  ethtool_drvinfo info = {};
  info.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (ioctl(control_, SIOCETHTOOL, &request) != 0) return "";
  const std::string bus(info.bus_info, strnlen(info.bus_info, sizeof info.bus_info));
  // "0000:03:00.1"; software interfaces say nothing, or another bus.
  return bus.size() == 12 && bus[4] == ':' && bus[7] == ':' && bus[10] == '.' ? bus : "";
}

}  // namespace sluice
