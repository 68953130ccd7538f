#include "harness/truth/trail.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/frame_difference.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::truth {
namespace {

using matrix::FrameBytes;
using matrix::Probe;

constexpr std::size_t kMostSums = 64;  // of one place
constexpr std::size_t kEnoughSums = 3;
constexpr std::size_t kEnoughRows = 4;

// The checksum that a perfect device puts into the frame.
std::optional<std::uint32_t> right_sum(const Probe& probe, std::size_t part) {
    const bool one_each = probe.handed.size() == probe.intended.size();
    const matrix::HandedFrame& handed = probe.handed[one_each ? part : 0];
    const std::size_t field = handed.virtio.csum_start + std::size_t{handed.virtio.csum_offset};
    const FrameBytes& intended = probe.intended[part];
    if (!handed.virtio.any() || field + 2 > intended.size()) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(intended[field] << 8 | intended[field + 1]);
}

// TCP's computed 0 sent as 0xffff differs, and is right all the same.
bool is_right(const Probe& probe, const FrameBytes& intended, const FrameBytes& wire) {
    if (wire == intended) {
        return true;
    }
    const judge::FrameVerdict verdict = judge::verify(wire, probe.tunnels);
    const judge::FrameDifference difference =
        judge::compare_frames(intended, wire, probe.tunnels, {});
    return wire.size() == intended.size() && !verdict.any_bad() &&
           verdict.malformed == judge::Malformed::kNone &&
           std::ranges::all_of(difference.fields, [](const judge::FieldDifference& field) {
               return field.kind == judge::DifferenceKind::kChecksum && field.observed != 0;
           });
}

// Returns the frame on the wire for each intended one; null: it never came. Those with equal bytes
// are paired first, the others in order.
std::vector<const FrameBytes*> pairs_of(const Probe& probe, const std::vector<FrameBytes>& wire) {
    std::vector<const FrameBytes*> came(probe.intended.size());
    std::vector<bool> taken(wire.size());
    const auto pair_up =
        [&](const std::function<bool(const FrameBytes&, const FrameBytes&)>& fits) {
            for (std::size_t i = 0; i < came.size(); ++i) {
                for (std::size_t n = 0; n < wire.size() && came[i] == nullptr; ++n) {
                    if (!taken[n] && fits(probe.intended[i], wire[n])) {
                        taken[n] = true;
                        came[i] = &wire[n];
                    }
                }
            }
        };
    pair_up(std::equal_to<>());
    pair_up([](const FrameBytes&, const FrameBytes&) { return true; });
    return came;
}

enum class Among : std::uint8_t { kSuperFrames, kSegments, kChecksums, kAll };
constexpr std::pair<Among, const char*> kAmong[] = {
    {Among::kSuperFrames, "super-frames that it is to cut"},
    {Among::kSegments, "segments that it is to cut"},
    {Among::kChecksums, "frames whose checksum is left to it"},
    {Among::kAll, "frames"},
};

bool is_among(Among among, const TrailFrame& frame) {
    switch (among) {
        case Among::kSuperFrames:
        case Among::kSegments: return frame.segment;
        case Among::kChecksums: return frame.checksum || frame.segment;
        case Among::kAll: break;
    }
    return true;
}

// Super-frames count once, and are wrong if a segment is.
Stretch stretch_of(const std::vector<TrailFrame>& frames, Among among, Fate fate) {
    Stretch stretch;
    for (const TrailFrame& frame : frames) {
        if (!is_among(among, frame)) {
            continue;
        }
        const bool wrong = frame.fate == fate;
        if (among == Among::kSuperFrames && frame.part != 0 && !stretch.empty()) {
            stretch.back() = stretch.back() || wrong;
        } else {
            stretch.push_back(wrong);
        }
    }
    return stretch;
}

using FrameKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, bool>;
FrameKey frame_key(const TrailFrame& frame) {
    return {frame.row, frame.probe, frame.part, frame.checksum, frame.segment};
}

// Returns whether more than a tenth of the frames that were ever wrong, and were sent more than
// once, came right too.
bool varies(const Trail& trail, Fate fate) {
    struct Seen {
        std::uint64_t sent = 0;
        std::uint64_t wrong = 0;
    };
    std::map<FrameKey, Seen> frames;
    for (const auto& stretch : trail.stretches) {
        for (const TrailFrame& frame : stretch) {
            Seen& seen = frames[frame_key(frame)];
            ++seen.sent;
            seen.wrong += frame.fate == fate ? 1 : 0;
        }
    }
    std::uint64_t judged = 0;
    std::uint64_t varying = 0;
    for (const auto& [key, seen] : frames) {
        judged += seen.wrong != 0 && seen.sent > 1 ? 1 : 0;
        varying += seen.wrong != 0 && seen.wrong < seen.sent ? 1 : 0;
    }
    return varying * 10 > judged && varying != 0;
}

std::size_t wrong_rows_in(const Trail& trail, Fate fate) {
    std::set<std::uint32_t> rows;
    for (const auto& stretch : trail.stretches) {
        for (const TrailFrame& frame : stretch) {
            if (frame.fate == fate) {
                rows.insert(frame.row);
            }
        }
    }
    return rows.size();
}

TimeFinding found_among(const Trail& trail, Among among, const char* words, Fate fate) {
    TimeFinding found{.fate = fate, .among = words};
    std::vector<Stretch> stretches;
    for (const auto& frames : trail.stretches) {
        stretches.push_back(stretch_of(frames, among, fate));
        for (const TrailFrame& frame : frames) {
            const bool other = !is_among(among, frame);
            found.others += other ? 1 : 0;
            found.others_wrong += other && frame.fate == fate ? 1 : 0;
        }
    }
    found.seen = in_time(stretches);
    return found;
}

const char* words(Fate fate) {
    switch (fate) {
        case Fate::kRight: return "right";
        case Fate::kChanged: return "wrong";
        case Fate::kMissing: break;
    }
    return "lost";
}

// A part of a frame that a wrong sum may count twice or leave out.
struct Part {
    const char* name;
    const char* meaning;
    std::function<std::optional<frame::PartialSum>(const frame::FrameView&, const FrameBytes&)> sum;
};

std::optional<frame::PartialSum> bytes_sum(const FrameBytes& frame, std::size_t at,
                                           std::size_t size) {
    return at + size <= frame.size() ? std::optional(frame::sum_bytes({frame.data() + at, size}))
                                     : std::nullopt;
}

const std::vector<Part>& parts() {
    static const std::vector<Part> all = {
        {"SADDR", "the source address",
         [](const frame::FrameView& view, const FrameBytes&) {
             const frame::IpAddress& address = view.innermost().source;
             return std::optional(frame::sum_bytes({address.bytes.data(), address.size()}));
         }},
        {"DADDR", "the destination address",
         [](const frame::FrameView& view, const FrameBytes&) {
             const frame::IpAddress& address = view.innermost().destination;
             return std::optional(frame::sum_bytes({address.bytes.data(), address.size()}));
         }},
        {"PROTOCOL", "the protocol's number",
         [](const frame::FrameView& view, const FrameBytes&) {
             return std::optional(frame::sum_word(view.innermost().protocol));
         }},
        {"SPORT", "the source port",
         [](const frame::FrameView& view, const FrameBytes& frame) {
             return bytes_sum(frame, view.innermost().transport_offset, 2);
         }},
        {"DPORT", "the destination port",
         [](const frame::FrameView& view, const FrameBytes& frame) {
             return bytes_sum(frame, view.innermost().transport_offset + std::size_t{2}, 2);
         }},
        {"DMAC", "the destination MAC address",
         [](const frame::FrameView&, const FrameBytes& frame) { return bytes_sum(frame, 0, 6); }},
        {"SMAC", "the source MAC address",
         [](const frame::FrameView&, const FrameBytes& frame) { return bytes_sum(frame, 6, 6); }},
    };
    return all;
}

std::uint16_t difference_of(const WrongSum& sum) {
    return frame::folded(frame::sum_word(static_cast<std::uint16_t>(sum.wire)) +
                         frame::without_word(static_cast<std::uint16_t>(sum.right)));
}

bool same_sum(std::uint32_t a, std::uint32_t b) {
    return a % 0xffff == b % 0xffff;
}

// Writes a difference in ones' complement with the sign that makes it smaller.
std::string signed_text(std::uint16_t difference) {
    const auto negative = static_cast<std::uint16_t>(~difference);
    return negative < difference ? fmt::format("-0x{:04x}", negative)
                                 : fmt::format("+0x{:04x}", difference);
}

template <typename Fits>
bool all_fit(std::span<const WrongSum> sums, Fits fits) {
    return std::ranges::all_of(sums, fits);
}

void add_parts(std::span<const WrongSum> sums, std::vector<Relation>& found) {
    for (const Part& part : parts()) {
        for (const bool missing : {true, false}) {
            const bool fits = all_fit(sums, [&](const WrongSum& sum) {
                const frame::FrameView view = frame::parse_frame(sum.frame, sum.tunnels);
                const auto value = part.sum(view, sum.frame);
                // The checksum is the complement: what the sum lacks, the checksum has too much.
                const std::uint16_t folded = value ? frame::folded(*value) : std::uint16_t{0};
                const std::uint16_t wanted = missing ? folded : static_cast<std::uint16_t>(~folded);
                return value && folded % 0xffff != 0 && same_sum(difference_of(sum), wanted);
            });
            if (fits) {
                found.push_back({fmt::format("{}({})", missing ? "LACKS" : "TWICE", part.name),
                                 fmt::format("{} is {}", part.meaning,
                                             missing ? "not summed" : "summed once too often")});
            }
        }
    }
}

}  // namespace

