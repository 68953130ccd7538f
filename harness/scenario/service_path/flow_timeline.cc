#include "harness/scenario/service_path/flow_timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/tcp.h>
#include <rte_byteorder.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <algorithm>

#include "dataplane/base/clock.h"
#include "dataplane/frame/view.h"
#include "harness/netfilter/text.h"
#include "harness/scenario/service_path/syn_trail.h"

namespace pathproof::scenario {
namespace {

using frame::Endpoint;
using frame::PacketView;
using frame::Transport;

constexpr std::uint32_t kTimelineBytes =
    192;  // of each frame: a tunnel's headers and TCP's options
constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::size_t kFirstRows = 30;
constexpr std::size_t kLastRows = 10;
// Time by which an event, as a listener reads it, may lag behind the packet that caused it.
constexpr std::int64_t kEventSlackNs = 5'000'000;

struct Moment {
    std::int64_t time_ns = 0;
    enum class Where : std::uint8_t { kClientWire, kServerWire, kConntrack } where{};
    std::string text;
};

// A flow's endpoint after NAT, valid from the flow's first sign to its end.
struct Translated {
    Endpoint client;
    std::int64_t from_ns = 0, until_ns = INT64_MAX;
};

// Both ends of a packet, and of the one that an ICMP error quotes.
struct Ends {
    std::uint8_t protocol = 0;
    Endpoint source, destination;
    bool ports_known = true;
};

Ends ends_of(const PacketView& view) {
    return {.protocol = view.protocol,
            .source = view.source_endpoint(),
            .destination = view.destination_endpoint(),
            .ports_known = view.transport != Transport::kNone};
}

std::optional<Ends> quoted_by(const PacketView& view, frame::Bytes bytes) {
    if (view.transport != Transport::kIcmp) {
        return std::nullopt;
    }
    const auto icmp = frame::view<rte_icmp_hdr>(bytes, view.transport_offset);
    const std::size_t at = view.transport_offset + sizeof(rte_icmp_hdr);
    const auto ip = frame::view<rte_ipv4_hdr>(bytes, at);
    if (!icmp || !ip || icmp->icmp_type == 0 || icmp->icmp_type == 8) {
        return std::nullopt;
    }
    const auto ports =
        frame::view<std::array<rte_be16_t, 2>>(bytes, at + (ip->version_ihl & 0xfU) * 4U);
    const auto endpoint = [&](rte_be32_t address, std::size_t which) {
        return Endpoint{frame::IpAddress::v4(rte_be_to_cpu_32(address)),
                        ports ? rte_be_to_cpu_16((*ports)[which]) : std::uint16_t{0}};
    };
    return Ends{.protocol = ip->next_proto_id,
                .source = endpoint(ip->src_addr, 0),
                .destination = endpoint(ip->dst_addr, 1),
                .ports_known = ports.has_value()};
}

bool is_of(const Ends& ends, std::uint8_t protocol, const Endpoint& client) {
    const auto matches = [&](const Endpoint& own) {
        return own.address == client.address && (!ends.ports_known || own.port == client.port);
    };
    return ends.protocol == protocol && (matches(ends.source) || matches(ends.destination));
}

frame::FrameView in_tunnel(const agent::CapturedFrame& frame) {
    constexpr std::array<std::uint16_t, 1> kTunnels{kVxlanPort};
    return frame::parse_frame(frame.bytes, kTunnels);
}

std::string tcp_text(const PacketView& view, const agent::CapturedFrame& frame) {
    const auto tcp = frame::view<rte_tcp_hdr>(frame.bytes, view.transport_offset);
    if (!tcp) {
        return "TCP";
    }
    std::vector<const char*> flags;
    for (const auto& [flag, name] : {std::pair{TH_SYN, "SYN"},
                                     {TH_FIN, "FIN"},
                                     {TH_RST, "RST"},
                                     {TH_PUSH, "PSH"},
                                     {TH_ACK, "ACK"}}) {
        if ((tcp->tcp_flags & flag) != 0) {
            flags.push_back(name);
        }
    }
    std::string text =
        fmt::format("TCP {} seq {}", fmt::join(flags, ","), rte_be_to_cpu_32(tcp->sent_seq));
    if ((tcp->tcp_flags & TH_ACK) != 0) {
        text += fmt::format(" ack {}", rte_be_to_cpu_32(tcp->recv_ack));
    }
    const auto segment = read_segment(frame);
    if (segment && segment->timestamp) {
        text += fmt::format(" TSval {}", *segment->timestamp);
    }
    return text;
}

std::string transport_text(const PacketView& view, const agent::CapturedFrame& frame) {
    if (view.transport == Transport::kTcp) {
        return tcp_text(view, frame);
    }
    return view.transport == Transport::kUdp ? "UDP" : fmt::format("IP protocol {}", view.protocol);
}

std::string packet_text(const agent::CapturedFrame& frame) {
    const frame::FrameView whole = in_tunnel(frame);
    const PacketView& view = whole.innermost();
    std::string text = fmt::format("{} > {} ", to_string(view.source_endpoint()),
                                   to_string(view.destination_endpoint()));
    if (const auto quoted = quoted_by(view, frame.bytes)) {
        const auto icmp = frame::view<rte_icmp_hdr>(frame.bytes, view.transport_offset);
        return fmt::format("{} > {} ICMP type {} code {} about {} > {}", to_string(view.source),
                           to_string(view.destination), icmp->icmp_type, icmp->icmp_code,
                           to_string(quoted->source), to_string(quoted->destination));
    }
    if (view.fragment != frame::Fragment::kWhole) {
        return fmt::format("{} > {} {} fragment of an IP packet", to_string(view.source),
                           to_string(view.destination),
                           view.fragment == frame::Fragment::kFirst ? "first" : "later");
    }
    text += transport_text(view, frame);
    // The frame's length also covers a super-frame, whose length no header of the kept bytes gives.
    const std::uint32_t behind = frame.length - std::min(frame.length, view.payload_offset);
    text += fmt::format(", {} bytes", std::min(view.payload_length, behind));
    return whole.has_inner ? "in VXLAN: " + text : text;
}

std::string entry_text(const netfilter::Entry& entry) {
    std::string text;
    netfilter::append_text(text, entry);
    return text;
}

class Story {
  public:
    Story(const FlowRecord& record, const FlowOfClient& flow) : record_(record), flow_(flow) {
        for (const agent::CapturedFrame& frame : record_.client_wire) {
            const frame::FrameView view = in_tunnel(frame);
            if (flow_.port_in_tunnel != 0 && view.has_inner &&
                view.inner.destination_port == flow_.port_in_tunnel &&
                view.outer.source == flow_.client.address) {
                flow_.client.port = view.outer.source_port;
                break;
            }
        }
    }

