#include "dataplane/worker/slow_path_output.h"

#include <cstring>
#include <utility>

#include "dataplane/local/punt.h"

namespace sluice {

SlowPathOutput::SlowPathOutput(Counters::Lane& lane, std::vector<RecordRing*> rings)
    : lane_(lane), rings_(std::move(rings)) {}

bool SlowPathOutput::Inject(LinkIndex link, bool generated, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b,
                            absl::Span<const uint8_t> c) {
  if (rings_.empty()) return false;
  RecordRing& ring = *rings_[ring_ < rings_.size() ? ring_ : turn_++ % rings_.size()];
  const size_t length = a.size() + b.size() + c.size();
  char* at = ring.Reserve(sizeof(InjectHeader) + length);
  if (at == nullptr) return false;
  InjectHeader header;
  header.link = link;
  header.generated = generated;
  header.length = static_cast<uint32_t>(length);
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  for (const absl::Span<const uint8_t> piece : {a, b, c}) {
    if (!piece.empty()) std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  }
  ring.Publish();
  return true;
}

void SlowPathOutput::SendGenerated(LinkIndex link, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b,
                                   absl::Span<const uint8_t> c) {
  if (!Inject(link, /*generated=*/true, a, b, c)) DropGenerated(DropReason::kHandoverFull);
}

void SlowPathOutput::SendForwarded(LinkIndex link, absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  if (Inject(link, /*generated=*/false, a, b, {})) {
    lane_.totals.handed_out.Add(1);
  } else {
    lane_.Drop(DropReason::kHandoverFull);
  }
}

void SlowPathOutput::DropGenerated(DropReason reason) {
  lane_.totals.generated.Add(1);
  lane_.Drop(reason);
}

}  // namespace sluice
