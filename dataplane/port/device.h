// A port: one DPDK device, opened by name, with its queues and its pool of packet buffers.
//
// Why one class for all devices: a VF, a kernel interface, a capture file and a null device differ in what they can do,
// and hardly in what we ask of them. What we ask is cut down to what the device offers; what it refuses is said with
// the names of the port and the device and the reason.
//
//   PortOptions options{.name = "p0", .devargs = "iface:eth1", .rx_queues = 2, .tx_queues = 2};
//   ASSIGN_OR_RETURN(std::unique_ptr<Port> port, Port::Open(options));      // probed and configured; takes its time
//   RETURN_IF_ERROR(port->Start());
//   ... workers use queues 0..rx_queues()-1 of port->id() ...               // queue_planner.h
//   port.reset();                                                           // no worker uses it any more
//
// `devargs` is one of
//   iface:NAME                a kernel interface, through packet sockets (kernel_interface.h, packet_socket.h)
//   0000:03:00.1[,KEY=VALUE]  a PCI function that is bound to a driver DPDK can use
//   net_XXXn[,KEY=VALUE]      a software device: net_null0, net_pcap0,rx_pcap=FILE, net_ring0, net_tap0, net_memif0 ...
//
// Threads: Open and the destructor from any thread (one at a time in the process, by a lock of their own); the rest
// from any thread, by a lock of the port. Cost: Open and Start milliseconds to seconds; stats and link microseconds.
#ifndef SLUICE_DATAPLANE_PORT_DEVICE_H_
#define SLUICE_DATAPLANE_PORT_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dataplane/base/address.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/packet_socket.h"

struct rte_device;
struct rte_mempool;

namespace sluice {

struct PortOptions {
  std::string name;        // as the user calls the port; for messages
  std::string devargs;     // above
  uint16_t rx_queues = 1;  // as many as these, or as the device has
  uint16_t tx_queues = 1;
  uint32_t mtu = 1500;  // L3 bytes
  std::optional<MacAddress> mac;
  uint32_t threads = 1;        // that use the pool: each may keep some buffers in its cache
  uint32_t rx_buffers = 1024;  // descriptors of each queue, or what the device allows
  uint32_t tx_buffers = 1024;
};

// What does not change while the port is open.
struct PortIdentity {
  uint16_t id = 0;          // DPDK port id
  std::string device;       // "net_null0", "0000:03:00.1", "iface:eth1"
  std::string driver;       // "net_null", "net_iavf"; "packet_socket" for iface:
  std::string pci_address;  // "" for software devices
  int numa = -1;            // -1: unknown
};

struct PortLink {
  bool up = false;
  uint64_t speed_mbps = 0;  // 0: unknown
};

struct PortStats {
  uint64_t rx_packets = 0, rx_bytes = 0, rx_errors = 0;
  uint64_t rx_drops = 0;  // no free descriptor, or no packet buffer
  uint64_t tx_packets = 0, tx_bytes = 0, tx_errors = 0;
  uint64_t tx_drops = 0;  // iface: the kernel had no room
};

struct PortXstat {
  std::string name;
  uint64_t value = 0;
};

class Port {
 public:
  // INVALID_ARGUMENT: devargs that mean nothing, or an MTU or MAC that the device cannot have; NOT_FOUND: no such
  // device; ALREADY_EXISTS: it is open here; PERMISSION_DENIED; RESOURCE_EXHAUSTED: memory, or too many ports;
  // UNAVAILABLE: busy, or what else the driver said. After an error nothing is left open.
  static absl::StatusOr<std::unique_ptr<Port>> Open(const PortOptions& options);
  // Stops and closes. No worker may use the port.
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  const std::string& name() const { return name_; }
  const PortIdentity& identity() const { return identity_; }
  uint16_t id() const { return identity_.id; }
  uint16_t rx_queues() const { return rx_queues_; }
  uint16_t tx_queues() const { return tx_queues_; }
  rte_mempool* pool() const;
  // Bytes of a packet buffer of `pool`, headroom included. Changes only with an MTU that was set while stopped.
  uint32_t data_room() const;

  absl::Status Start();
  void Stop();
  bool started() const;

  // INVALID_ARGUMENT: the device cannot; RESOURCE_EXHAUSTED: no memory for buffers of that size; UNAVAILABLE: the port
  // must be stopped for it (more than its buffers hold, or the driver says so).
  absl::Status SetMtu(uint32_t mtu);
  uint32_t mtu() const;
  // The largest MTU that can be set without a stop. With one, as much as the device can.
  uint32_t max_mtu() const;
  // INVALID_ARGUMENT: not a unicast address; PERMISSION_DENIED: the host does not let its VF; UNAVAILABLE: as SetMtu.
  absl::Status SetMac(const MacAddress& mac);
  MacAddress mac() const;

  PortLink link() const;
  PortStats stats() const;
  std::vector<PortXstat> xstats() const;

 private:
  explicit Port(const PortOptions& options) : name_(options.name), devargs_(options.devargs) {}

  absl::Status Probe(const PortOptions& options);  // under the lock of all of EAL's devices
  absl::Status Configure(const PortOptions& options);
  // Buffers for frames of `mtu`, if those that are there are too small. The port is stopped.
  absl::Status FitBuffers(uint32_t mtu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SetMtuLocked(uint32_t mtu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SetMacLocked(const MacAddress& mac) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // "port p0 (net_null0): " before what went wrong.
  absl::Status Error(absl::StatusCode code, absl::string_view what) const;
  absl::Status Error(int error, absl::string_view what, absl::string_view said) const;
  absl::Status Error(const absl::Status& status) const { return Error(status.code(), status.message()); }

  const std::string name_;
  const std::string devargs_;
  PortIdentity identity_;
  std::unique_ptr<KernelInterface> kernel_;  // for iface:
  rte_device* device_ = nullptr;
  bool probed_ = false;
  uint16_t rx_queues_ = 0, tx_queues_ = 0;
  uint16_t rx_descriptors_ = 0, tx_descriptors_ = 0;
  uint64_t rx_offloads_ = 0;
  uint32_t buffers_ = 0;  // of the pool
  mutable absl::Mutex mutex_;
  mutable PacketQueues packet_queues_ ABSL_GUARDED_BY(mutex_);  // for iface:
  rte_mempool* pool_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint32_t data_room_ ABSL_GUARDED_BY(mutex_) = 0;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t open_mtu_ ABSL_GUARDED_BY(mutex_) = 0;  // for which packet_queues_ were opened
  bool promiscuous_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t mtu_ ABSL_GUARDED_BY(mutex_) = 0;
  MacAddress mac_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_DEVICE_H_