void Trail::add(const Probe& probe, const std::vector<FrameBytes>& wire,
                const std::vector<FrameBytes>& finished, LeftToWire left,
                std::optional<std::uint32_t>& before) {
    if (stretches.empty()) {
        stretches.emplace_back();
    }
    const std::vector<const FrameBytes*> came = pairs_of(probe, finished);
    const std::vector<const FrameBytes*> as_it_is = pairs_of(probe, wire);
    for (std::size_t i = 0; i < came.size(); ++i) {
        const auto sum = right_sum(probe, i);
        const auto is_as_meant = [&](const FrameBytes* bytes) {
            return bytes != nullptr && is_right(probe, probe.intended[i], *bytes);
        };
        Fate fate = Fate::kMissing;
        if (came[i] != nullptr) {
            fate = is_as_meant(came[i]) ? Fate::kRight : Fate::kChanged;
        }
        TrailFrame frame{.row = probe.label.row,
                         .probe = probe.label.index,
                         .part = static_cast<std::uint32_t>(i),
                         .checksum = left.checksums && sum,
                         .segment = left.segmentation && probe.segment_bytes != 0,
                         .fate = fate};
        frame.unfinished = frame.fate == Fate::kRight && !is_as_meant(as_it_is[i]);
        if (frame.fate == Fate::kChanged) {
            const judge::FrameVerdict verdict = judge::verify(*came[i], probe.tunnels);
            for (const judge::ChecksumFinding& finding : verdict.all()) {
                const std::string place = judge::word(finding.layer);
                const auto kept = std::ranges::count(sums, place, &WrongSum::place);
                if (finding.state == judge::ChecksumState::kBad &&
                    finding.layer.protocol != judge::Protocol::kSctp &&
                    kept < static_cast<std::ptrdiff_t>(kMostSums)) {
                    sums.push_back(
                        {place, finding.wire, finding.right, before, *came[i], probe.tunnels});
                }
            }
        }
        before = frame.checksum || frame.segment ? sum : before;
        stretches.back().push_back(frame);
    }
}

