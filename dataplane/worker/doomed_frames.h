// Frames that the pipeline drops, one or more for each reason that a frame alone can give, and whether its source is
// told.
//
// Why a table: the same frames are run through the pipeline (counter), through explain (verdict), and start the fuzzer.
// What depends on more than the frame (full rings, no buffers, chains) is in pipeline_test.cc. For tests only.
//
//   for (const Doomed& d : DoomedFrames()) fixture.Run(d.frame, d.link);
//
// Threads: any. Cost: allocates.
#ifndef SLUICE_DATAPLANE_WORKER_DOOMED_FRAMES_H_
#define SLUICE_DATAPLANE_WORKER_DOOMED_FRAMES_H_

#include <utility>
#include <vector>

#include "dataplane/packet/ipv4_options.h"
#include "dataplane/worker/pipeline_fixture.h"

namespace sluice {

struct Doomed {
  DropReason reason;
  IcmpErrorKind error;
  Frame frame;
  LinkIndex link;  // that it arrives on
};

inline std::vector<Doomed> DoomedFrames() {
  using F = PipelineFixture;
  constexpr IcmpErrorKind none = IcmpErrorKind::kNone;
  std::vector<Doomed> out;
  const auto add = [&](DropReason reason, Frame frame, IcmpErrorKind error = IcmpErrorKind::kNone, LinkIndex link = 1) {
    out.push_back({reason, error, std::move(frame), link});
  };
  const Frame v4 = F::Udp("10.0.1.2", "198.18.7.7");
  const Frame v6 = F::Udp("2001:db8:1::2", "2001:db8:18::7");
  const auto with = [](Frame frame, size_t at, uint8_t byte) {
    frame[at] = byte;
    return frame;
  };
  const auto fixed = [](Frame frame) {  // a right checksum again
    auto* ip = HeaderAt<Ipv4Header>(frame.data() + 14);
    ip->checksum = be16{};
    ip->checksum = InternetChecksum(absl::MakeConstSpan(frame.data() + 14, 20));
    return frame;
  };
  add(DropReason::kFrameTooShort, Frame(v4.begin(), v4.begin() + 13));
  add(DropReason::kNotForUs, with(v4, 5, 0x77));
  add(DropReason::kUnknownEtherType, with(v4, 12, 0x88));
  add(DropReason::kUnknownVlan, with(with(v4, 12, 0x81), 13, 0x00));
  add(DropReason::kIpv4Truncated, Frame(v4.begin(), v4.begin() + 33));
  add(DropReason::kIpv4Truncated, Frame(v4.begin(), v4.end() - 1));
  add(DropReason::kIpv4BadVersion, fixed(with(v4, 14, 0x65)));
  add(DropReason::kIpv4BadHeaderLength, fixed(with(v4, 14, 0x44)));
  add(DropReason::kIpv4BadTotalLength, fixed(with(with(v4, 16, 0), 17, 19)));
  add(DropReason::kIpv4BadChecksum, with(v4, 24, static_cast<uint8_t>(v4[24] ^ 1)));
  add(DropReason::kIpv4MartianSource, F::Udp("224.0.0.1", "198.18.7.7"));
  add(DropReason::kIpv4MartianSource, F::Udp("127.0.0.1", "198.18.7.7"));
  add(DropReason::kIpv4MartianDestination, F::Udp("10.0.1.2", "127.0.0.1"));
  add(DropReason::kIpv4OwnSource, F::Udp("10.0.2.1", "198.18.7.7"));
  add(DropReason::kIpv6Truncated, Frame(v6.begin(), v6.begin() + 50));
  add(DropReason::kIpv6BadVersion, with(v6, 14, 0x40));
  add(DropReason::kIpv6MartianSource, F::Udp("ff02::5", "2001:db8:18::7"));
  add(DropReason::kIpv6MartianDestination, F::Udp("2001:db8:1::2", "::1"));
  add(DropReason::kIpv6ScopeViolation, F::Udp("fe80::2", "2001:db8:18::7"), IcmpErrorKind::kSourceScope);
  add(DropReason::kIpv6ScopeViolation, F::Udp("2001:db8:1::2", "fe80::9"));
  add(DropReason::kMulticastNotForwarded, F::Udp("10.0.1.2", "239.1.1.1"));
  add(DropReason::kMulticastNotForwarded, F::Udp("2001:db8:1::2", "ff0e::5"));
  add(DropReason::kBroadcastNotForwarded, F::Udp("10.0.1.2", "10.0.2.255"));
  add(DropReason::kBroadcastNotForwarded,
      with(with(with(with(with(with(v4, 0, 0xff), 1, 0xff), 2, 0xff), 3, 0xff), 4, 0xff), 5, 0xff));
  add(DropReason::kNoRoute, F::Udp("10.0.1.2", "8.8.8.8"), IcmpErrorKind::kNoRoute);
  add(DropReason::kNoRoute, F::Udp("10.0.1.2", "203.0.113.193"), IcmpErrorKind::kNoRoute);
  add(DropReason::kNoRoute, F::Udp("10.0.1.2", "8.8.8.8", 46, 1), IcmpErrorKind::kNoRoute);
  add(DropReason::kNoRoute, F::Udp("2001:db8:1::2", "2001:db8:ffff::1"), IcmpErrorKind::kNoRoute);
  add(DropReason::kBlackhole, F::Udp("10.0.1.2", "203.0.113.1"));
  add(DropReason::kBlackhole, F::Udp("2001:db8:1::2", "2001:db8:bad::1"));
  add(DropReason::kUnreachable, F::Udp("10.0.1.2", "203.0.113.65"), IcmpErrorKind::kUnreachable);
  add(DropReason::kUnreachable, F::Udp("2001:db8:1::2", "2001:db8:bae::1"), IcmpErrorKind::kUnreachable);
  add(DropReason::kProhibit, F::Udp("10.0.1.2", "203.0.113.129"), IcmpErrorKind::kProhibited);
  add(DropReason::kProhibit, F::Udp("2001:db8:1::2", "2001:db8:baf::1"), IcmpErrorKind::kProhibited);
  add(DropReason::kTtlExceeded, F::Udp("10.0.1.2", "198.18.7.7", 46, 1), IcmpErrorKind::kTtlExceeded);
  add(DropReason::kTtlExceeded, F::Udp("10.0.1.2", "198.18.7.7", 46, 0), IcmpErrorKind::kTtlExceeded);
  add(DropReason::kTtlExceeded, F::Udp("2001:db8:1::2", "2001:db8:18::7", 46, 1), IcmpErrorKind::kTtlExceeded);
  add(DropReason::kTooBig, F::Udp("10.0.1.2", "198.19.1.1", 601, 64, true), IcmpErrorKind::kTooBig);
  add(DropReason::kTooBig, F::Udp("2001:db8:1::2", "2001:db8:18::7", 1500), IcmpErrorKind::kTooBig);
  add(DropReason::kLinkDown, F::Udp("10.0.4.2", "198.18.7.7", 46, 64, false, 4), none, F::kLinkDown);
  add(DropReason::kForwardingOff, F::Udp("10.0.3.2", "198.18.7.7", 46, 64, false, 3), none, F::kNotForwarding);
  add(DropReason::kForwardingOff, F::Udp("10.0.3.2", "8.8.8.8", 46, 1, false, 3), none, F::kNotForwarding);
  add(DropReason::kForwardingOff, F::Udp("2001:db8:3::2", "2001:db8:18::7", 46, 64, false, 3), none, F::kNotForwarding);
  add(DropReason::kForwardingOff, F::Udp("2001:db8:6::2", "2001:db8:1::1", 46, 64, false, 6), none, F::kLinkNoIpv6);
  add(DropReason::kOutLinkDown, F::Udp("10.0.1.2", "198.21.1.1"));
  add(DropReason::kOutLinkDown, F::Udp("10.0.1.2", "198.22.1.1"));
  add(DropReason::kNoRoute, F::Udp("10.0.1.2", "198.24.1.1"), IcmpErrorKind::kNoRoute);
  add(DropReason::kFragmentFailed, F::Udp("10.0.1.2", "198.23.1.1"));
  const auto options = [](Bytes bytes) {
    return F::Packet(BuildIpv4({.source = "10.0.1.2", .destination = "198.18.7.7", .options = bytes}));
  };
  add(DropReason::kIpv4BadOptions, options({kOptionRecordRoute, 99, 4}), IcmpErrorKind::kParameterProblem);
  add(DropReason::kIpv4BadOptions, options({kOptionLooseSourceRoute, 7, 4, 10, 0, 9, 9}));
  add(DropReason::kIpv4OwnSource, F::Udp("10.0.1.1", "255.255.255.255"));
  add(DropReason::kIpv4OwnSource, F::Udp("10.0.1.1", "8.8.8.8"));
  add(DropReason::kMulticastNotForwarded, F::Udp("2001:db8:1::2", "ff02::1:ff00:99"));
  add(DropReason::kMulticastNotForwarded, F::Udp("2001:db8:3::2", "ff02::2", 46, 64, false, 3), none,
      F::kNotForwarding);
  add(DropReason::kIpv6ScopeViolation, F::Udp("2001:db8:1::2", "fe80::2"));
  return out;
}

}  // namespace sluice

#endif  // SLUICE_DATAPLANE_WORKER_DOOMED_FRAMES_H_
