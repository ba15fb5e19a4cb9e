// Status and capabilities.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/output/json.h"
#include "client/output/reports.h"

namespace sluice::client {
namespace {

absl::string_view HealthWord(v1::WorkerHealth health) {
  switch (health) {
    case v1::WORKER_HEALTH_POLLING:
      return "polling";
    case v1::WORKER_HEALTH_IDLE:
      return "idle";
    case v1::WORKER_HEALTH_STALLED:
      return "stalled";
    default:
      return "unknown";
  }
}

std::string VerbWord(int verb) {
  const std::string name = v1::Verb_Name(static_cast<v1::Verb>(verb));
  return absl::AsciiStrToLower(absl::StripPrefix(name, "VERB_"));
}

struct NamedLimit {
  absl::string_view name;
  uint64_t value;
};

std::vector<NamedLimit> LimitsOf(const v1::Limits& limits) {
  return {{"message_bytes", limits.message_bytes()},
          {"operations_per_commit", limits.operations_per_commit()},
          {"links", limits.links()},
          {"addresses", limits.addresses()},
          {"neighbors", limits.neighbors()},
          {"routes", limits.routes()},
          {"tables", limits.tables()},
          {"nexthops_per_route", limits.nexthops_per_route()},
          {"counted_routes", limits.counted_routes()},
          {"retired_bytes", limits.retired_bytes()},
          {"violations_per_error", limits.violations_per_error()}};
}

std::string StatusText(const v1::GetStatusResponse& status) {
  std::string text =
      absl::StrCat("instance ", status.instance_id(), " version ", status.version(), " up ", status.uptime().seconds(),
                   "s ", status.ready() ? "ready" : "not ready", "\ngeneration ", status.generation(), " epoch ",
                   status.epoch(), " retired ", status.retired_bytes(), " bytes\n");
  for (const v1::WorkerStatus& worker : status.workers()) {
    absl::StrAppend(&text, "worker ", worker.index(), " cpu ", worker.cpu(), " epoch ", worker.epoch(), " ",
                    HealthWord(worker.health()), " queues");
    for (const v1::QueueStatus& queue : worker.rx_queues())
      absl::StrAppend(&text, " ", queue.link(), ":", queue.queue());
    if (worker.rx_queues().empty()) absl::StrAppend(&text, " none");
    text.push_back('\n');
  }
  for (const v1::PortStatus& port : status.ports()) {
    absl::StrAppend(&text, "port ", port.name(), " ", port.driver());
    if (!port.pci_address().empty()) absl::StrAppend(&text, " ", port.pci_address());
    absl::StrAppend(&text, " ", port.mac(), port.up() ? " up" : " down");
    if (port.speed_mbps() != 0) absl::StrAppend(&text, " ", port.speed_mbps(), " Mbit/s");
    absl::StrAppend(&text, " queues rx ", port.rx_queues(), " tx ", port.tx_queues());
    if (!port.problem().empty()) absl::StrAppend(&text, " problem: ", port.problem());
    text.push_back('\n');
  }
  for (const std::string& warning : status.warnings()) absl::StrAppend(&text, "warning: ", warning, "\n");
  return text;
}

}  // namespace

std::string StatusReport(const Style& style, const v1::GetStatusResponse& status) {
  if (!style.json) return StatusText(status);
  std::string text;
  Json json(&text, style.pretty);
  json.BeginObject();
  json.Field("instance_id", status.instance_id());
  json.Field("generation", status.generation());
  json.Field("epoch", status.epoch());
  json.Field("version", status.version());
  json.Field("start_time", static_cast<uint64_t>(status.start_time().seconds()));
  json.Field("uptime_seconds", static_cast<uint64_t>(status.uptime().seconds()));
  json.FlagField("ready", status.ready());
  json.Field("retired_bytes", status.retired_bytes());
  json.BeginArray("workers");
  for (const v1::WorkerStatus& worker : status.workers()) {
    json.BeginObject();
    json.Field("index", worker.index());
    json.Field("cpu", worker.cpu());
    json.Field("epoch", worker.epoch());
    json.Field("health", HealthWord(worker.health()));
    json.Field("heartbeat_age_ms", static_cast<uint64_t>(worker.heartbeat_age().seconds() * 1000 +
                                                         worker.heartbeat_age().nanos() / 1000000));
    json.BeginArray("rx_queues");
    for (const v1::QueueStatus& queue : worker.rx_queues()) {
      json.BeginObject();
      json.Field("dev", queue.link());
      json.Field("queue", queue.queue());
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.BeginArray("ports");
  for (const v1::PortStatus& port : status.ports()) {
    json.BeginObject();
    json.Field("name", port.name());
    json.Field("driver", port.driver());
    if (!port.pci_address().empty()) json.Field("pci_address", port.pci_address());
    json.Field("mac", port.mac());
    json.FlagField("up", port.up());
    json.Field("speed_mbps", port.speed_mbps());
    json.Field("rx_queues", port.rx_queues());
    json.Field("tx_queues", port.tx_queues());
    if (!port.problem().empty()) json.Field("problem", port.problem());
    json.EndObject();
  }
  json.EndArray();
  json.BeginArray("warnings");
  for (const std::string& warning : status.warnings()) json.String(warning);
  json.EndArray();
  json.EndObject();
  text.push_back('\n');
  return text;
}

std::string CapabilitiesReport(const Style& style, const v1::GetCapabilitiesResponse& capabilities) {
  std::string text;
  if (!style.json) {
    absl::StrAppend(&text, "version ", capabilities.version(), " api ", capabilities.api_version(), " instruction set ",
                    capabilities.instruction_set(), "\n");
    for (const v1::KindCapability& kind : capabilities.kinds()) {
      absl::StrAppend(&text, "kind ", kind.kind(), ":");
      for (int verb : kind.verbs()) absl::StrAppend(&text, " ", VerbWord(verb));
      if (!kind.variants().empty()) absl::StrAppend(&text, " (", absl::StrJoin(kind.variants(), ", "), ")");
      text.push_back('\n');
    }
    for (const NamedLimit& limit : LimitsOf(capabilities.limits())) {
      absl::StrAppend(&text, "limit ", limit.name, " ", limit.value == 0 ? "none" : absl::StrCat(limit.value), "\n");
    }
    absl::StrAppend(&text, "drivers ", absl::StrJoin(capabilities.drivers(), " "), "\n");
    return text;
  }
  Json json(&text, style.pretty);
  json.BeginObject();
  json.Field("version", capabilities.version());
  json.Field("api_version", capabilities.api_version());
  json.Field("instruction_set", capabilities.instruction_set());
  json.BeginArray("kinds");
  for (const v1::KindCapability& kind : capabilities.kinds()) {
    json.BeginObject();
    json.Field("kind", kind.kind());
    json.BeginArray("verbs");
    for (int verb : kind.verbs()) json.String(VerbWord(verb));
    json.EndArray();
    json.BeginArray("variants");
    for (const std::string& variant : kind.variants()) json.String(variant);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.BeginObject("limits");
  for (const NamedLimit& limit : LimitsOf(capabilities.limits())) json.Field(limit.name, limit.value);
  json.EndObject();
  json.BeginArray("drivers");
  for (const std::string& driver : capabilities.drivers()) json.String(driver);
  json.EndArray();
  json.EndObject();
  text.push_back('\n');
  return text;
}

}  // namespace sluice::client
