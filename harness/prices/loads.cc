#include "harness/prices/loads.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <optional>

#include "harness/agent/connects.h"
#include "harness/agent/socket.h"
#include "harness/process/cpu_time.h"
#include "harness/process/netns.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/resolvers/resolver_bench.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::prices {
namespace {

using namespace std::chrono_literals;
using scenario::NatPathHosts;
using verdict::CostFigure;

constexpr auto kRoundTrip = 20ms;
constexpr unsigned kLookups = 6;
constexpr std::uint32_t kConnects = 200;
constexpr double kConnectsPerSecond = 1000;
constexpr unsigned kDatagrams = 40'000;
constexpr unsigned kBatch = 64;  // datagrams a system call
constexpr std::uint64_t kTransferBytes = 60'000'000;
constexpr auto kTransferPatience = 20s;
constexpr double kSegmentBytes = 1398;  // of an MTU of 1450, with TCP's timestamps
constexpr std::uint16_t kPort = 7000;

// The CPU time and cycles that a run took: of these processes, and of the softirqs that they left to
// the kernel's threads.
class Meter {
  public:
    static Meter start(std::vector<pid_t> processes, LoadRun& run) {
        Meter meter;
        meter.processes_ = std::move(processes);
        auto cycles = process::CycleCounters::start();
        if (cycles) {
            meter.cycles_ = std::move(*cycles);
            meter.first_cycle_ = meter.cycles_->read();
        } else {
            run.lacks["cycles"] = cycles.error().message;
        }
        meter.first_ = meter.seconds();
        return meter;
    }

    void stop(double packets, Sample& sample) const {
        if (packets > 0) {
            sample["cpu"] = (seconds() - first_) * 1e9 / packets;
            if (cycles_) {
                sample["cycles"] = (cycles_->read() - first_cycle_) / packets;
            }
        }
    }

  private:
    double seconds() const {
        double sum = process::softirq_thread_seconds() +
                     (process::softirqs_apart() ? process::softirq_seconds() : 0);
        for (const pid_t each : processes_) {
            sum += process::cpu_seconds(each).value_or(0);
        }
        return sum;
    }

