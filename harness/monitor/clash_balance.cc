#include "harness/monitor/clash_balance.h"

#include <fmt/format.h>

namespace pathproof::monitor {

void BalanceCounter::found(const netfilter::Clash& clash) {
    if (!clash.winner_ns || *clash.winner_ns < from_ns_) {
        ++balance.hidden_before;
    } else if (*clash.winner_ns <= until_ns_) {
        ++balance.hidden;
    }
}

void BalanceCounter::destroyed(const netfilter::Clash& clash) {
    const bool inserted_later = clash.winner_ns && *clash.winner_ns > until_ns_;
    balance.hidden_gone_later += !inserted_later && *clash.destroyed_ns > until_ns_ ? 1 : 0;
}

std::vector<std::string> explain(const ClashBalance& balance) {
    std::vector<std::string> lines;
    const char* const least = balance.overruns > 0 ? "at least " : "";
    if (!balance.resolved_known) {
        lines.push_back(
            fmt::format("{}{} hidden entries; this kernel does not count resolved clashes "
                        "(clash_resolve)",
                        least, balance.hidden));
    } else if (balance.overruns > 0) {
        lines.push_back(fmt::format(
            "{} clashes resolved (clash_resolve): at least {} by a hidden entry; how many were "
            "merged cannot be told, for events were lost {} times",
            balance.resolved, balance.hidden, balance.overruns));
    } else if (balance.agree()) {
        lines.push_back(
            fmt::format("{} clashes resolved (clash_resolve): {} by a hidden entry, {} merged into "
                        "the winner's entry",
                        balance.resolved, balance.hidden, balance.merged()));
    } else {
        lines.push_back(fmt::format(
            "{} hidden entries but only {} clashes resolved (clash_resolve): they do not agree",
            balance.hidden, balance.resolved));
    }
    if (balance.hidden_before > 0) {
        lines.push_back(fmt::format(
            "{} more hidden entries have no winner among the flows seen to begin: their clashes "
            "were before we listened{}",
            balance.hidden_before, balance.overruns > 0 ? ", or the winner's event was lost" : ""));
    }
    if (balance.listed > balance.entries) {
        lines.push_back(
            fmt::format("{} entries were listed at the end; the table changed while "
                        "they were, and had {} by its own count",
                        balance.listed, balance.entries));
        return lines;
    }
    if (balance.hidden_gone_later > balance.unlisted()) {
        lines.push_back(
            fmt::format("{} entries in the table at the end, {} of them listed; {} hidden entries "
                        "were seen to go while it was counted, and after",
                        balance.entries, balance.listed, balance.hidden_gone_later));
        return lines;
    }
    lines.push_back(fmt::format(
        "{} entries in the table at the end, {} of them listed; of the {} others {} "
        "were hidden entries",
        balance.entries, balance.listed, balance.unlisted(), balance.hidden_gone_later));
    return lines;
}

}  // namespace pathproof::monitor
