#include "harness/scenario/resolvers/resolver_bench.h"

#include <fmt/ranges.h>

#include <map>
#include <thread>

#include "harness/process/at_once.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/scenario/first_error.h"

namespace pathproof::scenario {
namespace {

// A process is made for each.
constexpr unsigned kLookupsPerSecond = 150;
constexpr unsigned kPacedPerSecond = 4;
constexpr std::uint32_t kMostDnsFrames = 200'000;
constexpr std::uint32_t kDnsFrameBytes = 600;
constexpr std::uint32_t kWholeFrameBytes = 2048;  // of the path's links

std::vector<DnsOnWire> dns_of(const agent::Capture& capture, bool responses) {
    std::vector<DnsOnWire> messages;
    for (const agent::CapturedFrame& frame : capture.frames) {
        if (auto message = dns_on_wire(frame); message && message->response == responses) {
            messages.push_back(std::move(*message));
        }
    }
    return messages;
}

// AI_ADDRCONFIG counts a link-local address once no other host can have it (DAD, RFC 4862). A client
// without IPv6 has none.
Status wait_for_link_local(const std::string& netns, const std::string& device) {
    for (int tenths = 0; tenths < 30; ++tenths) {
        const auto settled = TRY(process::run_checked(
            {"ip", "-6", "-o", "address", "show", "dev", device, "-tentative"}, {.netns = netns}));
        if (!settled.empty()) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
}

// The query's end at the server.
std::string server_text(const QueryTrail& query) {
    if (!query.taken) {
        return "not taken by the server";
    }
    return query.answered ? fmt::format("answered with code {}", query.rcode) : "withheld";
}

// The query's end at the client.
std::string client_text(const QueryTrail& query) {
    if (!query.came) {
        return "no answer came";
    }
    return fmt::format("code {}, {} addresses came after {:.1f} ms", query.came_rcode,
                       query.addresses, query.came_after_ms);
}

}  // namespace

Result<ResolverHosts> ResolverHosts::open(Context& context) {
    ResolverHosts hosts;
    hosts.hosts_ = TRY(NatPathHosts::open(context));
    TRY(hosts.hosts_.set({}));
    TRY(wait_for_link_local(hosts.hosts_.names().client, hosts.hosts_.names().client_device));
    if (const std::string& why = hosts.lacks(resolver::Kind::kGlibc); !why.empty()) {
        return fail(ErrorCode::kKernelLacks, "{}", why);
    }
    return hosts;
}

const std::string& ResolverHosts::lacks(resolver::Kind who) {
    const auto [known, is_new] = lacks_.try_emplace(who);
    if (is_new) {
        // A name of the hosts file: nothing is sent.
        const resolver::Lookup trial{.name = "localhost", .resolv_conf = "nameserver 127.0.0.1\n"};
        const auto made = resolver::look_up(hosts_.names().client, who, {trial}, 1);
        known->second = made ? "" : made.error().message;
    }
    return known->second;
}

std::string ResolverHosts::resolv_conf(const std::vector<std::string>& search,
                                       const std::string& options) const {
    return fmt::format("nameserver {}\n{}{}", to_string(hosts_.names().server_address),
                       search.empty() ? "" : fmt::format("search {}\n", fmt::join(search, " ")),
                       options.empty() ? "" : "options " + options + "\n");
}

// Starts the server with sockets of its own namespace and a thread of this process, so that no log
// has to come from elsewhere.
Result<std::unique_ptr<agent::DnsServer>> ResolverHosts::serve(agent::DnsRules rules,
                                                               agent::milliseconds delay) const {
    return process::in_netns(hosts_.names().server, [&] {
        return agent::DnsServer::start({.listen = {hosts_.names().server_address, 53},
                                        .address = {},
                                        .address6 = {},
                                        .delay = delay},
                                       rules);
    });
}

Result<std::uint64_t> ResolverHosts::reassembled() const {
    return value_in(TRY(hosts_.dut->counters()), "Ip.ReasmOKs");
}

Result<std::vector<LookupTrail>> ResolverHosts::round(const std::vector<AskedLookup>& lookups,
                                                      agent::DnsRules rules,
                                                      agent::milliseconds delay,
                                                      RoundFrames* frames) {
    // Groups the lookups by resolver, the paced ones apart.
    std::map<std::pair<resolver::Kind, bool>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < lookups.size(); ++i) {
        groups[{lookups[i].who, lookups[i].paced}].push_back(i);
    }
    const lab::NatPathNames& names = hosts_.names();
    const std::uint32_t most_bytes = frames == nullptr ? kDnsFrameBytes : kWholeFrameBytes;
    // Captures what the client receives from the DUT, and what the DUT receives from the client.
    TRY(hosts_.client->start_capture(
        {.device = names.client_device, .most_frames = kMostDnsFrames, .most_bytes = most_bytes}));
    TRY(hosts_.dut->start_capture({.device = frames == nullptr ? names.dut_client_device : "",
                                   .most_frames = kMostDnsFrames,
                                   .most_bytes = most_bytes}));
    if (frames != nullptr) {
        TRY(hosts_.server->start_capture({.device = names.server_device,
                                          .most_frames = kMostDnsFrames,
                                          .most_bytes = most_bytes}));
    }
    rules.keep_log = true;
    const auto server = serve(std::move(rules), delay);
    std::vector<LookupTrail> trails(lookups.size());
    const auto look_up = [&](const auto& group) -> Status {
        const auto& [asked, members] = group;
        std::vector<resolver::Lookup> own;
        for (const std::size_t member : members) {
            own.push_back(lookups[member].lookup);
        }
        auto outcomes = TRY(resolver::look_up(names.client, asked.first, own,
                                              asked.second ? kPacedPerSecond : kLookupsPerSecond));
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            trails[members[i]].outcome = std::move(outcomes[i]);
        }
        return {};
    };
    const Status made =
        server ? process::at_once(groups, look_up) : Status(pass_on(server.error()));
    const auto at_client = hosts_.client->stop_capture();
    const auto at_dut = hosts_.dut->stop_capture();
    auto at_server = frames == nullptr ? Result<agent::Capture>(agent::Capture())
                                       : hosts_.server->stop_capture();
    const auto log = server ? (*server)->take_log() : std::vector<agent::DnsQueryRecord>();
    TRY(first_error(made, at_client, at_dut, at_server));
    const std::uint64_t missing = at_client->missing() + at_dut->missing() + at_server->missing();
    if (missing != 0) {
        return fail(ErrorCode::kUnavailable, "the listeners on the path lost {} frames", missing);
    }
    std::map<std::string, std::size_t> by_label;
    for (std::size_t i = 0; i < lookups.size(); ++i) {
        by_label[first_label(lookups[i].lookup.name)] = i;
    }
    for (QueryTrail& query : join_queries(names.server_address, dns_of(*at_dut, false), log,
                                          dns_of(*at_client, true))) {
        if (const auto own = by_label.find(first_label(query.name)); own != by_label.end()) {
            trails[own->second].queries.push_back(std::move(query));
        }
    }
    if (frames != nullptr) {
        *frames = {.at_client = at_client->frames,
                   .at_dut = at_dut->frames,
                   .at_server = std::move(at_server->frames)};
    }
    return trails;
}

