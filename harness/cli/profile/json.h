// Profiles, errata and findings as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/profile/compare.h"
#include "harness/profile/errata.h"
#include "harness/profile/live.h"
#include "harness/profile/profile.h"

namespace pathproof::cli::profiles {

nlohmann::ordered_json brief(const profile::Profile& profile);
nlohmann::ordered_json in_full(const profile::Profile& profile);
nlohmann::ordered_json brief(const profile::Erratum& erratum);
nlohmann::ordered_json in_full(const profile::Erratum& erratum);
nlohmann::ordered_json of_finding(const profile::Finding& finding);
nlohmann::ordered_json of_device(const profile::LiveDevice& device);

}  // namespace pathproof::cli::profiles
