// pathproof inspect why: how the entry of one flow came and went, or why there is none.
#include <fmt/ranges.h>
#include <net/if.h>
#include <netinet/in.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/asked_flow.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/drops/tracer.h"
#include "harness/fate/follower.h"
#include "harness/hazards/host.h"
#include "harness/monitor/flow_story.h"
#include "harness/monitor/flow_tap.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/lookup.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/planted.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"
#include "harness/netfilter/unheard_flows.h"
#include "harness/netfilter/watcher.h"
#include "harness/predict/diagnosis.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using namespace std::chrono_literals;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = 100ms;
constexpr int kCauseFound = 1;

struct WhyOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::optional<double> duration_s;
    std::uint16_t zone = 0;
    bool rules = false;
};

class Why {
  public:
    Why(const WhyOptions& options, const Tuple& tuple) : options_(options), tuple_(tuple) {}

    Result<int> run() {
        const Status watched = watch();
        output_.flush();
        TRY(watched);
        auto dropped_packets = stop_following();
        const bool counted = tracer_ != nullptr;
        const std::vector<drops::DropCount> dropped =
            counted ? tracer_->stop().counts : std::vector<drops::DropCount>{};
        const auto conclusion = story_->conclude(counted ? &dropped : nullptr, [] {
            const auto& planted = planted_packets();
            return planted && counts_as_known(*planted);
        });
        auto seen = TRY(look_around(conclusion));
        seen.drops = std::move(dropped_packets);
        const predict::Diagnosis diagnosis = predict::diagnose(seen, realtime_ns());
        put(conclusion, seen, diagnosis);
        output_.flush();
        switch (diagnosis.health) {
            case predict::Health::kHealthy: return kDone;
            case predict::Health::kCause: return kCauseFound;
            case predict::Health::kNotDecided: return kIncomplete;
        }
        return kIncomplete;
    }

  private:
    Status watch() {
        const std::string& netns = options_.common.netns;
        lookup_.emplace(TRY(Lookup::open(netns)));
        auto tap = TRY(monitor::FlowTap::start(netns, tuple_));
        // The drop tracer alone may be missing of all that is read here; the answer then says so.
        if (auto tracer = drops::DropTracer::start({.netns = netns});
            tracer && (*tracer)->poll().scope == drops::Scope::kNamespace) {
            tracer_ = std::move(*tracer);
        }
        follow(tuple_);
        if (tuple_.protocol == IPPROTO_UDP) {
            TRY(listen_for_strays(turned(tuple_)));
        }
        auto watcher = TRY(Watcher::start({.netns = netns, .state = WatchOptions::State::kNone}));
        story_.emplace(tuple_, events_of(netns),
                       [this](const monitor::FlowStep& step) { show(step); });
        story_->set_devices(TRY(monitor::device_stack(netns)));
        TRY(look());
        fmt::print(stderr, "pathproof: watching {} until its entry ends\n", flow_text(tuple_));
        // A packet passes before the event that it causes.
        std::vector<Event> events;
        const WatchSink sink{.event = [&](const Event& event) { events.push_back(event); },
                             .gap = [this](const Gap&) { story_->lost_events(); }};
        const auto hear = [&](std::chrono::milliseconds patience) -> Status {
            TRY(watcher->poll(patience, sink));
            TRY(drain(tap));
            for (const Event& event : std::exchange(events, {})) {
                story_->take(event);
            }
            return {};
        };
        auto next_look = Clock::now() + kLookEvery;
        // From here on: to begin takes seconds on a busy machine.
        const auto deadline = Limits{.duration_s = options_.duration_s, .count = {}}.deadline();
        while (!process::stopping() && output_.open() && !story_->over() &&
               Clock::now() < deadline) {
            TRY(hear(10ms));
            if (Clock::now() >= next_look) {
                // An entry that is gone by then has said so: following its packets takes a while to begin.
                TRY(hear(0ms));
                TRY(look());
                next_look = Clock::now() + kLookEvery;
            }
            output_.flush();
        }
        TRY(hear(0ms));
        return look();
    }

    // Follows the packets of that tuple from here on; where this machine cannot, the answer says so.
    void follow(const Tuple& tuple) {
        auto follower =
            fate::Follower::start({.flows = {{.protocol = tuple.protocol,
                                              .source = tuple.source.address,
                                              .source_port = tuple.source.port,
                                              .destination = tuple.destination.address,
                                              .destination_port = tuple.destination.port}}});
        if (follower) {
            followers_.push_back(std::move(*follower));
        } else {
            not_followed_ = follower.error().message;
        }
    }

