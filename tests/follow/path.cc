#include "tests/follow/path.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::follow {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
constexpr std::int64_t kGap = 1'000'000;
constexpr std::int64_t kDelay = 50'000;

CapturedFrame captured(const TimedFrame& frame, std::uint64_t number) {
    const std::size_t size = frame.bytes.size();
    const std::shared_ptr<std::uint8_t[]> piece(new std::uint8_t[size + 1]);
    std::ranges::copy(frame.bytes, piece.get());
    return {.piece = piece,
            .bytes = {piece.get(), size},
            .length = frame.length == 0 ? static_cast<std::uint32_t>(size) : frame.length,
            .time_ns = frame.time_ns,
            .number = number,
            .heading = frame.heading};
}

}  // namespace

Outcome follow(const Frames& in, const Frames& out, const std::vector<std::string>& allow,
               const ReadLimits& limits) {
    FollowOptions options{.limits = limits};
    for (const std::string& word : allow) {
        options.allowed.set(bit(transformation(word).value()));
    }
    Follower follower(options);
    std::size_t i = 0, o = 0;
    while (i < in.size() || o < out.size()) {
        const bool take_in = o == out.size() || (i < in.size() && in[i].time_ns <= out[o].time_ns);
        if (take_in) {
            if (o < out.size()) {
                follower.coming(Side::kOut, out[o].time_ns);
            }
            follower.add(Side::kIn, captured(in[i], i + 1));
            ++i;
        } else {
            if (i < in.size()) {
                follower.coming(Side::kIn, in[i].time_ns);
            }
            follower.add(Side::kOut, captured(out[o], o + 1));
            ++o;
        }
    }
    // Both captures ran on for a second.
    const std::int64_t end =
        std::max(in.empty() ? 0 : in.back().time_ns, out.empty() ? 0 : out.back().time_ns) +
        1'000'000'000;
    follower.end(Side::kIn, end);
    follower.end(Side::kOut, end);
    Outcome outcome = follower.finish();
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const Totals& totals : outcome.totals) {
        BOOST_TEST(totals.balance());
        sent += totals.sent;
        received += totals.received;
    }
    BOOST_TEST(sent + received == in.size() + out.size());
    return outcome;
}

Octets render(const frame::FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    return made->render();
}

