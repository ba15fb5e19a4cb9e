// Carries out single commands of `ip` over a connection.
#ifndef SLUICE_CLIENT_EXECUTE_H_
#define SLUICE_CLIENT_EXECUTE_H_

#include "client/connection.h"
#include "client/grammar/command.h"
#include "client/options.h"
#include "client/run.h"

namespace sluice::client {

// Runs one command: a change is a commit of its own. Gives the exit code; says on environment.err what went wrong.
int Execute(const Options& options, const Environment& environment, const Command& command, Connection& connection);

// Says what went wrong, "Error: ...", and gives the exit code.
int Report(const Environment& environment, const Outcome& outcome);
// Says what a commit that went well has to tell: workers that lag, or the problems of a dry run.
int Report(const Environment& environment, const v1::CommitOptions& options, const v1::CommitResponse& response);

// "Error: " and the message, field and reason of a problem, with the line end.
std::string ProblemText(const v1::Problem& problem);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_EXECUTE_H_
