#include "dataplane/port/packet_socket.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Since Linux 4.12 and 4.20; older headers lack them.
constexpr int kIgnoreOutgoing = 23;           // PACKET_IGNORE_OUTGOING
constexpr uint32_t kFanoutUniqueId = 0x2000;  // PACKET_FANOUT_FLAG_UNIQUEID

// What PACKET_VNET_HDR puts before a frame: struct virtio_net_hdr (Virtio 1.2 §5.1.6), in host order. The kernel's
// header for it is no C++.
struct OffloadHeader {
  static constexpr uint8_t kNeedsChecksum = 1;

  uint8_t flags;
  uint8_t gso_type;  // 0: one frame, as long as it is
  uint16_t header_bytes;
  uint16_t gso_bytes;
  uint16_t checksum_start;   // from the frame's first byte
  uint16_t checksum_offset;  // from there
};
static_assert(sizeof(OffloadHeader) == 10);

constexpr uint32_t kSlotOverhead = 128;  // what the kernel puts before a frame in its slot, rounded up
constexpr uint32_t kRingBytes = 8 << 20;
constexpr size_t kAddresses = 12;  // of an Ethernet header; a VLAN tag goes behind them
constexpr size_t kTag = 4;

absl::Status SocketError(absl::string_view what) {
  const int error = errno;
  const std::string message = absl::StrCat("packet socket, ", what, ": ", std::strerror(error));
  if (error == EPERM || error == EACCES) return absl::PermissionDeniedError(message);
  if (error == ENOMEM || error == ENOBUFS) return absl::ResourceExhaustedError(message);
  if (error == ENODEV || error == ENXIO) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

template <typename T>
bool Set(int fd, int level, int option, const T& value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

bool Bind(int fd, int ifindex, uint16_t protocol) {
  sockaddr_ll at = {};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(protocol);
  at.sll_ifindex = ifindex;
  return bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

uint16_t OnReceive(uint16_t, uint16_t, rte_mbuf** frames, uint16_t count, uint16_t room, void* queue) {
  return static_cast<uint16_t>(
      count + static_cast<PacketQueue*>(queue)->Receive(frames + count, static_cast<uint16_t>(room - count)));
}

uint16_t OnSend(uint16_t, uint16_t, rte_mbuf** frames, uint16_t count, void* queue) {
  static_cast<PacketQueue*>(queue)->Send(frames, count);
  return count;
}

}  // namespace

uint32_t PacketQueue::SlotBytes(uint32_t mtu) { return std::bit_ceil(std::max(uint32_t{2048}, mtu + kSlotOverhead)); }

uint32_t PacketQueue::LargestMtu(uint32_t mtu) { return SlotBytes(mtu) - kSlotOverhead; }

absl::Status PacketQueue::Open(int ifindex, uint32_t mtu, rte_mempool* pool, uint16_t port, uint16_t* group) {
  pool_ = pool;
  port_ = port;
  next_ = 0;
  receive_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  send_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (receive_ < 0 || send_ < 0) return SocketError("needs CAP_NET_RAW");

  // Sending: through the interface's queueing discipline, so that what is sent can be watched there.
  const int buffer = 4 << 20;
  if (!Set(send_, SOL_SOCKET, SO_SNDBUFFORCE, buffer)) Set(send_, SOL_SOCKET, SO_SNDBUF, buffer);
  if (!Bind(send_, ifindex, 0)) return SocketError("bind to send");

  // Receiving. With a virtio header the kernel says which checksums it left undone.
  slot_bytes_ = SlotBytes(mtu);
  slots_ = std::clamp(kRingBytes / slot_bytes_, uint32_t{256}, uint32_t{4096});
  const tpacket_req ring = {.tp_block_size = std::max(slot_bytes_, uint32_t{65536}),
                            .tp_block_nr = slots_ / (std::max(slot_bytes_, uint32_t{65536}) / slot_bytes_),
                            .tp_frame_size = slot_bytes_,
                            .tp_frame_nr = slots_};
  if (!Set(receive_, SOL_PACKET, PACKET_VERSION, int{TPACKET_V2})) return SocketError("version");
  if (!Set(receive_, SOL_PACKET, PACKET_VNET_HDR, int{1})) return SocketError("offload header");
  Set(receive_, SOL_PACKET, kIgnoreOutgoing, int{1});  // an older kernel shows them; Receive knows
  if (!Set(receive_, SOL_PACKET, PACKET_RX_RING, ring)) return SocketError("ring");
  void* mapped = mmap(nullptr, size_t{slots_} * slot_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, receive_, 0);
  if (mapped == MAP_FAILED) return SocketError("ring");
  ring_ = static_cast<char*>(mapped);

  // A socket that is bound receives; until all queues are in their group, each would receive everything. So none does.
  sock_filter nothing[] = {{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0}};
  if (!Set(receive_, SOL_SOCKET, SO_ATTACH_FILTER, sock_fprog{.len = 1, .filter = nothing}))
    return SocketError("filter");
  if (!Bind(receive_, ifindex, ETH_P_ALL)) return SocketError("bind to receive");
  if (group == nullptr) return absl::OkStatus();
  // By flow, fragments as they are.
  const uint32_t flags = PACKET_FANOUT_HASH | (*group == 0 ? kFanoutUniqueId : 0);
  if (!Set(receive_, SOL_PACKET, PACKET_FANOUT, uint32_t{*group} | flags << 16)) return SocketError("fanout");
  uint32_t joined = 0;
  socklen_t size = sizeof joined;
  if (getsockopt(receive_, SOL_PACKET, PACKET_FANOUT, &joined, &size) != 0) return SocketError("fanout");
  *group = static_cast<uint16_t>(joined);
  return absl::OkStatus();
}

absl::Status PacketQueue::Admit() {
  if (!Set(receive_, SOL_SOCKET, SO_DETACH_FILTER, int{0})) return SocketError("filter");
  return absl::OkStatus();
}

void PacketQueue::Close() {
  if (ring_ != nullptr) munmap(ring_, size_t{slots_} * slot_bytes_);
  if (receive_ >= 0) close(receive_);
  if (send_ >= 0) close(send_);
  ring_ = nullptr;
  receive_ = send_ = -1;
}

rte_mbuf* PacketQueue::Take(const char* slot, rte_mbuf* into) {
  const auto* header = reinterpret_cast<const tpacket2_hdr*>(slot);
  const uint32_t bytes = header->tp_snaplen;
  const uint32_t tag = (header->tp_status & TP_STATUS_VLAN_VALID) ? kTag : 0;
  const size_t at = header->tp_mac;
  OffloadHeader offload;
  if (bytes < header->tp_len || bytes < kAddresses || at < sizeof offload || at + bytes > slot_bytes_ ||
      bytes + tag > rte_pktmbuf_tailroom(into)) {
    return nullptr;  // longer than the MTU
  }
  std::memcpy(&offload, slot + at - sizeof offload, sizeof offload);
  if (offload.gso_type != 0) return nullptr;

  char* data = rte_pktmbuf_append(into, static_cast<uint16_t>(bytes + tag));
  // The kernel takes an outer tag out of the frame; behind it, everything lies as it came.
  char* moved = data + tag;
  std::memcpy(data, slot + at, kAddresses);
  std::memcpy(moved + kAddresses, slot + at + kAddresses, bytes - kAddresses);
  if (tag != 0) {
    const uint16_t tpid =
        (header->tp_status & TP_STATUS_VLAN_TPID_VALID) ? header->tp_vlan_tpid : uint16_t{ETH_P_8021Q};
    const uint16_t words[2] = {htons(tpid), htons(header->tp_vlan_tci)};
    std::memcpy(data + kAddresses, words, sizeof words);
  }
  if (offload.flags & OffloadHeader::kNeedsChecksum) {
    // The field holds the sum of the pseudo header; the rest of the sum was left to a NIC.
    const uint32_t start = offload.checksum_start, field = start + offload.checksum_offset;
    if (start < kAddresses || start > bytes || field + 2 > bytes) return nullptr;
    uint16_t sum = static_cast<uint16_t>(~rte_raw_cksum(moved + start, bytes - start));
    if (sum == 0) sum = 0xffff;
    std::memcpy(moved + field, &sum, sizeof sum);
  }
  into->port = port_;
  return into;
}

uint16_t PacketQueue::Receive(rte_mbuf** frames, uint16_t room) {
  uint16_t got = 0;
  uint64_t bytes = 0;
  if (ring_ == nullptr) return 0;
  while (got < room) {
    char* slot = Slot(next_);
    auto* header = reinterpret_cast<tpacket2_hdr*>(slot);
    std::atomic_ref<uint32_t> status(header->tp_status);
    if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) break;
    const auto* from = reinterpret_cast<const sockaddr_ll*>(slot + TPACKET_ALIGN(sizeof(tpacket2_hdr)));
    if (from->sll_pkttype != PACKET_OUTGOING) {
      rte_mbuf* m = rte_pktmbuf_alloc(pool_);
      if (m == nullptr) {  // it stays in the ring, for better times
        sums_.rx_no_buffer.Add(1);
        break;
      }
      if (Take(slot, m) == nullptr) {
        rte_pktmbuf_free(m);
        sums_.rx_errors.Add(1);
      } else {
        bytes += m->pkt_len;
        frames[got++] = m;
      }
    }
    status.store(TP_STATUS_KERNEL, std::memory_order_release);
    if (++next_ == slots_) next_ = 0;
  }
  if (got != 0) {
    sums_.rx_packets.Add(got);
    sums_.rx_bytes.Add(bytes);
  }
  return got;
}

void PacketQueue::Send(rte_mbuf* const* frames, uint16_t count) {
  constexpr size_t kFrames = 64, kPieces = 256, kPiecesOfOne = 32;
  mmsghdr messages[kFrames];
  iovec pieces[kPieces];
  uint16_t done = 0;
  while (done < count) {
    size_t n = 0, used = 0;
    while (done < count && n < kFrames && used + kPiecesOfOne <= kPieces) {
      const rte_mbuf* m = frames[done++];
      if (send_ < 0 || m->nb_segs > kPiecesOfOne) {
        sums_.tx_errors.Add(1);
        continue;
      }
      messages[n] = {};
      messages[n].msg_hdr.msg_iov = &pieces[used];
      messages[n].msg_hdr.msg_iovlen = m->nb_segs;
      ++n;
      for (; m != nullptr; m = m->next) pieces[used++] = {rte_pktmbuf_mtod(m, void*), rte_pktmbuf_data_len(m)};
    }
    for (size_t i = 0; i < n;) {
      const int sent = sendmmsg(send_, messages + i, static_cast<unsigned>(n - i), MSG_DONTWAIT);
      if (sent > 0) {
        uint64_t bytes = 0;
        for (int k = 0; k < sent; ++k) bytes += messages[i + static_cast<size_t>(k)].msg_len;
        sums_.tx_packets.Add(static_cast<uint64_t>(sent));
        sums_.tx_bytes.Add(bytes);
        i += static_cast<size_t>(sent);
      } else if (errno == EAGAIN || errno == ENOBUFS || errno == ENETDOWN || errno == ENXIO) {
        sums_.tx_drops.Add(n - i);
        break;
      } else if (errno != EINTR) {
        sums_.tx_errors.Add(1);  // this one (too long, say); the next may go
        ++i;
      }
    }
  }
}

uint64_t PacketQueue::TakeRingDrops() {
  tpacket_stats stats = {};
  socklen_t size = sizeof stats;
  if (receive_ < 0 || getsockopt(receive_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) return 0;
  return stats.tp_drops;
}

absl::Status PacketQueues::Attach(uint16_t port, uint16_t count) {
  port_ = port;
  for (uint16_t q = 0; q < count; ++q) {
    queues_.push_back(std::make_unique<PacketQueue>());
    rx_hooks_.push_back(rte_eth_add_rx_callback(port, q, &OnReceive, queues_.back().get()));
    tx_hooks_.push_back(rte_eth_add_tx_callback(port, q, &OnSend, queues_.back().get()));
    if (rx_hooks_.back() == nullptr || tx_hooks_.back() == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("a hook on queue ", q, ": ", rte_strerror(rte_errno)));
    }
  }
  return absl::OkStatus();
}

void PacketQueues::Detach() {
  Close();
  for (uint16_t q = 0; q < queues_.size(); ++q) {
    if (q < rx_hooks_.size() && rx_hooks_[q] && rte_eth_remove_rx_callback(port_, q, rx_hooks_[q]) == 0) {
      rte_free(const_cast<rte_eth_rxtx_callback*>(rx_hooks_[q]));
    }
    if (q < tx_hooks_.size() && tx_hooks_[q] && rte_eth_remove_tx_callback(port_, q, tx_hooks_[q]) == 0) {
      rte_free(const_cast<rte_eth_rxtx_callback*>(tx_hooks_[q]));
    }
  }
  rx_hooks_.clear();
  tx_hooks_.clear();
  queues_.clear();
}

absl::Status PacketQueues::Open(int ifindex, uint32_t mtu, rte_mempool* pool) {
  uint16_t group = 0;
  absl::Status status;
  for (size_t q = 0; q < queues_.size() && status.ok(); ++q) {
    status = queues_[q]->Open(ifindex, mtu, pool, port_, queues_.size() > 1 ? &group : nullptr);
  }
  for (size_t q = 0; q < queues_.size() && status.ok(); ++q) status = queues_[q]->Admit();
  if (!status.ok()) Close();
  return status;
}

void PacketQueues::Close() {
  for (const auto& queue : queues_) {
    ring_drops_ += queue->TakeRingDrops();
    queue->Close();
  }
}

PacketQueues::Totals PacketQueues::Read() {
  Totals t;
  for (const auto& queue : queues_) {
    ring_drops_ += queue->TakeRingDrops();
    const PacketQueue::Sums& s = queue->sums();
    t.rx_packets += s.rx_packets.Get();
    t.rx_bytes += s.rx_bytes.Get();
    t.rx_errors += s.rx_errors.Get();
    t.tx_packets += s.tx_packets.Get();
    t.tx_bytes += s.tx_bytes.Get();
    t.tx_errors += s.tx_errors.Get();
    t.tx_drops += s.tx_drops.Get();
  }
  t.rx_drops = ring_drops_;
  return t;
}

}  // namespace sluice
