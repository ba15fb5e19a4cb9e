#include "client/run.h"

#include "absl/strings/str_cat.h"
#include "client/batch.h"
#include "client/execute.h"
#include "client/grammar/explain.h"
#include "client/grammar/help.h"
#include "client/grammar/ip.h"
#include "client/options.h"
#include "client/output/reports.h"

#ifndef SLUICE_VERSION
#define SLUICE_VERSION "unknown"
#endif

namespace sluice::client {
namespace {

std::unique_ptr<Connection> Connect(const Options& options, const Environment& environment) {
  auto connection = environment.connect(options.server.empty() ? environment.server : options.server);
  connection->set_timeout(options.timeout);
  return connection;
}

int Say(const Environment& environment, const absl::Status& mistake) {
  environment.err(absl::StrCat(mistake.message(), "\n"));
  return ExitCodeOf(mistake);
}

int RunIp(Options options, Words words, const Environment& environment) {
  if (absl::Status s = TakeOptions(words, &options); !s.ok()) return Say(environment, s);
  if (options.help) {
    environment.out(kHelpIp);
    return 0;
  }
  if (options.batch.has_value()) {
    if (!words.done()) return Say(environment, Garbage("-batch", words.peek()));
    return RunBatch(options, environment, *Connect(options, environment));
  }
  v1::Operation operation;
  Command command(&operation);
  if (absl::Status s = ParseIp(options.ip, words, &command); !s.ok()) return Say(environment, s);
  if (command.kind == Command::Kind::kHelp) {
    environment.out(command.help);
    return 0;
  }
  return Execute(options, environment, command, *Connect(options, environment));
}

// Options may follow the word, and nothing else.
absl::Status OnlyOptions(Words& words, Options* options, absl::string_view command) {
  if (absl::Status s = TakeOptions(words, options); !s.ok()) return s;
  return words.done() ? absl::OkStatus() : Garbage(command, words.peek());
}

int RunStatus(Options options, Words words, const Environment& environment) {
  if (absl::Status s = OnlyOptions(words, &options, "status"); !s.ok()) return Say(environment, s);
  v1::GetStatusResponse response;
  const Outcome outcome = Connect(options, environment)->GetStatus(&response);
  if (!outcome.ok()) return Report(environment, outcome);
  environment.out(StatusReport(options.style, response));
  return 0;
}

int RunCapabilities(Options options, Words words, const Environment& environment) {
  if (absl::Status s = OnlyOptions(words, &options, "capabilities"); !s.ok()) return Say(environment, s);
  v1::GetCapabilitiesResponse response;
  const Outcome outcome = Connect(options, environment)->GetCapabilities(&response);
  if (!outcome.ok()) return Report(environment, outcome);
  environment.out(CapabilitiesReport(options.style, response));
  return 0;
}

int RunExplain(Options options, Words words, const Environment& environment) {
  v1::Operation unused;
  Command command(&unused);
  if (absl::Status s = ParseExplain(words, &command); !s.ok()) return Say(environment, s);
  if (command.kind == Command::Kind::kHelp) {
    environment.out(command.help);
    return 0;
  }
  v1::ExplainResponse response;
  const Outcome outcome = Connect(options, environment)->Explain(*command.explain, &response);
  if (!outcome.ok()) return Report(environment, outcome);
  environment.out(ExplainReport(options.style, response));
  return 0;
}

int RunHelp(Options, Words, const Environment& environment) {
  environment.out(kHelpAll);
  return 0;
}

int RunVersion(Options, Words, const Environment& environment) {
  environment.out("sluicectl " SLUICE_VERSION "\n");
  return 0;
}

struct CommandRow {
  absl::string_view name;
  int (*run)(Options options, Words words, const Environment& environment);
};

// A new command is one row.
constexpr CommandRow kCommands[] = {
    {"ip", RunIp},           {"status", RunStatus}, {"explain", RunExplain}, {"capabilities", RunCapabilities},
    {"version", RunVersion}, {"help", RunHelp},
};

}  // namespace

int Run(const std::vector<std::string>& texts, const Environment& environment) {
  const std::vector<absl::string_view> views(texts.begin(), texts.end());
  Words words(views);
  Options options;
  if (absl::Status s = TakeOptions(words, &options); !s.ok()) return Say(environment, s);
  if (options.help) return RunHelp(options, words, environment);
  if (options.version) return RunVersion(options, words, environment);
  if (words.done()) {
    if (options.batch.has_value()) return RunIp(options, words, environment);
    environment.err(kHelpAll);
    return kExitUsage;
  }
  const absl::string_view word = words.take();
  for (const CommandRow& row : kCommands) {
    if (row.name == word) return row.run(options, words, environment);
  }
  environment.err(absl::StrCat("Command \"", word, "\" is unknown, try \"sluicectl help\".\n"));
  return kExitUsage;
}

}  // namespace sluice::client
