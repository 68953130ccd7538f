// "Connection reset by peer": a segment that conntrack calls INVALID is forwarded untranslated.
//
// Set:  a service that the DUT translates to an endpoint; the cures be-liberal and drop-invalid;
//       connections of which the DUT sees one direction alone.
// Sent: TCP connections that ask for something after a while; before they do, a segment more of the
//       endpoint in each: ahead of the window, in it, or a late copy.
// Seen: how each ended; on the client's wire whence its segments came; the client's RSTs; what the
//       rule for INVALID packets counted.

#include "harness/scenario/service_path/invalid_rst.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rte_byteorder.h>
#include <rte_tcp.h>

#include <cerrno>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "dataplane/frame/template.h"
#include "dataplane/frame/view.h"
#include "harness/agent/connects.h"
#include "harness/fate/flow.h"
#include "harness/lab/rule_hits.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/own_ends.h"
#include "harness/scenario/service_path/flow_timeline.h"
#include "harness/scenario/settings/service.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kOpenConnects = 8;
constexpr double kOpenPerSecond = 200;
constexpr auto kUntilSegments = 400ms;  // by then all are open
constexpr auto kUntilQuestions = 1000ms;
constexpr auto kConnectTimeout = 3000ms;
constexpr std::uint32_t kFarAhead = 1U
                                    << 28;  // of any window (RFC 7323, section 2.2: 2^30 at most)
const std::string kGreeting = "service";

// A TCP segment on a wire.
struct WireSegment {
    frame::PacketView view;
    std::uint8_t flags = 0;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgement = 0;
};

// Offset of a forged segment from the sequence number that its receiver expects.
std::uint32_t sequence_offset(SegmentCell::Sends sends) {
    if (sends == SegmentCell::Sends::kAhead) {
        return kFarAhead;
    }
    const auto greeting_bytes = static_cast<std::uint32_t>(kGreeting.size());
    return sends == SegmentCell::Sends::kInWindow ? 0 : 0U - greeting_bytes;
}

std::vector<WireSegment> tcp_of(const agent::Capture& capture) {
    std::vector<WireSegment> segments;
    for (const agent::CapturedFrame& frame : capture.frames) {
        const frame::PacketView view = frame::parse_packet(frame.bytes);
        const auto tcp = frame::view<rte_tcp_hdr>(frame.bytes, view.transport_offset);
        if (view.transport == frame::Transport::kTcp && tcp) {
            segments.push_back({view, tcp->tcp_flags, rte_be_to_cpu_32(tcp->sent_seq),
                                rte_be_to_cpu_32(tcp->recv_ack)});
        }
    }
    return segments;
}

