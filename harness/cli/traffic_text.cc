#include "harness/cli/traffic_text.h"

#include <nlohmann/json.hpp>

#include "harness/cli/traffic_rows.h"

namespace pathproof::cli {

using nlohmann::json;

std::string respond_table(const traffic::RespondReport& report, const port::PortInfo& port) {
    const traffic::ResponderCounts& queries = report.queries;
    return fmt::format("port {} ({}, {}), {:.1f} s\n", port.name, port.driver,
                       port::evidence_name(port.evidence), report.seconds) +
           row("queries", queries.queries) + row("  answered", queries.answered) +
           row("    of them in place", queries.quick) +
           row("  lost on purpose", queries.lost_on_purpose) +
           row("  still waiting for their time", report.waiting) +
           row("  no room", queries.no_room) + row("  not sent", queries.not_sent) +
           row("reflected", queries.reflected) + row("  not sent", queries.not_reflected) +
           received_rows(report.received, "  queries") + checksum_rows(report.checksums) +
           objection_rows(report.objections) +
           (report.partial ? "PARTIAL: the link was down for a part of the time; the counts are "
                             "right\n"
                           : "");
}

namespace {

json driver_json(const std::vector<port::NamedCounter>& counters) {
    json out = json::object();
    for (const port::NamedCounter& counter : counters) {
        out[counter.name] = counter.value;
    }
    return out;
}

}  // namespace

json respond_json(const traffic::RespondReport& report, const port::PortInfo& port) {
    json out = head_json(port);
    out.update({{"seconds", report.seconds},
                {"queries",
                 {{"received", report.queries.queries},
                  {"answered", report.queries.answered},
                  {"in_place", report.queries.quick},
                  {"lost_on_purpose", report.queries.lost_on_purpose},
                  {"waiting", report.waiting},
                  {"no_room", report.queries.no_room},
                  {"not_sent", report.queries.not_sent}}},
                {"reflected",
                 {{"sent", report.queries.reflected}, {"not_sent", report.queries.not_reflected}}},
                {"received", received_json(report.received, "queries")},
                {"received_by_lcore", report.received_by_worker},
                {"checksums", checksum_json(report.checksums)},
                {"driver_counters", driver_json(report.driver_counters)},
                {"objections", report.objections},
                {"partial", report.partial}});
    return out;
}

}  // namespace pathproof::cli
