// "Could not resolve host", for half a minute at a time: of the first name of the search list a cache says
// NXDOMAIN to A and NOERROR with a CNAME alone to AAAA, and glibc ends its search there.
//
// Set:  what the DNS server says to A and AAAA of the first name of the search list; options of a
//       resolv.conf in a mount namespace of the client's own.
// Sent: lookups by getaddrinfo(3) of glibc and of musl, on demand by Go's resolver and through
//       systemd-resolved, each in a fresh process, side by side.
// Seen: how each ended, its queries on the client's wire and at the server, its answers.

#include "harness/scenario/resolvers/split_answer.h"

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/frame/dns.h"
#include "harness/scenario/resolvers/resolver_bench.h"

namespace pathproof::scenario {
namespace {

using SplitKind = SplitAnswerCell::Kind;

const std::vector<std::string> kSplitList = {"default.svc.cluster.local", "svc.cluster.local",
                                             "cluster.local"};
constexpr unsigned kSplitLookups = 3;
constexpr agent::milliseconds kSplitLimit{22'000};
// With an answer that never comes use-vc waits for ever.
constexpr agent::milliseconds kUseVcLimit{8'000};
// Times of the cell with a cache: its lookups begin every 250 ms.
constexpr unsigned kExpiryLookups = 28;
constexpr agent::milliseconds kAExpires{2'000}, kAaaaExpires{4'500};
constexpr PairReply kTableReplies[] = {PairReply::kData,  PairReply::kNx,       PairReply::kEmpty,
                                       PairReply::kCname, PairReply::kServFail, PairReply::kRefused,
                                       PairReply::kNone,  PairReply::kRubbish};

agent::DnsRule::Says says_of(PairReply reply) {
    if (reply == PairReply::kNone) {
        return agent::DnsRule::Says::kNothing;
    }
    return reply == PairReply::kRubbish ? agent::DnsRule::Says::kRubbish
                                        : agent::DnsRule::Says::kAnswer;
}

frame::Rcode rcode_of(PairReply reply) {
    switch (reply) {
        case PairReply::kNx: return frame::Rcode::kNxDomain;
        case PairReply::kServFail: return frame::Rcode::kServFail;
        case PairReply::kRefused: return frame::Rcode::kRefused;
        case PairReply::kData:
        case PairReply::kEmpty:
        case PairReply::kCname:
        case PairReply::kCnameData:
        case PairReply::kNone:
        case PairReply::kRubbish: return frame::Rcode::kNoError;
    }
    return frame::Rcode::kNoError;
}

agent::DnsRule rule_of(const std::string& name, std::uint16_t type, PairReply reply) {
    agent::DnsRule rule{.name = name, .type = type};
    const bool data = reply == PairReply::kData || reply == PairReply::kCnameData;
    rule.cname = reply == PairReply::kCname || reply == PairReply::kCnameData;
    rule.address = data ? frame::IpAddress::v4(0xcb007109) : frame::IpAddress{};  // 203.0.113.9
    rule.address6 =
        data ? frame::parse_ip("2001:db8::9").value_or(frame::IpAddress{}) : frame::IpAddress{};
    rule.says = says_of(reply);
    rule.rcode = static_cast<std::uint8_t>(rcode_of(reply));
    return rule;
}

const char* rcode_word(std::uint8_t rcode) {
    switch (static_cast<frame::Rcode>(rcode)) {
        case frame::Rcode::kNoError: return "NOERROR";
        case frame::Rcode::kNxDomain: return "NXDOMAIN";
        case frame::Rcode::kServFail: return "SERVFAIL";
        case frame::Rcode::kRefused: return "REFUSED";
        default: return "another code";
    }
}

class SplitAnswerBench : public SideBySide<SplitAnswerCell, SplitAnswerValues> {
  public:
    explicit SplitAnswerBench(Context& context) : SideBySide(context, split_answer_plan()) {}

  private:
    const char* lookups_told() const override { return "every lookup with its queries"; }

    std::vector<agent::DnsRule> otherwise() const override {
        return {rule_of("cluster.local", 0, PairReply::kNx),
                // systemd-resolved asks for what a CNAME names.
                rule_of(agent::kCnameTarget, 0, PairReply::kEmpty), found_rule(".")};
    }

    void plan(const SplitAnswerCell& what, SplitAnswerValues& seen, Round& round) override {
        const auto add = [&](const SplitAnswerCell& cell, const std::string& rest) {
            const std::string full = next_label() + rest;
            round.ask(cell,  // of the table with its pair
                      {.who = cell.who,
                       .lookup = {.name = full + (cell.dot ? "." : ""),
                                  .resolv_conf = hosts().resolv_conf(kSplitList, cell.options),
                                  .family = cell.family,
                                  .addrconfig = cell.addrconfig,
                                  .limit = cell.options.find("use-vc") == std::string::npos
                                               ? kSplitLimit
                                               : kUseVcLimit},
                       .paced = cell.kind == SplitKind::kExpiry});
            if (cell.kind != SplitKind::kExpiry) {
                const std::string first = full + "." + kSplitList.front();
                round.rules.push_back(rule_of(first, frame::kDnsTypeA, cell.a));
                round.rules.push_back(rule_of(first, frame::kDnsTypeAaaa, cell.aaaa));
            }
        };
        if (what.kind == SplitKind::kTable) {
            for (const PairReply a : kTableReplies) {
                for (const PairReply aaaa : kTableReplies) {
                    SplitAnswerCell each = what;
                    each.a = a;
                    each.aaaa = aaaa;
                    add(each, ".example.com");
                }
            }
            return;
        }
        const bool expiry = what.kind == SplitKind::kExpiry;
        for (unsigned i = 0; i < (expiry ? kExpiryLookups : kSplitLookups); ++i) {
            add(what, expiry ? ".cached.example.com" : ".example.com");
        }
        if (expiry) {
            const std::string cached = "cached.example.com." + kSplitList.front();
            round.rules.push_back(rule_of(cached, frame::kDnsTypeA, PairReply::kCnameData));
            round.rules.back().until = kAExpires;
            round.rules.push_back(rule_of(cached, frame::kDnsTypeAaaa, PairReply::kCname));
            round.rules.back().until = kAaaaExpires;
            seen.split_for_ms = static_cast<double>((kAaaaExpires - kAExpires).count());
        }
    }

    void take(const SplitAnswerCell& what, const std::string& asked, const LookupTrail& trail,
              Taken& of_cell) override {
        of_cell.text += trail_text(asked, trail);
        SplitAnswerValues& seen = of_cell.seen;
        std::set<std::pair<std::string, std::uint16_t>> queries;
        for (const QueryTrail& query : trail.queries) {
            queries.emplace(query.name, query.type);
        }
        const double seconds = trail.outcome.milliseconds / 1000;
        if (what.kind == SplitKind::kTable) {
            seen.table.push_back({what.a, what.aaaa, trail.outcome.word, seconds, queries.size()});
        }
        seen.fewest_queries =
            seen.lookups == 0 ? queries.size() : std::min(seen.fewest_queries, queries.size());
        seen.most_queries = std::max<std::uint64_t>(seen.most_queries, queries.size());
        ++seen.lookups;
        seen.longest_ms = std::max(seen.longest_ms, trail.outcome.milliseconds);
        if (trail.outcome.ok()) {
            ++seen.resolved;
            return;
        }
        seen.outcome = seen.outcome.empty() ? trail.outcome.word : seen.outcome;
        if (what.kind == SplitKind::kExpiry && !trail.queries.empty()) {
            first_failed_ns_ =
                first_failed_ns_ == 0 ? trail.queries.front().sent_ns : first_failed_ns_;
            seen.failed_for_ms =
                static_cast<double>(trail.queries.front().sent_ns - first_failed_ns_) / 1e6;
        }
        join(what, what.dot ? asked.substr(0, asked.size() - 1) : asked, trail, seen);
    }

    // Counts a failed lookup by its cause.
    static void join(const SplitAnswerCell& what, const std::string& full_name,
                     const LookupTrail& trail, SplitAnswerValues& seen) {
        // The resolver waits for 5 s, musl for half as long.
        const double patience = what.who == resolver::Kind::kMusl ? 2'250 : 4'500;
        const std::string strange = strange_fate(trail.queries, patience);
        const auto other = [&](const std::string& word) {
            ++seen.by_other;
            seen.other = word;
        };
        if (!strange.empty()) {
            return other(strange);
        }
        if (trail.queries.empty()) {
            ++seen.unexplained;
            return;
        }
        const std::string& last = trail.queries.back().name;
        std::map<std::uint16_t, const QueryTrail*> at_last;
        std::uint8_t worst = 0;
        bool withheld = false;
        for (const QueryTrail& query : trail.queries) {
            if (query.name == last && query.came) {
                at_last[query.type] = &query;
            }
            const auto rcode = static_cast<frame::Rcode>(query.rcode);
            worst = rcode == frame::Rcode::kServFail || rcode == frame::Rcode::kRefused
                        ? query.rcode
                        : worst;
            withheld = withheld || !query.answered;
        }
        if (trail.outcome.no_name() && last != full_name && at_last.size() == 2) {
            const QueryTrail& a = *at_last[frame::kDnsTypeA];
            const QueryTrail& aaaa = *at_last[frame::kDnsTypeAaaa];
            const auto code = [](const QueryTrail& query) {
                return static_cast<frame::Rcode>(query.came_rcode);
            };
            const bool either_ok =
                code(a) == frame::Rcode::kNoError || code(aaaa) == frame::Rcode::kNoError;
            if (a.addresses + aaaa.addresses == 0 && either_ok) {
                ++(code(a) == code(aaaa) ? seen.by_nodata : seen.by_split);
                seen.ends_at = !seen.ends_at.empty() ? seen.ends_at
                                                     : fmt::format("{}: A {}, AAAA {}", last,
                                                                   rcode_word(a.came_rcode),
                                                                   rcode_word(aaaa.came_rcode));
                return;
            }
        }
        if (worst != 0) {
            const bool refused = static_cast<frame::Rcode>(worst) == frame::Rcode::kRefused;
            return other(refused ? "refused" : "servfail");
        }
        if (withheld) {
            return other("no-answer");
        }
        ++seen.unexplained;
    }

    std::int64_t first_failed_ns_ = 0;  // of the cache's lookups
};

}  // namespace

const char* name(PairReply reply) {
    switch (reply) {
        case PairReply::kData: return "data";
        case PairReply::kNx: return "nx";
        case PairReply::kEmpty: return "empty";
        case PairReply::kCname: return "cname";
        case PairReply::kCnameData: return "cname+data";
        case PairReply::kServFail: return "servfail";
        case PairReply::kRefused: return "refused";
        case PairReply::kNone: return "none";
        case PairReply::kRubbish: return "rubbish";
    }
    return "";
}

std::vector<SplitAnswerCell> split_answer_plan() {
    using enum PairReply;
    std::vector<SplitAnswerCell> cells = with_roles<SplitAnswerCell>({
        {.id = "glibc.nx-cname", .label = "nx, cname"},
        {.id = "glibc.cname-nx", .label = "cname, nx", .a = kCname, .aaaa = kNx},
        {.id = "glibc.cname-cname", .label = "cname, cname", .a = kCname},
        {.id = "glibc.nx-empty", .label = "nx, empty", .aaaa = kEmpty},
        {.id = "glibc.empty-empty", .label = "empty, empty", .a = kEmpty, .aaaa = kEmpty},
        {.id = "glibc.cache-expiry", .label = "a cache", .kind = SplitKind::kExpiry},
        {.id = "glibc.nx-cname.single-request",
         .label = "single-request",
         .options = "ndots:5 single-request"},
        {.id = "glibc.nx-cname.single-request-reopen",
         .label = "single-request-reopen",
         .options = "ndots:5 single-request-reopen"},
        {.id = "glibc.nx-cname.use-vc", .label = "use-vc", .options = "ndots:5 use-vc"},
        {.id = "glibc.nx-cname.addrconfig", .label = "AI_ADDRCONFIG", .addrconfig = true},
        {.id = "musl.nx-cname", .label = "musl: nx, cname"},
        {.id = "musl.empty-empty", .label = "musl: empty, empty", .a = kEmpty, .aaaa = kEmpty},
        {.id = "musl.cname-cname", .label = "musl: cname, cname", .a = kCname},
        {.id = "control.nx-nx", .label = "control: nx, nx", .aaaa = kNx},
        {.id = "control.musl.nx-nx", .label = "control: musl: nx, nx", .aaaa = kNx},
        {.id = "cure.trailing-dot", .label = "cure: trailing dot", .dot = true},
        {.id = "cure.ndots-2", .label = "cure: ndots:2", .options = "ndots:2"},
        {.id = "cure.no-aaaa", .label = "cure: no-aaaa", .options = "ndots:5 no-aaaa"},
        {.id = "cure.af-inet", .label = "cure: AF_INET", .family = resolver::Family::kIpv4},
        {.id = "cure.consistent-cache", .label = "cure: consistent cache", .a = kCnameData},
        {.id = "cure.musl.trailing-dot",
         .label = "cure: musl, trailing dot",
         .a = kEmpty,
         .aaaa = kEmpty,
         .dot = true},
        {.id = "cure.musl.ndots-2",
         .label = "cure: musl, ndots:2",
         .a = kEmpty,
         .aaaa = kEmpty,
         .options = "ndots:2"},
        {.id = "pairs.glibc", .label = "all pairs", .kind = SplitKind::kTable},
        {.id = "pairs.musl", .label = "all pairs, musl", .kind = SplitKind::kTable},
        {.id = "go.nx-cname", .label = "Go: nx, cname"},
        {.id = "go.empty-empty", .label = "Go: empty, empty", .a = kEmpty, .aaaa = kEmpty},
        {.id = "go.cname-cname", .label = "Go: cname, cname", .a = kCname},
        {.id = "control.go.nx-nx", .label = "control: Go: nx, nx", .aaaa = kNx},
        {.id = "pairs.go", .label = "all pairs, Go", .kind = SplitKind::kTable},
        {.id = "resolved.nx-cname", .label = "systemd-resolved: nx, cname"},
        {.id = "resolved.cname-nx",
         .label = "systemd-resolved: cname, nx",
         .a = kCname,
         .aaaa = kNx},
        {.id = "resolved.empty-empty",
         .label = "systemd-resolved: empty, empty",
         .a = kEmpty,
         .aaaa = kEmpty},
        {.id = "resolved.cname-cname", .label = "systemd-resolved: cname, cname", .a = kCname},
        {.id = "control.resolved.nx-nx", .label = "control: systemd-resolved: nx, nx", .aaaa = kNx},
        {.id = "cure.resolved.trailing-dot",
         .label = "cure: systemd-resolved, trailing dot",
         .dot = true},
        {.id = "glibc.nx-cname.after-cure", .label = "after the cure"},
        {.id = "musl.empty-empty.after-cure",
         .label = "musl, after the cure",
         .a = kEmpty,
         .aaaa = kEmpty},
    });
    for (SplitAnswerCell& cell : cells) {
        cell.who = resolver_in(cell.id);
        cell.role = cell.kind == SplitKind::kTable ? CellRole::kDemonstration : cell.role;
    }
    return cells;
}

Scenario split_answer_scenario() {
    return nat_path_scenario<SplitAnswerBench, split_answer_plan, split_answer_conclusions>(
        "split-answer",
        "\"Could not resolve host\": A and AAAA of one name are answered differently",
        "Does a lookup find a name that has addresses, whatever a name of the search list is "
        "answered with?",
        {kResolvers});
}

}  // namespace pathproof::scenario
