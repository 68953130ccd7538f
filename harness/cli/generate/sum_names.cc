#include "harness/cli/generate/sum_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/judge/checksum_names.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::cli {
namespace {

using frame::IpAddress;
using judge::ChecksumFinding;

constexpr std::size_t kMostNamespaces = 64;
constexpr std::size_t kEnough = 3;

struct Kept {
    const std::vector<std::uint8_t>* bytes = nullptr;
    const std::vector<std::uint8_t>* before = nullptr;
    ChecksumFinding finding;
};

// Returns kept frames with wrong checksums, by layer.
std::map<std::string, std::vector<Kept>> kept_sums(const GenerateResult& result) {
    std::map<std::string, std::vector<Kept>> layers;
    const auto add = [&](const std::vector<std::uint8_t>& bytes,
                         const std::vector<std::uint8_t>* before) {
        const judge::FrameVerdict verdict = judge::verify(bytes, frame::TunnelPorts::well_known());
        for (const ChecksumFinding& finding : verdict.all()) {
            if (finding.state == judge::ChecksumState::kBad) {
                layers[judge::word(finding.layer)].push_back({&bytes, before, finding});
            }
        }
    };
    for (const load::WrongFrame& frame : result.damaged_frames) {
        if (!frame.sent.empty()) {
            add(frame.bytes, &frame.sent);
        }
    }
    if (layers.empty()) {
        for (const judge::KeptFrame& frame : result.bad_frames) {
            add(frame.bytes, nullptr);
        }
    }
    return layers;
}

// The one address of `others` that, in the place of the frame's source or destination, makes every
// wrong value right; nothing if none does, or several do.
std::string right_for(const std::vector<Kept>& frames, const std::vector<IpAddress>& others) {
    std::set<std::string> fitting;
    for (const IpAddress& other : others) {
        for (const bool source : {true, false}) {
            const bool all = std::ranges::all_of(frames, [&](const Kept& kept) {
                const frame::FrameView view =
                    frame::parse_frame(*kept.bytes, frame::TunnelPorts::well_known());
                const frame::PacketView& packet =
                    kept.finding.layer.depth == judge::Depth::kInner ? view.inner : view.outer;
                judge::OriginalTuple tuple{packet.source_endpoint(), packet.destination_endpoint()};
                IpAddress& place = source ? tuple.source.address : tuple.destination.address;
                if (place.family != other.family || place == other) {
                    return false;
                }
                place = other;
                return judge::checksum_for_tuple(*kept.bytes, kept.finding, tuple) ==
                       kept.finding.wire;
            });
            if (all) {
                fitting.insert(fmt::format("{} {}", source ? "source" : "destination",
                                           frame::to_string(other)));
            }
        }
    }
    return fitting.size() == 1 ? *fitting.begin() : "";
}

void name_offset(const std::vector<Kept>& frames, const std::vector<IpAddress>& others,
                 SumName& name) {
    std::set<std::uint32_t> rights;
    const std::uint32_t offset = judge::difference(frames.front().finding);
    const bool same = std::ranges::all_of(frames, [&](const Kept& kept) {
        rights.insert(kept.finding.right);
        return judge::difference(kept.finding) % 0xffff == offset % 0xffff;
    });
    const bool sum = frames.front().finding.layer.protocol != judge::Protocol::kSctp;
    if (!same || !sum || rights.size() < kEnough) {
        return;
    }
    const std::uint32_t negative = ~offset & 0xffff;
    name.name = negative < offset ? fmt::format("OFFSET(-0x{:04x})", negative)
                                  : fmt::format("OFFSET(+0x{:04x})", offset);
    const std::string address = right_for(frames, others);
    if (!address.empty()) {
        name.name = address.starts_with("source") ? "STALE_SADDR" : "STALE_DADDR";
        name.meaning = "right for the " + address +
                       ", so that an address was translated and the checksum was not";
        return;
    }
    name.meaning =
        "off by the same in every frame: a field that is summed changed on the way by a constant, "
        "as NAT changes an address, and the checksum did not follow";
}

}  // namespace

std::vector<SumName> name_sums(const GenerateResult& result, const std::vector<IpAddress>& others) {
    std::vector<SumName> names;
    for (const auto& [layer, frames] : kept_sums(result)) {
        judge::NameVote vote;
        for (const Kept& kept : frames) {
            judge::Evidence evidence;
            if (kept.before != nullptr) {
                evidence.before = *kept.before;
            }
            vote.add(*kept.bytes, kept.finding, evidence);
        }
        SumName& name = names.emplace_back(SumName{.layer = layer,
                                                   .frames = frames.size(),
                                                   .name = judge::name(vote.verdict()),
                                                   .wire = vote.last().wire,
                                                   .right = vote.last().right});
        if (vote.verdict() != judge::ChecksumName::kUnknown) {
            name.meaning = judge::meaning(vote.verdict());
        } else {
            name_offset(frames, others, name);
        }
    }
    return names;
}

std::vector<IpAddress> addresses_nearby() {
    std::vector<std::string> namespaces = {""};
    std::error_code wrong;
    for (const auto& entry : std::filesystem::directory_iterator("/run/netns", wrong)) {
        if (namespaces.size() < kMostNamespaces) {
            namespaces.push_back(entry.path().filename());
        }
    }
    std::vector<IpAddress> found;
    const auto add = [&](const std::string& text) {
        const auto address = frame::parse_ip(text);
        if (address && !contains(found, *address)) {
            found.push_back(*address);
        }
    };
    for (const std::string& netns : namespaces) {
        for (const char* what : {"neighbour", "address"}) {
            const auto text = process::run_program({"ip", "-json", what, "show"}, {.netns = netns});
            const nlohmann::json list = text ? process::parse_foreign(text->out) : nlohmann::json();
            for (const nlohmann::json& each : list.is_array() ? list : nlohmann::json::array()) {
                add(process::text_in(each, "dst"));
                const nlohmann::json& own = process::part(each, "addr_info");
                for (const nlohmann::json& one : own.is_array() ? own : nlohmann::json::array()) {
                    add(process::text_in(one, "local"));
                }
            }
        }
    }
    return found;
}

}  // namespace pathproof::cli
