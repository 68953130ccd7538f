// Query frames, and answers read back, for the tests of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/template.h"
#include "dataplane/frame/view.h"

namespace pathproof::traffic {

using Frame = std::vector<std::uint8_t>;
using Frames = std::vector<Frame>;

frame::IpAddress ip_of(const std::string& text);
frame::Endpoint endpoint(const std::string& text);

// UDP from 198.18.0.1:10000 to 203.0.113.2:53, or the like over IPv6.
frame::FrameSpec plain_spec(frame::Family family = frame::Family::kIpv4);
// As plain_spec(), in VXLAN 42 from 198.51.100.1:5000 to 198.51.100.2:4789.
frame::FrameSpec carried_spec();

Frame query_frame(const frame::FrameSpec& spec, std::uint16_t qtype, std::uint32_t sequence = 0,
                  std::uint16_t id = 0x1234);

// A received frame in which everything is whole and every checksum right, by the oracle.
struct ReadFrame {
    frame::FrameView view;
    frame::DnsHeader header;
    std::optional<frame::DnsQuestion> question;
    std::vector<frame::DnsRecord> records;
    std::vector<frame::IpAddress> addresses;
    std::optional<std::string> cname;
    std::optional<std::uint32_t> sequence;
};
ReadFrame read_frame(const Frame& frame);
bool is_right(const Frame& frame);

// Puts the right values into all checksum fields, innermost first.
void mend_checksums(Frame& frame);
// Returns the offset of the innermost DNS message.
std::size_t message_offset(const Frame& frame);

}  // namespace pathproof::traffic
