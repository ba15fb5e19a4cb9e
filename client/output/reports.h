// Prints what is not an object: status, capabilities, explanations, and `ip route get`.
#ifndef SLUICE_CLIENT_OUTPUT_REPORTS_H_
#define SLUICE_CLIENT_OUTPUT_REPORTS_H_

#include <string>

#include "client/output/style.h"
#include "sluice/v1/capabilities.pb.h"
#include "sluice/v1/explain.pb.h"
#include "sluice/v1/status.pb.h"

namespace sluice::client {

// Each gives text or JSON, as the style says, with the line end.
std::string StatusReport(const Style& style, const v1::GetStatusResponse& status);
std::string CapabilitiesReport(const Style& style, const v1::GetCapabilitiesResponse& capabilities);
std::string ExplainReport(const Style& style, const v1::ExplainResponse& response);

// The answer of `ip route get`. False: `*text` is the error of iproute2 for a destination that cannot be reached
// ("RTNETLINK answers: ..."), whose exit code is 2.
[[nodiscard]] bool RouteGetReport(const Style& style, const v1::ExplainRequest& request,
                                  const v1::ExplainResponse& response, std::string* text);

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_OUTPUT_REPORTS_H_
