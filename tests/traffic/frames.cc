#include "tests/traffic/frames.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/judge/verifier.h"

namespace pathproof::traffic {
namespace {

constexpr std::uint16_t kTunnelPorts[] = {4789};

frame::MacAddress mac(const std::string& text) {
    return frame::parse_mac(text).value();
}

}  // namespace

frame::IpAddress ip_of(const std::string& text) {
    return frame::parse_ip(text).value();
}

frame::Endpoint endpoint(const std::string& text) {
    return frame::parse_endpoint(text).value();
}

frame::FrameSpec plain_spec(frame::Family family) {
    frame::FrameSpec spec;
    spec.packet.source_mac = mac("02:00:00:00:00:01");
    spec.packet.destination_mac = mac("02:00:00:00:00:02");
    const bool v4 = family == frame::Family::kIpv4;
    spec.packet.source = endpoint(v4 ? "198.18.0.1:10000" : "[2001:db8::1]:10000");
    spec.packet.destination = endpoint(v4 ? "203.0.113.2:53" : "[2001:db8:1::2]:53");
    return spec;
}

frame::FrameSpec carried_spec() {
    frame::FrameSpec spec = plain_spec();
    spec.tunnel.emplace();
    spec.tunnel->vni = 42;
    spec.tunnel->outer.source_mac = mac("02:00:00:00:00:11");
    spec.tunnel->outer.destination_mac = mac("02:00:00:00:00:12");
    spec.tunnel->outer.source = endpoint("198.51.100.1:5000");
    spec.tunnel->outer.destination = endpoint("198.51.100.2:4789");
    return spec;
}

Frame query_frame(const frame::FrameSpec& spec, std::uint16_t qtype, std::uint32_t sequence,
                  std::uint16_t id) {
    const auto made = frame::FrameTemplate::make_dns(spec, "pathproof.test", qtype);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return made->render({.dns = frame::FramePatch::Dns{id, sequence}});
}

bool is_right(const Frame& frame) {
    const judge::FrameVerdict verdict = judge::verify_slowly(frame, kTunnelPorts);
    return !verdict.any_bad() && verdict.count > 0 && verdict.malformed == judge::Malformed::kNone;
}

ReadFrame read_frame(const Frame& frame) {
    BOOST_REQUIRE(is_right(frame));
    ReadFrame read{.view = frame::parse_frame(frame, kTunnelPorts)};
    const frame::PacketView& packet = read.view.innermost();
    BOOST_REQUIRE(packet.transport == frame::Transport::kUdp);
    frame::DnsReader message(packet.payload(frame));
    read.header = message.header();
    read.question = message.next_question();
    BOOST_REQUIRE(read.question);
    read.sequence = frame::sequence_of(read.question->name);
    while (const auto record = message.next_record()) {
        read.records.push_back(*record);
        if (const auto address = record->address()) {
            read.addresses.push_back(*address);
        }
        if (record->type == frame::kDnsTypeCname) {
            read.cname = message.name_at(record->data_offset)->to_text();
        }
    }
    BOOST_TEST((message.defect() == frame::DnsDefect::kNone));
    return read;
}

void mend_checksums(Frame& frame) {
    // An outer checksum covers the inner ones: as many rounds as there are layers.
    for (int round = 0; round < 4; ++round) {
        const judge::FrameVerdict verdict = judge::verify_slowly(frame, kTunnelPorts);
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            if (finding.state == judge::ChecksumState::kBad) {
                frame[finding.field_offset] = static_cast<std::uint8_t>(finding.right >> 8);
                frame[finding.field_offset + 1u] = static_cast<std::uint8_t>(finding.right);
            }
        }
    }
    BOOST_REQUIRE(is_right(frame));
}

std::size_t message_offset(const Frame& frame) {
    return frame::parse_frame(frame, kTunnelPorts).innermost().payload_offset;
}

}  // namespace pathproof::traffic