frame::FrameSpec spec_of(frame::Transport transport, std::size_t payload, unsigned number,
                         frame::Family family) {
    frame::FrameSpec spec;
    spec.packet.source_mac = *frame::parse_mac("02:00:00:00:00:01");
    spec.packet.destination_mac = *frame::parse_mac("02:00:00:00:00:02");
    const bool v4 = family == frame::Family::kIpv4;
    spec.packet.source = {*frame::parse_ip(v4 ? "198.18.0.1" : "2001:db8::1"), 40'000};
    spec.packet.destination = {*frame::parse_ip(v4 ? "198.18.1.2" : "2001:db8:1::2"), 53};
    spec.packet.transport = transport;
    spec.packet.identification = static_cast<std::uint16_t>(number + 1);
    if (transport == frame::Transport::kIcmp || transport == frame::Transport::kIcmpv6) {
        spec.packet.destination.port = static_cast<std::uint16_t>(number);
    }
    for (std::size_t i = 0; i < payload; ++i) {
        spec.payload.push_back(static_cast<std::uint8_t>(number * 131 + i * 7 + (i >> 8) * 13));
    }
    return spec;
}

void route(frame::FrameSpec& spec) {
    spec.packet.source_mac = *frame::parse_mac("02:00:00:00:01:01");
    spec.packet.destination_mac = *frame::parse_mac("02:00:00:00:01:02");
    --spec.packet.hop_limit;
}

void translate(frame::FrameSpec& spec) {
    const bool v4 = spec.packet.source.address.family == frame::Family::kIpv4;
    route(spec);
    spec.packet.source.address = *frame::parse_ip(v4 ? "203.0.113.1" : "2001:db8:ffff::1");
    spec.packet.source.port = static_cast<std::uint16_t>(spec.packet.source.port + 1000);
}

void tag(frame::FrameSpec& spec) {
    spec.packet.vlans = 1;
    spec.packet.vlan[0] = {.type = 0x8100, .control = 7};
}

Change wrap(frame::Tunnel kind) {
    return [kind](frame::FrameSpec& spec) {
        frame::TunnelSpec tunnel;
        tunnel.kind = kind;
        tunnel.vni = kind == frame::Tunnel::kGre || kind == frame::Tunnel::kIpInIp ? 0 : 42;
        tunnel.carries =
            kind == frame::Tunnel::kIpInIp ? frame::Carries::kIp : frame::Carries::kEthernet;
        tunnel.outer.source_mac = *frame::parse_mac("02:00:00:00:02:01");
        tunnel.outer.destination_mac = *frame::parse_mac("02:00:00:00:02:02");
        const bool by_udp = kind == frame::Tunnel::kVxlan || kind == frame::Tunnel::kGeneve;
        tunnel.outer.source = {*frame::parse_ip("192.0.2.1"), 50'000};
        tunnel.outer.destination = {
            *frame::parse_ip("192.0.2.2"),
            static_cast<std::uint16_t>(kind == frame::Tunnel::kVxlan ? 4789 : 6081)};
        tunnel.outer.transport = by_udp ? frame::Transport::kUdp : frame::Transport::kOther;
        spec.tunnel = tunnel;
    };
}

Way way(frame::Transport transport, std::size_t payload, unsigned count, const Change& change,
        std::vector<std::string> allow, frame::Family family) {
    Way made{.allow = std::move(allow)};
    for (unsigned number = 0; number < count; ++number) {
        frame::FrameSpec spec = spec_of(transport, payload, number, family);
        if (transport == frame::Transport::kTcp) {
            spec.packet.tcp_sequence =
                static_cast<std::uint32_t>(0xfffff000 + number * payload);  // it wraps around
        }
        const std::int64_t at = kStart + number * kGap;
        made.in.push_back({at, render(spec)});
        change(spec);
        made.out.push_back({at + kDelay, render(spec)});
    }
    return made;
}

Way stream(std::size_t bytes, std::vector<std::size_t> in_sizes, std::vector<std::size_t> out_sizes,
           const Change& change, std::vector<std::string> allow, frame::Family family) {
    Way made{.allow = std::move(allow)};
    Octets all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        all[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8) * 7 + (i >> 16));
    }
    const auto cut = [&](const std::vector<std::size_t>& sizes, Frames& frames, std::int64_t delay,
                         const Change* made_of_it) {
        std::size_t at = 0;
        for (unsigned number = 0; at < bytes; ++number) {
            const std::size_t size = std::min(sizes[number % sizes.size()], bytes - at);
            frame::FrameSpec spec = spec_of(frame::Transport::kTcp, 0, number, family);
            spec.packet.tcp_sequence = static_cast<std::uint32_t>(0xffff8000 + at);
            spec.packet.tcp_flags = at + size == bytes ? 0x18 : 0x10;
            spec.payload.assign(all.begin() + static_cast<std::ptrdiff_t>(at),
                                all.begin() + static_cast<std::ptrdiff_t>(at + size));
            if (made_of_it != nullptr) {
                (*made_of_it)(spec);
            }
            // A frame is there when the last of its bytes is.
            frames.push_back(
                {kStart + static_cast<std::int64_t>(at + size) * 1000 + delay, render(spec)});
            at += size;
        }
    };
    cut(in_sizes, made.in, 0, nullptr);
    cut(out_sizes, made.out, 100'000'000, &change);
    return made;
}

std::vector<Octets> fragments(const Octets& frame, std::size_t size) {
    constexpr std::size_t kEthernet = 14, kHeader = 20;
    std::vector<Octets> all;
    const std::size_t data = frame.size() - kEthernet - kHeader;
    for (std::size_t at = 0; at < data; at += size) {
        const std::size_t part = std::min(size, data - at);
        Octets one(frame.begin(), frame.begin() + kEthernet + kHeader);
        one.insert(one.end(), frame.begin() + static_cast<std::ptrdiff_t>(kEthernet + kHeader + at),
                   frame.begin() + static_cast<std::ptrdiff_t>(kEthernet + kHeader + at + part));
        const std::size_t field = at / 8 | (at + part < data ? 0x2000u : 0u);
        one[16] = static_cast<std::uint8_t>((part + kHeader) >> 8);
        one[17] = static_cast<std::uint8_t>(part + kHeader);
        one[20] = static_cast<std::uint8_t>(field >> 8);
        one[21] = static_cast<std::uint8_t>(field);
        mend(one);
        all.push_back(one);
    }
    return all;
}

void mend(Octets& frame) {
    for (int pass = 0; pass < 2; ++pass) {
        const auto verdict = judge::verify(frame, frame::TunnelPorts::well_known());
        for (std::size_t i = verdict.count; i-- > 0;) {
            judge::write_right(frame, verdict.findings[i]);
        }
    }
}

