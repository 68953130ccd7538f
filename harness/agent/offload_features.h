// Offload features of a device, and what became of requests to change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/message/fields.h"

namespace pathproof::agent {

// One offload feature under the name that `ethtool -k` prints for the single feature
// (ETH_SS_FEATURES).
struct Feature {
    std::string name;
    bool active = false;
    bool requested = false;
    bool available = false;  // may be changed by the user (hw_features)
    // State that `ethtool -k` marks "[fixed]": not available, or the same on any device.
    bool never_changed = false;
    bool operator==(const Feature&) const = default;
};
FIELDS(Feature, name, active, requested, available, never_changed)

// Actual effect of a request to change features: the kernel may refuse, or change others with it.
struct FeatureChange {
    std::string name;
    bool before = false;
    bool after = false;
    bool asked = false;  // false: changed along with the ones asked for
};
FIELDS(FeatureChange, name, before, after, asked)

// Outcome of a request for one feature of a device.
enum class TrialOutcome : std::uint8_t {
    kTaken,    // it is so now
    kAlready,  // it was so before
    kFixed,    // [fixed]: not asked for
    kRefused,  // the kernel said no
    kIgnored,  // the kernel said yes, and nothing changed
};
inline constexpr std::size_t kTrialOutcomes = 5;
ENUM_VALUES(TrialOutcome, kTrialOutcomes)
const char* name(TrialOutcome outcome);  // "taken", "already so", "fixed", "refused", "ignored"

struct FeatureTrial {
    std::string name;
    bool wanted = false;
    TrialOutcome outcome = TrialOutcome::kTaken;
    std::string reason;                // of kRefused
    std::vector<FeatureChange> along;  // other features that changed with it
};
FIELDS(FeatureTrial, name, wanted, outcome, reason, along)

}  // namespace pathproof::agent
