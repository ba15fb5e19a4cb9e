// Random batches against a naive model of the verbs, and against properties that hold in every state.
#include <algorithm>
#include <random>

#include "server/config/batch.h"
#include "server/config/test_util.h"

namespace sluice::config {
namespace {

// The routes of one prefix and metric as a list of destinations; derived ones are not in it.
class Model {
 public:
  // The reason for which the verb is refused, or "".
  std::string Apply(Verb verb, const std::string& key, const std::string& destination) {
    std::vector<std::string>& list = lists_[key];
    const auto same = std::find(list.begin(), list.end(), destination);
    switch (verb) {
      case Verb::kAdd:
        if (!list.empty()) return "ALREADY_EXISTS";
        list.push_back(destination);
        return "";
      case Verb::kChange:
        if (list.empty()) return "NOT_FOUND";
        [[fallthrough]];
      case Verb::kReplace:
        if (list.empty()) {
          list.push_back(destination);
        } else if (same != list.end() && same != list.begin()) {
          return "ALREADY_EXISTS";
        } else {
          list.front() = destination;
        }
        return "";
      case Verb::kAppend:
        if (same != list.end()) return "ALREADY_EXISTS";
        list.push_back(destination);
        return "";
      case Verb::kPrepend:
        if (same != list.end()) return "ALREADY_EXISTS";
        list.insert(list.begin(), destination);
        return "";
      default:  // DELETE, of that destination
        if (same == list.end()) return "NOT_FOUND";
        list.erase(same);
        return "";
    }
  }
  // A link went down or away.
  void Drop(const std::string& suffix) {
    for (auto& [key, list] : lists_) {
      list.erase(std::remove_if(list.begin(), list.end(),
                                [&](const std::string& d) {
                                  return d.size() >= suffix.size() &&
                                         d.compare(d.size() - suffix.size(), suffix.size(), suffix) == 0;
                                }),
                 list.end());
    }
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& [key, list] : lists_) {
      for (size_t i = 0; i < list.size(); ++i) lines.push_back(absl::StrCat(key, " ", i, " ", list[i]));
    }
    return lines;
  }

