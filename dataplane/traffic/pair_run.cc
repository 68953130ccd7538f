#include "dataplane/traffic/pair_run.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "dataplane/judge/latency.h"
#include "dataplane/port/counters.h"
#include "dataplane/port/eal.h"
#include "dataplane/traffic/pair_objections.h"
#include "dataplane/traffic/pair_worker.h"
#include "dataplane/traffic/warm_up.h"

namespace pathproof::traffic {
namespace {

using judge::PairReport;
using port::PortCounters;

// From here to the first departure the lcores have time to start.
constexpr Nanoseconds kLeadIn = std::chrono::milliseconds(5);
// Answers that wait at one time: 660 bytes each.
constexpr std::uint64_t kMostPending = 400'000;

std::vector<std::uint16_t> tunnel_ports(const PairPlan& plan) {
    std::set<std::uint16_t> ports;
    for (const PairMember& member : plan.members) {
        if (member.carrier) {
            ports.insert(member.carrier->destination.port);
        }
    }
    return {ports.begin(), ports.end()};
}

std::vector<NumberedPort> client_ports(const PairPlan& plan, std::span<port::Port> ports) {
    std::vector<NumberedPort> found;
    for (const PairMember& member : plan.members) {
        if (std::ranges::none_of(
                found, [&](const NumberedPort& known) { return known.number == member.port; })) {
            found.push_back({&ports[member.port], member.port});
        }
    }
    return found;
}

Nanoseconds longest_delay(const std::optional<ResponderPlan>& responder) {
    Nanoseconds longest{0};
    for (const AnswerRule& rule : responder ? responder->rules : std::vector<AnswerRule>()) {
        longest = std::max(longest, rule.delay);
    }
    return longest;
}

// Places for the answers that wait at one time, with a quarter more for queries that arrive in
// heaps or twice.
Result<std::size_t> pending_places(const PairPlan& plan, Nanoseconds delay) {
    const double seconds = static_cast<double>(delay.count()) / 1e9;
    const double at_once = 2.5 * plan.pairs_per_second * seconds;
    const double at_most = 4.0 * static_cast<double>(plan.pairs);
    const double places = 1024 + std::min(at_once, at_most);
    if (places > static_cast<double>(kMostPending)) {
        return fail(ErrorCode::kBadInput,
                    "{:.0f} answers would wait at one time, but memory is kept for {}: lower the "
                    "rate, the delay or the number of pairs",
                    places, kMostPending);
    }
    return static_cast<std::size_t>(places);
}

Result<std::optional<RespondWorker>> make_server(std::span<port::Port> ports, const PairPlan& plan,
                                                 const std::optional<ResponderPlan>& responder,
                                                 const PairBook& book) {
    if (!responder) {
        return std::optional<RespondWorker>();
    }
    const std::size_t pending = TRY(pending_places(plan, longest_delay(responder)));
    Responder made = TRY(Responder::make({.port = responder->port,
                                          .rules = responder->rules,
                                          .seed = responder->seed,
                                          .tunnel_ports = tunnel_ports(plan),
                                          .pending = pending,
                                          .numbered_queries = book.queries(),
                                          .suffix = book.suffix(),
                                          .keep_bad_frames = plan.keep_bad_frames}));
    port::Port& port = ports[responder->port];
    std::vector<std::uint16_t> queues(port.config().rx_queues);
    std::iota(queues.begin(), queues.end(), std::uint16_t{0});
    return std::optional<RespondWorker>(RespondWorker(port, std::move(queues), 0, std::move(made)));
}

Result<frame::FrameTemplate> member_frames(const PairPlan& plan, std::size_t member) {
    const PairMember& sender = plan.members[member];
    return frame::FrameTemplate::make_dns(frame_spec(sender, plan.service), plan.suffix,
                                          sender.qtype);
}

std::vector<PortCounters> read_counters(std::span<port::Port> ports) {
    std::vector<PortCounters> counters;
    for (const port::Port& port : ports) {
        counters.push_back(port.counters());
    }
    return counters;
}

void fill_records(const PairRun& run, const judge::Ledger& ledger, PairReport& report) {
    report.records.resize(run.book.queries());
    judge::LatencyHistogram latency;
    for (std::uint64_t n = 0; n < report.records.size(); ++n) {
        judge::QueryRecord& record = report.records[n];
        record.pair = static_cast<std::uint32_t>(n / 2);
        record.member = static_cast<std::uint8_t>(n % 2);
        ledger.fill(record, n, run.sent_ns[n], run.plan.answer_timeout.count());
        const bool right = record.state == judge::QueryState::kAnswered ||
                           record.state == judge::QueryState::kLate;
        if (right) {
            latency.add(record.answered_ns - record.sent_ns);
        }
        if (run.server != nullptr) {
            const Arrival& arrival = run.server->responder().arrivals()[n];
            record.server = arrival.server;
            record.seen_client = arrival.client;
            record.server_saw = arrival.copies;
        }
    }
    report.latency = latency.summary();
}

void add_frames(std::vector<judge::KeptFrame>& to, std::vector<judge::KeptFrame> more,
                std::size_t most) {
    for (judge::KeptFrame& frame : more) {
        if (to.size() == most) {
            return;
        }
        to.push_back(std::move(frame));
    }
}

// The run on its lcores, and what is reported of it.
class PairSession {
  public:
    PairSession(std::span<port::Port> ports, PairRun& run, const judge::Ledger& ledger,
                const std::optional<ResponderPlan>& responder)
        : ports_(ports), run_(run), ledger_(ledger), responder_(responder) {}

