// Sends the probes of a pod-paths cell, and counts what of them arrives where it belongs.

#include "harness/scenario/pods/pod_way.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/frame/crc32c.h"
#include "dataplane/frame/template.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"
#include "harness/agent/device_info.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"
#include "harness/scenario/first_error.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using frame::Family;
using PodSize = PodPathValues::Size;

constexpr std::uint32_t kSmallPacket = 128;
constexpr std::uint32_t kOverMtu = 1000;
constexpr std::uint64_t kLongTransfer = 200'000;
// Forged frames are sent again where none came: what is waited for is longer each time.
constexpr std::array kForgePatience{40ms, 80ms, 160ms, 320ms};

unsigned ip_header(Family family) {
    return family == Family::kIpv4 ? 20 : 40;
}

// INIT or INIT ACK (RFC 9260, sections 3.3.2 and 3.3.3), filled to that length with a PAD parameter
// (RFC 4820).
std::vector<std::uint8_t> sctp_packet(std::uint16_t from, std::uint16_t to, bool is_answer,
                                      std::size_t length) {
    constexpr std::uint32_t kTag = 0x70617468;
    std::vector<std::uint8_t> bytes;
    const auto put16 = [&](std::size_t value) {
        bytes.push_back(static_cast<std::uint8_t>(value >> 8));
        bytes.push_back(static_cast<std::uint8_t>(value));
    };
    const auto put32 = [&](std::uint32_t value) {
        put16(value >> 16);
        put16(value & 0xffff);
    };
    constexpr std::size_t kCommon = 12, kInit = 20, kCookie = 8, kParameter = 4;
    length = std::max(length / 4 * 4, kCommon + kInit + kCookie + kParameter);
    put16(from);
    put16(to);
    put32(is_answer ? kTag : 0);
    put32(0);  // checksum
    put16(is_answer ? 0x0200 : 0x0100);
    put16(length - kCommon);
    put32(kTag);
    put32(65'536);
    put16(1);
    put16(1);
    put32(1);
    put16(is_answer ? 7 : 0x8005);  // State Cookie, or PAD
    put16(kCookie);
    put32(0);
    put16(0x8005);
    put16(length - bytes.size() + 2);
    bytes.resize(length);
    frame::Crc32c crc;
    crc.add(bytes);
    const std::uint32_t sum = htonl(crc.sctp_checksum());
    std::memcpy(bytes.data() + 8, &sum, sizeof sum);
    return bytes;
}

Result<std::vector<std::uint8_t>> sctp_frame(const frame::MacAddress& from_mac,
                                             const frame::MacAddress& to_mac,
                                             const frame::Endpoint& from, const frame::Endpoint& to,
                                             bool is_answer, std::size_t packet_bytes) {
    frame::FrameSpec spec;
    spec.packet.source_mac = from_mac;
    spec.packet.destination_mac = to_mac;
    spec.packet.source = {from.address, 0};
    spec.packet.destination = {to.address, 0};
    spec.packet.transport = frame::Transport::kOther;
    spec.packet.protocol = IPPROTO_SCTP;
    spec.payload =
        sctp_packet(from.port, to.port, is_answer, packet_bytes - ip_header(from.address.family));
    const auto made = TRY(frame::FrameTemplate::make(spec));
    return made.render();
}

bool is_echo_request(const std::vector<std::uint8_t>& bytes, const frame::PacketView& packet) {
    const bool is_icmp = packet.transport == frame::Transport::kIcmp ||
                         packet.transport == frame::Transport::kIcmpv6;
    if (packet.fragment == frame::Fragment::kFirst) {
        return true;
    }
    const std::uint8_t type =
        is_icmp && packet.transport_offset < bytes.size() ? bytes[packet.transport_offset] : 0;
    return type == 8 || type == 128;
}

bool has_protocol(const frame::PacketView& packet, PodProtocol protocol) {
    switch (protocol) {
        case PodProtocol::kTcp: return packet.protocol == IPPROTO_TCP;
        case PodProtocol::kUdp: return packet.protocol == IPPROTO_UDP;
        case PodProtocol::kSctp: return packet.protocol == IPPROTO_SCTP;
        case PodProtocol::kIcmp:
            return packet.protocol == IPPROTO_ICMP || packet.protocol == IPPROTO_ICMPV6;
    }
    return false;
}

std::uint16_t probed_port(PodProtocol protocol) {
    if (protocol == PodProtocol::kTcp) {
        return kPodTransferPort;
    }
    return protocol == PodProtocol::kUdp ? kPodDnsPort : kPodSctpPort;
}

// Takes the probe's frames that came in at the receiver.
void take(const PodPathCell& what, const PodWay& way,
          const std::vector<agent::CapturedFrame>& frames, PodPathValues& seen) {
    std::map<std::uint32_t, std::uint64_t> datagrams;  // UDP, by bytes of payload
    std::uint64_t pieces = 0;                          // bytes in fragments
    for (const agent::CapturedFrame& frame : frames) {
        const frame::FrameView view =
            frame::parse_frame(frame.bytes, std::span<const std::uint16_t>());
        const frame::PacketView& packet = view.outer;
        const bool own = has_protocol(packet, what.protocol);
        const std::uint16_t port = probed_port(what.protocol);
        const bool whole = packet.fragment != frame::Fragment::kLater;
        if (!own || packet.destination != way.receiver_address ||
            (whole && what.protocol != PodProtocol::kIcmp && packet.destination_port != port) ||
            (whole && what.protocol == PodProtocol::kIcmp &&
             !is_echo_request(frame.bytes, packet))) {
            continue;
        }
        ++seen.receiver_frames;
        if (std::ranges::find(seen.sources, to_string(packet.source)) == seen.sources.end()) {
            seen.sources.push_back(to_string(packet.source));
        }
        if (packet.fragment != frame::Fragment::kWhole) {
            pieces += packet.network_end - packet.network_offset - packet.network_length;
        } else if (packet.transport == frame::Transport::kUdp) {
            ++datagrams[packet.payload_length];
        }
        if (frame.checksum != agent::ChecksumStatus::kPartial && whole) {
            seen.receiver_bad += judge::verify(frame.bytes, view).any_bad() ? 1 : 0;
        }
    }
    if (what.protocol != PodProtocol::kUdp) {
        return;
    }
    const std::uint32_t head = ip_header(what.family) + 8;
    for (PodSize& size : seen.sizes) {
        if (size.name == "mtu") {
            size.arrived = datagrams.contains(size.bytes - head);
        } else if (size.name == "over") {
            // The packet arrives in pieces, or whole if conntrack joined it on the way.
            size.arrived = datagrams.contains(size.bytes - head) ||
                           pieces >= size.bytes - ip_header(what.family);
        }
    }
    // The first that did not arrive is the last one that counts.
    const auto failed = std::ranges::find(seen.sizes, false, &PodSize::arrived);
    if (failed != seen.sizes.end()) {
        seen.sizes.erase(failed + 1, seen.sizes.end());
    }
}

Status send_icmp(const PodPathCell& what, const PodWay& way, PodPathValues& seen) {
    const std::uint32_t head = ip_header(what.family) + 8;
    for (const auto& [name, bytes] :
         {std::pair{"small", kSmallPacket}, {"mtu", way.mtu}, {"over", way.mtu + kOverMtu}}) {
        if (bytes > way.mtu && !seen.no_pieces.empty()) {
            break;
        }
        const auto probe = TRY(way.sender->agent->ping({.destination = way.called,
                                                        .count = 1,
                                                        .payload_bytes = bytes - head,
                                                        .timeout = 1500ms}));
        seen.sizes.push_back({name, bytes, probe.ok, probe.ok, probe.outcome});
        if (!probe.ok) {
            break;
        }
    }
    return {};
}

Status send_tcp(const PodPathCell& what, const PodWay& way, PodPathValues& seen) {
    const std::uint64_t segment = way.mtu - ip_header(what.family) - 32;  // with timestamps
    for (const auto& [name, bytes] :
         {std::pair{"small", std::uint64_t{100}}, {"mtu", segment}, {"over", kLongTransfer}}) {
        const auto probe = TRY(way.sender->agent->tcp_transfer(
            {.server = way.at(kPodTransferPort), .bytes = bytes, .timeout = 2500ms}));
        seen.sizes.push_back({name, static_cast<std::uint32_t>(bytes),
                              probe.received > 0 || probe.ok, probe.ok, probe.outcome});
        if (!probe.ok) {
            break;
        }
    }
    return {};
}

// Lookups before and after the larger datagrams: once the last is answered, those have come by
// or never will.
Status send_udp(const PodPathCell& what, const PodWay& way, PodPathValues& seen) {
    const frame::Endpoint server = way.at(kPodDnsPort);
    const auto look_up = [&] {
        return way.sender->agent->dns_lookup(
            {.server = server, .name = "pod.pathproof.test", .timeout = 1500ms});
    };
    const auto first = TRY(look_up());
    seen.sizes.push_back({"small", kSmallPacket, first.ok, first.ok, first.outcome});
    if (!first.ok) {
        return {};
    }
    const std::uint32_t head = ip_header(what.family) + 8;
    for (const auto& [name, bytes] : {std::pair{"mtu", way.mtu}, {"over", way.mtu + kOverMtu}}) {
        if (bytes > way.mtu && !seen.no_pieces.empty()) {
            break;
        }
        const auto sent = TRY(way.sender->agent->send_datagrams(
            {.source = {},
             .destination = server,
             .payloads = {std::vector<std::uint8_t>(bytes - head, 0x70)}}));
        seen.sizes.push_back({name, bytes, false, true,
                              sent.refusals.empty() ? "a datagram, which nobody answers"
                                                    : sent.refusals.front().reason});
    }
    const auto last = TRY(look_up());
    if (!last.ok) {
        seen.sizes.push_back({"small again", kSmallPacket, last.ok, last.ok, last.outcome});
    }
    return {};
}

struct Hop {
    std::string device;
    frame::MacAddress own, next;
};
// The next hop to an address; ARP or ND ask for it where nobody did before.
Result<Hop> hop_to(PodHost& host, const frame::IpAddress& address) {
    const auto ask = [&](std::vector<std::string> words) -> Result<nlohmann::json> {
        words.insert(words.begin(), {"ip", "-j"});
        const auto said = TRY(process::run_checked(words, {.netns = host.netns}));
        auto parsed = process::parse_foreign(said);
        if (!parsed.is_array() || parsed.empty() || !parsed[0].is_object()) {
            return fail(ErrorCode::kFailed, "{} says nothing of it", fmt::join(words, " "));
        }
        return nlohmann::json(parsed[0]);
    };
    const auto route = TRY(ask({"route", "get", to_string(address)}));
    const std::string next = route.value("gateway", to_string(address));
    Hop hop{.device = route.value("dev", host.device)};
    hop.own = TRY(host.agent->device(hop.device)).mac;
    for (int i = 0; i < 2; ++i) {
        const auto neighbour = ask({"neigh", "show", "to", next, "dev", hop.device});
        const auto mac = neighbour ? frame::parse_mac(neighbour->value("lladdr", std::string()))
                                   : Result<frame::MacAddress>(pass_on(neighbour.error()));
        if (mac) {
            hop.next = *mac;
            return hop;
        }
        TRY(host.agent->ping({.destination = *frame::parse_ip(next), .count = 1}));
    }
    return fail(ErrorCode::kFailed, "{} does not answer ARP or ND", next);
}

// Sends a forged frame until it is seen, with its own destination port, at the other side; nothing:
// it never was.
template <typename Is>
Result<std::optional<agent::CapturedFrame>> forge(PodHost& from, const std::string& device,
                                                  const std::vector<std::uint8_t>& bytes,
                                                  PodHost& to, const Is& is) {
    for (const auto patience : kForgePatience) {
        TRY(to.agent->start_capture({.device = to.device, .most_frames = 1024}));
        const auto sent = from.agent->send_frames(device, {{bytes, {}}});
        std::this_thread::sleep_for(patience);
        const auto capture = TRY(to.agent->stop_capture());
        const auto report = TRY(Result<agent::SendReport>(sent));
        if (!report.refusals.empty()) {
            return fail(ErrorCode::kFailed, "a forged frame was refused: {}",
                        report.refusals.front().reason);
        }
        for (const agent::CapturedFrame& frame : capture.frames) {
            const frame::PacketView view = frame::parse_packet(frame.bytes);
            if (view.protocol == IPPROTO_SCTP && is(view)) {
                return std::optional(frame);
            }
        }
    }
    return std::optional<agent::CapturedFrame>();
}

Status send_sctp(const PodPathCell& what, const PodWay& way, std::uint16_t& next_port,
                 PodPathValues& seen) {
    const Hop hop = TRY(hop_to(*way.sender, way.called));
    const frame::Endpoint called = way.at(kPodSctpPort);
    for (const auto& [name, bytes] : {std::pair{"small", kSmallPacket}, {"mtu", way.mtu}}) {
        const frame::Endpoint own{way.sender_address, next_port++};
        const auto init = TRY(sctp_frame(hop.own, hop.next, own, called, false, bytes));
        const auto came = TRY(
            forge(*way.sender, hop.device, init, *way.receiver, [&](const frame::PacketView& view) {
                return view.destination == way.receiver_address &&
                       view.destination_port == kPodSctpPort;
            }));
        PodSize size{name, bytes, came.has_value(), false,
                     came ? "an INIT, forged" : "the INIT, forged, was not seen"};
        if (came) {
            take(what, way, {*came}, seen);
            const frame::PacketView view = frame::parse_packet(came->bytes);
            frame::MacAddress to, from;
            std::copy_n(came->bytes.begin(), 6, from.bytes.begin());
            std::copy_n(came->bytes.begin() + 6, 6, to.bytes.begin());
            const auto ack = TRY(sctp_frame(from, to, view.destination_endpoint(),
                                            view.source_endpoint(), true, bytes));
            const auto back = TRY(forge(*way.receiver, way.receiver->device, ack, *way.sender,
                                        [&](const frame::PacketView& answer) {
                                            return answer.destination_endpoint() == own &&
                                                   answer.source_endpoint() == called;
                                        }));
            size.answered = back.has_value();
            size.outcome += back ? "; answered by a forged INIT ACK"
                                 : "; the forged INIT ACK did not come back";
        }
        const bool failed = !size.arrived || !size.answered;
        seen.sizes.push_back(std::move(size));
        if (failed) {
            break;
        }
    }
    return {};
}

// Sends a probe of any protocol but SCTP.
Status send_probe(const PodPathCell& what, const PodWay& way, PodPathValues& seen) {
    if (what.protocol == PodProtocol::kIcmp) {
        return send_icmp(what, way, seen);
    }
    if (what.protocol == PodProtocol::kTcp) {
        return send_tcp(what, way, seen);
    }
    return send_udp(what, way, seen);
}

}  // namespace

// Sends of each size, up to the first that fails, while the receiver's frames are taken.
Status send_by(const PodWay& way, const PodPathCell& what, std::uint16_t& next_port,
               PodPathValues& seen) {
    if (what.protocol == PodProtocol::kSctp) {
        return send_sctp(what, way, next_port, seen);
    }
    TRY(way.receiver->agent->start_capture({.device = way.receiver->device, .most_frames = 4096}));
    const Status sent = send_probe(what, way, seen);
    const auto capture = way.receiver->agent->stop_capture();
    TRY(first_error(sent, capture));
    take(what, way, capture->frames, seen);
    return {};
}

}  // namespace pathproof::scenario
