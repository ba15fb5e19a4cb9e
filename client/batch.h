// A file of commands: all of it as one atomic change, or all of it reads.
//
// Without -force the first line decides: a file of changes is one batch over CommitStream, in which nothing happens
// before the last line is read and understood; a file of reads is carried out line by line, and the two do not mix.
// With -force each line stands for itself, and lines that fail do not stop the others.
//
// Lines are those of `ip -batch`: words without `ip` (which is allowed), '#' comments, '\' before a line end joins
// lines.
//
// Threads: one per file. Cost: about 1 us a route, 2,000 operations in memory.
#ifndef SLUICE_CLIENT_BATCH_H_
#define SLUICE_CLIENT_BATCH_H_

#include "client/connection.h"
#include "client/options.h"
#include "client/run.h"

namespace sluice::client {

// Runs *options.batch. Gives the exit code: as iproute2, 1 when anything failed.
int RunBatch(const Options& options, const Environment& environment, Connection& connection);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_BATCH_H_