    Result<PairReport> execute(port::Eal& eal) {
        PairReport report;
        for (const std::size_t number : ports_in_use()) {
            ports_[number].empty();
        }
        const std::vector<PortCounters> before = read_counters(ports_);
        TRY(work(eal));
        report.seconds = static_cast<double>(run_.clock.now_ns()) / 1e9;
        const std::vector<PortCounters> after = read_counters(ports_);
        for (std::size_t n = 0; n < ports_.size(); ++n) {
            report.ports.push_back(port::difference(before[n], after[n]));
        }
        fill(report);
        fill_objections(report);
        return report;
    }

  private:
    std::set<std::size_t> ports_in_use() const {
        std::set<std::size_t> used{run_.from[0].number, run_.from[1].number};
        if (responder_) {
            used.insert(responder_->port);
        }
        return used;
    }

    // Two lcores unless one has nothing to do.
    bool needs_follower(const port::Eal& eal) const {
        return eal.workers() > 1 &&
               (run_.server != nullptr || run_.plan.departure == Departure::kTwoPorts);
    }

    Status work(port::Eal& eal) {
        const bool two = needs_follower(eal);
        run_.clock.start = tsc_now();
        const Nanoseconds early = std::max(Nanoseconds(0), -run_.plan.skew);
        run_.first_deadline =
            run_.clock.start + static_cast<Tsc>(run_.clock.tsc.cycles(kLeadIn + early));
        PairWorker leader(run_, two ? PairWorker::Role::kLeader : PairWorker::Role::kAlone);
        PairWorker follower(run_, PairWorker::Role::kFollower);
        if (two) {
            TRY(eal.launch(1, [&] { return follower.work(); }));
        }
        const Status launched = eal.launch(0, [&] { return leader.work(); });
        if (!launched) {
            run_.rendezvous.call_off();
            run_.end = 0;
        } else {
            eal.join(0);
        }
        if (two) {
            eal.join(1);
        }
        counts_ = {.pairs = leader.counts().pairs,
                   .refused = leader.counts().refused + follower.counts().refused,
                   .warm_ups = leader.counts().warm_ups + follower.counts().warm_ups,
                   .split = leader.counts().split};
        return launched;
    }

