#include "dataplane/follow/compare.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/plural.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/judge/bad_checksums.h"
#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::follow {
namespace {

using frame::Bytes;
using frame::Fragment;
using frame::Network;

constexpr std::uint8_t kFin = 1, kPsh = 8, kEce = 0x40, kCwr = 0x80;

std::uint16_t be16(Bytes bytes, std::size_t at) {
    return at + 2 <= bytes.size() ? static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1])
                                  : std::uint16_t{0};
}
std::uint32_t be32(Bytes bytes, std::size_t at) {
    return static_cast<std::uint32_t>(be16(bytes, at)) << 16 | be16(bytes, at + 2);
}

// One's complement sum of bytes from an even place, folded.
std::uint32_t sum_of(Bytes bytes, std::size_t from, std::size_t to) {
    to = std::min(to, bytes.size());
    return from >= to ? 0u : frame::folded(frame::sum_bytes(bytes.subspan(from, to - from)));
}
std::uint32_t fold(std::uint32_t sum) {
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? 0 : sum;  // two spellings of zero
}

Transformation by_tunnel(frame::Tunnel tunnel) {
    switch (tunnel) {
        case frame::Tunnel::kGeneve: return Transformation::kGeneve;
        case frame::Tunnel::kGre: return Transformation::kGre;
        case frame::Tunnel::kIpInIp: return Transformation::kIpip;
        case frame::Tunnel::kVxlan:
        case frame::Tunnel::kVxlanGpe:
        case frame::Tunnel::kNone: break;
    }
    return Transformation::kVxlan;
}

class Comparing {
  public:
    Comparing(const Packet& in, const Packet& out, Extent extent, Transformations allowed)
        : in_(in), out_(out), extent_(extent), allowed_(allowed) {}

    Comparison make() && {
        result_.cut = in_.cut || out_.cut;
        compare_tunnel();
        compare_ethernet();
        if (in_.ip == out_.ip && in_.ip != Network::kNone) {
            compare_ip();
        } else if (in_.ip != out_.ip) {
            change("frame", fmt::format("an {} frame became one of {}", protocol_text(in_),
                                        protocol_text(out_)));
        }
        if (extent_ == Extent::kWhole) {
            compare_payload();
            compare_trailer();
        }
        result_.egress.flow = out_.flow;
        return std::move(result_);
    }

  private:
    void change(const char* field, std::string text, bool damage = false) {
        result_.changes.push_back({field, std::move(text), std::nullopt, damage});
    }
    // Most differences are allowed ones, for which no text is made.
    template <typename Text>
    void change_by(std::optional<Transformation> by, const char* field, Text text) {
        if (by) {
            result_.used.set(bit(*by));
            if (allowed_.test(bit(*by))) {
                return;
            }
        }
        result_.changes.push_back({field, text(), by, false});
    }
    void number(const char* field, std::uint64_t in, std::uint64_t out, int digits) {
        if (in != out) {
            change(field,
                   fmt::format("{} 0x{:0{}x} became 0x{:0{}x}", field, in, digits, out, digits));
        }
    }

    void compare_tunnel() {
        if (in_.tunnel != out_.tunnel || in_.vni != out_.vni) {
            result_.egress.tunnel = static_cast<std::uint8_t>(out_.tunnel);
            result_.egress.vni = out_.vni;
        }
        if (in_.tunnel == out_.tunnel) {
            if (in_.tunnel != frame::Tunnel::kNone) {
                compare_outer();
            }
            return;
        }
        if (in_.tunnel != frame::Tunnel::kNone) {
            change_by(by_tunnel(in_.tunnel), "tunnel", [&] {
                return fmt::format("the {} header was taken off", frame::name(in_.tunnel));
            });
        }
        if (out_.tunnel != frame::Tunnel::kNone) {
            change_by(by_tunnel(out_.tunnel), "tunnel", [&] {
                return fmt::format("a {} header was put around it", frame::name(out_.tunnel));
            });
            judge_outer();
        }
    }

