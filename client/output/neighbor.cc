// Neighbours.
#include "absl/strings/str_cat.h"
#include "client/grammar/names.h"
#include "client/output/objects.h"

namespace sluice::client {

void PrintNeighbor(const Style& style, const Query& query, const v1::Neighbor& neighbor, std::string* text) {
  const v1::NeighborState& state = neighbor.state();
  absl::StrAppend(text, neighbor.address(), " ");
  if (!query.hide_dev) absl::StrAppend(text, "dev ", neighbor.link(), " ");
  if (!state.lladdr().empty()) absl::StrAppend(text, "lladdr ", state.lladdr(), " ");
  if (state.router()) absl::StrAppend(text, "router ");
  if (style.statistics) {
    absl::StrAppend(text, "used ", state.used_seconds(), "/", state.confirmed_seconds(), "/", state.updated_seconds(),
                    " probes ", state.probes(), " ");
    if (state.held_packets() != 0) absl::StrAppend(text, "held ", state.held_packets(), " ");
  }
  absl::StrAppend(text, NudWord(state.nud()), " \n");
}

void PrintNeighbor(const Style& style, const Query& query, const v1::Neighbor& neighbor, Json* json) {
  const v1::NeighborState& state = neighbor.state();
  json->BeginObject();
  json->Field("dst", neighbor.address());
  if (!query.hide_dev) json->Field("dev", neighbor.link());
  if (!state.lladdr().empty()) json->Field("lladdr", state.lladdr());
  if (state.router()) {
    json->Key("router");
    json->Null();
  }
  if (style.statistics) {
    json->Field("used", state.used_seconds());
    json->Field("confirmed", state.confirmed_seconds());
    json->Field("updated", state.updated_seconds());
    json->Field("probes", state.probes());
    json->Field("held", state.held_packets());
  }
  json->BeginArray("state");
  const absl::string_view word = NudWord(state.nud());
  if (!word.empty()) json->String(word);
  json->EndArray();
  json->EndObject();
}

}  // namespace sluice::client
