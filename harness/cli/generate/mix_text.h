// Mixes and frame sizes as people type them: "dns-a=8,tcp-syn=1" and "dns-a=128,udp=512".
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/load_plan.h"

namespace pathproof::cli {

// CLASS=WEIGHT, separated by commas; a class alone has weight 1. "dns" stands for "dns-a". Errors
// name the text: unknown classes, twice the same, weights that are no number above 0.
Result<std::vector<load::MixPart>> parse_mix(const std::string& text);

// Sets the frame lengths of a mix: one number for all parts or CLASS=LENGTH ("dns": both types of
// query). Lengths are with FCS, as RFC 2544 counts them. Errors: classes that the mix does not
// have, lengths below 64 or above 9238.
Status set_sizes(std::vector<load::MixPart>& mix, const std::string& text);

}  // namespace pathproof::cli