void Trail::hold_unfinished() {
    for (std::vector<TrailFrame>& stretch : stretches) {
        for (TrailFrame& frame : stretch) {
            frame.fate = frame.unfinished ? Fate::kChanged : frame.fate;
        }
    }
}

void Trail::append(const Trail& more) {
    stretches.insert(stretches.end(), more.stretches.begin(), more.stretches.end());
    for (const WrongSum& sum : more.sums) {
        if (std::ranges::count(sums, sum.place, &WrongSum::place) <
            static_cast<std::ptrdiff_t>(kMostSums)) {
            sums.push_back(sum);
        }
    }
}

std::string TimeFinding::text() const {
    std::string beside;
    if (others != 0) {
        beside = fmt::format("; {} others: {}", others,
                             others_wrong == 0 ? fmt::format("none ({})", rate_text(0, others))
                                               : std::to_string(others_wrong));
    }
    return fmt::format("{}: {} {}{}", among, truth::text(seen), words(fate), beside);
}

std::optional<TimeFinding> find_in_time(const Trail& trail, Fate fate) {
    const TimeFinding whole = found_among(trail, Among::kAll, "frames", fate);
    if (whole.seen.wrong == 0) {
        return std::nullopt;
    }
    // A beat that many rows show is none of their kinds.
    const bool many_rows = wrong_rows_in(trail, fate) >= kEnoughRows;
    std::optional<TimeFinding> smallest;
    for (const auto& [among, words_of] : kAmong) {
        TimeFinding found = found_among(trail, among, words_of, fate);
        // One wrong frame in a hundred may lie outside.
        if (found.others_wrong * 100 > whole.seen.wrong || found.seen.wrong == 0) {
            continue;
        }
        if (found.seen.kind == InTime::Kind::kEvery && many_rows) {
            found.varies = true;
            return found;
        }
        if (!smallest && among != Among::kSuperFrames) {
            smallest = found;
        }
    }
    if (smallest) {
        smallest->varies = varies(trail, fate);
        if (smallest->seen.kind == InTime::Kind::kEvery) {
            smallest->seen.kind = InTime::Kind::kNowAndThen;
        }
    }
    return smallest;
}

