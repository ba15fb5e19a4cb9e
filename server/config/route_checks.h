// Names and fixed slots of routes, shared by the files that handle them.
//
// Threads: pure functions.
#ifndef SLUICE_SERVER_CONFIG_ROUTE_CHECKS_H_
#define SLUICE_SERVER_CONFIG_ROUTE_CHECKS_H_

#include <string>

#include "server/config/records.h"

namespace sluice::config {

// "route 10.0.0.0/8 table 254 metric 5", for messages.
std::string NameOfRoute(const RouteId& id);

// The slot that every snapshot has for a type that leads nowhere; 0 for the others.
NexthopIndex FixedNexthop(RouteType type);

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_ROUTE_CHECKS_H_
