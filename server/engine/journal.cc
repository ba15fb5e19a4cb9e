#include "server/engine/journal.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/config/read.h"
#include "server/engine/bytes.h"

namespace sluice::engine {
namespace {

using config::Config;
using config::DeviceFacts;
using config::Object;
using config::Operation;

constexpr size_t kObjectsPerRecord = 4096;

void PutDevices(absl::Span<const KnownDevice> devices, ByteWriter& out) {
  out.Number(static_cast<uint32_t>(devices.size()));
  for (const KnownDevice& device : devices) {
    std::string facts;
    ByteWriter w(&facts);
    w.Number(static_cast<uint8_t>(device.facts.known));
    w.Number(static_cast<uint8_t>(device.facts.mac_settable));
    w.Number(device.facts.mac.ToBits());
    w.Number(device.facts.default_mtu);
    w.Number(device.facts.max_mtu);
    w.Number(device.facts.max_rx_queues);
    w.Number(device.facts.max_tx_queues);
    out.Text(device.name);
    out.Text(device.devargs);
    out.Text(facts);  // of a length that says which fields are there: later versions append
  }
}

std::vector<KnownDevice> GetDevices(ByteReader& in) {
  std::vector<KnownDevice> devices;
  for (auto n = in.Number<uint32_t>(); n > 0 && in.ok(); --n) {
    KnownDevice& device = devices.emplace_back();
    device.name = std::string(in.Text());
    device.devargs = std::string(in.Text());
    ByteReader r(in.Text());
    device.facts.known = r.Number<uint8_t>() != 0;
    device.facts.mac_settable = r.Number<uint8_t>() != 0;
    device.facts.mac = MacAddress::FromBits(r.Number<uint64_t>());
    device.facts.default_mtu = r.Number<uint32_t>();
    device.facts.max_mtu = r.Number<uint32_t>();
    device.facts.max_rx_queues = r.Number<uint32_t>();
    device.facts.max_tx_queues = r.Number<uint32_t>();
    if (!r.ok()) device.facts = {};
  }
  return devices;
}

// Says what is in a record.
class RecordedDevices final : public config::DeviceDirectory {
 public:
  explicit RecordedDevices(std::vector<KnownDevice> devices) : devices_(std::move(devices)) {}
  config::Problem Describe(const std::string& name, const std::string& devargs, DeviceFacts* facts) override {
    for (const KnownDevice& device : devices_) {
      if (device.name == name && device.devargs == devargs) *facts = device.facts;
    }
    return {};
  }

 private:
  std::vector<KnownDevice> devices_;
};

// What a Config holds that was asked for, in the order of its maps.
template <class Visit>
void ForEachConfigured(const Config& config, Visit visit) {
  for (auto it = config.links.begin(); it.Valid(); it.Next()) visit(DescribeLink(config, it.key(), it.value()));
  for (auto it = config.addresses.begin(); it.Valid(); it.Next()) {
    if (!it.value().derived) visit(DescribeAddress(config, it.key(), it.value()));
  }
  for (auto it = config.neighbors.begin(); it.Valid(); it.Next()) {
    visit(DescribeNeighbor(config, it.key(), it.value()));
  }
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (config::RouteCursor it = config.FirstRoute(family); it.Valid(); it.Next()) {
      if (!it.record().derived) visit(DescribeRoute(config, it.id(), it.record()));
    }
  }
}

// The records of the same objects, to be written to; in the same order.
std::vector<config::RecordMeta*> ConfiguredMetas(Config& config) {
  std::vector<config::RecordMeta*> metas;
  // FindMutable copies shared nodes, and no node is shared here, so pointers stay good.
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    metas.push_back(&config.links.FindMutable(it.key())->meta);
  }
  for (auto it = config.addresses.begin(); it.Valid(); it.Next()) {
    if (!it.value().derived) metas.push_back(&config.addresses.FindMutable(it.key())->meta);
  }
  for (auto it = config.neighbors.begin(); it.Valid(); it.Next()) {
    metas.push_back(&config.neighbors.FindMutable(it.key())->meta);
  }
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (config::RouteCursor it = config.FirstRoute(family); it.Valid(); it.Next()) {
      if (!it.record().derived) metas.push_back(&config.FindRouteMutable(it.id())->meta);
    }
  }
  return metas;
}

absl::Status Unreadable(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the log of commits has a record that cannot be read: ", what));
}

