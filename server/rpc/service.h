// SluiceService over an Engine: decode, hand over, encode.
//
// Why the callback API: a call that waits for workers or for a slow reader holds no thread. Nothing here blocks; what
// takes long is the engine's.
//
//   SluiceService service(engine);
//   builder.RegisterService(&service);
//
// Threads: gRPC's. The service outlives the server.
#ifndef SLUICE_SERVER_RPC_SERVICE_H_
#define SLUICE_SERVER_RPC_SERVICE_H_

#include "server/engine/engine.h"
#include "sluice/v1/service.grpc.pb.h"

namespace sluice::rpc {

class SluiceService final : public v1::SluiceService::CallbackService {
 public:
  explicit SluiceService(engine::Engine& engine) : engine_(engine) {}

  // Refused for what DecodeOperation and DecodeOptions refuse, for TOO_MANY_REQUESTS, NOT_READY and SHUTTING_DOWN, and
  // for what the engine and config refuse.
  grpc::ServerUnaryReactor* Commit(grpc::CallbackServerContext* context, const v1::CommitRequest* request,
                                   v1::CommitResponse* response) override;
  // The same for each batch, as an answer in the stream. The stream ends with STREAM_ORDER for a part that does not
  // belong where it is.
  grpc::ServerBidiReactor<v1::CommitStreamRequest, v1::CommitStreamResponse>* CommitStream(
      grpc::CallbackServerContext* context) override;
  // Refused for what DecodeSelector refuses; ends with READ_EXPIRED when the reader stalls.
  grpc::ServerWriteReactor<v1::ReadResponse>* Read(grpc::CallbackServerContext* context,
                                                   const v1::ReadRequest* request) override;
  // Refused for UNKNOWN_LINK, INVALID_PACKET, INVALID_ADDRESS, INVALID_MAC, FIELD_MISSING, VALUE_OUT_OF_RANGE.
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const v1::ExplainRequest* request,
                                    v1::ExplainResponse* response) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override;
  grpc::ServerUnaryReactor* GetCapabilities(grpc::CallbackServerContext* context,
                                            const v1::GetCapabilitiesRequest* request,
                                            v1::GetCapabilitiesResponse* response) override;

 private:
  engine::Engine& engine_;
};

}  // namespace sluice::rpc

#endif  // SLUICE_SERVER_RPC_SERVICE_H_
