// The data plane follows the desired state: lookups agree, resources are neither leaked nor freed early, and a failure
// at any point gives everything back.
#include "server/config/compile.h"

#include <random>
#include <set>

#include "server/config/test_util.h"

namespace sluice::config {
namespace {

class Fakes : public AdjacencyAllocator, public CellAllocator, public LinkRuntimes {
 public:
  absl::StatusOr<AdjacencyIndex> Acquire(LinkIndex link, const IpAddress& address) override {
    if (fail_after == 0) return absl::ResourceExhaustedError("no adjacency");
    --fail_after;
    const auto [it, added] = index.try_emplace({link, address}, next_adjacency);
    if (added) ++next_adjacency;
    ++users[it->second];
    return it->second;
  }
  void Release(AdjacencyIndex adjacency) override {
    ASSERT_GT(users[adjacency], 0);
    if (--users[adjacency] == 0) users.erase(adjacency);
  }
  absl::StatusOr<CellIndex> Allocate() override {
    if (fail_after == 0) return absl::ResourceExhaustedError("no cell");
    --fail_after;
    cells.insert(next_cell);
    return next_cell++;
  }
  void Free(CellIndex cell) override { ASSERT_EQ(cells.erase(cell), 1u); }
  LinkRuntime Get(LinkIndex link, const LinkRecord&) override {
    return {.port = static_cast<uint16_t>(link), .present = true, .running = true, .mac = {}};
  }
  CompileHooks hooks() { return {this, this, this}; }

  std::map<std::pair<LinkIndex, IpAddress>, AdjacencyIndex> index;
  std::map<AdjacencyIndex, int> users;
  std::set<CellIndex> cells;
  AdjacencyIndex next_adjacency = 1;
  CellIndex next_cell = 1;
  size_t fail_after = ~size_t{0};
};

struct Plane {
  Arena arena;
  Fakes fakes;
  Compiler compiler{fakes.hooks()};
  std::unique_ptr<Snapshot> snapshot = MakeEmptySnapshot(arena);
  World w;
  uint64_t epoch = 0;
  std::vector<NeighborChange> neighbors;

  // A batch that must get through to a snapshot.
  void Must(const std::vector<Operation>& ops) {
    const Candidate::Outcome outcome = w.Must(ops);
    SnapshotBuilder builder(arena, *snapshot);
    absl::StatusOr<Compiled> compiled = compiler.Compile(outcome.config, outcome.touched, builder);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    neighbors = compiled->neighbors();
    SnapshotBuilder::Built built = builder.Finish(++epoch, outcome.config.generation);
    snapshot = std::move(built.snapshot);
    compiler.Free(compiler.Commit(*std::move(compiled)));
  }
  const Nexthop& Leaf(const char* address) const {
    const IpAddress a = Ip(address);
    return snapshot->nexthop((a.is_v4() ? LookupRoute(*snapshot, a.v4()) : LookupRoute(*snapshot, a.v6())).nexthop);
  }
};

TEST(Compile, LinksAddressesNexthopsAndRoutesReachTheSnapshot) {
  Plane p;
  Route mtu = MakeRoute("10.9.0.0/16", "10.0.0.9");
  mtu.mtu = 1400;
  mtu.mtu_locked = true;
  mtu.prefsrc = Ip("10.0.0.1");
  p.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "2001:db8::1/64"), Op(Verb::kAdd, mtu),
          AddRoute("10.10.0.0/16", "2001:db8::9"), Op(Verb::kAdd, Typed("10.11.0.0/16", RouteType::kProhibit)),
          Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99"))});
  const LinkIndex v0 = p.w.config.FindLink("v0");
  const LinkEntry& link = p.snapshot->link(v0);
  EXPECT_TRUE(link.up() && link.running());
  EXPECT_EQ(link.port, v0);
  EXPECT_EQ(link.mtu, 1500u);
  EXPECT_EQ(link.mac, Mac("02:00:00:00:00:01"));
  EXPECT_EQ(link.rx_cell, p.compiler.rx_cell(v0));
  EXPECT_NE(link.rx_cell, link.tx_cell);
  const LinkAddresses& addresses = p.snapshot->addresses(v0);
  ASSERT_EQ(addresses.count4, 1);
  EXPECT_EQ(IpAddress(addresses.ipv4[0].address), Ip("10.0.0.1"));
  ASSERT_EQ(addresses.count6, 2);
  EXPECT_EQ(IpAddress(addresses.ipv6[0].address), Ip("2001:db8::1"));
  EXPECT_EQ(IpAddress(addresses.ipv6[1].address), Ip("fe80::ff:fe00:1"));

