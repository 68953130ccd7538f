#include "harness/bench/veth/answerer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <span>

#include "dataplane/base/file.h"
#include "harness/bench/peers/testpmd.h"
#include "harness/bench/veth/query_file.h"
#include "harness/process/netns.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeaders = 14 + 20 + 8;  // Ethernet, IPv4, UDP
constexpr auto kLongestStart = 20s;
constexpr std::chrono::seconds kLongestEnd{20};

// Asks the server over an ordinary socket until it answers: its lcore begins some time after it
// says that the port is open.
Status wait_for_an_answer(const VethPair& pair) {
    const auto frames = TRY(query_frames(pair, 1, LoadJob::UdpChecksum::kValid));
    const std::span query = std::span(frames.front()).subspan(kHeaders);
    return process::in_netns(pair.client.netns, [&]() -> Status {
        const Fd asking(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const timeval patience{.tv_sec = 0, .tv_usec = 50'000};
        setsockopt(asking.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const sockaddr_in server{.sin_family = AF_INET,
                                 .sin_port = htons(53),
                                 .sin_addr = {htonl(pair.server.address.v4_host_order())},
                                 .sin_zero = {}};
        bool answered = false;
        const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
        while (!answered && std::chrono::steady_clock::now() < deadline) {
            std::array<char, 512> answer;
            sendto(asking.get(), query.data(), query.size(), 0,
                   reinterpret_cast<const sockaddr*>(&server), sizeof server);
            answered = recv(asking.get(), answer.data(), answer.size(), 0) > 0;
        }
        return answered ? Status()
                        : fail(ErrorCode::kUnavailable, "the server answered nothing within {} s",
                               kLongestStart.count());
    });
}

Result<MeasuredProgram> start_responder(const std::string& binary, int cpu, const VethPair& pair) {
    const VethEnd& end = pair.server;
    auto server = TRY(MeasuredProgram::start(
        {.argv = {binary, "respond", "af_xdp:" + end.device, "--netns", end.netns, "--cpu",
                  fmt::format("{}", cpu), "--rule", "type=A,address=192.0.2.1", "--rule",
                  "type=AAAA,address=2001:db8::1", "--json"},
         .netns = {},
         .cpus = {cpu}}));
    const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
    while (server.warned().find("answering on") == std::string::npos) {
        const bool late = std::chrono::steady_clock::now() >= deadline;
        if (late || !server.runs_after(20ms)) {
            return fail(ErrorCode::kFailed, "the server did not start: {}", server.warned());
        }
    }
    TRY(wait_for_an_answer(pair));
    return server;
}

Status stop_responder(MeasuredProgram& server) {
    server.signal(SIGINT);
    const auto run = TRY(server.finish(kLongestEnd));
    if (!nlohmann::json::accept(run.out.text())) {
        return fail(ErrorCode::kFailed, "the server ended without a result: {}", run.err.text(400));
    }
    return {};
}

Result<MeasuredProgram> start_mirror(int cpu, const VethPair& pair) {
    const Cores cores{.control = cpu, .worker = cpu};
    const TestpmdJob job{.vdev = "net_af_xdp0,iface=" + pair.server.device, .mode = "io"};
    auto mirror = TRY(MeasuredProgram::start({.argv = testpmd_command(job, cores),
                                              .netns = pair.server.netns,
                                              .cpus = {cpu},
                                              .input = ProgramToMeasure::Input::kTold}));
    TRY(doing(wait_until_it_forwards(mirror), "dpdk-testpmd at the far end"));
    return mirror;
}

Status stop_mirror(MeasuredProgram& mirror) {
    TRY(mirror.tell("stop\nquit\n"));
    const auto run = mirror.finish(kLongestEnd);
    return run ? Status() : pass_on(run.error());
}

}  // namespace

Answerer responder(const std::string& binary, const Cores& cores) {
    return {.start = [binary, cpu = cores.control](
                         const VethPair& pair) { return start_responder(binary, cpu, pair); },
            .stop = stop_responder};
}

Answerer mirror(const Cores& cores) {
    return {
        .start = [cpu = cores.control](const VethPair& pair) { return start_mirror(cpu, pair); },
        .stop = stop_mirror};
}

}  // namespace pathproof::bench
