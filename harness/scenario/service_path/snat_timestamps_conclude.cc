// What is said of snat-timestamps: each clause from a value that is not zero.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/snat_timestamps.h"

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;
using PathSnat = lab::Snat;
using ConcludedPath = ConcludedCell<MeasuredTimestampCell>;
using Paths = std::vector<ConcludedPath>;

constexpr std::size_t kMostStories = 10;

struct FateWords {
    SynFate fate;
    const char* cause;    // word of Cell::cause
    const char* measure;  // of harmed connects
    const char* label;
};
constexpr FateWords kFateWords[] = {
    {SynFate::kTimestamp, "stale-timestamp", "by_timestamp",
     "slow: a TIME_WAIT refused the SYN's timestamp"},
    {SynFate::kSequence, "stale-sequence", "by_sequence",
     "slow: a TIME_WAIT refused the SYN's sequence number"},
    {SynFate::kLost, "syn-lost", "by_loss", "slow: the SYN did not reach the server"},
    {SynFate::kUnanswered, "syn-unanswered", "by_silence",
     "slow: the server had the SYN and did not answer in time"},
};

std::uint64_t own_harm(const TimestampValues& seen) {
    return seen.found.harmed_by(SynFate::kTimestamp) + seen.found.harmed_by(SynFate::kSequence);
}

std::uint64_t other_harm(const TimestampValues& seen) {
    return seen.found.harmed_by(SynFate::kLost) + seen.found.harmed_by(SynFate::kUnanswered);
}

std::uint64_t refusals(const TimestampValues& seen) {
    return seen.found.count(SynFate::kTimestamp) + seen.found.count(SynFate::kSequence);
}

std::string nat_text(const TimestampCell& what) {
    switch (what.path.snat) {
        case PathSnat::kNone: return "no NAT";
        case PathSnat::kMasquerade: return "MASQUERADE";
        case PathSnat::kMasqueradeRandomFully: return "MASQUERADE --random-fully";
    }
    return "";
}

std::string ports_text(const TimestampCell& what) {
    const lab::PortRange& ports = what.path.snat_ports;
    return !what.translates() ? "-"
           : what.full_range  ? "all"
                              : fmt::format("{}", ports.last - ports.first + 1);
}

std::string harmed_text(const TimestampValues& seen) {
    const SynFindings& found = seen.found;
    Clauses clauses;
    tell_count(clauses, found.slow, "{} took more than 0.5 s (the longest {:.2f} s)",
               found.slowest_ms / 1000);
    tell_count(clauses, found.failed, "{} failed");
    return fmt::format("of {} connects {}", found.connects, in_a_row(clauses));
}

Clauses reasons(const TimestampValues& seen) {
    const SynFindings& found = seen.found;
    Clauses conntrack;
    tell_count(conntrack, seen.insert_failed, "insert_failed {}");
    tell_count(conntrack, seen.drop, "drop {}");
    Clauses clauses;
    tell_count(clauses, found.harmed_by(SynFate::kTimestamp),
               "{} as their SYN met a TIME_WAIT of its 4-tuple with a later timestamp");
    tell_count(clauses, found.harmed_by(SynFate::kSequence),
               "{} as their SYN met a TIME_WAIT of its 4-tuple with a later sequence number");
    tell_count(clauses, found.harmed_by(SynFate::kLost),
               "{} as their SYN left the client and did not reach the server{}",
               conntrack.empty() ? "" : " (conntrack: " + in_a_row(conntrack) + ")");
    tell_count(clauses, found.harmed_by(SynFate::kUnanswered),
               "{} as the server had their SYN and did not answer in time{}",
               seen.listen_overflows == 0
                   ? ""
                   : fmt::format(" (ListenOverflows rose by {})", seen.listen_overflows));
    tell_count(clauses, found.unexplained, "{} unexplained");
    return clauses;
}

std::string refused_text(const TimestampValues& seen) {
    const SynFindings& found = seen.found;
    Clauses clauses;
    tell_count(clauses, found.count(SynFate::kTimestamp), "{} by their timestamp");
    tell_count(clauses, found.count(SynFate::kSequence), "{} by their sequence number");
    return fmt::format("{} SYNs met a TIME_WAIT of their 4-tuple, which refused {}", found.met,
                       in_a_row(clauses));
}

