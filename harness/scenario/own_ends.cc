#include "harness/scenario/own_ends.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "dataplane/base/contains.h"

namespace pathproof::scenario {

std::uint64_t OwnEnds::all() const {
    std::uint64_t packets = 0;
    for (const Kind& kind : dropped) {
        packets += kind.packets;
    }
    return packets;
}

std::uint64_t OwnEnds::by(std::string_view cause) const {
    std::uint64_t packets = 0;
    for (const Kind& kind : dropped) {
        packets += kind.cause == cause ? kind.packets : 0;
    }
    return packets;
}

namespace {

template <typename Counts>
OwnEnds ends_that(const Result<fate::Fates>& fates, const Counts& counts) {
    OwnEnds ends{.not_followed = fate::why_not_told(fates)};
    if (!ends.by_packet()) {
        return ends;
    }
    for (const fate::EndCount& count : fates->ends) {
        const fate::End& end = count.end;
        const bool held = end.ending == fate::Ending::kHeld;
        if ((!held && end.ending != fate::Ending::kDropped) || !counts(count)) {
            continue;
        }
        const std::string text =
            fmt::format("{} {}{}", held ? "held" : "dropped", end.text,
                        end.device.empty() ? "" : fmt::format(", device {}", end.device));
        const auto known = std::ranges::find_if(ends.dropped, [&](const OwnEnds::Kind& kind) {
            return kind.text == text && kind.netns == end.netns;
        });
        if (known != ends.dropped.end()) {
            known->packets += count.packets;
        } else {
            ends.dropped.push_back({.cause = held ? "held" : end.cause,
                                    .text = text,
                                    .packets = count.packets,
                                    .hook = end.hook,
                                    .netns = end.netns});
        }
    }
    std::ranges::stable_sort(ends.dropped, std::greater(), &OwnEnds::Kind::packets);
    return ends;
}

// The words that cells have for it.
std::string word_of(const std::string& cause, Link link) {
    // Ends of packets on their way to a device without a link.
    static constexpr std::string_view kDown[] = {"no-route", "neighbour", "device-down", "qdisc",
                                                 "device",   "no-reason", "held"};
    if (fate::is_by_netfilter(cause)) {
        return "rule-drop";
    }
    return link == Link::kWasDown && contains(kDown, cause) ? "link-down" : cause;
}

}  // namespace

OwnEnds own_ends(const Result<fate::Fates>& fates, fate::Direction direction) {
    return ends_that(fates, [&](const fate::EndCount& count) {
        return count.direction == direction && count.end.netns == fates->netns &&
               count.end.cause != "xdp";
    });
}

OwnEnds own_ends_in(const Result<fate::Fates>& fates, const std::vector<std::string>& namespaces) {
    return ends_that(fates, [&](const fate::EndCount& count) {
        return count.direction != fate::Direction::kError && contains(namespaces, count.end.netns);
    });
}

bool is_by_rule(const OwnEnds::Kind& kind) {
    return fate::is_by_netfilter(kind.cause);
}

std::string causes(const OwnEnds& ends, Link link) {
    std::vector<std::string> words;
    for (const OwnEnds::Kind& kind : ends.dropped) {
        const std::string word = word_of(kind.cause, link);
        if (!contains(words, word)) {
            words.push_back(word);
        }
    }
    return fmt::format("{}", fmt::join(words, "+"));
}

std::string in_words(const OwnEnds& ends) {
    std::vector<std::string> told;
    for (const OwnEnds::Kind& kind : ends.dropped) {
        told.push_back(fmt::format("{} {}", kind.packets, kind.text));
    }
    return fmt::format("{}", fmt::join(told, "; "));
}

}  // namespace pathproof::scenario