// Puts a dump together, record by record.
struct Dumped {
  bool open = false;
  uint64_t generation = 0;
  uint64_t next_uid = 0;
  std::vector<KnownDevice> devices;
  std::vector<Object> objects;
};

absl::Status Load(Dumped dump, Config* config) {
  // Addresses in the order in which they were added, which decides who is primary; everything else as dumped.
  std::vector<const Object*> order;
  for (const Object& o : dump.objects) order.push_back(&o);
  const auto is_address = [](const Object* o) { return std::holds_alternative<config::Address>(o->value); };
  const auto first = std::find_if(order.begin(), order.end(), is_address);
  const auto last = std::find_if_not(first, order.end(), is_address);
  std::stable_sort(first, last, [](const Object* a, const Object* b) { return a->meta.uid < b->meta.uid; });
  RecordedDevices devices(std::move(dump.devices));
  Config empty;
  empty.generation = dump.generation - (dump.generation > 0 ? 1 : 0);
  {  // nothing may share the nodes of `config` when its metas are written to below
    config::Candidate candidate(empty, {.devices = &devices, .describe_stored = false});
    for (const Object* object : order) {
      Operation op;
      const auto* route = std::get_if<config::Route>(&object->value);
      const bool append = route != nullptr && route->prefix.family() == Family::kIpv4;
      op.verb = append ? config::Verb::kAppend : config::Verb::kAdd;
      op.target = *object;
      candidate.Apply(op);
    }
    config::Candidate::Outcome outcome = candidate.Finish();
    if (!outcome.status.ok()) return Unreadable(absl::StrCat("the dumped state: ", outcome.status.message()));
    *config = std::move(outcome.config);
  }
  std::vector<config::RecordMeta*> metas = ConfiguredMetas(*config);
  if (metas.size() != dump.objects.size()) return Unreadable("the dumped state gives other objects");
  for (size_t i = 0; i < metas.size(); ++i) {
    const config::Meta& meta = dump.objects[i].meta;
    metas[i]->uid = meta.uid;
    metas[i]->created = meta.generation_created;
    metas[i]->changed = meta.generation_changed;
  }
  config->generation = dump.generation;
  config->next_uid = std::max(config->next_uid, dump.next_uid);
  return absl::OkStatus();
}

}  // namespace

config::Problem RecordingDirectory::Describe(const std::string& name, const std::string& devargs, DeviceFacts* facts) {
  config::Problem problem = devices_.Describe(name, devargs, facts);
  if (problem.ok()) known_.push_back({name, devargs, *facts});
  return problem;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& dir, const Codec& codec) {
  auto log = store::Log::Open(dir);
  if (!log.ok()) return log.status();
  return std::unique_ptr<Journal>(new Journal(*std::move(log), codec));
}

Journal::~Journal() {
  if (dumper_.joinable()) dumper_.join();
}

absl::Status Journal::Restore(Config* config) {
  Dumped dump;
  absl::Status replayed = log_->Replay([&](absl::string_view record) -> absl::Status {
    ByteReader in(record);
    const auto kind = static_cast<char>(in.Number<uint8_t>());
    if (kind != 'B' && kind != 'S' && !dump.open)
      return Unreadable(absl::StrCat("kind ", static_cast<int>(kind), " outside of a dump"));
    switch (kind) {
      case 'S':
        dump = {.open = true};
        dump.generation = in.Number<uint64_t>();
        dump.next_uid = in.Number<uint64_t>();
        dump.devices = GetDevices(in);
        return in.ok() ? absl::OkStatus() : Unreadable("the start of a dump");
      case 'O':
        return codec_.DecodeObjects(in.rest(), [&](Object&& object) {
          dump.objects.push_back(std::move(object));
          return absl::OkStatus();
        });
      case 'E':
        if (in.Number<uint64_t>() != dump.objects.size()) return Unreadable("a dump is not complete");
        return Load(std::exchange(dump, {}), config);
      case 'B':
        break;
      default:
        return Unreadable(absl::StrCat("kind ", static_cast<int>(kind), " is not of this version"));
    }
    const auto generation = in.Number<uint64_t>();
    const auto first_uid = in.Number<uint64_t>();
    in.Number<int64_t>();  // when: for people who look at the file
    in.Text();             // the comment
    RecordedDevices devices(GetDevices(in));
    if (!in.ok() || generation == 0) return Unreadable("the head of a batch");
    Config base = *config;
    base.generation = generation - 1;
    base.next_uid = std::max(base.next_uid, first_uid);
    config::Candidate candidate(base, {.devices = &devices, .describe_stored = false});
    if (auto s = codec_.DecodeOperations(in.rest(),
                                         [&](Operation&& op) {
                                           candidate.Apply(op);
                                           return absl::OkStatus();
                                         });
        !s.ok()) {
      return s;
    }
    config::Candidate::Outcome outcome = candidate.Finish();
    if (!outcome.status.ok()) {
      return Unreadable(absl::StrCat("generation ", generation, ": ", outcome.status.message()));
    }
    *config = std::move(outcome.config);
    config->generation = generation;
    return absl::OkStatus();
  });
  if (!replayed.ok()) return replayed;
  if (dump.open) return Unreadable("the last dump has no end");
  last_dump_ = std::min(log_->bytes(), kCompactAbove);
  return absl::OkStatus();
}

