#include "harness/tester/wire_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "dataplane/judge/checksum_names.h"

namespace pathproof::tester {
namespace {

using judge::ChecksumState;
using nlohmann::json;
using softnic::Direction;
using softnic::WireReport;
using softnic::WireTally;

constexpr std::array<Direction, 2> kDirections = {Direction::kAToB, Direction::kBToA};

const WireTally& tally(const WireReport& report, Direction direction) {
    return report.directions[static_cast<std::size_t>(direction)];
}

// The names of the wrong checksums that the kept frames show, by layer.
std::map<std::size_t, std::string> names_of_bad(const WireReport& report, Direction direction) {
    std::map<std::size_t, judge::NameVote> votes;
    for (const softnic::WireFrame& frame : report.kept) {
        for (const judge::ChecksumFinding& finding : frame.bad) {
            if (frame.direction == direction) {
                votes[judge::index_of(finding.layer)].add(
                    finding, judge::matching_names(frame.bytes, finding, std::nullopt));
            }
        }
    }
    std::map<std::size_t, std::string> names;
    for (const auto& [layer, vote] : votes) {
        names[layer] = judge::name(vote.verdict());
    }
    return names;
}

std::uint64_t count(const LayerCounts& frames, ChecksumState state) {
    return frames[static_cast<std::size_t>(state)];
}

std::string row(const char* what, const WireReport& report, std::uint64_t WireTally::*field) {
    return fmt::format("  {:<34}{:>14}{:>14}\n", what, tally(report, Direction::kAToB).*field,
                       tally(report, Direction::kBToA).*field);
}

std::string layer_rows(const WireReport& report, Direction direction, const std::string& title) {
    const WireTally& one = tally(report, direction);
    const auto names = names_of_bad(report, direction);
    std::string text;
    for (std::size_t layer = 0; layer < judge::kLayerCount; ++layer) {
        const auto named = names.find(layer);
        const bool bad = count(one.checksums[layer], ChecksumState::kBad) != 0;
        text += checksum_row(layer, one.checksums[layer],
                             bad && named != names.end() ? "  " + named->second : "");
    }
    return text.empty() ? text : fmt::format("checksums, {}:\n{}", title, text);
}

json direction_summary(const WireReport& report, Direction direction) {
    const WireTally& one = tally(report, direction);
    json out = {{"received", one.received},
                {"forwarded", one.forwarded},
                {"not_forwarded", one.not_forwarded},
                {"truncated", one.truncated},
                {"too_long", one.too_long},
                {"malformed", one.malformed},
                {"handed_partial", one.handed_partial},
                {"completed", one.completed},
                {"completed_by_value", one.completed_by_value},
                {"bad_frames", one.bad_frames},
                {"checksums", json::object()}};
    const auto names = names_of_bad(report, direction);
    for (std::size_t layer = 0; layer < judge::kLayerCount; ++layer) {
        json states = checksum_states(one.checksums[layer]);
        if (states.is_null()) {
            continue;
        }
        if (const auto named = names.find(layer); named != names.end()) {
            states["name"] = named->second;
        }
        out["checksums"][judge::word(judge::layer_at(layer))] = std::move(states);
    }
    return out;
}

}  // namespace

std::string checksum_row(std::size_t layer, const LayerCounts& frames, const std::string& more) {
    if (frames == LayerCounts{}) {
        return "";
    }
    return fmt::format("  {:<14}{:>12} good{:>10} bad{:>10} disabled{:>10} not verifiable{}\n",
                       judge::name(judge::layer_at(layer)), count(frames, ChecksumState::kGood),
                       count(frames, ChecksumState::kBad), count(frames, ChecksumState::kDisabled),
                       count(frames, ChecksumState::kUnverifiable), more);
}

json checksum_states(const LayerCounts& frames) {
    if (frames == LayerCounts{}) {
        return nullptr;
    }
    return {{"good", count(frames, ChecksumState::kGood)},
            {"bad", count(frames, ChecksumState::kBad)},
            {"disabled", count(frames, ChecksumState::kDisabled)},
            {"unverifiable", count(frames, ChecksumState::kUnverifiable)}};
}

std::string wire_table(const WireReport& report, const std::vector<port::PortInfo>& ports) {
    std::string text = fmt::format(
        "wire A = {} ({}), B = {} ({}), mode {}, {:.1f} s: software in the place of a NIC and its "
        "cable\n",
        ports[0].name, ports[0].driver, ports[1].name, ports[1].driver, softnic::name(report.mode),
        report.seconds);
    text += fmt::format("  {:<34}{:>14}{:>14}\n", "frames", "A -> B", "B -> A");
    text += row("received", report, &WireTally::received);
    text += row("forwarded", report, &WireTally::forwarded);
    text += row("not forwarded", report, &WireTally::not_forwarded);
    text += row("  cut to the port's frame buffer", report, &WireTally::truncated);
    text += row("  longer than the far port's MTU", report, &WireTally::too_long);
    text += row("handed over with a checksum to do", report, &WireTally::handed_partial);
    text += row("partial checksums completed", report, &WireTally::completed);
    text += row("  by their value: the port tells not", report, &WireTally::completed_by_value);
    text += row("left with a wrong checksum", report, &WireTally::bad_frames);
    text += row("left malformed", report, &WireTally::malformed);
    text += layer_rows(report, Direction::kAToB, "A -> B");
    text += layer_rows(report, Direction::kBToA, "B -> A");
    text += fmt::format("lost by the wire's own ports: {}\n", report.tester_lost);
    for (const std::string& objection : report.objections) {
        text += fmt::format("! {}\n", objection);
    }
    if (report.partial) {
        text += "PARTIAL: a link was down for a part of the time; the counts are right\n";
    }
    return text;
}

json wire_summary(const WireReport& report, const std::vector<port::PortInfo>& ports) {
    json out = {{"wire", "software"},
                {"mode", softnic::name(report.mode)},
                {"seconds", report.seconds},
                {"tester_lost", report.tester_lost},
                {"objections", report.objections},
                {"partial", report.partial},
                {"ports", json::array()},
                {"directions", json::array()}};
    for (const port::PortInfo& port : ports) {
        out["ports"].push_back({{"name", port.name},
                                {"driver", port.driver},
                                {"evidence", port::evidence_name(port.evidence)}});
    }
    for (const Direction direction : kDirections) {
        const bool forth = direction == Direction::kAToB;
        json one = direction_summary(report, direction);
        one["from"] = ports[forth ? 0 : 1].name;
        one["to"] = ports[forth ? 1 : 0].name;
        out["directions"].push_back(std::move(one));
    }
    return out;
}

}  // namespace pathproof::tester
