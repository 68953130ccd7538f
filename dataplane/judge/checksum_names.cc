#include "dataplane/judge/checksum_names.h"

#include <algorithm>

#include "dataplane/base/contains.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

// Different payloads that a name must explain: one packet fits a wrong hypothesis once in 65535.
constexpr std::size_t kEnough = 3;

bool is_one_complement(Protocol protocol) {
    return protocol != Protocol::kSctp;
}

Predictions predict(const Suspect& suspect, StaleWords words) {
    Predictions out;
    if (!is_one_complement(suspect.protocol)) {
        predict_crc(suspect, out);
        return out;
    }
    predict_partial(suspect, out);
    predict_stale(suspect, words, out);
    predict_tunnel(suspect, out);
    predict_padding(suspect, out);
    predict_start(suspect, out);
    predict_pieces(suspect, out);
    return out;
}

// A field that was left as it was holds one value to the letter; a sum is known but for 0 and
// 0xffff.
bool is_literal(ChecksumName name) {
    return name == ChecksumName::kFieldZero || name == ChecksumName::kFieldKeep;
}

bool fits(const Prediction& prediction, const Suspect& suspect) {
    if (!is_one_complement(suspect.protocol)) {
        return prediction.value == suspect.wire && prediction.value != suspect.right;
    }
    if (is_literal(prediction.name)) {
        return prediction.value == suspect.wire;
    }
    if (prediction.name == ChecksumName::kNat0 && suspect.wire == 0) {
        return false;
    }
    return same(prediction.value, suspect.wire) && !same(prediction.value, suspect.right);
}

std::vector<ChecksumName> fitting(const Suspect& suspect, StaleWords words) {
    std::vector<ChecksumName> names;
    for (const Prediction& prediction : predict(suspect, words)) {
        if (fits(prediction, suspect) && !contains(names, prediction.name)) {
            names.push_back(prediction.name);
        }
    }
    // RFC 1624 section 3: where equation 2 of RFC 1141 leads to 0xffff.
    if (suspect.protocol == Protocol::kIpv4 && suspect.right == 0 && suspect.wire == 0xffff) {
        names = {ChecksumName::kCarry};
    }
    return names;
}

bool computes_to_zero(const ChecksumFinding& finding) {
    const bool udp =
        finding.layer.protocol == Protocol::kUdp || finding.layer.protocol == Protocol::kUdpLite;
    return udp && finding.wire == 0 && finding.right == 0xffff;
}

std::vector<ChecksumName> names_of(Bytes frame, const ChecksumFinding& finding,
                                   const Evidence& evidence, StaleWords words) {
    const bool switched_off =
        finding.state == ChecksumState::kDisabled && evidence.zero_udp == ZeroUdp::kNotAgreed;
    if (switched_off && computes_to_zero(finding)) {
        return {ChecksumName::kZeroNotMangled, ChecksumName::kDisabled};
    }
    if (switched_off) {
        return {ChecksumName::kDisabled};
    }
    const std::optional<Suspect> suspect = locate(frame, finding, evidence);
    if (!suspect || finding.state != ChecksumState::kBad) {
        return {};
    }
    // Arithmetic cannot tell UDP's 0 from a computed 0. If 0 is wrong anyway, only one name fits.
    if (computes_to_zero(finding)) {
        return {ChecksumName::kZeroNotMangled};
    }
    return fitting(*suspect, words);
}

// The frame's own outer port carries its tunnel, if no known one does.
Evidence evidence_of(Bytes frame, const ChecksumFinding& finding,
                     const std::optional<OriginalTuple>& original) {
    Evidence evidence;
    evidence.original = original;
    if (finding.layer.depth != Depth::kPlain) {
        const frame::FrameView view = frame::parse_frame(frame, evidence.tunnels);
        if (!view.to_tunnel && view.outer.transport == frame::Transport::kUdp) {
            evidence.tunnels.add(view.outer.destination_port, frame::Tunnel::kVxlan);
        }
    } else {
        evidence.tunnels = frame::TunnelPorts(frame::IpTunnels::kIgnored);
    }
    return evidence;
}

// Hashes what the checksum protects, up to `end`: all of an IPv4 header but its checksum; of a
// transport, the data behind its checksum field. Frames with the same data show a mistake about
// data only once, whatever their addresses.
std::uint64_t digest(Bytes frame, const ChecksumFinding& finding, std::size_t end) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const std::size_t field_end = finding.field_offset + field_size(finding.layer.protocol);
    const bool header = finding.layer.protocol == Protocol::kIpv4;
    for (std::size_t i = header ? 0 : field_end; i < end; ++i) {
        const bool in_field = i >= finding.field_offset && i < field_end;
        hash = (hash ^ (in_field ? 0 : frame[i])) * 0x100000001b3;
    }
    return hash;
}

