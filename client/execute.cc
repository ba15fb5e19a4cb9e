#include "client/execute.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/grammar/query.h"
#include "client/output/objects.h"
#include "client/output/reports.h"

namespace sluice::client {
namespace {

// A batch of one needs no numbers: "object.route.prefix" for "operations[0].object.route.prefix".
Outcome WithoutIndex(Outcome outcome) {
  for (size_t i = 0; i < outcome.violations.size(); ++i) {
    Violation& violation = outcome.violations[i];
    absl::string_view field = violation.field;
    if (!absl::ConsumePrefix(&field, "operations[0]")) continue;
    absl::ConsumePrefix(&field, ".");
    violation.field = std::string(field);
    if (i == 0 && !violation.description.empty()) outcome.message = violation.description;
  }
  return outcome;
}

int Change(const Options& options, const Environment& environment, const v1::Operation& operation,
           Connection& connection) {
  v1::CommitRequest request;
  *request.mutable_options() = options.commit;
  *request.add_operations() = operation;
  v1::CommitResponse response;
  const Outcome outcome = WithoutIndex(connection.Commit(request, &response));
  return outcome.ok() ? Report(environment, options.commit, response) : Report(environment, outcome);
}

int Show(const Options& options, const Environment& environment, const Query& query, Connection& connection) {
  // Of a link that does not exist nothing is printed, not even an empty list: so what is about one link waits.
  const bool waits = !query.link.empty();
  bool link_seen = false;
  std::string held;
  const Sink hold = [&held](absl::string_view text) { held.append(text.data(), text.size()); };
  ObjectPrinter printer(options.style, query, waits ? hold : environment.out);
  const Outcome outcome = connection.Read(query.request, [&](const v1::ReadResponse& response) {
    for (const v1::Object& object : response.objects()) {
      if (object.has_link()) link_seen = true;
      printer.Print(object);
    }
  });
  if (!outcome.ok()) return Report(environment, outcome);
  if (waits && !link_seen) {
    environment.err(absl::StrCat("Device \"", query.link, "\" does not exist.\n"));
    return kExitFailed;
  }
  printer.Finish();
  if (waits) environment.out(held);
  return 0;
}

int Get(const Options& options, const Environment& environment, const Query& query, Connection& connection) {
  ObjectPrinter printer(options.style, query, environment.out);
  const Outcome outcome = connection.Read(query.request, [&](const v1::ReadResponse& response) {
    for (const v1::Object& object : response.objects()) printer.Print(object);
  });
  if (!outcome.ok()) return Report(environment, outcome);
  if (printer.shown() == 0) {
    environment.err("Error: Neighbour entry not found.\n");
    return kExitRefused;
  }
  printer.Finish();
  return 0;
}

int Flush(const Options& options, const Environment& environment, const Query& query, Connection& connection) {
  // What a selector cannot say is chosen here, and named by uid; the generation must not move in between.
  v1::CommitRequest request;
  *request.mutable_options() = options.commit;
  v1::Operation& operation = *request.add_operations();
  operation.set_verb(v1::VERB_FLUSH);
  v1::ReadRequest read = query.request;
  for (v1::Selector& selector : *read.mutable_selectors()) {
    if (selector.origins().empty()) selector.add_origins(v1::ORIGIN_CONFIGURED);
    for (int origin : selector.origins()) {
      operation.mutable_selector()->add_origins(static_cast<v1::Origin>(origin));
    }
  }
  const Outcome outcome = connection.Read(read, [&](const v1::ReadResponse& response) {
    if (!request.options().has_expected_generation()) {
      request.mutable_options()->set_expected_generation(response.generation());
    }
    for (const v1::Object& object : response.objects()) {
      if (Shows(query, object)) operation.mutable_selector()->add_uids(object.meta().uid());
    }
  });
  if (!outcome.ok()) return Report(environment, outcome);
  if (operation.selector().uids().empty()) return 0;
  v1::CommitResponse response;
  const Outcome committed = WithoutIndex(connection.Commit(request, &response));
  return committed.ok() ? Report(environment, options.commit, response) : Report(environment, committed);
}

int Lookup(const Options& options, const Environment& environment, const v1::ExplainRequest& request,
           Connection& connection) {
  v1::ExplainResponse response;
  const Outcome outcome = connection.Explain(request, &response);
  if (!outcome.ok()) return Report(environment, outcome);
  std::string text;
  if (RouteGetReport(options.style, request, response, &text)) {
    environment.out(text);
    return 0;
  }
  environment.err(text);
  return kExitRefused;
}

}  // namespace

std::string ProblemText(const v1::Problem& problem) {
  const std::string name = v1::Reason_Name(problem.reason());
  std::string text = absl::StrCat("Error: ", problem.message(), " [", absl::StripPrefix(name, "REASON_"),
                                  problem.field().empty() ? "" : ", ", problem.field(), "]");
  if (!problem.users().empty()) absl::StrAppend(&text, " used by: ", absl::StrJoin(problem.users(), "; "));
  text.push_back('\n');
  return text;
}

int Report(const Environment& environment, const Outcome& outcome) {
  if (outcome.ok()) return 0;
  environment.err(absl::StrCat("Error: ", outcome.Text(), "\n"));
  // One violation is part of the line above.
  for (size_t i = 1; i < outcome.violations.size(); ++i) {
    environment.err(
        absl::StrCat("Error: ", outcome.violations[i].description, " [", outcome.violations[i].field, "]\n"));
  }
  return outcome.unreachable ? kExitFailed : kExitRefused;
}

int Report(const Environment& environment, const v1::CommitOptions& options, const v1::CommitResponse& response) {
  bool refused = false;
  for (const v1::OperationResult& result : response.results()) {
    if (!result.has_problem()) continue;
    environment.err(ProblemText(result.problem()));
    refused = true;
  }
  if (refused) return kExitRefused;
  if (options.ack() != v1::ACK_ACCEPTED && !options.validate_only() && response.reached() == v1::ACK_ACCEPTED) {
    environment.err(
        absl::StrCat("Warning: done, but not yet visible to: ", absl::StrJoin(response.lagging_workers(), ", "), "\n"));
  }
  return 0;
}

int Execute(const Options& options, const Environment& environment, const Command& command, Connection& connection) {
  switch (command.kind) {
    case Command::Kind::kChange:
      return Change(options, environment, *command.operation, connection);
    case Command::Kind::kShow:
      return Show(options, environment, *command.query, connection);
    case Command::Kind::kGet:
      return Get(options, environment, *command.query, connection);
    case Command::Kind::kFlush:
      return Flush(options, environment, *command.query, connection);
    case Command::Kind::kLookup:
      return Lookup(options, environment, *command.explain, connection);
    case Command::Kind::kHelp:
      environment.out(command.help);
      return 0;
  }
  return kExitUsage;
}

}  // namespace sluice::client
