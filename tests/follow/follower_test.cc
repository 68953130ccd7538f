#define BOOST_TEST_MODULE follow
#include <boost/test/unit_test.hpp>

#include "dataplane/base/random.h"
#include "dataplane/follow/findings.h"
#include "tests/follow/path.h"
#include "tests/frame/raw.h"
#include "tests/how_many.h"

using namespace pathproof;
using namespace pathproof::follow;
using frame::Family;
using frame::Transport;
using frame::Tunnel;

BOOST_AUTO_TEST_CASE(decapsulation_is_followed_as_encapsulation_is) {
    Way made = way(Transport::kTcp, 200, 40, wrap(Tunnel::kVxlan), {"vxlan"});
    for (std::size_t i = 0; i < made.in.size(); ++i) {
        std::swap(made.in[i].bytes, made.out[i].bytes);
    }
    check_clean("out of VXLAN", made);
}

namespace {

struct Fault {
    const char* name;
    std::function<Way()> path;
    std::function<void(Frames&)> plant;
    Class expected;
    std::uint64_t expected_count;
    const char* text;  // a part of the finding
};

Octets& frame(Frames& out, std::size_t i) {
    return out[i].bytes;
}
constexpr std::size_t kIp = 14, kUdp = 34, kUdpData = 42, kTcpData = 54;

Way udp() {
    return way(Transport::kUdp, 100, 60, nothing, {});
}
Way tcp() {
    return way(Transport::kTcp, 500, 60, nothing, {});
}
Way routed() {
    return way(Transport::kUdp, 100, 60, route, {"router"});
}
Way nat() {
    return way(Transport::kUdp, 100, 60, translate, {"router", "nat"});
}
Way nat_tcp() {
    return way(Transport::kTcp, 100, 60, translate, {"router", "nat"});
}
Way merged() {
    return stream(100'000, {1448}, {7240}, nothing, {"gro"});
}
Way cut() {
    return stream(100'000, {7240}, {1448}, nothing, {"gso"});
}
Way in_vxlan() {
    return way(Transport::kUdp, 100, 60, wrap(Tunnel::kVxlan), {"vxlan"});
}

const std::vector<Fault>& faults() {
    static const std::vector<Fault> kFaults = {
        {"lost", udp, [](Frames& out) { out.erase(out.begin() + 20); }, Class::kMissing, 1,
         "never came out"},
        {"every tenth lost", udp,
         [](Frames& out) {
             for (std::size_t i = 50; i >= 10; i -= 10) {
                 out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
             }
         },
         Class::kMissing, 5, "never came out"},
        {"doubled", udp, [](Frames& out) { out.insert(out.begin() + 20, out[20]); },
         Class::kDoubled, 1, "more than once"},
        {"tripled", udp,
         [](Frames& out) {
             out.insert(out.begin() + 20, out[20]);
             out.insert(out.begin() + 20, out[20]);
         },
         Class::kDoubled, 1, "more than once"},
        {"doubled behind NAT", nat, [](Frames& out) { out.insert(out.begin() + 20, out[20]); },
         Class::kDoubled, 1, "more than once"},
        {"reordered", udp, [](Frames& out) { std::swap(out[20].bytes, out[21].bytes); },
         Class::kReordered, 1, "sent later"},
        {"late", udp,
         [](Frames& out) {
             TimedFrame frame = out[59];
             out.pop_back();
             frame.time_ns += 1'500'000'000;
             out.push_back(frame);
         },
         Class::kLate, 1, "ms later"},
        {"a payload bit, checksum wrong", udp,
         [](Frames& out) { frame(out, 9)[kUdpData + 3] ^= 4; }, Class::kDamaged, 1,
         "1 byte changed at payload offset 3"},
        {"a payload bit, checksum right", udp,
         [](Frames& out) {
             frame(out, 9)[kUdpData + 3] ^= 4;
             mend(frame(out, 9));
         },
         Class::kDamaged, 1, "was made right for it"},
        {"cut, lengths as before", udp, [](Frames& out) { frame(out, 9).resize(100); },
         Class::kDamaged, 1, "cut by 42 bytes at the end"},
        {"cut, lengths made right", udp,
         [](Frames& out) {
             Octets& one = frame(out, 9);
             one.resize(kUdpData + 50);
             one[17] = 78;
             one[39] = 58;
             mend(one);
         },
         Class::kDamaged, 1, "payload"},
        {"padded", udp, [](Frames& out) { frame(out, 9).resize(160); }, Class::kDamaged, 1,
         "needs no padding"},
        {"two bytes put in front of the payload", udp,
         [](Frames& out) {
             Octets& one = frame(out, 9);
             one.insert(one.begin() + kUdpData, {0xde, 0xad});
             one.resize(one.size() - 2);
         },
         Class::kDamaged, 1, "shifted by 2 bytes"},
        {"shifted by a tag's bytes", udp,
         [](Frames& out) {
             Octets& one = frame(out, 9);
             one.insert(one.begin() + 12, {0xde, 0xad, 0xbe, 0xef});
         },
         Class::kDamaged, 1, ""},
        {"glued", udp,
         [](Frames& out) {
             Octets& one = frame(out, 9);
             const Octets& next = frame(out, 10);
             one.insert(one.end(), next.begin() + kUdpData, next.end());
             out.erase(out.begin() + 10);
         },
         Class::kDamaged, 2, ""},
        {"DSCP", udp,
         [](Frames& out) {
             frame(out, 9)[kIp + 1] = 0x20;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "ipv4.tos 0x00 became 0x20"},
        {"identification", udp,
         [](Frames& out) {
             frame(out, 9)[kIp + 4] = 0x77;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "ipv4.identification"},
        {"IPv4 checksum", udp, [](Frames& out) { frame(out, 9)[kIp + 10] ^= 1; }, Class::kChanged,
         1, "IPv4 checksum"},
        {"UDP checksum", udp, [](Frames& out) { frame(out, 9)[kUdp + 6] ^= 1; }, Class::kChanged, 1,
         "UDP checksum"},
        {"UDP checksum taken off", udp,
         [](Frames& out) { frame(out, 9)[kUdp + 6] = frame(out, 9)[kUdp + 7] = 0; },
         Class::kChanged, 1, "taken off"},
        {"TTL without --allow router", udp,
         [](Frames& out) {
             frame(out, 9)[kIp + 8] -= 1;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "ipv4.ttl 64 became 63"},
        {"TTL raised", routed,
         [](Frames& out) {
             frame(out, 9)[kIp + 8] = 70;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "ipv4.ttl 64 became 70"},
        {"TTL lowered twice", routed,
         [](Frames& out) {
             frame(out, 9)[kIp + 8] -= 1;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "hop limit lowered by 2 where its flow's is by 1"},
        {"TTL lowered, checksum not", routed, [](Frames& out) { frame(out, 9)[kIp + 8] -= 1; },
         Class::kChanged, 1, "IPv4 checksum"},
        {"another next hop", routed, [](Frames& out) { frame(out, 9)[5] = 9; }, Class::kChanged, 1,
         "where its flow goes to"},
        {"destination address without NAT", udp,
         [](Frames& out) {
             frame(out, 9)[kIp + 19] ^= 4;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "destination address 198.18.1.2 became 198.18.1.6"},
        {"port without NAT", udp,
         [](Frames& out) {
             frame(out, 9)[kUdp + 3] ^= 4;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "destination port 53 became 49"},
        {"a mapping that changes", nat,
         [](Frames& out) {
             frame(out, 9)[kUdp + 1] ^= 1;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "came out as"},
        {"NAT leaves the UDP checksum", nat,
         [](Frames& out) {
             const Octets before = udp().in[9].bytes;
             frame(out, 9)[kUdp + 6] = before[kUdp + 6];
             frame(out, 9)[kUdp + 7] = before[kUdp + 7];
         },
         Class::kChanged, 1, "before translation"},
        {"NAT leaves the TCP checksum of all", nat_tcp,
         [](Frames& out) {
             const Frames before = way(Transport::kTcp, 100, 60, nothing, {}).in;
             for (std::size_t i = 0; i < out.size(); ++i) {
                 frame(out, i)[50] = before[i].bytes[50];
                 frame(out, i)[51] = before[i].bytes[51];
             }
         },
         Class::kChanged, 60, "before translation"},
        {"TCP flags", tcp,
         [](Frames& out) {
             frame(out, 9)[47] ^= 8;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "tcp.flags"},
        {"TCP window", tcp,
         [](Frames& out) {
             frame(out, 9)[48] ^= 8;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "tcp.window"},
        {"TCP acknowledgement", tcp,
         [](Frames& out) {
             frame(out, 9)[45] ^= 8;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "tcp.acknowledgement"},
        {"TCP sequence", tcp,
         [](Frames& out) {
             frame(out, 9)[38] ^= 0x40;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "tcp.sequence"},
        {"TCP payload", tcp, [](Frames& out) { frame(out, 9)[kTcpData + 7] ^= 1; }, Class::kDamaged,
         1, "payload offset 7"},
        {"a byte of a merged segment", merged,
         [](Frames& out) { frame(out, 2)[kTcpData + 2000] ^= 1; }, Class::kDamaged, 1,
         "bytes of the stream changed"},
        {"a segment of a super-frame lost", cut, [](Frames& out) { out.erase(out.begin() + 14); },
         Class::kMissing, 1, "1448 of its 7240 bytes"},
        {"a segment of a super-frame doubled", cut,
         [](Frames& out) { out.insert(out.begin() + 14, out[14]); }, Class::kDoubled, 1,
         "more than once"},
        {"merged without leave", [] { return stream(49'232, {1448}, {2896}, nothing, {}); },
         [](Frames&) {}, Class::kChanged, 34, "merged"},
        {"cut without leave", [] { return stream(49'232, {2896}, {1448}, nothing, {}); },
         [](Frames&) {}, Class::kChanged, 17, "cut into segments"},
        {"an outer checksum", in_vxlan, [](Frames& out) { frame(out, 9)[kUdp + 7] ^= 1; },
         Class::kChanged, 1, "outer UDP checksum"},
        {"another VNI", in_vxlan,
         [](Frames& out) {
             frame(out, 9)[kUdpData + 6] ^= 1;
             mend(frame(out, 9));
         },
         Class::kChanged, 1, "VNI 43 where its flow has 42"},
        {"an inner byte", in_vxlan,
         [](Frames& out) {
             Octets& one = frame(out, 9);
             one[one.size() - 1] ^= 1;
         },
         Class::kDamaged, 1, "payload offset 99"},
        {"encapsulated without leave",
         [] { return way(Transport::kUdp, 100, 20, wrap(Tunnel::kVxlan), {}); }, [](Frames&) {},
         Class::kChanged, 20, "VXLAN header was put around it"},
        {"tagged without leave", [] { return way(Transport::kUdp, 100, 20, tag, {}); },
         [](Frames&) {}, Class::kChanged, 20, "no VLAN tag became VLAN 7"},
        {"another VLAN", [] { return way(Transport::kUdp, 100, 20, tag, {"vlan"}); },
         [](Frames& out) { frame(out, 9)[15] = 8; }, Class::kChanged, 1,
         "VLAN 8 where its flow has 7"},
        {"a byte of LLDP",
         [] {
             return plain_frames(
                 {plain(0x88cc, 80, 1), plain(0x88cc, 80, 2), plain(0x88cc, 80, 3)});
         },
         [](Frames& out) { frame(out, 1)[40] ^= 1; }, Class::kDamaged, 1, "1 byte changed"},
        {"fragments without leave",
         [] {
             Way made = fragmented(false, true, 1480);
             made.allow.clear();
             return made;
         },
         [](Frames&) {}, Class::kChanged, 10, "cut into IP fragments"},
    };
    return kFaults;
}

}  // namespace

// A super-frame that was lost and sent again with newer timestamps: segments that came are those of the
// second, and the first alone is missing.
BOOST_AUTO_TEST_CASE(bytes_that_were_sent_again_are_those_of_the_frame_that_came) {
    constexpr std::size_t kLost = 3, kSegments = 5;
    Way made = stream(72'400, {7240}, {1448}, nothing, {"gso"});
    const auto behind = [](const Frames& frames, TimedFrame frame) {
        frame.time_ns = frames.back().time_ns + 1000;
        frame.bytes[45] ^= 1;  // the last byte of the acknowledgement
        mend(frame.bytes);
        return frame;
    };
    made.in.push_back(behind(made.in, made.in[kLost]));
    const auto first = made.out.begin() + kLost * kSegments;
    const Frames segments(first, first + kSegments);
    made.out.erase(first, first + kSegments);
    for (const TimedFrame& segment : segments) {
        made.out.push_back(behind(made.out, segment));
    }
    const Outcome outcome = follow::follow(made.in, made.out, made.allow);
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(count(outcome, Class::kMissing) == 1U);
        BOOST_TEST(count(outcome, Class::kAsSent) == 10U);
        BOOST_TEST(unknown(outcome) == 0U);
        BOOST_TEST(outcome.findings.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(planted_faults_are_found_named_and_alone) {
    BOOST_TEST(faults().size() >= 40U);
    for (const Fault& fault : faults()) {
        Way made = fault.path();
        fault.plant(made.out);
        const Outcome outcome = follow::follow(made.in, made.out, made.allow);
        BOOST_TEST_CONTEXT(fault.name << "\n" << described(outcome)) {
            BOOST_TEST(count(outcome, fault.expected) == fault.expected_count);
            BOOST_TEST(count(outcome, Class::kAsSent) == made.in.size() - fault.expected_count);
            BOOST_TEST(unknown(outcome) == 0U);
            BOOST_TEST(!outcome.findings.empty());
            bool named = false;
            for (const Finding& finding : outcome.findings) {
                named = named || finding.text.find(fault.text) != std::string::npos;
            }
            BOOST_TEST(named);
        }
    }
}

namespace {

// Port unreachable to the source of a datagram, which it quotes.
Octets refusal_of(std::uint32_t source, std::uint32_t quoted_source, std::uint16_t quoted_port) {
    const Octets quote = raw::ipv4({.source = quoted_source, .destination = 0xcb007102},
                                   raw::udp(quoted_port, 53, Octets(20, 7)));
    Octets message{3, 3, 0, 0, 0, 0, 0, 0};
    raw::append(message, quote);
    Octets frame = raw::ethernet(
        0x0800, raw::ipv4({.protocol = 1, .source = 0xcb007102, .destination = source}, message));
    mend(frame);
    return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(quotes_of_icmp_errors_are_translated_with_them) {
    constexpr std::uint32_t kOutside = 0xcb007101;
    constexpr std::uint32_t kInside = 0xc6120001;
    const Frames in = {{1'700'000'000'000'000'000, refusal_of(kOutside, kOutside, 41'000)}};
    Frames out = {{1'700'000'000'000'050'000, refusal_of(kInside, kInside, 40'000)}};
    Outcome outcome = follow::follow(in, out, {"router", "nat"});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(count(outcome, Class::kAsSent) == 1U);
    }
    out[0].bytes = refusal_of(kInside, kOutside, 41'000);
    outcome = follow::follow(in, out, {"router", "nat"});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(count(outcome, Class::kChanged) == 1U);
        BOOST_TEST_REQUIRE(outcome.findings.size() == 1U);
        BOOST_TEST(outcome.findings[0].text.find("the quote was not translated") !=
                   std::string::npos);
    }
}

// Likeness alone tells frames without an identification apart, among neighbours: also at the end, where all
// that is left is decided at once.
BOOST_AUTO_TEST_CASE(cut_frames_are_found_to_the_last_one) {
    Frames in, out;
    for (unsigned i = 0; i < 600; ++i) {
        frame::FrameSpec spec = spec_of(Transport::kUdp, 1400, i);
        spec.payload.assign(1400, 7);
        spec.payload[0] = 8;
        spec.packet.identification = 0;
        spec.packet.source.port = static_cast<std::uint16_t>(10'000 + i);
        in.push_back(
            {.time_ns = 1'700'000'000'000'000'000 + i * 1'000'000LL, .bytes = render(spec)});
        out.push_back(in.back());
        out.back().time_ns += 50'000;
        out.back().bytes.resize(1340);
    }
    const Outcome outcome = follow::follow(in, out, {});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(count(outcome, Class::kDamaged) == 600U);
        BOOST_TEST(unknown(outcome) == 0U);
        BOOST_TEST(outcome.findings.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(frames_of_one_length_are_located) {
    Way made = way(Transport::kUdp, 100, 40, nothing, {});
    Way longer = way(Transport::kUdp, 1472, 40, nothing, {});
    for (std::size_t i = 0; i < 40; ++i) {
        longer.in[i].time_ns += 500'000;
        longer.out[i].time_ns += 500'000;
        longer.out[i].bytes[60] ^= 1;
    }
    Frames in, out;
    for (std::size_t i = 0; i < 40; ++i) {
        in.insert(in.end(), {made.in[i], longer.in[i]});
        out.insert(out.end(), {made.out[i], longer.out[i]});
    }
    const Outcome outcome = follow::follow(in, out, {});
    BOOST_TEST_REQUIRE(outcome.findings.size() == 1U);
    BOOST_TEST(
        outcome.findings[0].located ==
        "frames of 1514 or more bytes (right: up to 142) (the same frames: with 1472 or more "
        "bytes of payload (right: up to 100)): all 40 of them are wrong, none of 40 others");
}

BOOST_AUTO_TEST_CASE(frames_of_one_kind_are_located) {
    Way made = way(Transport::kUdp, 100, 20, nothing, {});
    const Way tcp_too = way(Transport::kTcp, 100, 20, nothing, {});
    const Way tagged = way(Transport::kUdp, 200, 20, tag, {});
    made.in.insert(made.in.end(), tcp_too.in.begin(), tcp_too.in.end());
    made.out.clear();
    for (const TimedFrame& frame : tcp_too.out) {
        made.out.push_back(frame);
    }
    for (const TimedFrame& frame : tagged.out) {
        made.in.push_back({frame.time_ns, frame.bytes});
        made.out.push_back({frame.time_ns + 20'000, frame.bytes});
    }
    std::ranges::sort(made.in, {}, &TimedFrame::time_ns);
    std::ranges::sort(made.out, {}, &TimedFrame::time_ns);
    const Outcome outcome = follow::follow(made.in, made.out, {});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST_REQUIRE(outcome.findings.size() == 1U);
        const std::string& located = outcome.findings[0].located;
        BOOST_TEST(located.starts_with("UDP frames without VLAN tag"), located);
        BOOST_TEST(located.ends_with(": all 19 of them are wrong, none of 40 others"), located);
    }
}

BOOST_AUTO_TEST_CASE(a_period_is_said) {
    BOOST_TEST(period_of({3, 13, 23, 33}) == 10U);
    BOOST_TEST(period_of({3, 13, 24, 33}) == 0U);
    BOOST_TEST(period_of({3, 13, 23}) == 0U);
}

BOOST_AUTO_TEST_CASE(both_ways_are_judged_each_by_itself) {
    Way there = way(Transport::kTcp, 100, 50, route, {"router"});
    Frames a = there.in, b = there.out;
    for (unsigned i = 0; i < 50; ++i) {
        frame::FrameSpec spec = spec_of(Transport::kTcp, 200, i);
        std::swap(spec.packet.source, spec.packet.destination);
        spec.packet.tcp_sequence = 1000 + i * 200;
        spec.packet.source_mac = *frame::parse_mac("02:00:00:00:01:02");
        spec.packet.destination_mac = *frame::parse_mac("02:00:00:00:01:01");
        const std::int64_t at = there.in[i].time_ns + 400'000;
        b.push_back({at, render(spec)});
        --spec.packet.hop_limit;
        spec.packet.source_mac = *frame::parse_mac("02:00:00:00:00:02");
        spec.packet.destination_mac = *frame::parse_mac("02:00:00:00:00:01");
        if (i != 30) {
            a.push_back({at + 50'000, render(spec)});
        }
    }
    std::ranges::sort(a, {}, &TimedFrame::time_ns);
    std::ranges::sort(b, {}, &TimedFrame::time_ns);
    const Outcome outcome = follow::follow(a, b, {"router"});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(outcome.totals[0].sent == 50U);
        BOOST_TEST(outcome.totals[0].of(Class::kAsSent) == 50U);
        BOOST_TEST(outcome.totals[1].sent == 50U);
        BOOST_TEST(outcome.totals[1].of(Class::kAsSent) == 49U);
        BOOST_TEST(outcome.totals[1].of(Class::kMissing) == 1U);
    }
}

// An ICMP error of the device at the port that sends, before any answer has told who stands there.
BOOST_AUTO_TEST_CASE(what_came_out_of_the_device_is_not_taken_for_sent) {
    Frames in = routed().in;
    for (TimedFrame& frame : in) {
        frame.heading = Heading::kIn;
    }
    in.push_back({in.back().time_ns + 10'000, refusal_of(0xc6120001, 0xc6120001, 40'000)});
    for (const Heading heading : {Heading::kOut, Heading::kUnknown}) {
        in.back().heading = heading;
        const Outcome outcome = follow::follow(in, routed().out, {"router"});
        BOOST_TEST_CONTEXT(described(outcome)) {
            const bool told = heading == Heading::kOut;
            BOOST_TEST(outcome.totals[0].sent == (told ? 60U : 61U));
            BOOST_TEST(outcome.totals[1].local == (told ? 1U : 0U));
            BOOST_TEST(count(outcome, Class::kMissing) == (told ? 0U : 1U));
        }
    }
}

BOOST_AUTO_TEST_CASE(frames_beyond_the_other_capture_are_outside) {
    Way made = udp();
    const Frames out(made.out.begin() + 10, made.out.end());
    Outcome outcome = follow::follow(made.in, out, {});
    BOOST_TEST(count(outcome, Class::kOutside) + count(outcome, Class::kMissing) == 10U);
    BOOST_TEST(count(outcome, Class::kOutside) >= 9U);
    // Frames that came out before the first one went in.
    outcome = follow::follow(Frames(made.in.begin() + 10, made.in.end()), made.out, {});
    BOOST_TEST(outcome.totals[0].outside == 10U);
    BOOST_TEST(unknown(outcome) == 0U);
}

BOOST_AUTO_TEST_CASE(unfinished_checksums_are_said_and_no_fault) {
    Way made = tcp();
    for (TimedFrame& frame : made.in) {
        // The pseudo-header's sum, as a kernel leaves it to the NIC.
        Octets& bytes = frame.bytes;
        std::uint32_t sum = 6 + static_cast<std::uint32_t>(bytes.size() - 34);
        for (std::size_t at = 26; at < 34; at += 2) {
            sum += static_cast<std::uint32_t>(bytes[at] << 8 | bytes[at + 1]);
        }
        sum = (sum & 0xffff) + (sum >> 16);
        bytes[50] = static_cast<std::uint8_t>(sum >> 8);
        bytes[51] = static_cast<std::uint8_t>(sum);
    }
    Outcome outcome = follow::follow(made.in, made.out, {});
    BOOST_TEST(count(outcome, Class::kAsSent) == made.in.size());
    BOOST_TEST(outcome.partial_in == made.in.size());
    outcome = follow::follow(made.in, made.in, {});
    BOOST_TEST(count(outcome, Class::kAsSent) == made.in.size());
}

BOOST_AUTO_TEST_CASE(frames_cut_by_a_snap_length_are_followed_as_far_as_they_go) {
    Way made = tcp();
    for (TimedFrame& frame : made.out) {
        frame.length = static_cast<std::uint32_t>(frame.bytes.size());
        frame.bytes.resize(96);
    }
    const Outcome outcome = follow::follow(made.in, made.out, {}, {.payload_bytes = 0});
    BOOST_TEST_CONTEXT(described(outcome)) {
        BOOST_TEST(count(outcome, Class::kAsSent) == made.in.size());
        BOOST_TEST(outcome.cut == made.out.size());
    }
}

BOOST_AUTO_TEST_CASE(retransmissions_are_no_duplicates) {
    Way made = tcp();
    // Sent again, with an identification of its own, and carried.
    for (Frames* const frames : {&made.in, &made.out}) {
        TimedFrame again = (*frames)[10];
        again.bytes[kIp + 4] = 0x66;
        mend(again.bytes);
        again.time_ns = (*frames)[15].time_ns + 100;
        frames->insert(frames->begin() + 16, again);
    }
    check_clean("sent again", made);
}

// PATHPROOF_TIMES=50: a million damages.
BOOST_AUTO_TEST_CASE(counts_balance_whatever_happens_to_frames) {
    Random random(39);
    const std::vector<std::function<Way()>> paths = {udp,
                                                     tcp,
                                                     routed,
                                                     nat,
                                                     nat_tcp,
                                                     merged,
                                                     cut,
                                                     in_vxlan,
                                                     [] { return fragmented(false, true, 1480); },
                                                     [] { return super_datagrams(false); }};
    const std::size_t wanted = test::how_many(20'000);
    std::size_t damages = 0;
    while (damages < wanted) {
        Way made = paths[random.below(paths.size())]();
        Frames out;
        for (TimedFrame& frame : made.out) {
            Octets& bytes = frame.bytes;
            const std::uint64_t fate = random.below(16);
            damages += fate < 7 ? 1 : 0;
            switch (fate) {
                case 0: continue;
                case 1: out.push_back(frame); break;
                case 2: bytes.resize(random.below(bytes.size() + 1)); break;
                case 3: bytes.resize(bytes.size() + random.below(100)); break;
                case 4:
                    bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(random());
                    break;
                case 5:
                    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                                                   random.below(bytes.size())));
                    break;
                case 6:
                    if (!out.empty()) {
                        std::swap(out[random.below(out.size())].bytes, bytes);
                    }
                    break;
                default: break;
            }
            out.push_back(frame);
        }
        follow::follow(made.in, out, made.allow);  // checks the balance
    }
    BOOST_TEST_MESSAGE(damages << " damages");
}
