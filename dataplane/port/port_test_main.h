#ifndef SLUICE_DATAPLANE_PORT_PORT_TEST_MAIN_H_
#define SLUICE_DATAPLANE_PORT_PORT_TEST_MAIN_H_

#include <string>
#include <vector>

namespace sluice {

// What DPDK has logged so far as warning or error.
std::vector<std::string> LoggedComplaints();

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_PORT_PORT_TEST_MAIN_H_
