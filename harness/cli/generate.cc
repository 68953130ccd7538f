#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/offload.h"
#include "harness/cli/commands.h"
#include "harness/cli/data_port.h"
#include "harness/cli/traffic_text.h"

namespace pathproof::cli {
namespace {

using frame::FrameSpec;
using traffic::StreamPlan;

// As typed; empty texts were not given.
struct GenerateOptions {
    DataPortOptions port;
    std::uint64_t count = 0;
    double rate = 1000;
    double seconds = 0;
    bool pairs = false;
    std::string type = "A";
    std::string suffix = "pathproof.test";
    std::string source;
    std::uint16_t source_port = 10'000;
    std::uint16_t source_ports = 1000;
    std::string destination;
    std::string source_mac;
    std::string destination_mac;
    std::vector<std::uint16_t> vlans;
    std::optional<std::uint32_t> vni;
    std::string outer_source;
    std::string outer_destination;
    std::string outer_source_mac;
    std::string outer_destination_mac;
    std::vector<std::uint16_t> outer_source_ports = {49'152};
    std::vector<std::string> checksums;
    double timeout_s = 5;
    double drain_s = 0.3;
    std::uint64_t seed = 1;
    bool json = false;
};

constexpr std::uint64_t kDefaultCount = 1000;
constexpr std::uint16_t kVxlanPort = 4789;

// What was typed into `--option`, read by `parse`; the error names the option.
template <typename T>
Status read(T& into, Result<T> parsed, const char* option) {
    if (!parsed) {
        return fail(parsed.error(), "{}", option);
    }
    into = *parsed;
    return {};
}

// CLI::PositiveNumber says it with the 308 digits of the largest double.
const CLI::Validator kAboveZero(
    [](std::string& text) {
        double value = 0;
        const bool right = CLI::detail::lexical_cast(text, value) && value > 0;
        return right ? std::string() : fmt::format("'{}' is not a number above 0", text);
    },
    "NUMBER > 0");

// An end point, whose port may be left out.
Result<frame::Endpoint> endpoint(const std::string& text, std::uint16_t default_port) {
    if (const auto address = frame::parse_ip(text)) {
        return frame::Endpoint{*address, default_port};
    }
    return frame::parse_endpoint(text);
}

Status add_tunnel(FrameSpec& spec, const GenerateOptions& options) {
    frame::TunnelSpec tunnel;
    tunnel.vni = *options.vni;
    frame::PacketSpec& outer = tunnel.outer;
    for (const Status& status :
         {read(outer.source, endpoint(options.outer_source, options.outer_source_ports.front()),
               "--outer-source"),
          read(outer.destination, endpoint(options.outer_destination, kVxlanPort),
               "--outer-destination"),
          read(outer.source_mac, frame::parse_mac(options.outer_source_mac), "--outer-source-mac"),
          read(outer.destination_mac, frame::parse_mac(options.outer_destination_mac),
               "--outer-destination-mac")}) {
        if (!status) {
            return status;
        }
    }
    outer.source.port = options.outer_source_ports.front();
    spec.tunnel = tunnel;
    return {};
}

frame::ChecksumMode* checksum_field(FrameSpec& spec, const std::string& layer) {
    if (layer == "ipv4") {
        return &spec.packet.ip_checksum;
    }
    if (layer == "udp") {
        return &spec.packet.transport_checksum;
    }
    if (layer == "outer.ipv4" && spec.tunnel) {
        return &spec.tunnel->outer.ip_checksum;
    }
    return layer == "outer.udp" && spec.tunnel ? &spec.tunnel->outer.transport_checksum : nullptr;
}

Status set_checksum(FrameSpec& spec, const std::string& text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    frame::ChecksumMode* field = checksum_field(spec, text.substr(0, equals));
    if (field == nullptr) {
        return fail(ErrorCode::kBadInput, "--checksum {}: the layer must be ipv4 or udp{}", text,
                    spec.tunnel ? ", outer.ipv4 or outer.udp"
                                : "; outer.ipv4 and outer.udp need --vxlan-vni");
    }
    const auto mode = frame::checksum_mode(text.substr(std::min(equals + 1, text.size())));
    if (!mode) {
        std::string known;
        for (std::size_t n = 0; n < frame::kChecksumModes; ++n) {
            known += fmt::format("{}{}", n == 0 ? "" : ", ",
                                 frame::name(static_cast<frame::ChecksumMode>(n)));
        }
        return fail(ErrorCode::kBadInput, "--checksum {}: the mode must be one of {}", text, known);
    }
    *field = *mode;
    return {};
}

Status add_addresses(FrameSpec& spec, const GenerateOptions& options) {
    frame::PacketSpec& packet = spec.packet;
    if (Status read_in =
            read(packet.destination, endpoint(options.destination, 53), "--destination");
        !read_in) {
        return read_in;
    }
    const bool v4 = packet.destination.address.family == frame::Family::kIpv4;
    // The benchmarking ranges of RFC 2544 and RFC 5180.
    const std::string source = !options.source.empty() ? options.source
                               : v4                    ? "198.18.0.2"
                                                       : "2001:2::2";
    if (Status read_in = read(packet.source.address, frame::parse_ip(source), "--source");
        !read_in) {
        return read_in;
    }
    packet.source.port = options.source_port;
    return read(packet.destination_mac, frame::parse_mac(options.destination_mac),
                "--destination-mac");
}

void add_tags(FrameSpec& spec, const std::vector<std::uint16_t>& vlans) {
    frame::PacketSpec& link = spec.tunnel ? spec.tunnel->outer : spec.packet;
    for (std::size_t n = 0; n < vlans.size(); ++n) {
        // IEEE 802.1Q: the outer of two tags is a service tag.
        link.vlan[n] = {
            .type = vlans.size() == 2 && n == 0 ? std::uint16_t{0x88a8} : std::uint16_t{0x8100},
            .control = vlans[n]};
    }
    link.vlans = static_cast<std::uint8_t>(vlans.size());
}

Result<FrameSpec> frame_spec(const GenerateOptions& options) {
    FrameSpec spec;
    spec.seed = options.seed;
    if (Status status = add_addresses(spec, options); !status) {
        return pass_on(status.error());
    }
    if (options.vni) {
        if (Status status = add_tunnel(spec, options); !status) {
            return pass_on(status.error());
        }
    }
    add_tags(spec, options.vlans);
    for (const std::string& text : options.checksums) {
        if (Status status = set_checksum(spec, text); !status) {
            return pass_on(status.error());
        }
    }
    if (!options.source_mac.empty()) {
        Status status =
            read(spec.packet.source_mac, frame::parse_mac(options.source_mac), "--source-mac");
        if (!status) {
            return pass_on(status.error());
        }
    }
    if (Status possible = frame::check(spec); !possible) {
        return pass_on(possible.error());
    }
    return spec;
}

// Of --count and --duration, whichever ends first.
Result<std::uint64_t> amount(const GenerateOptions& options) {
    if (options.seconds <= 0) {
        return options.count == 0 ? kDefaultCount : options.count;
    }
    const double wanted = std::ceil(options.rate * options.seconds);
    if (!(wanted < 1e12)) {
        return fail(ErrorCode::kBadInput, "{} per second for {} s are too many to follow",
                    options.rate, options.seconds);
    }
    const auto fitting = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    return options.count == 0 ? fitting : std::min(options.count, fitting);
}

traffic::Nanoseconds duration(double seconds) {
    return traffic::Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

Result<StreamPlan> stream_plan(const GenerateOptions& options) {
    const Result<FrameSpec> spec = frame_spec(options);
    if (!spec) {
        return pass_on(spec.error());
    }
    const Result<std::uint64_t> groups = amount(options);
    if (!groups) {
        return pass_on(groups.error());
    }
    const std::uint16_t one = options.type == "AAAA" ? frame::kDnsTypeAaaa : frame::kDnsTypeA;
    StreamPlan plan{.group = {one},
                    .groups = *groups,
                    .groups_per_second = options.rate,
                    .spec = *spec,
                    .source_ports = options.source_ports,
                    .suffix = options.suffix,
                    .answer_timeout = duration(options.timeout_s),
                    .drain = duration(options.drain_s),
                    .seed = options.seed};
    if (options.pairs) {
        plan.group = {frame::kDnsTypeA, frame::kDnsTypeAaaa};
    }
    if (options.vni) {
        plan.outer_source_ports = options.outer_source_ports;
    }
    return plan;
}

int run(const GenerateOptions& options) {
    Result<StreamPlan> plan = stream_plan(options);
    if (!plan) {
        return complain(plan.error());
    }
    if (const Status possible = traffic::check_stream(*plan); !possible) {
        return complain(possible.error());
    }
    const std::atomic<bool>& stop = stop_on_signals();
    DataPortOptions wanted = options.port;
    wanted.tx_offloads = frame::offload_request(plan->spec).port_offloads;
    Result<DataPort> data = DataPort::open(wanted);
    if (!data) {
        return complain(data.error());
    }
    if (options.source_mac.empty()) {
        plan->spec.packet.source_mac = data->port.info().mac;
    }
    const auto report = traffic::run_stream(data->eal, data->port, *plan, stop);
    if (!report) {
        return complain(report.error());
    }
    const port::PortInfo& info = data->port.info();
    fmt::print("{}", options.json ? stream_json(*report, info).dump() + "\n"
                                  : stream_table(*report, info));
    return report->partial || !report->objections.empty() ? 3 : 0;
}

void add_amounts(CLI::App& command, GenerateOptions& options) {
    command
        .add_option("--count", options.count,
                    "queries, or pairs with --pairs (default 1000, or as --duration says)")
        ->check(CLI::PositiveNumber);
    command.add_option("--rate", options.rate, "queries, or pairs, per second (default 1000)")
        ->check(kAboveZero);
    command.add_option("--duration", options.seconds, "seconds to send for")->check(kAboveZero);
    command.add_flag("--pairs", options.pairs,
                     "an A and an AAAA query at a time, from one socket in one burst");
    command.add_option("--type", options.type, "of single queries (default A)")
        ->check(CLI::IsMember({"A", "AAAA"}));
    command.add_option("--suffix", options.suffix,
                       "queries ask for qNNNNNNNN.SUFFIX (default pathproof.test)");
    command.add_option("--timeout", options.timeout_s, "seconds after which an answer is late (5)")
        ->check(kAboveZero);
    command.add_option("--drain", options.drain_s, "seconds to listen after the last query (0.3)")
        ->check(CLI::Range(0.0, 3600.0));
    command.add_option("--seed", options.seed, "for DNS ids and random checksums (default 1)");
}

void add_frame(CLI::App& command, GenerateOptions& options) {
    command
        .add_option("--destination", options.destination,
                    "where queries go: ADDRESS[:PORT], [ADDRESS]:PORT for IPv6 (port 53)")
        ->required();
    command
        .add_option("--destination-mac", options.destination_mac,
                    "Ethernet destination; of the inner frame with --vxlan-vni")
        ->required();
    command.add_option("--source-mac", options.source_mac, "default: the port's own");
    command.add_option("--source", options.source,
                       "first client address (198.18.0.2 or 2001:2::2)");
    command.add_option("--source-port", options.source_port, "first source port (10000)");
    command
        .add_option("--source-ports", options.source_ports,
                    "ports used before the next client address (1000)")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--vlan", options.vlans, "VLAN tag (PCP, DEI and VID as a number); twice: QinQ")
        ->expected(1)
        ->check(CLI::Range(0, 65'535))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1, 2);
    command
        .add_option("--checksum", options.checksums,
                    "LAYER=MODE; layers ipv4, udp, outer.ipv4, outer.udp; modes software, "
                    "offload, zero, pseudo, complement, plus-one, stale-source-port, swapped, "
                    "random")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_envelope(CLI::App& command, GenerateOptions& options) {
    CLI::Option* vni =
        command.add_option("--vxlan-vni", options.vni, "send in VXLAN with this VNI")
            ->check(CLI::Range(0u, 0xffffffu));
    std::vector<CLI::Option*> needed = {
        command.add_option("--outer-source", options.outer_source, "VTEP address of the tester"),
        command.add_option("--outer-destination", options.outer_destination,
                           "VTEP of the DUT: ADDRESS[:PORT] (port 4789)"),
        command.add_option("--outer-source-mac", options.outer_source_mac, "on the wire"),
        command.add_option("--outer-destination-mac", options.outer_destination_mac,
                           "on the wire")};
    for (CLI::Option* option : needed) {
        option->needs(vni);
        vni->needs(option);
    }
    command
        .add_option("--outer-source-port", options.outer_source_ports,
                    "outer source ports, used in turn (49152)")
        ->delimiter(',')
        ->needs(vni);
}

}  // namespace

void add_generate(CLI::App& app, Command& chosen) {
    auto options = std::make_shared<GenerateOptions>();
    CLI::App* command = app.add_subcommand(
        "generate", "Send numbered DNS queries at an exact rate and follow each to its answer");
    command
        ->add_option("port", options->port.port,
                     "kernel interface, DPDK vdev (net_tap,iface=t0) or PCI address")
        ->required();
    command->add_option("--netns", options->port.netns, "network namespace in which the port is");
    command->add_option("--cpu", options->port.cpu, "CPU of the sending lcore (default 0)")
        ->check(CLI::NonNegativeNumber);
    add_amounts(*command, *options);
    add_frame(*command, *options);
    add_envelope(*command, *options);
    command->add_flag("--json", options->json, "print the result as one JSON object");
    command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace pathproof::cli