    std::vector<Moment> moments() {
        take_conntrack();
        take_wire(record_.client_wire, Moment::Where::kClientWire);
        take_wire(record_.server_wire, Moment::Where::kServerWire);
        std::ranges::stable_sort(moments_, {}, &Moment::time_ns);
        return std::move(moments_);
    }

  private:
    bool in_time(std::int64_t time_ns, std::int64_t slack_ns = 0) const {
        return time_ns >= flow_.from_ns &&
               (flow_.until_ns == INT64_MAX || time_ns <= flow_.until_ns + slack_ns);
    }

    bool is_own(const netfilter::Entry& entry) const {
        const netfilter::Tuple& tuple = entry.original;
        return tuple.protocol == flow_.protocol && tuple.source.address == flow_.client.address &&
               tuple.source.port == flow_.client.port;
    }

    void take_conntrack() {
        const auto there = [&](const std::vector<netfilter::Entry>& entries, std::int64_t time_ns,
                               const char* when) {
            for (const netfilter::Entry& entry : entries) {
                if (is_own(entry) && in_time(time_ns)) {
                    moments_.push_back({time_ns, Moment::Where::kConntrack,
                                        fmt::format("{}: {}", when, entry_text(entry))});
                }
            }
        };
        there(record_.before, record_.began_ns, "there at the start");
        for (const netfilter::Entry& entry : record_.before) {
            if (is_own(entry)) {
                translated_.push_back({.client = entry.reply.destination});
            }
        }
        for (const netfilter::Event& event : record_.events) {
            if (is_own(event.entry)) {
                take(event);
            }
        }
        there(record_.after, record_.ended_ns, "there at the end");
    }

    void take(const netfilter::Event& event) {
        const std::int64_t time_ns =
            event.kernel_time_ns ? static_cast<std::int64_t>(*event.kernel_time_ns) : event.time_ns;
        const std::int64_t slack_ns = event.kernel_time_ns ? 0 : kEventSlackNs;
        if (event.kind == netfilter::EventKind::kNew) {
            translated_.push_back(
                {.client = event.entry.reply.destination, .from_ns = time_ns - slack_ns});
        } else if (event.kind == netfilter::EventKind::kDestroy && !translated_.empty()) {
            translated_.back().until_ns = time_ns + slack_ns;
        }
        if (in_time(time_ns, slack_ns)) {
            std::string text;
            netfilter::append_text(text, event);
            const std::size_t first = text.find_first_not_of(' ');
            moments_.push_back({time_ns, Moment::Where::kConntrack,
                                text.substr(first == std::string::npos ? 0 : first)});
        }
    }

    void take_wire(const std::vector<agent::CapturedFrame>& frames, Moment::Where where) {
        for (const agent::CapturedFrame& frame : frames) {
            if (in_time(frame.time_ns) && is_own(frame, where)) {
                moments_.push_back({frame.time_ns, where, packet_text(frame)});
            }
        }
    }

