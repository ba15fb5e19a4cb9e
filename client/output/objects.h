// Prints objects as iproute2 6.1 prints them: text, or JSON with the same keys.
//
// Why a printer of a stream: a table of a million routes is printed while it arrives. Addresses are the exception: they
// are shown under their links, so both are kept until Finish().
//
//   ObjectPrinter printer(style, query, sink);
//   for (const v1::Object& object : response.objects()) printer.Print(object);
//   printer.Finish();
//
// Objects that the query does not show (query.h) are left out. What Sluice does not have (qdisc, group, qlen) is not
// printed, but for the keys that scripts rely on.
//
// Threads: one per printer. Cost: under 1 us an object.
#ifndef SLUICE_CLIENT_OUTPUT_OBJECTS_H_
#define SLUICE_CLIENT_OUTPUT_OBJECTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/grammar/query.h"
#include "client/output/json.h"
#include "client/output/style.h"
#include "sluice/v1/explain.pb.h"
#include "sluice/v1/object.pb.h"

namespace sluice::client {

class ObjectPrinter {
 public:
  // `query` and `sink` must outlive the printer.
  ObjectPrinter(const Style& style, const Query& query, const Sink& sink);

  void Print(const v1::Object& object);
  // Prints what is left. Once, after the last Print().
  void Finish();
  // How many links, neighbours or routes were shown.
  uint64_t shown() const { return shown_; }

 private:
  void Drain(size_t limit);

  const Style style_;
  const Query& query_;
  const Sink& sink_;
  std::string text_;
  Json json_;
  uint64_t shown_ = 0;
  std::vector<v1::Link> links_;                                // kAddress only
  std::map<std::string, std::vector<v1::Address>> addresses_;  // by link
};

// One object of each kind, as a line (or more) of text, or as an object of JSON.
void PrintLink(const Style& style, const v1::Link& link, bool as_address, std::string* text);
void PrintLink(const Style& style, const v1::Link& link, bool as_address, Json* json);  // leaves the object open
void PrintAddress(const Style& style, const v1::Link& link, const v1::Address& address, std::string* text);
void PrintAddress(const Style& style, const v1::Address& address, Json* json);
void PrintNeighbor(const Style& style, const Query& query, const v1::Neighbor& neighbor, std::string* text);
void PrintNeighbor(const Style& style, const Query& query, const v1::Neighbor& neighbor, Json* json);
void PrintRoute(const Style& style, const Query& query, const v1::Object& object, std::string* text);
void PrintRoute(const Style& style, const Query& query, const v1::Object& object, Json* json);

// The prefix as `ip` shows it: "default", or without the length when it is a host's.
std::string ShownPrefix(absl::string_view prefix);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OUTPUT_OBJECTS_H_
