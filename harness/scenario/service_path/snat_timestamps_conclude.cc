// Conclusions of snat-timestamps, as data (model/README.md).
#include <algorithm>
#include <cmath>
#include <ranges>

#include "harness/scenario/service_path/snat_timestamps.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using PathSnat = lab::Snat;

constexpr std::size_t kMostStories = 10;

std::uint64_t refusals(const TimestampValues& seen) {
    return seen.found.count(SynFate::kTimestamp) + seen.found.count(SynFate::kSequence);
}

std::string nat_text(const TimestampCell& what, const TimestampValues&) {
    return what.translates() ? to_string(what.path.snat) : "no NAT";
}

std::string ports_text(const TimestampCell& what, const TimestampValues&) {
    if (!what.translates()) {
        return "-";
    }
    const lab::PortRange& ports = what.path.snat_ports;
    return what.full_range ? "all" : fmt::format("{}", ports.last - ports.first + 1);
}

// The NAT gives some flows of the cell another port.
bool moves_ports(const TimestampCell& what, const TimestampValues&) {
    return what.path.snat == PathSnat::kMasqueradeRandomFully ||
           (what.translates() && !what.full_range);
}

model::Rows stories(const TimestampCell&, const TimestampValues& seen) {
    model::Rows rows;
    for (const RefusedSyn& syn : seen.found.refused | std::views::take(kMostStories)) {
        rows.push_back({std::to_string(syn.port), std::to_string(syn.port_before_nat),
                        std::to_string(syn.left_by),
                        syn.fate == SynFate::kTimestamp ? "TSval" : "sequence number",
                        std::to_string(syn.last), std::to_string(syn.own),
                        syn.named ? "names the port before NAT" : "does not name it"});
    }
    return rows;
}