class SegmentBench : public NatPathBench<SegmentCell, SegmentValues> {
  public:
    explicit SegmentBench(Context& context)
        : NatPathBench(context, {{".broken.txt", "every connection that broke, a line each"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        TRY(hosts_.lab->add_shortcut());
        return hosts_.server->start_closing_server({.listen = endpoint(),
                                                    .closes_first = agent::Closer::kServerAsked,
                                                    .greeting = kGreeting});
    }

  private:
    // Observations of the connections, by the client's port.
    struct Ports {
        std::set<std::uint16_t> untranslated;   // a segment came from the endpoint's own address
        std::set<std::uint16_t> answered;       // the client sent a RST there
        std::set<std::uint16_t> server_resets;  // a RST came from what the client asked
        std::set<std::uint16_t> dut_resets;     // and the DUT had made it
        std::set<std::uint16_t> taken_for_new;  // conntrack made an entry that the endpoint begins
    };

    frame::Endpoint endpoint() const { return {hosts_.names().endpoints[0], kEndpointPort}; }

    lab::Settings settings_of(const SegmentCell& what) const {
        const lab::NatPathNames& names = hosts_.names();
        lab::Settings settings = web_service(names, Proxy::kIptables, {names.endpoints[0]});
        if (!what.drops()) {
            settings.push_back(count_invalid());
        }
        for (const std::string& id : what.cures) {
            settings = both(settings, setting::cure(id).settings);
        }
        if (what.one_way) {
            // The server's answers to the client take the shortcut.
            const std::string route =
                fmt::format("{}/32 dev {}", to_string(names.client_address), names.server_shortcut);
            settings.push_back(setting::links(lab::HostRole::kServer, "answers-pass-by",
                                              names.server_shortcut,
                                              {{"route add " + route, "route delete " + route}}));
        }
        return settings;
    }

    // Packets to the client that the DUT's rule for INVALID ones counted.
    Result<std::uint64_t> invalid_hits() const {
        const auto rules = TRY(hosts_.lab->counted_rules());
        return lab::hits_of(rules, "-o " + hosts_.names().dut_client_device +
                                       " -p tcp -m conntrack --ctstate INVALID");
    }

    Status run(const SegmentCell& what, MeasuredSegmentCell& cell) override {
        for (const setting::Setting& tried : hosts_.cure) {
            cell.what.cures.push_back(tried.id);
        }
        const lab::NatPathNames& names = hosts_.names();
        const frame::Endpoint asked = what.one_way ? endpoint() : names.web_service;
        TRY(hosts_.set(settings_of(what)));
        cell.seen.liberal = TRY(hosts_.dut->read_sysctl(setting::kBeLiberal));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_TCP, .original_destination_port = asked.port}));
        TRY(hosts_.dut->start_events({.protocol = IPPROTO_TCP, .births_only = true}));
        TRY(hosts_.client->start_capture({.device = names.client_device}));
        TRY(hosts_.dut->start_capture({.device = names.dut_client_device}));
        TRY(hosts_.server->start_capture({.device = names.server_device}));
        TRY(hosts_.dut->start_fate(
            {.flows = {
                 {.protocol = IPPROTO_TCP, .source = names.client_address, .tcp_flags = TH_RST}}}));
        auto connecting = std::async(std::launch::async, [&] {
            return hosts_.client->tcp_connects({.server = asked,
                                                .count = kOpenConnects,
                                                .per_second = kOpenPerSecond,
                                                .closes_first = agent::Closer::kServerAsked,
                                                .timeout = kConnectTimeout,
                                                .asks_after = kUntilQuestions});
        });
        std::this_thread::sleep_for(kUntilSegments);
        const Status sent = send_segments(what, cell.seen);
        const auto report = connecting.get();
        const auto fates = hosts_.dut->stop_fate();
        const auto at_client = hosts_.client->stop_capture();
        const auto at_dut = hosts_.dut->stop_capture();
        const auto log = hosts_.dut->stop_events();
        const auto record = TRY(recorder.stop());
        const auto invalid = invalid_hits();
        TRY(first_error(sent, report, at_client, at_dut, log, invalid));
        cell.seen.invalid = *invalid;
        Ports ports =
            look_at(what, asked, tcp_of(*at_client), tcp_of(*at_dut), log->events, cell.seen);
        cell.seen.not_followed = own_ends(fates, fate::Direction::kBack).not_followed;
        if (cell.seen.not_followed.empty()) {
            take_own_resets(*fates, ports);
        }
        for (const agent::Connect& connect : report->connects) {
            if (take(connect, ports, cell.seen, noted()) && !cell.timeline) {
                cell.timeline = flow_timeline(what.id + ": one connection that broke", record,
                                              {IPPROTO_TCP, {names.client_address, connect.port}});
            }
        }
        return {};
    }

    // Ends the server's capture: the last segment of each client tells where its connection is.
    Status send_segments(const SegmentCell& what, SegmentValues& seen) {
        const auto capture = TRY(hosts_.server->stop_capture());
        if (what.sends == SegmentCell::Sends::kNothing) {
            return {};
        }
        std::map<std::uint16_t, agent::OffloadFrame> frames;  // by the client's port
        for (const agent::CapturedFrame& frame : capture.frames) {
            for (const WireSegment& last : tcp_of({.frames = {frame}})) {
                if (last.view.destination_endpoint() == endpoint() && (last.flags & TH_SYN) == 0) {
                    frames[last.view.source_port] = TRY(segment_after(what, frame, last));
                }
            }
        }
        std::vector<agent::OffloadFrame> all;
        for (const auto& [port, frame] : frames) {
            all.push_back(frame);
        }
        const auto report = TRY(hosts_.server->send_frames(hosts_.names().server_device, all));
        seen.segments = report.sent;
        return {};
    }

    // A segment of the endpoint to the client that sent `last`, with the ACK that it expects.
    static Result<agent::OffloadFrame> segment_after(const SegmentCell& what,
                                                     const agent::CapturedFrame& frame,
                                                     const WireSegment& last) {
        const bool ack_only = what.sends == SegmentCell::Sends::kInWindow;
        frame::FrameSpec spec;
        std::copy_n(frame.bytes.begin(), 6, spec.packet.source_mac.bytes.begin());
        std::copy_n(frame.bytes.begin() + 6, 6, spec.packet.destination_mac.bytes.begin());
        spec.packet.source = last.view.destination_endpoint();
        spec.packet.destination = last.view.source_endpoint();
        spec.packet.transport = frame::Transport::kTcp;
        spec.packet.tcp_flags = ack_only ? TH_ACK : TH_PUSH | TH_ACK;
        spec.packet.tcp_sequence = last.acknowledgement + sequence_offset(what.sends);
        spec.packet.tcp_acknowledgement = last.sequence + last.view.payload_length;
        if (!ack_only) {
            spec.payload.assign(kGreeting.begin(), kGreeting.end());
        }
        const auto made = TRY(frame::FrameTemplate::make(spec));
        return agent::OffloadFrame{.bytes = made.render(), .request = {}};
    }

    Ports look_at(const SegmentCell& what, const frame::Endpoint& asked,
                  const std::vector<WireSegment>& to_client,
                  const std::vector<WireSegment>& from_client,
                  const std::vector<netfilter::Event>& births, SegmentValues& seen) const {
        Ports ports;
        for (const WireSegment& segment : to_client) {
            const std::uint16_t port = segment.view.destination_port;
            if (!what.one_way && segment.view.source_endpoint() == endpoint()) {
                ++seen.untranslated;
                ports.untranslated.insert(port);
            } else if (segment.view.source_endpoint() == asked && (segment.flags & TH_RST) != 0 &&
                       !ports.untranslated.contains(port)) {
                ports.server_resets.insert(port);
            }
        }
        for (const WireSegment& segment : from_client) {
            if (!what.one_way && segment.view.destination_endpoint() == endpoint() &&
                (segment.flags & TH_RST) != 0) {
                ++seen.answered;
                ports.answered.insert(segment.view.source_port);
            }
        }
        for (const netfilter::Event& event : births) {
            if (event.entry.original.source == endpoint()) {
                ports.taken_for_new.insert(event.entry.original.destination.port);
            }
        }
        return ports;
    }

    // RSTs to the client that the DUT made itself: it is where they were first seen.
    static void take_own_resets(const fate::Fates& fates, Ports& ports) {
        for (const fate::Packet& packet : fates.each) {
            if (packet.direction == fate::Direction::kBack && packet.made_here &&
                packet.first_netns == fates.netns &&
                ports.server_resets.contains(packet.destination.port)) {
                ports.dut_resets.insert(packet.destination.port);
            }
        }
    }

    // Adds the connect's result to `seen`; returns whether the connection broke.
    static bool take(const agent::Connect& connect, const Ports& ports, SegmentValues& seen,
                     std::string& lines) {
        ++seen.connects;
        if (connect.error == 0 && connect.end == 0 && connect.said == kGreeting + kGreeting) {
            return false;
        }
        ++seen.broken;
        seen.reset += connect.end == ECONNRESET ? 1 : 0;
        const bool untranslated =
            ports.untranslated.contains(connect.port) && ports.answered.contains(connect.port);
        const bool lost_entry = ports.taken_for_new.contains(connect.port);
        const bool server = ports.server_resets.contains(connect.port);
        if (untranslated) {
            ++(lost_entry ? seen.by_lost_entry : seen.by_segment);
        } else if (ports.dut_resets.contains(connect.port)) {
            ++seen.by_dut;
        } else if (server) {
            ++seen.by_server;
        }
        lines += fmt::format(
            "port={} errno={} end={} said={} untranslated={} client_rst={} server_rst={} "
            "new_entry={}\n",
            connect.port, connect.error, connect.end, connect.said,
            ports.untranslated.contains(connect.port), ports.answered.contains(connect.port),
            server, lost_entry);
        return true;
    }
};

}  // namespace

