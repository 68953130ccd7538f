// Counters of the kernel and of a driver, held against the judge's own count of good and bad frames
// that were sent to the kernel's own address.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/frame/template.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

// A checksum, and the kernel's counters of frames that are refused for it and of those that are
// not.
struct CountedKind {
    const char* name;  // "UDP over IPv4"
    frame::Family family;
    frame::Transport transport;
    bool in_ip_header;     // the mistake; else in the transport's checksum
    const char* refused;   // "Udp.InCsumErrors" (/proc/net/snmp, snmp6, netstat)
    const char* accepted;  // "Udp.NoPorts": nobody listens where the frames go
};
inline constexpr std::size_t kCountedKinds = 7;
const std::array<CountedKind, kCountedKinds>& counted_kinds();

struct KindCount {
    std::string why_not;     // not sent; empty: it was
    std::uint64_t good = 0;  // by the judge's count
    std::uint64_t bad = 0;
    std::uint64_t accepted = 0;  // by the kernel's
    std::uint64_t refused = 0;
    // Counters of the driver with "csum" or "checksum" in their names, as far as they went up.
    std::vector<std::pair<std::string, std::uint64_t>> driver;
    std::string hidden;  // who kept frames from the kernel's counters; empty: nobody was seen to
    std::string once;    // what a first observation showed and a second did not
};
using KindCounts = std::array<KindCount, kCountedKinds>;

// `counters` of a driver: those that count frames with bad checksums.
bool counts_bad_checksums(const std::string& counter);

// Right if the kernel counted what the judge did; else COUNTER_LIES, and before it what became of
// the frames: RX_GOOD_ON_BAD (bad ones were taken), RX_BAD_ON_GOOD, RX_DROP_BAD (they vanished
// uncounted). Nothing is said where somebody, a firewall for example, hid them.
verdict::Observation observation_of(const KindCount& count, const CountedKind& kind);

// Judges a driver's counter in the same way: it is right if, of each kind, it counted all bad
// frames or none.
verdict::Observation driver_observation(const KindCount& count);

}  // namespace pathproof::truth
