#include "harness/cli/verify_stream.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "dataplane/frame/address.h"
#include "dataplane/port/device_name.h"
#include "harness/agent/client.h"
#include "harness/agent/probes.h"
#include "harness/cli/seconds.h"
#include "harness/lab/journal.h"
#include "harness/lab/namespaces.h"
#include "harness/ports/choose.h"
#include "harness/process/log.h"
#include "harness/process/typed_command.h"

namespace pathproof::cli {
namespace {

using StreamClock = std::chrono::steady_clock;

constexpr std::uint16_t kStreamPort = 5201;
constexpr const char* kStreamDevice = "e0";

// One end as typed: "198.18.0.2/24,198.18.0.1@c0@lab".
struct StreamEnd {
    std::string interface;
    std::string netns;  // of the interface
    lab::Prefix address;
    std::optional<frame::IpAddress> gateway;
};

Failure bad_end(const std::string& text, const std::string& why) {
    return fail(ErrorCode::kBadInput,
                "--stream {}: {}; an end is ADDRESS/PREFIX[,GATEWAY][@INTERFACE[@NETNS]], or of a "
                "server that is there ADDRESS:PORT",
                text, why);
}

// The interface behind a port as people name it.
Result<std::string> interface_of(const std::string& port, const std::string& netns) {
    const auto chosen = TRY(ports::choose_port(port, netns));
    const auto behind = port::kernel_port(chosen.device);
    if (!behind || behind->sockets != port::KernelPort::Sockets::kPacket) {
        return fail(
            ErrorCode::kBadInput,
            "--stream: port {} is no kernel interface that is heard by packet sockets: this "
            "kernel's TCP cannot stand behind it; give it to a kernel driver, or name the "
            "interface of the end (ADDRESS/PREFIX@INTERFACE)",
            port);
    }
    return behind->interface;
}

Result<StreamEnd> parse_end(const std::string& text, const std::string& port,
                            const std::string& netns) {
    StreamEnd end{.netns = netns};
    std::string place = port;
    const std::size_t at = text.find('@');
    if (at != std::string::npos) {
        place = text.substr(at + 1);
        if (const std::size_t second = place.find('@'); second != std::string::npos) {
            end.netns = place.substr(second + 1);
            place.resize(second);
        }
    }
    if (place.empty()) {
        return bad_end(text,
                       "without --far-ends the ports are the device's own, and an end has to "
                       "name the interface that is cabled to it");
    }
    const std::string addresses = text.substr(0, at);
    const std::size_t comma = addresses.find(',');
    const auto address = lab::parse_prefix(addresses.substr(0, comma));
    if (!address) {
        return bad_end(text, address.error().message);
    }
    end.address = *address;
    if (comma != std::string::npos) {
        const auto gateway = frame::parse_ip(addresses.substr(comma + 1));
        if (!gateway || gateway->family != end.address.address.family) {
            return bad_end(text, gateway ? "the gateway is of another family than the address"
                                         : gateway.error().message);
        }
        end.gateway = *gateway;
    }
    end.interface = TRY(interface_of(place, end.netns));
    return end;
}

// Processes that are started meanwhile run on other CPUs than the judge.
class BesideJudge {
  public:
    explicit BesideJudge(int judge_cpu) {
        if (sched_getaffinity(0, sizeof before_, &before_) != 0) {
            return;
        }
        // One CPU for both ends: a sender that moves to another one overtakes itself on veth.
        for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && !taken_; --cpu) {
            if (cpu != judge_cpu && CPU_ISSET(cpu, &before_)) {
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(cpu, &one);
                taken_ = sched_setaffinity(0, sizeof one, &one) == 0;
            }
        }
    }
    BesideJudge(const BesideJudge&) = delete;
    BesideJudge& operator=(const BesideJudge&) = delete;
    ~BesideJudge() {
        if (taken_) {
            sched_setaffinity(0, sizeof before_, &before_);
        }
    }

  private:
    cpu_set_t before_{};
    bool taken_ = false;
};

// The device goes with its namespace.
Status make_end(const StreamEnd& end, const std::string& netns) {
    TRY(doing(
        lab::run_ip_in(end.netns, fmt::format("link add link {} name {} netns {} type macvlan mode "
                                              "passthru\n",
                                              end.interface, kStreamDevice, netns)),
        "--stream: a namespace behind {}", end.interface));
    std::string commands = fmt::format(
        "link set lo up\naddress add {} dev {} {}\nlink set {} up\n", lab::to_string(end.address),
        kStreamDevice, end.address.address.family == frame::Family::kIpv6 ? "nodad" : "",
        kStreamDevice);
    if (end.gateway) {
        commands += fmt::format("route add default via {} dev {}\n", frame::to_string(*end.gateway),
                                kStreamDevice);
    }
    return doing(lab::run_ip_in(netns, commands), "--stream: the end {}",
                 lab::to_string(end.address));
}

class Streams final : public StreamEnds {
  public:
    ~Streams() override {
        stopping_ = true;
        if (sender_.joinable()) {
            sender_.join();
        }
    }