    void fill(PairReport& report) {
        fill_records(run_, ledger_, report);
        report.departures = summarize_departures(run_.sent_ns, run_.deadline_ns, counts_.refused);
        report.client = run_.clients.intake().tally();
        report.checksums = run_.clients.intake().checksums();
        add_frames(report.bad_frames, run_.clients.intake().take_bad_frames(),
                   run_.plan.keep_bad_frames);
        report.misdelivered_frames = run_.clients.take_misdelivered();
        if (run_.server != nullptr) {
            judge::Intake& intake = run_.server->responder().intake();
            report.server = intake.tally();
            add_frames(report.bad_frames, intake.take_bad_frames(), run_.plan.keep_bad_frames);
        }
    }

    // What the ports named count together, and frames that came after they were read.
    PortAccount account(const std::set<std::size_t>& numbers, const PairReport& report) {
        PortAccount sum;
        for (const std::size_t number : numbers) {
            sum.name += (sum.name.empty() ? "port " : " and ") + ports_[number].info().name;
            sum.received += report.ports[number].rx_packets;
            sum.sent += report.ports[number].tx_packets;
            sum.left_over += ports_[number].empty();
        }
        return sum;
    }

    void fill_objections(PairReport& report) {
        object_to_departures(run_.plan, counts_, report);
        object_to_ports(ports_, report);
        object_to_account(account({run_.from[0].number, run_.from[1].number}, report),
                          report.client.received, report.departures.sent + counts_.warm_ups,
                          report);
        if (run_.server != nullptr) {
            const ResponderCounts& counts = run_.server->responder().counts();
            object_to_responder(counts, report);
            object_to_account(account({responder_->port}, report), report.server.received,
                              counts.answered, report);
        }
        std::ranges::move(judge::audit(report), std::back_inserter(report.objections));
    }

    std::span<port::Port> ports_;
    PairRun& run_;
    const judge::Ledger& ledger_;
    const std::optional<ResponderPlan>& responder_;
    PairWorkerCounts counts_;
};

}  // namespace

Result<PairReport> run_pairs(port::Eal& eal, std::span<port::Port> ports, const PairPlan& plan,
                             const std::optional<ResponderPlan>& responder,
                             const std::atomic<bool>& stop) {
    TRY(check_plan(plan, responder, ports.size(), eal.workers()));
    const PairBook book = TRY(PairBook::make(plan));
    std::optional<std::vector<judge::Expectation>> rules;
    if (responder) {
        rules = TRY(expectations(responder->rules));
    }
    auto server = TRY(make_server(ports, plan, responder, book));
    auto first = TRY(member_frames(plan, 0));
    auto second = TRY(member_frames(plan, 1));
    auto warm_up_first = TRY(warm_up_frame(plan, 0));
    auto warm_up_second = TRY(warm_up_frame(plan, 1));
    judge::Ledger ledger(book, plan.service, std::move(rules));
    ClientSide clients(client_ports(plan, ports), ledger,
                       judge::Intake(tunnel_ports(plan), plan.keep_bad_frames),
                       plan.keep_bad_frames);
    const auto port_of = [&](const PairMember& member) -> NumberedPort {
        return {&ports[member.port], member.port};
    };
    PairRun run{.plan = plan,
                .book = book,
                .stop = stop,
                .clock = {TscClock::of_this_machine()},
                .from = {port_of(plan.members[0]), port_of(plan.members[1])},
                .frames = {std::move(first), std::move(second)},
                .warm_up = {std::move(warm_up_first), std::move(warm_up_second)},
                .clients = clients,
                .server = server ? &*server : nullptr,
                .longest_delay = longest_delay(responder),
                .sent_ns = std::vector<std::int64_t>(book.queries(), kNeverSent),
                .deadline_ns = std::vector<std::int64_t>(book.queries(), 0)};
    return PairSession(ports, run, ledger, responder).execute(eal);
}

}  // namespace pathproof::traffic
