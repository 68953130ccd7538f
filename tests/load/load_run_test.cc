#include "dataplane/load/load_run.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <thread>

#include "dataplane/load/frame_source.h"
#include "tests/load/loop_port.h"
#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"

using namespace pathproof;
using namespace pathproof::load;
using namespace std::chrono_literals;
using frame::TrafficClass;

namespace {

const std::atomic<bool> kNever = false;

frame::FrameSpec spec() {
    frame::FrameSpec spec;
    spec.packet.source = *frame::parse_endpoint("198.18.0.2:10000");
    spec.packet.destination = *frame::parse_endpoint("203.0.113.2:53");
    spec.packet.source_mac = *frame::parse_mac("02:70:70:00:00:01");
    spec.packet.destination_mac = *frame::parse_mac("02:70:70:00:00:02");
    return spec;
}

LoadPlan plan() {
    LoadPlan plan;
    plan.source.spec = spec();
    plan.intake.expects = IntakePlan::Expects::kFrames;
    return plan;
}

// All cases share these: a name can be had once in a process. They are not closed: the EAL is gone
// when static objects are.
port::Port& loop() {
    static auto* port = new port::Port(loop_port("loop", 2));
    return *port;
}
port::RingPort& ends() {
    static auto* port = new port::RingPort(port::RingPort::make("ends", 1024));
    return *port;
}

Roles one_worker(port::Port& port) {
    return {.senders = {{0, &port, 0}}, .receivers = {{0, &port, 0}}};
}
Roles two_workers(port::Port& port) {
    return {.senders = {{0, &port, 0}, {1, &port, 1}}, .receivers = {{0, &port, 0}, {1, &port, 1}}};
}

std::unique_ptr<LoadRun> start(const Roles& roles, const LoadPlan& plan) {
    auto run = LoadRun::start(port::eal(), roles, plan);
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    return std::move(*run);
}

TrialReport trial(LoadRun& run, const TrialOrder& order, const std::atomic<bool>& stop = kNever) {
    auto report = run.run(order, stop);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    return std::move(*report);
}

std::uint64_t sent(const TrialReport& report, TrafficClass traffic) {
    return report.sent_by_class[static_cast<std::size_t>(traffic)];
}
std::uint64_t unique(const TrialReport& report, TrafficClass traffic) {
    return report.intake.classes[static_cast<std::size_t>(traffic)].unique;
}

bool objects(const TrialReport& report, const std::string& words) {
    for (const std::string& objection : report.objections) {
        if (objection.find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

// Frames of one member of the pairs, and when each left.
Result<std::unique_ptr<Source>> noting(const SourcePlan& part,
                                       std::array<std::vector<std::int64_t>, 2>& departures) {
    struct Noting final : Source {
        Noting(FrameSource the_frames, std::vector<std::int64_t>& the_times)
            : frames(std::move(the_frames)), times(the_times) {}
        std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override {
            return frames.fill(burst, sent_ns);
        }
        void left(std::size_t count, std::uint64_t at_ns) noexcept override {
            times.insert(times.end(), count, static_cast<std::int64_t>(at_ns));
        }
        void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override {
            frames.restamp(burst, sent_ns);
        }
        std::optional<std::uint64_t> next_due_ns() const noexcept override { return std::nullopt; }
        const ClassCounts& made() const noexcept override { return frames.made(); }
        void take_back(std::span<rte_mbuf* const> burst) noexcept override {
            frames.take_back(burst);
        }
        std::uint16_t longest_frame() const noexcept override { return frames.longest_frame(); }
        double mean_frame_bytes() const noexcept override { return frames.mean_frame_bytes(); }
        std::uint64_t port_offloads() const noexcept override { return 0; }

        FrameSource frames;
        std::vector<std::int64_t>& times;
    };
    SourcePlan single = part;
    single.pairing = SourcePlan::Pairing::kSingle;
    auto frames = TRY(FrameSource::make(single));
    return std::unique_ptr<Source>(
        std::make_unique<Noting>(std::move(frames), departures[part.stream]));
}

void check_whole(const TrialReport& report, std::uint64_t frames) {
    BOOST_TEST(report.sent == frames);
    BOOST_TEST(std::accumulate(report.sent_by_class.begin(), report.sent_by_class.end(),
                               std::uint64_t{0}) == frames);
    BOOST_TEST(report.unique() == frames);
    BOOST_TEST(report.missing() == 0u);
    BOOST_TEST(report.intake.received.received == frames);
    BOOST_TEST(report.intake.received.balances());
    BOOST_TEST(report.sender_port.tx_packets == frames);
    BOOST_TEST(!report.partial);
    BOOST_TEST(!objects(report, "counted"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_run)

BOOST_AUTO_TEST_CASE(exactly_the_count_leaves_and_comes_back_on_one_lcore) {
    const auto run = start(one_worker(loop()), plan());
    for (const std::uint64_t frames : {1u, 31u, 33u, 50'000u}) {
        check_whole(trial(*run, {.frames = frames}), frames);
        check_whole(trial(*run, {.frames_per_second = 200'000, .frames = frames}), frames);
    }
}

BOOST_AUTO_TEST_CASE(two_lcores_share_the_count_out) {
    const auto run = start(two_workers(loop()), plan());
    for (const std::uint64_t frames : {1u, 2u, 33u, 50'001u}) {
        const TrialReport report =
            trial(*run, {.frames_per_second = 300'000, .frames = frames, .drain = 2s});
        check_whole(report, frames);
        BOOST_TEST(report.workers.size() == 2u);
        BOOST_REQUIRE(report.intake.streams.size() == 2u);
        BOOST_TEST(report.intake.streams[0].unique == (frames + 1) / 2);
        BOOST_TEST(report.intake.streams[1].unique == frames / 2);
    }
}

BOOST_AUTO_TEST_CASE(fifty_trials_are_handed_to_the_same_workers_and_none_sees_another_s_frames) {
    const auto run = start(two_workers(loop()), plan());
    std::vector<std::int64_t> overheads;
    for (int n = 0; n < 50; ++n) {
        const TrialReport report =
            trial(*run, {.frames_per_second = 100'000, .frames = 300, .drain = 2s});
        check_whole(report, 300);
        BOOST_TEST(report.intake.stale == 0u);
        overheads.push_back(report.overhead_ns);
    }
    std::ranges::sort(overheads);
    BOOST_TEST_MESSAGE("overhead of a trial, us (median, worst): " << overheads[25] / 1000 << " "
                                                                   << overheads.back() / 1000);
}

BOOST_AUTO_TEST_CASE(every_class_of_a_mix_is_accounted_for_on_its_own) {
    LoadPlan mixed = plan();
    mixed.source.mix = {{.traffic = TrafficClass::kDnsA, .weight = 5},
                        {.traffic = TrafficClass::kDnsAaaa, .weight = 2},
                        {.traffic = TrafficClass::kTcpSyn, .weight = 1},
                        {.traffic = TrafficClass::kIcmpEcho, .weight = 1},
                        {.traffic = TrafficClass::kUdp, .weight = 1, .frame_bytes = 512}};
    const auto run = start(one_worker(loop()), mixed);
    const TrialReport report = trial(*run, {.frames = 10'000});
    check_whole(report, 10'000);
    BOOST_TEST(sent(report, TrafficClass::kDnsA) == 5'000u);
    BOOST_TEST(sent(report, TrafficClass::kDnsAaaa) == 2'000u);
    for (const TrafficClass traffic :
         {TrafficClass::kDnsA, TrafficClass::kDnsAaaa, TrafficClass::kTcpSyn,
          TrafficClass::kIcmpEcho, TrafficClass::kUdp}) {
        BOOST_TEST(unique(report, traffic) == sent(report, traffic), frame::name(traffic));
        const auto& of_class = report.intake.classes[static_cast<std::size_t>(traffic)];
        BOOST_TEST(of_class.latency.count() == sent(report, traffic));
        BOOST_TEST(of_class.latency.summary().max_ns < 10'000'000'000);
    }
}

BOOST_AUTO_TEST_CASE(the_second_of_a_pair_leaves_no_earlier_than_its_skew) {
    LoadPlan paired = plan();
    paired.source.pairing = SourcePlan::Pairing::kPairs;
    for (const Nanoseconds skew : {Nanoseconds(1), Nanoseconds(700), Nanoseconds(60'000)}) {
        paired.pair_skew = skew;
        const auto run = start(one_worker(loop()), paired);
        const TrialReport report = trial(*run, {.frames_per_second = 10'000, .frames = 600});
        check_whole(report, 600);
        BOOST_TEST(unique(report, TrafficClass::kDnsA) == 300u);
        BOOST_TEST(unique(report, TrafficClass::kDnsAaaa) == 300u);
        BOOST_TEST(report.skew.pairs == 300u);
        BOOST_TEST(report.skew.min_ns > static_cast<double>(skew.count()) - 1);
    }
}

BOOST_AUTO_TEST_CASE(members_of_a_pair_leave_two_lcores_together) {
    LoadPlan together = plan();
    together.source.pairing = SourcePlan::Pairing::kPairs;
    together.punctual = true;
    for (const Nanoseconds skew : {Nanoseconds(0), Nanoseconds(300'000), Nanoseconds(-300'000)}) {
        together.together = Together{.skew = skew};
        std::array<std::vector<std::int64_t>, 2> departures;
        together.make_source = [&](const SourcePlan& part) { return noting(part, departures); };
        const auto run = start(two_workers(loop()), together);
        std::size_t close_pairs = 0;
        for (int n = 0; n < 2; ++n) {
            departures = {};
            const TrialReport report = trial(*run, {.frames_per_second = 2'000, .frames = 400});
            BOOST_TEST(report.sent == 400u);
            BOOST_TEST(report.sender_port.tx_packets == 400u);
            BOOST_REQUIRE(departures[0].size() == 200u);
            BOOST_REQUIRE(departures[1].size() == 200u);
            for (std::size_t pair = 0; pair < 200; ++pair) {
                const std::int64_t apart = departures[1][pair] - departures[0][pair] - skew.count();
                close_pairs += std::abs(apart) < 2'000 ? 1 : 0;
                const std::int64_t due =
                    report.began_ns + static_cast<std::int64_t>(pair) * 1'000'000;
                // Departures are exact to the nanosecond that the counter's tick is cut to.
                BOOST_TEST(departures[0][pair] >= due - 1);
                BOOST_TEST(departures[1][pair] >= due + skew.count() - 2);
            }
        }
        // A busy machine takes a CPU away between the two departures of most pairs, not of all.
        BOOST_TEST(close_pairs >= 20u);
    }
}

BOOST_AUTO_TEST_CASE(a_punctual_sender_leaves_nothing_out_behind_a_stall) {
    const auto late_by_one_stall = [](const LoadPlan& of) {
        const auto run = start(one_worker(ends().port), of);
        std::atomic<bool> over = false;
        // A ring that takes 1023 frames and is emptied 30 ms later: the sender stands still.
        std::thread far([&over] {
            std::this_thread::sleep_for(50ms);
            while (!over) {
                ends().end.left();
            }
        });
        TrialReport report =
            trial(*run, {.frames_per_second = 50'000, .frames = 5'000, .drain = 1ms});
        over = true;
        far.join();
        ends().end.left();
        return report;
    };
    LoadPlan exact = plan();
    exact.punctual = true;
    const TrialReport all = late_by_one_stall(exact);
    BOOST_TEST(all.handed.left_out == 0u);
    BOOST_TEST(all.sent == 5'000u);
    BOOST_TEST(all.departures.late > 100u);
    BOOST_TEST(late_by_one_stall(plan()).handed.left_out > 100u);
}

// An ARP request of 198.18.0.1 for the first client, in the middle of a trial and before the next. One
// lcore receives and owns no transmit queue there, or it has one.
BOOST_AUTO_TEST_CASE(arp_is_answered_for_the_addresses_of_a_run) {
    std::vector<std::uint8_t> request(60);
    const std::vector<std::uint8_t> start_of{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0,  0, 0, 0,
                                             1,    0x08, 0x06, 0,    1,    0x08, 0,   6,  4, 0, 1,
                                             2,    0,    0,    0,    0,    1,    198, 18, 0, 1, 0,
                                             0,    0,    0,    0,    0,    198,  18,  0,  2};
    std::ranges::copy(start_of, request.begin());
    for (const bool relayed : {false, true}) {
        LoadPlan with_station = plan();
        with_station.stations = {
            {&ends().port,
             {.mac = spec().packet.source_mac, .addresses = {{spec().packet.source.address}}}}};
        const Roles roles{.senders = {{0, &ends().port, 0}},
                          .receivers = {{relayed ? 1u : 0u, &ends().port, 0}}};
        const auto run = start(roles, with_station);
        ends().end.left();
        ends().end.arrive(request);  // before the first trial
        std::uint64_t answers = 0;
        std::uint64_t others = 0;
        std::thread far([&] {
            for (unsigned n = 0; n < 60; ++n) {
                std::this_thread::sleep_for(5ms);
                if (n == 4 || n == 8) {
                    ends().end.arrive(request);
                }
                for (const auto& frame : ends().end.left()) {
                    const bool arp = frame.size() == 60 && frame[12] == 0x08 && frame[13] == 0x06;
                    answers += arp && frame[21] == 2 && frame[5] == 1 && frame[31] == 2 ? 1 : 0;
                    others += arp ? 0 : 1;
                }
            }
        });
        const TrialReport report =
            trial(*run, {.frames_per_second = 1'000, .duration = 100ms, .drain = 100ms});
        far.join();
        BOOST_TEST(answers == 3u);
        BOOST_TEST(others == report.sent);
        BOOST_TEST(report.neighbours.answered == 3u);
        BOOST_TEST(report.neighbours.not_sent == 0u);
        BOOST_TEST(report.intake.received.other_traffic == 2u);
        BOOST_TEST(!objects(report, "counted"));
        BOOST_TEST(trial(*run, {.frames = 10, .drain = 1ms}).neighbours.answered == 0u);
        ends().end.left();
    }
}

BOOST_AUTO_TEST_CASE(a_drain_is_put_off_while_frames_still_come) {
    const auto drained = [](const TrialOrder::PutOff& put_off) {
        const auto run = start(one_worker(ends().port), plan());
        std::atomic<bool> over = false;
        std::thread far([&over] {
            std::vector<std::vector<std::uint8_t>> held;
            while (!over) {
                for (auto& frame : ends().end.left()) {
                    held.push_back(std::move(frame));
                }
                if (held.size() > 1) {  // one comes back every 20 ms; the last never
                    ends().end.arrive(held.back());
                    held.pop_back();
                }
                std::this_thread::sleep_for(20ms);
            }
        });
        const TrialReport report = trial(
            *run, {.frames_per_second = 100'000, .frames = 16, .drain = 50ms, .put_off = put_off});
        over = true;
        far.join();
        return report;
    };
    BOOST_TEST(drained({}).unique() < 10u);
    const TrialReport all = drained({.by = 400ms, .most = 20s});
    BOOST_TEST(all.unique() == 15u);
    BOOST_TEST(all.ended_ns - all.began_ns < 10'000'000'000);
    const TrialReport bounded = drained({.by = 100ms, .most = 120ms});
    BOOST_TEST(bounded.unique() < 15u);
    BOOST_TEST(bounded.ended_ns - bounded.began_ns < 500'000'000);
}

BOOST_AUTO_TEST_CASE(an_intake_of_the_run_s_own_gets_every_frame_and_ends_the_drain) {
    struct Counting final : Intake {
        void take(std::span<rte_mbuf* const> burst, std::size_t port,
                  std::uint64_t) noexcept override {
            tally.received += burst.size();
            elsewhere += port == 0 ? 0 : burst.size();
        }
        const judge::ReceiveTally& received() const noexcept override { return tally; }
        std::uint64_t arrived() const noexcept override { return tally.received; }
        judge::ReceiveTally tally;
        std::size_t elsewhere = 0;
    };
    Counting own;
    LoadPlan mine = plan();
    mine.intake_instead = &own;
    const auto run = start(one_worker(loop()), mine);
    const TrialReport report = trial(*run, {.frames = 5'000, .drain = 30s});
    BOOST_TEST(own.tally.received == 5'000u);
    BOOST_TEST(own.elsewhere == 0u);
    BOOST_TEST(report.intake.received.received == 0u);
    BOOST_TEST(report.ended_ns - report.began_ns < 10'000'000'000);
}

BOOST_AUTO_TEST_CASE(frames_that_do_not_come_back_are_missing_and_all_others_are_not) {
    const auto run = start(one_worker(ends().port), plan());
    std::atomic<bool> over = false;
    std::uint64_t kept = 0;
    std::uint64_t seen = 0;
    std::thread far([&] {
        while (!over) {
            for (const auto& frame : ends().end.left()) {
                if (++seen % 10 == 0) {
                    ++kept;
                } else {
                    ends().end.arrive(frame);
                }
            }
            std::this_thread::sleep_for(100us);
        }
    });
    const TrialReport report =
        trial(*run, {.frames_per_second = 20'000, .frames = 2'000, .drain = 300ms});
    over = true;
    far.join();
    BOOST_TEST(report.sent == 2'000u);
    BOOST_TEST(kept == 200u);
    BOOST_TEST(report.missing() == kept);
    BOOST_TEST(!report.partial);
}

BOOST_AUTO_TEST_CASE(a_driver_that_takes_no_more_ends_the_trial_and_no_frame_is_miscounted) {
    ends().end.left();
    const auto run = start(one_worker(ends().port), plan());
    const TrialReport report = trial(*run, {.frames = 2'000, .drain = 1ms});
    BOOST_TEST(report.partial);
    BOOST_TEST(report.handed.stuck == 1u);
    BOOST_TEST(report.handed.taken_back > 0u);
    BOOST_TEST(report.sent == 1'023u);
    BOOST_TEST(report.sender_port.tx_packets == report.sent);
    BOOST_TEST(sent(report, TrafficClass::kDnsA) == report.sent);
    BOOST_TEST(ends().end.left().size() == report.sent);
    BOOST_TEST(objects(report, "took no frame"));
    // Frames that were given back are made anew by the next trial.
    const TrialReport next = trial(*run, {.frames = 100, .drain = 1ms});
    BOOST_TEST(next.sent == 100u);
    BOOST_TEST(ends().end.left().size() == 100u);
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_stopped_is_partial_and_counts_what_left) {
    const auto run = start(one_worker(loop()), plan());
    std::atomic<bool> stop = false;
    std::thread stopper([&] {
        while (run->live().sent < 50) {
            std::this_thread::sleep_for(1ms);
        }
        stop = true;
    });
    const TrialReport report = trial(*run, {.frames_per_second = 1'000, .frames = 100'000}, stop);
    stopper.join();
    BOOST_TEST(report.partial);
    BOOST_TEST(report.sent >= 50u);
    BOOST_TEST(report.sent < 100'000u);
    BOOST_TEST(report.missing() == 0u);
    BOOST_TEST(report.sender_port.tx_packets == report.sent);
}

BOOST_AUTO_TEST_CASE(at_full_speed_a_trial_lasts_as_long_as_it_is_told) {
    const auto run = start(one_worker(loop()), plan());
    const TrialReport report = trial(*run, {.duration = 50ms});
    BOOST_TEST(report.sent > 1'000u);
    BOOST_TEST(report.missing() == 0u);
    BOOST_TEST(report.sending_seconds > 0.02);
    BOOST_TEST(report.departures.gaps.count() > 0u);
    BOOST_TEST(report.bias.floor_ns > 0);
    BOOST_TEST(report.bias.single_ns >= report.bias.floor_ns);
}

BOOST_AUTO_TEST_CASE(a_closed_loop_sends_no_more_than_it_may_have_under_way) {
    ends().end.left();
    LoadPlan short_time = plan();
    short_time.intake.late_after = 50ms;
    const auto run = start(one_worker(ends().port), short_time);
    const TrialOrder order{.duration = 120ms, .outstanding = 40, .drain = 1ms};
    // No frame comes back: the first forty leave, forty more when their time is over, and again.
    const TrialReport lost = trial(*run, order);
    BOOST_TEST(lost.sent % 40 == 0u);
    BOOST_TEST(lost.sent >= 40u);
    BOOST_TEST(lost.sent <= 120u);
    BOOST_TEST(ends().end.left().size() == lost.sent);
    // All of it comes back, and what was lost before holds no place.
    std::atomic<bool> over = false;
    std::size_t most = 0;
    std::thread far([&] {
        while (!over) {
            const auto frames = ends().end.left();
            most = std::max(most, frames.size());
            for (const auto& frame : frames) {
                ends().end.arrive(frame);
            }
            std::this_thread::sleep_for(100us);
        }
    });
    const TrialReport whole = trial(*run, {.frames = 4'000, .outstanding = 40, .drain = 2s});
    over = true;
    far.join();
    check_whole(whole, 4'000);
    BOOST_TEST(most <= 40u);
    BOOST_TEST(most > 0u);
}

BOOST_AUTO_TEST_CASE(two_lcores_share_what_may_be_under_way) {
    const Roles parted{.senders = {{0, &loop(), 0}}, .receivers = {{1, &loop(), 0}}};
    for (const Roles& roles : {two_workers(loop()), parted}) {
        const auto run = start(roles, plan());
        check_whole(trial(*run, {.frames = 5'000, .outstanding = 7, .drain = 2s}), 5'000);
    }
}

BOOST_AUTO_TEST_CASE(a_closed_loop_that_cannot_be_kept_is_refused) {
    const auto refused = [](const Roles& roles, const LoadPlan& plan, std::uint64_t outstanding,
                            const std::string& words) {
        const auto run = start(roles, plan);
        const auto report = run->run({.frames = 2, .outstanding = outstanding}, kNever);
        BOOST_REQUIRE_MESSAGE(!report, words);
        BOOST_TEST((report.error().code == ErrorCode::kBadInput));
        BOOST_TEST(report.error().message.find(words) != std::string::npos, report.error().message);
    };
    refused({.senders = {{0, &loop(), 0}}}, plan(), 5, "nobody receives");
    refused(two_workers(loop()), plan(), 1, "sending queues (2) needs room for 1");
    LoadPlan paired = plan();
    paired.source.pairing = SourcePlan::Pairing::kPairs;
    refused(one_worker(loop()), paired, 1, "needs room for 2");
}

BOOST_AUTO_TEST_CASE(a_trial_without_receivers_ends_with_its_last_frame) {
    ends().end.left();
    const auto run = start({.senders = {{0, &ends().port, 0}}}, plan());
    const TrialReport report = trial(*run, {.frames = 500, .drain = 1h});
    BOOST_TEST(report.sent == 500u);
    BOOST_TEST(ends().end.left().size() == 500u);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_before_anything_is_sent) {
    const std::uint64_t before = loop().counters().tx_packets;
    const auto refused = [](const Roles& roles, auto change, const std::string& words) {
        LoadPlan wrong = plan();
        change(wrong);
        const auto run = LoadRun::start(port::eal(), roles, wrong);
        BOOST_REQUIRE_MESSAGE(!run, words);
        BOOST_TEST((run.error().code == ErrorCode::kBadInput));
        BOOST_TEST(run.error().message.find(words) != std::string::npos, run.error().message);
    };
    const auto nothing = [](LoadPlan&) {};
    refused({}, nothing, "0 senders");
    refused({.senders = {{7, &loop(), 0}}}, nothing, "worker 7 of 2 does not exist");
    refused({.senders = {{0, &loop(), 2}}}, nothing, "queue 2 does not exist");
    refused({.senders = {{0, &loop(), 0}, {1, &loop(), 0}}}, nothing, "two senders");
    refused({.senders = {{0, &loop(), 0}}, .receivers = {{0, &loop(), 5}}}, nothing, "queue 5");
    const Roles fine = one_worker(loop());
    refused(
        fine, [](LoadPlan& plan) { plan.burst = 0; }, "burst");
    refused(
        fine, [](LoadPlan& plan) { plan.burst = 65; }, "burst");
    refused(
        fine, [](LoadPlan& plan) { plan.pair_skew = 5ns; }, "needs pairs");
    refused(
        fine,
        [](LoadPlan& plan) {
            plan.pair_skew = 5ns;
            plan.source.mix = {{}, {.traffic = TrafficClass::kUdp}};
        },
        "no mix");
    const auto together = [](LoadPlan& plan) {
        plan.source.pairing = SourcePlan::Pairing::kPairs;
        plan.punctual = true;
        plan.together = Together{};
    };
    refused(fine, together, "leave together are two");
    refused({.senders = {{0, &loop(), 0}, {0, &loop(), 1}}}, together, "workers of their own");
    refused({.senders = {{0, &loop(), 0}}, .responders = {{3, nullptr}}}, nothing,
            "a responder on worker 3 of 2: it does not exist");
    refused({.senders = {{0, &loop(), 0}}, .responders = {{1, nullptr}, {1, nullptr}}}, nothing,
            "it has another already");
    refused(
        two_workers(loop()),
        [](LoadPlan& plan) {
            static TrackedIntake intake = TrackedIntake::make(plan.intake).value();
            plan.intake_instead = &intake;
        },
        "belongs to one worker, not 2");
    refused(
        fine, [](LoadPlan& plan) { plan.source.mix[0].frame_bytes = 4'000; }, "4004 bytes");
    refused(
        fine,
        [](LoadPlan& plan) {
            plan.source.spec.packet.transport_checksum = frame::ChecksumMode::kOffload;
        },
        "UDP_CKSUM");

    const auto run = start(fine, plan());
    const auto no_order = [&](const TrialOrder& order, const std::string& words) {
        const auto report = run->run(order, kNever);
        BOOST_REQUIRE_MESSAGE(!report, words);
        BOOST_TEST(report.error().message.find(words) != std::string::npos, report.error().message);
    };
    no_order({.frames_per_second = -1, .frames = 1}, "rate of -1");
    no_order({.frames_per_second = 1e12, .frames = 1}, "rate of 1");
    no_order({.frames_per_second = std::numeric_limits<double>::infinity(), .frames = 1}, "inf");
    no_order({.frames_per_second = std::nan(""), .frames = 1}, "nan");
    no_order({}, "needs a duration or a number");
    no_order({.duration = -1s}, "negative");
    BOOST_TEST(loop().counters().tx_packets == before);
}

BOOST_AUTO_TEST_CASE(half_a_pair_and_a_skew_that_does_not_fit_are_refused) {
    LoadPlan paired = plan();
    paired.source.pairing = SourcePlan::Pairing::kPairs;
    paired.pair_skew = 1ms;
    const auto run = start(one_worker(loop()), paired);
    const auto odd = run->run({.frames = 3}, kNever);
    BOOST_REQUIRE(!odd);
    BOOST_TEST(odd.error().message.find("pairs") != std::string::npos);
    const auto quick = run->run({.frames_per_second = 10'000, .frames = 4}, kNever);
    BOOST_REQUIRE(!quick);
    BOOST_TEST(quick.error().message.find("skew") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
