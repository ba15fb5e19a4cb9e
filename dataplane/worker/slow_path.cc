#include "dataplane/worker/slow_path.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "dataplane/packet/headers.h"

namespace sluice {
namespace {

// How often the entries that wait for their grace period are looked after, should nobody else publish or reclaim.
constexpr Nanos kReclaimEvery = 100 * kMillisecond;
constexpr size_t kMaxPacket = 65536;

Nanos Clock() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanos>(t.tv_sec) * kSecond + static_cast<Nanos>(t.tv_nsec);
}

std::vector<RecordRing*> ToWorkers(const std::vector<SlowPath::RingPair>& rings) {
  std::vector<RecordRing*> to_workers;
  for (const SlowPath::RingPair& pair : rings) to_workers.push_back(pair.to_worker);
  return to_workers;
}

uint64_t RandomWord() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

EthernetHeader Ethernet(MacAddress source, MacAddress destination, Family family) {
  EthernetHeader header;
  header.destination = destination;
  header.source = source;
  header.type = family == Family::kIpv6 ? kEtherTypeIpv6 : kEtherTypeIpv4;
  return header;
}

absl::Span<const uint8_t> Bytes(const EthernetHeader& header) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof header);
}

}  // namespace

SlowPath::SlowPath(Publisher& publisher, Counters::Lane& lane, AdjacencyTable& adjacencies, std::vector<RingPair> rings)
    : publisher_(publisher),
      adjacencies_(adjacencies),
      rings_(std::move(rings)),
      reader_(publisher.AddReader("slow-path")),
      output_(lane, ToWorkers(rings_)),
      machine_(adjacencies, *this),
      limiter_(IcmpRateLimitSettings{}, {RandomWord(), RandomWord()}),
      random_{RandomWord(), RandomWord() | 1},
      ip_id_(static_cast<uint16_t>(RandomWord())),
      reply_(kMaxPacket),
      recycling_(std::make_shared<std::atomic<int64_t>>(0)) {}

SlowPath::~SlowPath() {
  Stop();
  reader_->Offline();
  publisher_.RemoveReader(reader_);
}

// ---- The thread ----------------------------------------------------------------------------------------------------

void SlowPath::Start() {
  if (thread_.joinable()) return;
  stop_.store(false);
  running_.store(true);
  thread_ = std::thread([this] { Run(); });
}

void SlowPath::Stop() {
  if (!thread_.joinable()) return;
  stop_.store(true);
  Wake();
  thread_.join();
  absl::MutexLock lock(&command_mutex_);  // who waits for commands sees it
  running_.store(false);
}

