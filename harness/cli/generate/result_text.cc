#include <algorithm>
#include <sstream>

#include "harness/cli/followed_text.h"
#include "harness/cli/generate/figures.h"
#include "harness/cli/generate/remedies.h"
#include "harness/cli/generate/result.h"
#include "harness/cli/traffic_rows.h"

namespace pathproof::cli {
namespace {

using load::TrialReport;

const char* comers(const GenerateResult& result) {
    return result.expects == load::IntakePlan::Expects::kAnswers ? "answered" : "come back";
}

std::string head(const GenerateResult& result) {
    const port::PortInfo& port = result.sending;
    std::string text =
        fmt::format("port {} ({}, {})", port.name, port.driver, port::evidence_name(port.evidence));
    if (result.receiving.name != port.name) {
        text +=
            fmt::format(", frames come back at port {} ({}, {})", result.receiving.name,
                        result.receiving.driver, port::evidence_name(result.receiving.evidence));
    }
    return text + "\n";
}

std::string planned(const TrialReport& report) {
    return report.order.frames > 0 ? fmt::format("{} of {}", report.sent, report.order.frames)
                                   : std::to_string(report.sent);
}

std::string sending_rows(const GenerateResult& result) {
    const TrialReport& report = result.report;
    const double asked = report.order.frames_per_second;
    std::string text = row("frames sent", planned(report));
    text += row("  seconds", fmt::format("{:.3f}", report.sending_seconds));
    text += row("  frames per second",
                fmt::format("{:.1f} ({})", report.achieved_pps,
                            asked > 0                      ? fmt::format("asked {:.1f}", asked)
                            : report.order.outstanding > 0 ? "as fast as they come back"
                                                           : "as fast as it goes"));
    if (report.order.outstanding > 0) {
        text += row("  under way at most", report.order.outstanding);
    }
    text += row("  left out behind stalls", report.handed.left_out);
    text += row("  refused at first, offered again", report.handed.refused);
    text += row("  never taken by the driver", report.handed.taken_back);
    if (report.neighbours.answered + report.neighbours.not_sent > 0) {
        text += row("ARP and neighbour discovery answered", report.neighbours.answered);
        text += row("  not sent", report.neighbours.not_sent);
    }
    if (asked > 0) {
        text += row("  bursts more than 10 us late", report.departures.late);
        text +=
            row("    the latest, us", fmt::format("{:.1f}", us(report.departures.worst_late_ns)));
    }
    if (report.departures.windows > 0) {
        text += row("  worst of its seconds, off by",
                    fmt::format("{:.3f} %", report.departures.worst_window * 100));
    }
    const judge::LatencyHistogram& gaps = report.departures.gaps;
    if (gaps.count() > 0) {
        text += row(
            "  between bursts, us (p1 p50 p99 max)",
            fmt::format("{:.1f} {:.1f} {:.1f} {:.1f}", us(gaps.quantile_ns(0.01)),
                        us(gaps.quantile_ns(0.5)), us(gaps.quantile_ns(0.99)), us(gaps.max_ns())));
    }
    if (report.skew.pairs > 0) {
        text += row("  A to AAAA, ns (min mean max)",
                    fmt::format("{:.0f} {:.0f} {:.0f}", report.skew.min_ns, report.skew.mean_ns,
                                report.skew.max_ns));
    }
    return text;
}

std::string class_rows(const GenerateResult& result) {
    // Sent is the sum of the next five.
    std::string text =
        fmt::format("  {:<10}{:>12}{:>12}{:>8}{:>8}{:>9}{:>9}{:>8}{:>11}\n", "class", "sent",
                    result.expects == load::IntakePlan::Expects::kAnswers ? "answered" : "as sent",
                    "late", "wrong", "damaged", "missing", "twice", "reordered");
    for (const ClassFigures& one : class_figures(result.report)) {
        text += fmt::format("  {:<10}{:>12}{:>12}{:>8}{:>8}{:>9}{:>9}{:>8}{:>11}\n",
                            frame::name(one.traffic), one.sent, one.came->as_sent(), one.came->late,
                            one.came->wrong, one.came->damaged, one.missing(), one.came->duplicates,
                            one.came->reordered);
    }
    return text;
}

std::string indented(const std::string& lines) {
    std::istringstream in(lines);
    std::string text;
    for (std::string line; std::getline(in, line);) {
        text += "    " + line + "\n";
    }
    return text;
}

std::string compared_rows(const GenerateResult& result) {
    constexpr std::size_t kShown = 3;
    const bool frames = result.expects == load::IntakePlan::Expects::kFrames;
    std::string text = fmt::format(
        "{}; allowed to differ: {}\n",
        frames ? "each byte held against what was sent" : "answers held against what was asked",
        load::text(result.allowed));
    for (const load::WrongField& one : wrong_fields(result.report)) {
        text += row(("  differing in " + one.name).c_str(), one.frames);
    }
    for (const auto* kept : {&result.wrong_frames, &result.damaged_frames}) {
        for (std::size_t n = 0; n < std::min(kShown, kept->size()); ++n) {
            const load::WrongFrame& one = (*kept)[n];
            text += fmt::format("  frame of {} bytes received at {:.6f} s:\n{}", one.bytes.size(),
                                us(one.at_ns) / 1e6, indented(one.what));
        }
    }
    return text;
}

std::string reordering_row(const TrialReport& report) {
    const judge::SequenceTotals all = all_streams(report);
    return (all.furthest == 0 ? "" : row("furthest behind a later frame", all.furthest)) +
           (all.too_old == 0 ? "" : row("too far behind to tell from twice", all.too_old));
}

std::string latency_rows(const GenerateResult& result) {
    std::string text = fmt::format("  {:<10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "latency, us",
                                   "min", "p50", "p90", "p99", "p99.9", "max");
    for (const ClassFigures& one : class_figures(result.report)) {
        const judge::LatencyHistogram& times = one.came->latency;
        if (times.count() > 0) {
            text += fmt::format("  {:<11}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}\n",
                                frame::name(one.traffic), us(times.min_ns()),
                                us(times.quantile_ns(0.5)), us(times.quantile_ns(0.9)),
                                us(times.quantile_ns(0.99)), us(times.quantile_ns(0.999)),
                                us(times.max_ns()));
        }
    }
    const load::OwnBias& bias = result.report.bias;
    return text + fmt::format(
                      "  of each, the tester's own: at least {:.2f} us (single frames {:.2f}, "
                      "whole bursts {:.2f}, in a loop without a driver, not taken off);\n"
                      "  in this run {:.2f} us from stamp to driver, a look at the receive queue "
                      "every {:.2f} us\n",
                      us(bias.floor_ns), us(bias.single_ns), us(bias.burst_ns),
                      us(bias.hand_over_ns), us(bias.poll_ns));
}

std::string flag_row(const char* layer, const load::RxFlagCounts& flags) {
    return fmt::format("  {:<14}{:>12}{:>12}{:>12}{:>12}{:>12}\n", layer, flags.good_on_good,
                       flags.good_on_bad, flags.bad_on_good, flags.bad_on_bad, flags.unknown);
}

std::string flag_rows(const load::IntakeTotals& intake) {
    const auto claims = [](const load::RxFlagCounts& flags) {
        return flags.good_on_good + flags.good_on_bad + flags.bad_on_good + flags.bad_on_bad;
    };
    if (claims(intake.ip_flags) + claims(intake.l4_flags) == 0) {
        return "what the port says of received checksums: nothing\n";
    }
    return fmt::format("{:<16}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "port says / is", "good/good",
                       "good/BAD", "bad/GOOD", "bad/bad", "no claim") +
           flag_row("IP", intake.ip_flags) + flag_row("transport", intake.l4_flags);
}

std::string sum_rows(const GenerateResult& result) {
    std::string text;
    for (const SumName& sum : result.sums) {
        text += fmt::format(
            "wrong checksums of {}: {}{}{}; of {} kept, the last 0x{:04x} where 0x{:04x} is "
            "right\n",
            sum.layer, sum.name, sum.meaning.empty() ? "" : ": ", sum.meaning, sum.frames, sum.wire,
            sum.right);
    }
    return text;
}

// A row for each port, ICMP type and MTU.
std::string icmp_rows(const GenerateResult& result) {
    std::string text;
    for (const load::IcmpErrorCount& count : result.report.intake.icmp_errors) {
        const std::string& port =
            count.kind.port == 0 ? result.sending.name : result.receiving.name;
        text += fmt::format(
            "ICMP errors at {}: {} of {}{}\n", port, count.frames, load::text(count.kind),
            count.ours == 0 ? "" : fmt::format(", {} about frames of this run", count.ours));
        if (count.wrong_quotes != 0) {
            text += fmt::format("  {} quote another packet than was sent: {}\n", count.wrong_quotes,
                                count.example);
        }
    }
    return text;
}

// The frames that come wrong, told by frames of the run that were sent again.
std::string studied_rows(const GenerateResult& result) {
    if (!result.studied) {
        return "";
    }
    const follow::Followed& followed = result.studied->followed;
    const auto sent = static_cast<std::uint64_t>(result.studied->fates.size());
    if (followed.outcome.findings.empty()) {
        const bool all = followed.outcome.totals[0].of(follow::Class::kAsSent) == sent;
        return all ? fmt::format(
                         "which frames: the first {} sent again one by one all came right: "
                         "it does not hang on the frame alone\n",
                         sent)
                   : "";
    }
    return fmt::format("which frames: the first {} sent again one by one: {}\n{}", sent,
                       followed_counts(followed), findings_text(followed));
}

std::string worker_rows(const TrialReport& report) {
    std::string text;
    for (const load::WorkerHealth& worker : report.workers) {
        text += fmt::format(
            "  lcore {}: {:.0f} cycles a frame, waited {:.1f} ms for its CPU, stood still {} times "
            "(longest {:.1f} ms)\n",
            worker.worker, worker.cycles_per_frame,
            us(static_cast<std::int64_t>(worker.waited_ns)) / 1e3, worker.stalls,
            us(static_cast<std::int64_t>(worker.longest_stall_ns)) / 1e3);
    }
    text += report.clock_ppm
                ? fmt::format("  clock: {:+.1f} ppm against CLOCK_MONOTONIC\n", *report.clock_ppm)
                : "  clock: the run was too short to compare it\n";
    text += report.clock_proof.empty() ? "" : "  clock: " + report.clock_proof + "\n";
    return text;
}

}  // namespace

std::vector<std::string> GenerateResult::remedies() const {
    return cli::remedies(
        {.disturbed = !report.disturbances.empty(), .limited = !report.tester_limit.empty()},
        sending, receiving);
}

std::vector<std::string> GenerateResult::remarks() const {
    std::vector<std::string> found;
    const double waited = static_cast<double>(report.order.drain.count()) / 1e9;
    const std::uint64_t missing = tracked ? report.missing() : 0;
    if (missing > 0 && waited < timeout_s) {
        found.push_back(fmt::format(
            "{} {} within the wait of {:g} s: some may still have been under way; '--drain {:g}' "
            "waits as long as --timeout says",
            missing, expects == load::IntakePlan::Expects::kAnswers ? "unanswered" : "not back",
            waited, timeout_s));
    }
    const judge::LatencyHistogram times = load::all_classes(report.intake).latency;
    constexpr std::int64_t kLong = 1'000'000'000;
    if (times.max_ns() >= kLong) {
        double below = 0;  // share of the times
        for (double step = 0.5; step > 1e-9; step /= 2) {
            below += times.quantile_ns(below + step) < kLong ? step : 0;
        }
        const auto count = static_cast<double>(times.count());
        found.push_back(
            fmt::format("held back: {:.0f} of {:.0f} came 1 s or more after they had left, the "
                        "latest {:.3f} s",
                        std::max(1.0, count * (1 - below)), count, us(times.max_ns()) / 1e6));
    }
    if (!report.objections.empty() && certain_harm() != 0 && only_disturbed()) {
        found.push_back(
            fmt::format("certain all the same: {} came wrong, damaged, twice or quoting another "
                        "packet; how many "
                        "are missing or late, and times, are not to be relied on",
                        certain_harm()));
    }
    return found;
}

namespace {

std::string verdict_word(const GenerateResult& result) {
    if (result.report.partial) {
        return "PARTIAL";
    }
    const bool certain = result.certain_harm() != 0 && result.only_disturbed();
    if (!result.report.objections.empty() && !certain) {
        return "INCONCLUSIVE";
    }
    if (result.all_right()) {
        return "COMPLETE";
    }
    if (result.judged) {
        const bool untold = result.judged->conclusion.arrival == follow::Arrival::kCannotTell;
        return untold ? "INCONCLUSIVE" : "NOT AS SENT";
    }
    return result.expects == load::IntakePlan::Expects::kFrames ? "NOT AS SENT" : "WRONG ANSWERS";
}

// ", 3 late": nothing where the count is 0.
std::string more(std::uint64_t count, const char* what) {
    return count == 0 ? "" : fmt::format(", {} {}", count, what);
}

}  // namespace

std::string verdict_line(const GenerateResult& result) {
    const TrialReport& report = result.report;
    const std::string word = verdict_word(result);
    if (result.judged) {
        return fmt::format("{}: {}{}", word, followed_counts(result.judged->followed),
                           report.tester_limit.empty() ? "" : "; the tester was the limit");
    }
    if (!result.tracked) {
        return fmt::format(
            "{}: {} frames of the capture sent; what came back of them was not "
            "measured",
            word, report.sent);
    }
    const bool frames = result.expects == load::IntakePlan::Expects::kFrames;
    const load::ClassTotals all = load::all_classes(report.intake);
    const judge::ReceiveTally& received = report.intake.received;
    const std::uint64_t unreadable = received.bad_checksum + received.malformed;
    const std::uint64_t unknown = unreadable - std::min(unreadable, all.damaged);
    std::string text =
        fmt::format("{}: {} of {} {}, {} missing, {} with a wrong checksum", word, all.unique,
                    report.sent, comers(result), report.missing(), received.bad_checksum);
    text += more(received.malformed, "malformed");
    text += more(all.damaged == 0 ? 0 : unknown, "of these from frames that cannot be identified");
    text += more(all.wrong, frames ? "not as they were sent" : "wrong");
    text += more(frames ? all.late : 0, "late") + more(frames ? all.duplicates : 0, "twice");
    text += more(report.intake.wrong_quotes(), "ICMP errors that quote another packet");
    return text + (report.tester_limit.empty() ? "" : "; the tester was the limit");
}

std::string result_text(const GenerateResult& result) {
    const TrialReport& report = result.report;
    std::string text = head(result) + sending_rows(result);
    if (result.tracked) {
        text += class_rows(result) + compared_rows(result) + reordering_row(report) +
                latency_rows(result);
    }
    if (result.judged) {
        text += followed_text(result.judged->followed, result.judged->conclusion,
                              result.judged->allowed);
        return text + worker_rows(report) + objection_rows(report.objections) +
               remedy_rows(result.remedies()) + verdict_line(result) +
               "\nrepeat: " + result.repeat + "\n";
    }
    text +=
        received_rows(report.intake.received, result.tracked ? "  of these frames" : "  tracked");
    text += icmp_rows(result);
    text += checksum_rows(report.intake.checksums) + sum_rows(result) + flag_rows(report.intake);
    text += studied_rows(result);
    text += worker_rows(report) + objection_rows(report.objections);
    for (const std::string& remark : result.remarks()) {
        text += remark + "\n";
    }
    text += remedy_rows(result.remedies());
    return text + verdict_line(result) + "\nrepeat: " + result.repeat + "\n";
}

}  // namespace pathproof::cli
