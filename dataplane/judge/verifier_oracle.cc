// The slow judge: what oracle_reader.h found, summed byte by byte.
#include "dataplane/frame/checksum_oracle.h"
#include "dataplane/judge/oracle_reader.h"

namespace pathproof::judge {
namespace {

using oracle::Inside;
using oracle::Octets;
using oracle::Packet;

// RFC 1071, or what is left of it without carries.
class Sum {
  public:
    explicit Sum(OracleMistake mistake) : mistake_(mistake) {}

    void add(Octets octets) {
        right_.add(octets);
        for (const std::uint8_t octet : octets) {
            without_carry_ = static_cast<std::uint16_t>(without_carry_ + octet * (high_ ? 256 : 1));
            high_ = !high_;
        }
    }
    std::uint16_t checksum() const {
        return mistake_ == OracleMistake::kCarryLost ? static_cast<std::uint16_t>(~without_carry_)
                                                     : right_.checksum();
    }

  private:
    OracleMistake mistake_;
    frame::OracleSum right_;
    std::uint16_t without_carry_ = 0;
    bool high_ = true;
};

constexpr std::uint8_t kZeros[4] = {};

void sum_but(Sum& sum, Octets octets, std::size_t from, std::size_t to, std::size_t field) {
    sum.add(octets.subspan(from, field - from));
    sum.add({kZeros, 2});
    sum.add(octets.subspan(field + 2, to - field - 2));
}

ChecksumFinding judge_ipv4_header(const Packet& packet, Depth depth, OracleMistake mistake) {
    const std::size_t field = packet.ip + 10;
    const std::size_t length =
        mistake == OracleMistake::kOptionsLeftOut ? 20 : packet.octets[packet.ip] % 16 * 4u;
    Sum sum(mistake);
    sum_but(sum, packet.octets, packet.ip, packet.ip + length, field);
    const unsigned wire = oracle::word(packet.octets, field);
    return {.layer = {depth, Protocol::kIpv4},
            .state = wire == sum.checksum() ? ChecksumState::kGood : ChecksumState::kBad,
            .field_offset = static_cast<std::uint16_t>(field),
            .wire = wire,
            .right = sum.checksum()};
}

void add_pseudo_header(Sum& sum, const Packet& packet, OracleMistake mistake) {
    const std::size_t size = packet.ipv6 ? 16 : 4;
    sum.add(packet.octets.subspan(packet.ip + (packet.ipv6 ? 8 : 12), size));
    sum.add(packet.octets.subspan(packet.final_destination, size));
    std::size_t length = packet.length;
    unsigned protocol = packet.protocol;
    if (packet.ipv6 && mistake == OracleMistake::kExtensionHeader) {
        length = oracle::word(packet.octets, packet.ip + 4);
        protocol = packet.octets[packet.ip + 6];
    }
    const std::uint8_t rest[] = {static_cast<std::uint8_t>(length >> 24),
                                 static_cast<std::uint8_t>(length >> 16),
                                 static_cast<std::uint8_t>(length >> 8),
                                 static_cast<std::uint8_t>(length),
                                 0,
                                 static_cast<std::uint8_t>(protocol)};
    sum.add(rest);
}

// Returns the end of the summed bytes; it is never before the end of the field.
std::size_t end_of_sum(const Packet& packet, OracleMistake mistake) {
    const bool odd = (packet.covered_end - packet.transport) % 2 != 0;
    switch (mistake) {
        case OracleMistake::kPaddingSummed: return packet.octets.size();
        case OracleMistake::kOddByteLost: return odd ? packet.covered_end - 1 : packet.covered_end;
        default: return packet.covered_end;
    }
}

std::uint32_t right_sctp(const Packet& packet, OracleMistake mistake) {
    frame::OracleCrc32c crc;
    crc.add(packet.octets.subspan(packet.transport, packet.field - packet.transport));
    crc.add(kZeros);
    const std::size_t rest = packet.field + sizeof kZeros;
    crc.add(packet.octets.subspan(rest, end_of_sum(packet, mistake) - rest));
    return crc.sctp_checksum();
}

std::uint32_t right_value(const Packet& packet, OracleMistake mistake) {
    if (packet.judged == Protocol::kSctp) {
        return right_sctp(packet, mistake);
    }
    Sum sum(mistake);
    if (packet.judged != Protocol::kIcmp && packet.judged != Protocol::kGre) {
        add_pseudo_header(sum, packet, mistake);
    }
    sum_but(sum, packet.octets, packet.transport, end_of_sum(packet, mistake), packet.field);
    const bool no_zero = packet.judged == Protocol::kUdp || packet.judged == Protocol::kUdpLite;
    const bool mangled = no_zero && sum.checksum() == 0 && mistake != OracleMistake::kZeroRule;
    return mangled ? 0xffff : sum.checksum();  // RFC 768, RFC 3828 section 3.1
}

// A receiver's sum over everything cannot tell 0 from 0xffff.
ChecksumState compared(const ChecksumFinding& finding, OracleMistake mistake) {
    const bool either_zero = finding.right == 0 && finding.wire == 0xffff &&
                             finding.layer.protocol != Protocol::kSctp &&
                             mistake != OracleMistake::kZeroRule;
    return finding.wire == finding.right || either_zero ? ChecksumState::kGood
                                                        : ChecksumState::kBad;
}

// Field 0 under UDP: no checksum was made, which IPv6 allows to the outside of a tunnel only (RFC
// 6935).
bool is_disabled(const ChecksumFinding& finding, bool ipv6, OracleMistake mistake) {
    if (finding.layer.protocol != Protocol::kUdp || finding.wire != 0 ||
        mistake == OracleMistake::kZeroRule) {
        return false;
    }
    const bool agreed =
        finding.layer.depth == Depth::kOuter && mistake != OracleMistake::kTunnelZeroRefused;
    return !ipv6 || agreed;
}

std::uint32_t field_value(const Packet& packet) {
    const std::uint32_t first = oracle::word(packet.octets, packet.field);
    return packet.judged == Protocol::kSctp
               ? first << 16 | oracle::word(packet.octets, packet.field + 2)
               : first;
}

ChecksumFinding judge_transport(const Packet& packet, Depth depth, OracleMistake mistake) {
    ChecksumFinding finding{.layer = {depth, *packet.judged}};
    if (packet.later_fragment) {
        return finding;
    }
    finding.field_offset = static_cast<std::uint16_t>(packet.field);
    finding.wire = field_value(packet);
    const bool cut = packet.first_fragment && mistake != OracleMistake::kFragmentVerified;
    if (packet.malformed == Malformed::kNone && !cut && packet.destination_known) {
        finding.right = right_value(packet, mistake);
        finding.state = compared(finding, mistake);
    }
    if (is_disabled(finding, packet.ipv6, mistake)) {
        finding.state = ChecksumState::kDisabled;
    }
    return finding;
}

void report(FrameVerdict& verdict, const Packet& packet, Depth depth, OracleMistake mistake) {
    if (packet.ipv4) {
        verdict.findings[verdict.count++] = judge_ipv4_header(packet, depth, mistake);
    }
    if (packet.judged) {
        verdict.findings[verdict.count++] = judge_transport(packet, depth, mistake);
    }
    if (verdict.malformed == Malformed::kNone) {
        verdict.malformed = packet.malformed;
    }
}

FrameVerdict judge(const Packet& outer, const Inside& inside, OracleMistake mistake) {
    FrameVerdict verdict;
    report(verdict, outer, inside.is_tunnel ? Depth::kOuter : Depth::kPlain, mistake);
    if (verdict.malformed == Malformed::kNone) {
        verdict.malformed = inside.malformed;
    }
    if (inside.packet) {
        report(verdict, *inside.packet, Depth::kInner, mistake);
    }
    return verdict;
}

}  // namespace

FrameVerdict verify_slowly(std::span<const std::uint8_t> bytes, const frame::TunnelPorts& tunnels,
                           OracleMistake mistake) noexcept {
    const Packet outer = oracle::read_frame(bytes, 0);
    return judge(outer, oracle::read_inside(outer, tunnels), mistake);
}

FrameVerdict verify_slowly(std::span<const std::uint8_t> bytes,
                           std::span<const std::uint16_t> vxlan_ports) noexcept {
    const Packet outer = oracle::read_frame(bytes, 0);
    return judge(outer, oracle::read_inside(outer, vxlan_ports), OracleMistake::kNone);
}

}  // namespace pathproof::judge