    bool is_own(const agent::CapturedFrame& frame, Moment::Where where) const {
        const frame::FrameView view = in_tunnel(frame);
        if (flow_.port_in_tunnel != 0 && view.has_inner) {
            return view.inner.source_port == flow_.port_in_tunnel ||
                   view.inner.destination_port == flow_.port_in_tunnel;
        }
        const auto quoted = quoted_by(view.outer, frame.bytes);
        const auto is_of_client = [&](const Endpoint& client) {
            return is_of(quoted ? *quoted : ends_of(view.outer), flow_.protocol, client);
        };
        return where == Moment::Where::kClientWire || translated_.empty()
                   ? is_of_client(flow_.client)
                   : std::ranges::any_of(translated_, [&](const Translated& each) {
                         return frame.time_ns >= each.from_ns && frame.time_ns <= each.until_ns &&
                                is_of_client(each.client);
                     });
    }

    const FlowRecord& record_;
    FlowOfClient flow_;
    std::vector<Translated> translated_;
    std::vector<Moment> moments_;
};

}  // namespace

Status FlowRecorder::listen(agent::Client& agent, const std::string& device) {
    return agent.start_capture({.device = device, .most_bytes = kTimelineBytes});
}

Result<FlowRecorder> FlowRecorder::start(bool wanted, const NatPathHosts& hosts,
                                         const agent::ConntrackFilter& entries) {
    FlowRecorder recorder;
    auto beside = wanted ? hosts.dut->start_beside() : Result<Listener>(Listener());
    // A guest has one agent: its flows have no story, and are judged all the same.
    const bool cannot = !beside && beside.error().code == ErrorCode::kNotSupported;
    if (!wanted || cannot) {
        return recorder;
    }
    recorder.dut_client_side_ = TRY(std::move(beside));
    recorder.entries_ = entries;
    const lab::NatPathNames& names = hosts.names();
    recorder.client_ = TRY(hosts.client->start_beside());
    recorder.dut_server_side_ = TRY(hosts.dut->start_beside());
    recorder.server_ = TRY(hosts.server->start_beside());
    TRY(listen(*recorder.client_, names.client_device));
    TRY(listen(*recorder.dut_client_side_, names.first_of_dut()));
    TRY(listen(*recorder.dut_server_side_, names.dut_server_device));
    TRY(listen(*recorder.server_, names.server_device));
    recorder.record_.before = TRY(recorder.dut_client_side_->conntrack_dump(entries));
    TRY(recorder.dut_client_side_->start_events(entries));
    recorder.record_.began_ns = realtime_ns();
    return recorder;
}

Result<std::optional<FlowRecord>> FlowRecorder::stop() {
    if (client_ == nullptr) {
        return std::nullopt;
    }
    record_.ended_ns = realtime_ns();
    record_.after = TRY(dut_client_side_->conntrack_dump(entries_));
    auto log = TRY(dut_client_side_->stop_events());
    record_.events = std::move(log.events);
    record_.missing = log.overruns;
    for (const auto& [agent, frames] : {std::pair{&client_, &record_.client_wire},
                                        {&dut_client_side_, &record_.client_wire},
                                        {&server_, &record_.server_wire},
                                        {&dut_server_side_, &record_.server_wire}}) {
        auto capture = TRY((*agent)->stop_capture());
        record_.missing += capture.missing();
        std::ranges::move(capture.frames, std::back_inserter(*frames));
        agent->reset();
    }
    return std::move(record_);
}

std::optional<verdict::Proof> flow_timeline(const std::string& title,
                                            const std::optional<FlowRecord>& record,
                                            const FlowOfClient& flow) {
    const std::vector<Moment> moments =
        record ? Story(*record, flow).moments() : std::vector<Moment>();
    if (moments.empty()) {
        return std::nullopt;
    }
    verdict::Proof proof{
        .title = title,
        .columns = {"ms", "between the client and the DUT (before NAT)",
                    "between the DUT and the server (after NAT)", "the DUT's conntrack"}};
    for (std::size_t i = 0; i < moments.size(); ++i) {
        const std::size_t cut = moments.size() - std::min(moments.size(), kFirstRows + kLastRows);
        if (i == kFirstRows && cut != 0) {
            proof.rows.push_back({"", fmt::format("{} more are left out", cut), "", ""});
            i += cut;
        }
        std::vector<std::string> row(proof.columns.size());
        row[0] = fmt::format(
            "{:.3f}", static_cast<double>(moments[i].time_ns - moments.front().time_ns) / 1e6);
        row[1 + static_cast<std::size_t>(moments[i].where)] = moments[i].text;
        proof.rows.push_back(std::move(row));
    }
    const auto count = [&](Moment::Where where) {
        return std::ranges::count(moments, where, &Moment::where);
    };
    proof.conclusion = fmt::format(
        "{} packets before NAT, {} after it, {} lines of conntrack{}.",
        count(Moment::Where::kClientWire), count(Moment::Where::kServerWire),
        count(Moment::Where::kConntrack),
        record->missing == 0
            ? ""
            : fmt::format("; the listeners lost {} packets or events", record->missing));
    return proof;
}

}  // namespace pathproof::scenario
