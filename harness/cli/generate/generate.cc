// pathproof generate: traffic at an exact rate, each frame followed to its answer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "dataplane/base/new_file.h"
#include "dataplane/load/first_frames.h"
#include "dataplane/port/rate_limit.h"
#include "harness/cli/commands.h"
#include "harness/cli/followed_text.h"
#include "harness/cli/generate/amounts.h"
#include "harness/cli/generate/evidence.h"
#include "harness/cli/generate/followed_replay.h"
#include "harness/cli/generate/lanes.h"
#include "harness/cli/generate/link.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/generate/replay_options.h"
#include "harness/cli/generate/result.h"
#include "harness/cli/generate/study.h"
#include "harness/cli/generate/sum_names.h"
#include "harness/cli/generate/traffic_options.h"
#include "harness/cli/generate/watcher.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"
#include "harness/process/typed_command.h"

namespace pathproof::cli {
namespace {

// Options as typed; empty texts were not given.
struct GenerateOptions {
    LaneOptions lanes;
    AmountOptions amounts;
    TrafficOptions traffic;
    ReplayOptions replay;
    std::int64_t pair_skew_ns = 0;
    bool hw_rate_limit = false;
    std::optional<std::uint32_t> around;
    std::string evidence;
    std::string metrics;
    bool no_study = false;
    bool json = false;

