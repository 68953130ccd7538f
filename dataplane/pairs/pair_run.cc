#include "dataplane/pairs/pair_run.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>

#include "dataplane/base/counts.h"
#include "dataplane/judge/latency.h"
#include "dataplane/load/load_run.h"
#include "dataplane/pairs/departures.h"
#include "dataplane/pairs/pair_intake.h"
#include "dataplane/pairs/pair_objections.h"
#include "dataplane/pairs/pair_source.h"
#include "dataplane/pairs/warm_up.h"
#include "dataplane/port/eal.h"

namespace pathproof::pairs {
namespace {

using judge::PairReport;
using port::PortCounters;
using traffic::ResponderPlan;
using traffic::RespondWorker;

// Answers that wait at one time: 660 bytes each.
constexpr std::uint64_t kMostPending = 400'000;
// Once each query has had its answer nothing but a second one could come.
constexpr Nanoseconds kAfterTheLast = std::chrono::milliseconds(100);

std::vector<std::uint16_t> tunnel_ports(const PairPlan& plan) {
    std::set<std::uint16_t> ports;
    for (const PairMember& member : plan.members) {
        if (member.carrier) {
            ports.insert(member.carrier->destination.port);
        }
    }
    return {ports.begin(), ports.end()};
}

// Each once, in the order of the members.
std::vector<std::size_t> client_ports(const PairPlan& plan) {
    const auto [first, second] = std::pair(plan.members[0].port, plan.members[1].port);
    return first == second ? std::vector{first} : std::vector{first, second};
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
    const std::size_t pending = TRY(pending_places(plan, responder->longest_delay()));
    auto made = TRY(traffic::Responder::make({.port = responder->port,
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

std::vector<PortCounters> read_counters(std::span<port::Port> ports) {
    std::vector<PortCounters> counters;
    for (const port::Port& port : ports) {
        counters.push_back(port.counters());
    }
    return counters;
}

void fill_records(const PairPlan& plan, const judge::Ledger& ledger,
                  std::span<const std::int64_t> sent_ns, RespondWorker* server,
                  PairReport& report) {
    report.records.resize(sent_ns.size());
    judge::LatencyHistogram latency;
    for (std::uint64_t n = 0; n < report.records.size(); ++n) {
        judge::QueryRecord& record = report.records[n];
        record.pair = static_cast<std::uint32_t>(n / 2);
        record.member = static_cast<std::uint8_t>(n % 2);
        ledger.fill(record, n, sent_ns[n], plan.answer_timeout.count());
        const bool right = record.state == judge::QueryState::kAnswered ||
                           record.state == judge::QueryState::kLate;
        if (right) {
            latency.add(record.answered_ns - record.sent_ns);
        }
        if (server != nullptr) {
            const traffic::Arrival& arrival = server->responder().arrivals()[n];
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

class PairSession {
  public:
    // The arguments outlive the session.
    PairSession(std::span<port::Port> ports, const PairPlan& plan, const PairBook& book,
                judge::Ledger& ledger, RespondWorker* server,
                const std::optional<ResponderPlan>& responder)
        : ports_(ports),
          plan_(plan),
          book_(book),
          ledger_(ledger),
          server_(server),
          responder_(responder),
          intake_(client_ports(plan), ledger,
                  judge::Intake(tunnel_ports(plan), plan.keep_bad_frames), plan.keep_bad_frames),
          sent_ns_(book.queries(), kNeverSent) {}

    Result<PairReport> execute(port::Eal& eal, const std::atomic<bool>& stop) {
        const load::LoadPlan load = TRY(load_plan());
        const auto run = TRY(load::LoadRun::start(eal, roles(eal), load));
        for (const std::size_t number : ports_in_use()) {
            ports_[number].empty();
        }
        const std::vector<PortCounters> before = read_counters(ports_);
        const load::TrialReport trial = TRY(run->run(order(), stop));
        PairReport report;
        report.seconds = static_cast<double>(trial.ended_ns - trial.began_ns) / 1e9;
        const std::vector<PortCounters> after = read_counters(ports_);
        for (std::size_t n = 0; n < ports_.size(); ++n) {
            report.ports.push_back(counts_between(before[n], after[n]));
        }
        fill(trial, report);
        fill_objections(trial, report);
        return report;
    }

  private:
    std::set<std::size_t> ports_in_use() const {
        const std::vector<std::size_t> clients = client_ports(plan_);
        std::set<std::size_t> used(clients.begin(), clients.end());
        if (responder_) {
            used.insert(responder_->port);
        }
        return used;
    }

    // Two lcores unless one has nothing to do.
    load::Roles roles(const port::Eal& eal) {
        const bool by_two = plan_.departure == Departure::kTwoPorts;
        const unsigned second = eal.workers() > 1 ? 1 : 0;
        load::Roles roles;
        roles.senders.push_back({0, &ports_[plan_.members[0].port], 0});
        if (by_two) {
            roles.senders.push_back({second, &ports_[plan_.members[1].port], 0});
        }
        for (const std::size_t number : client_ports(plan_)) {
            port::Port& port = ports_[number];
            for (std::uint16_t queue = 0; queue < port.config().rx_queues; ++queue) {
                roles.receivers.push_back({0, &port, queue});
            }
        }
        if (server_ != nullptr) {
            roles.responders.push_back({second, server_});
        }
        return roles;
    }

    Result<load::LoadPlan> load_plan() {
        load::LoadPlan load;
        load.source.pairing = load::SourcePlan::Pairing::kPairs;
        load.burst = 2;
        load.pair_skew = plan_.departure == Departure::kInTurn ? plan_.skew : Nanoseconds(0);
        load.punctual = true;
        load.least_read = plan_.least_read;
        if (plan_.departure == Departure::kTwoPorts) {
            load.together = load::Together{.skew = plan_.skew, .warm_up = {}};
            for (std::size_t member = 0; member < plan_.members.size(); ++member) {
                load.together->warm_up[member] = TRY(warm_up_frame(plan_, member));
            }
        }
        load.make_source =
            [this](const load::SourcePlan& part) -> Result<std::unique_ptr<load::Source>> {
            auto made = TRY(PairSource::make(plan_, part.stream, book_, sent_ns_));
            return std::unique_ptr<load::Source>(std::make_unique<PairSource>(std::move(made)));
        };
        load.intake_instead = &intake_;
        load.link_loss = load::LoadPlan::LinkLoss::kIsOutlasted;
        return load;
    }

    load::TrialOrder order() const {
        const Nanoseconds delay = responder_ ? responder_->longest_delay() : Nanoseconds(0);
        return {.frames_per_second = 2 * plan_.pairs_per_second,
                .frames = 2 * plan_.pairs,
                .drain = delay + plan_.drain,
                .settle = kAfterTheLast,
                .put_off = {.by = plan_.drain, .most = delay + plan_.answer_timeout}};
    }

    void fill(const load::TrialReport& trial, PairReport& report) {
        fill_records(plan_, ledger_, sent_ns_, server_, report);
        report.disturbances = trial.disturbances;
        report.departures = summarize_departures(
            sent_ns_, deadlines(plan_, trial.began_ns, sent_ns_), trial.handed.taken_back);
        report.client = intake_.received();
        report.checksums = intake_.intake().checksums();
        add_frames(report.bad_frames, intake_.intake().take_bad_frames(), plan_.keep_bad_frames);
        report.misdelivered_frames = intake_.take_misdelivered();
        if (server_ != nullptr) {
            judge::Intake& intake = server_->responder().intake();
            report.server = intake.tally();
            add_frames(report.bad_frames, intake.take_bad_frames(), plan_.keep_bad_frames);
        }
    }

    // Adds up the counters of the named ports, and the frames that came after they were read.
    PortAccount account(const std::vector<std::size_t>& numbers, const PairReport& report) {
        PortAccount sum;
        for (const std::size_t number : numbers) {
            sum.name += (sum.name.empty() ? "port " : " and ") + ports_[number].info().name;
            sum.received += report.ports[number].rx_packets;
            sum.sent += report.ports[number].tx_packets;
            sum.left_over += ports_[number].empty();
        }
        return sum;
    }

    void fill_objections(const load::TrialReport& trial, PairReport& report) {
        object_to_departures(plan_, trial.handed, report);
        object_to_ports(ports_, report);
        PortAccount clients = account(client_ports(plan_), report);
        clients.left_over += trial.emptied;
        object_to_account(clients, report.client.received,
                          report.departures.sent + trial.handed.warm_ups, report);
        if (server_ != nullptr) {
            const traffic::ResponderCounts& counts = server_->responder().counts();
            object_to_responder(counts, report);
            object_to_account(account({responder_->port}, report), report.server.received,
                              counts.answered, report);
        }
        std::ranges::move(judge::audit(report), std::back_inserter(report.objections));
    }

    std::span<port::Port> ports_;
    const PairPlan& plan_;
    const PairBook& book_;
    const judge::Ledger& ledger_;
    RespondWorker* server_;  // null: answers come from elsewhere
    const std::optional<ResponderPlan>& responder_;
    PairIntake intake_;
    std::vector<std::int64_t> sent_ns_;  // by query
};

}  // namespace

Result<PairReport> run_pairs(port::Eal& eal, std::span<port::Port> ports, const PairPlan& plan,
                             const std::optional<ResponderPlan>& responder,
                             const std::atomic<bool>& stop) {
    TRY(check_plan(plan, responder, ports.size(), eal.workers()));
    const PairBook book = TRY(PairBook::make(plan));
    std::optional<std::vector<judge::Expectation>> rules;
    if (responder) {
        rules = TRY(traffic::expectations(responder->rules));
    }
    auto server = TRY(make_server(ports, plan, responder, book));
    judge::Ledger ledger(book, plan.service, std::move(rules));
    return PairSession(ports, plan, book, ledger, server ? &*server : nullptr, responder)
        .execute(eal, stop);
}

}  // namespace pathproof::pairs