// Why the cell's stimulus did not take place, or what is seen does not fit together.
Clauses lacking(const TimestampCell& what, const TimestampValues& seen) {
    const SynFindings& found = seen.found;
    Clauses clauses;
    tell(clauses, found.connects == 0, "no connection was made");
    if (found.connects == 0) {
        return clauses;
    }
    const bool moves = what.path.snat == PathSnat::kMasqueradeRandomFully ||
                       (what.translates() && !what.full_range);
    tell(clauses, moves && found.changed_ports == 0,
         "no entry of conntrack got another source port: the SNAT did not take place");
    tell(clauses, what.translates() ? 0 : found.changed_ports,
         "{} entries of conntrack have another source port, which this cell must not have",
         found.changed_ports);
    tell(clauses, !what.without_time_wait() && found.met == 0,
         "no SYN met a TIME_WAIT of its 4-tuple");
    return clauses;
}

void add_measures(const TimestampValues& seen, Cell& cell) {
    const SynFindings& found = seen.found;
    cell.measures = {
        count_of("connects", "connections begun", found.connects, "connects"),
        verdict::share("slow_share", "took more than 0.5 s, or failed", found.all_harmed(),
                       found.connects),
        count_of("slow", "took more than 0.5 s", found.slow, "connects"),
        count_of("failed", "failed", found.failed, "connects"),
        milliseconds_of("slowest", "the longest connect", found.slowest_ms),
        count_of("met_time_wait", "SYNs that met a TIME_WAIT of their 4-tuple", found.met, "SYNs"),
        count_of("refused_by_timestamp", "of them refused: TSval below the last one, then a RST",
                 found.count(SynFate::kTimestamp), "SYNs"),
        count_of("refused_by_sequence",
                 "of them refused: sequence number not after the last one, then a RST",
                 found.count(SynFate::kSequence), "SYNs"),
        count_of("named", "refused SYNs whose port before NAT conntrack names", found.refused_named,
                 "SYNs"),
        count_of("paws_timewait", "PAWSTimewait of the server", seen.paws),
        count_of("client_resets", "OutRsts of the client", seen.client_resets),
        count_of("late_resets", "RSTs of 4-tuples that were closed already", found.late_resets),
        count_of("syn_retransmits", "TCPSynRetrans of the client", seen.syn_retransmits),
        count_of("syns_lost", "SYNs that did not reach the server", found.count(SynFate::kLost),
                 "SYNs"),
        count_of("syns_unanswered", "SYNs that the server had and another followed",
                 found.count(SynFate::kUnanswered), "SYNs"),
        count_of("entries", "new entries of conntrack", found.entries),
        count_of("changed_ports", "of them with another source port", found.changed_ports),
        count_of("insert_failed", "conntrack insert_failed", seen.insert_failed),
        count_of("drop", "conntrack drop", seen.drop),
        count_of("listen_overflows", "ListenOverflows of the server", seen.listen_overflows),
    };
    for (const FateWords& words : kFateWords) {
        cell.measures.push_back(
            count_of(words.measure, words.label, found.harmed_by(words.fate), "connects"));
    }
    cell.measures.insert(
        cell.measures.end(),
        {count_of(verdict::kUnexplained, "slow: no cause could be joined", found.unexplained,
                  "connects"),
         count_of("drawn_met", "ports drawn that were in TIME_WAIT", found.drawn_met, "SYNs"),
         {"expected_met", "the same, computed from the 4-tuples in TIME_WAIT at each draw",
          found.expected_met, "SYNs",
          verdict::Interval{
              std::max(0.0, found.expected_met - 1.96 * std::sqrt(found.expected_variance)),
              found.expected_met + 1.96 * std::sqrt(found.expected_variance)},
          ""},
         {"per_second", "connects a second", seen.per_second, "", std::nullopt, ""},
         {"seconds", "from the first connect until the last was over", seen.seconds, "s",
          std::nullopt, ""},
         milliseconds_of("worst_late", "a connect began late by at most", seen.worst_late_ms),
         count_of("attempts", "runs that were needed", seen.attempts)});
}

bool harmed(const ConcludedPath& each) {
    return each.cell.verdict == CellVerdict::kFail && own_harm(each.seen()) != 0;
}

