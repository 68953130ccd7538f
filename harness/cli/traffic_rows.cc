#include "harness/cli/traffic_rows.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "harness/tester/wire_text.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

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
        text += tester::checksum_row(n, checksums[n]);
    }
    return text.empty() ? text : "checksums of received frames:\n" + text;
}

json checksum_json(const judge::ChecksumCounts& checksums) {
    json layers = json::object();
    for (std::size_t n = 0; n < checksums.size(); ++n) {
        if (json states = tester::checksum_states(checksums[n]); !states.is_null()) {
            layers[judge::word(judge::layer_at(n))] = std::move(states);
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