std::vector<SegmentCell> segment_cells() {
    using Sends = SegmentCell::Sends;
    const auto cured = [](const char* id, const char* cure, const char* label) {
        return SegmentCell{.id = id,
                           .label = fmt::format(fmt::runtime(label), setting::cure(cure).brief),
                           .cures = {cure}};
    };
    std::vector<SegmentCell> cells = with_roles<SegmentCell>({
        {.id = "ahead", .label = "ahead of the window"},
        {.id = "late-copy", .label = "a late copy", .sends = Sends::kLateCopy},
        {.id = "control.no-segment", .label = "control: none", .sends = Sends::kNothing},
        {.id = "control.in-window", .label = "control: in the window", .sends = Sends::kInWindow},
        cured("cure.be-liberal", "be-liberal", "cure: {}"),
        cured("cure.drop-invalid", "drop-invalid", "cure: {}"),
        {.id = "ahead.after-cure", .label = "after the cures"},
        {.id = "control.one-way", .label = "control: one way"},
        cured("be-liberal.one-way", "be-liberal", "{}, one way"),
        cured("drop-invalid.one-way", "drop-invalid", "{}, one way"),
    });
    for (SegmentCell& cell : cells) {
        cell.one_way = has_part(cell.id, "one-way");
        cell.sends = cell.one_way ? Sends::kNothing : cell.sends;
        if (cell.one_way && cell.role == CellRole::kMatrix) {
            cell.role = CellRole::kDemonstration;
        }
    }
    return cells;
}

Scenario invalid_rst_scenario() {
    return nat_path_scenario<SegmentBench, segment_cells, invalid_rst_conclusions>(
        "invalid-rst", "Connection reset by peer: INVALID segments are forwarded untranslated",
        "Does a connection to a service outlive a segment of its endpoint from outside of the "
        "window (IPv4)?");
}

}  // namespace pathproof::scenario
