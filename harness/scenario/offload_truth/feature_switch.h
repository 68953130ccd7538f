// The offload features of a device, set one way after another and put back exactly as they were.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/offload_truth/truth_host.h"
#include "harness/truth/settings.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

class FeatureSwitch {
  public:
    static Result<FeatureSwitch> take(const TruthHost& host, const std::string& device,
                                      std::vector<std::string> varied);

    // From the state as it was found.
    Result<truth::SettingTaken> set(const truth::Setting& setting);
    // Adds the features that changed by themselves since set() to `taken`.
    Status look_again(truth::SettingTaken& taken);
    // Puts all back; what still differs then is returned. Empty: exactly as it was.
    Result<std::vector<agent::FeatureChange>> put_back();

    const std::vector<agent::Feature>& as_found() const { return as_found_; }

  private:
    FeatureSwitch(TruthHost host, std::string device)
        : host_(std::move(host)), device_(std::move(device)) {}
    Status try_all(bool on, const std::string& except, truth::SettingTaken& taken);
    Status try_one(const std::string& feature, bool on, truth::SettingTaken& taken);

    TruthHost host_;
    std::string device_;
    std::vector<std::string> varied_;
    std::vector<agent::Feature> as_found_;
};

// The flags are the user's: whatever the frames showed, they must be as they were found.
verdict::Cell put_back_cell(const std::string& id, const std::vector<agent::FeatureChange>& left);

}  // namespace pathproof::scenario