  const Nexthop& via = p.Leaf("10.9.1.1");
  EXPECT_EQ(via.type, RouteType::kUnicast);
  EXPECT_EQ(via.link, v0);
  EXPECT_EQ(via.mtu, 1400);
  EXPECT_EQ(via.flags, Nexthop::kMtuLocked);
  EXPECT_EQ(via.gateway, Ip("10.0.0.9"));
  EXPECT_EQ(via.source, Ip("10.0.0.1"));
  EXPECT_NE(via.adjacency, 0u);
  EXPECT_EQ(p.Leaf("10.10.1.1").flags, Nexthop::kGateway6);
  EXPECT_TRUE(p.Leaf("10.0.0.77").on_link());
  EXPECT_EQ(p.Leaf("10.0.0.77").adjacency, 0u);
  EXPECT_EQ(p.Leaf("10.0.0.1").type, RouteType::kLocal);
  EXPECT_EQ(p.Leaf("10.0.0.255").type, RouteType::kBroadcast);
  EXPECT_EQ(p.Leaf("2001:db8::1").type, RouteType::kLocal);
  EXPECT_EQ(LookupRoute(*p.snapshot, Ip("10.11.0.1").v4()).nexthop, kProhibitNexthop);
  EXPECT_EQ(LookupRoute(*p.snapshot, Ip("11.0.0.1").v4()).nexthop, 0u);
  ASSERT_EQ(p.neighbors.size(), 1u);
  EXPECT_EQ(p.neighbors[0].record->mac, Mac("02:00:00:00:00:99"));
  // Down: the entry stays, the routes go.
  p.Must({BringUp("v0", false)});
  EXPECT_FALSE(p.snapshot->link(v0).up());
  EXPECT_EQ(LookupRoute(*p.snapshot, Ip("10.9.1.1").v4()).nexthop, 0u);
  EXPECT_EQ(p.Leaf("10.0.0.1").type, RouteType::kLocal);
  p.Must({DeleteLink("v0")});
  EXPECT_EQ(p.snapshot->link(v0).index, 0u);
  EXPECT_FALSE(p.neighbors[0].record.has_value());
  EXPECT_TRUE(p.fakes.cells.empty() && p.fakes.users.empty());
}

TEST(Compile, TheFirstRouteOfAPrefixIsTheLeaf) {
  Plane p;
  Route worse = MakeRoute("10.9.0.0/16", "10.0.0.8");
  worse.metric = 5;
  p.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), Op(Verb::kAdd, worse)});
  EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.8"));
  p.Must({AddRoute("10.9.0.0/16", "10.0.0.9")});
  EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.9"));
  p.Must({Op(Verb::kPrepend, MakeRoute("10.9.0.0/16", "10.0.0.7"))});
  EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.7"));
  p.Must({DeleteRoute("10.9.0.0/16")});
  p.Must({DeleteRoute("10.9.0.0/16")});
  EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.8"));
  p.Must({Op(Verb::kAdd, Typed("10.9.1.0/24", RouteType::kThrow))});
  EXPECT_EQ(LookupRoute(*p.snapshot, Ip("10.9.1.1").v4()).nexthop, 0u);
}