    std::vector<pid_t> processes_;
    std::optional<process::CycleCounters> cycles_;
    double first_ = 0;
    double first_cycle_ = 0;
};

// Without a cure and with each, in an order that turns with the round, so that what changes with time
// is in all of them alike.
LoadRun alternate(scenario::Context& context, const Load& load, const Cures& cures,
                  const std::function<Result<Sample>(const Cure&, LoadRun&)>& once) {
    LoadRun run;
    Cures variants{&kNoCure};
    variants.insert(variants.end(), cures.begin(), cures.end());
    for (unsigned round = 0; round < load.rounds && context.journal.is_open(); ++round) {
        context.progress.step(fmt::format("{}, round {} of {}", load.id, round + 1, load.rounds));
        run.rounds.emplace_back();
        std::ranges::rotate(variants, variants.begin() + (round == 0 ? 0 : 1));
        for (const Cure* cure : variants) {
            if (auto sample = once(*cure, run)) {
                run.rounds.back()[cure->id] = std::move(*sample);
            } else {
                run.lacks[""] = sample.error().message;
            }
        }
    }
    return run;
}

// Looks up a name as it stands, or by way of a search list.
Result<LoadRun> look_up(scenario::Context& context, const Load& load, const Cures& cures,
                        const std::string& rest) {
    auto hosts = TRY(scenario::ResolverHosts::open(context));
    unsigned names = 0;
    const auto once = [&](const Cure& cure, LoadRun& /*run*/) -> Result<Sample> {
        std::vector<scenario::AskedLookup> asked;
        for (unsigned i = 0; i < kLookups; ++i) {
            asked.push_back({.lookup = {.name = cure.asked(fmt::format("n{:05}{}", ++names, rest)),
                                        .resolv_conf = hosts.resolv_conf(
                                            {"svc.cluster.local"}, cure.options("ndots:5"))}});
        }
        const auto before = TRY(hosts.packets());
        const auto trails = TRY(hosts.round(
            asked, {.rules = {scenario::found_rule("example.com"), {.name = ".", .rcode = 3}}},
            kRoundTrip));
        const auto after = TRY(hosts.packets());
        std::vector<double> times;
        for (const scenario::LookupTrail& trail : trails) {
            if (!trail.outcome.ok()) {
                return fail(ErrorCode::kFailed, "a lookup failed: {}", trail.outcome.word);
            }
            times.push_back(trail.outcome.milliseconds);
        }
        return Sample{{"latency", verdict::median_of(std::move(times)).value},
                      {"packets", static_cast<double>(after - before) / kLookups}};
    };
    LoadRun run = alternate(context, load, cures, once);
    for (const char* figure : {"cpu", "cycles"}) {
        run.lacks[figure] = "each lookup is a process of its own, which takes most of it";
    }
    return run;
}

Result<LoadRun> run_lookups(scenario::Context& context, const Load& load, const Cures& cures) {
    return look_up(context, load, cures, ".a.b.c.example.com");
}

Result<LoadRun> run_searched(scenario::Context& context, const Load& load, const Cures& cures) {
    return look_up(context, load, cures, ".example.com");
}

Result<LoadRun> run_connects(scenario::Context& context, const Load& load, const Cures& cures) {
    auto hosts = TRY(NatPathHosts::open(context));
    const lab::NatPathNames& names = hosts.names();
    const setting::Settings settings =
        both({lab::masquerade(names, {.snat = lab::Snat::kMasquerade})},
             scenario::web_service(names, scenario::Proxy::kIptables, {names.endpoints[0]}));
    TRY(hosts.server->start_closing_server({.listen = {names.endpoints[0], scenario::kEndpointPort},
                                            .closes_first = agent::Closer::kClient}));
    return alternate(context, load, cures, [&](const Cure& cure, LoadRun& run) -> Result<Sample> {
        hosts.cure = cure.settings;
        TRY(hosts.set(settings));
        const std::uint64_t before = TRY(hosts.client_packets());
        const Meter meter = Meter::start({hosts.client->pid(), hosts.server->pid()}, run);
        const auto report =
            TRY(hosts.client->tcp_connects({.server = names.web_service,
                                            .count = kConnects,
                                            .per_second = kConnectsPerSecond,
                                            .closes_first = agent::Closer::kClient}));
        const auto packets = static_cast<double>(TRY(hosts.client_packets()) - before);
        Sample sample;
        meter.stop(packets, sample);
        std::vector<double> times;
        for (const agent::Connect& each : report.connects) {
            if (each.error != 0) {
                return fail(ErrorCode::kFailed, "a connect failed: {}",
                            agent::describe_errno(each.error));
            }
            times.push_back(each.milliseconds);
        }
        sample["latency"] = verdict::median_of(std::move(times)).value;
        sample["packets"] = packets / kConnects;
        return sample;
    });
}

// Datagrams from one socket in batches, as fast as it goes. Gives the seconds.
Result<double> send_datagrams(const std::string& netns, const frame::Endpoint& to) {
    return process::in_netns(netns, [&]() -> Result<double> {
        const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const agent::SocketAddress address = agent::to_socket_address(to);
        if (!socket || ::connect(socket.get(), address.raw(), address.length) != 0) {
            return agent::system_failure("connect a UDP socket", errno);
        }
        std::array<char, 64> payload{};
        iovec bytes{payload.data(), payload.size()};
        std::array<mmsghdr, kBatch> batch{};
        for (mmsghdr& each : batch) {
            each.msg_hdr.msg_iov = &bytes;
            each.msg_hdr.msg_iovlen = 1;
        }
        const auto began = std::chrono::steady_clock::now();
        for (unsigned sent = 0; sent < kDatagrams;) {
            const int more = ::sendmmsg(socket.get(), batch.data(), kBatch, 0);
            if (more < 0) {
                return agent::system_failure("send datagrams", errno);
            }
            sent += static_cast<unsigned>(more);
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    });
}

Result<LoadRun> run_bridged(scenario::Context& context, const Load& load, const Cures& cures) {
    auto hosts = TRY(NatPathHosts::open(context));
    TRY(hosts.lab->add_neighbour());
    const lab::NatPathNames& names = hosts.names();
    const frame::Endpoint sink_at{names.neighbour_address, kPort};
    // Nobody reads it: once its buffer is full a datagram costs the same, whatever came before.
    Fd sink;
    TRY(process::in_netns(names.neighbour, [&]() -> Status {
        sink = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const agent::SocketAddress address = agent::to_socket_address(sink_at);
        return sink && ::bind(sink.get(), address.raw(), address.length) == 0
                   ? Status()
                   : Status(agent::system_failure("bind a UDP socket", errno));
    }));
    const auto once = [&](const Cure& cure, LoadRun& run) -> Result<Sample> {
        hosts.cure = cure.settings;
        TRY(hosts.set({}));
        const Meter meter = Meter::start({getpid()}, run);
        const double seconds = TRY(send_datagrams(names.client, sink_at));
        Sample sample{{"throughput", kDatagrams / seconds / 1000}};
        meter.stop(kDatagrams, sample);
        return sample;
    };
    return alternate(context, load, cures, once);
}

// The sockets of a TCP connection.
struct Stream {
    Fd listening, from, to;
};

Status open_stream(const std::string& from_netns, const std::string& to_netns,
                   const frame::Endpoint& to, Stream& stream) {
    TRY(process::in_netns(to_netns, [&]() -> Status {
        stream.listening = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const agent::SocketAddress address = agent::to_socket_address(to);
        const int on = 1;
        return stream.listening &&
                       ::setsockopt(stream.listening.get(), SOL_SOCKET, SO_REUSEADDR, &on,
                                    sizeof on) == 0 &&
                       ::bind(stream.listening.get(), address.raw(), address.length) == 0 &&
                       ::listen(stream.listening.get(), 1) == 0
                   ? Status()
                   : Status(agent::system_failure("listen for a transfer", errno));
    }));
    TRY(process::in_netns(from_netns, [&]() -> Status {
        stream.from = TRY(agent::open_socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
        const int wrong =
            agent::connect_before(stream.from.get(), to, agent::Deadline(kTransferPatience));
        return wrong == 0 ? Status()
                          : fail(ErrorCode::kFailed, "connect for a transfer: {}",
                                 agent::describe_errno(wrong));
    }));
    stream.to =
        Fd(::accept4(stream.listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    return stream.to ? Status() : Status(agent::system_failure("accept a transfer", errno));
}

// Sends so much, which nobody looks at: the path's work is what there is. Gives the seconds.
Result<double> pour(Stream& stream, std::uint64_t bytes) {
    const std::vector<char> zeros(256 * 1024);
    const agent::Deadline deadline(kTransferPatience);
    const auto began = std::chrono::steady_clock::now();
    auto sending = std::async(std::launch::async, [&]() -> Status {
        for (std::uint64_t sent = 0; sent < bytes;) {
            const ssize_t more = ::send(
                stream.from.get(), zeros.data(),
                static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - sent)),
                MSG_NOSIGNAL);
            if (more < 0 &&
                (errno != EAGAIN || !agent::wait_for(stream.from.get(), POLLOUT, deadline))) {
                return agent::system_failure("send a transfer", errno);
            }
            sent += more > 0 ? static_cast<std::uint64_t>(more) : 0;
        }
        return {};
    });
    Status received;
    for (std::uint64_t taken = 0; taken < bytes && received;) {
        // TCP discards the bytes received with MSG_TRUNC instead of copying them (tcp(7)).
        const ssize_t more = ::recv(stream.to.get(), nullptr, 1 << 20, MSG_TRUNC);
        if (more == 0 || (more < 0 && (errno != EAGAIN ||
                                       !agent::wait_for(stream.to.get(), POLLIN, deadline)))) {
            received = agent::system_failure("receive a transfer", more == 0 ? ECONNRESET : errno);
            ::shutdown(stream.from.get(), SHUT_RDWR);
        }
        taken += more > 0 ? static_cast<std::uint64_t>(more) : 0;
    }
    const Status sent = sending.get();
    TRY(std::move(received));
    TRY(Status(sent));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

Result<LoadRun> run_tunnel(scenario::Context& context, const Load& load, const Cures& cures) {
    const auto overlay = TRY(context.lab.overlay(context.journal));
    TRY(overlay->join_by_bridge());
    const lab::OverlayNames& names = overlay->names();
    const auto once = [&](const Cure& cure, LoadRun& run) -> Result<Sample> {
        TRY(overlay->set_anew(both(overlay->usual(), cure.settings)));
        Stream stream;
        TRY(open_stream(names.pod_a, names.pod_b, {names.pod_b_address, kPort}, stream));
        TRY(pour(stream, kTransferBytes / 10));  // the window is open
        const Meter meter = Meter::start({getpid()}, run);
        const double seconds = TRY(pour(stream, kTransferBytes));
        Sample sample{{"throughput", kTransferBytes * 8 / seconds / 1e6}};
        meter.stop(kTransferBytes / kSegmentBytes, sample);
        return sample;
    };
    return alternate(context, load, cures, once);
}

CostFigure cpu_figure(const char* packet) {
    return {"cpu", std::string("CPU time of processes and softirqs") + packet, "ns"};
}

CostFigure cycle_figure(const char* packet) {
    return {"cycles", std::string("hardware cycles of all CPUs") + packet, "cycles"};
}

}  // namespace

const std::vector<Load>& all_loads() {
    using enum Part;
    const std::vector<CostFigure> of_lookups{{"latency", "latency of a lookup", "ms"},
                                             {"packets", "packets of a lookup", "packets"},
                                             cpu_figure(" a packet"),
                                             cycle_figure(" a packet")};
    static const std::vector<Load> loads = {
        {.id = "lookups",
         .text = fmt::format("lookups by glibc of a name that is asked for as it is; the server "
                             "answers after {} ms, which is the round trip",
                             kRoundTrip.count()),
         .has = {kResolver},
         .figures = of_lookups,
         .run = run_lookups},
        {.id = "searched-lookups",
         .text = "the same of a name that is found behind a search list of one (ndots:5)",
         .has = {kResolver},
         .figures = of_lookups,
         .run = run_searched},
        {.id = "tunnel-transfer",
         .text = fmt::format("a transfer of {} MB between two pods by VXLAN; the nodes' cable is a "
                             "bridge of the kernel",
                             kTransferBytes / 1'000'000),
         .has = {kTunnel},
         .figures = {{"throughput", "throughput", "Mbit/s", true},
                     cpu_figure(" a segment of 1398 bytes"),
                     cycle_figure(" a segment of 1398 bytes")},
         .run = run_tunnel,
         // Its throughput follows whatever else the CPUs do.
         .rounds = 25},
        {.id = "bridged-datagrams",
         .text = fmt::format("{} datagrams between two ports of a bridge, one socket", kDatagrams),
         .has = {kBridge},
         .figures = {{"throughput", "datagrams a ms", "datagrams/ms", true},
                     cpu_figure(" a datagram"),
                     cycle_figure(" a datagram")},
         .run = run_bridged},
        {.id = "connects",
         .text =
             fmt::format("{} TCP connections to a service behind DNAT and MASQUERADE", kConnects),
         .has = {kMasquerade, kClientTcp, kTrackedTcp},
         .figures = {{"latency", "latency of a connect", "ms"},
                     {"packets", "packets of a connection", "packets"},
                     cpu_figure(" a packet"),
                     cycle_figure(" a packet")},
         .run = run_connects},
    };
    return loads;
}

std::vector<verdict::Cost> costs_of(const Load& load, const Cures& cures, const LoadRun& run,
                                    const std::string& lacks) {
    std::vector<verdict::Cost> costs;
    for (const Cure* cure : cures) {
        if (!load.takes(*cure)) {
            continue;
        }
        for (const CostFigure& figure : load.figures) {
            std::vector<double> without, with;
            for (const Round& round : run.rounds) {
                const auto a = round.find("");
                const auto b = round.find(cure->id);
                if (a != round.end() && b != round.end() && a->second.contains(figure.name) &&
                    b->second.contains(figure.name)) {
                    without.push_back(a->second.at(figure.name));
                    with.push_back(b->second.at(figure.name));
                }
            }
            std::string why = lacks;
            for (const std::string& of : {figure.name, std::string()}) {
                const auto found = run.lacks.find(of);
                why = why.empty() && found != run.lacks.end() ? found->second : why;
            }
            costs.push_back(verdict::conclude_cost(cure->id, load.id, figure, without, with, why));
        }
    }
    return costs;
}

}  // namespace pathproof::prices