    bool replays() const { return !replay.file.empty(); }
    // A capture is held against what comes back of it.
    bool follows() const { return replays() && traffic.expect == "frames"; }
};

constexpr std::uint32_t kFramesAround = 8;
// Client addresses that flows spread over when nobody says how many flows there are.
constexpr std::uint64_t kMostAddresses = 100'000;
constexpr std::uint64_t kMostFlows = 20'000'000;
constexpr std::uint64_t kFlowsOfUnknown = 1'000'000;
// Until the file ends: a recording that several senders share has no common count.
constexpr double kUntilItEnds = 1e9;
// Seconds for which what is behind the last frame of a capture is waited for.
constexpr double kFollowedDrain = 1;

std::uint64_t default_flows(const GenerateOptions& options, const Rate& rate) {
    const std::uint64_t units = units_expected(options.amounts, rate);
    const std::uint64_t most = std::min(kMostFlows, kMostAddresses * options.traffic.source_ports);
    return std::max<std::uint64_t>(std::min(units == 0 ? kFlowsOfUnknown : units, most),
                                   options.lanes.queue_count());
}

Result<Traffic> planned_traffic(const GenerateOptions& options, const Rate& rate) {
    auto traffic = options.replays() ? Result<Traffic>(Traffic{})
                                     : traffic_of(options.traffic, default_flows(options, rate));
    if (traffic) {
        const bool keeps = !options.evidence.empty();
        traffic->intake.frames_around = keeps ? options.around.value_or(kFramesAround) : 0;
    }
    return traffic;
}

// Makes the plan, with the ports' neighbours, of which the next hop is asked for. A capture's
// frames go where they went before, and nobody answers for them.
Result<load::LoadPlan> load_plan(const GenerateOptions& options, const Traffic& traffic,
                                 Lanes& lanes, const std::atomic<bool>& stop) {
    load::LoadPlan plan{.source = traffic.source, .intake = traffic.intake};
    plan.pair_skew = load::Nanoseconds(options.pair_skew_ns);
    if (!options.replays()) {
        take_stations(options.traffic, lanes, plan);
        const auto mac = TRY(find_next_hop(options.traffic, plan, stop));
        set_next_hop(mac, plan.source);
    }
    return plan;
}

// Options that a replay would pass over, and frames that it cannot follow.
Status check_replay(const GenerateOptions& options) {
    if (options.traffic.expect == "answers") {
        return fail(ErrorCode::kBadInput,
                    "--expect answers excludes --replay: a capture's frames are no queries of this "
                    "run; 'frames' holds all that comes back against the file");
    }
    if (!options.traffic.allow.empty() && !options.follows()) {
        return fail(
            ErrorCode::kBadInput,
            "--allow {} with --replay needs --expect frames: without it nothing is compared",
            options.traffic.allow);
    }
    if (options.follows() && options.lanes.queue_count() > 1) {
        return fail(ErrorCode::kBadInput,
                    "--replay --expect frames sends from one queue, so that the order of frames is "
                    "known, not from {}: give --queues 1",
                    options.lanes.queue_count());
    }
    if (options.follows() && options.replay.loops == 0 && options.amounts.count == 0) {
        return fail(ErrorCode::kBadInput,
                    "--loop 0 with --expect frames needs a --count: frames are kept until they are "
                    "judged");
    }
    return {};
}

// Puts the capture file in the place of made frames and its length in the place of a count.
Status take_recording(GenerateOptions& options, const port::Port& port, load::LoadPlan& plan,
                      std::unique_ptr<FollowedReplay>& followed) {
    const auto recording = TRY(read_recording(options.replay, port));
    if (options.follows()) {
        const std::uint64_t frames = options.amounts.count > 0
                                         ? options.amounts.count
                                         : recording->frames() * options.replay.loops;
        followed = TRY(FollowedReplay::make(
            recording, options.replay.file, frames,
            !options.lanes.receive.empty() && options.lanes.receive != options.lanes.port));
        plan.intake_instead = followed.get();
    }
    if (!recording->cut().empty()) {
        fmt::print(stderr, "pathproof: --replay {}: {}\n", options.replay.file, recording->cut());
    }
    plan.make_source = replay_sources(recording, options.replay,
                                      followed == nullptr ? nullptr : &followed->departures());
    if (options.replay.loops == 0 && options.amounts.seconds <= 0 && options.amounts.count == 0) {
        return fail(ErrorCode::kBadInput,
                    "--loop 0 sends the file for ever: give a --duration or a --count");
    }
    if (options.replay.loops == 0 || options.amounts.count > 0) {
        return {};
    }
    if (options.lanes.queue_count() == 1) {
        options.amounts.count = recording->frames() * options.replay.loops;
    } else if (options.amounts.seconds <= 0) {
        options.amounts.seconds = kUntilItEnds;
    }
    return {};
}

Status limit_in_hardware(const load::TrialOrder& order, double frame_bytes, Lanes& lanes,
                         std::uint16_t queues) {
    if (order.frames_per_second <= 0) {
        return fail(ErrorCode::kBadInput, "--hw-rate-limit needs a --rate below max");
    }
    const double mbps = order.frames_per_second * bits_on_wire(frame_bytes) / 1e6 / queues;
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        TRY(doing(
            port::limit_rate(lanes.sending(), queue, static_cast<std::uint32_t>(std::ceil(mbps))),
            "--hw-rate-limit"));
    }
    return {};
}

// The words of a capture for the things that a path may do to made frames; nothing: some have no such word.
std::optional<follow::Transformations> load_words(const load::Allowance& allowed) {
    using load::Allowance;
    constexpr unsigned kNone = Allowance::kDscp | Allowance::kEcn | Allowance::kFlowLabel |
                               Allowance::kId | Allowance::kDf;
    if (allowed.has(kNone)) {
        return std::nullopt;
    }
    follow::Transformations words;
    words.set(bit(follow::Transformation::kRouter), allowed.has(Allowance::kMac | Allowance::kTtl));
    words.set(bit(follow::Transformation::kVlan), allowed.has(Allowance::kVlan));
    words.set(bit(follow::Transformation::kNat),
              allowed.has(Allowance::kSource | Allowance::kDestination | Allowance::kSourcePort |
                          Allowance::kDestinationPort));
    return words;
}

void print(const GenerateResult& result, bool json) {
    fmt::print("{}", json ? process::to_text(result_json(result)) + "\n" : result_text(result));
}

class Generation {
  public:
    explicit Generation(const GenerateOptions& options) : options_(options) {}

