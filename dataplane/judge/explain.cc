#include "dataplane/judge/explain.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/base/join_each.h"
#include "dataplane/frame/address.h"
#include "dataplane/judge/bad_checksums.h"
#include "dataplane/judge/field_map.h"

namespace pathproof::judge {
namespace {

using frame::Bytes;
using frame::IpAddress;

constexpr std::size_t kMostBytesShown = 48;

std::string hex(Bytes bytes) {
    const Bytes shown = bytes.first(std::min(bytes.size(), kMostBytesShown));
    return fmt::format(
        "{:02x}{}", fmt::join(shown, ""),
        shown.size() < bytes.size() ? fmt::format("... ({} bytes)", bytes.size()) : "");
}

std::string address(Bytes bytes) {
    IpAddress ip;
    ip.family = bytes.size() == 4 ? frame::Family::kIpv4 : frame::Family::kIpv6;
    std::ranges::copy(bytes, ip.bytes.begin());
    return frame::to_string(ip);
}

std::string mac(Bytes bytes) {
    frame::MacAddress value;
    std::ranges::copy(bytes, value.bytes.begin());
    return frame::to_string(value);
}

bool is_hexadecimal(const std::string& field) {
    constexpr const char* kWords[] = {"type",     "flags",        "checksum",
                                      "fragment", "control",      "version",
                                      "ip.id",    "gre.protocol", "tunnel.protocol"};
    return std::ranges::any_of(
        kWords, [&](const char* word) { return field.find(word) != std::string::npos; });
}

std::string tcp_flags(std::uint64_t value) {
    constexpr const char* kFlags[] = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"};
    std::string out;
    for (std::size_t bit = 0; bit < std::size(kFlags); ++bit) {
        out += (value >> bit & 1) != 0 ? std::string(" ") + kFlags[bit] : "";
    }
    return out;
}

std::string value_text(Bytes frame, const Field& field) {
    const Bytes bytes = frame.subspan(field.offset, field.length);
    const bool is_ip_address =
        field.name.ends_with("ip.source") || field.name.ends_with("ip.destination");
    if (is_ip_address && (bytes.size() == 4 || bytes.size() == 16)) {
        return address(bytes);
    }
    if (field.name.find("eth.") != std::string::npos && bytes.size() == 6) {
        return mac(bytes);
    }
    if (field.length > 8 || field.kind == FieldKind::kPayload ||
        field.kind == FieldKind::kTrailer) {
        return hex(bytes);
    }
    const std::uint64_t value = value_of(frame, field);
    const std::string flags = field.name.ends_with("tcp.flags") ? tcp_flags(value) : "";
    return is_hexadecimal(field.name) ? fmt::format("0x{:0{}x}{}", value, field.length * 2, flags)
                                      : fmt::format("{}", value);
}

std::string names_text(Bytes frame, const ChecksumFinding& finding, const Evidence& evidence) {
    const std::string names = join_each(
        matching_names(frame, finding, evidence),
        [](ChecksumName each) { return fmt::format("{} ({})", name(each), meaning(each)); },
        ", or ");
    return names.empty() ? "no known mistake (UNKNOWN)" : "fits " + names;
}

// An outer sum that is right for the finished inner checksum is wrong for the bytes, and not to
// blame.
bool is_to_blame(Bytes frame, const ChecksumFinding& finding, const Evidence& evidence) {
    return std::ranges::any_of(bad_checksums(frame, evidence.tunnels), [&](const BadChecksum& bad) {
        return bad.finding.layer == finding.layer;
    });
}

std::string state_text(Bytes frame, const ChecksumFinding& finding, const Evidence& evidence) {
    const int digits = static_cast<int>(field_size(finding.layer.protocol)) * 2;
    switch (finding.state) {
        case ChecksumState::kGood: return "right";
        case ChecksumState::kUnverifiable: return "cannot be verified in this frame alone";
        case ChecksumState::kDisabled:
            return evidence.zero_udp == ZeroUdp::kAgreed
                       ? "no checksum, which is allowed here"
                       : "no checksum: " + names_text(frame, finding, evidence);
        case ChecksumState::kBad: break;
    }
    const std::string why = is_to_blame(frame, finding, evidence)
                                ? names_text(frame, finding, evidence)
                                : "right once the inner checksum is";
    return fmt::format("WRONG: 0x{:0{}x} is right, difference 0x{:0{}x}; {}", finding.right, digits,
                       difference(finding), digits, why);
}

}  // namespace

const char* words(Malformed malformed) {
    switch (malformed) {
        case Malformed::kNone: return "";
        case Malformed::kShortEthernet: return "the frame ends within the Ethernet header";
        case Malformed::kShortIp:
            return "an IP header, or the length in it, does not fit the frame";
        case Malformed::kShortTransport:
            return "a transport header, or the length in it, does not fit the IP packet";
        case Malformed::kShortTunnel: return "the tunnel header is cut short or of an unknown kind";
    }
    return "";
}

std::string explain(std::span<const std::uint8_t> frame, const Evidence& evidence) {
    const frame::FrameView view = frame::parse_frame(frame, evidence.tunnels);
    const FrameVerdict verdict = verify_slowly(frame, evidence.tunnels);
    std::string out = fmt::format("frame of {} bytes", frame.size());
    if (view.to_tunnel) {
        out += fmt::format(", tunnel {}", frame::name(view.tunnel));
    }
    if (verdict.malformed != Malformed::kNone) {
        out += fmt::format("; malformed: {}", words(verdict.malformed));
    }
    out += '\n';
    for (const Field& field : fields_of(frame, view)) {
        out += fmt::format("{:>5}  {:<28} {}", field.offset, field.name, value_text(frame, field));
        for (const ChecksumFinding& finding : verdict.all()) {
            const bool here =
                field.kind == FieldKind::kChecksum && finding.field_offset == field.offset;
            out += here ? "  " + state_text(frame, finding, evidence) : "";
        }
        out += '\n';
    }
    return out;
}

}  // namespace pathproof::judge
