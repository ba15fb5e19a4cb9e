// How config stores what users ask for: packed keys and records, without pointers or text where there are many of them.
//
// Why: a full table is a million routes. As structs of strings and vectors (objects.h) they would take half a gigabyte;
// here a route is 56 bytes (IPv4), its name is its key, and everything that routes have in common is interned.
//
//   RouteId id{.table = 254, .prefix = prefix, .tos = 0, .metric = 0, .order = kFirstOrder};
//   RouteKey4 key = RouteKey4::Of(id);                       // sorts as Linux lists routes
//
// Threads: values.
#ifndef SLUICE_SERVER_CONFIG_RECORDS_H_
#define SLUICE_SERVER_CONFIG_RECORDS_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "dataplane/base/address.h"
#include "dataplane/fib/nexthop.h"
#include "dataplane/link/link.h"
#include "server/config/objects.h"

namespace sluice::config {

// rtnetlink's table numbers.
inline constexpr uint32_t kLocalTable = 255;
inline constexpr uint32_t kMainTable = 254;
inline constexpr uint32_t kDefaultTable = 253;

// rtnetlink's scopes and protocols.
inline constexpr uint8_t kScopeUniverse = 0;
inline constexpr uint8_t kScopeLink = 253;
inline constexpr uint8_t kScopeHost = 254;
inline constexpr uint8_t kScopeNowhere = 255;
inline constexpr uint8_t kProtocolKernel = 2;
inline constexpr uint8_t kProtocolBoot = 3;

// A text of up to 15 bytes, zero-padded: names of links and labels of addresses.
struct ShortName {
  char text[16] = {};

  ShortName() = default;
  explicit ShortName(absl::string_view s) { std::memcpy(text, s.data(), s.size() < 15 ? s.size() : 15); }
  absl::string_view view() const { return {text, strnlen(text, sizeof text)}; }
  friend bool operator==(const ShortName& a, const ShortName& b) { return std::memcmp(a.text, b.text, 16) == 0; }
  friend bool operator<(const ShortName& a, const ShortName& b) { return std::memcmp(a.text, b.text, 16) < 0; }
};

// What every stored object has.
struct RecordMeta {
  uint64_t uid = 0;
  uint64_t created = 0;  // generations
  uint64_t changed = 0;
  uint32_t attributes = 0;  // owner and labels, interned; 0: none
};

// What is known of the device below a link. Config is told, and never asks.
struct DeviceFacts {
  bool known = false;
  bool mac_settable = true;
  MacAddress mac;  // of the device itself
  uint32_t default_mtu = 1500;
  uint32_t max_mtu = 65535;
  uint32_t max_rx_queues = 64;
  uint32_t max_tx_queues = 64;
};

struct LinkRecord {
  RecordMeta meta;
  ShortName name;
  LinkKind kind = LinkKind::kPort;
  bool up = false;
  bool has_mac = false;
  MacAddress mac;                         // configured
  uint32_t mtu = 0;                       // configured; 0: the device's
  uint32_t rx_queues = 0, tx_queues = 0;  // configured; 0: not
  std::string devargs;
  DeviceFacts device;

  MacAddress mac_in_use() const { return has_mac ? mac : device.mac; }
  uint32_t mtu_in_use() const { return mtu != 0 ? mtu : device.default_mtu; }
  bool speaks_ipv6() const { return mtu_in_use() >= 1280; }
};

// Identity of an address: link and address; of IPv4 the length too. Sorted by link, family, address.
struct AddressKey {
  LinkIndex link = 0;
  IpAddress address;
  uint8_t length = 0;
  friend bool operator==(const AddressKey&, const AddressKey&) = default;
  friend bool operator<(const AddressKey& a, const AddressKey& b) {
    return std::tie(a.link, a.address, a.length) < std::tie(b.link, b.address, b.length);
  }
};

struct AddressRecord {
  RecordMeta meta;
  uint32_t metric = 0;  // of the prefix route
  bool has_metric = false;
  uint8_t scope = 0;
  bool no_prefix_route = false;
  bool derived = false;  // the link-local address that follows from the MAC
  ShortName label;
};

struct NeighborId {
  LinkIndex link = 0;
  IpAddress address;
  friend bool operator==(const NeighborId&, const NeighborId&) = default;
  friend bool operator<(const NeighborId& a, const NeighborId& b) {
    return std::tie(a.link, a.address) < std::tie(b.link, b.address);
  }
};

struct NeighborRecord {
  RecordMeta meta;
  MacAddress mac;
  bool has_mac = false;
  bool router = false;
  NudState nud = NudState::kPermanent;
};

// Position among routes that are equal in table, prefix, TOS and metric: append goes up, prepend goes down.
inline constexpr uint16_t kFirstOrder = 0x8000;

// The whole name of a route.
struct RouteId {
  uint32_t table = 0;
  IpPrefix prefix;
  uint8_t tos = 0;
  uint16_t order = kFirstOrder;
  uint32_t metric = 0;
  friend bool operator==(const RouteId&, const RouteId&) = default;
};

// Sorts as Linux lists a table: by address, at one address the longest prefix first, then TOS descending, metric
// ascending, order.
struct RouteKey4 {
  uint64_t high = 0;  // table, address
  uint64_t low = 0;   // 32 - length, 255 - TOS, metric, order