    // All that can be found wrong is found in here, before anything is sent.
    Status prepare(const std::atomic<bool>& stop) {
        const std::string rate = options_.amounts.rate_text();
        rate_ = TRY(doing(parse_rate(rate), "--rate {}", rate));
        if (options_.replay.own_timing) {
            rate_ = {Rate::Kind::kMost, 0};  // the file's times hold it back
        }
        if (options_.pair_skew_ns > 0 && !options_.traffic.pairs) {
            return fail(ErrorCode::kBadInput, "--pair-skew {} needs --pairs",
                        options_.pair_skew_ns);
        }
        TRY(check_lanes(options_.lanes));
        if (options_.replays()) {
            TRY(check_replay(options_));
        }
        if (options_.follows()) {
            const std::string& words = options_.traffic.allow;
            allowed_ = words.empty() ? follow::Transformations()
                                     : TRY(allowed_of(CLI::detail::split(words, ',')));
            options_.amounts.drain_s = options_.amounts.drain_s.value_or(kFollowedDrain);
        }
        traffic_ = TRY(planned_traffic(options_, rate_));
        if (!options_.evidence.empty()) {
            TRY(doing(make_folders(options_.evidence, ErrorCode::kBadInput), "--evidence {}",
                      options_.evidence));
        }
        TRY(start_metrics());
        TRY(open_lanes());
        TRY(start_run(stop));
        return give_order();
    }

    Result<int> carry_out(const std::atomic<bool>& stop) {
        std::optional<ProgressWatcher> watcher;
        watcher.emplace(*run_, options_.json ? ProgressForm::kJson : ProgressForm::kText);
        auto ran = run_->run(order_, stop);
        watcher.reset();
        auto report = TRY(std::move(ran));
        GenerateResult result{.report = std::move(report),
                              .sending = lanes_->sending().info(),
                              .receiving = lanes_->receiving().info(),
                              .tracked = !options_.replays(),
                              .expects = traffic_.intake.expects,
                              .timeout_s = options_.traffic.timeout_s,
                              .allowed = traffic_.intake.allowed,
                              .wrong_frames = run_->take_wrong_frames(),
                              .damaged_frames = run_->take_damaged_frames(),
                              .bad_frames = run_->take_bad_frames(),
                              .sums = {},
                              .wrong_on_purpose = traffic_.wrong_on_purpose,
                              .repeat = process::typed_command()};
        if (followed_ != nullptr) {
            TRY(follow(result));
        }
        result.sums = name_sums(result, {});
        if (std::ranges::any_of(
                result.sums, [](const SumName& sum) { return sum.name.starts_with("OFFSET"); })) {
            result.sums = name_sums(result, addresses_nearby());
        }
        if (!result.judged) {
            TRY(keep_evidence(result));
        }
        if (const Status studied = study(result, stop); !studied) {
            fmt::print(stderr, "pathproof: which frames come wrong was not studied: {}\n",
                       studied.error().message);
        }
        print(result, options_.json);
        if (result.judged) {
            TRY(keep_evidence(result));
        }
        return result.exit_code();
    }

    ~Generation() {
        if (metrics_) {
            metrics_->show(nullptr);
        }
    }
    Generation(const Generation&) = delete;
    Generation& operator=(const Generation&) = delete;

  private:
    Status start_metrics() {
        if (options_.metrics.empty()) {
            return {};
        }
        metrics_ = TRY(LiveMetrics::start(options_.metrics));
        fmt::print(stderr, "pathproof: metrics at {}\n", metrics_->where());
        return {};
    }

    Status open_lanes() {
        auto opened = TRY(Lanes::open(options_.lanes, traffic_.port_offloads));
        lanes_.emplace(std::move(opened));
        return {};
    }