    // The headers around the innermost packet, as one string of bytes but what routers change.
    void compare_outer() {
        if (in_.vni != out_.vni) {
            change_by(by_tunnel(in_.tunnel), "vni", [&] {
                return fmt::format("{} {} became {}",
                                   in_.tunnel == frame::Tunnel::kGre ? "key" : "VNI", in_.vni,
                                   out_.vni);
            });
        }
        const std::uint32_t in_head = in_.ethernet == kNowhere ? in_.network : in_.ethernet;
        const std::uint32_t out_head = out_.ethernet == kNowhere ? out_.network : out_.ethernet;
        if (extent_ == Extent::kWhole && in_head == out_head && in_.end == out_.end &&
            in_head <= in_.bytes.size() && out_head <= out_.bytes.size() &&
            std::memcmp(in_.bytes.data(), out_.bytes.data(), in_head) == 0) {
            return;
        }
        const frame::PacketView in = frame::parse_packet(in_.bytes);
        const frame::PacketView out = frame::parse_packet(out_.bytes);
        if (in.network != out.network || in.source != out.source ||
            in.destination != out.destination || in.destination_port != out.destination_port) {
            change_by(by_tunnel(in_.tunnel), "outer", [&] {
                return fmt::format("the outer packet {} -> {} became {} -> {}",
                                   frame::to_string(in.source), frame::to_string(in.destination),
                                   frame::to_string(out.source), frame::to_string(out.destination));
            });
        } else if (in.network_offset + 12 <= in_.bytes.size() &&
                   out.network_offset + 12 <= out_.bytes.size() &&
                   std::memcmp(in_.bytes.data(), out_.bytes.data(), 12) != 0) {
            change_by(Transformation::kRouter, "outer.ethernet",
                      [] { return "the outer packet's MAC addresses changed"; });
        }
        judge_outer();
    }

    // Checksums of the outer headers that the path wrote.
    void judge_outer() {
        if (out_.cut) {
            return;
        }
        const auto tunnels = frame::TunnelPorts::well_known();
        const auto verdict = judge::verify(out_.bytes, tunnels);
        const auto is_outer = [](const judge::ChecksumFinding& finding) {
            return finding.layer.depth == judge::Depth::kOuter &&
                   finding.state == judge::ChecksumState::kBad;
        };
        if (std::ranges::none_of(verdict.all(), is_outer)) {
            return;
        }
        // It may be right for the inner checksum that is still to be finished.
        for (const judge::BadChecksum& bad : judge::bad_checksums(out_.bytes, tunnels)) {
            if (is_outer(bad.finding)) {
                name_checksum(bad.finding, bad.frame);
            }
        }
    }

    void name_checksum(const judge::ChecksumFinding& finding) {
        name_checksum(finding, out_.bytes);
    }
    void name_checksum(const judge::ChecksumFinding& finding, Bytes frame) {
        const judge::Evidence evidence{.tunnels = frame::TunnelPorts::well_known(),
                                       .original = std::nullopt,
                                       .before = in_.bytes};
        const auto names = judge::matching_names(frame, finding, evidence);
        for (const judge::ChecksumName one : names) {
            if (one == judge::ChecksumName::kPseudo ||
                one == judge::ChecksumName::kPseudoNoLength) {
                result_.partial_out = true;
                return;
            }
        }
        std::string why = "right would be " + fmt::format("0x{:04x}", finding.right);
        if (names.size() == 1) {
            why +=
                fmt::format("; {}: {}", judge::name(names.front()), judge::meaning(names.front()));
        } else if (names.empty()) {
            why += fmt::format("; off by 0x{:04x}", judge::difference(finding));
        } else {
            why += "; fits";
            for (const judge::ChecksumName one : names) {
                why += fmt::format(" {}", judge::name(one));
            }
        }
        if (const std::string address = right_for_before(finding); !address.empty()) {
            why += "; " + address;
        }
        change("checksum", fmt::format("{} checksum 0x{:04x} is wrong ({})",
                                       judge::name(finding.layer), finding.wire, why));
    }

    // Returns a sentence if the checksum was right for the packet before its addresses or ports
    // changed; else nothing.
    std::string right_for_before(const judge::ChecksumFinding& finding) const {
        const std::uint32_t at = out_.checksum_at();
        if (at == kNowhere || at != finding.field_offset || in_.ip != out_.ip || in_.cut ||
            extent_ != Extent::kWhole || in_.flow == out_.flow ||
            in_.payload_digest != out_.payload_digest) {
            return "";
        }
        if (be16(in_.bytes, in_.checksum_at()) == be16(out_.bytes, at)) {
            return fmt::format("it is still that of the packet before translation, {}",
                               flow_text(in_));
        }
        return "";
    }

