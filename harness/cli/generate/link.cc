#include "harness/cli/generate/link.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "dataplane/frame/template.h"
#include "dataplane/neighbour/ask.h"

namespace pathproof::cli {
namespace {

constexpr std::uint16_t kDiscard = 9;  // RFC 863
constexpr std::string_view kAhead = "pathproof: ahead of the run, to be thrown away";

// The packet whose addresses the link sees.
frame::PacketSpec& outermost(frame::FrameSpec& spec) {
    return spec.tunnel ? spec.tunnel->outer : spec.packet;
}
const frame::PacketSpec& outermost(const frame::FrameSpec& spec) {
    return spec.tunnel ? spec.tunnel->outer : spec.packet;
}

neighbour::AddressRange sources_of(const load::SourcePlan& source) {
    const std::uint64_t rows = (source.flow.flows - 1) / source.flow.ports + 1;
    return {.first = outermost(source.spec).source.address,
            .count = source.spec.tunnel ? 1 : static_cast<std::uint32_t>(rows)};
}

std::vector<std::uint16_t> vlans_of(const frame::PacketSpec& packet) {
    std::vector<std::uint16_t> vlans;
    for (std::size_t n = 0; n < packet.vlans; ++n) {
        vlans.push_back(packet.vlan[n].control);
    }
    return vlans;
}

frame::IpAddress next_hop(const TrafficOptions& options, const load::SourcePlan& source) {
    return options.link.gateway ? *options.link.gateway
                                : outermost(source.spec).destination.address;
}

// A datagram from the first client to where all frames of the run go, for RFC 863's port.
Result<frame::ByteVector> frame_ahead(frame::FrameSpec spec) {
    spec.packet.transport = frame::Transport::kUdp;
    spec.packet.destination.port = kDiscard;
    spec.payload.assign(kAhead.begin(), kAhead.end());
    for (frame::PacketSpec* packet : {&spec.packet, &outermost(spec)}) {
        packet->ip_checksum = frame::ChecksumMode::kSoftware;
        packet->transport_checksum = frame::ChecksumMode::kSoftware;
    }
    const auto made = TRY(frame::FrameTemplate::make(spec));
    return made.render();
}

}  // namespace

void add_link_options(CLI::App& command, LinkOptions& options) {
    CLI::Option* no_arp = command.add_flag(
        "--no-arp", options.no_arp,
        "answer no ARP and no neighbour discovery for the frames' addresses, and ask for none");
    command
        .add_option_function<std::string>(
            "--gateway",
            [&options](const std::string& text) {
                const auto address = frame::parse_ip(text);
                if (!address) {
                    throw CLI::ValidationError("--gateway", address.error().message);
                }
                options.gateway = *address;
            },
            "address whose MAC is asked for and sent to (default: the destination's own)")
        ->excludes(no_arp);
}

void take_stations(const TrafficOptions& options, Lanes& lanes, load::LoadPlan& plan) {
    load::SourcePlan& source = plan.source;
    frame::PacketSpec& link = outermost(source.spec);
    port::Port& sending = lanes.sending();
    port::Port& receiving = lanes.receiving();
    if (link.source_mac == frame::MacAddress()) {
        link.source_mac = sending.info().mac;
    }
    if (source.spec.packet.source_mac == frame::MacAddress()) {
        source.spec.packet.source_mac = sending.info().mac;
    }
    plan.stations.clear();
    if (options.link.no_arp) {
        return;
    }
    const neighbour::AddressRange sources = sources_of(source);
    const neighbour::AddressRange destination{link.destination.address};
    const bool frames = plan.intake.expects == load::IntakePlan::Expects::kFrames;
    plan.stations.push_back(
        {&sending, {.mac = link.source_mac, .addresses = {sources}, .vlans = vlans_of(link)}});
    if (&receiving != &sending) {
        // A device may forward into another VLAN, or into none.
        plan.stations.push_back({&receiving,
                                 {.mac = receiving.info().mac,
                                  .addresses = {frames ? destination : sources},
                                  .vlans = std::nullopt}});
    } else if (frames && options.link.gateway && options.link.gateway != destination.first) {
        plan.stations.front().station.addresses.push_back(destination);
    }
}

Result<std::optional<frame::MacAddress>> find_next_hop(const TrafficOptions& options,
                                                       const load::LoadPlan& plan,
                                                       const std::atomic<bool>& stop) {
    if (!options.asks_next_hop()) {
        return std::optional<frame::MacAddress>();
    }
    const frame::IpAddress hop = next_hop(options, plan.source);
    const auto mac = TRY(doing(
        neighbour::find_mac(plan.stations,
                            {.address = hop, .from = outermost(plan.source.spec).source.address},
                            stop),
        "--{}destination-mac was not given and cannot be found: give it, or --gateway with "
        "an address on that link",
        options.vni ? "outer-" : ""));
    neighbour::introduce(plan.stations, hop, stop);
    frame::FrameSpec spec = plan.source.spec;
    outermost(spec).destination_mac = mac;
    const auto ahead = TRY(frame_ahead(std::move(spec)));
    neighbour::send_ahead(plan.stations, ahead,
                          {reinterpret_cast<const std::uint8_t*>(kAhead.data()), kAhead.size()},
                          stop);
    return std::optional(mac);
}

void set_next_hop(const std::optional<frame::MacAddress>& mac, load::SourcePlan& source) {
    if (mac) {
        outermost(source.spec).destination_mac = *mac;
    }
}

}  // namespace pathproof::cli