    Status start_run(const std::atomic<bool>& stop) {
        load::LoadPlan plan = TRY(load_plan(options_, traffic_, *lanes_, stop));
        plan_source_ = plan.source;
        stations_ = plan.stations;
        if (options_.replays()) {
            TRY(take_recording(options_, lanes_->sending(), plan, followed_));
        }
        load::Roles roles = roles_of(options_.lanes, lanes_->sending(), lanes_->receiving());
        if (followed_ != nullptr) {
            // The device's own answers, ICMP errors above all, come to the sending port.
            std::ranges::move(roles.listeners, std::back_inserter(roles.receivers));
            roles.listeners.clear();
        }
        auto run = load::LoadRun::start(lanes_->ports.set.eal, roles, plan);
        if (!options_.traffic.size.empty()) {
            run = doing(std::move(run), "--size {}", options_.traffic.size);
        }
        run_ = TRY(std::move(run));
        if (metrics_) {
            metrics_->show(run_.get());
        }
        return {};
    }

    Status give_order() {
        const port::PortInfo& sending = lanes_->sending().info();
        const double bytes = run_->mean_frame_bytes();
        auto order =
            TRY(order_of(options_.amounts, rate_,
                         {.frames = options_.traffic.frames_in_unit(),
                          .mean_frame_bytes = bytes,
                          .link_mbps = sending.link_mbps,
                          .port = sending.name,
                          .timeout_s = options_.replays() ? 0 : options_.traffic.timeout_s}));
        load::TrialOrder open_loop = order;
        open_loop.outstanding = 0;
        TRY(doing(run_->check(open_loop), "--rate {}", options_.amounts.rate_text()));
        order_ = order;
        TRY(doing(run_->check(order_), "--outstanding {}", options_.amounts.outstanding));
        return options_.hw_rate_limit
                   ? limit_in_hardware(order_, bytes, *lanes_, options_.lanes.queue_count())
                   : Status();
    }

    Status follow(GenerateResult& result) const {
        result.judged = TRY(followed_->judge(allowed_, result.report, run_->unix_start_ns(),
                                             result.sending.name, result.receiving.name));
        // Frames are compared, not times: a tester that lacked CPU time and lost none of its own frames
        // knows what became of them.
        std::vector<std::string>& objections = result.report.objections;
        if (result.report.own_drops.empty() && result.only_disturbed()) {
            for (const std::string& one : objections) {
                result.judged->conclusion.notes.push_back(
                    one + ": times are not to be relied on, and no frame was lost by the tester");
            }
            objections.clear();
        }
        if (const std::uint64_t lost = followed_->not_kept()) {
            objections.push_back(fmt::format(
                "{} more frames came than there was room for: they were not judged", lost));
        }
        return {};
    }

    // Finds out by frames of its own which frames come wrong, and where the border lies. Nothing where
    // all is right, or frames would go by several queues.
    Status study(GenerateResult& result, const std::atomic<bool>& stop) {
        const bool frames =
            followed_ != nullptr || traffic_.intake.expects == load::IntakePlan::Expects::kFrames;
        if (options_.no_study || !frames || result.report.partial || result.all_right() ||
            options_.lanes.queue_count() > 1) {
            return {};
        }
        if (metrics_) {
            metrics_->show(nullptr);
        }
        run_.reset();  // its lcores are needed
        if (followed_ != nullptr) {
            follow::Followed& followed = result.judged->followed;
            Courier courier(*lanes_, options_.lanes,
                            courier_plan(result, allowed_, followed.outcome.longest_delay_ns),
                            stop);
            const auto sent = followed_->sent_frames();
            return study_findings(courier, sent, result.judged->fates, followed.outcome.findings);
        }
        return study_made(result, stop);
    }