    void compare_ethernet() {
        if (in_.ethernet == kNowhere || out_.ethernet == kNowhere) {
            return;
        }
        const std::uint8_t* const in = in_.bytes.data() + in_.ethernet;
        const std::uint8_t* const out = out_.bytes.data() + out_.ethernet;
        if (in_.ethernet + 12 > in_.bytes.size() || out_.ethernet + 12 > out_.bytes.size()) {
            return;
        }
        if (std::memcmp(in, out, 12) != 0) {
            std::memcpy(result_.egress.macs, out, 12);
            result_.egress.has_macs = 1;
            // Frames without IP are not routed.
            const bool routed = in_.ip != Network::kNone;
            change_by(routed ? std::optional(Transformation::kRouter) : std::nullopt, "ethernet",
                      [&] { return macs(in, out); });
        }
        result_.egress.vlans = Egress::kTagsAsTheyWere;
        if (in_.vlans != out_.vlans || in_.vlan[0] != out_.vlan[0] || in_.vlan[1] != out_.vlan[1]) {
            result_.egress.vlans = out_.vlans;
            std::copy_n(out_.vlan, 2, result_.egress.vlan);
            change_by(Transformation::kVlan, "vlan",
                      [&] { return fmt::format("{} became {}", tags(in_), tags(out_)); });
        }
        if (in_.ethertype != out_.ethertype) {
            number("ethertype", in_.ethertype, out_.ethertype, 4);
        }
    }

    static std::string macs(const std::uint8_t* in, const std::uint8_t* out) {
        std::string text;
        for (const unsigned at : {0u, 6u}) {
            if (std::memcmp(in + at, out + at, 6) != 0) {
                text += fmt::format("{}{} MAC {} became {}", text.empty() ? "" : ", ",
                                    at == 0 ? "destination" : "source", mac_text({in + at, 6}),
                                    mac_text({out + at, 6}));
            }
        }
        return text;
    }

    static std::string tags(const Packet& packet) {
        if (packet.vlans == 0) {
            return "no VLAN tag";
        }
        std::string text = "VLAN";
        for (unsigned i = 0; i < packet.vlans; ++i) {
            text += fmt::format(" {}", packet.vlan[i] & 0xfffu);
            if (packet.vlan[i] >> 12 != 0) {
                text += fmt::format(" (priority {})", packet.vlan[i] >> 13);
            }
        }
        return text;
    }

    void compare_ip() {
        const std::uint8_t* const in = in_.bytes.data() + in_.network;
        const std::uint8_t* const out = out_.bytes.data() + out_.network;
        const bool v4 = in_.ip == Network::kIpv4;
        compare_hops();
        if (v4) {
            compare_ipv4(in, out);
        } else {
            compare_ipv6(in, out);
        }
        number(v4 ? "ipv4.protocol" : "ipv6.next_header", in_.protocol, out_.protocol, 2);
        compare_addresses();
        if (in_.protocol == out_.protocol && in_.has_transport && out_.has_transport) {
            compare_transport();
            compare_transport_checksum();
        } else if (in_.has_transport != out_.has_transport && extent_ == Extent::kWhole) {
            change("transport", "the transport header is cut off or cannot be read", true);
        }
    }

    void compare_hops() {
        const int lowered = in_.hop_limit() - out_.hop_limit();
        result_.egress.hops = static_cast<std::int16_t>(lowered);
        const char* const field = in_.ip == Network::kIpv4 ? "ipv4.ttl" : "ipv6.hop_limit";
        if (lowered != 0) {
            change_by(
                lowered > 0 ? std::optional(Transformation::kRouter) : std::nullopt, field, [&] {
                    return fmt::format("{} {} became {}", field, in_.hop_limit(), out_.hop_limit());
                });
        }
    }

