#include "client/grammar/explain.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/grammar/help.h"
#include "client/grammar/keywords.h"
#include "client/grammar/names.h"
#include "client/grammar/values.h"

namespace sluice::client {
namespace {

struct ExplainWords {
  v1::ExplainRequest* request;
  Family family = Family::kNone;
  bool has_frame = false, has_fields = false;

  v1::PacketFields& fields() {
    has_fields = true;
    return *request->mutable_fields();
  }
};

absl::Status TakeText(Words& words, std::string* text) {
  absl::string_view word;
  if (absl::Status s = words.Value(&word); !s.ok()) return s;
  text->assign(word.data(), word.size());
  return absl::OkStatus();
}

absl::Status TakeAddress(ExplainWords& s, Words& words, std::string* text) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!AddressText(word, &s.family, text)) {
    return Expected(absl::StrCat(FamilyWord(s.family), s.family == Family::kNone ? " valid address" : " address"),
                    word);
  }
  return absl::OkStatus();
}

absl::Status TakeMac(Words& words, std::string* text) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  if (!MacAddress::Parse(word).ok()) return Failed(absl::StrCat("\"", word, "\" is invalid lladdr."));
  text->assign(word.data(), word.size());
  return absl::OkStatus();
}

// A number of at most `max` for a field.
template <void (v1::PacketFields::*set)(uint32_t), uint32_t max>
absl::Status TakeNumber(ExplainWords& s, Words& words) {
  absl::string_view word;
  if (absl::Status status = words.Value(&word); !status.ok()) return status;
  const std::optional<uint32_t> number = ParseNumber(word);
  if (!number.has_value() || *number > max) return Wrong(word, absl::StrCat("a number up to ", max, " is expected"));
  (s.fields().*set)(*number);
  return absl::OkStatus();
}

absl::Status TakePort(ExplainWords& s, Words& words) { return TakeText(words, s.request->mutable_link()); }

constexpr Keyword<ExplainWords> kExplainKeywords[] = {
    {"port", kExact, TakePort},
    {"link", kExact, TakePort},
    {"iif", kExact, TakePort},
    {"dst", kExact, [](ExplainWords& s, Words& w) { return TakeAddress(s, w, s.fields().mutable_destination()); }},
    {"src", kExact, [](ExplainWords& s, Words& w) { return TakeAddress(s, w, s.fields().mutable_source()); }},
    {"proto", kExact,
     [](ExplainWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const std::optional<uint32_t> protocol = IpProtocolOf(word);
       if (!protocol.has_value()) return Wrong(word, "invalid protocol");
       s.fields().set_protocol(*protocol);
       return absl::OkStatus();
     }},
    {"sport", kExact, TakeNumber<&v1::PacketFields::set_source_port, 65535>},
    {"dport", kExact, TakeNumber<&v1::PacketFields::set_destination_port, 65535>},
    {"ttl", kExact, TakeNumber<&v1::PacketFields::set_ttl, 255>},
    {"length", kExact, TakeNumber<&v1::PacketFields::set_length, 65535>},
    {"mark", kExact, TakeNumber<&v1::PacketFields::set_mark, ~0u>},
    {"tos", kExact,
     [](ExplainWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const std::optional<uint32_t> tos = TosOf(word);
       if (!tos.has_value()) return Wrong(word, "TOS value is invalid");
       s.fields().set_tos(*tos);
       return absl::OkStatus();
     }},
    {"df", kExact,
     [](ExplainWords& s, Words&) {
       s.fields().set_dont_fragment(true);
       return absl::OkStatus();
     }},
    {"src-mac", kExact, [](ExplainWords& s, Words& w) { return TakeMac(w, s.fields().mutable_source_mac()); }},
    {"dst-mac", kExact, [](ExplainWords& s, Words& w) { return TakeMac(w, s.fields().mutable_destination_mac()); }},
    {"frame", kExact,
     [](ExplainWords& s, Words& w) -> absl::Status {
       absl::string_view word;
       if (absl::Status status = w.Value(&word); !status.ok()) return status;
       const std::string digits = absl::StrReplaceAll(word, {{":", ""}, {" ", ""}});
       for (char c : digits) {
         if (!absl::ascii_isxdigit(static_cast<unsigned char>(c)))
           return Wrong(word, "hexadecimal digits are expected");
       }
       if (digits.empty() || digits.size() % 2 != 0) return Wrong(word, "pairs of hexadecimal digits are expected");
       s.has_frame = true;
       s.request->set_frame(absl::HexStringToBytes(digits));
       return absl::OkStatus();
     }},
};

}  // namespace

absl::Status ParseExplain(Words words, Command* command) {
  command->kind = Command::Kind::kLookup;
  command->explain = std::make_unique<v1::ExplainRequest>();
  ExplainWords state{command->explain.get()};
  while (!words.done()) {
    absl::string_view word = words.take();
    const absl::string_view name = absl::StripPrefix(absl::StripPrefix(word, "-"), "-");
    if (name == "help" || name == "h") {
      command->kind = Command::Kind::kHelp;
      command->help = kHelpExplain;
      return absl::OkStatus();
    }
    const Keyword<ExplainWords>* row = FindKeyword(absl::MakeConstSpan(kExplainKeywords), name);
    if (row == nullptr) return Usage(absl::StrCat("\"", word, "\" is unknown, try \"sluicectl explain --help\"."));
    if (absl::Status s = row->apply(state, words); !s.ok()) return s;
  }
  if (state.has_frame && state.has_fields) return Usage("Error: --frame does not go with fields of a packet.");
  if (!state.has_frame && state.request->fields().destination().empty()) {
    return Usage("Error: --dst (or --frame) is required, try \"sluicectl explain --help\".");
  }
  if (state.has_frame && state.request->link().empty()) return Usage("Error: --frame needs --port.");
  return absl::OkStatus();
}

}  // namespace sluice::client
