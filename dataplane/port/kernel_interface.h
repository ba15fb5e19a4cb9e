// A network interface of the kernel that Sluice forwards on through packet sockets ("iface:eth1", packet_socket.h).
//
// Why: a packet socket sees what the kernel makes of the wire, not the wire. To be a port, an interface must be up,
// must not glue received TCP segments together into packets larger than its MTU (GRO, LRO), and must let multicast in
// that the kernel has not joined (neighbour discovery); its MTU is the kernel's. This file arranges that, and finds out
// beforehand why it cannot.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<KernelInterface> eth1, KernelInterface::Open("eth1"));
//   RETURN_IF_ERROR(eth1->BringUp());
//
// Threads: one at a time. Cost: system calls.
#ifndef SLUICE_DATAPLANE_PORT_KERNEL_INTERFACE_H_
#define SLUICE_DATAPLANE_PORT_KERNEL_INTERFACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/base/address.h"

namespace sluice {

class KernelInterface {
 public:
  // INVALID_ARGUMENT: not a name, or not an Ethernet interface; NOT_FOUND; PERMISSION_DENIED: packet sockets need
  // CAP_NET_RAW. While it lives, the interface lets all multicast in.
  static absl::StatusOr<std::unique_ptr<KernelInterface>> Open(absl::string_view name);
  ~KernelInterface();
  KernelInterface(const KernelInterface&) = delete;
  KernelInterface& operator=(const KernelInterface&) = delete;

  const std::string& name() const { return name_; }
  int index() const { return index_; }
  absl::StatusOr<MacAddress> Mac() const;
  // INVALID_ARGUMENT: the driver cannot; PERMISSION_DENIED (CAP_NET_ADMIN).
  absl::Status SetMac(const MacAddress& mac);
  absl::StatusOr<uint32_t> Mtu() const;
  // INVALID_ARGUMENT: the driver cannot; PERMISSION_DENIED (CAP_NET_ADMIN).
  absl::Status SetMtu(uint32_t mtu);
  // Nothing when it is up.
  absl::Status BringUp();
  // Best effort: a driver that has no such feature is fine. PERMISSION_DENIED.
  absl::Status TurnOffAggregation();
  // Up, and the other end too (IFF_RUNNING).
  bool HasCarrier() const;
  // As the driver says; 0: it does not say.
  uint64_t SpeedMbps() const;
  // The PCI address behind it, or "".
  std::string PciAddress() const;

 private:
  explicit KernelInterface(std::string name) : name_(std::move(name)) {}

  std::string name_;
  int index_ = 0;
  int control_ = -1;    // for ioctl
  int multicast_ = -1;  // a packet socket that holds the membership
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_KERNEL_INTERFACE_H_
