// The load that the NAT box lab carries: searched for, and held against the links' rate.
#include <netinet/in.h>

#include <array>
#include <map>

#include "dataplane/measure/pair_trial.h"
#include "dataplane/pairs/query_frames.h"
#include "harness/scenario/race/nat_bench.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

// Trials of the search for the highest load are shorter than RFC 2544's: the table has room for no more flows,
// and the cell at the load that was found lasts longer.
constexpr auto kTrialOfSearch = 500ms;
constexpr double kLeastOfSearch = 200;  // pairs a second
constexpr double kFirstOfSearch = 4000;
constexpr auto kInTime = 50ms;  // a later answer waited in a queue
constexpr double kOfferedTolerance = 0.01;
// Trials of find_load(). Pairs beyond what the DUT carries wait in queues at first: late answers tell before
// anything is lost.
constexpr double kSecondsOfTrial = 0.3;
constexpr std::uint64_t kFewestOfTrial = 60;
constexpr std::int64_t kQueueingNs = 30'000'000;
constexpr double kLeastLoad = 20;
constexpr std::uint16_t kTypeAaaa = 28;

}  // namespace

// Makes a search's trials on the bench.
class PairMeasurer final : public search::Measurer {
  public:
    PairMeasurer(NatBench& bench, const pairs::PairPlan& plan, std::uint64_t most)
        : bench_(bench), plan_(plan), most_(most) {}
    Result<search::TrialOutput> measure(const search::TrialInput& input) override {
        return bench_.try_load(plan_, input, most_);
    }

  private:
    NatBench& bench_;
    const pairs::PairPlan& plan_;
    const std::uint64_t most_;
};

// Pairs in VXLAN take most of the DUT. Empty: the load was carried whole, and in time.
Result<std::string> NatBench::trouble_at(double load) {
    constexpr std::uint16_t kOuter = 5000;
    pairs::PairPlan plan = carried_plan(0, kOuter, kOuter);
    plan.pairs = std::max(kFewestOfTrial, static_cast<std::uint64_t>(load * kSecondsOfTrial));
    plan.pairs_per_second = load;
    plan.drain = 300ms;
    plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    const auto report = TRY(tester_->run_pairs(plan, answering(0ms)));
    MapPoint point{.offered = load};
    take(report, point);
    std::string trouble = point.not_carried();
    if (trouble.empty() && report.latency.p50_ns > kQueueingNs) {
        trouble = fmt::format("answers took {} ms (median)", report.latency.p50_ns / 1'000'000);
    }
    return trouble;
}

Status NatBench::find_load() {
    if (lab_->is_of_this_machine()) {
        return {};  // it carries what the tester beside it can send
    }
    double carried = 0;
    std::string first;
    for (double load = load_; load >= kLeastLoad && carried == 0; load /= 4) {
        auto trouble = TRY(trouble_at(load));
        if (!trouble.empty()) {
            trouble = TRY(trouble_at(load));  // not for a moment's pause
        }
        carried = trouble.empty() ? load : 0;
        first = first.empty() && !trouble.empty()
                    ? fmt::format("at {:.0f} pairs/s {}", load, trouble)
                    : first;
    }
    std::string why = ", as planned";
    if (carried == 0) {
        why += fmt::format(", as less is not carried either: {}", first);
    } else if (carried < load_) {
        // Half of what is carried for a moment, for what else the CPUs may do.
        load_ = carried / 2;
        why = ": " + first;
    }
    context_.measured.know(
        {.title = "Offered load of the NAT box lab",
         .facts = {{"at most", fmt::format("{:.0f} pairs/s{}", load_, why),
                    verdict::Fact::Status::kRead, "pairs in VXLAN, before the first cell"}}});
    return {};
}

Result<double> NatBench::line_rate(const pairs::PairPlan& plan) const {
    // An A record behind the question, and an AAAA one.
    constexpr double kRecordBytes[] = {16, 28};
    constexpr double kFcsPreambleAndGap = 4 + 8 + 12;  // IEEE 802.3, clause 4.4.2
    std::map<std::size_t, std::array<double, 2>>
        bits;  // of a pair by port, towards the DUT and from it
    for (const pairs::PairMember& member : plan.members) {
        pairs::PairMember plain = member;
        plain.carrier.reset();
        const auto bytes_of = [&](const pairs::PairMember& one) -> Result<double> {
            const auto frame = TRY(frame::FrameTemplate::make_dns(
                pairs::frame_spec(one, plan.service), "r00.pathproof.test", one.qtype));
            return static_cast<double>(frame.size()) + kFcsPreambleAndGap;
        };
        const double record = kRecordBytes[member.qtype == kTypeAaaa ? 1 : 0];
        const double query = TRY(bytes_of(member));
        const double behind = TRY(bytes_of(plain));
        bits[member.port][0] += 8 * query;
        bits[member.port][1] += 8 * (query + record);
        bits[kServerPort][0] += 8 * (behind + record);
        bits[kServerPort][1] += 8 * behind;
    }
    double least = 0;
    for (const auto& [number, both_ways] : bits) {
        const port::PortInfo& port = tester_->ports()[number];
        if (port.evidence != port::Evidence::kPhysical || port.link_mbps == 0) {
            return 0.0;
        }
        const double pairs =
            measure::pairs_at_share(1, port.link_mbps, std::max(both_ways[0], both_ways[1]));
        least = least == 0 ? pairs : std::min(least, pairs);
    }
    return least;
}

