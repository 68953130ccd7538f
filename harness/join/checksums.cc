#include "harness/join/checksums.h"

#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "dataplane/frame/view.h"

namespace pathproof::join {
namespace {

using frame::Endpoint;
using judge::ChecksumFinding;
using judge::ChecksumName;
using judge::Depth;
using judge::Protocol;
using netfilter::Entry;

// The entry whose packets, after NAT, go from `source` to `destination`: conntrack expects their
// answers the other way round.
const Entry* entry_after_nat(const std::vector<Entry>& entries, const Endpoint& source,
                             const Endpoint& destination) {
    const auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
        return entry.original.protocol == IPPROTO_UDP && entry.reply.source == destination &&
               entry.reply.destination == source;
    });
    return found == entries.end() ? nullptr : &*found;
}

const char* transport_name(frame::Transport transport) {
    switch (transport) {
        case frame::Transport::kUdp: return "inner UDP";
        case frame::Transport::kTcp: return "inner TCP";
        case frame::Transport::kIcmp: return "inner ICMP";
        case frame::Transport::kIcmpv6: return "inner ICMPv6";
        case frame::Transport::kSctp: return "inner SCTP";
        case frame::Transport::kUdpLite: return "inner UDP-Lite";
        case frame::Transport::kGre: return "inner GRE";
        case frame::Transport::kNone:
        case frame::Transport::kOther: return "other inner traffic";
    }
    return "other inner traffic";
}

bool contains(const std::vector<ChecksumName>& names, ChecksumName name) {
    return std::ranges::find(names, name) != names.end();
}

class Join {
  public:
    Join(const std::vector<Entry>& entries, std::span<const std::uint16_t> tunnel_ports)
        : entries_(entries), tunnel_ports_(tunnel_ports) {}

    // An unfinished inner checksum makes the outer sum over it look wrong. It is finished in a copy
    // first, innermost first, so that the outer one is judged by itself and the two causes are not
    // taken for one another.
    void add(const softnic::WireFrame& frame) {
        ++findings_.frames;
        std::vector<std::uint8_t> bytes = frame.bytes;
        for (std::size_t round = 0; round < judge::FrameVerdict::kMost; ++round) {
            const judge::FrameVerdict verdict = judge::verify_slowly(bytes, tunnel_ports_);
            std::optional<ChecksumFinding> innermost;
            for (const ChecksumFinding& finding : verdict.all()) {
                if (finding.state == judge::ChecksumState::kBad) {
                    innermost = finding;
                }
            }
            if (!innermost) {
                return;
            }
            add_finding(bytes, frame::parse_frame(bytes, tunnel_ports_), *innermost);
            judge::write_right(bytes, *innermost);
        }
    }

    ChecksumFindings result() {
        findings_.stale_port_named = stale_.verdict() == ChecksumName::kStaleTuple;
        findings_.left_partial_named = partial_.verdict() == ChecksumName::kPseudo;
        return std::move(findings_);
    }

  private:
    void add_finding(const std::vector<std::uint8_t>& bytes, const frame::FrameView& view,
                     const ChecksumFinding& finding) {
        ChecksumProof proof{
            .layer = finding.layer,
            .on_wire = fmt::format("{} > {}", frame::to_string(view.outer.source_endpoint()),
                                   frame::to_string(view.outer.destination_endpoint())),
            .original = "",
            .carries = view.has_inner ? transport_name(view.inner.transport) : "",
            .wire = finding.wire,
            .right = finding.right};
        std::optional<judge::OriginalTuple> original;
        if (finding.layer.protocol == Protocol::kUdp && finding.layer.depth != Depth::kInner) {
            const Entry* entry = entry_after_nat(entries_, view.outer.source_endpoint(),
                                                 view.outer.destination_endpoint());
            if (entry != nullptr) {
                original =
                    judge::OriginalTuple{entry->original.source, entry->original.destination};
                proof.original = fmt::format("{} > {}", frame::to_string(entry->original.source),
                                             frame::to_string(entry->original.destination));
                proof.predicted = judge::checksum_for_tuple(bytes, finding, *original);
            }
        }
        const std::vector<ChecksumName> names = judge::matching_names(bytes, finding, original);
        if (contains(names, ChecksumName::kPseudo)) {
            proof.cause = ChecksumCause::kLeftPartial;
            proof.predicted = finding.wire;
            ++findings_.left_partial;
            partial_.add(finding, names);
        } else if (original && contains(names, ChecksumName::kStaleTuple)) {
            proof.cause = ChecksumCause::kStalePort;
            ++findings_.stale_port;
            stale_.add(finding, names);
        } else {
            ++findings_.unexplained;
        }
        findings_.proofs.push_back(std::move(proof));
    }

    const std::vector<Entry>& entries_;
    const std::span<const std::uint16_t> tunnel_ports_;
    ChecksumFindings findings_;
    judge::NameVote stale_;
    judge::NameVote partial_;
};

}  // namespace

std::uint64_t stale_port_frames(std::span<const softnic::WrongSource> wrong,
                                const std::vector<Entry>& nat_entries) {
    // 0 and 65535 are one value to a sum (RFC 1071).
    constexpr std::uint16_t kModulus = 0xffff;
    std::set<std::pair<std::uint16_t, std::uint16_t>> translated;
    for (const Entry& entry : nat_entries) {
        translated.emplace(entry.reply.destination.port, entry.original.source.port % kModulus);
    }
    std::uint64_t frames = 0;
    for (const softnic::WrongSource& one : wrong) {
        const bool stale = one.on_wire != one.right_for &&
                           translated.contains({one.on_wire, one.right_for % kModulus});
        frames += stale ? one.frames : 0;
    }
    return frames;
}

ChecksumFindings join_checksums(std::span<const softnic::WireFrame> bad_frames,
                                const std::vector<Entry>& nat_entries,
                                std::span<const std::uint16_t> tunnel_ports) {
    Join join(nat_entries, tunnel_ports);
    for (const softnic::WireFrame& frame : bad_frames) {
        join.add(frame);
    }
    return join.result();
}

}  // namespace pathproof::join
