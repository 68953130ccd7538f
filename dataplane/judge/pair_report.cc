#include "dataplane/judge/pair_report.h"

#include <algorithm>
#include <limits>

namespace pathproof::judge {
namespace {

using Findings = std::vector<std::string>;

template <typename... Args>
void say(Findings& findings, fmt::format_string<Args...> text, Args&&... args) {
    findings.push_back(fmt::format(text, std::forward<Args>(args)...));
}

constexpr auto kFull = std::numeric_limits<std::uint8_t>::max();

bool answer_came(const QueryRecord& record) {
    return record.state != QueryState::kNever;
}

bool contradicts_itself(const QueryRecord& record) {
    if (!answer_came(record)) {
        return record.answered_ns >= 0 || record.duplicates > 0;
    }
    return record.sent_ns < 0 || record.answered_ns < record.sent_ns;
}

void audit_records(const PairReport& report, Findings& findings) {
    std::uint64_t left = 0;
    std::uint64_t answers = 0;
    std::uint64_t seen = 0;
    std::uint64_t contradictory = 0;
    bool saturated = false;
    for (std::size_t n = 0; n < report.records.size(); ++n) {
        const QueryRecord& record = report.records[n];
        if (record.pair != n / 2 || record.member != n % 2) {
            say(findings, "record {} speaks of query {} of pair {}", n, record.member, record.pair);
            return;
        }
        left += record.sent_ns >= 0 ? 1 : 0;
        answers += answer_came(record) ? 1u + record.duplicates : 0u;
        seen += record.server_saw;
        saturated = saturated || record.duplicates == kFull || record.server_saw == kFull;
        contradictory += contradicts_itself(record) ? 1 : 0;
    }
    if (contradictory > 0) {
        say(findings, "{} records contradict themselves (an answer before or without its query)",
            contradictory);
    }
    if (left != report.departures.sent) {
        say(findings, "{} queries left by the records, {} by the departures", left,
            report.departures.sent);
    }
    if (report.records.size() - left < report.departures.refused) {
        say(findings, "{} queries were refused by the driver, but only {} did not leave",
            report.departures.refused, report.records.size() - left);
    }
    if (!saturated && answers != report.client.answers) {
        say(findings, "the records hold {} answers, the client ports gave {}", answers,
            report.client.answers);
    }
    if (seen > report.server.answers) {
        say(findings, "the records say that the responder saw {} queries, its port gave {}", seen,
            report.server.answers);
    }
}

void audit_tally(const char* side, const ReceiveTally& tally, Findings& findings) {
    if (!tally.balances()) {
        say(findings,
            "{} frames: {} received, but {} answers + {} bad checksums + {} malformed + {} others",
            side, tally.received, tally.answers, tally.bad_checksum, tally.malformed,
            tally.other_traffic);
    }
    if (tally.icmp_errors > tally.other_traffic) {
        say(findings, "{} frames: {} ICMP errors among {} others", side, tally.icmp_errors,
            tally.other_traffic);
    }
}

void audit_checksums(const PairReport& report, Findings& findings) {
    std::uint64_t bad = 0;
    for (const auto& layer : report.checksums) {
        bad += layer[static_cast<std::size_t>(ChecksumState::kBad)];
    }
    if ((bad == 0) != (report.client.bad_checksum == 0) || bad < report.client.bad_checksum) {
        say(findings, "{} wrong checksums in {} client frames with a wrong checksum", bad,
            report.client.bad_checksum);
    }
}

}  // namespace

const char* name(QueryState state) {
    switch (state) {
        case QueryState::kAnswered: return "answered";
        case QueryState::kLate: return "late";
        case QueryState::kWrongSource: return "wrong source";
        case QueryState::kWrong: return "wrong";
        case QueryState::kNever: return "never answered";
    }
    return "unknown";
}

std::uint64_t PairReport::count(QueryState state) const {
    return static_cast<std::uint64_t>(std::ranges::count(records, state, &QueryRecord::state));
}

std::vector<std::string> audit(const PairReport& report) {
    Findings findings;
    audit_records(report, findings);
    audit_tally("client", report.client, findings);
    audit_tally("server", report.server, findings);
    audit_checksums(report, findings);
    return findings;
}

}  // namespace pathproof::judge
