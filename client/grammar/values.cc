#include "client/grammar/values.h"

#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sluice::client {
namespace {

// Reads up to four decimal bytes with dots between. Returns how many there were, 0 if `word` is anything else.
int ReadBytes(absl::string_view word, uint32_t* address) {
  uint32_t value = 0, part = 0;
  int parts = 0, digits = 0;
  for (char c : word) {
    if (c >= '0' && c <= '9') {
      part = part * 10 + (c - '0');
      if (++digits > 3 || part > 255) return 0;
    } else if (c == '.') {
      if (digits == 0 || parts == 3) return 0;
      value |= part << (24 - 8 * parts);
      ++parts;
      part = 0;
      digits = 0;
    } else {
      return 0;
    }
  }
  if (digits == 0) return 0;
  value |= part << (24 - 8 * parts);
  *address = value;
  return parts + 1;
}

// A length of at most `max`, in one to three digits; -1 for anything else.
int ReadLength(absl::string_view word, int max) {
  if (word.empty() || word.size() > 3) return -1;
  int length = 0;
  for (char c : word) {
    if (c < '0' || c > '9') return -1;
    length = length * 10 + (c - '0');
  }
  return length <= max ? length : -1;
}

// As ReadLength, or the mask of a length.
int ReadLengthOrMask(absl::string_view word) {
  uint32_t mask;
  if (word.find('.') == absl::string_view::npos) return ReadLength(word, 32);
  if (ReadBytes(word, &mask) != 4) return -1;
  const int length = std::countl_one(mask);
  return length == 32 || mask << length == 0 ? length : -1;
}

bool Ipv4Prefix(absl::string_view word, std::string* text) {
  const size_t slash = word.find('/');
  uint32_t address;
  const int parts = ReadBytes(word.substr(0, slash), &address);
  if (parts == 0) return false;
  if (slash == absl::string_view::npos) {
    if (parts == 4) {
      text->assign(word.data(), word.size());
    } else {
      *text = Ipv4Address::FromHost(address).ToString();
    }
    return true;
  }
  const absl::string_view length_word = word.substr(slash + 1);
  const int length = ReadLengthOrMask(length_word);
  if (length < 0) return false;
  if (parts == 4 && length_word.size() <= 2) {
    text->assign(word.data(), word.size());
  } else {
    *text = absl::StrCat(Ipv4Address::FromHost(address).ToString(), "/", length);
  }
  return true;
}

bool Ipv6Prefix(absl::string_view word, std::string* text) {
  const size_t slash = word.find('/');
  if (!Ipv6Address::Parse(word.substr(0, slash)).ok()) return false;
  if (slash != absl::string_view::npos && ReadLength(word.substr(slash + 1), 128) < 0) return false;
  text->assign(word.data(), word.size());
  return true;
}

}  // namespace

bool IsDefault(absl::string_view word) { return word == "default" || word == "any" || word == "all"; }

bool AddressText(absl::string_view word, Family* family, std::string* text) {
  if (word.find('/') != absl::string_view::npos) return false;
  return PrefixText(word, family, text);
}

bool PrefixText(absl::string_view word, Family* family, std::string* text) {
  const Family found = FamilyOfText(word);
  if (*family != Family::kNone && *family != found) return false;
  if (!(found == Family::kIpv4 ? Ipv4Prefix(word, text) : Ipv6Prefix(word, text))) return false;
  *family = found;
  return true;
}

absl::string_view DefaultPrefixText(Family family) { return family == Family::kIpv6 ? "::/0" : "0.0.0.0/0"; }

absl::string_view FamilyWord(Family family) {
  return family == Family::kIpv4 ? "inet" : family == Family::kIpv6 ? "inet6" : "any";
}

}  // namespace sluice::client
