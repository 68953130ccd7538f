// The offload features of a device, set one way after another and put back exactly as they were.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/ethtool.h"
#include "harness/scenario/offload_truth/truth_host.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario {

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
// As found, each that is on alone off, and all on if one is off.
std::vector<Setting> receive_settings_for(const std::vector<agent::Feature>& features);

// How the device took a setting.
struct SettingTaken {
    std::vector<agent::FeatureTrial> trials;
    std::vector<agent::Feature> features;         // as they were then
    std::vector<agent::FeatureChange> forgotten;  // that changed by themselves later
};

class FeatureSwitch {
  public:
    static Result<FeatureSwitch> take(const TruthHost& host, const std::string& device,
                                      std::vector<std::string> varied);

    // From the state as it was found.
    Result<SettingTaken> set(const Setting& setting);
    // What changed by itself since set().
    Status look_again(SettingTaken& taken);
    // Puts all back; what still differs then is returned. Empty: exactly as it was.
    Result<std::vector<agent::FeatureChange>> put_back();

    const std::vector<agent::Feature>& as_found() const { return as_found_; }

  private:
    FeatureSwitch(TruthHost host, std::string device)
        : host_(std::move(host)), device_(std::move(device)) {}
    Status try_all(bool on, const std::string& except, SettingTaken& taken);
    Status try_one(const std::string& feature, bool on, SettingTaken& taken);

    TruthHost host_;
    std::string device_;
    std::vector<std::string> varied_;
    std::vector<agent::Feature> as_found_;
};

// The flags are the user's: whatever the frames showed, they must be as they were found.
verdict::Cell put_back_cell(const std::string& id, const std::vector<agent::FeatureChange>& left);

bool is_on(const std::vector<agent::Feature>& features, const std::string& name);

}  // namespace pathproof::scenario