// "25 of 450"
std::string slow_of(const ConcludedPath& each) {
    return some_of(each.seen().found.all_harmed(), each.seen().found.connects);
}

std::string found_text(const Paths& cells) {
    Clauses clauses;
    for (const ConcludedPath& each : cells) {
        const bool told = each.what().again && !clauses.empty();  // by the first cell
        if (each.what().role != CellRole::kMatrix || told || refusals(each.seen()) == 0) {
            continue;
        }
        clauses.push_back(fmt::format(
            "{} into {} ports{}, {:.0f} connects/s: {}, {} SYNs refused", nat_text(each.what()),
            ports_text(each.what()),
            each.what().path.timestamps == 1
                ? ""
                : fmt::format(", tcp_timestamps={}", each.what().path.timestamps),
            each.seen().per_second,
            each.seen().found.all_harmed() == 0 ? "no connect slow" : harmed_text(each.seen()),
            refusals(each.seen())));
    }
    std::string text = in_a_row(clauses, "; ") + ".";
    const ConcludedPath* kept = by_id(cells, "control.full-range.masquerade");
    if (kept != nullptr && kept->passes() &&
        kept->seen().found.entries > kept->seen().found.changed_ports) {
        const SynFindings& found = kept->seen().found;
        text += fmt::format(
            " Plain MASQUERADE with all ports kept the client's port in {} of {} entries: {} "
            "connects slow.",
            found.entries - found.changed_ports, found.entries, slow_of(*kept));
    }
    return text;
}

// What is not zero of "NAME rose by N".
std::string rises(const Clauses& first,
                  std::initializer_list<std::pair<const char*, std::uint64_t>> counters) {
    Clauses clauses = first;
    for (const auto& [name, grown] : counters) {
        tell(clauses, grown, "{} rose by {}", name, grown);
    }
    return in_a_row(clauses);
}

std::string cause_text(const Paths& cells) {
    std::uint64_t refused = 0;
    std::uint64_t sequence = 0;
    std::uint64_t named = 0;
    std::uint64_t late = 0;
    TimestampValues sum;
    for (const ConcludedPath& each : cells) {
        const SynFindings& found = each.seen().found;
        if (!each.is(CellRole::kMatrix)) {
            continue;
        }
        sequence += found.count(SynFate::kSequence);
        if (found.count(SynFate::kTimestamp) != 0) {
            refused += found.count(SynFate::kTimestamp);
            named += std::min(found.refused_named, found.count(SynFate::kTimestamp));
            late += found.late_resets;
            sum.paws += each.seen().paws;
            sum.client_resets += each.seen().client_resets;
            sum.syn_retransmits += each.seen().syn_retransmits;
        }
    }
    if (refused == 0) {
        return fmt::format(
            "Without timestamps a TIME_WAIT takes a SYN whose sequence number is after its last "
            "one. The client makes these numbers for the port before NAT, and after NAT the "
            "4-tuple is that of another port's connection: {} SYNs refused.",
            sequence);
    }
    return fmt::format(
        "TCP's timestamps start from an offset that the client makes of its addresses and ports "
        "before NAT. After NAT the 4-tuple is that of a connection from another port, which is in "
        "TIME_WAIT at the server, for the server closed it: {0} SYNs came with a TSval below the "
        "last one of their 4-tuple. The server refused each with an ACK, and the client answered "
        "with a RST and another SYN: at once the first time, then after 1 s. {1}{2}. conntrack "
        "names the port before NAT of {3}.",
        refused,
        rises({}, {{"PAWSTimewait", sum.paws},
                   {"TCPSynRetrans", sum.syn_retransmits},
                   {"OutRsts", sum.client_resets}}),
        late == 0 ? "" : fmt::format(" ({} RSTs are of connections that were closed)", late),
        some_of(named, refused));
}