resolver::Kind resolver_in(const std::string& id) {
    if (has_part(id, "musl")) {
        return resolver::Kind::kMusl;
    }
    if (has_part(id, "go")) {
        return resolver::Kind::kGo;
    }
    return has_part(id, "resolved") ? resolver::Kind::kResolved : resolver::Kind::kGlibc;
}

agent::DnsRule found_rule(const std::string& name) {
    return {.name = name,
            .address = frame::IpAddress::v4(0xcb007105),
            .address6 = frame::parse_ip("2001:db8::5").value_or(frame::IpAddress{})};
}

std::string trail_text(const std::string& name, const LookupTrail& trail) {
    std::string text =
        fmt::format("{} {} {:.1f} ms {}\n", name, trail.outcome.word, trail.outcome.milliseconds,
                    fmt::join(trail.outcome.addresses, " "));
    for (const QueryTrail& query : trail.queries) {
        text +=
            fmt::format("    {:+.1f} ms type {} {}{} from {}: {}, {}\n",
                        static_cast<double>(query.sent_ns - trail.queries.front().sent_ns) / 1e6,
                        query.type, query.name, query.tcp ? " (TCP)" : "", to_string(query.client),
                        server_text(query), client_text(query));
    }
    return text;
}

}  // namespace pathproof::scenario