    void compare_ipv4(const std::uint8_t* in, const std::uint8_t* out) {
        if (in[0] == out[0] && in[1] == out[1] && std::memcmp(in + 2, out + 2, 6) == 0 &&
            std::memcmp(in + 20, out + 20, (in[0] & 0xfu) * 4 - 20) == 0) {
            compare_ipv4_checksum();
            return;
        }
        number("ipv4.tos", in[1], out[1], 2);
        if (extent_ == Extent::kWhole) {
            number("ipv4.total_length", be16({in, 20}, 2), be16({out, 20}, 2), 4);
            // A device that cuts a super-frame numbers its segments anew.
            const bool counted_anew =
                in_.protocol == IPPROTO_TCP && (allowed_.test(bit(Transformation::kGso)) ||
                                                allowed_.test(bit(Transformation::kGro)));
            if (!counted_anew) {
                number("ipv4.identification", be16({in, 20}, 4), be16({out, 20}, 4), 4);
            }
            number("ipv4.fragment", be16({in, 20}, 6), be16({out, 20}, 6), 4);
        } else {
            number("ipv4.fragment", be16({in, 20}, 6) & 0xc000u, be16({out, 20}, 6) & 0xc000u, 4);
        }
        const std::size_t in_length = (in[0] & 0xfu) * 4;
        const std::size_t out_length = (out[0] & 0xfu) * 4;
        if (in_length != out_length || std::memcmp(in + 20, out + 20, in_length - 20) != 0) {
            change("ipv4.options",
                   in_length == out_length ? "ipv4.options changed" : "ipv4.header_length changed");
        }
        compare_ipv4_checksum();
    }

