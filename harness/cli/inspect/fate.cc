// pathproof inspect fate: where each packet of a flow ended on this machine, and by what.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/fate/follower.h"
#include "harness/netfilter/names.h"

namespace pathproof::cli::inspect {
namespace {

using nlohmann::json;

struct FateOptions {
    std::vector<std::string> words;
    std::optional<double> seconds;
    bool packets = false;
    bool json = false;
};

json to_json(const fate::EndCount& count) {
    const fate::End& end = count.end;
    json line{{"direction", fate::name(count.direction)},
              {"packets", count.packets},
              {"ending", fate::name(end.ending)},
              {"text", end.text},
              {"netns", end.netns},
              {"way", count.way}};
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) {
            line[key] = value;
        }
    };
    put("cause", end.cause);
    put("hook", end.hook);
    put("reason", end.reason);
    put("place", end.place);
    put("device", end.device);
    return line;
}

json to_json(const fate::Packet& packet) {
    return {{"packet",
             {{"begin_ns", packet.begin_ns},
              {"end_ns", packet.end_ns},
              {"protocol", netfilter::protocol_name(packet.protocol)},
              {"direction", fate::name(packet.direction)},
              {"source", frame::to_string(packet.source)},
              {"destination", frame::to_string(packet.destination)},
              {"last_source", frame::to_string(packet.last_source)},
              {"last_destination", frame::to_string(packet.last_destination)},
              {"first_netns", packet.first_netns},
              {"first_device", packet.first_device},
              {"clash_resolved", packet.clash_resolved},
              {"end", packet.end}}}};
}

void put_json_lines(Output& output, const fate::Flow& flow, const fate::Fates& fates,
                    const FateOptions& options) {
    json ends = json::array();
    for (const fate::EndCount& count : fates.ends) {
        ends.push_back(to_json(count));
    }
    if (options.packets) {
        for (const fate::Packet& packet : fates.each) {
            put_json(output, to_json(packet));
        }
    }
    put_json(output, {{"flow", fate::to_string(flow)},
                      {"seconds", fates.seconds},
                      {"packets", fates.packets},
                      {"lost", fates.lost},
                      {"cannot_tell", fates.cannot_tell},
                      {"ends", ends}});
}

std::string heading(fate::Direction direction) {
    switch (direction) {
        case fate::Direction::kThere: return "there";
        case fate::Direction::kBack: return "back";
        case fate::Direction::kError: return "ICMP errors about it";
    }
    return "";
}

void put_text(Output& output, const fate::Flow& flow, const fate::Fates& fates,
              const FateOptions& options) {
    output.put_line(fmt::format("{}: {} packets in {:.1f} s", fate::to_string(flow), fates.packets,
                                fates.seconds));
    for (const auto direction :
         {fate::Direction::kThere, fate::Direction::kBack, fate::Direction::kError}) {
        bool headed = false;
        for (const fate::EndCount& count : fates.ends) {
            if (count.direction != direction) {
                continue;
            }
            if (!std::exchange(headed, true)) {
                output.put_line(heading(direction) + ":");
            }
            std::string line = fmt::format("{:>8}  {} {}", count.packets,
                                           fate::name(count.end.ending), count.end.text);
            if (!count.end.netns.empty()) {
                line += ", in " + count.end.netns;
            }
            if (!count.end.device.empty() && count.end.ending == fate::Ending::kDropped) {
                line += ", device " + count.end.device;
            }
            if (!count.end.reason.empty()) {
                line += fmt::format(" ({}{})", count.end.reason,
                                    count.end.place.empty() ? "" : " at " + count.end.place);
            }
            output.put_line(line);
            if (count.end.ending == fate::Ending::kDropped) {
                for (const std::string& step : count.way) {
                    output.put_line("            " + step);
                }
            }
        }
    }
    if (options.packets) {
        for (const fate::Packet& packet : fates.each) {
            output.put_line(fmt::format(
                "{} {} > {}  {}", time_text(packet.begin_ns), frame::to_string(packet.source),
                frame::to_string(packet.destination), fates.ends[packet.end].end.text));
        }
    }
    if (fates.lost != 0) {
        output.put_line(fmt::format("{} packets could not be followed: the counts are lower bounds",
                                    fates.lost));
    }
    for (const std::string& untold : fates.cannot_tell) {
        output.put_line("this kernel does not tell " + untold);
    }
}

Result<int> run_fate(const FateOptions& options) {
    const fate::Flow flow = TRY(fate::parse_flow(options.words));
    process::stop_on_signals();
    auto follower = TRY(fate::Follower::start({.flows = {flow}}));
    fmt::print(stderr, "pathproof: following {} on this machine{}\n", fate::to_string(flow),
               options.seconds ? "" : ", until interrupted");
    process::sleep_until(Limits{.duration_s = options.seconds, .count = {}}.deadline());
    const fate::Fates fates = follower->stop();
    Output output;
    if (options.json) {
        put_json_lines(output, flow, fates, options);
    } else {
        put_text(output, flow, fates, options);
    }
    output.flush();
    return fates.packets == 0 || fates.lost != 0 ? kIncomplete : kDone;
}

}  // namespace

void add_fate(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "fate", "Where each packet of a flow ended on this machine, and by what");
    const auto options = options_for<FateOptions>(*app, chosen, run_fate);
    app->add_option("flow", options->words,
                    "'udp 10.0.0.5:40000 10.96.0.10:53'; '*' is any address, one without a port "
                    "any port of it")
        ->required();
    app->add_option("--seconds", options->seconds, "end after so many (default: when interrupted)")
        ->check(number_in(kShortestInterval, kLongestDuration));
    app->add_flag("--packets", options->packets, "also print each packet");
    app->add_flag("--json", options->json, "print JSON lines");
    app->footer(
        "Follows the packets of both directions through all namespaces of this machine by the "
        "kernel's\n"
        "own buffers, whatever NAT makes of their addresses, and changes nothing. Needs root "
        "(CAP_BPF,\n"
        "CAP_PERFMON) and a kernel with BTF. Exit codes: 0 done, 2 bad input or no root, 3 no "
        "packet came,\n"
        "packets could not be followed, or the kernel cannot do it.");
}

}  // namespace pathproof::cli::inspect