std::string Journal::Encode(const BatchRecord& record) {
  std::string out;
  out.reserve(record.operations.size() + 128);
  ByteWriter w(&out);
  w.Number(static_cast<uint8_t>('B'));
  w.Number(record.generation);
  w.Number(record.first_uid);
  w.Number(absl::GetCurrentTimeNanos());
  w.Text(record.comment);
  PutDevices(record.devices, w);
  out.append(record.operations.data(), record.operations.size());
  return out;
}

absl::Status Journal::Append(absl::Span<const std::string> records, store::Durability durability) {
  if (auto s = log_->Append(records, durability); !s.ok()) return s;
  dirty_ = durability == store::Durability::kBuffered;
  return absl::OkStatus();
}

absl::Status Journal::Dump(const Config& config, store::Log::Compaction& out) const {
  std::string record;
  ByteWriter start(&record);
  start.Number(static_cast<uint8_t>('S'));
  start.Number(config.generation);
  start.Number(config.next_uid);
  std::vector<KnownDevice> devices;
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    devices.push_back({std::string(it.value().name.view()), it.value().devargs, it.value().device});
  }
  PutDevices(devices, start);
  absl::Status status = out.Add(record);
  record.assign(1, 'O');
  uint64_t count = 0;
  ForEachConfigured(config, [&](const Object& object) {
    if (!status.ok()) return;
    codec_.EncodeObject(object, &record);
    if (++count % kObjectsPerRecord != 0) return;
    status = out.Add(record);
    record.assign(1, 'O');
  });
  if (status.ok() && record.size() > 1) status = out.Add(record);
  record.assign(1, 'E');
  ByteWriter(&record).Number(count);
  if (status.ok()) status = out.Add(record);
  return status.ok() ? out.Sync() : status;
}

absl::Status Journal::Finish() {
  dumper_.join();
  dumped_ = false;
  std::unique_ptr<store::Log::Compaction> done = std::move(compaction_);
  if (!dump_status_.ok()) return dump_status_;
  last_dump_ = done->bytes();
  return log_->Finish(std::move(done));
}

void Journal::Compact(const Config& live) {
  if (dumper_.joinable()) {
    if (!dumped_.load(std::memory_order_acquire)) return;
    if (auto s = Finish(); !s.ok()) std::fprintf(stderr, "sluiced: cannot compact the log: %s\n", s.ToString().c_str());
    return;
  }
  if (log_->bytes() < kCompactAbove || log_->bytes() < kGrowth * last_dump_) return;
  auto compaction = log_->BeginCompaction();
  last_dump_ = log_->bytes() / kGrowth + 1;  // so that one that fails is not tried again at once
  if (!compaction.ok()) return;
  compaction_ = *std::move(compaction);
  dumper_ = std::thread([this, config = live] {
    dump_status_ = Dump(config, *compaction_);
    dumped_.store(true, std::memory_order_release);
  });
}

absl::Status Journal::CompactNow(const Config& live) {
  if (dumper_.joinable()) {
    if (auto s = Finish(); !s.ok()) return s;
  }
  auto compaction = log_->BeginCompaction();
  if (!compaction.ok()) return compaction.status();
  compaction_ = *std::move(compaction);
  dumper_ = std::thread([this, &live] { dump_status_ = Dump(live, *compaction_); });
  return Finish();
}

}  // namespace sluice::engine
