#include "dataplane/follow/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "dataplane/base/contains.h"
#include "dataplane/base/plural.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kSpecimens = 3;
constexpr std::size_t kFlows = 4;
constexpr std::size_t kPlaces = 64;
constexpr std::size_t kFindings = 500;  // more are counted with the last of their class

std::uint32_t kind_number(const Packet& packet) {
    return static_cast<std::uint32_t>(packet.ip) << 24 |
           static_cast<std::uint32_t>(packet.tunnel) << 20 |
           std::uint32_t{packet.vlans != 0} << 18 |
           static_cast<std::uint32_t>(packet.fragment) << 16 |
           (packet.ip == frame::Network::kNone ? packet.ethertype : packet.protocol);
}

std::string kind_text(const Packet& packet) {
    const char* const family = packet.ip == frame::Network::kIpv4   ? "IPv4 "
                               : packet.ip == frame::Network::kIpv6 ? "IPv6 "
                                                                    : "";
    return fmt::format("{}{}{}{}", family, protocol_text(packet),
                       packet.tunnel == frame::Tunnel::kNone
                           ? ""
                           : fmt::format(" in {}", frame::name(packet.tunnel)),
                       packet.vlans == 0 ? "" : " with VLAN tag");
}

std::string ordinal(std::uint64_t number) {
    const std::uint64_t last = number % 10;
    const bool teen = number / 10 % 10 == 1;
    const char* const ending = teen || last == 0 || last > 3 ? "th"
                               : last == 1                   ? "st"
                               : last == 2                   ? "nd"
                                                             : "rd";
    return fmt::format("{}{}", number, ending);
}

}  // namespace

std::uint64_t period_of(const std::vector<std::uint64_t>& places) {
    constexpr std::size_t kFewest = 4;
    if (places.size() < kFewest) {
        return 0;
    }
    const std::uint64_t step = places[1] - places[0];
    for (std::size_t i = 2; i < places.size(); ++i) {
        if (places[i] - places[i - 1] != step) {
            return 0;
        }
    }
    return step;
}

void Findings::add(const Entry& entry) {
    std::string key = fmt::format("{}{}{}{}", static_cast<int>(entry.direction),
                                  static_cast<int>(entry.fault), entry.unknown ? 1 : 0, entry.key);
    if (findings_.size() >= kFindings && !findings_.contains(key)) {
        key = "more";
    }
    Finding& finding = findings_[key];
    const Packet& about = entry.in != nullptr ? *entry.in : *entry.out;
    if (finding.count == 0) {
        finding.direction = entry.direction;
        finding.fault = entry.fault;
        finding.unknown = entry.unknown;
        finding.key = entry.key;
        finding.text = entry.text;
        finding.shortest = finding.longest = about.length;
    }
    ++finding.count;
    finding.one_text = finding.one_text && finding.text == entry.text;
    finding.shortest = std::min(finding.shortest, about.length);
    finding.longest = std::max(finding.longest, about.length);
    if (finding.places.size() < kPlaces && entry.place != 0) {
        finding.places.push_back(entry.place);
    }
    if (entry.shown && finding.specimens.size() < kSpecimens) {
        Specimen specimen;
        specimen.text = entry.text;
        if (entry.in != nullptr) {
            specimen.in = {entry.in->file, entry.in->number};
            specimen.in_bytes.assign(entry.in->bytes.begin(), entry.in->bytes.end());
            specimen.in_ns = entry.in->time_ns;
        }
        if (entry.out != nullptr) {
            specimen.out = {entry.out->file, entry.out->number};
            specimen.out_bytes.assign(entry.out->bytes.begin(), entry.out->bytes.end());
            specimen.out_ns = entry.out->time_ns;
        }
        finding.specimens.push_back(std::move(specimen));
    }
    if (!finding.more_flows) {
        const std::string flow = flow_text(about);
        if (!contains(finding.flows, flow)) {
            if (finding.flows.size() == kFlows) {
                finding.more_flows = true;
            } else {
                finding.flows.push_back(flow);
            }
        }
        const std::string kind = kind_text(about);
        if (!contains(finding.kinds, kind)) {
            finding.kinds.push_back(kind);
        }
    }
}

void Findings::add_right(Direction direction, const Packet& packet) {
    Right& right = right_[static_cast<std::size_t>(direction)];
    ++right.lengths[std::min<std::uint32_t>(packet.length, 65'535)];
    Kind& kind = right.kinds[kind_number(packet)];
    if (kind.frames++ == 0) {
        kind.text = kind_text(packet);
    }
}

// "every frame that is IPv4 UDP; right are IPv4 TCP, LLDP"; empty: right frames are of these kinds too.
std::string Findings::kinds_located(const Finding& finding) const {
    constexpr std::uint64_t kTelling = 3;
    constexpr std::size_t kNamed = 4;
    const auto& right = right_[static_cast<std::size_t>(finding.direction)].kinds;
    std::vector<std::string> others;
    std::uint64_t frames = 0;
    for (const auto& [number, kind] : right) {
        if (contains(finding.kinds, kind.text)) {
            return "";
        }
        if (!contains(others, kind.text)) {
            others.push_back(kind.text);
        }
        frames += kind.frames;
    }
    if (finding.unknown || finding.count < kTelling || frames < kTelling) {
        return "";
    }
    std::ranges::sort(others);
    const bool more = others.size() > kNamed;
    others.resize(std::min(others.size(), kNamed));
    return fmt::format("every frame that is {}; right are {}{}", fmt::join(finding.kinds, ", "),
                       fmt::join(others, ", "), more ? ", and others" : "");
}

void Findings::locate(Finding& finding) const {
    constexpr std::uint64_t kEnough = 3;
    const auto& lengths = right_[static_cast<std::size_t>(finding.direction)].lengths;
    const std::uint32_t longest = std::min<std::uint32_t>(finding.longest, 65'535);
    const std::uint32_t shortest = std::min(finding.shortest, longest);
    std::uint64_t within = 0, below = 0, above = 0;
    std::uint32_t next_below = 0, next_above = 0;
    for (std::uint32_t length = 0; length < lengths.size(); ++length) {
        const std::uint64_t right = lengths[length];
        if (right == 0) {
            continue;
        }
        if (length < shortest) {
            below += right;
            next_below = length;
        } else if (length > longest) {
            next_above = above == 0 ? length : next_above;
            above += right;
        } else {
            within += right;
        }
    }
    std::vector<std::string> parts;
    if (finding.count >= kEnough && within == 0 && below + above >= kEnough) {
        std::string text = shortest == longest
                               ? fmt::format("every frame of {} bytes", shortest)
                               : fmt::format("every frame of {} to {} bytes", shortest, longest);
        if (below != 0) {
            text += fmt::format("; right up to {} bytes", next_below);
        }
        if (above != 0) {
            text += fmt::format("; right from {} bytes on", next_above);
        }
        parts.push_back(text);
    }
    if (const std::uint64_t period = period_of(finding.places); period > 1 && within != 0) {
        parts.push_back(fmt::format("every {} frame that was sent", ordinal(period)));
    }
    // The kind alone separates them: a length that does so too follows from it.
    if (const std::string kinds = kinds_located(finding); !kinds.empty()) {
        parts = {kinds};
    }
    finding.located = fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Finding> Findings::finish() {
    std::vector<Finding> all;
    for (auto& [key, finding] : findings_) {
        locate(finding);
        all.push_back(std::move(finding));
    }
    findings_.clear();
    std::ranges::stable_sort(all, std::ranges::greater(), &Finding::count);
    return all;
}

}  // namespace pathproof::follow
