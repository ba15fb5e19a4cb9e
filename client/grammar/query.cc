#include "client/grammar/query.h"

namespace sluice::client {
namespace {

bool InPrefix(const Query& query, const std::string& text) {
  if (!query.root.has_value() && !query.match.has_value()) return true;
  const size_t slash = text.find('/');
  const auto address = IpAddress::Parse(absl::string_view(text).substr(0, slash));
  if (!address.ok()) return false;
  const auto whole = IpPrefix::Parse(text);
  // The address of a link has host bits; it counts as a host.
  const IpPrefix prefix = whole.ok() ? *whole : IpPrefix::Host(*address);
  if (query.root.has_value()) {
    const IpPrefix& root = *query.root;
    if (root.family() != prefix.family() || prefix.length < root.length || !root.Contains(prefix.address)) return false;
  }
  if (query.match.has_value()) {
    const IpPrefix& match = *query.match;
    if (match.family() != prefix.family() || prefix.length > match.length || !prefix.Contains(match.address)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Shows(const Query& query, const v1::Object& object) {
  switch (object.kind_case()) {
    case v1::Object::kLink:
      return !query.up_only || object.link().up();
    case v1::Object::kAddress:
      return InPrefix(query, object.address().address());
    case v1::Object::kNeighbor:
      return (query.nud >> object.neighbor().state().nud() & 1) != 0 && InPrefix(query, object.neighbor().address());
    case v1::Object::kRoute:
      return InPrefix(query, object.route().prefix());
    case v1::Object::KIND_NOT_SET:
      return false;
  }
  return false;
}

bool SelectorSuffices(const Query& query) {
  return !query.root.has_value() && !query.match.has_value() && !query.up_only && query.nud == ~0u;
}

v1::Family ToProto(Family family) {
  switch (family) {
    case Family::kIpv4:
      return v1::FAMILY_IPV4;
    case Family::kIpv6:
      return v1::FAMILY_IPV6;
    case Family::kNone:
      break;
  }
  return v1::FAMILY_UNSPECIFIED;
}

Query& StartQuery(Noun noun, Command::Kind kind, const IpOptions& options, Command* command) {
  command->kind = kind;
  command->query = std::make_unique<Query>();
  command->query->noun = noun;
  v1::Selector* selector = command->query->request.add_selectors();
  selector->set_family(ToProto(options.family));
  switch (noun) {
    case Noun::kLink:
      selector->mutable_match()->mutable_link();
      break;
    case Noun::kAddress:
      selector->mutable_match()->mutable_address();
      break;
    case Noun::kNeighbor:
      selector->mutable_match()->mutable_neighbor();
      break;
    case Noun::kRoute:
      selector->mutable_match()->mutable_route();
      break;
  }
  return *command->query;
}

}  // namespace sluice::client
