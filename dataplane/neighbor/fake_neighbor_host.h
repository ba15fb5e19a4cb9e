// A world for the state machine in tests: two links, their addresses, and a record of all that the machine does.
#ifndef SLUICE_DATAPLANE_NEIGHBOR_FAKE_NEIGHBOR_HOST_H_
#define SLUICE_DATAPLANE_NEIGHBOR_FAKE_NEIGHBOR_HOST_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/neighbor/adjacency.h"
#include "dataplane/neighbor/neighbor.h"

namespace sluice {

class FakeNeighborHost : public NeighborHost {
 public:
  struct Frame {
    LinkIndex link;
    std::vector<uint8_t> bytes;
  };
  struct Held {
    std::string payload;
    MacAddress mac;
    DropReason reason;
  };

  explicit FakeNeighborHost(AdjacencyTable& table) : table_(table) {}

  Link GetLink(LinkIndex link) override { return links.contains(link) ? links[link] : Link{}; }
  IpAddress SourceFor(LinkIndex link, const IpAddress& target) override {
    for (const auto& [l, prefix] : addresses) {
      if (l == link && prefix.family == target.family) return prefix;
    }
    return {};
  }
  bool IsOwnAddress(LinkIndex link, const IpAddress& address) override {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const auto& a) { return a.second == address && (address.is_v4() || a.first == link); });
  }
  void SendFrame(LinkIndex link, absl::Span<const uint8_t> frame) override {
    frames.push_back({link, {frame.begin(), frame.end()}});
  }
  void SendHeld(const HeldPacket& p, MacAddress mac) override { sent.push_back({Text(p), mac, {}}); }
  void DropHeld(const HeldPacket& p, DropReason reason) override { dropped.push_back({Text(p), {}, reason}); }
  void RecycleAfterGrace(uint32_t index) override { table_.Recycle(index); }
  uint64_t Random() override { return random; }

  static std::string Text(const HeldPacket& p) {
    return std::string(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size());
  }
  std::vector<Frame> TakeFrames() { return std::exchange(frames, {}); }

  std::map<LinkIndex, Link> links;
  std::vector<std::pair<LinkIndex, IpAddress>> addresses;
  uint64_t random = 15 * kSecond;  // of a range of 30 s: REACHABLE lasts 30 s
  std::vector<Frame> frames;
  std::vector<Held> sent, dropped;

 private:
  AdjacencyTable& table_;
};

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_NEIGHBOR_FAKE_NEIGHBOR_HOST_H_
