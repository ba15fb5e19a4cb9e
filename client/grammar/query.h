// What of the objects that were read a command shows.
#ifndef SLUICE_CLIENT_GRAMMAR_QUERY_H_
#define SLUICE_CLIENT_GRAMMAR_QUERY_H_

#include "client/grammar/command.h"
#include "sluice/v1/object.pb.h"

namespace sluice::client {

// Whether `object`, which query.request chose, is to be shown. Pure.
bool Shows(const Query& query, const v1::Object& object);

// Whether `request` alone says everything that the query asks for, so that a Selector can stand for it.
bool SelectorSuffices(const Query& query);

// The API's form of a family.
v1::Family ToProto(Family family);

// A new query of the command, with one selector of the family of the options.
Query& StartQuery(Noun noun, Command::Kind kind, const IpOptions& options, Command* command);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_GRAMMAR_QUERY_H_