    void begin(double seconds) override {
        sender_ = std::thread([this, seconds] { send(seconds); });
    }
    bool ended() const override { return ended_; }
    Result<StreamReport> stop() override {
        stopping_ = true;
        if (sender_.joinable()) {
            sender_.join();
        }
        if (failed_) {
            return fail(failed_->code, "--stream: {}", failed_->message);
        }
        return report_;
    }

    std::unique_ptr<lab::Journal> journal_;
    std::unique_ptr<lab::Namespaces> namespaces_;
    std::unique_ptr<agent::Client> client_;
    std::unique_ptr<agent::Client> server_;  // null: somebody else's server
    agent::TransferOptions order_;
    StreamReport report_;

  private:
    void send(double seconds) {
        const auto began = StreamClock::now();
        const auto end = began + nanoseconds_of(seconds);
        do {
            const auto result = client_->tcp_transfer(order_);
            if (!result) {
                failed_ = result.error();
                break;
            }
            add(*result);
        } while (!stopping_ && report_.trouble.empty() && StreamClock::now() < end);
        ended_ = true;
    }

    void add(const agent::ProbeResult& result) {
        ++report_.connections;
        report_.whole += result.ok ? 1 : 0;
        report_.bytes += result.received;
        report_.seconds += result.milliseconds / 1e3;
        report_.retransmitted += result.retransmitted;
        report_.segment_bytes = std::max(report_.segment_bytes, result.segment_bytes);
        if (!result.ok && report_.trouble.empty()) {
            report_.trouble = result.outcome;
        }
    }

    std::thread sender_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> ended_ = false;
    std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<StreamEnds>> StreamEnds::make(const StreamOptions& options,
                                                     const StreamPlace& place) {
    const StreamEnd from = TRY(parse_end(options.ends.at(0), place.in, place.netns));
    const std::string& to_text = options.ends.at(1);
    const auto there = to_text.find('/') == std::string::npos
                           ? std::optional(frame::parse_endpoint(to_text))
                           : std::nullopt;
    if (there && !*there) {
        return bad_end(to_text, there->error().message);
    }
    std::optional<StreamEnd> to;
    if (!there) {
        to = TRY(parse_end(to_text, place.out, place.netns));
    }
    const frame::Endpoint server =
        there ? **there : frame::Endpoint{to->address.address, kStreamPort};
    if (server.address.family != from.address.address.family) {
        return bad_end(to_text, "it is of another family than the client's address");
    }
    if (to && to->interface == from.interface && to->netns == from.netns) {
        return bad_end(to_text, "client and server are behind one interface");
    }
    auto streams = std::make_unique<Streams>();
    streams->journal_ = TRY(lab::Journal::open_unlocked(process::typed_command()));
    for (const std::string& sentence : streams->journal_->recovered()) {
        process::log(sentence);
    }
    streams->namespaces_ = std::make_unique<lab::Namespaces>(*streams->journal_);
    const auto name = [&](const char* end) {
        return fmt::format("pp-{}-{}", streams->journal_->run_id(), end);
    };
    const bool v6 = server.address.family == frame::Family::kIpv6;
    const BesideJudge beside(place.judge_cpu);
    const auto add = [&](const StreamEnd& end,
                         const std::string& netns) -> Result<std::unique_ptr<agent::Client>> {
        TRY(streams->namespaces_->add(
            {netns}, v6 ? lab::Namespaces::Ipv6::kOn : lab::Namespaces::Ipv6::kOff));
        TRY(make_end(end, netns));
        return agent::Client::start_in_netns(netns);
    };
    streams->client_ = TRY(add(from, name("client")));
    if (to) {
        streams->server_ = TRY(add(*to, name("server")));
        TRY(streams->server_->start_transfer_server(server));
    }
    streams->order_ = {.server = server,
                       .bytes = options.bytes,
                       .most_per_second = static_cast<std::uint64_t>(options.mbps * 1e6 / 8),
                       .answered = to.has_value()};
    streams->report_ = {.from = frame::to_string(from.address.address),
                        .to = frame::to_string(server),
                        .answered = to.has_value(),
                        .most_mbps = options.mbps};
    return streams;
}

}  // namespace pathproof::cli
