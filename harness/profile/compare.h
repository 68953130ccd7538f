// What a profile expects beside what a driver offers.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/profile/profile.h"

namespace pathproof::profile {

struct Finding {
    enum class Kind {
        kAsExpected,
        kMissing,       // required, but the driver does not offer it
        kUnexpected,    // expected to be absent, but the driver offers it
        kOtherDefault,  // offered as expected, but set otherwise than by default: a note
        kUnlisted,      // the driver offers it and the profile says nothing: a note
    };
    Kind kind = Kind::kAsExpected;
    std::string feature;
    std::string expected;  // "required, on by default"
    std::string found;     // "on", "off", "on [fixed]", "off [fixed]", "not known to this kernel"
    std::string why;       // the profile's reason
};

const char* name(Finding::Kind kind);

// One finding for each feature that the profile lists, in its order, then the unlisted ones.
std::vector<Finding> compare(const Profile& profile, const std::vector<agent::Feature>& features);

// Whether nothing is missing and nothing unexpected; notes do not count.
bool agrees(const std::vector<Finding>& findings);

}  // namespace pathproof::profile