    // The answers are known by the tuple that they come with: before it is translated back.
    std::vector<predict::FlowDrop> stop_following() {
        std::vector<predict::FlowDrop> drops;
        for (std::size_t i = 0; i < followers_.size(); ++i) {
            const fate::Fates fates = followers_[i]->stop();
            const bool is_last = i + 1 == followers_.size();
            for (const fate::EndCount& count : fates.ends) {
                const bool there = count.direction == fate::Direction::kThere;
                const bool back = count.direction == fate::Direction::kBack;
                // Datagrams that an application, or a packet socket, has not read when it is closed have arrived.
                if (count.end.ending != fate::Ending::kDropped || count.end.cause == "not-read" ||
                    !((there && i == 0) || (back && is_last))) {
                    continue;
                }
                drops.push_back({.of_answers = i == 0 ? back : back != is_turned_,
                                 .packets = count.packets,
                                 .cause = count.end.cause,
                                 .text = place_of(count.end),
                                 .place = count.end.place});
            }
        }
        std::ranges::stable_sort(drops, std::greater(), &predict::FlowDrop::packets);
        return drops;
    }

    std::string place_of(const fate::End& end) const {
        const bool elsewhere = !options_.common.netns.empty() && end.netns != options_.common.netns;
        return fmt::format("{}{}{}", end.text,
                           end.device.empty() ? "" : fmt::format(", device {}", end.device),
                           elsewhere ? fmt::format(" of network namespace {}", end.netns) : "");
    }

    // The second tap sees the flow as NAT has made it, from when its entry is known.
    Status drain(monitor::FlowTap& tap) {
        tap.drain([this](const monitor::FlowPacket& packet) { story_->take(packet); });
        const auto& entry = story_->entry();
        if (!translated_ && entry && turned(entry->reply) != entry->original) {
            const bool asked_before =
                tuple_ == entry->original || tuple_ == turned(entry->original);
            const Tuple other = asked_before ? turned(entry->reply) : entry->original;
            translated_.emplace(TRY(monitor::FlowTap::start(options_.common.netns, other)));
            follow(other);
            is_turned_ = tuple_ == turned(entry->original) || tuple_ == entry->reply;
        }
        if (entry && entry->original.protocol == IPPROTO_UDP) {
            for (const Tuple& answers : {turned(entry->original), entry->reply}) {
                TRY(listen_for_strays(answers));
            }
        }
        for (auto& [answers, strays] : strays_) {
            strays.tap.drain(strays.by_port);
        }
        if (translated_) {
            translated_->drain([this](monitor::FlowPacket packet) {
                packet.translated = true;
                packet.back = packet.back != is_turned_;
                story_->take(packet);
            });
        }
        return {};
    }

    Status listen_for_strays(const Tuple& answers) {
        if (!strays_.contains(answers)) {
            auto tap = TRY(monitor::StrayTap::start(options_.common.netns, answers));
            strays_.emplace(answers, Strays{.tap = std::move(tap)});
        }
        return {};
    }

    // Takes a look at the flow. Its entry is found by the tuple as a packet of either direction has
    // it, before and after translation.
    Status look() {
        monitor::FlowLook look{.time_ns = realtime_ns()};
        look.entry = TRY(lookup_->find(tuple_, options_.zone));
        if (!look.entry) {
            look.entry = TRY(lookup_->find(turned(tuple_), options_.zone));
        }
        const auto stats = TRY(cpu_stats(options_.common.netns));
        look.counters = summed(stats);
        look.table = TRY(table_size(options_.common.netns));
        story_->take(look);
        // The sockets are looked up now: the one that asks may be gone before the end.
        if (has_ports(tuple_.protocol) && story_->packets().forth_in == 0) {
            const auto here = TRY(sockets());
            const auto owner = predict::owner_of(here, tuple_.source);
            user_ = owner ? owner : user_;
            Tuple from_any_port = turned(tuple_);
            from_any_port.source.port = 0;
            takes_any_port_ |= predict::takes(here, from_any_port, tuple_.source);
        }
        return {};
    }

    Result<std::vector<predict::LocalSocket>> sockets() const {
        const bool is_v4 = tuple_.source.address.family == frame::Family::kIpv4;
        const std::string name = tuple_.protocol == IPPROTO_TCP ? "tcp" : "udp";
        return process::in_netns(
            options_.common.netns, [&]() -> Result<std::vector<predict::LocalSocket>> {
                std::string text = read_file("/proc/thread-self/net/" + name + "6").value_or("");
                if (is_v4) {
                    text += read_file("/proc/thread-self/net/" + name).value_or("");
                }
                return predict::parse_sockets(text);
            });
    }

