#include "dataplane/traffic/respond_run.h"

#include <algorithm>
#include <thread>

#include "dataplane/base/counts.h"
#include "dataplane/port/eal.h"
#include "dataplane/traffic/respond_worker.h"

namespace pathproof::traffic {
namespace {

constexpr Nanoseconds kLookAgain = std::chrono::milliseconds(1);

struct End {
    const std::atomic<bool>& stop;
    Nanoseconds duration;
    std::atomic<bool> port_gone = false;
    std::string trouble;  // the first that was seen of the link; for the thread that watches

    bool has_come(const RunClock& clock) const noexcept {
        return stop.load(std::memory_order_relaxed) || port_gone.load(std::memory_order_relaxed) ||
               (duration > Nanoseconds(0) && clock.now_ns() >= duration.count());
    }
};

void serve(RespondWorker& worker, const RunClock& clock, const End& end) noexcept {
    Napper napper(clock.tsc);
    while (!end.has_come(clock)) {
        if (worker.serve(clock) > 0) {
            napper.found_work();
            continue;
        }
        const Tsc look_again = tsc_now() + clock.tsc.ticks(kLookAgain);
        napper.nap(std::min(look_again, worker.next_due(clock, look_again)));
    }
}

Status check(const port::Eal& eal, const port::Port& port, unsigned workers) {
    const port::PortConfig& config = port.config();
    if (workers == 0 || workers > eal.workers()) {
        return fail(ErrorCode::kBadInput, "{} lcores cannot answer: the EAL has {}", workers,
                    eal.workers());
    }
    if (config.rx_queues < workers || config.tx_queues < workers) {
        return fail(ErrorCode::kBadInput,
                    "port {} has {} receive and {} transmit queues open, too few for {} lcores",
                    config.name, config.rx_queues, config.tx_queues, workers);
    }
    return {};
}

std::vector<std::uint16_t> queues_of(unsigned worker, unsigned workers, std::uint16_t queues) {
    std::vector<std::uint16_t> mine;
    for (unsigned queue = worker; queue < queues; queue += workers) {
        mine.push_back(static_cast<std::uint16_t>(queue));
    }
    return mine;
}

Result<std::vector<RespondWorker>> make_workers(port::Port& port, const RespondPlan& plan) {
    std::vector<RespondWorker> made;
    for (unsigned worker = 0; worker < plan.workers; ++worker) {
        ResponderOptions options = plan.responder;
        options.seed += worker;
        Responder responder = TRY(Responder::make(options));
        made.emplace_back(port, queues_of(worker, plan.workers, port.config().rx_queues),
                          static_cast<std::uint16_t>(worker), std::move(responder));
    }
    return made;
}

void add(RespondReport& report, Responder& done) {
    add_counts(report.queries, done.counts());
    add_counts(report.received, done.intake().tally());
    add_counts(report.checksums, done.intake().checksums());
    report.waiting += done.waiting();
    report.received_by_worker.push_back(done.intake().tally().received);
    std::ranges::move(done.intake().take_bad_frames(), std::back_inserter(report.bad_frames));
}

void object(const port::Port& port, RespondReport& report) {
    const std::string& name = port.info().name;
    const ResponderCounts& all = report.queries;
    if (const std::uint64_t lost = report.port.rx_missed + report.port.rx_no_mbuf; lost > 0) {
        report.objections.push_back(fmt::format("port {} lost {} frames itself", name, lost));
    }
    if (all.no_room > 0) {
        report.objections.push_back(
            fmt::format("no room for {} answers: too many wait at one time", all.no_room));
    }
    if (const std::uint64_t kept =
            all.not_sent + all.not_reflected + all.neighbours_not_sent + report.port.tx_errors;
        kept > 0) {
        report.objections.push_back(fmt::format("port {} did not send {} answers", name, kept));
    }
    if (all.queries !=
            all.answered + all.lost_on_purpose + all.no_room + all.not_sent + report.waiting ||
        !report.received.balances()) {
        report.objections.push_back("the queries do not add up");
    }
}

// Objects to a link that was down. Its state at the end says more than an earlier one.
void object_to_link(const port::Port& port, const End& end, RespondReport& report) {
    if (const std::string now = port.link_trouble(); !now.empty()) {
        report.objections.push_back(now);
    } else if (!end.trouble.empty()) {
        report.objections.push_back(end.trouble + ", for a part of the time");
    } else {
        return;
    }
    report.partial = true;
}

void look_at_link(const port::Port& port, End& end) {
    if (port.link() == port::Link::kUp) {
        return;
    }
    end.trouble = end.trouble.empty() ? port.link_trouble() : end.trouble;
    end.port_gone = end.port_gone || port.link() == port::Link::kGone;
}

// Waits for the workers and ends them when their port went away: nothing comes out of it any more.
void watch(port::Eal& eal, const port::Port& port, unsigned workers, End& end) {
    constexpr auto kLook = std::chrono::milliseconds(100);
    auto look = std::chrono::steady_clock::now() + kLook;
    for (unsigned worker = 0; worker < workers; ++worker) {
        while (eal.running(worker)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (std::chrono::steady_clock::now() >= look) {
                look_at_link(port, end);
                look += kLook;
            }
        }
        eal.join(worker);
    }
}

}  // namespace

Result<RespondReport> run_responder(port::Eal& eal, port::Port& port, const RespondPlan& plan,
                                    const std::atomic<bool>& stop) {
    TRY(check(eal, port, plan.workers));
    auto workers = TRY(make_workers(port, plan));
    const port::PortCounters before = port.counters();
    const auto driver_before = port::extended_counters(port);
    const RunClock clock{TscClock::of_this_machine(), tsc_now()};
    End end{stop, plan.duration};
    Status launched;
    for (unsigned n = 0; n < plan.workers && launched; ++n) {
        launched = eal.launch(n, [&, n] {
            serve(workers[n], clock, end);
            return 0;
        });
        end.port_gone = !launched;
    }
    watch(eal, port, plan.workers, end);
    if (!launched) {
        return pass_on(launched.error());
    }
    RespondReport report;
    for (RespondWorker& worker : workers) {
        add(report, worker.responder());
    }
    report.port = counts_between(before, port.counters());
    report.driver_counters = port::growth(driver_before, port::extended_counters(port));
    report.seconds = static_cast<double>(clock.now_ns()) / 1e9;
    object(port, report);
    object_to_link(port, end, report);
    return report;
}

}  // namespace pathproof::traffic
