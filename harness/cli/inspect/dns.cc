// pathproof inspect dns: what resolvers are asked and answer, as it passes here.
#include <netinet/in.h>

#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/base/plural.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/monitor/dns_ledger.h"
#include "harness/monitor/packet_socket.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"

namespace pathproof::cli::inspect {
namespace {

using monitor::DnsQuestionSeen;
using monitor::ResolverSeen;
using nlohmann::json;

constexpr int kFailedFound = 1;
constexpr std::size_t kSnapBytes = 1600;

struct DnsOptions {
    CommonOptions common;
    Limits limits;
    std::uint16_t port = 53;
};

json json_of(const DnsQuestionSeen& question) {
    return {{"client", frame::to_string(question.client)},
            {"name", question.name},
            {"type", question.type},
            {"outcome", question.outcome},
            {"milliseconds", question.milliseconds}};
}

json json_of(const ResolverSeen& seen) {
    json failures = json::array(), rcodes = json::object();
    for (const DnsQuestionSeen& failure : seen.failures) {
        failures.push_back(json_of(failure));
    }
    for (const auto& [rcode, count] : seen.rcodes) {
        rcodes[monitor::rcode_name(rcode)] = count;
    }
    json line{{"resolver", frame::to_string(seen.resolver)},
              {"queries", seen.queries},
              {"retries", seen.retries},
              {"answered", seen.answered},
              {"unanswered", seen.unanswered},
              {"failed", seen.failed()},
              {"truncated", seen.truncated},
              {"rcodes", rcodes},
              {"failures", failures}};
    line["median_ms"] = seen.answered == 0 ? json() : json(seen.median_ms);
    line["longest_ms"] = seen.answered == 0 ? json() : json(seen.longest_ms);
    line["slowest"] = seen.answered == 0 ? json() : json_of(seen.slowest);
    return line;
}

std::string text_of(const ResolverSeen& seen) {
    std::string text = fmt::format(
        "{}  {}, {}: {} answered", frame::to_string(seen.resolver),
        seen.queries == 1 ? "1 query" : fmt::format("{} queries", seen.queries),
        seen.retries == 1 ? "1 retry" : fmt::format("{} retries", seen.retries), seen.answered);
    if (seen.answered != 0) {
        text += fmt::format(" in {:.1f} ms at the median, {:.1f} ms at most ({} {})",
                            seen.median_ms, seen.longest_ms, seen.slowest.name, seen.slowest.type);
    }
    for (const auto& [rcode, count] : seen.rcodes) {
        text += rcode == 0 ? "" : fmt::format(", {} {}", count, monitor::rcode_name(rcode));
    }
    text += seen.truncated == 0 ? "" : fmt::format(", {} truncated", seen.truncated);
    text += seen.unanswered == 0 ? "" : fmt::format(", {} without an answer", seen.unanswered);
    return text;
}

class Dns {
  public:
    explicit Dns(const DnsOptions& options) : options_(options) {}

    Result<int> run() {
        auto socket = TRY(monitor::PacketSocket::open_for(options_.common.netns,
                                                          fmt::format("udp port {}", options_.port),
                                                          kSnapBytes, "read DNS messages"));
        fmt::print(stderr, "pathproof: reading DNS messages of port {}\n", options_.port);
        const auto deadline = options_.limits.deadline();
        while (!process::stopping() && output_.open() &&
               std::chrono::steady_clock::now() < deadline) {
            if (!drain(socket)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
        drain(socket);
        return put(socket.lost());
    }

  private:
    bool drain(monitor::PacketSocket& socket) {
        std::array<std::byte, kSnapBytes> buffer;
        bool any = false;
        while (const auto packet = socket.next(buffer)) {
            any = true;
            const frame::PacketView view = monitor::view_of(packet->bytes);
            if (view.transport != frame::Transport::kUdp ||
                view.payload_offset > packet->bytes.size()) {
                continue;
            }
            const frame::Bytes bytes{reinterpret_cast<const std::uint8_t*>(packet->bytes.data()),
                                     packet->bytes.size()};
            const std::size_t length = std::min<std::size_t>(
                view.payload_length, packet->bytes.size() - view.payload_offset);
            ledger_.take(packet->time_ns, view.source_endpoint(), view.destination_endpoint(),
                         bytes.subspan(view.payload_offset, length));
        }
        return any;
    }

    int put(std::uint64_t lost) {
        const auto resolvers = ledger_.finish(realtime_ns());
        std::uint64_t failed = 0;
        for (const ResolverSeen& seen : resolvers) {
            failed += seen.failed();
            if (options_.common.json) {
                put_json(output_, json_of(seen));
                continue;
            }
            output_.put_line(process::without_controls(text_of(seen)));
            for (const DnsQuestionSeen& failure : seen.failures) {
                output_.put_line(process::without_controls(
                    fmt::format("  {}: {} {}, asked by {}", failure.outcome, failure.name,
                                failure.type, frame::to_string(failure.client))));
            }
        }
        if (options_.common.json) {
            put_json(output_, {{"resolvers", resolvers.size()}, {"lost_packets", lost}});
        } else if (resolvers.empty()) {
            output_.put_line("no DNS query was seen");
        }
        if (lost != 0 && !options_.common.json) {
            output_.put_line(plural(lost, "packet") + " found the socket's buffer full");
        }
        output_.flush();
        return failed != 0 ? kFailedFound : lost != 0 ? kIncomplete : kDone;
    }

    const DnsOptions& options_;
    monitor::DnsLedger ledger_;
    Output output_;
};

Result<int> run_dns(const DnsOptions& options) {
    TRY(process::require_netns(options.common.netns));
    process::stop_on_signals();
    return or_gone(Dns(options).run(), options.common.netns);
}

}  // namespace

void add_dns(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "dns", "DNS queries that pass here: by resolver, how fast, which failed, who asked again");
    const auto options = options_for<DnsOptions>(*app, chosen, run_dns);
    add_common(*app, options->common);
    app->add_option("--duration", options->limits.duration_s,
                    "end after so many seconds (default: when interrupted)")
        ->check(kAboveZero);
    app->add_option("--port", options->port, "of the resolvers")
        ->check(CLI::Range(1, 65'535))
        ->capture_default_str();
    app->footer(
        "Reads packets of UDP on every device of the namespace; a Service and its backend are two "
        "resolvers. What was asked within the last second may still be answered, and is not "
        "counted. "
        "Changes nothing. Needs root (CAP_NET_RAW).\n"
        "Exit status: 0 no query failed, 1 some did (no answer, SERVFAIL, REFUSED, ...; NXDOMAIN "
        "is an "
        "answer), 2 wrong usage, 3 none did, but packets were lost.");
}

}  // namespace pathproof::cli::inspect