    // Tells whether the flow's end is a cause by itself.
    static bool is_cause(monitor::FlowAnswer answer) {
        using monitor::FlowAnswer;
        return answer == FlowAnswer::kEvicted || answer == FlowAnswer::kDeleted ||
               answer == FlowAnswer::kReset || answer == FlowAnswer::kInvalid ||
               answer == FlowAnswer::kTableFull || answer == FlowAnswer::kNotInserted;
    }

    Result<predict::FlowSeen> look_around(const monitor::FlowConclusion& conclusion) {
        const std::string& netns = options_.common.netns;
        facts_ = TRY(hazards::read_facts(netns, hazards::ConntrackTable::kNotRead));
        router_ = TRY(predict::kernel_router(netns));
        simulator_.emplace(facts_, *router_);
        const monitor::FlowPackets packets = story_->packets();
        predict::FlowSeen seen{.tuple = tuple_,
                               .forth_in = packets.forth_in,
                               .forth_out = packets.forth_out,
                               .back_in = packets.back_in,
                               .back_out = packets.back_out,
                               .entry = TRY(entry_asked_for())};
        seen.other_cause = is_cause(conclusion.answer) ? conclusion.text : "";
        Tuple original = seen.entry ? seen.entry->original : tuple_;
        const bool from_far =
            seen.entry && original != tuple_ && turned(seen.entry->reply) != tuple_;
        if (from_far) {
            // Asked by a packet of the answers.
            std::swap(seen.forth_in, seen.back_in);
            std::swap(seen.forth_out, seen.back_out);
        }
        seen.tuple = original;
        predict::StaleFinder finder(*simulator_, *router_);
        const std::string in = device_of(finder, original);
        seen.sent_here = in.empty();
        // A tap that followed its entry's translation came after its first packets: conntrack saw them.
        std::uint64_t& asked = seen.sent_here ? seen.forth_out : seen.forth_in;
        std::uint64_t& answered = seen.sent_here ? seen.back_in : seen.back_out;
        if (story_->began() && !from_far) {
            asked = std::max<std::uint64_t>(asked, 1);
            const bool replied = seen.entry && seen_reply(*seen.entry);
            answered = std::max<std::uint64_t>(answered, replied ? 1 : 0);
        }
        const predict::Question question{
            .tuple = original, .in = in, .user = seen.sent_here ? user_ : std::nullopt};
        seen.outcomes = simulator_->simulate(question);
        if (seen.entry) {
            seen.stale = finder.check(*seen.entry, user_);
        }
        const auto fit = predict::fitting(seen.outcomes, seen.entry);
        TRY(look_at_end(fit.front(), question, seen));
        seen.longest_silence = from_far ? 0 : story_->longest_silence();
        TRY(look_at_strays(finder, seen));
        return seen;
    }

    // Answers from another port: how many, and whether they come to who asked.
    Status look_at_strays(predict::StaleFinder& finder, predict::FlowSeen& seen) {
        const Tuple to_asker = turned(seen.tuple);
        for (const auto& [answers, strays] : strays_) {
            for (const auto& [port, count] : strays.by_port) {
                seen.stray_answers = std::max(seen.stray_answers, std::max(count.in, count.out));
                seen.stray_port = port;
                seen.strays_pass |= answers == to_asker && count.out != 0;
            }
        }
        if (!seen.sent_here || seen.stray_answers == 0) {
            return {};
        }
        // A socket that is not connected takes them from any port, where the rules let them in.
        Tuple stray = to_asker;
        stray.source.port = seen.stray_port;
        const auto entry = TRY(lookup_->find(stray, options_.zone));
        const auto outcomes = simulator_->simulate(
            {.tuple = stray, .in = finder.device_towards(stray.source.address).value_or("")});
        const bool let_in = std::ranges::all_of(outcomes, [](const predict::Outcome& outcome) {
            return outcome.end == predict::End::kDelivered;
        });
        const bool is_expected = entry && (entry->status & predict::kExpected) != 0;
        seen.strays_pass = takes_any_port_ && (let_in || is_expected);
        return {};
    }

