// A connection to a Sluice server, and its calls with errors in words.
//
// Why: what a program needs of the API in a few methods, without gRPC in its headers: batches of any size, reads that
// know whether they are whole, refusals with their reason and field.
//
//   Connection connection("unix:/run/sluice/sluice.sock");
//   v1::CommitResponse response;
//   Outcome outcome = connection.Commit(request, &response);
//   if (!outcome.ok()) std::cerr << outcome.Text();
//
// Threads: calls may be made from any thread, also at once. Cost: the connection is made by the first call.
#ifndef SLUICE_CLIENT_CONNECTION_H_
#define SLUICE_CLIENT_CONNECTION_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/outcome.h"
#include "sluice/v1/capabilities.pb.h"
#include "sluice/v1/commit.pb.h"
#include "sluice/v1/explain.pb.h"
#include "sluice/v1/read.pb.h"
#include "sluice/v1/status.pb.h"

namespace grpc {
class Channel;
}

namespace sluice::client {

inline constexpr char kDefaultServer[] = "unix:/run/sluice/sluice.sock";

class BatchWriter;

class Connection {
 public:
  // "unix:PATH", "HOST:PORT", or whatever gRPC takes as a target. Never fails: calls do.
  explicit Connection(const std::string& server);
  // Over a channel that exists; `server` is its name in messages.
  Connection(std::shared_ptr<grpc::Channel> channel, std::string server);
  ~Connection();

  // How long calls may take, but for Read and batches. Not set: for ever.
  void set_timeout(std::optional<std::chrono::milliseconds> timeout) { timeout_ = timeout; }

  Outcome Commit(const v1::CommitRequest& request, v1::CommitResponse* response);
  // Calls `each` for every message. Not OK as well when the stream ended before all was read (DATA_LOSS); what `each`
  // got must then be thrown away.
  Outcome Read(const v1::ReadRequest& request, const std::function<void(const v1::ReadResponse&)>& each);
  Outcome Explain(const v1::ExplainRequest& request, v1::ExplainResponse* response);
  Outcome GetStatus(v1::GetStatusResponse* response);
  Outcome GetCapabilities(v1::GetCapabilitiesResponse* response);

  // A batch of any size, as one change (batch_writer.h). The connection must outlive it.
  std::unique_ptr<BatchWriter> StartBatch(const v1::CommitOptions& options);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
  std::string server_;
  std::optional<std::chrono::milliseconds> timeout_;
};

}  // namespace sluice::client

#endif  // SLUICE_CLIENT_CONNECTION_H_
