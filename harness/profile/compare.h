// Compares a profile's expectations with a driver's offer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/agent/offload_features.h"
#include "harness/profile/profile.h"

namespace pathproof::profile {

struct Finding {
    enum class Kind {
        kAsExpected,
        kMissing,       // required, but the driver does not offer it
        kUnexpected,    // expected to be absent, but the driver offers it
        kBroken,        // known to do wrong on this version, and switched on
        kMaybeBroken,   // the same, on some of the family's devices or of the versions: a note
        kExpired,       // was broken, and this version has the repair: a note
        kOtherDefault,  // offered as expected, but set otherwise than by default: a note
        kOtherLimit,    // a figure differs from the profile's: a note
        kUnlisted,      // the driver offers it and the profile says nothing: a note
        kNotJudged,     // the profile's claim is not for this version, or nothing was read: a note
    };
    Kind kind = Kind::kAsExpected;
    std::string feature;
    std::string expected;   // "required, on by default"
    std::string found;      // "on", "off", "on [fixed]", "off [fixed]", "not known to this kernel"
    std::string why;        // the profile's reason
    std::string when = {};  // the profile's condition
    std::string erratum = {};  // of the catalogue
    std::string source = {};   // what the profile's claim rests on, in words
};

const char* name(Finding::Kind kind);

// Versions that run. An empty one is not known, and counts as newer than any with which a claim
// begins.
struct Running {
    std::string kernel;  // `uname -r`
    std::string dpdk;    // "22.11.11"
};

// On, or within the user's power to turn on: what ethtool(8) does not mark [fixed] when off.
bool offered(const agent::Feature& feature);

// One finding for each feature that the profile lists, in its order, then the unlisted ones.
std::vector<Finding> compare(const Profile& profile, const std::vector<agent::Feature>& features,
                             const Running& running = {});

// Compares the offloads of a DPDK port, by the names that DPDK gives them. Features are called "tx
// IPV4_CKSUM" and "rx IPV4_CKSUM".
std::vector<Finding> compare_dpdk(const Profile& profile, const std::vector<std::string>& tx,
                                  const std::vector<std::string>& rx, const Running& running = {});

// The figures that were read from a live device; what is not in the map was not read.
using LiveLimits = std::map<LimitKind, std::uint64_t>;
std::vector<Finding> compare_limits(const std::vector<Limit>& limits, const LiveLimits& live);

// Returns whether nothing is missing, unexpected or broken; notes do not count.
bool agrees(const std::vector<Finding>& findings);

enum class QuirkState {
    kInForce,
    kExpired,  // this version has outgrown it
    kNotYet,   // this version is older than it
    kUnknown,  // the version is not known
};
const char* name(QuirkState state);  // "in force", "expired", "not yet", "not known"
// Judges by the quirk's kernel range if it has one, else by DPDK's; without either the quirk is in
// force.
QuirkState state_of(const Quirk& quirk, const Running& running);

}  // namespace pathproof::profile
