// The offload features of a kernel device as a truth table varies them.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/ethtool.h"
#include "harness/agent/offload_features.h"
#include "harness/truth/matrix_size.h"

namespace pathproof::truth {

struct Setting {
    enum class Kind { kAsFound, kAllOff, kAllOn, kOneOff, kOneOn };
    Kind kind = Kind::kAsFound;
    std::string feature;        // of kOneOff and kOneOn: the others are as found, or all off
    std::string with = {};      // off as well, of kOneOff
    std::string id() const;     // "as-found", "all-off", "tx-udp-segmentation.off"
    std::string title() const;  // "tx-udp-segmentation alone off"
};

// `varied`: the features that the matrix can say something of. Those that are [fixed] are left out.
std::vector<Setting> settings_for(const std::vector<std::string>& varied,
                                  const std::vector<agent::Feature>& features, MatrixSize size);

// The features that decide over what is said of received frames, of those that the kernel knows:
// rx-checksum, and rx-gro, which checks sums itself before it joins frames.
std::vector<std::string> receive_features(const std::vector<agent::Feature>& features);
// Returns the settings of these features: as found, each that is on alone off, and all on if one is
// off.
std::vector<Setting> receive_settings_for(const std::vector<agent::Feature>& features);

// The device's reaction to a setting.
struct SettingTaken {
    std::vector<agent::FeatureTrial> trials;
    std::vector<agent::Feature> features;         // as they were then
    std::vector<agent::FeatureChange> forgotten;  // that changed by themselves later
};

bool may_change(const agent::Feature& feature);
bool is_on(const std::vector<agent::Feature>& features, const std::string& name);

}  // namespace pathproof::truth