std::optional<Relation> relation_of(std::span<const WrongSum> sums) {
    std::set<FrameBytes> different;
    for (const WrongSum& sum : sums) {
        different.insert(sum.frame);
    }
    if (different.size() < kEnoughSums) {
        return std::nullopt;
    }
    std::vector<Relation> found;
    if (all_fit(sums, [](const WrongSum& sum) {
            return sum.before && same_sum(sum.wire, *sum.before);
        })) {
        found.push_back({"FRAME_BEFORE", "the checksum of the frame before it"});
    }
    const WrongSum& first = sums.front();
    const bool same_right =
        all_fit(sums, [&](const WrongSum& sum) { return same_sum(sum.right, first.right); });
    if (!same_right && all_fit(sums, [&](const WrongSum& sum) { return sum.wire == first.wire; })) {
        found.push_back({fmt::format("CONSTANT(0x{:04x})", first.wire), "always the same value"});
    }
    const std::uint16_t offset = difference_of(first);
    if (!same_right && offset % 0xffff != 0 &&
        all_fit(sums, [&](const WrongSum& sum) { return same_sum(difference_of(sum), offset); })) {
        found.push_back(
            {fmt::format("OFFSET({})", signed_text(offset)),
             fmt::format("the right value {} 0x{:04x}",
                         signed_text(offset)[0] == '+' ? "plus" : "less",
                         std::min<std::uint16_t>(offset, static_cast<std::uint16_t>(~offset)))});
    }
    const std::uint32_t bits = first.wire ^ first.right;
    const bool one_offset = !found.empty() && found.back().name.starts_with("OFFSET");
    if (!same_right && !one_offset &&
        all_fit(sums, [&](const WrongSum& sum) { return (sum.wire ^ sum.right) == bits; })) {
        found.push_back({fmt::format("BITS(0x{:04x})", bits),
                         fmt::format("the right value with the bits 0x{:04x} turned over", bits)});
    }
    // A part that is the same in all frames is an offset.
    if (found.empty()) {
        add_parts(sums, found);
    }
    return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::map<std::string, Relation> relations_of(const Trail& trail) {
    std::map<std::string, std::vector<WrongSum>> places;
    for (const WrongSum& sum : trail.sums) {
        places[sum.place].push_back(sum);
    }
    std::map<std::string, Relation> relations;
    for (const auto& [place, sums] : places) {
        if (const auto relation = truth::relation_of(std::span<const WrongSum>(sums))) {
            relations.emplace(place, *relation);
        }
    }
    return relations;
}

}  // namespace pathproof::truth