  static RouteKey4 Of(const RouteId& id) {
    return {uint64_t{id.table} << 32 | id.prefix.address.v4().ToHost(), uint64_t{32u - id.prefix.length} << 56 |
                                                                            uint64_t{255u - id.tos} << 48 |
                                                                            uint64_t{id.metric} << 16 | id.order};
  }
  RouteId ToId() const {
    const int length = 32 - static_cast<int>(low >> 56);
    IpPrefix prefix;
    prefix.address = Ipv4Address::FromHost(static_cast<uint32_t>(high));
    prefix.length = static_cast<uint8_t>(length);
    return {static_cast<uint32_t>(high >> 32), prefix, static_cast<uint8_t>(255 - (low >> 48 & 0xff)),
            static_cast<uint16_t>(low), static_cast<uint32_t>(low >> 16)};
  }
  friend bool operator==(const RouteKey4&, const RouteKey4&) = default;
  friend bool operator<(const RouteKey4& a, const RouteKey4& b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
  }
};
static_assert(sizeof(RouteKey4) == 16);

// Sorts as Linux lists a table: more specific prefixes before the prefix that holds them, the default route last; then
// metric ascending, order. The key holds the last address of the prefix, by which that is an ordinary order.
struct RouteKey6 {
  uint64_t w[4] = {};  // table, last address, 128 - length, metric, order

  static RouteKey6 Of(const RouteId& id) {
    const Ipv6Address a = id.prefix.address.v6();
    const int length = id.prefix.length;
    const uint64_t high = a.high() | (length >= 64 ? 0 : ~uint64_t{0} >> length);
    const uint64_t low = a.low() | (length <= 64 ? ~uint64_t{0} : length >= 128 ? 0 : ~uint64_t{0} >> (length - 64));
    return {{uint64_t{id.table} << 32 | high >> 32, high << 32 | low >> 32,
             low << 32 | static_cast<uint64_t>(128 - length) << 16, uint64_t{id.metric} << 32 | id.order}};
  }
  RouteId ToId() const {
    const Ipv6Address last = Ipv6Address::FromHost(w[0] << 32 | w[1] >> 32, w[1] << 32 | w[2] >> 32);
    const int length = 128 - static_cast<int>(w[2] >> 16 & 0xffff);
    return {static_cast<uint32_t>(w[0] >> 32), IpPrefix::Of(last, length), 0, static_cast<uint16_t>(w[3]),
            static_cast<uint32_t>(w[3] >> 32)};
  }
  friend bool operator==(const RouteKey6&, const RouteKey6&) = default;
  friend bool operator<(const RouteKey6& a, const RouteKey6& b) {
    for (int i = 0; i < 3; ++i) {
      if (a.w[i] != b.w[i]) return a.w[i] < b.w[i];
    }
    return a.w[3] < b.w[3];
  }
};
static_assert(sizeof(RouteKey6) == 32);

struct RouteRecord {
  RecordMeta meta;
  NexthopIndex nexthop = 0;  // of an interned NexthopSpec, or one of the fixed ones (blackhole ...)
  uint8_t protocol = 3;
  RouteType type = RouteType::kUnicast;
  uint8_t scope = 0;
  bool derived = false;
};
static_assert(sizeof(RouteRecord) == 40);

// Where a route leads, interned: all routes that agree in this share one slot of the data plane.
struct NexthopSpec {
  uint64_t counted_uid = 0;  // of the route, when it counts for itself alone
  LinkIndex link = 0;
  uint16_t mtu = 0;
  RouteType type = RouteType::kNone;
  uint8_t flags = 0;
  IpAddress gateway;
  IpAddress source;  // prefsrc
  uint8_t pad[2] = {};
  uint32_t provisional = 0;  // while a batch is open: the link is not known yet, for this check

  static constexpr uint8_t kOnlinkFlag = 1;  // the user said that the gateway is on the link
  static constexpr uint8_t kMtuLocked = 2;

  friend bool operator==(const NexthopSpec& a, const NexthopSpec& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
  friend bool operator<(const NexthopSpec& a, const NexthopSpec& b) { return std::memcmp(&a, &b, sizeof a) < 0; }
};
static_assert(std::has_unique_object_representations_v<NexthopSpec>);

struct NexthopRecord {
  NexthopSpec spec;
  uint32_t configured = 0;  // routes that use it, by origin
  uint32_t derived = 0;
};

// Owner and labels of an object, interned.
struct Attributes {
  std::string owner;
  std::map<std::string, std::string> labels;
  friend bool operator==(const Attributes&, const Attributes&) = default;
  friend bool operator<(const Attributes& a, const Attributes& b) {
    return std::tie(a.owner, a.labels) < std::tie(b.owner, b.labels);
  }
};

struct AttributesRecord {
  Attributes attributes;
  uint32_t users = 0;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_RECORDS_H_
