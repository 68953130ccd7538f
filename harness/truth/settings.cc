#include "harness/truth/settings.h"

namespace pathproof::truth {
namespace {

using agent::Feature;

struct SettingWords {
    const char* id;
    const char* title;
};
// Indexed by Setting::Kind; the words of a single feature's setting stand behind its name.
constexpr SettingWords kSettingWords[] = {{"as-found", "as found"},
                                          {"all-off", "all off"},
                                          {"all-on", "all on"},
                                          {".off", " alone off"},
                                          {".on", " alone on"}};

const SettingWords& words(Setting::Kind kind) {
    return kSettingWords[static_cast<std::size_t>(kind)];
}

bool of_one(Setting::Kind kind) {
    return kind == Setting::Kind::kOneOff || kind == Setting::Kind::kOneOn;
}

}  // namespace

bool may_change(const Feature& feature) {
    return feature.available && !feature.never_changed;
}

bool is_on(const std::vector<Feature>& features, const std::string& name) {
    const Feature* feature = feature_named(features, name);
    return feature != nullptr && feature->active;
}

std::string Setting::id() const {
    return of_one(kind) ? feature + words(kind).id : words(kind).id;
}

std::string Setting::title() const {
    return of_one(kind) ? feature + words(kind).title : words(kind).title;
}

std::vector<Setting> settings_for(const std::vector<std::string>& varied,
                                  const std::vector<Feature>& features, MatrixSize size) {
    std::vector<Setting> settings = {{Setting::Kind::kAsFound, ""}};
    std::vector<std::string> changeable;
    for (const std::string& name : varied) {
        const Feature* feature = feature_named(features, name);
        if (feature != nullptr && may_change(*feature)) {
            changeable.push_back(name);
        }
    }
    if (changeable.empty()) {
        return settings;
    }
    settings.push_back({Setting::Kind::kAllOff, ""});
    settings.push_back({Setting::Kind::kAllOn, ""});
    for (const std::string& name : changeable) {
        settings.push_back({Setting::Kind::kOneOff, name});
        if (size == MatrixSize::kFull || !is_on(features, name)) {
            settings.push_back({Setting::Kind::kOneOn, name});
        }
    }
    return settings;
}

std::vector<Setting> receive_settings_for(const std::vector<Feature>& features) {
    std::vector<Setting> settings = {{Setting::Kind::kAsFound, ""}};
    bool any_off = false;
    for (const std::string& name : receive_features(features)) {
        const Feature* feature = feature_named(features, name);
        if (!may_change(*feature)) {
            continue;
        }
        any_off |= !feature->active;
        if (feature->active) {
            settings.push_back({Setting::Kind::kOneOff, name});
        }
    }
    if (any_off) {
        settings.push_back({Setting::Kind::kAllOn, ""});
    }
    return settings;
}

std::vector<std::string> receive_features(const std::vector<Feature>& features) {
    std::vector<std::string> names;
    for (const char* name : {"rx-checksum", "rx-gro"}) {
        if (feature_named(features, name) != nullptr) {
            names.emplace_back(name);
        }
    }
    return names;
}

}  // namespace pathproof::truth