void SlowPath::Run() {
  pthread_setname_np(pthread_self(), "slow-path");
  while (!stop_.load(std::memory_order_relaxed)) {
    // A mutex is not fair: without this a busy slow path would keep it from who wants to look.
    while (dumps_waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
    if (RunOnce(Clock()) > 0) continue;
    // Offline, so that neither a grace period nor an ack waits for the sleep to end.
    reader_->Offline();
    Sleep();
  }
  reader_->Offline();
}

bool SlowPath::Idle() {
  for (const RingPair& ring : rings_) {
    if (!ring.from_worker->Front().empty()) return false;
  }
  absl::MutexLock lock(&command_mutex_);
  return commands_.empty();
}

void SlowPath::Sleep() {
  static_assert(sizeof(sleeping_) == 4 && std::atomic<uint32_t>::is_always_lock_free);
  sleeping_.store(1, std::memory_order_seq_cst);
  if (Idle() && !stop_.load(std::memory_order_seq_cst)) {
    const timespec timeout{0, static_cast<long>(kLongestSleep)};  // NOLINT: timespec's type
    syscall(SYS_futex, &sleeping_, FUTEX_WAIT_PRIVATE, 1, &timeout, nullptr, 0);
  }
  sleeping_.store(0, std::memory_order_relaxed);
}

void SlowPath::Wake() {
  // Without a fence between the caller's Publish and this load, a thread that is just falling asleep may be missed: it
  // wakes by itself after kLongestSleep.
  if (sleeping_.load(std::memory_order_relaxed) == 0) return;
  if (sleeping_.exchange(0) == 1) syscall(SYS_futex, &sleeping_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

size_t SlowPath::RunOnce(Nanos now) {
  size_t work = 0;
  {
    absl::MutexLock lock(&state_mutex_);
    now_ = std::max(now_, now);
    snapshot_ = reader_->Enter();
    work += ApplyCommands();
    for (size_t ring = 0; ring < rings_.size(); ++ring) {
      output_.UseRing(ring);
      for (size_t n = 0; n < kRecordsPerRing; ++n, ++work) {
        const absl::Span<const char> record = rings_[ring].from_worker->Front();
        if (record.empty()) break;
        Handle(record, ring);
        rings_[ring].from_worker->Pop();
      }
    }
    output_.UseRing(SlowPathOutput::kAnyRing);
    work += machine_.OnTimers(now_, kTimersPerRound);
    SendLateErrors();
    snapshot_ = nullptr;
    reader_->Quiesce();
  }
  ReclaimSometimes();
  return work;
}

// The writer reclaims what it has published. When it is quiet, removed neighbours would wait for its next commit.
void SlowPath::ReclaimSometimes() {
  if (recycling_->load(std::memory_order_relaxed) == 0 || now_ < reclaim_at_) return;
  reclaim_at_ = now_ + kReclaimEvery;
  publisher_.Reclaim();
}

// ---- Commands ------------------------------------------------------------------------------------------------------

void SlowPath::Push(Command command) {
  {
    absl::MutexLock lock(&command_mutex_);
    commands_.push_back(std::move(command));
    ++commands_pushed_;
  }
  Wake();
}

size_t SlowPath::ApplyCommands() {
  std::vector<Command> batch;
  {
    absl::MutexLock lock(&command_mutex_);
    const size_t n = std::min(commands_.size(), kCommandsPerRound);
    if (n == 0) return 0;
    batch.assign(std::make_move_iterator(commands_.begin()), std::make_move_iterator(commands_.begin() + n));
    commands_.erase(commands_.begin(), commands_.begin() + n);
  }
  for (const Command& command : batch) Apply(command);
  absl::MutexLock lock(&command_mutex_);
  commands_applied_ += batch.size();
  return batch.size();
}

void SlowPath::Apply(const Command& command) {
  switch (command.kind) {
    case Command::Kind::kSetPermanent:
      machine_.SetPermanent(command.index, command.mac, command.state, now_);
      break;
    case Command::Kind::kRemove:
      machine_.Remove(command.key);
      break;
    case Command::Kind::kFlush:
      machine_.Flush(command.key.link, command.key.address.family);
      break;
    case Command::Kind::kRemoveLink:
      machine_.RemoveLink(command.key.link);
      break;
    case Command::Kind::kIcmpLimits:
      limiter_.Configure(command.limits);
      break;
  }
}

absl::Status SlowPath::SetPermanentNeighbor(const NeighborKey& key, MacAddress mac, NeighborState state) {
  if (state != NeighborState::kPermanent && state != NeighborState::kNoArp) {
    return absl::InvalidArgumentError("a neighbour that is set is permanent or noarp");
  }
  if (mac.IsMulticast() || (state == NeighborState::kPermanent && mac.IsZero())) {
    return absl::InvalidArgumentError("not the MAC address of a station");
  }
  // Acquired here, where a full table can still be refused; the machine takes it over.
  auto index = adjacencies_.Acquire(key);
  if (!index.ok()) return index.status();
  Push({.kind = Command::Kind::kSetPermanent, .key = key, .index = *index, .mac = mac, .state = state, .limits = {}});
  return absl::OkStatus();
}

void SlowPath::RemoveNeighbor(const NeighborKey& key) {
  Push({.kind = Command::Kind::kRemove, .key = key, .mac = {}, .limits = {}});
}

void SlowPath::FlushNeighbors(LinkIndex link, Family family) {
  NeighborKey key;
  key.link = link;
  key.address.family = family;
  Push({.kind = Command::Kind::kFlush, .key = key, .mac = {}, .limits = {}});
}

void SlowPath::RemoveLink(LinkIndex link) {
  NeighborKey key;
  key.link = link;
  Push({.kind = Command::Kind::kRemoveLink, .key = key, .mac = {}, .limits = {}});
}

void SlowPath::SetIcmpLimits(const IcmpRateLimitSettings& settings) {
  Push({.kind = Command::Kind::kIcmpLimits, .key = {}, .mac = {}, .limits = settings});
}

std::vector<NeighborInfo> SlowPath::DumpNeighbors() {
  {
    absl::MutexLock lock(&command_mutex_);
    const uint64_t target = commands_pushed_;
    const auto applied = [this, target] {
      command_mutex_.AssertHeld();
      return commands_applied_ >= target || !running_.load();
    };
    command_mutex_.Await(absl::Condition(&applied));
  }
  std::vector<NeighborInfo> all;
  dumps_waiting_.fetch_add(1);
  absl::MutexLock lock(&state_mutex_);
  dumps_waiting_.fetch_sub(1);
  all.reserve(machine_.size());
  machine_.ForEach(now_, [&](const NeighborInfo& info) { all.push_back(info); });
  return all;
}

// ---- Packets from workers ------------------------------------------------------------------------------------------

void SlowPath::Handle(absl::Span<const char> record, size_t ring) {
  PuntHeader header;
  if (record.size() < sizeof header) return;
  std::memcpy(&header, record.data(), sizeof header);
  if (header.length > record.size() - sizeof header) return;
  const auto payload =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(record.data()) + sizeof header, header.length);
  switch (header.kind) {
    case PuntKind::kResolve:
      OnResolve(header, payload, ring);
      break;
    case PuntKind::kError:
      SendError(header.family,
                {.kind = header.error,
                 .info = header.info,
                 .link_broadcast = (header.flags & PuntHeader::kLinkBroadcast) != 0},
                payload, header.link_in);
      break;
    case PuntKind::kLocal:
      OnLocal(header, payload);
      break;
    case PuntKind::kArp:
      if (!machine_.OnArp(header.link_in, payload, now_)) Reject(DropReason::kBadArp);
      break;
    case PuntKind::kStaleUse:
      machine_.OnStaleUse(header.adjacency, now_);
      break;
  }
}

void SlowPath::OnResolve(const PuntHeader& header, absl::Span<const uint8_t> packet, size_t ring) {
  output_.HandedIn();
  HeldPacket held;
  held.family = header.family;
  held.link_broadcast = (header.flags & PuntHeader::kLinkBroadcast) != 0;
  held.ring = static_cast<uint8_t>(ring);
  held.link_in = header.link_in;
  held.link_out = header.link_out;
  held.bytes = packet;
  const NeighborMachine::Resolution r = machine_.Resolve({header.link_out, header.next_hop}, held, now_);
  switch (r.verdict) {
    case NeighborMachine::Verdict::kSend:
      output_.SendForwarded(header.link_out,
                            Bytes(Ethernet(LinkOrNone(*snapshot_, header.link_out).mac, r.mac, header.family)), packet);
      break;
    case NeighborMachine::Verdict::kHeld:
      output_.Held();
      break;
    case NeighborMachine::Verdict::kDrop:
      output_.DropForwarded(r.reason);
      break;
  }
}

// ---- What the neighbour machine asks for ---------------------------------------------------------------------------

NeighborHost::Link SlowPath::GetLink(LinkIndex link) {
  const LinkEntry& entry = LinkOrNone(*snapshot_, link);
  return {.up = entry.index != 0 && entry.up(), .mac = entry.mac, .router6 = (entry.flags & LinkEntry::kForward6) != 0};
}

IpAddress SlowPath::SourceFor(LinkIndex link, const IpAddress& target) {
  return SolicitSource(*snapshot_, link, target);
}

bool SlowPath::IsOwnAddress(LinkIndex link, const IpAddress& address) { return IsOwnOnLink(*snapshot_, link, address); }

void SlowPath::SendFrame(LinkIndex link, absl::Span<const uint8_t> frame) { output_.SendGenerated(link, frame); }

void SlowPath::SendHeld(const HeldPacket& packet, MacAddress mac) {
  const size_t ring = output_.ring();
  output_.UseRing(packet.ring);
  const EthernetHeader ethernet = Ethernet(LinkOrNone(*snapshot_, packet.link_out).mac, mac, packet.family);
  if (packet.generated) {
    output_.SendGenerated(packet.link_out, Bytes(ethernet), packet.bytes);
  } else {
    output_.HeldOut();
    output_.SendForwarded(packet.link_out, Bytes(ethernet), packet.bytes);
  }
  output_.UseRing(ring);
}

void SlowPath::DropHeld(const HeldPacket& packet, DropReason reason) {
  if (packet.generated) {
    output_.DropGenerated(reason);
    return;
  }
  output_.HeldOut();
  output_.DropForwarded(reason);
  if (reason != DropReason::kNeighborFailed) return;
  if (late_errors_.size() >= kErrorsPerRound) {
    icmp_limited_.Add(1);
    return;
  }
  const auto quote = packet.bytes.first(std::min<size_t>(packet.bytes.size(), PuntHeader::kMaxErrorQuote));
  late_errors_.push_back(
      {packet.family, packet.link_broadcast, packet.ring, packet.link_in, {quote.begin(), quote.end()}});
}

void SlowPath::SendLateErrors() {
  for (const LateError& late : late_errors_) {
    output_.UseRing(late.ring);
    SendError(late.family, {.kind = IcmpErrorKind::kHostUnreachable, .link_broadcast = late.link_broadcast},
              late.packet, late.link_in);
  }
  late_errors_.clear();
  output_.UseRing(SlowPathOutput::kAnyRing);
}

void SlowPath::RecycleAfterGrace(uint32_t index) {
  recycling_->fetch_add(1, std::memory_order_relaxed);
  publisher_.AfterGrace([index, &table = adjacencies_, recycling = recycling_] {
    table.Recycle(index);
    recycling->fetch_sub(1, std::memory_order_relaxed);
  });
}

uint64_t SlowPath::Random() {  // xorshift128+
  uint64_t x = random_[0];
  const uint64_t y = random_[1];
  random_[0] = y;
  x ^= x << 23;
  random_[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
  return random_[1] + y;
}

}  // namespace sluice