bool is_about_trailers(ChecksumName name) {
    return name == ChecksumName::kPadData || name == ChecksumName::kPadDataAndLength;
}

void add_different(std::vector<std::uint64_t>& keys, std::uint64_t key, std::size_t most) {
    if (keys.size() < most && !contains(keys, key)) {
        keys.push_back(key);
    }
}

}  // namespace

std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding, const Evidence& evidence) {
    return names_of(frame, finding, evidence, StaleWords::kSingle);
}

std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding,
                                         const std::optional<OriginalTuple>& original) {
    return names_of(frame, finding, evidence_of(frame, finding, original), StaleWords::kTuple);
}

std::vector<Prediction> predictions(std::span<const std::uint8_t> frame,
                                    const ChecksumFinding& finding, const Evidence& evidence) {
    const std::optional<Suspect> suspect = locate(frame, finding, evidence);
    const bool claimed = finding.state != ChecksumState::kUnverifiable;
    return suspect && claimed ? predict(*suspect, StaleWords::kSingle) : Predictions{};
}

std::uint16_t checksum_for_tuple(std::span<const std::uint8_t> frame,
                                 const ChecksumFinding& finding, const OriginalTuple& original) {
    const Evidence evidence = evidence_of(frame, finding, original);
    const std::optional<Suspect> suspect = locate(frame, finding, evidence);
    Predictions stale;
    if (suspect && is_one_complement(suspect->protocol)) {
        predict_stale(*suspect, StaleWords::kTuple, stale);
    }
    const auto found = std::ranges::find(stale, ChecksumName::kStaleTuple, &Prediction::name);
    return static_cast<std::uint16_t>(found == stale.end() ? finding.right : found->value);
}

void NameVote::add(const ChecksumFinding& finding, const std::vector<ChecksumName>& matching) {
    add_payload({finding.right, finding.right}, finding, matching);
}

void NameVote::add(std::span<const std::uint8_t> frame, const ChecksumFinding& finding,
                   const std::vector<ChecksumName>& matching) {
    const std::uint64_t key = digest(frame, finding, frame.size());
    add_payload({key, key}, finding, matching);
}

void NameVote::add(std::span<const std::uint8_t> frame, const ChecksumFinding& finding,
                   const Evidence& evidence) {
    const std::optional<Suspect> suspect = locate(frame, finding, evidence);
    const bool header = finding.layer.protocol == Protocol::kIpv4;
    const std::size_t end =
        suspect && !header ? std::min(suspect->end(), frame.size()) : frame.size();
    add_payload({digest(frame, finding, end), digest(frame, finding, frame.size())}, finding,
                matching_names(frame, finding, evidence));
}

void NameVote::add_payload(const Keys& keys, const ChecksumFinding& finding,
                           const std::vector<ChecksumName>& matching) {
    candidates_ = frames_ == 0 ? matching : candidates_;
    std::erase_if(candidates_,
                  [&](ChecksumName candidate) { return !contains(matching, candidate); });
    ++frames_;
    last_ = finding;
    add_different(payloads_, keys.payload, kEnough);
    add_different(with_trailers_, keys.with_trailer, kEnough);
}

std::vector<ChecksumName> NameVote::candidates() const {
    std::vector<ChecksumName> names = candidates_;
    const bool mangling = contains(names, ChecksumName::kZeroNotMangled);
    if (mangling && healthy_ > 0) {
        std::erase(names, ChecksumName::kDisabled);
    }
    return names;
}

ChecksumName NameVote::verdict() const {
    const std::vector<ChecksumName> names = candidates();
    if (names.size() != 1) {
        return ChecksumName::kUnknown;
    }
    const auto& seen = is_about_trailers(names.front()) ? with_trailers_ : payloads_;
    return seen.size() >= kEnough ? names.front() : ChecksumName::kUnknown;
}

std::uint32_t difference(const ChecksumFinding& finding) {
    if (!is_one_complement(finding.layer.protocol)) {
        return finding.wire ^ finding.right;
    }
    return frame::folded(frame::sum_word(static_cast<std::uint16_t>(finding.wire)) +
                         frame::without_word(static_cast<std::uint16_t>(finding.right)));
}

}  // namespace pathproof::judge