TimestampConclusions::Figures timestamp_figures() {
    using What = TimestampCell;
    using Seen = TimestampValues;
    const auto found = [](auto member) {
        return [member](const Seen& seen) { return seen.found.*member; };
    };
    const auto syns = [](SynFate fate) {
        return [fate](const Seen& seen) { return seen.found.count(fate); };
    };
    const auto harmed = [](SynFate fate) {
        return [fate](const Seen& seen) { return seen.found.harmed_by(fate); };
    };
    // 95 % of what is expected, to that side of it.
    const auto bound = [](double side) {
        return [side](const Seen& seen) {
            return std::max(0.0, seen.found.expected_met +
                                     side * 1.96 * std::sqrt(seen.found.expected_variance));
        };
    };
    return {
        {"connects", "connects", "connections begun", found(&SynFindings::connects)},
        {"slow_share",
         "%",
         "took more than 0.5 s, or failed",
         {},
         {.hits = "hurt", .trials = "connects"}},
        {"slow", "connects", "took more than 0.5 s", found(&SynFindings::slow)},
        {"failed", "connects", "failed", found(&SynFindings::failed)},
        {"slowest", "ms", "the longest connect", found(&SynFindings::slowest_ms)},
        {"met_time_wait", "SYNs", "SYNs that met a TIME_WAIT of their 4-tuple",
         found(&SynFindings::met)},
        {"refused_by_timestamp", "SYNs", "of them refused: TSval below the last one, then a RST",
         syns(SynFate::kTimestamp)},
        {"refused_by_sequence", "SYNs",
         "of them refused: sequence number not after the last one, then a RST",
         syns(SynFate::kSequence)},
        {"named", "SYNs", "refused SYNs whose port before NAT conntrack names",
         found(&SynFindings::refused_named)},
        {"paws_timewait", "", "PAWSTimewait of the server", &Seen::paws},
        {"client_resets", "", "OutRsts of the client", &Seen::client_resets},
        {"late_resets", "", "RSTs of 4-tuples that were closed already",
         found(&SynFindings::late_resets)},
        {"syn_retransmits", "", "TCPSynRetrans of the client", &Seen::syn_retransmits},
        {"syns_lost", "SYNs", "SYNs that did not reach the server", syns(SynFate::kLost)},
        {"syns_unanswered", "SYNs", "SYNs that the server had and another followed",
         syns(SynFate::kUnanswered)},
        {"entries", "", "new entries of conntrack", found(&SynFindings::entries)},
        {"changed_ports", "", "of them with another source port",
         found(&SynFindings::changed_ports)},
        {"insert_failed", "", "conntrack insert_failed", &Seen::insert_failed},
        {"drop", "", "conntrack drop", &Seen::drop},
        {"listen_overflows", "", "ListenOverflows of the server", &Seen::listen_overflows},
        {"by_timestamp", "connects", "slow: a TIME_WAIT refused the SYN's timestamp",
         harmed(SynFate::kTimestamp)},
        {"by_sequence", "connects", "slow: a TIME_WAIT refused the SYN's sequence number",
         harmed(SynFate::kSequence)},
        {"by_loss", "connects", "slow: the SYN did not reach the server", harmed(SynFate::kLost)},
        {"by_silence", "connects", "slow: the server had the SYN and no answer came in time",
         harmed(SynFate::kUnanswered)},
        {verdict::kUnexplained, "connects", "slow: no cause could be joined",
         found(&SynFindings::unexplained)},
        {"drawn_met", "SYNs", "ports drawn that were in TIME_WAIT", found(&SynFindings::drawn_met)},
        {"expected_met",
         "SYNs",
         "the same, computed from the 4-tuples in TIME_WAIT at each draw",
         found(&SynFindings::expected_met),
         {.low = "expected_low", .high = "expected_high"}},
        {"per_second", "", "connects a second", &Seen::per_second},
        {"seconds", "s", "from the first connect until the last was over", &Seen::seconds},
        {"worst_late", "ms", "a connect began late by at most", &Seen::worst_late_ms},
        {"attempts", "", "runs that were needed", &Seen::attempts},
        {"answers_dropped", "SYN-ACKs", "answers of the server that ended on the DUT",
         [](const Seen& seen) -> std::optional<std::uint64_t> {
             return seen.answers.by_packet() ? std::optional(seen.answers.all()) : std::nullopt;
         }},
        {"answers_how", [](const Seen& seen) { return in_words(seen.answers); }},
        {"answers_followed", [](const Seen& seen) { return seen.answers.by_packet(); }},
        {"hurt", [](const Seen& seen) { return seen.found.all_harmed(); }},
        {"refusals", refusals},
        {"named_by_timestamp",
         [](const Seen& seen) {
             return std::min(seen.found.refused_named, seen.found.count(SynFate::kTimestamp));
         }},
        {"kept_ports",
         [](const Seen& seen) { return seen.found.entries - seen.found.changed_ports; }},
        {"expected_low", bound(-1)},
        {"expected_high", bound(1)},
        {"spread", [](const Seen& seen) { return std::sqrt(seen.found.expected_variance); }},
        {"refused_syns", [](const Seen& seen) { return seen.found.refused.size(); }},
        {"stories",
         [](const Seen& seen) { return std::min(seen.found.refused.size(), kMostStories); }},
        {"nat", nat_text},
        {"ports", ports_text},
        {"moves_ports", moves_ports},
        {"translates", &What::translates},
        {"full_range", &What::full_range},
        {"without_time_wait", &What::without_time_wait},
        {"timestamps", [](const What& what, const Seen&) { return what.path.timestamps; }},
    };
}