    void compare_ipv4_checksum() {
        const std::uint32_t in = fold(sum_of(in_.bytes, in_.network, header_end(in_)));
        const std::uint32_t out = fold(sum_of(out_.bytes, out_.network, header_end(out_)));
        if (in == out && (in == 0 || extent_ == Extent::kWhole)) {
            result_.wrong_already = result_.wrong_already || in != 0;
            return;
        }
        const unsigned wire_in = be16(in_.bytes, in_.network + 10);
        const unsigned wire_out = be16(out_.bytes, out_.network + 10);
        if (out == 0) {
            // Left to a NIC: 0, as TSO wants it.
            if (wire_in == 0) {
                result_.partial_in = true;
            } else {
                change("ipv4.checksum", fmt::format("ipv4.checksum 0x{:04x} was wrong and was made "
                                                    "right on the way: 0x{:04x}",
                                                    wire_in, wire_out));
            }
            return;
        }
        if (wire_out == 0 && extent_ == Extent::kSegment) {
            result_.partial_out = true;
            return;
        }
        const auto verdict = judge::verify(out_.bytes, frame::TunnelPorts::well_known());
        const std::uint32_t at = out_.network + 10;
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            if (finding.layer.protocol == judge::Protocol::kIpv4 && finding.field_offset == at &&
                finding.state == judge::ChecksumState::kBad) {
                name_checksum(finding);
                return;
            }
        }
        change("ipv4.checksum", fmt::format("ipv4.checksum 0x{:04x} is wrong", wire_out));
    }
    static std::size_t header_end(const Packet& packet) {
        return packet.network + (packet.bytes[packet.network] & 0xfu) * 4;
    }

    void compare_ipv6(const std::uint8_t* in, const std::uint8_t* out) {
        number("ipv6.traffic_class", be16({in, 40}, 0) >> 4 & 0xffu,
               be16({out, 40}, 0) >> 4 & 0xffu, 2);
        number("ipv6.flow_label", be32({in, 40}, 0) & 0xfffffu, be32({out, 40}, 0) & 0xfffffu, 5);
        const std::uint32_t in_length = in_.transport - in_.network;
        const std::uint32_t out_length = out_.transport - out_.network;
        if (extent_ == Extent::kWhole) {
            number("ipv6.payload_length", be16({in, 40}, 4), be16({out, 40}, 4), 4);
        }
        if (in_length != out_length || std::memcmp(in + 40, out + 40, in_length - 40) != 0) {
            change("ipv6.extensions", "ipv6 extension headers changed");
        }
    }

    void compare_addresses() {
        const auto address = [&](const char* which, Bytes in, Bytes out) {
            if (!std::ranges::equal(in, out)) {
                change_by(Transformation::kNat, which, [&] {
                    return fmt::format("{} {} became {}", which, address_text(in),
                                       address_text(out));
                });
            }
        };
        address("source address", in_.source(), out_.source());
        address("destination address", in_.destination(), out_.destination());
        if (in_.protocol != out_.protocol) {
            return;
        }
        const bool echo = in_.protocol == IPPROTO_ICMP || in_.protocol == IPPROTO_ICMPV6;
        const auto port = [&](const char* which, unsigned in, unsigned out) {
            if (in != out) {
                change_by(Transformation::kNat, which,
                          [&] { return fmt::format("{} {} became {}", which, in, out); });
            }
        };
        port(echo ? "echo identifier" : "source port", in_.source_port, out_.source_port);
        if (!echo) {
            port("destination port", in_.destination_port, out_.destination_port);
        }
    }

    void compare_transport() {
        const std::uint8_t* const in = in_.bytes.data() + in_.transport;
        const std::uint8_t* const out = out_.bytes.data() + out_.transport;
        switch (in_.protocol) {
            case IPPROTO_TCP: compare_tcp(in, out); break;
            case IPPROTO_UDP:
                if (extent_ == Extent::kWhole) {
                    number("udp.length", be16({in, 8}, 4), be16({out, 8}, 4), 4);
                }
                break;
            case IPPROTO_UDPLITE:
                number("udplite.coverage", be16({in, 8}, 4), be16({out, 8}, 4), 4);
                break;
            case IPPROTO_SCTP:
                number("sctp.verification_tag", be32({in, 12}, 4), be32({out, 12}, 4), 8);
                break;
            default: compare_icmp(in, out); break;
        }
    }

    void compare_tcp(const std::uint8_t* in, const std::uint8_t* out) {
        const std::size_t in_length = in_.payload - in_.transport;
        const std::size_t out_length = out_.payload - out_.transport;
        if (extent_ == Extent::kWhole) {
            number("tcp.sequence", be32({in, 20}, 4), be32({out, 20}, 4), 8);
        }
        number("tcp.acknowledgement", be32({in, 20}, 8), be32({out, 20}, 8), 8);
        unsigned in_flags = in[13];
        unsigned out_flags = out[13];
        if (extent_ == Extent::kSegment) {
            const bool same_end =
                in_.sequence + in_.payload_length() == out_.sequence + out_.payload_length();
            // Only the last segment has them (FIN, PSH), only the first (CWR).
            const unsigned loose = (same_end ? 0u : unsigned{kFin | kPsh}) | kCwr | kEce;
            in_flags &= ~loose;
            out_flags &= ~loose;
        }
        number("tcp.flags", in_flags, out_flags, 2);
        number("tcp.reserved", in[12] & 0xfu, out[12] & 0xfu, 1);
        number("tcp.window", be16({in, 20}, 14), be16({out, 20}, 14), 4);
        number("tcp.urgent", be16({in, 20}, 18), be16({out, 20}, 18), 4);
        if (in_length != out_length || std::memcmp(in + 20, out + 20, in_length - 20) != 0) {
            change("tcp.options", options_text({in, in_length}, {out, out_length}));
        }
    }

    static std::string options_text(Bytes in, Bytes out) {
        const auto mss = [](Bytes header) -> unsigned {
            for (std::size_t at = 20; at + 4 <= header.size();) {
                if (header[at] == 2) {
                    return be16(header, at + 2);
                }
                at += header[at] <= 1 ? 1 : std::max<std::size_t>(header[at + 1], 2);
            }
            return 0;
        };
        const unsigned before = mss(in);
        const unsigned after = mss(out);
        return before != after ? fmt::format("tcp.mss {} became {}", before, after)
                               : std::string("tcp.options changed");
    }

    void compare_icmp(const std::uint8_t* in, const std::uint8_t* out) {
        number("icmp.type", in[0], out[0], 2);
        number("icmp.code", in[1], out[1], 2);
        if (!is_icmp_error(in_)) {
            number("icmp.sequence", be16({in, 8}, 6), be16({out, 8}, 6), 4);
            return;
        }
        number("icmp.mtu", be32({in, 8}, 4), be32({out, 8}, 4), 8);
    }

    // Header bytes that the transport's checksum covers, with the field itself and, of those with a
    // pseudo-header, addresses.
    static std::uint32_t covered_sum(const Packet& packet) {
        std::uint32_t sum = sum_of(packet.bytes, packet.transport, packet.payload);
        const bool pseudo = packet.protocol != IPPROTO_ICMP;
        if (pseudo) {
            sum += sum_of(packet.source(), 0, 16) + sum_of(packet.destination(), 0, 16);
            sum += packet.end - packet.transport;
        }
        return fold(fold(sum));
    }

    void compare_transport_checksum() {
        const std::uint32_t in_at = in_.checksum_at();
        const std::uint32_t out_at = out_.checksum_at();
        const unsigned in_wire = be16(in_.bytes, in_at);
        const unsigned out_wire = be16(out_.bytes, out_at);
        const bool same = extent_ == Extent::kWhole && in_.payload_digest == out_.payload_digest;
        const bool udp = in_.protocol == IPPROTO_UDP;
        if (udp && (in_wire == 0) != (out_wire == 0)) {
            // A datagram without a checksum is given none, nor is one taken away.
            if (out_wire == 0) {
                change("udp.checksum",
                       fmt::format("udp.checksum 0x{:04x} became 0: taken off", in_wire));
                return;
            }
            change("udp.checksum", fmt::format("udp.checksum 0 (none) became 0x{:04x}", out_wire));
        }
        if (udp && in_wire == 0 && out_wire == 0) {
            return;
        }
        if (same && in_.protocol == IPPROTO_SCTP) {
            if (std::memcmp(in_.bytes.data() + in_.transport, out_.bytes.data() + out_.transport,
                            12) == 0) {
                return;
            }
        } else if (same && covered_sum(in_) == covered_sum(out_) && !is_icmp_error(in_)) {
            return;
        }
        if (out_.cut || out_.broken || out_.fragment != Fragment::kWhole ||
            (extent_ == Extent::kSegment && is_left_to_nic(out_))) {
            result_.partial_out = result_.partial_out || extent_ == Extent::kSegment;
            judge_fragment(same);
            return;
        }
        judge_transport(same, in_wire);
    }

    // The checksum of a first fragment cannot be judged by itself: it has to have followed its
    // addresses and ports, which was compared.
    void judge_fragment(bool same) {
        if (same && out_.fragment != Fragment::kWhole && !out_.cut) {
            change("checksum", fmt::format("{} checksum was not brought up to date with the "
                                           "addresses and ports of its fragment",
                                           out_.protocol == IPPROTO_TCP ? "TCP" : "UDP"));
        }
    }

    void judge_transport(bool same, unsigned in_wire) {
        const auto verdict = judge::verify(out_.bytes, frame::TunnelPorts::well_known());
        const judge::ChecksumFinding* found = nullptr;
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            if (finding.field_offset == out_.checksum_at() &&
                finding.layer.protocol != judge::Protocol::kIpv4) {
                found = &finding;
            }
        }
        if (found == nullptr || found->state == judge::ChecksumState::kUnverifiable ||
            found->state == judge::ChecksumState::kDisabled) {
            return;
        }
        const bool sctp_left = in_.protocol == IPPROTO_SCTP && in_wire == 0;
        if (found->state == judge::ChecksumState::kGood) {
            if (is_left_to_nic(in_) || sctp_left) {
                result_.partial_in = true;
            } else if (same && !is_right(in_)) {
                change("checksum",
                       fmt::format("{} checksum 0x{:04x} was wrong and was made right on the way",
                                   judge::name(found->layer), in_wire));
            } else if (extent_ == Extent::kWhole && !same && !in_.cut && in_.end == out_.end) {
                healed_ = true;
            }
            return;
        }
        if (out_.protocol != IPPROTO_SCTP && is_left_to_nic(out_)) {
            result_.partial_out = true;
            return;
        }
        if (extent_ == Extent::kWhole && !same) {
            caught_ = true;
            return;
        }
        name_checksum(*found);
    }

    static bool is_right(const Packet& packet) {
        if (packet.cut) {
            return true;
        }
        const auto verdict = judge::verify(packet.bytes, frame::TunnelPorts::well_known());
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            if (finding.field_offset == packet.checksum_at()) {
                return finding.state != judge::ChecksumState::kBad;
            }
        }
        return true;
    }

    void compare_payload() {
        if (is_icmp_error(in_) && is_icmp_error(out_)) {
            compare_quote();
            return;
        }
        if (in_.payload_digest == out_.payload_digest &&
            in_.payload_length() == out_.payload_length() && in_.broken == out_.broken) {
            return;
        }
        std::string text = payload_difference(in_.payload_bytes(), out_.payload_bytes());
        if (text.empty() && in_.cut == out_.cut && in_.length != out_.length) {
            text = fmt::format("a frame of {} bytes became one of {}", in_.length, out_.length);
        }
        if (text.empty()) {
            return;
        }
        if (out_.broken && !in_.broken) {
            text += "; its headers still say the length before";
        }
        if (healed_) {
            text += "; the checksum over it was made right for it";
        } else if (caught_) {
            text += "; its checksum does not fit it, so that receivers drop it";
        }
        change("payload", text, true);
    }

    // The packet that an ICMP error quotes: translated like the flow it is of, and else as it was.
    void compare_quote() {
        const Bytes in = in_.payload_bytes();
        const Bytes out = out_.payload_bytes();
        if (in.size() != out.size()) {
            change("icmp.quote", payload_difference(in, out), true);
            return;
        }
        const std::size_t header = in_.ip == Network::kIpv4 ? 20 : 40;
        if (in.size() < header + 4) {
            return;
        }
        const std::size_t source = in_.ip == Network::kIpv4 ? 12 : 8;
        const std::size_t address = in_.ip == Network::kIpv4 ? 4 : 16;
        const std::size_t ports = in_.ip == Network::kIpv4 ? (in[0] & 0xfu) * 4u : 40u;
        if (!std::ranges::equal(in.subspan(source, 2 * address),
                                out.subspan(source, 2 * address))) {
            change_by(Transformation::kNat, "icmp.quote", [&] {
                return fmt::format("the quoted packet {} -> {} became {} -> {}",
                                   address_text(in.subspan(source, address)),
                                   address_text(in.subspan(source + address, address)),
                                   address_text(out.subspan(source, address)),
                                   address_text(out.subspan(source + address, address)));
            });
        }
        if (ports + 4 <= in.size() &&
            !std::ranges::equal(in.subspan(ports, 4), out.subspan(ports, 4))) {
            change_by(Transformation::kNat, "icmp.quote", [&] {
                return fmt::format("the quoted ports {}, {} became {}, {}", be16(in, ports),
                                   be16(in, ports + 2), be16(out, ports), be16(out, ports + 2));
            });
        }
        // An error goes to the source of the packet that it quotes (RFC 792).
        const auto goes_to_source = [&](const Packet& packet, Bytes quote) {
            return std::ranges::equal(packet.destination(), quote.subspan(source, address));
        };
        if (goes_to_source(in_, in) && !goes_to_source(out_, out)) {
            change("icmp.quote",
                   fmt::format("the ICMP error goes to {}, and the packet that it quotes is still "
                               "from {}: the quote was not translated",
                               address_text(out_.destination()),
                               address_text(out.subspan(source, address))));
        }
        const std::size_t rest = ports + 8;
        if (rest < in.size() &&
            !std::ranges::equal(in.subspan(rest + 12 < in.size() ? rest + 12 : in.size()),
                                out.subspan(rest + 12 < in.size() ? rest + 12 : in.size()))) {
            change("icmp.quote", "the quoted payload changed: " + payload_difference(in, out),
                   true);
        }
    }

    static Bytes trailer(const Packet& packet) {
        const std::size_t end = std::min<std::size_t>(packet.end, packet.bytes.size());
        return packet.bytes.subspan(end,
                                    std::min<std::size_t>(packet.carrier_end, packet.bytes.size()) -
                                        std::min<std::size_t>(end, packet.carrier_end));
    }

    // Padding may come and go up to the shortest frame; it is made of zeros, or was there before.
    void compare_trailer() {
        if (in_.cut || out_.cut || out_.broken) {
            return;
        }
        const Bytes in = trailer(in_);
        const Bytes out = trailer(out_);
        if (out.empty() || std::ranges::equal(in, out)) {
            return;
        }
        const std::size_t frame =
            out_.carrier_end - (out_.ethernet == kNowhere ? out_.network : out_.ethernet);
        const bool zeros = std::ranges::all_of(out, [](std::uint8_t byte) { return byte == 0; });
        const std::size_t shortest = 60u + 4u * std::max(in_.vlans, out_.vlans);
        if (frame > shortest && out.size() > in.size()) {
            change("padding",
                   fmt::format("{}{} were put behind a frame that needs no padding",
                               plural(out.size() - in.size(), "byte"),
                               zeros ? "" : " that are not zero"),
                   true);
        } else if (!zeros) {
            change("padding", fmt::format("{} of padding that are not zero were put behind it",
                                          plural(out.size(), "byte")));
        }
    }

    const Packet& in_;
    const Packet& out_;
    Extent extent_;
    Transformations allowed_;
    bool healed_ = false;
    bool caught_ = false;
    Comparison result_;
};

