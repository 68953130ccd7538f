#include "harness/cli/generate/traffic_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "dataplane/load/frame_source.h"
#include "harness/cli/answer_rule.h"
#include "harness/cli/generate/link.h"
#include "harness/cli/generate/mix_text.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/seconds.h"

namespace pathproof::cli {
namespace {

using frame::FrameSpec;
using frame::TrafficClass;

constexpr std::uint16_t kVxlanPort = 4789;

// An end point, whose port may be left out.
Result<frame::Endpoint> endpoint(const std::string& text, std::uint16_t default_port) {
    if (const auto address = frame::parse_ip(text)) {
        return frame::Endpoint{*address, default_port};
    }
    return frame::parse_endpoint(text);
}

// Zero where nothing was typed; zeros are refused elsewhere where they were.
Result<frame::MacAddress> mac_typed(const std::string& text, const char* option) {
    if (text.empty()) {
        return frame::MacAddress();
    }
    auto mac = TRY(doing(frame::parse_mac(text), "{}", option));
    if (mac == frame::MacAddress()) {
        return fail(ErrorCode::kBadInput, "{} {} is no station's", option, text);
    }
    return mac;
}

Status add_tunnel(FrameSpec& spec, const TrafficOptions& options) {
    frame::TunnelSpec tunnel;
    tunnel.vni = *options.vni;
    frame::PacketSpec& outer = tunnel.outer;
    outer.source = TRY(doing(endpoint(options.outer_source, options.outer_source_ports.front()),
                             "--outer-source"));
    outer.destination =
        TRY(doing(endpoint(options.outer_destination, kVxlanPort), "--outer-destination"));
    outer.source_mac = TRY(mac_typed(options.outer_source_mac, "--outer-source-mac"));
    outer.destination_mac =
        TRY(mac_typed(options.outer_destination_mac, "--outer-destination-mac"));
    outer.source.port = options.outer_source_ports.front();
    spec.tunnel = tunnel;
    return {};
}

frame::ChecksumMode* checksum_field(FrameSpec& spec, frame::ChecksumMode& tcp,
                                    const std::string& layer) {
    if (layer == "ipv4") {
        return &spec.packet.ip_checksum;
    }
    if (layer == "udp") {
        return &spec.packet.transport_checksum;
    }
    if (layer == "tcp") {
        return &tcp;
    }
    if (layer == "outer.ipv4" && spec.tunnel) {
        return &spec.tunnel->outer.ip_checksum;
    }
    return layer == "outer.udp" && spec.tunnel ? &spec.tunnel->outer.transport_checksum : nullptr;
}

Status set_checksum(FrameSpec& spec, frame::ChecksumMode& tcp, const std::string& text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    frame::ChecksumMode* field = checksum_field(spec, tcp, text.substr(0, equals));
    if (field == nullptr) {
        return fail(ErrorCode::kBadInput, "--checksum {}: the layer must be ipv4, udp or tcp{}",
                    text,
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

Status add_addresses(FrameSpec& spec, const TrafficOptions& options) {
    frame::PacketSpec& packet = spec.packet;
    packet.destination = TRY(doing(endpoint(options.destination, 53), "--destination"));
    const bool v4 = packet.destination.address.family == frame::Family::kIpv4;
    // The benchmarking ranges of RFC 2544 and RFC 5180.
    const std::string source = !options.source.empty() ? options.source
                               : v4                    ? "198.18.0.2"
                                                       : "2001:2::2";
    packet.source.address = TRY(doing(frame::parse_ip(source), "--source"));
    packet.source.port = options.source_port;
    packet.destination_mac = TRY(mac_typed(options.destination_mac, "--destination-mac"));
    return {};
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

// Checks that both ends are addresses of one station: a frame to or from anything else proves
// nothing about a path.
Status check_ends(const frame::PacketSpec& packet, const char* which) {
    const auto is_host = [](const frame::IpAddress& address) {
        const std::uint8_t first = address.bytes[0];
        const bool v4 = address.family == frame::Family::kIpv4;
        return v4 ? first != 0 && first != 127 && first < 224
                  : first != 0xff && !(address == frame::parse_ip("::").value_or(address)) &&
                        !(address == frame::parse_ip("::1").value_or(address));
    };
    for (const auto& [end, name] :
         {std::pair{&packet.source, "source"}, {&packet.destination, "destination"}}) {
        if (!is_host(end->address)) {
            return fail(ErrorCode::kBadInput, "{}{} {} is not the address of one machine", which,
                        name, to_string(end->address));
        }
    }
    if ((packet.source_mac.bytes[0] & 1) != 0) {
        return fail(ErrorCode::kBadInput, "{}source MAC {} is a group's (its lowest bit is set)",
                    which, to_string(packet.source_mac));
    }
    return {};
}

Result<FrameSpec> frame_spec(const TrafficOptions& options, frame::ChecksumMode& tcp) {
    FrameSpec spec;
    spec.seed = options.seed;
    TRY(add_addresses(spec, options));
    if (options.vlans.size() > spec.packet.vlan.size()) {
        return fail(ErrorCode::kBadInput, "--vlan was given {} times; a frame has two tags at most",
                    options.vlans.size());
    }
    if (options.vni) {
        TRY(add_tunnel(spec, options));
    }
    add_tags(spec, options.vlans);
    for (const std::string& text : options.checksums) {
        TRY(set_checksum(spec, tcp, text));
    }
    if (!options.source_mac.empty()) {
        spec.packet.source_mac = TRY(mac_typed(options.source_mac, "--source-mac"));
    }
    TRY(check_ends(spec.packet, ""));
    if (spec.tunnel) {
        TRY(check_ends(spec.tunnel->outer, "outer "));
    }
    TRY(frame::check(spec));
    return spec;
}

Result<std::vector<load::MixPart>> mix_of(const TrafficOptions& options) {
    std::vector<load::MixPart> mix = {
        {.traffic = options.type == "AAAA" ? TrafficClass::kDnsAaaa : TrafficClass::kDnsA}};
    if (options.pairs) {
        mix = {{}};
    }
    if (!options.mix.empty()) {
        mix = TRY(doing(parse_mix(options.mix), "--mix {}", options.mix));
    }
    if (!options.size.empty()) {
        TRY(doing(set_sizes(mix, options.size), "--size {}", options.size));
    }
    return mix;
}

Status set_expected(load::IntakePlan& intake, const TrafficOptions& options) {
    intake.allowed =
        TRY(doing(load::parse_allowance(options.allow.empty() ? "wire" : options.allow),
                  "--allow {}", options.allow));
    std::vector<traffic::AnswerRule> rules;
    for (const std::string& text : options.expected_answers) {
        const auto rule = TRY(doing(parse_rule(text), "--expect-answer {}", text));
        rules.push_back(rule);
    }
    if (!rules.empty() && intake.expects == load::IntakePlan::Expects::kFrames) {
        return fail(ErrorCode::kBadInput, "--expect-answer is for --expect answers");
    }
    intake.right_answers = TRY(doing(traffic::expectations(rules), "--expect-answer"));
    return {};
}

load::IntakePlan intake_of(const TrafficOptions& options, const FrameSpec& spec) {
    load::IntakePlan intake;
    if (spec.tunnel) {
        intake.tunnel_ports = {spec.tunnel->outer.destination.port};
    }
    intake.suffix = options.suffix;
    intake.expects = options.expect == "frames" ? load::IntakePlan::Expects::kFrames
                                                : load::IntakePlan::Expects::kAnswers;
    intake.late_after = nanoseconds_of(options.timeout_s);
    intake.seed = options.seed;
    return intake;
}

void add_shape(CLI::App& command, TrafficOptions& options) {
    CLI::Option* pairs = command.add_flag(
        "--pairs", options.pairs, "an A and an AAAA query at a time, from one socket in one burst");
    CLI::Option* type = command.add_option("--type", options.type, "of single queries (default A)")
                            ->check(CLI::IsMember({"A", "AAAA"}))
                            ->excludes(pairs);
    command
        .add_option("--mix", options.mix,
                    "CLASS=WEIGHT,...; classes dns-a, dns-aaaa, tcp-syn, icmp-echo, udp")
        ->excludes(pairs)
        ->excludes(type);
    command.add_option("--size", options.size,
                       "frame length with FCS, or CLASS=LENGTH,... ('dns': both types); DNS is "
                       "padded by EDNS0 (as short as can be)");
    command
        .add_option("--flows", options.flows,
                    "different 5-tuples of each class, used in turn (default: one a frame, up to "
                    "what the addresses give)")
        ->check(kPositive);
    command.add_option("--suffix", options.suffix,
                       "queries ask for qNNNNNNNN.xTTTTTTTTTTTT.SUFFIX (pathproof.test)");
    command
        .add_option("--expect", options.expect,
                    "what shall come back: answers (default), or the frames themselves")
        ->check(CLI::IsMember({"answers", "frames"}));
    command.add_option(
        "--allow", options.allow,
        "what the path may change: wire (nothing), router (mac,ttl), nat (router and "
        "addresses and ports), or of mac, vlan, ttl[=HOPS], dscp, ecn, flow-label, id, "
        "df, source, destination, source-port, destination-port (wire); with --replay "
        "the words of verify's --allow");
    command
        .add_option("--expect-answer", options.expected_answers,
                    "what right DNS answers say, a rule as respond's --rule (default: any NOERROR)")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command.add_option("--timeout", options.timeout_s, "seconds after which an answer is late (5)")
        ->check(kAboveZero);
    command.add_option("--seed", options.seed, "for DNS ids and random checksums (default 1)")
        ->check(kWhole);
}

void add_frame(CLI::App& command, TrafficOptions& options) {
    command.add_option("--destination", options.destination,
                       "where queries go: ADDRESS[:PORT], [ADDRESS]:PORT for IPv6 (port 53)");
    command.add_option("--destination-mac", options.destination_mac,
                       "Ethernet destination (asked for by ARP or neighbour discovery); of the "
                       "inner frame with --vxlan-vni, and then needed");
    command.add_option("--source-mac", options.source_mac, "default: the port's own");
    command.add_option("--source", options.source,
                       "first client address (198.18.0.2 or 2001:2::2)");
    command.add_option("--source-port", options.source_port, "first source port (10000)")
        ->check(whole(0, 65'535));
    command
        .add_option("--source-ports", options.source_ports,
                    "ports used before the next client address (1000)")
        ->check(kUdpPort);
    command
        .add_option("--vlan", options.vlans, "VLAN tag (PCP, DEI and VID as a number); twice: QinQ")
        ->expected(1)
        ->check(whole(0, 65'535))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        .add_option("--checksum", options.checksums,
                    "LAYER=MODE; layers ipv4, udp, tcp, outer.ipv4, outer.udp; modes software, "
                    "offload, zero, pseudo, complement, plus-one, stale-source-port, swapped, "
                    "random")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_envelope(CLI::App& command, TrafficOptions& options) {
    CLI::Option* vni =
        command.add_option("--vxlan-vni", options.vni, "send in VXLAN with this VNI")
            ->check(CLI::Range(0u, 0xffffffu));
    command.add_option("--outer-source-mac", options.outer_source_mac, "default: the port's own")
        ->needs(vni);
    command
        .add_option("--outer-destination-mac", options.outer_destination_mac,
                    "on the wire (asked for by ARP or neighbour discovery)")
        ->needs(vni);
    std::vector<CLI::Option*> needed = {
        command.add_option("--outer-source", options.outer_source, "VTEP address of the tester"),
        command.add_option("--outer-destination", options.outer_destination,
                           "VTEP of the DUT: ADDRESS[:PORT] (port 4789)")};
    for (CLI::Option* option : needed) {
        option->needs(vni);
        vni->needs(option);
    }
    command
        .add_option("--outer-source-port", options.outer_source_ports,
                    "outer source ports, used in turn (49152)")
        ->delimiter(',')
        ->check(kUdpPort)
        ->needs(vni);
}

// Checks that the next hop's MAC address is typed or can be asked for: on the link alone, not in a
// tunnel.
Status check_next_hop(const TrafficOptions& options) {
    if (options.destination.empty()) {
        return fail(ErrorCode::kBadInput, "--destination is missing: it says where the frames go");
    }
    if (options.vni && options.destination_mac.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--destination-mac is missing: in a tunnel nobody can be asked for it");
    }
    if (options.link.no_arp && options.asks_next_hop()) {
        return fail(ErrorCode::kBadInput,
                    "--{}destination-mac is missing: with --no-arp nobody is asked for it",
                    options.vni ? "outer-" : "");
    }
    if (options.link.gateway && !options.asks_next_hop()) {
        return fail(ErrorCode::kBadInput,
                    "--gateway says whose MAC address is asked for; it was typed already");
    }
    const std::string& far = options.vni ? options.outer_destination : options.destination;
    const auto end = endpoint(far, 1);
    if (options.link.gateway && end && options.link.gateway->family != end->address.family) {
        return fail(ErrorCode::kBadInput, "--gateway {} and {} are not of one family",
                    to_string(*options.link.gateway), far);
    }
    return {};
}

}  // namespace

void add_traffic_options(CLI::App& command, TrafficOptions& options) {
    add_shape(command, options);
    add_frame(command, options);
    add_envelope(command, options);
    add_link_options(command, options.link);
}

Result<Traffic> traffic_of(const TrafficOptions& options, std::uint64_t flows) {
    TRY(check_next_hop(options));
    frame::ChecksumMode tcp{};  // by software
    const FrameSpec spec = TRY(frame_spec(options, tcp));
    auto mix = TRY(mix_of(options));
    Traffic traffic{.source = {.spec = spec,
                               .mix = std::move(mix),
                               .tcp_checksum = tcp,
                               .icmp_checksum = frame::ChecksumMode::kSoftware},
                    .intake = intake_of(options, spec)};
    TRY(set_expected(traffic.intake, options));
    load::SourcePlan& source = traffic.source;
    source.pairing =
        options.pairs ? load::SourcePlan::Pairing::kPairs : load::SourcePlan::Pairing::kSingle;
    source.flow = {.flows = options.flows > 0 ? options.flows : flows,
                   .first_port = options.source_port,
                   .ports = options.source_ports};
    if (options.vni) {
        source.outer_source_ports = options.outer_source_ports;
    }
    source.suffix = options.suffix;
    source.seed = options.seed;
    const auto tried = TRY(load::FrameSource::make(source));
    traffic.port_offloads = tried.port_offloads();
    traffic.wrong_on_purpose = std::ranges::any_of(options.checksums, [](const std::string& text) {
        return !text.ends_with("=software") && !text.ends_with("=offload");
    });
    return traffic;
}

}  // namespace pathproof::cli
