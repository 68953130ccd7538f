#include "harness/scenario/service_path/syn_trail.h"

#include <rte_byteorder.h>
#include <rte_tcp.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/frame/view.h"

namespace pathproof::scenario {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kTimeWaitNs = 60'000 * kNsPerMs;  // TCP_TIMEWAIT_LEN of the kernel
// Allowed difference between the client's clock before connect(2) and the kernel's at the packet.
constexpr std::int64_t kClockNs = kNsPerMs;
constexpr std::size_t kPorts = 65'536;
constexpr std::size_t kNobody = SIZE_MAX;

// RFC 7323, section 4.2; RFC 9293, section 3.4.
bool is_after(std::uint32_t one, std::uint32_t other) {
    return static_cast<std::int32_t>(one - other) > 0;
}

std::optional<std::uint32_t> timestamp_of(frame::Bytes options) {
    for (std::size_t at = 0; at < options.size();) {
        const std::uint8_t kind = options[at];
        if (kind == 0) {
            break;
        }
        if (kind == 1) {
            ++at;
            continue;
        }
        if (at + 1 >= options.size() || options[at + 1] < 2) {
            break;
        }
        if (kind == 8 && options[at + 1] == 10) {
            const auto value = frame::view<rte_be32_t>(options, at + 2);
            return value ? std::optional<std::uint32_t>(rte_be_to_cpu_32(*value)) : std::nullopt;
        }
        at += options[at + 1];
    }
    return std::nullopt;
}

// A SYN as it left the client, and as it came to the server.
struct Sent {
    Segment segment;
    std::size_t connect = kNobody;
    bool arrived = false;
    std::optional<RefusedSyn> refusal;  // what it would be refused for
    bool reset = false;                 // the client sent a RST of its 4-tuple after it

    SynFate fate(bool answered) const {
        if (!arrived) {
            return SynFate::kLost;
        }
        if (refusal && reset) {
            return refusal->fate;
        }
        return answered && !reset ? SynFate::kAccepted : SynFate::kUnanswered;
    }
};

// The last connection of a 4-tuple, as the server has it.
struct Slot {
    std::uint16_t client = 0;  // port before NAT
    std::optional<std::uint32_t> timestamp;
    std::uint32_t next = 0;
    std::int64_t closed_ns = 0;  // the client's FIN came: TIME_WAIT; 0: not yet
    std::size_t last_syn = kNobody;
};

// The ports of the NAT: which are in conntrack's entries, and which the server has in TIME_WAIT.
class Draws {
  public:
    explicit Draws(SynFindings& found, std::uint32_t from) : found_(found), from_(from) {}

    // A client's port was given `port`. The former entry of that client goes before.
    void draw(std::uint16_t client, std::uint16_t port) {
        if (const auto held = given_.find(client); held != given_.end()) {
            if (held->second == port) {
                return;
            }
            if (owner_[held->second] == client) {
                set(held->second, 0, waits_[held->second]);
            }
        }
        if (from_ > in_use_) {
            const double share = static_cast<double>(free_waiting_) / (from_ - in_use_);
            found_.expected_met += share;
            found_.expected_variance += share * (1 - share);
            found_.drawn_met += waits_[port] && owner_[port] == 0 ? 1 : 0;
        }
        set(port, client, waits_[port]);
        given_[client] = port;
    }
    void wait(std::uint16_t port, bool waits) { set(port, owner_[port], waits); }

  private:
    void set(std::uint16_t port, std::uint16_t owner, bool waits) {
        const auto free_waiting = [&] { return owner_[port] == 0 && waits_[port] ? 1U : 0U; };
        free_waiting_ -= free_waiting();
        in_use_ -= owner_[port] != 0 ? 1 : 0;
        owner_[port] = owner;
        waits_[port] = waits;
        in_use_ += owner_[port] != 0 ? 1 : 0;
        free_waiting_ += free_waiting();
    }

    SynFindings& found_;
    std::uint32_t from_;
    std::uint32_t in_use_ = 0;
    std::uint32_t free_waiting_ = 0;
    std::vector<std::uint16_t> owner_ = std::vector<std::uint16_t>(kPorts);
    std::vector<bool> waits_ = std::vector<bool>(kPorts);
    std::map<std::uint16_t, std::uint16_t> given_;
};

class Trail {
  public:
    explicit Trail(const SynRecord& record) : record_(record), draws_(found_, record.drawn_from) {
        for (const netfilter::Event& birth : record.births) {
            const std::uint16_t before = birth.entry.original.source.port;
            const std::uint16_t after = birth.entry.reply.destination.port;
            ++found_.entries;
            found_.changed_ports += before != after ? 1 : 0;
            births_.emplace(before, after);
        }
    }

