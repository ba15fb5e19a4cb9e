// What ARP and ND messages do to the table: the rules of learning.
#include <optional>

#include "dataplane/neighbor/arp.h"
#include "dataplane/neighbor/nd.h"
#include "dataplane/neighbor/neighbor_entry.h"
#include "dataplane/neighbor/neighbor_machine.h"

namespace sluice {

using neighbor_internal::IsFixed;
using neighbor_internal::IsValid;

// A claim meets what is known. The rules of RFC 4861 §7.2.5, in the form in which Linux applies them to ARP as well.
void NeighborMachine::Apply(Entry& e, const Claim& claim, Nanos now) {
  if (IsFixed(e.state)) return;
  const bool known = IsValid(e.state);
  if (!known && !claim.mac.has_value()) return;
  MacAddress mac = claim.mac.value_or(e.mac);
  NeighborState state = claim.state;
  if (known && mac != e.mac && !claim.override_mac) {
    if (!claim.weak || e.state != NeighborState::kReachable) return;
    mac = e.mac;
    state = NeighborState::kStale;
  } else if (known && mac == e.mac && state == NeighborState::kStale) {
    state = e.state;  // what was known already, and proves nothing
  }
  if (state == NeighborState::kReachable) e.confirmed = now;
  if (known && mac == e.mac && state == e.state && state != NeighborState::kReachable) return;
  if (mac != e.mac || state != e.state) e.updated = now;
  e.mac = mac;
  Enter(e, state, now);
  if (!known) ReleaseQueue(e, now);
}

void NeighborMachine::Learn(const NeighborKey& key, bool create, const Claim& claim, Nanos now) {
  Entry* e = Find(key);
  if (e == nullptr && create && claim.mac.has_value()) e = Create(key, /*unresolved=*/false, now);
  if (e != nullptr) Apply(*e, claim, now);
}

bool NeighborMachine::OnArp(LinkIndex link, absl::Span<const uint8_t> frame, Nanos now) {
  const std::optional<ArpMessage> m = ParseArp(frame);
  if (!m.has_value()) return false;
  const NeighborHost::Link own = host_.GetLink(link);
  // Our own frame come back, and whoever claims an address of ours, teach us nothing.
  if (!own.up || m->sender_mac == own.mac) return true;
  const bool probe = m->sender.IsZero();
  if (!probe && host_.IsOwnAddress(link, m->sender)) return true;
  const bool for_us = !m->reply && !m->target.IsZero() && host_.IsOwnAddress(link, m->target);
  if (for_us) {
    host_.SendFrame(link, ArpReply(own.mac, m->target, *m));
    stats_.answers.Add(1);
  }
  if (probe) return true;

  Claim claim;
  claim.mac = m->sender_mac;
  // Only an answer that was sent to us proves that the sender hears us.
  const bool to_us = m->frame_destination == own.mac;
  claim.state = m->reply && to_us ? NeighborState::kReachable : NeighborState::kStale;
  const NeighborKey key{link, m->sender};
  const Entry* e = Find(key);
  // Of several answers that follow each other, the first one holds: another may come from a proxy.
  claim.override_mac = e == nullptr || m->gratuitous() || now >= e->updated + options_.locktime;
  Learn(key, /*create=*/for_us, claim, now);
  return true;
}

bool NeighborMachine::OnNd(LinkIndex link, absl::Span<const uint8_t> packet, uint32_t l4_offset, MacAddress source_mac,
                           Nanos now) {
  const std::optional<NdMessage> m = ParseNd(packet, l4_offset);
  if (!m.has_value()) return false;
  const NeighborHost::Link own = host_.GetLink(link);
  if (!own.up || m->kind == NdMessage::Kind::kOther || source_mac == own.mac) return true;
  const bool own_target = host_.IsOwnAddress(link, m->target);

  if (m->kind == NdMessage::Kind::kSolicit) {
    if (!own_target) return true;
    if (!m->source.IsZero()) {
      if (host_.IsOwnAddress(link, m->source)) return true;
      Learn({link, m->source}, /*create=*/true,
            {.mac = m->mac, .state = NeighborState::kStale, .override_mac = true, .weak = true}, now);
    }
    // Without a source option the answer goes back where the frame came from; nothing is learned from that.
    const MacAddress to = m->mac.value_or(source_mac);
    if (!m->source.IsZero() && (to.IsZero() || to.IsMulticast())) return false;
    host_.SendFrame(link, NeighborAdvert(own.mac, *m, to, own.router6));
    stats_.answers.Add(1);
    return true;
  }

  if (own_target) return true;  // somebody else claims our address
  Entry* e = Find({link, m->target});
  // Never creates; and an entry that failed is as good as none (RFC 4861 §7.2.5).
  if (e == nullptr || e->state == NeighborState::kFailed || IsFixed(e->state)) return true;
  const bool known = IsValid(e->state);
  if (!known && !m->mac.has_value()) return true;
  const bool ignored = known && m->mac.has_value() && *m->mac != e->mac && !m->overrides;
  Apply(*e,
        {.mac = m->mac,
         .state = m->solicited ? NeighborState::kReachable : NeighborState::kStale,
         .override_mac = m->overrides,
         .weak = true},
        now);
  if (!ignored) e->router = m->router;
  return true;
}

}  // namespace sluice