std::size_t common_prefix(Bytes in, Bytes out) {
    const std::size_t size = std::min(in.size(), out.size());
    return static_cast<std::size_t>(
        std::mismatch(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size), out.begin())
            .first -
        in.begin());
}
std::size_t common_suffix(Bytes in, Bytes out) {
    std::size_t same = 0;
    const std::size_t size = std::min(in.size(), out.size());
    while (same < size && in[in.size() - 1 - same] == out[out.size() - 1 - same]) {
        ++same;
    }
    return same;
}

}  // namespace

std::string payload_difference(Bytes in, Bytes out) {
    const std::size_t size = std::min(in.size(), out.size());
    const std::size_t prefix = common_prefix(in, out);
    if (prefix == size) {
        if (in.size() == out.size()) {
            return "";
        }
        return in.size() > out.size()
                   ? fmt::format("cut by {} at the end", plural(in.size() - size, "byte"))
                   : fmt::format("{} put behind its end", plural(out.size() - size, "byte"));
    }
    const std::size_t suffix = common_suffix(in, out);
    if (suffix == size) {
        return in.size() > out.size()
                   ? fmt::format("cut by {} at the start", plural(in.size() - size, "byte"))
                   : fmt::format("shifted by {} put in front", plural(out.size() - size, "byte"));
    }
    if (in.size() != out.size()) {
        if (prefix + suffix >= size) {
            return in.size() > out.size() ? fmt::format("{} left out at payload offset {}",
                                                        plural(in.size() - size, "byte"), prefix)
                                          : fmt::format("{} put in at payload offset {}",
                                                        plural(out.size() - size, "byte"), prefix);
        }
        return fmt::format("{} of payload became {}, different from payload offset {} on",
                           plural(in.size(), "byte"), out.size(), prefix);
    }
    std::size_t different = 0;
    std::size_t last = prefix;
    for (std::size_t i = prefix; i < size; ++i) {
        if (in[i] != out[i]) {
            ++different;
            last = i;
        }
    }
    if (different == 1) {
        return fmt::format("1 byte changed at payload offset {}: 0x{:02x} became 0x{:02x}", prefix,
                           in[prefix], out[prefix]);
    }
    for (std::size_t shift = 1; shift <= 16 && different > 8 && prefix + shift + 8 < size;
         ++shift) {
        const std::size_t rest = size - prefix - shift;
        if (std::memcmp(in.data() + prefix, out.data() + prefix + shift, rest) == 0) {
            return fmt::format("shifted by {} from payload offset {} on", plural(shift, "byte"),
                               prefix);
        }
        if (std::memcmp(in.data() + prefix + shift, out.data() + prefix, rest) == 0) {
            return fmt::format("shifted back by {} from payload offset {} on",
                               plural(shift, "byte"), prefix);
        }
    }
    return fmt::format("{} changed within payload offsets {} to {}", plural(different, "byte"),
                       prefix, last);
}