    SynFindings follow() {
        take_sent();
        for (const Segment& segment : sorted(record_.after_nat)) {
            if (segment.syn) {
                take_arrival(segment);
            } else if (segment.rst) {
                take_reset(segment);
            } else if (segment.fin) {
                take_end(segment);
            }
        }
        judge();
        return std::move(found_);
    }

  private:
    static std::vector<Segment> sorted(std::vector<Segment> segments) {
        std::ranges::stable_sort(segments, {}, &Segment::time_ns);
        return segments;
    }

    void take_sent() {
        std::map<std::uint16_t, std::vector<std::size_t>> of_port;  // connects, by start
        for (std::size_t i = 0; i < record_.connects.size(); ++i) {
            of_port[record_.connects[i].port].push_back(i);
        }
        for (const Segment& segment : sorted(record_.before_nat)) {
            if (!segment.syn) {
                continue;
            }
            Sent sent{.segment = segment};
            for (const std::size_t each : of_port[segment.source_port]) {
                if (record_.connects[each].start_ns <= segment.time_ns + kClockNs) {
                    sent.connect = each;
                }
            }
            by_content_[{segment.sequence, segment.timestamp}].push_back(sent_.size());
            sent_.push_back(sent);
        }
    }

    // The latest SYN of that content that left before and has not arrived.
    std::size_t find(const Segment& arrived) const {
        std::size_t found = kNobody;
        const auto same = by_content_.find({arrived.sequence, arrived.timestamp});
        if (same == by_content_.end()) {
            return kNobody;
        }
        for (const std::size_t each : same->second) {
            if (!sent_[each].arrived && sent_[each].segment.time_ns <= arrived.time_ns) {
                found = each;
            }
        }
        return found;
    }

    void take_arrival(const Segment& segment) {
        const std::size_t at = find(segment);
        if (at == kNobody) {
            ++found_.strangers;
            return;
        }
        Sent& sent = sent_[at];
        sent.arrived = true;
        const std::uint16_t client = sent.segment.source_port;
        draws_.draw(client, segment.source_port);
        Slot& slot = slots_[segment.source_port];
        if (record_.server_closes && slot.closed_ns != 0 &&
            segment.time_ns - slot.closed_ns < kTimeWaitNs) {
            ++found_.met;
            sent.refusal = refusal(segment, slot, client);
        }
        slot = {.client = client, .timestamp = segment.timestamp, .last_syn = at};
        draws_.wait(segment.source_port, false);
    }

    // tcp_timewait_state_process(): PAWS first; then the SYN is taken if its sequence number or its
    // timestamp is later than the last.
    std::optional<RefusedSyn> refusal(const Segment& syn, const Slot& slot,
                                      std::uint16_t client) const {
        RefusedSyn refused{.port = syn.source_port,
                           .port_before_nat = client,
                           .left_by = slot.client,
                           .named = births_.contains({client, syn.source_port})};
        const bool stamped = syn.timestamp && slot.timestamp;
        if (slot.client == client || (stamped && is_after(*syn.timestamp, *slot.timestamp))) {
            return std::nullopt;
        }
        if (stamped && is_after(*slot.timestamp, *syn.timestamp)) {
            refused.last = *slot.timestamp;
            refused.own = *syn.timestamp;
            return refused;
        }
        if (is_after(syn.sequence, slot.next)) {
            return std::nullopt;
        }
        refused.fate = SynFate::kSequence;
        refused.last = slot.next;
        refused.own = syn.sequence;
        return refused;
    }

    // A RST ends a TIME_WAIT too (net.ipv4.tcp_rfc1337 is 0).
    void take_reset(const Segment& segment) {
        Slot& slot = slots_[segment.source_port];
        if (slot.closed_ns != 0) {
            ++found_.late_resets;
        } else if (slot.last_syn != kNobody) {
            sent_[slot.last_syn].reset = true;
        }
        slot = {};
        draws_.wait(segment.source_port, false);
    }

    void take_end(const Segment& segment) {
        Slot& slot = slots_[segment.source_port];
        slot.timestamp = segment.timestamp;
        slot.next = segment.next;
        slot.closed_ns = segment.time_ns;
        draws_.wait(segment.source_port, record_.server_closes);
    }

