#include "dataplane/follow/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

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
constexpr std::size_t kDescribed = 16;  // the largest ones
constexpr std::uint64_t kFewest = 3;    // frames that a description is made of
constexpr std::uint32_t kFirstOwner = 2;

std::uint32_t kind_number(const Packet& packet) {
    return static_cast<std::uint32_t>(packet.ip) << 24 |
           static_cast<std::uint32_t>(packet.tunnel) << 20 |
           std::uint32_t{packet.vlans != 0} << 18 |
           static_cast<std::uint32_t>(packet.fragment) << 16 |
           (packet.ip == frame::Network::kNone ? packet.ethertype : packet.protocol);
}

const char* family_prefix(frame::Network network) {
    switch (network) {
        case frame::Network::kIpv4: return "IPv4 ";
        case frame::Network::kIpv6: return "IPv6 ";
        case frame::Network::kNone: break;
    }
    return "";
}

std::string kind_text(const Packet& packet) {
    return fmt::format("{}{}{}{}", family_prefix(packet.ip), protocol_text(packet),
                       packet.tunnel == frame::Tunnel::kNone
                           ? ""
                           : fmt::format(" in {}", frame::name(packet.tunnel)),
                       packet.vlans == 0 ? "" : " with VLAN tag");
}

const char* ordinal_ending(std::uint64_t number) {
    const bool teen = number / 10 % 10 == 1;
    if (teen) {
        return "th";
    }
    switch (number % 10) {
        case 1: return "st";
        case 2: return "nd";
        case 3: return "rd";
        default: return "th";
    }
}

std::string ordinal(std::uint64_t number) {
    return fmt::format("{}{}", number, ordinal_ending(number));
}

// Returns whether a frame has the headers in which the key's faults are. Right frames of other
// kinds cannot have the fault, so they prove nothing.
bool can_have(const std::string& key, const Traits& traits) {
    const auto names = [&](const char* header) { return key.find(header) != std::string::npos; };
    const std::uint32_t family = traits[bit(Trait::kFamily)];
    const std::uint32_t protocol = traits[bit(Trait::kProtocol)];
    if ((names("ipv4.") && family != static_cast<std::uint32_t>(frame::Network::kIpv4)) ||
        (names("ipv6.") && family != static_cast<std::uint32_t>(frame::Network::kIpv6))) {
        return false;
    }
    if ((names("tcp.") || names("stream") || names("in part")) && protocol != IPPROTO_TCP) {
        return false;
    }
    return !names("udp.") || protocol == IPPROTO_UDP;
}

}  // namespace

std::uint64_t period_of(const std::vector<std::uint64_t>& places) {
    constexpr std::size_t kFewestPlaces = 4;
    if (places.size() < kFewestPlaces) {
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
    const auto [found, is_new] = findings_.try_emplace(key);
    Kept& kept = found->second;
    Finding& finding = kept.finding;
    const Packet& about = entry.in != nullptr ? *entry.in : *entry.out;
    if (is_new) {
        kept.owner = kFirstOwner + static_cast<std::uint32_t>(findings_.size());
        kept.first_ns = about.time_ns;
        finding.direction = entry.direction;
        finding.fault = entry.fault;
        finding.unknown = entry.unknown;
        finding.key = entry.key;
        finding.text = entry.text;
        finding.shortest = finding.longest = about.length;
    }
    ++finding.count;
    kept.last_ns = about.time_ns;
    if (entry.unknown || entry.was_right || key == "more") {
        kept.describable = false;
    } else {
        table_.add(kept.owner, about);
        const std::uint64_t place = place_in_kind(entry.direction, about);
        kept.first_place = finding.count == 1 ? place : kept.first_place;
        kept.last_place = place;
        if (kept.kind_places.size() < kPlaces) {
            kept.kind_places.push_back(place);
        }
    }
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
    }
    if (contains(kept.kinds, kind_number(about))) {
        return;
    }
    kept.kinds.push_back(kind_number(about));
    if (const std::string kind = kind_text(about); !contains(finding.kinds, kind)) {
        finding.kinds.push_back(kind);
    }
}

void Findings::add_right(Direction direction, const Packet& packet) {
    table_.add(static_cast<std::uint32_t>(direction), packet);
    place_in_kind(direction, packet);
}

std::uint64_t Findings::place_in_kind(Direction direction, const Packet& packet) {
    return ++of_kind_[static_cast<std::size_t>(direction)][kind_number(packet)];
}

// "every 10th frame that was sent", "25 IPv4 UDP frames one behind the other, within 0.024 s"; empty: in
// no such order.
std::string Findings::rhythm_of(const Kept& kept) const {
    const Finding& finding = kept.finding;
    if (const std::uint64_t period = period_of(finding.places); period > 1) {
        return fmt::format("every {} frame that was sent", ordinal(period));
    }
    if (kept.kinds.size() != 1) {
        return "";
    }
    if (const std::uint64_t period = period_of(kept.kind_places); period > 1) {
        return fmt::format("every {} frame of {}", ordinal(period), finding.kinds.front());
    }
    if (finding.count >= kFewest && kept.last_place - kept.first_place + 1 == finding.count) {
        return fmt::format("{} {} frames one behind the other, within {:.3f} s", finding.count,
                           finding.kinds.front(),
                           static_cast<double>(kept.last_ns - kept.first_ns) / 1e9);
    }
    return "";
}

Description Findings::description_of(Direction direction, const std::string& key,
                                     const std::vector<Alike>& wrong) const {
    std::vector<Alike> right = table_.of(static_cast<std::uint32_t>(direction));
    std::erase_if(right, [&](const Alike& alike) { return !can_have(key, alike.traits); });
    return describe(wrong, right, table_.told(),
                    [&](std::uint32_t trait) { return table_.address(trait); });
}

Description Findings::describe_all(Direction direction) const {
    std::vector<Alike> wrong;
    std::size_t findings = 0;
    for (const auto& [key, kept] : findings_) {
        if (kept.finding.direction == direction && kept.describable) {
            const std::vector<Alike> some = table_.of(kept.owner);
            wrong.insert(wrong.end(), some.begin(), some.end());
            ++findings;
        }
    }
    return findings < 2 ? Description() : description_of(direction, "", wrong);
}

void Findings::locate(Kept& kept, bool describe_it) const {
    Finding& finding = kept.finding;
    if (!kept.describable) {
        return;
    }
    if (describe_it && finding.count >= kFewest) {
        finding.description = description_of(finding.direction, finding.key, table_.of(kept.owner));
    }
    // An exact period explains more than a description that right frames fit, too.
    if (finding.description.right_that_fit != 0 && period_of(finding.places) > 1) {
        finding.description = {};
    }
    const Description& description = finding.description;
    std::vector<std::string> parts;
    if (description.separates()) {
        parts.push_back(description.sentence());
    }
    // The order adds nothing where a description tells them from all others.
    if (!description.separates() || description.right_that_fit != 0) {
        if (std::string rhythm = rhythm_of(kept); !rhythm.empty()) {
            parts.push_back(std::move(rhythm));
        }
    }
    finding.located = fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<Finding> Findings::finish() {
    std::vector<Kept> all;
    for (auto& [key, kept] : findings_) {
        all.push_back(std::move(kept));
    }
    findings_.clear();
    std::ranges::stable_sort(all, std::ranges::greater(),
                             [](const Kept& kept) { return kept.finding.count; });
    std::vector<Finding> findings;
    for (Kept& kept : all) {
        locate(kept, findings.size() < kDescribed);
        findings.push_back(std::move(kept.finding));
    }
    return findings;
}

}  // namespace pathproof::follow
