// The real Internet prefixes of tests/data/, for tests and benchmarks.
//
//   std::vector<Trie4::Route> routes = ReadRealPrefixes<uint32_t>(1024);      // leaves 1 ... 1024, by ASN
//
// Threads: any. Cost: a second.
#ifndef SLUICE_DATAPLANE_FIB_REAL_PREFIXES_H_
#define SLUICE_DATAPLANE_FIB_REAL_PREFIXES_H_

#include <cstdint>
#include <vector>

#include "dataplane/fib/trie.h"

namespace sluice {

// Sorted as Trie::Assign wants them, each prefix once (564,579 and 166,385). Ends the program if the file cannot be
// read: a test that ran without it would prove nothing.
template <class Key>
std::vector<typename Trie<Key>::Route> ReadRealPrefixes(uint32_t nexthops);

extern template std::vector<Trie4::Route> ReadRealPrefixes<uint32_t>(uint32_t);
extern template std::vector<Trie6::Route> ReadRealPrefixes<Ipv6Key>(uint32_t);

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_FIB_REAL_PREFIXES_H_