// Makes a finding with the headline and the cause that all cells share, which are told once, and
// with the cures for its range of ports.
model::Finding refused_finding(const char* of, std::vector<model::CureText> cures) {
    const bool exposed = cures.empty();
    return {.of = of,
            .headline =
                "[leads?{found}.[kept.id? Plain MASQUERADE with all ports kept the "
                "client's port in {kept.kept_ports} of {kept.entries} entries: {kept.hurt "
                "of kept.connects} connects slow.]]",
            .why =
                "[leads?[all_refused == 0?Without timestamps a TIME_WAIT takes a SYN whose "
                "sequence number is after its last one. The client makes these numbers for the "
                "port before NAT, and after NAT the 4-tuple is that of another port's "
                "connection: {all_by_sequence} SYNs refused.|TCP's timestamps start from an "
                "offset that the client makes of its addresses and ports before NAT. After NAT "
                "the 4-tuple is that of a connection from another port, which is in TIME_WAIT "
                "at the server, for the server closed it: {all_refused} SYNs came with a TSval "
                "below the last one of their 4-tuple. The server refused each with an ACK, and "
                "the client answered with a RST and another SYN: at once the first time, then "
                "after 1 s. {all_rises}[ ({all_late} RSTs are of connections that were "
                "closed)]. conntrack names the port before NAT of {all_named of all_refused}.]]",
            .cures = std::move(cures),
            .alone = exposed,
            .exposed = exposed};
}

model::CureText clients_cure(const char* name, const char* with, const char* again,
                             const char* without) {
    return {.cure = "timestamps-2",
            .with = with,
            .again = again,
            .naming = model::CureText::Naming::kCellAndReason,
            .outcome = std::string("with it {cure.hurt of cure.connects} slow although "
                                   "{cure.met_time_wait} SYNs met a TIME_WAIT, ") +
                       without,
            .text = std::string(name) + " ports: {command} on the clients ({outcome})"};
}

}  // namespace

void tell_side_effects(std::vector<verdict::ScenarioResult>& scenarios) {
    using verdict::Cell;
    using verdict::CellVerdict;
    const auto count = [](const Cell& cell, const char* name) -> std::uint64_t {
        const auto at = std::ranges::find(cell.measures, name, &verdict::Measure::name);
        return at == cell.measures.end() ? 0 : at->value.count();
    };
    const auto slow = [&](const Cell& cell) {
        return some_of(count(cell, "slow"), count(cell, "connects"));
    };
    std::string effect =
        "not measured in this run: where the server closes first, connects may take 1, 2, 4 s "
        "(snat-timestamps)";
    std::string avoided = "not measured in this run";
    for (const verdict::ScenarioResult& each : scenarios) {
        const Cell* random = verdict::find_cell(each, "full-range.random-fully");
        const Cell* cure = verdict::find_cell(each, "cure.full-range.timestamps-2");
        if (each.id != "snat-timestamps" ||
            each.verdict == verdict::ScenarioVerdict::kInconclusive || random == nullptr ||
            count(*random, "connects") == 0) {
            continue;
        }
        const std::uint64_t refused = count(*random, "refused_by_timestamp");
        effect = fmt::format(
            "{} in this run (snat-timestamps): {} connects took more than 0.5 s, {} refused for "
            "their timestamp",
            refused == 0 ? "not seen" : "seen", slow(*random),
            refused == 0 ? "no SYNs were" : fmt::format("{} SYNs were", refused));
        if (cure != nullptr && cure->verdict == CellVerdict::kPass) {
            avoided = fmt::format("seen in this run: {}", slow(*cure));
        }
    }
    const std::string& drawn = setting::cure("random-fully").brief;
    for (verdict::ScenarioResult& each : scenarios) {
        if (each.id != "snat-timestamps" && each.cure.find(drawn) != std::string::npos) {
            each.cure += fmt::format("\nSide effect of {}, {}. {} avoids it ({}).", drawn, effect,
                                     setting::cure("timestamps-2").text(), avoided);
        }
    }
}