TriedCure cure_of(const Paths& cells, const ConcludedPath& first) {
    const std::string name = "`sysctl -w net.ipv4.tcp_timestamps=2` on the clients";
    const ConcludedPath* cure = first_of(cells, [&](const ConcludedPath& each) {
        return each.is(CellRole::kCure) && each.what().full_range == first.what().full_range;
    });
    const ConcludedPath* again = first_of(cells, [](const ConcludedPath& each) {
        return each.what().again && refusals(each.seen()) != 0;
    });
    const std::string why =
        not_shown(cure, first.what().full_range || again != nullptr, Naming::kCellAndReason);
    if (!why.empty()) {
        return {fmt::format("{} ({})", name, why)};
    }
    const std::string with = fmt::format("with it {} slow although {} SYNs met a TIME_WAIT",
                                         slow_of(*cure), cure->seen().found.met);
    if (first.what().full_range) {
        return {fmt::format("{} ({}, without it {})", name, with, slow_of(first)), true,
                cure->cell.id};
    }
    return {fmt::format("{} ({}, without it again {} and {} SYNs refused)", name, with,
                        slow_of(*again), refusals(again->seen())),
            true, cure->cell.id};
}

void explain_shares(const Paths& cells, verdict::ScenarioResult& result) {
    const ConcludedPath* full = by_id(cells, "full-range.random-fully");
    if (full != nullptr && full->seen().found.drawn_met != 0 &&
        full->seen().found.expected_met >= 1) {
        const SynFindings& found = full->seen().found;
        const double spread = std::sqrt(found.expected_variance);
        result.explanation.push_back(fmt::format(
            "{}: at {:.0f} connects/s {} SYNs were given a port whose 4-tuple was in TIME_WAIT. "
            "Computed from the 4-tuples in TIME_WAIT at each draw: {:.0f} +- {:.0f}. Ports that "
            "are in conntrack's table are not drawn; those whose entry went with the next connect "
            "of their client port are, as long as the server keeps their TIME_WAIT (60 s).",
            full->cell.id, full->seen().per_second, found.drawn_met, found.expected_met, spread));
    }
    const ConcludedPath* none = by_id(cells, "full-range.timestamps-0");
    if (none != nullptr && none->seen().found.count(SynFate::kSequence) != 0) {
        result.explanation.push_back(fmt::format(
            "tcp_timestamps=0 is no cure here: without timestamps the server compares sequence "
            "numbers, and the client makes these for the port before NAT too: {} SYNs refused, {} "
            "connects slow.",
            none->seen().found.count(SynFate::kSequence), slow_of(*none)));
    }
}

void add_stories(const ConcludedPath& each, verdict::ScenarioResult& result) {
    const std::vector<RefusedSyn>& refused = each.seen().found.refused;
    if (refusals(each.seen()) == 0 || each.what().again ||
        (!each.passes() && each.cell.verdict != CellVerdict::kFail)) {
        return;
    }
    verdict::Proof proof{
        .title = fmt::format("{}: {} of {} SYNs that a TIME_WAIT refused", each.cell.id,
                             std::min(refused.size(), kMostStories), refused.size()),
        .columns = {"port after NAT", "port before NAT", "TIME_WAIT left by", "compared", "last",
                    "SYN's", "conntrack"}};
    for (const RefusedSyn& syn : refused | std::views::take(kMostStories)) {
        proof.rows.push_back({std::to_string(syn.port), std::to_string(syn.port_before_nat),
                              std::to_string(syn.left_by),
                              syn.fate == SynFate::kTimestamp ? "TSval" : "sequence number",
                              std::to_string(syn.last), std::to_string(syn.own),
                              syn.named ? "names the port before NAT" : "does not name it"});
    }
    proof.conclusion = fmt::format(
        "{}.", rises({refused_text(each.seen()) + "; each was followed by a RST of its 4-tuple"},
                     {{"PAWSTimewait", each.seen().paws},
                      {"OutRsts", each.seen().client_resets},
                      {"TCPSynRetrans", each.seen().syn_retransmits}}));
    result.proofs.push_back(std::move(proof));
}

// Of cells in which connects were slow, or SYNs refused and no connect slow.
void conclude_refused(const Paths& cells, const ConcludedPath& /*first*/,
                      verdict::ScenarioResult& result) {
    bool any_harmed = false;
    bool cured = true;
    for (const bool full_range : {false, true}) {
        const ConcludedPath* first = first_in_matrix(cells, [&](const ConcludedPath& each) {
            return each.what().full_range == full_range && harmed(each);
        });
        if (first == nullptr) {
            continue;
        }
        const TriedCure cure = cure_of(cells, *first);
        any_harmed = true;
        cured &= cure.shown;
        add_tried((full_range ? "All" : ports_text(first->what())) + " ports", cure, first->cell,
                  result);
    }
    result.cure_shown = any_harmed && cured;
    result.verdict =
        any_harmed ? verdict::ScenarioVerdict::kReproduced : verdict::ScenarioVerdict::kExposed;
    result.headline = found_text(cells);
    result.cause = cause_text(cells);
    explain_shares(cells, result);
}

}  // namespace

