#include "dataplane/traffic/respond_run.h"

#include <algorithm>

#include "dataplane/port/eal.h"
#include "dataplane/traffic/port_sides.h"

namespace pathproof::traffic {
namespace {

constexpr Nanoseconds kLookAgain = std::chrono::milliseconds(1);

void serve(ServerSide& server, const RunClock& clock, Nanoseconds duration,
           const std::atomic<bool>& stop) noexcept {
    Napper napper(clock.tsc);
    while (!stop.load(std::memory_order_relaxed)) {
        if (duration > Nanoseconds(0) && clock.now_ns() >= duration.count()) {
            return;
        }
        if (server.serve(clock, kMostInBurst) > 0) {
            napper.found_work();
            continue;
        }
        const Tsc look_again = tsc_now() + static_cast<Tsc>(clock.tsc.cycles(kLookAgain));
        napper.nap(std::min(look_again, server.next_due(clock, look_again)));
    }
}

void object(const port::Port& port, RespondReport& report) {
    const std::string& name = port.info().name;
    if (const std::uint64_t lost = report.port.rx_missed + report.port.rx_no_mbuf; lost > 0) {
        report.objections.push_back(fmt::format("port {} lost {} frames itself", name, lost));
    }
    if (report.queries.no_room > 0) {
        report.objections.push_back(fmt::format("no room for {} answers: too many wait at one time",
                                                report.queries.no_room));
    }
    if (report.queries.not_sent > 0 || report.port.tx_errors > 0) {
        report.objections.push_back(fmt::format("port {} did not send {} answers", name,
                                                report.queries.not_sent + report.port.tx_errors));
    }
    const ResponderCounts& all = report.queries;
    if (all.queries !=
            all.answered + all.lost_on_purpose + all.no_room + all.not_sent + report.waiting ||
        !report.received.balances()) {
        report.objections.push_back("the queries do not add up");
    }
    if (const std::string trouble = port.link_trouble(); !trouble.empty()) {
        report.objections.push_back(trouble);
    }
}

}  // namespace

Result<RespondReport> run_responder(port::Eal& eal, port::Port& port,
                                    const ResponderOptions& options, Nanoseconds duration,
                                    const std::atomic<bool>& stop) {
    Result<Responder> responder = Responder::make(options);
    if (!responder) {
        return pass_on(responder.error());
    }
    ServerSide server({&port, options.port}, std::move(*responder));
    empty_queue(port);
    const port::PortCounters before = port.counters();
    const RunClock clock{TscClock::of_eal(), tsc_now()};
    const Status launched = eal.launch(0, [&] {
        serve(server, clock, duration, stop);
        return 0;
    });
    if (!launched) {
        return pass_on(launched.error());
    }
    eal.join(0);
    Responder& done = server.responder();
    RespondReport report{.queries = done.counts(),
                         .waiting = done.waiting(),
                         .received = done.intake().tally(),
                         .checksums = done.intake().checksums(),
                         .bad_frames = done.intake().take_bad_frames(),
                         .port = difference(before, port.counters()),
                         .seconds = static_cast<double>(clock.now_ns()) / 1e9};
    object(port, report);
    return report;
}

}  // namespace pathproof::traffic