    void judge() {
        std::vector<std::vector<std::size_t>> of_connect(record_.connects.size());
        for (std::size_t i = 0; i < sent_.size(); ++i) {
            if (sent_[i].connect != kNobody) {
                of_connect[sent_[i].connect].push_back(i);
            }
        }
        for (std::size_t i = 0; i < record_.connects.size(); ++i) {
            judge(record_.connects[i], of_connect[i]);
        }
    }

    void judge(const agent::Connect& connect, const std::vector<std::size_t>& syns) {
        const bool slow = connect.error == 0 && connect.milliseconds > kSlowConnectMs;
        ++found_.connects;
        found_.failed += connect.error != 0 ? 1 : 0;
        found_.slow += slow ? 1 : 0;
        found_.slowest_ms = std::max(found_.slowest_ms, connect.milliseconds);
        const auto end =
            connect.start_ns + static_cast<std::int64_t>(connect.milliseconds * kNsPerMs);
        SynFate waited_on = SynFate::kAccepted;
        for (std::size_t n = 0; n < syns.size(); ++n) {
            const Sent& sent = sent_[syns[n]];
            const bool last = n + 1 == syns.size();
            const SynFate fate = sent.fate(last && connect.error == 0);
            ++found_.syns[static_cast<std::size_t>(fate)];
            if (fate == SynFate::kTimestamp || fate == SynFate::kSequence) {
                found_.refused.push_back(*sent.refusal);
                found_.refused_named += sent.refusal->named ? 1 : 0;
            }
            const std::int64_t until = last ? end : sent_[syns[n + 1]].segment.time_ns;
            const bool waited =
                static_cast<double>(until - sent.segment.time_ns) > kSlowConnectMs * kNsPerMs;
            if (waited || (last && connect.error != 0)) {
                // An answer that came late, to a SYN that was taken in the end, came from the server.
                waited_on =
                    std::max(waited_on, fate == SynFate::kAccepted ? SynFate::kUnanswered : fate);
            }
        }
        if (connect.error == 0 && !slow) {
            return;
        }
        if (waited_on == SynFate::kAccepted) {
            ++found_.unexplained;
        } else {
            ++found_.harmed[static_cast<std::size_t>(waited_on)];
        }
    }

    const SynRecord& record_;
    SynFindings found_;
    Draws draws_;
    std::set<std::pair<std::uint16_t, std::uint16_t>> births_;  // port before and after NAT
    std::vector<Sent> sent_;
    std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, std::vector<std::size_t>>
        by_content_;
    std::map<std::uint16_t, Slot> slots_;
};

}  // namespace

std::optional<Segment> read_segment(const agent::CapturedFrame& captured) {
    const frame::PacketView view = frame::parse_packet(captured.bytes);
    const auto tcp = frame::view<rte_tcp_hdr>(captured.bytes, view.transport_offset);
    if (view.network != frame::Network::kIpv4 || view.transport != frame::Transport::kTcp || !tcp) {
        return std::nullopt;
    }
    const std::size_t header = (tcp->data_off >> 4U) * 4U;
    const std::size_t options = view.transport_offset + sizeof *tcp;
    if (header < sizeof *tcp || view.transport_offset + header > captured.bytes.size()) {
        return std::nullopt;
    }
    Segment segment{.time_ns = captured.time_ns,
                    .source_port = rte_be_to_cpu_16(tcp->src_port),
                    .destination_port = rte_be_to_cpu_16(tcp->dst_port),
                    .sequence = rte_be_to_cpu_32(tcp->sent_seq),
                    .syn = (tcp->tcp_flags & RTE_TCP_SYN_FLAG) != 0,
                    .fin = (tcp->tcp_flags & RTE_TCP_FIN_FLAG) != 0,
                    .rst = (tcp->tcp_flags & RTE_TCP_RST_FLAG) != 0};
    const std::uint32_t payload = view.transport_length - static_cast<std::uint32_t>(header);
    segment.next = segment.sequence + payload + (segment.syn ? 1 : 0) + (segment.fin ? 1 : 0);
    segment.timestamp =
        timestamp_of(frame::Bytes(captured.bytes).subspan(options, header - sizeof *tcp));
    return segment;
}

std::vector<Segment> segments_to(const agent::Capture& capture, std::uint16_t port) {
    std::vector<Segment> segments;
    for (const agent::CapturedFrame& frame : capture.frames) {
        if (const auto segment = read_segment(frame);
            segment && segment->destination_port == port) {
            segments.push_back(*segment);
        }
    }
    return segments;
}

SynFindings follow_syns(const SynRecord& record) {
    return Trail(record).follow();
}

}  // namespace pathproof::scenario
