// The queues of a kernel interface: frames to and from it through packet sockets.
//
// Why not DPDK's net_af_packet: it has the kernel put IPv4 fragments together before we see them (and cuts off what is
// then too long), shows us what the kernel itself sends, leaves checksums unfinished that the sender's kernel meant for
// its NIC to finish, and waits inside of a burst when the kernel is slow. A router can have none of that.
//
// How: a port of DPDK that does nothing (net_null without reception) carries two hooks on each queue, by DPDK's public
// calls for that. What rte_eth_rx_burst returns is read from a packet socket's ring; what is given to rte_eth_tx_burst
// is sent, and then freed by the idle port. Workers see a port like any other.
//
//   PacketQueues queues;
//   RETURN_IF_ERROR(queues.Attach(port, /*count=*/2));
//   RETURN_IF_ERROR(queues.Open(ifindex, mtu, pool));     // workers may use the port from now on
//   queues.Close();                                       // no worker uses it
//
// A frame that the kernel does not take at once is dropped and counted in `tx_drops`: for the worker it was sent, as to
// any device. A TCP super-frame of a sender with segmentation offload (veth) is dropped and counted in `rx_errors`.
//
// Threads: each queue from the one thread that uses it; the rest from one control thread; counters from any. Cost: a
// copy and half a microsecond a frame each way, one system call a burst sent, none received.
#ifndef SLUICE_DATAPLANE_PORT_PACKET_SOCKET_H_
#define SLUICE_DATAPLANE_PORT_PACKET_SOCKET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/cells/counters.h"

struct rte_eth_rxtx_callback;
struct rte_mbuf;
struct rte_mempool;

namespace sluice {

// One queue: a socket with a ring to receive from, and one to send with. The sums survive Close.
class PacketQueue {
 public:
  // Of the ring, for frames of this MTU. While the queue is open, the MTU may grow until this does.
  static uint32_t SlotBytes(uint32_t mtu);
  // The MTU at which it does, for a queue that was opened for `mtu`.
  static uint32_t LargestMtu(uint32_t mtu);

  ~PacketQueue() { Close(); }

  // `group` is 0 for the first of several queues, which then sets it, and as it was set for the others; null: there is
  // one queue. Nothing is received before Admit.
  absl::Status Open(int ifindex, uint32_t mtu, rte_mempool* pool, uint16_t port, uint16_t* group);
  absl::Status Admit();
  void Close();

  uint16_t Receive(rte_mbuf** frames, uint16_t room);
  // The buffers stay the caller's.
  void Send(rte_mbuf* const* frames, uint16_t count);

  struct Sums {
    OwnedCounter rx_packets, rx_bytes, rx_errors, rx_no_buffer;
    OwnedCounter tx_packets, tx_bytes, tx_errors, tx_drops;
  };
  const Sums& sums() const { return sums_; }
  // Frames for which the ring had no room, since the last call.
  uint64_t TakeRingDrops();

 private:
  // The frame in a slot of the ring as a packet buffer; null: counted, and dropped.
  rte_mbuf* Take(const char* slot, rte_mbuf* into);
  char* Slot(uint32_t i) const { return ring_ + size_t{i} * slot_bytes_; }

  int receive_ = -1, send_ = -1;
  char* ring_ = nullptr;
  uint32_t slot_bytes_ = 0, slots_ = 0;
  uint32_t next_ = 0;
  rte_mempool* pool_ = nullptr;
  uint16_t port_ = 0;
  Sums sums_;
};

class PacketQueues {
 public:
  static constexpr uint16_t kMaxQueues = 16;

  PacketQueues() = default;
  ~PacketQueues() { Detach(); }
  PacketQueues(const PacketQueues&) = delete;
  PacketQueues& operator=(const PacketQueues&) = delete;

  // Hooks `count` queues of each kind of a DPDK port. Detach takes the hooks off, before the port is closed.
  absl::Status Attach(uint16_t port, uint16_t count);
  void Detach();

  absl::Status Open(int ifindex, uint32_t mtu, rte_mempool* pool);
  void Close();

  struct Totals {
    uint64_t rx_packets = 0, rx_bytes = 0, rx_errors = 0, rx_drops = 0;
    uint64_t tx_packets = 0, tx_bytes = 0, tx_errors = 0, tx_drops = 0;
  };
  Totals Read();

 private:
  uint16_t port_ = 0;
  std::vector<std::unique_ptr<PacketQueue>> queues_;
  std::vector<const rte_eth_rxtx_callback*> rx_hooks_, tx_hooks_;
  uint64_t ring_drops_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_PACKET_SOCKET_H_