std::string egress_difference(const Egress& usual, const Egress& other,
                              const std::string& usual_flow, const std::string& other_flow) {
    std::string text;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
    if (usual.flow != other.flow) {
        add(fmt::format("came out as {} where its flow is {}", other_flow, usual_flow));
    }
    if (usual.hops != other.hops) {
        add(fmt::format("hop limit lowered by {} where its flow's is by {}", other.hops,
                        usual.hops));
    }
    if (usual.tunnel != other.tunnel || usual.vni != other.vni) {
        const auto vni = [](const Egress& egress) {
            return egress.tunnel == 0 ? "no other than it came with" : std::to_string(egress.vni);
        };
        add(fmt::format("VNI {} where its flow has {}", vni(other), vni(usual)));
    }
    if (usual.vlans != other.vlans || usual.vlan[0] != other.vlan[0] ||
        usual.vlan[1] != other.vlan[1]) {
        const auto vlan = [](const Egress& egress) {
            return egress.vlans == Egress::kTagsAsTheyWere
                       ? "as it came"
                       : std::to_string(egress.vlans == 0 ? 0 : egress.vlan[0] & 0xfff);
        };
        add(fmt::format("VLAN {} where its flow has {}", vlan(other), vlan(usual)));
    }
    if (std::memcmp(usual.macs, other.macs, 12) != 0) {
        const auto macs = [](const Egress& egress) {
            return egress.has_macs == 0 ? "the station that it was sent to"
                                        : fmt::format("{} from {}", mac_text({egress.macs, 6}),
                                                      mac_text({egress.macs + 6, 6}));
        };
        add(fmt::format("sent to {} where its flow goes to {}", macs(other), macs(usual)));
    }
    return text;
}

Comparison compare(const Packet& in, const Packet& out, Extent extent, Transformations allowed) {
    return Comparing(in, out, extent, allowed).make();
}

}  // namespace pathproof::follow