 private:
  std::map<std::string, std::vector<std::string>> lists_;
};

std::vector<std::string> ConfiguredLines(const Config& config) {
  std::map<std::string, size_t> place;
  std::vector<std::string> lines;
  Selector selector;
  selector.match = Route{};
  selector.origins = {Origin::kConfigured};
  for (const Object& object : ReadAll(config, {selector}, 100)) {
    const Route& route = std::get<Route>(object.value);
    const std::string key = absl::StrCat(route.prefix.ToString(), " ", route.metric.value_or(0));
    const std::string destination = route.legs.empty() ? TypeName(route.type) : "dev " + route.legs[0].link;
    lines.push_back(absl::StrCat(key, " ", place[key]++, " ", destination));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// What is derived is exactly what follows from the links and addresses.
void ExpectDerivedIsAFunction(const Config& config) {
  std::multiset<std::string> stored, computed;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (RouteCursor route = config.FirstRoute(family); route.Valid(); route.Next()) {
      if (!route.record().derived) continue;
      const NexthopSpec spec = config.Spec(route.record().nexthop);
      stored.insert(absl::StrCat(route.id().table, " ", route.id().prefix.ToString(), " ", route.id().metric, " ",
                                 spec.link, " ", static_cast<int>(spec.type), " ", spec.source.ToString()));
    }
  }
  for (auto it = config.links.begin(); it.Valid(); it.Next()) {
    for (const DerivedRoute& route : DerivedRoutes(config, it.key())) {
      computed.insert(absl::StrCat(route.id.table, " ", route.id.prefix.ToString(), " ", route.id.metric, " ",
                                   route.spec.link, " ", static_cast<int>(route.spec.type), " ",
                                   route.spec.source.ToString()));
    }
  }
  EXPECT_EQ(stored, computed);
}

TEST(Property, RandomBatchesAgreeWithANaiveModel) {
  std::mt19937 random(5);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr Verb kVerbs[] = {Verb::kAdd, Verb::kReplace, Verb::kChange, Verb::kAppend, Verb::kPrepend, Verb::kDelete};
  for (int run = 0; run < 4; ++run) {
    World w;
    Model model;
    w.Must({AddLink("v0"), AddLink("v1")});
    bool up[2] = {true, true};
    int accepted = 0;
    for (int step = 0; step < 1500; ++step) {
      if (pick(12) == 0) {  // an address or a link
        const int which = pick(2);
        const std::string name = absl::StrCat("v", which);
        if (pick(3) == 0) {
          up[which] = !up[which];
          w.Must({BringUp(name, up[which])});
          if (!up[which]) model.Drop("dev " + name);
        } else {
          const std::string text = pick(2) == 0 ? absl::StrCat("192.168.", pick(2), ".", 1 + pick(3), "/24")
                                                : absl::StrCat("2001:db8:", pick(2), "::", 1 + pick(3), "/64");
          Operation op = pick(2) == 0 ? Op(Verb::kReplace, MakeAddress(name, text)) : DeleteAddress(name, text);
          op.missing_ok = op.verb == Verb::kDelete;
          w.Must({op});
        }
        ExpectDerivedIsAFunction(w.config);
        continue;
      }
      Model next = model;
      std::vector<Operation> ops;
      std::map<uint32_t, std::string> refused;
      bool by_down_link = false;
      const int count = 1 + pick(4);
      for (int i = 0; i < count; ++i) {
        const Verb verb = kVerbs[pick(6)];
        const std::string prefix = absl::StrCat("10.", pick(3), ".0.0/", pick(2) == 0 ? 16 : 24);
        Route route = MakeRoute(prefix);
        std::string destination;
        switch (pick(4)) {
          case 0:
            route.type = RouteType::kBlackhole;
            break;
          case 1:
            route.type = RouteType::kProhibit;
            break;
          default: {
            const int which = pick(2);
            if (!up[which] && verb != Verb::kDelete) by_down_link = true;
            route.legs.push_back({});
            route.legs[0].link = absl::StrCat("v", which);
            destination = "dev " + route.legs[0].link;
          }
        }
        if (destination.empty()) destination = TypeName(route.type);
        if (pick(2) == 0) route.metric = 7;
        const std::string key = absl::StrCat(prefix, " ", route.metric.value_or(0));
        if (!route.metric) route.metric = 0;  // in DELETE an absent metric would mean any
        ops.push_back(Op(verb, route, {"prefix", "metric", "type"}));
        if (verb == Verb::kChange) ops.back().fields.clear();
        const std::string reason = next.Apply(verb, key, destination);
        if (!reason.empty()) refused[static_cast<uint32_t>(i)] = reason;
      }
      const Config before = w.config;
      const Candidate::Outcome outcome = w.Try(ops);
      if (refused.empty() && outcome.status.ok()) {
        w.config = outcome.config;
        model = next;
        ++accepted;
      } else {
        ASSERT_FALSE(outcome.status.ok());
        for (const auto& [index, reason] : refused) {
          const auto it = std::find_if(outcome.results.begin(), outcome.results.end(),
                                       [index = index](const OperationResult& r) { return r.index == index; });
          ASSERT_NE(it, outcome.results.end());
          EXPECT_EQ(it->problem.reason, reason);
        }
        // With a model that accepts all, only a link that is down can be the reason.
        if (refused.empty()) {
          ASSERT_TRUE(by_down_link) << outcome.status;
          for (const OperationResult& r : outcome.results) EXPECT_EQ(r.problem.reason, "LINK_DOWN");
        }
        ASSERT_TRUE(outcome.config.routes4.SharesRootWith(before.routes4));
      }
      ASSERT_EQ(ConfiguredLines(w.config), model.Lines()) << step;
      if (step % 50 == 0) ExpectConsistent(w.config);
    }
    EXPECT_GT(accepted, 200);
  }
}

// What was read, given back to an empty instance as one batch of ADDs in any order, is the same state.
TEST(Property, ADumpReplayedGivesTheSameDump) {
  World w;
  w.Must({AddLink("v0"), AddLink("v1", false), AddAddress("v0", "10.0.0.1/24"), AddAddress("v0", "10.0.0.2/24"),
          AddAddress("v1", "10.1.0.1/24"), AddAddress("v0", "2001:db8::1/64"),
          Op(Verb::kAdd, MakeNeighbor("v0", "10.0.0.9", "02:00:00:00:00:99")), AddRoute("0.0.0.0/0", "10.0.0.254"),
          AddRoute("2001:db8:9::/48", "fe80::9", "v0"), AddRoute("10.9.0.0/16", "2001:db8::9"),
          Op(Verb::kAdd, Typed("10.8.0.0/16", RouteType::kThrow)),
          Op(Verb::kAdd, Typed("10.7.0.0/16", RouteType::kLocal, "v1")),
          Op(Verb::kAdd, Typed("2001:db8:7::/48", RouteType::kLocal, "v0"))});
  Selector configured;
  configured.origins = {Origin::kConfigured};
  std::vector<Object> dump = ReadAll(w.config, {configured});
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    World copy;
    std::vector<Operation> ops;
    for (const Object& object : dump) {
      Operation op;
      op.target = object;
      ops.push_back(op);
    }
    copy.Must(ops);
    if (round == 0) {
      EXPECT_EQ(Dump(copy.config), Dump(w.config));
    }
    ExpectDerivedIsAFunction(copy.config);
    std::shuffle(dump.begin(), dump.end(), random);
  }
}

// Deleting what was added is the way back, one by one, from any state.
TEST(Property, DeleteIsTheInverseOfAdd) {
  World w;
  w.Must({AddLink("v0"), AddLink("v1"), AddAddress("v0", "10.0.0.1/24")});
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    const std::string before = Dump(w.config);
    std::vector<Operation> add = {AddAddress("v1", "10.1.0.1/24"),
                                  AddAddress("v1", "2001:db8:1::1/64"),
                                  Op(Verb::kAdd, MakeNeighbor("v1", "10.1.0.9", "02:00:00:00:00:99")),
                                  AddRoute("10.20.0.0/16", "10.1.0.9"),
                                  AddRoute("10.21.0.0/16", "10.0.0.9"),
                                  Op(Verb::kAdd, Typed("10.22.0.0/16", RouteType::kBlackhole))};
    std::shuffle(add.begin(), add.end(), random);
    w.Must(add);
    std::shuffle(add.begin(), add.end(), random);
    for (Operation op : add) {
      op.verb = Verb::kDelete;
      w.Must({op});
    }
    ASSERT_EQ(Dump(w.config), before);
  }
}

