#include "harness/kubernetes/pairs.h"

#include <algorithm>
#include <cmath>

#include "dataplane/base/exit_code.h"
#include "harness/verdict/interval.h"

namespace pathproof::kubernetes {
namespace {

using Lookup = agent::DnsLoadReport::Lookup;

constexpr int kLost = 1;

// Returns the smallest of the sorted values that `share` of them do not exceed.
double quantile(const std::vector<double>& values, double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values.empty() ? 0 : values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::uint64_t& count_of(PairFigures& figures, const Lookup& lookup) {
    if (lookup.answered == lookup.asked) {
        return lookup.rcode == 0 ? figures.both : figures.errors;
    }
    if (is_truncated(lookup)) {
        return figures.truncated;
    }
    if (lookup.error != 0) {
        return figures.refused;
    }
    return lookup.answered > 0 ? figures.one : figures.none;
}

}  // namespace

bool is_truncated(const Lookup& lookup) {
    return lookup.truncated != 0 && lookup.answered + lookup.truncated == lookup.asked;
}

PairFigures judge_pairs(const agent::DnsLoadReport& report, std::uint64_t asked_for) {
    PairFigures figures{.asked_for = asked_for, .sent = report.lookups.size()};
    std::vector<double> times;
    for (const Lookup& lookup : report.lookups) {
        std::uint64_t& count = count_of(figures, lookup);
        ++count;
        if (&count == &figures.both) {
            times.push_back(lookup.milliseconds);
        } else if (&count != &figures.truncated) {
            figures.failed.push_back(lookup);
        }
    }
    std::ranges::sort(times);
    figures.median_ms = quantile(times, 0.5);
    figures.p99_ms = quantile(times, 0.99);
    figures.slowest_ms = quantile(times, 1);
    figures.failed_share = verdict::fraction_interval(figures.failed.size(), figures.sent);
    return figures;
}

void add_tcp(PairFigures& figures, const Lookup& lookup, const std::string& trouble) {
    if (trouble.empty()) {
        ++figures.over_tcp;
        return;
    }
    figures.tcp_trouble = trouble;
    figures.failed.push_back(lookup);
    figures.failed_share = verdict::fraction_interval(figures.failed.size(), figures.sent);
}

int exit_code_of(const PairFigures& figures) {
    if (!figures.failed.empty()) {
        return kLost;
    }
    return figures.sent < figures.asked_for || figures.sent == 0 ? kIncomplete : kDone;
}

std::string text_of(const PairFigures& figures) {
    std::string text = fmt::format(
        "{} of {} pairs of A and AAAA queries sent\n"
        "  both answered    {:>7}   median {:.1f} ms, 99 % {:.1f} ms, slowest {:.1f} ms\n"
        "  one answered     {:>7}\n"
        "  none answered    {:>7}\n"
        "  refused (ICMP)   {:>7}\n"
        "  with error code  {:>7}\n",
        figures.sent, figures.asked_for, figures.both, figures.median_ms, figures.p99_ms,
        figures.slowest_ms, figures.one, figures.none, figures.refused, figures.errors);
    if (figures.truncated != 0) {
        text += fmt::format("  truncated (TC)   {:>7}   which is no answer; over TCP then {}{}\n",
                            figures.truncated, figures.over_tcp,
                            figures.tcp_trouble.empty() ? "" : ", else " + figures.tcp_trouble);
    }
    const auto [low, high] = figures.failed_share;
    switch (exit_code_of(figures)) {
        case kLost:
            return text + fmt::format("lost: {} of {} lookups failed, {:.3g} to {:.3g} % (95 %)",
                                      figures.failed.size(), figures.sent, low * 100, high * 100);
        case kDone:
            return text + fmt::format("none lost: at most {:.3g} % fail (95 %)", high * 100);
        default: break;
    }
    return text +
           fmt::format("incomplete: {} pairs were not sent: it was stopped, or had no CPU in time",
                       figures.asked_for - figures.sent);
}

}  // namespace pathproof::kubernetes