const TimestampConclusions& snat_timestamps_conclusions() {
    using enum model::CellVerdict;
    static const std::string kByTimestamp = "is_matrix and refused_by_timestamp != 0";
    static const std::string kSlowBySyns =
        "is_matrix and fails and by_timestamp + by_sequence != 0";
    static const TimestampConclusions conclusions(
        timestamp_figures(),
        {
            .toggles = {{"NAT", "{nat}"},
                        {"ports after NAT", "{ports}"},
                        {"tcp_timestamps", "{timestamps}"},
                        {"closes first", "[without_time_wait?client|server]"}},
            .phrases =
                {{"ways",
                  {{"{slow} took more than 0.5 s (the longest {slowest:.2f s})"},
                   {"{failed} failed"}}},
                 {"harm", {{"of {connects} connects {ways}", "hurt != 0"}}},
                 {"counted", {{"insert_failed {insert_failed}"}, {"drop {drop}"}}},
                 {"reasons",
                  {{"{by_timestamp} as their SYN met a TIME_WAIT of its 4-tuple with a later "
                    "timestamp"},
                   {"{by_sequence} as their SYN met a TIME_WAIT of its 4-tuple with a later "
                    "sequence number"},
                   {"{by_loss} as their SYN left the client and did not reach the "
                    "server[counted? (conntrack: {counted})]"},
                   {"{by_silence} as the server had their SYN and "
                    "[answers_how?answers of it ended on the DUT: {answers_how}|"
                    "[answers_followed?did not answer|no answer came back] in "
                    "time][ (ListenOverflows rose by {listen_overflows})]"},
                   {"{unexplained} unexplained"}}},
                 {.name = "causes",
                  .clauses = {{"stale-timestamp", "by_timestamp != 0"},
                              {"stale-sequence", "by_sequence != 0"},
                              {"syn-lost", "by_loss != 0"},
                              {"syn-ack-lost", "by_silence != 0 and answers_how"},
                              {"syn-unanswered",
                               "by_silence != 0 and by_silence > answers_dropped"}},
                  .between = "+"},
                 {"refused_for",
                  {{"{refused_by_timestamp} by their timestamp"},
                   {"{refused_by_sequence} by their sequence number"}}},
                 {"refused",
                  {{"{met_time_wait} SYNs met a TIME_WAIT of their 4-tuple, which refused "
                    "{refused_for}",
                    "refusals != 0"}}},
                 {"lacking",
                  {{"no entry of conntrack got another source port: the SNAT did not take place",
                    "moves_ports and changed_ports == 0"},
                   {"{changed_ports} entries of conntrack have another source port, which this "
                    "cell must not have",
                    "not translates and changed_ports != 0"},
                   {"no SYN met a TIME_WAIT of its 4-tuple",
                    "not without_time_wait and met_time_wait == 0"}}},
                 {"story",
                  {{"{refused}; each was followed by a RST of its 4-tuple"},
                   {"PAWSTimewait rose by {paws_timewait}"},
                   {"OutRsts rose by {client_resets}"},
                   {"TCPSynRetrans rose by {syn_retransmits}"}}}},
            .rules =
                {
                    {.when = "refused_by_timestamp > paws_timewait or named != refusals or "
                             "refusals > met_time_wait",
                     .text = "{refusals} SYNs seem refused, and {met_time_wait or none} had a "
                             "TIME_WAIT to be refused by; the server's PAWSTimewait "
                             "[paws_timewait != 0?rose by {paws_timewait}|did not rise], and "
                             "conntrack names the port before NAT of {named or none}: this does "
                             "not fit together"},
                    {.when = "hurt != 0 and unexplained != 0",
                     .text = "{harm}: {reasons}[; {refused}]"},
                    {.when = "hurt != 0",
                     .is = kFail,
                     .cause = "{causes}",
                     .text = "{harm}: {reasons}[; {refused}]"},
                    {.when = "refusals != 0 and is_matrix",
                     .is = kPass,
                     .text = "{refused}; each was sent again at once, and no connect was slow"},
                    {.when = "refusals != 0",
                     .is = kFail,
                     .cause = "[refused_by_timestamp != 0?stale-timestamp|stale-sequence]",
                     .text = "{refused}; each was sent again at once, and no connect was slow"},
                    {.when = "connects == 0", .text = "no connection was made"},
                    {.when = "lacking", .text = "{lacking}"},
                },
            .own = "fails and by_timestamp + by_sequence != 0 and by_loss + by_silence == 0",
            .chart = {.title = "Connects that took more than 0.5 s",
                      .hits = "hurt",
                      .trials = "connects",
                      .maximum = 0},
            .proof = {.title = "{id}: {stories} of {refused_syns} SYNs that a TIME_WAIT refused",
                      .columns = {"port after NAT", "port before NAT", "TIME_WAIT left by",
                                  "compared", "last", "SYN's", "conntrack"},
                      .of = "refusals != 0 and not again and (passed or fails)",
                      .conclusion = "{story}."},
            .totals = {{"all_met", "met_time_wait"},
                       {"all_by_sequence", "refused_by_sequence"},
                       {"all_refused", "refused_by_timestamp", kByTimestamp},
                       {"all_named", "named_by_timestamp", kByTimestamp},
                       {"all_late", "late_resets", kByTimestamp},
                       {"all_paws", "paws_timewait", kByTimestamp},
                       {"all_resets", "client_resets", kByTimestamp},
                       {"all_retransmits", "syn_retransmits", kByTimestamp}},
            .cells = {{"kept",
                       "id == 'control.full-range.masquerade' and passed and entries > "
                       "changed_ports"},
                      {"before", "is_matrix and not again and not full_range and refusals != 0"}},
            .listings = {{"found",
                          "{nat} into {ports} ports[timestamps != 1?, "
                          "tcp_timestamps={timestamps}], {per_second:.0f} connects/s: [hurt == "
                          "0?no connect slow|{harm}], {refusals} SYNs refused",
                          "is_matrix and refusals != 0 and (not again or not before.id)"}},
            .summaries = {{"all_rises",
                           {{"PAWSTimewait rose by {all_paws}"},
                            {"TCPSynRetrans rose by {all_retransmits}"},
                            {"OutRsts rose by {all_resets}"}}}},
            .findings = {refused_finding(
                             (kSlowBySyns + " and not full_range").c_str(),
                             {clients_cure("{ports}", "is_cure and not full_range",
                                           "again and refusals != 0",
                                           "without it again {again.hurt of again.connects} and "
                                           "{again.refusals} SYNs refused")}),
                         refused_finding((kSlowBySyns + " and full_range").c_str(),
                                         {clients_cure("All", "is_cure and full_range", "",
                                                       "without it {hurt of connects}")}),
                         refused_finding("is_matrix and refusals != 0", {})},
            .headlines = {.between = ""},
            .remarks =
                {{"{id}: at {per_second:.0f} connects/s {drawn_met} SYNs were given a port whose "
                  "4-tuple was in TIME_WAIT. Computed from the 4-tuples in TIME_WAIT at each draw: "
                  "{expected_met:.0f} +- {spread:.0f}. Ports that are in conntrack's table are not "
                  "drawn; those whose entry went with the next connect of their client port are, "
                  "as long as the server keeps their TIME_WAIT (60 s).",
                  "id == 'full-range.random-fully' and drawn_met != 0 and expected_met >= 1"},
                 {"tcp_timestamps=0 is no cure here: without timestamps the server compares "
                  "sequence numbers, and the client makes these for the port before NAT too: "
                  "{refused_by_sequence} SYNs refused, {hurt of connects} connects slow.",
                  "id == 'full-range.timestamps-0' and refused_by_sequence != 0"}},
            .otherwise = "No connect of the matrix was slow: {all_met} SYNs met a TIME_WAIT of "
                         "their 4-tuple, and all were taken.",
        },
        {.rows = stories});
    return conclusions;
}

}  // namespace pathproof::scenario