void nothing(frame::FrameSpec&) {}

Way plain_frames(const std::vector<Octets>& frames) {
    Way made;
    std::int64_t at = 1'700'000'000'000'000'000;
    for (const Octets& frame : frames) {
        made.in.push_back({at, frame});
        made.out.push_back({at + 1000, frame});
        at += 1'000'000;
    }
    return made;
}

Octets plain(std::uint16_t type, std::size_t size, std::uint8_t seed) {
    Octets frame = {1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1};
    frame.push_back(static_cast<std::uint8_t>(type >> 8));
    frame.push_back(static_cast<std::uint8_t>(type));
    for (std::size_t i = 0; i < size; ++i) {
        frame.push_back(static_cast<std::uint8_t>(seed * 37 + i * 5 + 1));
    }
    return frame;
}

Way fragmented(bool in_too, bool out_too, std::size_t out_size, unsigned count) {
    Way made = way(frame::Transport::kUdp, 3000, count, nothing, {"fragments"});
    Way result{.allow = {"fragments"}};
    for (std::size_t i = 0; i < made.in.size(); ++i) {
        made.in[i].bytes[20] = 0;  // may be fragmented
        mend(made.in[i].bytes);
        const auto cut = [&](bool into_fragments, std::size_t size, std::int64_t at,
                             Frames& frames) {
            if (!into_fragments) {
                frames.push_back({at, made.in[i].bytes});
                return;
            }
            for (const Octets& one : fragments(made.in[i].bytes, size)) {
                frames.push_back({at, one});
                at += 1000;
            }
        };
        cut(in_too, 1480, made.in[i].time_ns, result.in);
        cut(out_too, out_size, made.out[i].time_ns, result.out);
    }
    return result;
}

Way with_padding(bool in_too, unsigned count) {
    Way made = way(frame::Transport::kUdp, 4, count, nothing, {});
    for (std::size_t i = 0; i < made.out.size(); ++i) {
        made.out[i].bytes.resize(60);
        if (in_too) {
            made.in[i].bytes.resize(60);
        }
    }
    return made;
}

Way super_datagrams(bool merged_on_the_way, unsigned count) {
    Way made{.allow = {merged_on_the_way ? "gro" : "gso"}};
    const Way whole = way(frame::Transport::kUdp, 4000, count, nothing, {});
    for (unsigned i = 0; i < count; ++i) {
        const frame::FrameSpec spec = spec_of(frame::Transport::kUdp, 4000, i);
        Frames parts;
        for (std::size_t at = 0; at < 4000; at += 1200) {
            frame::FrameSpec part = spec;
            part.payload.assign(spec.payload.begin() + static_cast<std::ptrdiff_t>(at),
                                spec.payload.begin() + static_cast<std::ptrdiff_t>(
                                                           std::min<std::size_t>(at + 1200, 4000)));
            parts.push_back({whole.out[i].time_ns + static_cast<std::int64_t>(at), render(part)});
        }
        Frames& one = merged_on_the_way ? made.out : made.in;
        Frames& many = merged_on_the_way ? made.in : made.out;
        one.push_back({whole.in[i].time_ns + (merged_on_the_way ? 500'000 : 0), whole.in[i].bytes});
        many.insert(many.end(), parts.begin(), parts.end());
    }
    return made;
}

std::uint64_t count(const Outcome& outcome, Class one) {
    return outcome.totals[0].of(one) + outcome.totals[1].of(one);
}
std::uint64_t unknown(const Outcome& outcome) {
    return outcome.totals[0].unknown + outcome.totals[1].unknown;
}

std::string described(const Outcome& outcome) {
    std::string text;
    for (const Finding& finding : outcome.findings) {
        text += fmt::format("{} {}: {} [{}]\n", finding.count,
                            finding.unknown ? "unknown" : name(finding.fault), finding.text,
                            finding.located);
    }
    return text;
}

void check_clean(const std::string& name, const Way& way) {
    const Outcome outcome = follow::follow(way.in, way.out, way.allow);
    BOOST_TEST_CONTEXT(name << "\n" << described(outcome)) {
        BOOST_TEST(outcome.totals[0].sent == way.in.size());
        BOOST_TEST(count(outcome, Class::kAsSent) == way.in.size());
        BOOST_TEST(outcome.totals[0].arrived == way.out.size());
        BOOST_TEST(unknown(outcome) == 0U);
        BOOST_TEST(outcome.findings.empty());
    }
}

}  // namespace pathproof::follow