TEST(Property, AReaderStopsAnywhereAndSeesOneState) {
  World w;
  w.Must({AddLink("v0"), AddAddress("v0", "10.0.0.1/24")});
  std::vector<Operation> ops;
  for (int i = 0; i < 300; ++i)
    ops.push_back(AddRoute(absl::StrCat("20.", i % 256, ".", i / 256, ".0/24"), "10.0.0.9"));
  w.Must(ops);
  const std::string expected = Dump(w.config);
  for (const size_t piece : {1u, 2u, 7u, 1000u}) {
    Reader reader(w.config, {});
    World other = w;
    std::string text;
    while (!reader.done()) {
      std::vector<Object> objects;
      reader.Next(piece, &objects);
      for (const Object& object : objects) absl::StrAppend(&text, ObjectLine(object), "\n");
      other.Must({DeleteRoute("20.1.0.0/24")});  // the writer goes on
      other.Must({AddRoute("20.1.0.0/24", "10.0.0.8")});
    }
    EXPECT_EQ(text, expected);
  }
  Selector one;
  one.match = MakeRoute("20.77.1.0/24");
  EXPECT_EQ(ReadAll(w.config, {one}).size(), 0u);
  one.match.emplace<Route>(MakeRoute("20.7.0.0/24")).table = 254;
  EXPECT_EQ(ReadAll(w.config, {one}).size(), 1u);
}

}  // namespace
}  // namespace sluice::config
