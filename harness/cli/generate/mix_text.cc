#include "harness/cli/generate/mix_text.h"

#include <algorithm>

#include "dataplane/base/number.h"

namespace pathproof::cli {
namespace {

using frame::TrafficClass;

constexpr unsigned kFcs = 4;
constexpr unsigned kShortest = 64;
constexpr unsigned kLongest = 9238;

struct Word {
    std::string key;  // empty: a number alone
    std::string value;
};

std::vector<Word> words(const std::string& text) {
    std::vector<Word> found;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t end = std::min(text.find(',', from), text.size());
        const std::string one = text.substr(from, end - from);
        const std::size_t equals = one.find('=');
        found.push_back(equals == one.npos ? Word{"", one}
                                           : Word{one.substr(0, equals), one.substr(equals + 1)});
        from = end + 1;
    }
    return found;
}

Result<TrafficClass> class_named(const std::string& name) {
    if (name == "dns") {
        return TrafficClass::kDnsA;
    }
    std::vector<std::string> known;
    for (std::size_t n = 0; n < frame::kTrafficClasses; ++n) {
        const auto traffic = static_cast<TrafficClass>(n);
        if (traffic == TrafficClass::kReplay) {
            continue;
        }
        if (name == frame::name(traffic)) {
            return traffic;
        }
        known.emplace_back(frame::name(traffic));
    }
    return fail(ErrorCode::kBadInput, "'{}' is no traffic class; there are {}", name,
                fmt::join(known, ", "));
}

bool is_dns(TrafficClass traffic) {
    return traffic == TrafficClass::kDnsA || traffic == TrafficClass::kDnsAaaa;
}

Status set_size(std::vector<load::MixPart>& mix, const std::string& name, std::uint16_t bytes) {
    if (name.empty()) {
        for (load::MixPart& part : mix) {
            part.frame_bytes = bytes;
        }
        return {};
    }
    const auto traffic = TRY(class_named(name));
    bool found = false;
    for (load::MixPart& part : mix) {
        if (name == "dns" ? is_dns(part.traffic) : part.traffic == traffic) {
            part.frame_bytes = bytes;
            found = true;
        }
    }
    return found ? Status() : fail(ErrorCode::kBadInput, "'{}' is not in the mix", name);
}

}  // namespace

Result<std::vector<load::MixPart>> parse_mix(const std::string& text) {
    std::vector<load::MixPart> mix;
    for (Word& word : words(text)) {
        if (word.key.empty()) {
            word = {word.value, "1"};
        }
        const auto traffic = TRY(class_named(word.key));
        const auto weight = whole_number<std::uint32_t>(word.value);
        if (!weight || *weight == 0) {
            return fail(ErrorCode::kBadInput, "a weight of '{}' for {} is no number above 0",
                        word.value, word.key);
        }
        if (std::ranges::find(mix, traffic, &load::MixPart::traffic) != mix.end()) {
            return fail(ErrorCode::kBadInput, "{} is in the mix twice", word.key);
        }
        mix.push_back({.traffic = traffic, .weight = *weight});
    }
    return mix;
}

Status set_sizes(std::vector<load::MixPart>& mix, const std::string& text) {
    for (const Word& word : words(text)) {
        const auto bytes = whole_number<std::uint32_t>(word.value);
        if (!bytes || *bytes < kShortest || *bytes > kLongest) {
            return fail(ErrorCode::kBadInput,
                        "a frame of '{}' bytes is not in {}..{} (with FCS, as RFC 2544 counts)",
                        word.value, kShortest, kLongest);
        }
        TRY(set_size(mix, word.key, static_cast<std::uint16_t>(*bytes - kFcs)));
    }
    return {};
}

}  // namespace pathproof::cli