    // Sends the first of the made frames once more, and follows each.
    Status study_made(GenerateResult& result, const std::atomic<bool>& stop) {
        constexpr std::uint64_t kMost = 1000;
        const auto allowed = load_words(traffic_.intake.allowed);
        if (!allowed || traffic_.wrong_on_purpose || traffic_.port_offloads != 0 ||
            options_.traffic.pairs) {
            return {};
        }
        const auto frames = TRY(load::first_frames(
            plan_source_, static_cast<std::size_t>(std::min(kMost, result.report.sent))));
        const std::int64_t slowest = load::all_classes(result.report.intake).latency.max_ns();
        Courier courier(*lanes_, options_.lanes, courier_plan(result, *allowed, slowest), stop);
        ReplayJudgement judged = TRY(courier.send(frames, "frames of this run, sent again"));
        const std::vector<frame::Bytes> sent(frames.begin(), frames.end());
        TRY(study_findings(courier, sent, judged.fates, judged.followed.outcome.findings));
        result.studied = std::move(judged);
        return {};
    }

    Courier::Plan courier_plan(const GenerateResult& result, follow::Transformations allowed,
                               std::int64_t slowest_ns) const {
        constexpr std::int64_t kLeastDrain = 200'000'000, kMostDrain = 1'000'000'000;
        return {.allowed = allowed,
                .stations = stations_,
                .frames_per_second = std::clamp(result.report.achieved_pps, 100.0, 1000.0),
                .drain = load::Nanoseconds(
                    std::clamp(2 * slowest_ns + kLeastDrain, kLeastDrain, kMostDrain))};
    }

    Status keep_evidence(const GenerateResult& result) {
        if (options_.evidence.empty()) {
            return {};
        }
        if (result.judged) {
            return doing(
                write_followed_evidence(result.judged->followed, options_.evidence, result.repeat),
                "--evidence {}", options_.evidence);
        }
        const auto files = TRY(write_evidence(options_.evidence, result, *run_, *lanes_));
        for (const std::string& file : files) {
            fmt::print(stderr, "pathproof: evidence in {}\n", file);
        }
        return {};
    }

    GenerateOptions options_;
    Rate rate_;
    Traffic traffic_;
    load::SourcePlan plan_source_;
    std::vector<neighbour::Place> stations_;
    std::unique_ptr<LiveMetrics> metrics_;
    std::optional<Lanes> lanes_;
    follow::Transformations allowed_;           // of a capture that is followed
    std::unique_ptr<FollowedReplay> followed_;  // null: it is not
    std::unique_ptr<load::LoadRun> run_;        // ends its lcores before the ports close
    load::TrialOrder order_;
};

Result<int> run(const GenerateOptions& options) {
    const std::atomic<bool>& stop = process::stop_on_signals();
    Generation generation(options);
    TRY(generation.prepare(stop));
    return generation.carry_out(stop);
}

void add_output(CLI::App& command, GenerateOptions& options) {
    command
        .add_option("--pair-skew", options.pair_skew_ns,
                    "nanoseconds from an A query to its AAAA query (0: in one burst); with --pairs")
        ->check(whole(0, INT64_MAX));
    command.add_flag("--hw-rate-limit", options.hw_rate_limit,
                     "let the NIC space the frames out, too, if it can");
    CLI::Option* evidence = command.add_option(
        "--evidence", options.evidence,
        "folder for pcapng files of frames that are wrong or damaged (as sent and as received) "
        "and of anomalies");
    command.add_option("--around", options.around, "frames kept before and after each anomaly (8)")
        ->check(CLI::Range(0, 1024))
        ->needs(evidence);
    command.add_option("--metrics", options.metrics,
                       "serve OpenMetrics while it runs: ADDRESS:PORT");
    command.add_flag(
        "--no-study", options.no_study,
        "with --expect frames: send no frames of its own behind a run in which some came "
        "wrong, to find out which");
    command.add_flag("--json", options.json,
                     "print a JSON object each second and the result as another");
}

}  // namespace

void add_generate(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "generate", "Send numbered traffic at an exact rate and follow each frame to its answer");
    const auto options = options_for<GenerateOptions>(*command, chosen, run);
    add_lane_options(*command, options->lanes);
    add_amount_options(*command, options->amounts);
    add_traffic_options(*command, options->traffic);
    add_output(*command, *options);
    add_replay_options(*command, options->replay);
}

}  // namespace pathproof::cli