TEST(Compile, ACountedRouteKeepsItsCellWhenItIsReplaced) {
  Plane p;
  Route counted = MakeRoute("10.9.0.0/16", "10.0.0.9");
  counted.counted = true;
  p.Must(
      {AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), Op(Verb::kAdd, counted), AddRoute("10.10.0.0/16", "10.0.0.9")});
  const CellIndex cell = p.Leaf("10.9.0.1").cell;
  EXPECT_NE(cell, p.Leaf("10.10.0.1").cell);
  counted.legs[0].gateway = Ip("10.0.0.8");
  p.Must({Op(Verb::kReplace, counted)});
  EXPECT_EQ(p.Leaf("10.9.0.1").cell, cell);
  EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.8"));
  // A new route of the same name counts anew.
  p.Must({DeleteRoute("10.9.0.0/16"), Op(Verb::kAdd, counted)});
  EXPECT_NE(p.Leaf("10.9.0.1").cell, cell);
}

TEST(Compile, AFailureAtAnyPointGivesEverythingBack) {
  Plane p;
  p.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24"), AddRoute("10.9.0.0/16", "10.0.0.9")});
  const Candidate::Outcome outcome =
      p.w.Try({AddLink("v1"), AddAddress("v1", "10.1.0.1/24"), AddRoute("10.20.0.0/16", "10.1.0.9"),
               AddRoute("10.21.0.0/16", "10.0.0.8"), DeleteRoute("10.9.0.0/16"), AddAddress("v1", "2001:db8::1/64")});
  ASSERT_TRUE(outcome.status.ok());
  const auto users = p.fakes.users;
  const auto cells = p.fakes.cells;
  const size_t blocks = p.arena.blocks();
  size_t points = 0;
  for (const bool in_builder : {false, true}) {
    for (size_t n = 0;; ++n) {
      SnapshotBuilder builder(p.arena, *p.snapshot);
      if (in_builder) {
        builder.edit().FailAllocationAfter(n);
      } else {
        p.fakes.fail_after = n;
      }
      absl::StatusOr<Compiled> compiled = p.compiler.Compile(outcome.config, outcome.touched, builder);
      p.fakes.fail_after = ~size_t{0};
      const bool done = compiled.ok();
      if (done) {
        p.compiler.Abort(*std::move(compiled));  // refused later, by the store
      } else {
        ++points;
        EXPECT_EQ(compiled.status().code(), absl::StatusCode::kResourceExhausted);
      }
      builder.Abort();
      ASSERT_EQ(p.fakes.users, users);
      ASSERT_EQ(p.fakes.cells, cells);
      ASSERT_EQ(p.arena.blocks(), blocks);
      EXPECT_EQ(p.Leaf("10.9.0.1").gateway, Ip("10.0.0.9"));
      if (done) break;
    }
  }
  EXPECT_GT(points, 10u);
  p.Must({AddLink("v1")});  // and the next batch is none the worse
}

TEST(Compile, CreateAndDeleteLeakNothing) {
  Plane p;
  p.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24")});
  const auto cells = p.fakes.cells.size();
  size_t blocks = 0;
  for (int i = 0; i < 200; ++i) {
    Route counted = MakeRoute("10.9.0.0/16", "10.2.0.9");
    counted.counted = true;
    p.Must({AddLink("v2"), AddAddress("v2", "10.2.0.1/24"), AddAddress("v2", "2001:db8:2::1/64"),
            Op(Verb::kAdd, counted), AddRoute("2001:db8:20::/48", "fe80::9", "v2")});
    p.Must({DeleteLink("v2")});
    ASSERT_EQ(p.fakes.cells.size(), cells);
    ASSERT_TRUE(p.fakes.users.empty());
    ASSERT_EQ(p.compiler.links(), 1u);
    if (i == 100) blocks = p.arena.blocks();
  }
  EXPECT_LE(p.arena.blocks(), blocks + 64);  // pages of higher link indices, which come round (next test)
}

