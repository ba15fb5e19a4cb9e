// Links and addresses.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/grammar/names.h"
#include "client/grammar/values.h"
#include "client/output/objects.h"

namespace sluice::client {
namespace {

constexpr uint64_t kForever = 4294967295;

std::vector<absl::string_view> Flags(const v1::Link& link) {
  std::vector<absl::string_view> flags;
  if (link.up() && !link.state().carrier()) flags.push_back("NO-CARRIER");
  flags.push_back("BROADCAST");
  flags.push_back("MULTICAST");
  if (link.up()) flags.push_back("UP");
  if (link.up() && link.state().carrier()) flags.push_back("LOWER_UP");
  return flags;
}

absl::string_view OperWord(const v1::Link& link) {
  switch (link.state().oper_state()) {
    case v1::OPER_STATE_UP:
      return "UP";
    case v1::OPER_STATE_DOWN:
      return "DOWN";
    case v1::OPER_STATE_NOT_PRESENT:
      return "NOTPRESENT";
    default:
      return "UNKNOWN";
  }
}

const std::string& MacOf(const v1::Link& link) { return link.state().mac().empty() ? link.mac() : link.state().mac(); }

uint32_t MtuOf(const v1::Link& link) { return link.state().mtu() != 0 ? link.state().mtu() : link.mtu(); }

absl::string_view KindWord(const v1::Link& link) { return link.has_port() ? "port" : "unknown"; }

// iproute2's two tables of counters: a heading and a line of numbers, each column as wide as it has to be.
struct Column {
  absl::string_view heading;
  uint64_t value;
};

void AppendTable(absl::string_view end_of_line, absl::string_view label, std::initializer_list<Column> columns,
                 std::string* text) {
  std::string headings = absl::StrCat("    ", label, ":"), values;
  bool first = true;
  for (const Column& column : columns) {
    const std::string value = absl::StrCat(column.value);
    // The first column is right-aligned under a heading that starts after the label.
    const size_t width = std::max(first ? size_t{6} : column.heading.size(), value.size());
    absl::StrAppend(&headings, " ", absl::StrFormat("%*s", static_cast<int>(width), column.heading));
    absl::StrAppend(&values, first ? "        " : " ", absl::StrFormat("%*s", static_cast<int>(width), value));
    first = false;
  }
  absl::StrAppend(text, end_of_line, headings, " ", end_of_line, values, " ");
}

}  // namespace

void PrintLink(const Style& style, const v1::Link& link, bool as_address, std::string* text) {
  const absl::string_view end_of_line = style.oneline ? "\\" : "\n";
  absl::StrAppend(text, link.state().index(), ": ", link.name(), ": <", absl::StrJoin(Flags(link), ","), "> mtu ",
                  MtuOf(link), " state ", OperWord(link), as_address ? "" : " mode DEFAULT", " group default",
                  end_of_line, "    link/ether ", MacOf(link), " brd ff:ff:ff:ff:ff:ff");
  if (style.details) {
    absl::StrAppend(text, " minmtu 68 maxmtu ", link.state().max_mtu(), end_of_line, "    ", KindWord(link));
    if (link.has_port()) {
      absl::StrAppend(text, " devargs ", link.port().devargs(), " driver ", link.state().driver());
      if (!link.state().pci_address().empty()) absl::StrAppend(text, " parentdev ", link.state().pci_address());
      if (link.state().has_numa_node()) absl::StrAppend(text, " numa ", link.state().numa_node());
      if (link.state().speed_mbps() != 0) absl::StrAppend(text, " speed ", link.state().speed_mbps());
    }
    absl::StrAppend(text, " numtxqueues ", link.state().tx_queues(), " numrxqueues ", link.state().rx_queues());
  }
  if (style.statistics) {
    const v1::LinkStatistics& s = link.state().statistics();
    AppendTable(end_of_line, "RX",
                {{"bytes", s.rx_bytes()},
                 {"packets", s.rx_packets()},
                 {"errors", s.rx_errors()},
                 {"dropped", s.rx_dropped()},
                 {" missed", s.rx_missed()},
                 {"  mcast", s.rx_multicast()}},
                text);
    AppendTable(end_of_line, "TX",
                {{"bytes", s.tx_bytes()},
                 {"packets", s.tx_packets()},
                 {"errors", s.tx_errors()},
                 {"dropped", s.tx_dropped()},
                 {"carrier", 0},
                 {"collsns", 0}},
                text);
  }
  text->push_back('\n');
}

void PrintLink(const Style& style, const v1::Link& link, bool as_address, Json* json) {
  json->BeginObject();
  json->Field("ifindex", link.state().index());
  json->Field("ifname", link.name());
  json->BeginArray("flags");
  for (absl::string_view flag : Flags(link)) json->String(flag);
  json->EndArray();
  json->Field("mtu", MtuOf(link));
  json->Field("operstate", OperWord(link));
  if (!as_address) json->Field("linkmode", "DEFAULT");
  json->Field("group", "default");
  json->Field("link_type", "ether");
  json->Field("address", MacOf(link));
  json->Field("broadcast", "ff:ff:ff:ff:ff:ff");
  if (style.details) {
    json->Field("min_mtu", 68);
    json->Field("max_mtu", link.state().max_mtu());
    json->BeginObject("linkinfo");
    json->Field("info_kind", KindWord(link));
    if (link.has_port()) {
      json->BeginObject("info_data");
      json->Field("devargs", link.port().devargs());
      json->Field("driver", link.state().driver());
      if (link.state().has_numa_node()) json->Field("numa_node", link.state().numa_node());
      if (link.state().speed_mbps() != 0) json->Field("speed", link.state().speed_mbps());
      json->EndObject();
    }
    json->EndObject();
    json->Field("num_tx_queues", link.state().tx_queues());
    json->Field("num_rx_queues", link.state().rx_queues());
    if (!link.state().pci_address().empty()) {
      json->Field("parentbus", "pci");
      json->Field("parentdev", link.state().pci_address());
    }
  }
  if (style.statistics) {
    const v1::LinkStatistics& s = link.state().statistics();
    json->BeginObject("stats64");
    json->BeginObject("rx");
    json->Field("bytes", s.rx_bytes());
    json->Field("packets", s.rx_packets());
    json->Field("errors", s.rx_errors());
    json->Field("dropped", s.rx_dropped());
    json->Field("over_errors", s.rx_missed());
    json->Field("multicast", s.rx_multicast());
    json->EndObject();
    json->BeginObject("tx");
    json->Field("bytes", s.tx_bytes());
    json->Field("packets", s.tx_packets());
    json->Field("errors", s.tx_errors());
    json->Field("dropped", s.tx_dropped());
    json->Field("carrier_errors", uint64_t{0});
    json->Field("collisions", uint64_t{0});
    json->EndObject();
    json->EndObject();
  }
}

void PrintAddress(const Style& style, const v1::Link& link, const v1::Address& address, std::string* text) {
  const Family family = FamilyOfText(address.address());
  const bool v4 = family == Family::kIpv4;
  if (style.oneline) absl::StrAppend(text, link.state().index(), ": ", link.name());
  absl::StrAppend(text, "    ", FamilyWord(family), " ", address.address());
  if (address.has_metric()) absl::StrAppend(text, " metric ", address.metric());
  absl::StrAppend(text, " scope ", ScopeWord(address.scope()), " ");
  if (address.state().secondary()) absl::StrAppend(text, "secondary ");
  if (address.noprefixroute()) absl::StrAppend(text, "noprefixroute ");
  if (v4) absl::StrAppend(text, address.link());
  absl::StrAppend(text, style.oneline ? "\\" : "\n", "       valid_lft forever preferred_lft forever\n");
}

void PrintAddress(const Style&, const v1::Address& address, Json* json) {
  const Family family = FamilyOfText(address.address());
  const absl::string_view text = address.address();
  const size_t slash = text.find('/');
  uint32_t length = MaxPrefixLength(family);
  if (slash != absl::string_view::npos) length = ParseNumber(text.substr(slash + 1)).value_or(length);
  json->BeginObject();
  json->Field("family", FamilyWord(family));
  json->Field("local", text.substr(0, slash));
  json->Field("prefixlen", length);
  if (address.has_metric()) json->Field("metric", address.metric());
  json->Field("scope", ScopeWord(address.scope()));
  if (address.state().secondary()) json->FlagField("secondary", true);
  if (address.noprefixroute()) json->FlagField("noprefixroute", true);
  if (family == Family::kIpv4) json->Field("label", address.link());
  json->Field("valid_life_time", kForever);
  json->Field("preferred_life_time", kForever);
  json->EndObject();
}

}  // namespace sluice::client
