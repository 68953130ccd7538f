#include "harness/cli/traffic_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pathproof::cli {
namespace {

using judge::ChecksumState;
using nlohmann::json;

std::uint64_t count(const std::array<std::uint64_t, 4>& layer, ChecksumState state) {
    return layer[static_cast<std::size_t>(state)];
}

bool seen(const std::array<std::uint64_t, 4>& layer) {
    return std::ranges::any_of(layer, [](std::uint64_t frames) { return frames != 0; });
}

}  // namespace

std::string row(const char* what, const std::string& value) {
    return fmt::format("  {:<38}{:>14}\n", what, value);
}
std::string row(const char* what, std::uint64_t value) {
    return row(what, std::to_string(value));
}

std::string checksum_rows(const judge::ChecksumCounts& checksums) {
    std::string text;
    for (std::size_t n = 0; n < checksums.size(); ++n) {
        if (seen(checksums[n])) {
            text += fmt::format(
                "  {:<14}{:>12} good{:>10} bad{:>10} disabled{:>10} not verifiable\n",
                judge::name(judge::layer_at(n)), count(checksums[n], ChecksumState::kGood),
                count(checksums[n], ChecksumState::kBad),
                count(checksums[n], ChecksumState::kDisabled),
                count(checksums[n], ChecksumState::kUnverifiable));
        }
    }
    return text.empty() ? text : "checksums of received frames:\n" + text;
}

json checksum_json(const judge::ChecksumCounts& checksums) {
    json layers = json::object();
    for (std::size_t n = 0; n < checksums.size(); ++n) {
        if (seen(checksums[n])) {
            layers[judge::word(judge::layer_at(n))] = {
                {"good", count(checksums[n], ChecksumState::kGood)},
                {"bad", count(checksums[n], ChecksumState::kBad)},
                {"disabled", count(checksums[n], ChecksumState::kDisabled)},
                {"unverifiable", count(checksums[n], ChecksumState::kUnverifiable)}};
        }
    }
    return layers;
}

std::string received_rows(const judge::ReceiveTally& tally, const char* wanted) {
    return row("frames received", tally.received) + row(wanted, tally.answers) +
           row("  with a wrong checksum", tally.bad_checksum) +
           row("  malformed", tally.malformed) + row("  other traffic", tally.other_traffic) +
           row("    of them ICMP errors", tally.icmp_errors);
}

json received_json(const judge::ReceiveTally& tally, const char* wanted) {
    return {{"frames", tally.received},
            {wanted, tally.answers},
            {"bad_checksum", tally.bad_checksum},
            {"malformed", tally.malformed},
            {"other_traffic", tally.other_traffic},
            {"icmp_errors", tally.icmp_errors}};
}

std::string objection_rows(const std::vector<std::string>& objections) {
    std::string text;
    for (const std::string& objection : objections) {
        text += "not to be relied on: " + objection + "\n";
    }
    return text;
}

json head_json(const port::PortInfo& port) {
    return {{"port", port.name},
            {"driver", port.driver},
            {"evidence", port::evidence_name(port.evidence)}};
}

}  // namespace pathproof::cli
