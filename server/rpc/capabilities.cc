#include "server/rpc/capabilities.h"

#include <initializer_list>

#include "server/config/apply.h"
#include "server/engine/runtime.h"
#include "server/rpc/status.h"

namespace sluice::rpc {
namespace {

void AddKind(const char* kind, std::initializer_list<v1::Verb> verbs, std::initializer_list<const char*> variants,
             v1::GetCapabilitiesResponse* out) {
  v1::KindCapability* k = out->add_kinds();
  k->set_kind(kind);
  for (const v1::Verb verb : verbs) k->add_verbs(verb);
  for (const char* variant : variants) k->add_variants(variant);
}

}  // namespace

void FillCapabilities(engine::Engine& engine, v1::GetCapabilitiesResponse* out) {
  out->set_version(SLUICE_VERSION);
  out->set_api_version("sluice.v1");
  using namespace v1;  // NOLINT(google-build-using-namespace): names of verbs
  AddKind("link", {VERB_ADD, VERB_REPLACE, VERB_CHANGE, VERB_DELETE, VERB_FLUSH}, {"port"}, out);
  AddKind("address", {VERB_ADD, VERB_REPLACE, VERB_CHANGE, VERB_DELETE, VERB_FLUSH}, {"ipv4", "ipv6"}, out);
  AddKind("neighbor", {VERB_ADD, VERB_REPLACE, VERB_CHANGE, VERB_DELETE, VERB_FLUSH}, {"permanent", "noarp"}, out);
  AddKind("route", {VERB_ADD, VERB_REPLACE, VERB_CHANGE, VERB_APPEND, VERB_PREPEND, VERB_DELETE, VERB_FLUSH},
          {"unicast", "local", "broadcast", "blackhole", "unreachable", "prohibit", "throw"}, out);
  const engine::Limits& limits = engine.limits();
  const config::Limits config;
  v1::Limits* l = out->mutable_limits();
  l->set_message_bytes(limits.message_bytes);
  l->set_operations_per_commit(limits.operations_per_commit);
  l->set_links(config.links);
  l->set_addresses(config.addresses);
  l->set_neighbors(engine.runtime().adjacencies().capacity());
  l->set_routes(config.routes);
  l->set_tables(config.tables);
  l->set_nexthops_per_route(1);
  l->set_counted_routes(Counters::kChunkCells * Counters::kMaxChunks);
  l->set_retired_bytes(limits.retired_bytes);
  l->set_violations_per_error(kMaxViolations);
  out->set_instruction_set(engine.runtime().instruction_set());
  for (const std::string& driver : engine.runtime().drivers()) out->add_drivers(driver);
}

}  // namespace sluice::rpc
