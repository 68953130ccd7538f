// pathproof inspect doctor: what the other sub-commands see in ten seconds, as one ranked answer.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "dataplane/base/plural.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/asked_flow.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/lookup.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/process/typed_command.h"

namespace pathproof::cli::inspect {
namespace {

using nlohmann::json;
using process::number_of;
using process::part;
using process::text_of;

constexpr int kSickness = 1;
constexpr std::size_t kMostComplaints = 10;  // shown as text; --json has all
constexpr auto kBeyond = std::chrono::seconds(60);

struct DoctorOptions {
    CommonOptions common;
    std::vector<std::string> words;
    double duration_s = 10;
    bool no_drops = false;
};

// Certainty of harm, from the surest on.
enum class Rank : std::uint8_t {
    kAsked,
    kRefusedNow,
    kStale,
    kDroppedNow,
    kSevere,
    kMay,
    kElsewhere
};
const char* name(Rank rank) {
    switch (rank) {
        case Rank::kAsked:
        case Rank::kRefusedNow: return "happening";
        case Rank::kStale: return "old entry";
        case Rank::kDroppedNow: return "dropped";
        case Rank::kSevere: return "severe";
        case Rank::kMay: return "may happen";
        case Rank::kElsewhere: return "of others";
    }
    return "";
}

struct Complaint {
    Rank rank = Rank::kMay;
    std::string cause;        // one word of a list
    std::uint64_t count = 0;  // packets, flows or entries, to order those of one rank
    std::string what, evidence, next;
};

std::string found_text(std::size_t complaints) {
    if (complaints == 0) {
        return "nothing found";
    }
    if (complaints > kMostComplaints) {
        return fmt::format("{} found, {} shown (--json has all)", complaints, kMostComplaints);
    }
    return fmt::format("{} found", complaints);
}

// A service or a flow that is asked about.
struct Subject {
    std::vector<std::vector<std::string>>
        flows;                        // for `why`: one for each protocol that it may have
    std::vector<std::string> filter;  // for the sub-commands that read entries
    std::string service;              // "10.96.0.10:53", or the address alone
};

Result<Subject> parse_service(const std::string& protocol, const std::string& words) {
    const bool has_port = frame::parse_endpoint(words).has_value();
    if (!has_port && !frame::parse_ip(words)) {
        return fail(
            ErrorCode::kBadInput,
            "'{}' is neither a service, such as 'udp 10.96.0.10:53', nor a flow, such as 'udp "
            "10.0.0.5:40000 10.96.0.10:53'",
            words);
    }
    Subject subject{.service = words};
    for (const char* each : {"udp", "tcp"}) {
        if (has_port && (protocol.empty() || protocol == each)) {
            subject.flows.push_back({each, "*", words});
        }
    }
    return subject;
}

// Parses the words of a subject; nothing: there are none. kBadInput says which word is wrong.
Result<std::optional<Subject>> parse_subject(const std::vector<std::string>& words) {
    const std::vector<std::string> parts = netfilter::flow_words(words);
    if (parts.empty()) {
        return std::optional<Subject>();
    }
    Subject subject;
    if (parts.size() <= 2) {
        subject = TRY(parse_service(parts.size() == 2 ? parts[0] : "", parts.back()));
    } else {
        subject = {.flows = {parts}, .service = parts[2]};
    }
    for (const auto& flow : subject.flows) {
        TRY(parse_asked_flow(flow));
    }
    const auto end = [&](const std::string& text, const char* address, const char* port) {
        if (const auto both = frame::parse_endpoint(text); both) {
            subject.filter.push_back(
                fmt::format("{}={}", address, frame::to_string(both->address)));
            subject.filter.push_back(fmt::format("{}={}", port, both->port));
        } else if (frame::parse_ip(text)) {
            subject.filter.push_back(fmt::format("{}={}", address, text));
        }
    };
    end(subject.service, "dst", "dport");
    if (parts.size() >= 2) {
        subject.filter.push_back("proto=" + parts[0]);
    }
    if (parts.size() > 2) {
        end(parts[1], "src", "sport");
    }
    TRY(netfilter::parse_filter(subject.filter));
    return std::optional(std::move(subject));
}

// Returns whether an address stands in the text as a whole.
bool names(const std::string& text, const std::string& address) {
    const auto goes_on = [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) != 0;
    };
    for (std::size_t at = text.find(address); at != text.npos; at = text.find(address, at + 1)) {
        const std::size_t after = at + address.size();
        const bool begins = at == 0 || (!goes_on(text[at - 1]) && text[at - 1] != '.');
        const bool ends = after == text.size() || !goes_on(text[after]);
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

std::string address_of(const std::string& end) {
    const auto both = frame::parse_endpoint(end);
    return both ? frame::to_string(both->address) : end;
}

// Lines of JSON that a sub-command has printed, and how it ended.
struct Told {
    std::vector<json> lines;
    int exit_status = 0;
    std::string error;
};

Told ask(const std::vector<std::string>& words, const DoctorOptions& options) {
    std::vector<std::string> command{process::own_binary(), "inspect"};
    command.insert(command.end(), words.begin(), words.end());
    command.emplace_back("--json");
    if (!options.common.netns.empty()) {
        command.emplace_back("--netns");
        command.push_back(options.common.netns);
    }
    const auto limit = std::chrono::milliseconds(static_cast<long>(options.duration_s * 1000));
    const auto ran = process::run_program(command, {.netns = {}, .timeout = limit + kBeyond});
    Told told;
    if (!ran) {
        told.exit_status = kIncomplete;
        told.error = ran.error().message;
        return told;
    }
    told.exit_status = ran->exit_status;
    const std::string said = process::without_controls(ran->err);
    told.error = ran->exit_status > kSickness ? said.substr(0, said.find('\n')) : "";
    for (const std::string& line : process::lines_of(ran->out)) {
        json value = process::parse_foreign(line);
        if (value.is_object()) {
            told.lines.push_back(std::move(value));
        }
    }
    return told;
}

class Doctor {
  public:
    Doctor(const DoctorOptions& options, std::optional<Subject> subject)
        : options_(options), subject_(std::move(subject)) {
        if (subject_) {
            addresses_.insert(address_of(subject_->service));
        }
    }

    Result<int> run() {
        TRY(process::require_netns(options_.common.netns));
        const std::string seconds = fmt::format("{}", options_.duration_s);
        std::map<std::string, std::vector<std::string>> questions{
            {"hazards", {"hazards"}},
            {"stale", {"stale"}},
            {"backends", {"backends", "--watch", seconds, "--count", "1"}},
            {"clashes", {"clashes", "--duration", seconds}},
            {"dns", {"dns", "--duration", seconds}},
            {"drops", {"drops", "--flows", "--duration", seconds}}};
        if (options_.no_drops) {
            questions.erase("drops");
        }
        if (subject_) {
            for (const char* filtered : {"stale", "backends", "clashes"}) {
                std::ranges::copy(subject_->filter, std::back_inserter(questions[filtered]));
            }
            for (const auto& flow : subject_->flows) {
                std::vector<std::string>& why = questions["why " + flow[0]];
                why = {"why", "--duration", seconds};
                std::ranges::copy(flow, std::back_inserter(why));
            }
        }
        fmt::print(stderr, "pathproof: looking for {} s\n", options_.duration_s);
        std::map<std::string, std::future<Told>> asked;
        for (const auto& question : questions) {
            const std::vector<std::string>& words = question.second;
            asked[question.first] =
                std::async(std::launch::async, [this, &words] { return ask(words, options_); });
        }
        std::map<std::string, Told> told;
        for (auto& question : asked) {
            told[question.first] = question.second.get();
        }
        take_why(told);
        for (const auto& each : told) {
            if (!each.second.error.empty()) {
                missing_.push_back(each.first + ": " + each.second.error);
            }
        }
        take_stale(told["stale"]);
        take_backends(told["backends"]);
        take_hazards(told["hazards"]);
        take_dns(told["dns"]);
        take_clashes(told["clashes"]);
        take_drops(told["drops"]);
        TRY(still_there(options_.common.netns));
        std::ranges::stable_sort(complaints_, [](const Complaint& one, const Complaint& other) {
            return one.rank != other.rank ? one.rank < other.rank : one.count > other.count;
        });
        return put();
    }

  private:
    // The command that says more, with the namespace.
    std::string next(const std::string& words) const {
        return "pathproof inspect " + words +
               (options_.common.netns.empty()
                    ? ""
                    : " --netns " + process::shell_words({options_.common.netns}));
    }

    // Passes over those protocols of a service that nobody asked by.
    void take_why(std::map<std::string, Told>& told) {
        const auto is_why = [](const auto& each) { return each.first.starts_with("why "); };
        const bool any_seen = std::ranges::any_of(
            told, [&](const auto& each) { return is_why(each) && !each.second.lines.empty(); });
        for (auto& each : told) {
            if (!is_why(each)) {
                continue;
            }
            for (const json& line : each.second.lines) {
                take_diagnosis(line);
            }
            each.second.error = any_seen ? "" : each.second.error;
        }
    }

    void take_diagnosis(const json& line) {
        const std::string health = text_of(part(line, "health")), why = text_of(part(line, "why"));
        if (health.empty()) {
            return;
        }
        if (health != "cause found") {
            answers_.push_back({health, why});
            return;
        }
        const json& rules = part(line, "rules");
        const std::string rule = rules.is_array() && !rules.empty() ? text_of(rules[0]) : "";
        const std::string remedy = text_of(part(line, "remedy"));
        std::vector<std::string> again{"why", "--rules"};
        std::ranges::copy(subject_->flows[0], std::back_inserter(again));
        complaints_.push_back(
            {.rank = Rank::kAsked,
             .cause = text_of(part(line, "cause")),
             .what = why,
             .evidence = rule.empty() ? text_of(part(line, "text")) : rule,
             .next = remedy.empty() ? next(process::shell_words(again)) : remedy});
    }

    // Returns whether the text is about the subject; true without one.
    bool concerns(const std::string& text) const {
        return !subject_ || std::ranges::any_of(addresses_, [&](const std::string& address) {
            return names(text, address);
        });
    }

    void take_hazards(const Told& told) {
        for (const json& line : told.lines) {
            if (!part(line, "hazard").is_string() || line["hazard"] == "stale-entry") {
                continue;  // entries are asked for by themselves
            }
            const std::string harm = text_of(part(line, "harm"));
            const bool severe = part(line, "severe") == json(true);
            const json& evidence = part(line, "evidence");
            const json first =
                evidence.is_array() && !evidence.empty() ? evidence[0] : json::object();
            const bool is_sure = severe || !harm.empty();
            Rank rank = severe ? Rank::kSevere : Rank::kMay;
            if (!harm.empty()) {
                rank = Rank::kRefusedNow;
            }
            if (is_sure && !concerns(process::to_text(evidence))) {
                rank = Rank::kElsewhere;
            }
            complaints_.push_back(
                {.rank = rank,
                 .cause = text_of(part(line, "hazard")),
                 .what = text_of(part(line, "hazard")) + ": " + text_of(part(line, "what")),
                 .evidence =
                     fmt::format("{}{}: {}", harm.empty() ? "" : harm + "; ",
                                 text_of(part(first, "where")), text_of(part(first, "text"))),
                 .next = text_of(part(line, "remedy"))});
        }
    }

    void take_stale(const Told& told) {
        Complaint complaint{.rank = Rank::kStale, .cause = "stale-entry"};
        for (const json& line : told.lines) {
            if (!part(line, "staleness").is_string()) {
                continue;
            }
            ++complaint.count;
            if (complaint.count == 1) {
                complaint.evidence = text_of(part(line, "text"));
                complaint.next = text_of(part(line, "cure"));
            }
        }
        if (complaint.count != 0) {
            complaint.what = fmt::format("{} conntrack {} older than the rules", complaint.count,
                                         complaint.count == 1 ? "entry is" : "entries are");
            complaint.next += complaint.count == 1 ? "" : "; all: " + next("stale");
            complaints_.push_back(std::move(complaint));
        }
    }

    void take_backends(const Told& told) {
        for (const json& line : told.lines) {
            if (const std::string backend = text_of(part(line, "backend")); !backend.empty()) {
                addresses_.insert(address_of(backend));
            }
            const std::string verdict = text_of(part(line, "verdict"));
            const bool dead = verdict.starts_with("dead"),
                       refuses = verdict.starts_with("refusing");
            const bool lossy = verdict.starts_with("lossy"), silent = verdict == "silent";
            if (!dead && !refuses && !lossy && !silent) {
                continue;
            }
            complaints_.push_back(
                {.rank = Rank::kRefusedNow,
                 .cause = "backend-" + verdict.substr(0, verdict.find(' ')),
                 .count = number_of(part(line, silent ? "unanswered_packets" : "unanswered")),
                 .what = fmt::format(
                     "the backend {} of {} {} is {}", text_of(part(line, "backend")),
                     text_of(part(line, "protocol")), text_of(part(line, "service")), verdict),
                 .evidence = silent ? text_of(part(line, "note"))
                                    : fmt::format("{} of {} flows unanswered",
                                                  number_of(part(line, "unanswered")),
                                                  number_of(part(line, "judged"))),
                 .next = next(fmt::format("why {} '*' {}", text_of(part(line, "protocol")),
                                          text_of(part(line, "service"))))});
        }
    }

    void take_dns(const Told& told) {
        for (const json& line : told.lines) {
            const std::uint64_t failed = number_of(part(line, "failed"));
            if (failed == 0) {
                continue;
            }
            const json& failures = part(line, "failures");
            const json first =
                failures.is_array() && !failures.empty() ? failures[0] : json::object();
            const std::string resolver = text_of(part(line, "resolver"));
            const std::string slow =
                part(line, "median_ms").is_number()
                    ? fmt::format(", answers took {:.1f} ms at the median and {:.1f} ms at most",
                                  line["median_ms"].get<double>(), line.value("longest_ms", 0.0))
                    : "";
            complaints_.push_back(
                {.rank = concerns(resolver) ? Rank::kRefusedNow : Rank::kElsewhere,
                 .cause = "dns-failed",
                 .count = failed,
                 .what = fmt::format(
                     "{} of {} to the resolver {} failed, {}", failed,
                     number_of(part(line, "queries")) == 1
                         ? "1 DNS query"
                         : fmt::format("{} DNS queries", number_of(part(line, "queries"))),
                     resolver,
                     number_of(part(line, "retries")) == 1
                         ? "1 retry"
                         : fmt::format("{} retries", number_of(part(line, "retries")))),
                 .evidence = fmt::format("{} for {} {} of {}{}", text_of(part(first, "outcome")),
                                         text_of(part(first, "name")), text_of(part(first, "type")),
                                         text_of(part(first, "client")), slow),
                 .next = next(process::shell_words({"why", "udp", "*", resolver}))});
        }
    }

    void take_clashes(const Told& told) {
        std::uint64_t clashes = 0, late = 0;
        for (const json& line : told.lines) {
            clashes += part(line, "clash").is_object() ? 1 : 0;
            late += part(line, "late_answer").is_object() ? 1 : 0;
        }
        if (clashes != 0) {
            complaints_.push_back(
                {.rank = late != 0 ? Rank::kRefusedNow : Rank::kMay,
                 .cause = "clash",
                 .count = clashes,
                 .what = fmt::format("packets of one flow raced each other into conntrack: {}",
                                     clashes == 1 ? std::string("1 hidden entry")
                                                  : fmt::format("{} hidden entries", clashes)),
                 .evidence =
                     fmt::format("{} came too late to be translated", plural(late, "answer")),
                 .next = next("clashes")});
        }
    }

    void take_drops(const Told& told) {
        for (const json& line : told.lines) {
            const json& counts = part(line, "counts");
            for (const json& count : counts.is_array() ? counts : json::array()) {
                if (text_of(part(count, "protocol")) == "none") {
                    continue;  // messages on sockets of netlink and the like: no packets
                }
                const std::string flow = flow_behind(count, part(line, "flows"));
                complaints_.push_back(
                    {.rank = concerns(flow) ? Rank::kDroppedNow : Rank::kElsewhere,
                     .cause = text_of(part(count, "reason")),
                     .count = number_of(part(count, "packets")),
                     .what = fmt::format("the kernel dropped {} of {}: {}",
                                         plural(number_of(part(count, "packets")), "packet"),
                                         text_of(part(count, "protocol")),
                                         text_of(part(count, "reason"))),
                     .evidence = "at " + text_of(part(count, "location")) + flow,
                     .next = next("drops --flows")});
            }
        }
    }

    // The flow that lost most packets so, and the rule behind it; empty: it is not known.
    static std::string flow_behind(const json& count, const json& flows) {
        const std::string location = text_of(part(count, "location"));
        for (const json& flow : flows.is_array() ? flows : json::array()) {
            const std::string place = text_of(part(flow, "place"));
            if (text_of(part(flow, "reason")) != text_of(part(count, "reason")) || place.empty() ||
                !location.starts_with(place)) {
                continue;
            }
            const std::string rule = text_of(part(flow, "rule"));
            return fmt::format(", {} of {} {} > {}{}{}",
                               plural(number_of(part(flow, "packets")), "packet"),
                               text_of(part(flow, "protocol")), text_of(part(flow, "source")),
                               text_of(part(flow, "destination")),
                               rule.empty() ? "" : ": by the rules of now ", rule);
        }
        return "";
    }

    int put() {
        bool sick = false, undecided = false;
        for (const auto& [health, why] : answers_) {
            undecided |= health != "healthy";
            if (options_.common.json) {
                put_json(output_, {{"health", health}, {"why", why}});
            } else {
                output_.put_line(fmt::format("{}: {}", health, why));
            }
        }
        for (std::size_t i = 0; i < complaints_.size(); ++i) {
            const Complaint& each = complaints_[i];
            sick |= each.rank < Rank::kMay && each.rank != Rank::kDroppedNow;
            if (options_.common.json) {
                put_json(output_, {{"rank", i + 1},
                                   {"kind", name(each.rank)},
                                   {"cause", each.cause},
                                   {"count", each.count},
                                   {"what", each.what},
                                   {"evidence", each.evidence},
                                   {"next", each.next}});
            } else if (i < kMostComplaints) {
                output_.line() += fmt::format("{}. {}: {}\n   found  {}\n   next   {}\n", i + 1,
                                              name(each.rank), each.what, each.evidence, each.next);
            }
        }
        if (options_.common.json) {
            put_json(output_, {{"complaints", complaints_.size()}, {"not_seen", missing_}});
        } else {
            for (const std::string& missing : missing_) {
                output_.put_line("not seen: " + missing);
            }
            output_.put_line(found_text(complaints_.size()));
        }
        output_.flush();
        if (sick) {
            return kSickness;
        }
        return missing_.empty() && !undecided ? kDone : kIncomplete;
    }

    const DoctorOptions& options_;
    const std::optional<Subject> subject_;
    std::set<std::string> addresses_;  // the subject's and its backends'
    Output output_;
    std::vector<std::pair<std::string, std::string>> answers_;  // of `why`, without a cause
    std::vector<Complaint> complaints_;
    std::vector<std::string> missing_;
};

Result<int> run_doctor(const DoctorOptions& options) {
    auto subject = TRY(parse_subject(options.words));
    process::stop_on_signals();
    return Doctor(options, std::move(subject)).run();
}

}  // namespace

void add_doctor(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "doctor",
        "Ten seconds of hazards, stale, backends, dns, clashes and drops: one ranked answer");
    const auto options = options_for<DoctorOptions>(*app, chosen, run_doctor);
    add_common(*app, options->common);
    app->add_option(
        "subject", options->words,
        "a service, 'udp 10.96.0.10:53' or '10.96.0.10:53', or a flow, 'udp 10.0.0.5:40000 "
        "10.96.0.10:53' ('*' for the source or its port): why it, or the next flow to it, "
        "is sick, and what concerns it of all else (default: all that fails here)");
    app->add_option("--duration", options->duration_s, "look for so many seconds (default: 10)")
        ->check(kAboveZero);
    app->add_flag("--no-drops", options->no_drops,
                  "do not follow the kernel's drops meanwhile (a BPF program at a tracepoint)");
    app->footer(
        "Ordered: what fails now, entries that are older than the rules, what the kernel drops, "
        "what "
        "fails whenever it is used, what may fail at times. Each with its evidence and the next "
        "command. Changes nothing.\n"
        "Asked about a service or a flow, what is of others comes last and does not count.\n"
        "Exit status: 0 nothing that fails was found, 1 something was, 2 wrong usage, 3 nothing "
        "was, "
        "but not all could be seen.");
}

}  // namespace pathproof::cli::inspect
