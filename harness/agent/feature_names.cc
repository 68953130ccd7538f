#include "harness/agent/feature_names.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "dataplane/base/suggestion.h"

namespace pathproof::agent {
namespace {

struct Group {
    std::string_view short_word;
    std::string_view long_word;
    std::string_view pattern;  // of ETH_SS_FEATURES names, as in fnmatch(3)
};

// The words of ethtool(8), section -K, and the kernel's names they cover (net/ethtool/common.c,
// netdev_features_strings). The same table is behind ethtool's own -K.
constexpr std::array<Group, 12> kGroups{{
    {"rx", "rx-checksumming", "rx-checksum"},
    {"tx", "tx-checksumming", "tx-checksum-*"},
    {"sg", "scatter-gather", "tx-scatter-gather*"},
    {"tso", "tcp-segmentation-offload", "tx-tcp*-segmentation"},
    {"ufo", "udp-fragmentation-offload", "tx-udp-fragmentation"},
    {"gso", "generic-segmentation-offload", "tx-generic-segmentation"},
    {"gro", "generic-receive-offload", "rx-gro"},
    {"lro", "large-receive-offload", "rx-lro"},
    {"rxvlan", "rx-vlan-offload", "rx-vlan-hw-parse"},
    {"txvlan", "tx-vlan-offload", "tx-vlan-hw-insert"},
    {"ntuple", "ntuple-filters", "rx-ntuple-filter"},
    {"rxhash", "receive-hashing", "rx-hashing"},
}};

// The pattern of single names behind a word of `ethtool -K` ("tx" or "tx-checksumming":
// "tx-checksum-*"); empty when the word is none of ethtool's.
std::string_view group_pattern(std::string_view word) {
    for (const Group& group : kGroups) {
        if (word == group.short_word || word == group.long_word) {
            return group.pattern;
        }
    }
    return {};
}

bool matches(const std::string& name, std::string_view pattern) {
    return !name.empty() && fnmatch(std::string(pattern).c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> known_words(const std::vector<std::string>& names) {
    std::vector<std::string> words = names;
    std::erase(words, "");
    for (const Group& group : kGroups) {
        words.emplace_back(group.short_word);
        words.emplace_back(group.long_word);
    }
    return words;
}

void request(std::vector<FeatureRequest>& requests, FeatureRequest wish) {
    const auto earlier = std::ranges::find(requests, wish.index, &FeatureRequest::index);
    if (earlier == requests.end()) {
        requests.push_back(std::move(wish));
    } else {
        *earlier = std::move(wish);
    }
}

Status expand_group(const std::vector<std::string>& names, const std::string& word, bool on,
                    std::vector<FeatureRequest>& requests) {
    const std::string_view pattern = group_pattern(word);
    bool found = false;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (matches(names[index], pattern)) {
            request(requests, {index, on, FeatureRequest::Origin::kGroup, word});
            found = true;
        }
    }
    if (!found) {
        return fail(ErrorCode::kNotSupported,
                    "this kernel has no feature '{}' behind the word '{}'", pattern, word);
    }
    return {};
}

}  // namespace

Result<std::vector<FeatureRequest>> expand_features(
    const std::vector<std::string>& names,
    const std::vector<std::pair<std::string, bool>>& wanted) {
    std::vector<FeatureRequest> requests;
    for (const auto& [word, on] : wanted) {
        const auto single = std::find(names.begin(), names.end(), word);
        if (!word.empty() && single != names.end()) {
            const auto index = static_cast<std::size_t>(single - names.begin());
            request(requests, {index, on, FeatureRequest::Origin::kSingle, word});
            continue;
        }
        if (group_pattern(word).empty()) {
            return fail(ErrorCode::kNotFound, "there is no offload feature '{}'{}", word,
                        did_you_mean(word, known_words(names)));
        }
        TRY(expand_group(names, word, on, requests));
    }
    return requests;
}

}  // namespace pathproof::agent