Cell conclude(const TimestampCell& what, const TimestampValues& seen) {
    const SynFindings& found = seen.found;
    Cell cell{.id = what.id,
              .toggles = {{"NAT", nat_text(what)},
                          {"ports after NAT", ports_text(what)},
                          {"tcp_timestamps", std::to_string(what.path.timestamps)},
                          {"closes first", what.without_time_wait() ? "client" : "server"}},
              .role = what.role,
              .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const std::uint64_t by_timestamp = found.count(SynFate::kTimestamp);
    if (!seen.objections.empty()) {
        cell.verdict = CellVerdict::kError;
        cell.reason = "no result: " + seen.objections.front();
    } else if (by_timestamp > seen.paws || found.refused_named != refusals(seen) ||
               refusals(seen) > found.met) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = fmt::format(
            "{} SYNs seem refused, and {} had a TIME_WAIT to be refused by; the server's "
            "PAWSTimewait {}, and conntrack names the port before NAT of {}: this does not fit "
            "together",
            refusals(seen), found.met == 0 ? "none" : std::to_string(found.met),
            seen.paws == 0 ? "did not rise" : fmt::format("rose by {}", seen.paws),
            found.refused_named == 0 ? "none" : std::to_string(found.refused_named));
    } else if (found.all_harmed() != 0) {
        Clauses causes;
        for (const FateWords& words : kFateWords) {
            tell(causes, found.harmed_by(words.fate), "{}", words.cause);
        }
        cell.verdict = found.unexplained == 0 ? CellVerdict::kFail : CellVerdict::kInconclusive;
        cell.cause = found.unexplained == 0 ? in_a_row(causes, "+") : "";
        cell.reason = fmt::format("{}: {}", harmed_text(seen), in_a_row(reasons(seen)));
        if (refusals(seen) != 0) {
            cell.reason += "; " + refused_text(seen);
        }
    } else if (refusals(seen) != 0) {
        cell.reason = refused_text(seen) + "; each was sent again at once, and no connect was slow";
        if (what.role != CellRole::kMatrix) {
            cell.verdict = CellVerdict::kFail;
            cell.cause = by_timestamp != 0 ? "stale-timestamp" : "stale-sequence";
        }
    } else if (const Clauses words = lacking(what, seen); !words.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = in_a_row(words);
    }
    return cell;
}

void tell_side_effects(std::vector<verdict::ScenarioResult>& scenarios) {
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
    for (verdict::ScenarioResult& each : scenarios) {
        if (each.id != "snat-timestamps" && each.cure.find("--random-fully") != std::string::npos) {
            each.cure += fmt::format(
                "\nSide effect of --random-fully, {}. `sysctl -w net.ipv4.tcp_timestamps=2` on the "
                "clients avoids it ({}).",
                effect, avoided);
        }
    }
}

verdict::ScenarioResult conclude(const std::vector<MeasuredTimestampCell>& measured) {
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = "Connects that took more than 0.5 s", .unit = "%"};
    std::uint64_t met = 0;
    Paths cells = conclude_each(measured);
    for (const ConcludedPath& each : cells) {
        const SynFindings& found = each.seen().found;
        result.unexplained += found.unexplained;
        met += each.is(CellRole::kMatrix) ? found.met : 0;
        add_stories(each, result);
        if (!each.what().again && found.connects != 0) {
            chart.bars.push_back(harm_bar(each.what().label, found.all_harmed(), found.connects));
        }
    }
    const auto own = [](const ConcludedPath& each) {
        return harmed(each) && other_harm(each.seen()) == 0;
    };
    const auto* first = first_in_matrix(cells, [](const ConcludedPath& each) {
        return harmed(each) || refusals(each.seen()) != 0;
    });
    conclude_from(
        cells, own, first, conclude_refused,
        fmt::format("No connect of the matrix was slow: {} SYNs met a TIME_WAIT of their 4-tuple, "
                    "and all were taken.",
                    met),
        result);
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