TEST(Compile, NumbersComeRoundSoThatVectorsStayShort) {
  World w;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24")});
  LinkIndex highest_link = 0;
  NexthopIndex highest_nexthop = 0;
  for (int i = 0; i < 5000; ++i) {
    w.config = w.Try({AddLink("v2")}).config;
    highest_link = std::max(highest_link, w.config.FindLink("v2"));
    w.config = w.Try({AddRoute("10.9.0.0/16", absl::StrCat("10.0.0.", 2 + i % 200))}).config;
    highest_nexthop = std::max(highest_nexthop, w.config.Lookup(Ip("10.9.0.1"))->record.nexthop);
    w.config = w.Try({DeleteLink("v2"), DeleteRoute("10.9.0.0/16")}).config;
  }
  EXPECT_LE(highest_link, 4200u);
  EXPECT_LE(highest_nexthop, 4200u);
}

TEST(Compile, LookupsAgreeWithTheConfigAndWithAFreshBuild) {
  Plane p;
  p.Must({AddLink("v0"), AddLink("v1"), AddAddress("v0", "10.0.0.1/24"), AddAddress("v1", "10.1.0.1/24"),
          AddAddress("v1", "2001:db8:1::1/64")});
  std::mt19937 random(2);
  const auto agree = [&](const Snapshot& snapshot) {
    for (int i = 0; i < 200; ++i) {
      const Ipv4Address a4 =
          Ipv4Address::FromHost(0x0a000000u | (random() & 0x00070707u) | (random() & 0xffu) * (i & 1));
      const auto found4 = p.w.config.Lookup(a4);
      ASSERT_EQ(LookupRoute(snapshot, a4).nexthop, found4 ? found4->record.nexthop : 0) << a4.ToString();
      const Ipv6Address a6 = Ipv6Address::FromHost(0x20010db800000000u | (random() & 0x70007u), random() & 3u);
      const auto found6 = p.w.config.Lookup(a6);
      ASSERT_EQ(LookupRoute(snapshot, a6).nexthop, found6 ? found6->record.nexthop : 0) << a6.ToString();
    }
  };
  for (int step = 0; step < 300; ++step) {
    std::vector<Operation> ops;
    for (int i = 0; i < 5; ++i) {
      const int length4 = static_cast<int>(8 + random() % 25), length6 = static_cast<int>(32 + random() % 33);
      Route route;
      if (random() % 3 == 0) {
        route.prefix = IpPrefix::Of(Ipv6Address::FromHost(0x20010db800000000u | (random() & 0x70007u), 0), length6);
        route.legs.push_back({});
        route.legs[0].gateway = Ip("2001:db8:1::9");
        // The connected prefix would be hidden by a longer one.
        if (route.prefix.Contains(route.legs[0].gateway)) continue;
      } else {
        route.prefix = IpPrefix::Of(Ipv4Address::FromHost(0x0a000000u | (random() & 0x070707u)), length4);
        if (random() % 2 == 0) {
          route.legs.push_back({});
          route.legs[0].gateway = random() % 2 == 0 ? Ip("10.0.0.9") : Ip("10.1.0.9");
        } else {
          route.type = random() % 2 == 0 ? RouteType::kThrow : RouteType::kBlackhole;
        }
        route.metric = 1 + random() % 2;
      }
      Operation op = Op(random() % 3 == 0 ? Verb::kDelete : Verb::kReplace, route, {"prefix"});
      op.missing_ok = op.verb == Verb::kDelete;
      ops.push_back(op);
    }
    p.Must(ops);
    if (step % 20 == 0) agree(*p.snapshot);
  }
  Arena arena;
  Fakes fakes;
  Compiler compiler(fakes.hooks());
  const std::unique_ptr<Snapshot> empty = MakeEmptySnapshot(arena);
  SnapshotBuilder builder(arena, *empty);
  absl::StatusOr<Compiled> compiled = compiler.Compile(p.w.config, Compiler::Everything(p.w.config), builder);
  ASSERT_TRUE(compiled.ok());
  SnapshotBuilder::Built built = builder.Finish(1, p.w.config.generation);
  agree(*built.snapshot);
  compiler.Free(compiler.Commit(*std::move(compiled)));
  EXPECT_EQ(fakes.cells.size(), p.fakes.cells.size());
  EXPECT_EQ(fakes.users.size(), p.fakes.users.size());
}

}  // namespace
}  // namespace sluice::config
