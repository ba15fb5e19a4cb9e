#include "server/engine/learned.h"

#include <algorithm>
#include <utility>

#include "server/config/selector.h"

namespace sluice::engine {
namespace {

using config::Matcher;
using config::Operation;
using config::Origin;

bool Has(const std::vector<Origin>& origins, Origin origin) {
  return std::find(origins.begin(), origins.end(), origin) != origins.end();
}

config::NeighborRecord RecordOf(const LearnedNeighbor& learned) {
  config::NeighborRecord record;
  record.mac = learned.mac.value_or(MacAddress());
  record.has_mac = learned.mac.has_value();
  record.router = learned.router;
  record.nud = learned.nud;
  return record;
}

bool Matches(const config::Config& config, const LearnedNeighbor& learned, config::Selector selector) {
  if (!selector.uids.empty()) return false;
  selector.origins.clear();
  const Matcher matcher(config, selector);
  return matcher.Wants(Matcher::kNeighbors) && matcher.WantsFamily(learned.address.family) &&
         matcher.Neighbor(config, {learned.link, learned.address}, RecordOf(learned));
}

bool MeansNeighbors(const Operation& operation) {
  if (operation.verb != config::Verb::kDelete && operation.verb != config::Verb::kFlush) return false;
  if (const auto* object = std::get_if<config::Object>(&operation.target)) {
    return std::holds_alternative<config::Neighbor>(object->value);
  }
  return Has(std::get<config::Selector>(operation.target).origins, Origin::kLearned);
}

}  // namespace

config::Object DescribeLearned(const config::Config& config, const LearnedNeighbor& learned) {
  config::Object object;
  config::Neighbor& neighbor = object.value.emplace<config::Neighbor>();
  neighbor.link = config.LinkName(learned.link);
  neighbor.address = learned.address;
  neighbor.mac = learned.mac;
  neighbor.nud = learned.nud;
  neighbor.router = learned.router;
  neighbor.used_seconds = learned.used_seconds;
  neighbor.confirmed_seconds = learned.confirmed_seconds;
  neighbor.updated_seconds = learned.updated_seconds;
  neighbor.probes = learned.probes;
  neighbor.held_packets = learned.held_packets;
  object.meta.origin = Origin::kLearned;
  return object;
}

bool ChoosesLearned(const config::Config& config, const LearnedNeighbor& learned,
                    const std::vector<config::Selector>& selectors) {
  return selectors.empty() || std::any_of(selectors.begin(), selectors.end(), [&](const config::Selector& selector) {
           return (selector.origins.empty() || Has(selector.origins, Origin::kLearned)) &&
                  Matches(config, learned, selector);
         });
}

std::vector<NeighborKey> TakeLearned(const Runtime& runtime, const config::Config& config,
                                     std::vector<Operation>& operations) {
  std::vector<NeighborKey> out;
  if (std::none_of(operations.begin(), operations.end(), MeansNeighbors)) return out;
  const std::vector<LearnedNeighbor> all = runtime.learned_neighbors();
  for (Operation& operation : operations) {
    if (!MeansNeighbors(operation)) continue;
    const auto* object = std::get_if<config::Object>(&operation.target);
    for (const LearnedNeighbor& learned : all) {
      if (config.neighbors.Find({learned.link, learned.address}) != nullptr) continue;
      if (object != nullptr) {
        const auto& named = std::get<config::Neighbor>(object->value);
        if (named.address != learned.address || config.FindLink(named.link) != learned.link) continue;
        if (named.mac.has_value() && named.mac != learned.mac) continue;
      } else if (!Matches(config, learned, std::get<config::Selector>(operation.target))) {
        continue;
      }
      out.push_back({learned.link, learned.address});
      if (operation.verb == config::Verb::kFlush) continue;
      operation.missing_ok = true;
      break;  // exactly one
    }
  }
  return out;
}

}  // namespace sluice::engine
