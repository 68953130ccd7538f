#include "dataplane/traffic/stream_run.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <optional>

#include "dataplane/port/eal.h"
#include "dataplane/traffic/departures.h"
#include "dataplane/traffic/port_sides.h"
#include "dataplane/traffic/query_frames.h"

namespace pathproof::traffic {
namespace {

// 40 bytes of record a query.
constexpr std::uint64_t kMostQueries = 20'000'000;
constexpr double kHighestRate = 100e6;
constexpr double kRateShortfall = 0.01;
constexpr Nanoseconds kLeadIn = std::chrono::milliseconds(5);
constexpr Nanoseconds kRetry{1'000'000};
constexpr Nanoseconds kFrameCost{10'000};

class StreamBook : public judge::QueryBook {
  public:
    StreamBook(const StreamPlan& plan, const frame::DnsName& suffix)
        : plan_(plan), suffix_(suffix) {}

    std::uint64_t queries() const noexcept override { return plan_.queries(); }
    judge::QueryFacts query(std::uint64_t number) const noexcept override {
        const std::uint64_t group = number / plan_.group.size();
        const frame::Endpoint& first = plan_.spec.packet.source;
        return {
            .client = {first.address.plus(static_cast<std::uint32_t>(group / plan_.source_ports)),
                       static_cast<std::uint16_t>(first.port + group % plan_.source_ports)},
            .id = query_id(plan_.seed, number),
            .qtype = plan_.group[number % plan_.group.size()]};
    }
    const frame::DnsName& suffix() const noexcept override { return suffix_; }

  private:
    const StreamPlan& plan_;
    frame::DnsName suffix_;
};

std::vector<std::uint16_t> tunnel_ports(const StreamPlan& plan) {
    return plan.spec.tunnel ? std::vector{plan.spec.tunnel->outer.destination.port}
                            : std::vector<std::uint16_t>();
}

class StreamSession {
  public:
    StreamSession(port::Port& port, const StreamPlan& plan, const std::atomic<bool>& stop,
                  const frame::DnsName& suffix, std::vector<QueryFrames> frames)
        : port_(port),
          plan_(plan),
          stop_(stop),
          book_(plan_, suffix),
          ledger_(book_, plan.spec.packet.destination, std::nullopt),
          clients_({{&port, 0}}, ledger_, judge::Intake(tunnel_ports(plan), plan.keep_bad_frames),
                   0),
          frames_(std::move(frames)),
          clock_{TscClock::of_eal()},
          napper_(clock_.tsc),
          sent_ns_(plan.queries(), kNeverSent) {}
    StreamSession(const StreamSession&) = delete;
    StreamSession& operator=(const StreamSession&) = delete;

    Result<StreamReport> execute(port::Eal& eal) {
        empty_queue(port_);
        const port::PortCounters before = port_.counters();
        clock_.start = tsc_now();
        const Status launched = eal.launch(0, [this] { return work(); });
        if (!launched) {
            return pass_on(launched.error());
        }
        eal.join(0);
        StreamReport report;
        report.port = difference(before, port_.counters());
        fill(report);
        object(report);
        return report;
    }

  private:
    static constexpr std::size_t kMostGroup = 2;

    int work() noexcept {
        std::optional<Promptness> prompt;
        if (plan_.groups_per_second <= kPromptRate) {
            prompt.emplace();
        }
        const Schedule schedule(clock_.start + static_cast<Tsc>(clock_.tsc.cycles(kLeadIn)),
                                clock_.tsc, plan_.groups_per_second);
        std::uint64_t group = 0;
        while (group < plan_.groups) {
            const Tsc deadline = schedule.deadline(group);
            serve_until(deadline);
            if (stop_.load(std::memory_order_relaxed)) {
                break;
            }
            const Tsc now = spin_until(deadline);
            const std::uint64_t due = std::min(schedule.due(now), plan_.groups) - group;
            const std::uint64_t together =
                std::clamp<std::uint64_t>(due, 1, kMostInBurst / plan_.group.size());
            send(group, together);
            group += together;
        }
        first_deadline_ns_ = clock_.at_ns(schedule.deadline(0));
        groups_ = group;
        listen(tsc_now() + static_cast<Tsc>(clock_.tsc.cycles(plan_.drain)));
        return 0;
    }

    void serve_until(Tsc wake) noexcept {
        const auto spin = static_cast<std::int64_t>(clock_.tsc.cycles(kSpin));
        do {
            const std::int64_t left = clock_.tsc.nanoseconds(tsc_now(), wake) / kFrameCost.count();
            // Behind schedule, answers are still to be read: as many as queries leave.
            const auto most = left > 0 ? std::min<std::int64_t>(left + 1, kMostInBurst)
                                       : std::int64_t{kMostInBurst};
            if (clients_.poll(clock_, static_cast<std::uint16_t>(most)) > 0) {
                napper_.found_work();
            } else {
                napper_.nap(wake);
            }
        } while (static_cast<std::int64_t>(wake - tsc_now()) > spin &&
                 !stop_.load(std::memory_order_relaxed));
    }

    void listen(Tsc end) noexcept {
        while (tsc_now() < end && !stop_.load(std::memory_order_relaxed)) {
            if (clients_.poll(clock_, kMostInBurst) > 0) {
                napper_.found_work();
            } else {
                napper_.nap(end);
            }
        }
    }

    void send(std::uint64_t group, std::uint64_t together) noexcept {
        std::array<rte_mbuf*, kMostInBurst> burst;
        const auto count = static_cast<std::uint16_t>(together * plan_.group.size());
        const std::uint64_t first = group * plan_.group.size();
        if (rte_pktmbuf_alloc_bulk(port_.pool(), burst.data(), count) != 0) {
            refused_ += count;
            return;
        }
        for (std::uint16_t i = 0; i < count; ++i) {
            render(*burst[i], first + i);
        }
        std::uint16_t done = 0;
        Tsc instant = tsc_now();
        const Tsc give_up = instant + static_cast<Tsc>(clock_.tsc.cycles(kRetry));
        while (done < count && instant < give_up) {
            const auto rest = static_cast<std::uint16_t>(count - done);
            const std::uint16_t taken = port_.tx_burst(0, burst.data() + done, rest);
            std::fill_n(sent_ns_.begin() + static_cast<std::ptrdiff_t>(first + done), taken,
                        clock_.at_ns(instant));
            done = static_cast<std::uint16_t>(done + taken);
            instant = tsc_now();
        }
        refused_ += static_cast<std::uint64_t>(count - done);
        rte_pktmbuf_free_bulk(burst.data() + done, static_cast<unsigned>(count - done));
    }

    void render(rte_mbuf& mbuf, std::uint64_t number) noexcept {
        const QueryFrames& frames = frames_[number % frames_.size()];
        const judge::QueryFacts query = book_.query(number);
        if (plan_.outer_source_ports.empty()) {
            frames.write(mbuf, number, query);
            return;
        }
        frames.write(mbuf, number, query,
                     plan_.outer_source_ports[number % plan_.outer_source_ports.size()]);
    }

    // Nanoseconds since the start at which the query was to leave.
    std::int64_t deadline_ns(std::uint64_t number) const {
        return first_deadline_ns_ +
               static_cast<std::int64_t>(static_cast<double>(number / plan_.group.size()) * 1e9 /
                                         plan_.groups_per_second);
    }

    void fill(StreamReport& report) {
        report.planned = plan_.queries();
        report.refused = refused_;
        report.partial = groups_ < plan_.groups;
        fill_departures(report);
        report.answers = ledger_.totals(sent_ns_, plan_.answer_timeout.count());
        report.received = clients_.intake().tally();
        report.checksums = clients_.intake().checksums();
        report.bad_frames = clients_.intake().take_bad_frames();
    }

    void fill_departures(StreamReport& report) const {
        std::int64_t first = 0;
        std::int64_t last = 0;
        for (std::uint64_t n = 0; n < sent_ns_.size(); ++n) {
            if (sent_ns_[n] == kNeverSent) {
                continue;
            }
            first = report.sent++ == 0 ? sent_ns_[n] : first;
            last = sent_ns_[n];
            const std::int64_t late = sent_ns_[n] - deadline_ns(n);
            report.late += late > kLateNs ? 1 : 0;
            report.worst_late_ns = std::max(report.worst_late_ns, late);
        }
        report.sending_seconds = static_cast<double>(last - first) / 1e9;
        const double apart =
            static_cast<double>(report.sent) - static_cast<double>(plan_.group.size());
        report.queries_per_second = last > first ? apart / report.sending_seconds : 0;
    }

    void object(StreamReport& report) {
        const double asked = plan_.groups_per_second * static_cast<double>(plan_.group.size());
        if (report.queries_per_second > 0 &&
            report.queries_per_second < (1 - kRateShortfall) * asked) {
            report.objections.push_back(
                fmt::format("the rate was not reached: {:.0f} of {:.0f} queries per second; this "
                            "is the tester's "
                            "limit, not the DUT's",
                            report.queries_per_second, asked));
        }
        if (report.refused > 0) {
            report.objections.push_back(fmt::format(
                "the driver refused {} queries for a millisecond each", report.refused));
        }
        const std::uint64_t lost = report.port.rx_missed + report.port.rx_no_mbuf;
        if (lost > 0) {
            report.objections.push_back(
                fmt::format("port {} lost {} frames itself", port_.info().name, lost));
        }
        if (report.port.tx_packets != report.sent || report.port.tx_errors > 0) {
            report.objections.push_back(fmt::format(
                "port {} counted {} sent frames and {} failures, the run sent {}",
                port_.info().name, report.port.tx_packets, report.port.tx_errors, report.sent));
        }
        if (!report.received.balances()) {
            report.objections.push_back("the received frames do not add up");
        }
        if (const std::string trouble = port_.link_trouble(); !trouble.empty()) {
            report.objections.push_back(trouble);
        }
    }

    port::Port& port_;
    StreamPlan plan_;
    const std::atomic<bool>& stop_;
    StreamBook book_;
    judge::Ledger ledger_;
    ClientSide clients_;
    std::vector<QueryFrames> frames_;  // one a member of the group
    RunClock clock_;
    Napper napper_;
    std::vector<std::int64_t> sent_ns_;
    std::int64_t first_deadline_ns_ = 0;
    std::uint64_t groups_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace

Status check_stream(const StreamPlan& plan) {
    if (plan.group.empty() || plan.group.size() > 2) {
        return fail(ErrorCode::kBadInput, "{} queries cannot leave together: one or two can",
                    plan.group.size());
    }
    if (plan.groups == 0 || plan.groups > kMostQueries / plan.group.size()) {
        return fail(ErrorCode::kBadInput, "a count of {} is not in 1..{}", plan.groups,
                    kMostQueries / plan.group.size());
    }
    if (!(plan.groups_per_second > 0 && plan.groups_per_second <= kHighestRate)) {
        return fail(ErrorCode::kBadInput, "a rate of {} per second is not in 0..{:.0f}",
                    plan.groups_per_second, kHighestRate);
    }
    const unsigned last_port = plan.spec.packet.source.port + plan.source_ports - 1u;
    if (plan.source_ports == 0 || last_port > 65'535) {
        return fail(ErrorCode::kBadInput, "{} source ports from {} on end at {}, beyond 65535",
                    plan.source_ports, plan.spec.packet.source.port, last_port);
    }
    if (!plan.outer_source_ports.empty() && !plan.spec.tunnel) {
        return fail(ErrorCode::kBadInput, "outer source ports need a VXLAN envelope");
    }
    return {};
}

Result<StreamReport> run_stream(port::Eal& eal, port::Port& port, const StreamPlan& plan,
                                const std::atomic<bool>& stop) {
    if (Status checked = check_stream(plan); !checked) {
        return pass_on(checked.error());
    }
    const Result<frame::DnsName> suffix = frame::DnsName::from_text(plan.suffix);
    if (!suffix) {
        return fail(suffix.error(), "query names under '{}'", plan.suffix);
    }
    std::vector<QueryFrames> frames;
    for (const std::uint16_t qtype : plan.group) {
        Result<QueryFrames> made = QueryFrames::make(plan.spec, plan.suffix, qtype);
        if (!made) {
            return pass_on(made.error());
        }
        frames.push_back(std::move(*made));
    }
    if (eal.workers() == 0) {
        return fail(ErrorCode::kBadInput, "no worker lcore: the EAL was started without one");
    }
    StreamSession session(port, plan, stop, *suffix, std::move(frames));
    return session.execute(eal);
}

}  // namespace pathproof::traffic