Result<std::uint64_t> NatBench::room(unsigned flows) {
    const auto table = TRY(dut_->conntrack_table());
    // conntrack throws entries out from 95 % on.
    constexpr double kShareOfTable = 0.7;
    return static_cast<std::uint64_t>(
        std::max(1.0, kShareOfTable * static_cast<double>(table.maximum) / flows));
}

Result<search::TrialOutput> NatBench::try_load(const pairs::PairPlan& asked,
                                               const search::TrialInput& input,
                                               std::uint64_t most) {
    pairs::PairPlan plan = asked;
    plan.pairs_per_second = input.load_pps;
    plan.pairs =
        std::clamp(static_cast<std::uint64_t>(input.load_pps * search::seconds(input.duration)),
                   std::min(kFewestOfTrial, most), most);
    plan.warm_up = false;
    plan.least_read = kReadAtLoad;
    plan.drain = 100ms;
    plan.answer_timeout = kInTime;
    plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    const auto began = std::chrono::steady_clock::now();
    TRY(dut_->conntrack_flush());
    const auto before = TRY(dut_->conntrack_stats());
    const auto counted = TRY(dut_->counters());
    TRY(dut_->start_events({.protocol = IPPROTO_UDP, .brief = true}));
    auto output = tester_->try_pairs(plan, answering(0ms), kOfferedTolerance);
    TRY(dut_->drop_events());
    const auto after = TRY(dut_->conntrack_stats());
    if (!output) {
        return output;
    }
    const std::uint64_t refused =
        netfilter::total(netfilter::delta(before, after), "insert_failed");
    output->lost -= std::min(output->lost, refused);
    const std::uint64_t late = lab_->is_of_this_machine()
                                   ? not_transmitted(agent::delta(counted, TRY(dut_->counters())))
                                   : 0;
    if (late != 0) {
        output->tester_limit += fmt::format("{}the tester's ports did not take {} frames in time",
                                            output->tester_limit.empty() ? "" : "; ", late);
    }
    output->input = input;
    output->input.frames = plan.pairs;
    output->trial_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return output;
}

Result<LoadSearch> NatBench::find_highest(const pairs::PairPlan& plan, double greatest,
                                          std::uint64_t most) {
    LoadSearch search;
    PairMeasurer measurer(*this, plan, most);
    search::Trials trials(measurer, {.time = std::chrono::seconds(40), .repeats = 1},
                          [&](const search::TrialOutput& trial) {
                              search.tester_limit = trial.tester_limit.empty() ? search.tester_limit
                                                                               : trial.tester_limit;
                              search.objection =
                                  trial.objection.empty() ? search.objection : trial.objection;
                          });
    // Searches upwards first: a trial leaves nothing out, so that one far beyond the tester's rate
    // would last for a minute.
    double top = std::min(kFirstOfSearch, greatest);
    for (bool carried = true; carried && top < greatest;) {
        const search::TrialOutput* trial =
            TRY(trials.run({.load_pps = top, .duration = kTrialOfSearch}));
        carried = trial != nullptr && trial->loss_ratio() == 0;
        top = carried ? std::min(2 * top, greatest) : top;
    }
    // A load that failed for a moment only and passes now is not the highest.
    for (bool higher = true; higher;) {
        search.result =
            TRY(search::find_throughput({.min_load_pps = std::min(kLeastOfSearch, top / 2),
                                         .max_load_pps = top,
                                         .trial_duration = kTrialOfSearch,
                                         .relative_width = 0.05,
                                         .attempts = 2},
                                        trials));
        higher = search.result.max_load_passes && top < greatest &&
                 trials.ending() == search::Ending::kNone;
        top = higher ? std::min(2 * top, greatest) : top;
    }
    search.trials = trials.log().size();
    search.seconds = search::seconds(trials.spent());
    return search;
}

}  // namespace pathproof::scenario