    // An answer in another zone has an entry of its own, which the flow's ends lead to as well: the one
    // that a packet as asked for has made comes first.
    Result<std::optional<Entry>> entry_asked_for() const {
        Filter filter{.family = tuple_.source.address.family, .protocol = tuple_.protocol};
        const auto whole = static_cast<std::uint8_t>(tuple_.source.address.size() * 8);
        filter.original.source = AddressRange{tuple_.source.address, whole};
        filter.original.destination = AddressRange{tuple_.destination.address, whole};
        if (tuple_.icmp) {
            filter.original.icmp_id = tuple_.icmp->id;
        } else {
            filter.original.source_port = tuple_.source.port;
            filter.original.destination_port = tuple_.destination.port;
        }
        if (options_.zone != 0) {
            filter.zone = options_.zone;
        }
        const auto found = TRY(dump_all(options_.common.netns, filter));
        return found.empty() ? story_->entry() : std::optional(found.front());
    }

    // The device by which the flow came, as it was seen, or as the routes lead back to its source.
    std::string device_of(predict::StaleFinder& finder, const Tuple& original) const {
        if (simulator_->is_local(original.source.address)) {
            return "";
        }
        const std::uint32_t index = story_->first_device();
        std::string name;
        if (index != 0 && original == tuple_) {
            (void)process::in_netns(options_.common.netns, [&]() -> Status {
                char buffer[IF_NAMESIZE] = {};
                name = if_indextoname(index, buffer) != nullptr ? buffer : "";
                return {};
            });
        }
        return name.empty() ? finder.device_towards(original.source.address).value_or("") : name;
    }

    // The neighbour or the socket at the end of the way, and the way without the rule that chose it.
    Status look_at_end(const predict::Outcome& outcome, const predict::Question& question,
                       predict::FlowSeen& seen) {
        const std::string& netns = options_.common.netns;
        if (outcome.end == predict::End::kDelivered && has_ports(tuple_.protocol)) {
            seen.socket_open = predict::takes(TRY(sockets()), seen.tuple, outcome.destination);
        }
        if (outcome.end != predict::End::kForwarded) {
            return {};
        }
        const frame::IpAddress hop = outcome.gateway.value_or(outcome.destination.address);
        const auto text = process::run_checked(
            {"ip", "-j", "neigh", "show", "to", frame::to_string(hop), "dev", outcome.out},
            {.netns = netns});
        if (text) {
            seen.neighbour = TRY(predict::parse_neighbour(*text, hop, outcome.out));
            const auto entry =
                std::ranges::find_if(facts_.neighbours, [&](const hazards::NeighbourEntry& each) {
                    return each.address == hop && each.device == outcome.out;
                });
            if (entry != facts_.neighbours.end() && hazards::is_gone(facts_, *entry)) {
                seen.neighbour->gone_mac = entry->mac;
            }
        }
        if (outcome.destination_rule != nullptr && seen.neighbour &&
            (seen.neighbour->state == "FAILED" || seen.neighbour->state == "INCOMPLETE")) {
            without_ = facts_;
            for (hazards::Chain& chain : without_.rules.chains) {
                std::erase_if(chain.rules, [&](const hazards::Rule& rule) {
                    return rule.text == outcome.destination_rule->text &&
                           rule.number == outcome.destination_rule->number &&
                           rule.origin == outcome.destination_rule->origin;
                });
            }
            seen.without_rule = without_simulator_.emplace(without_, *router_).simulate(question);
        }
        return {};
    }

    void put(const monitor::FlowConclusion& conclusion, const predict::FlowSeen& seen,
             const predict::Diagnosis& diagnosis) {
        if (options_.common.json) {
            json line{{"answer", monitor::name(conclusion.answer)},
                      {"text", conclusion.text},
                      {"began_then", conclusion.by_one_of},
                      {"health", predict::name(diagnosis.health)},
                      {"why", diagnosis.text},
                      {"rules", diagnosis.rules},
                      {"packets",
                       {{"forth_in", seen.forth_in},
                        {"forth_out", seen.forth_out},
                        {"back_in", seen.back_in},
                        {"back_out", seen.back_out}}}};
            line["cause"] = diagnosis.cause.empty() ? json() : json(diagnosis.cause);
            line["remedy"] = diagnosis.remedy.empty() ? json() : json(diagnosis.remedy);
            return put_json(output_, line);
        }
        const bool explains = diagnosis.cause != "conntrack" && !is_superseded(conclusion.answer);
        if (explains) {
            output_.put_line(conclusion.text);
        }
        output_.put_line(fmt::format("{}{}: {}", predict::name(diagnosis.health),
                                     diagnosis.cause.empty() ? "" : " (" + diagnosis.cause + ")",
                                     process::without_controls(diagnosis.text)));
        if (!diagnosis.remedy.empty()) {
            output_.put_line("  remedy  " + process::without_controls(diagnosis.remedy));
        }
        if (options_.rules || diagnosis.health != predict::Health::kHealthy) {
            for (const std::string& rule : diagnosis.rules) {
                output_.put_line("  rules   " + process::without_controls(rule));
            }
        }
        if (!not_followed_.empty() && diagnosis.health != predict::Health::kHealthy) {
            output_.put_line("not followed, packet by packet: " + not_followed_);
        }
        for (const auto& [what, why] : facts_.unread) {
            output_.put_line(fmt::format("not read: {}: {}", what, process::without_controls(why)));
        }
    }

    // Guesses from counters where the diagnosis has looked at the rules themselves.
    static bool is_superseded(monitor::FlowAnswer answer) {
        using monitor::FlowAnswer;
        return answer == FlowAnswer::kDroppedByRule || answer == FlowAnswer::kUntracked ||
               answer == FlowAnswer::kNothingSeen;
    }

    void show(const monitor::FlowStep& step) {
        if (options_.common.json) {
            json line{{"time_ns", step.time_ns}, {"step", step.text}};
            line["entry"] = step.entry ? json(*step.entry) : json();
            put_json(output_, line);
            return;
        }
        output_.line() += time_text(step.time_ns) + " " + step.text;
        if (step.entry) {
            output_.line() += ": ";
            append_text(output_.line(), *step.entry);
        }
        output_.end_line();
    }

    const WhyOptions& options_;
    const Tuple tuple_;
    Output output_;
    std::optional<Lookup> lookup_;
    std::unique_ptr<drops::DropTracer> tracer_;
    std::vector<std::unique_ptr<fate::Follower>> followers_;
    std::string not_followed_;
    std::optional<monitor::FlowStory> story_;
    std::optional<monitor::FlowTap> translated_;
    struct Strays {
        monitor::StrayTap tap;
        std::map<std::uint16_t, monitor::Strays> by_port = {};
    };
    std::map<Tuple, Strays> strays_;  // by the tuple of the answers
    bool is_turned_ = false;          // the flow was asked for by a packet of its answers
    std::optional<std::uint32_t> user_;
    bool takes_any_port_ = false;  // the asker's socket, as it was seen
    hazards::Facts facts_, without_;
    std::unique_ptr<predict::Router> router_;
    std::optional<predict::Simulator> simulator_, without_simulator_;
};

Result<int> run_why(const WhyOptions& options) {
    const auto asked = TRY(parse_asked_flow(options.words));
    process::stop_on_signals();
    const auto deadline = Limits{.duration_s = options.duration_s, .count = {}}.deadline();
    Tuple tuple = asked.tuple;
    if (asked.any_source || asked.any_port) {
        fmt::print(stderr, "pathproof: waiting for the next flow to {}\n",
                   frame::to_string(asked.tuple.destination));
        const auto found = TRY(
            monitor::next_flow(options.common.netns, asked.tuple, asked.any_source, asked.any_port,
                               [&] { return process::stopping() || Clock::now() >= deadline; }));
        if (!found) {
            return fail(ErrorCode::kUnavailable, "no packet of such a flow was seen: {}",
                        fmt::join(options.words, " "));
        }
        tuple = *found;
    }
    TRY(process::require_netns(options.common.netns));
    return or_gone(Why(options, tuple).run(), options.common.netns);
}

}  // namespace

void add_why(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "why", "How the entry of one flow came and went, or why there is none");
    const auto options = options_for<WhyOptions>(*app, chosen, run_why);
    add_common(*app, options->common);
    app->add_option("flow", options->words,
                    "as one of its packets has it: 'udp 10.0.0.5:40000 10.96.0.10:53', "
                    "'icmp 10.0.0.5 10.0.0.9 id=7'; '*' for the source or its port: the next flow "
                    "to that destination")
        ->required();
    app->add_option("--zone", options->zone, "conntrack zone of the flow (default: none)")
        ->check(CLI::Range(0, 65'535));
    app->add_option("--duration", options->duration_s,
                    "end after so many seconds, although the entry is there, or none came")
        ->check(kAboveZero);
    app->add_flag("--rules", options->rules,
                  "print the rules that the flow meets, chain by chain, also where it is healthy");
    app->footer(
        "Changes nothing: it listens, asks for one entry, and reads counters, rules, routes, "
        "neighbours and sockets.\n"
        "Exit status: 0 the flow is healthy, 1 a cause was found, 2 wrong usage, 3 not decided.");
}

}  // namespace pathproof::cli::inspect
