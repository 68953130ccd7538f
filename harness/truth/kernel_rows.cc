#include "harness/truth/kernel_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "dataplane/base/by_frequency.h"
#include "harness/truth/feature_use.h"

namespace pathproof::truth {
namespace {

using matrix::FindingKind;
using matrix::TxFinding;

// The work that the row's features leave to the wire as they are set now.
LeftToWire left_by(const matrix::Row& row, const SettingTaken& taken) {
    LeftToWire left;
    for (const std::string& name : features_used(row, taken.features)) {
        const bool on = is_on(taken.features, name);
        left.checksums |= on && name.starts_with("tx-checksum-");
        left.segmentation |=
            on && (name == "tx-tcp-segmentation" || name == "tx-tcp6-segmentation" ||
                   name == "tx-udp-segmentation");
    }
    return left;
}

struct RowCells {
    explicit RowCells(const matrix::Row& row) : wire(row), finished(row) {}
    matrix::TxCell wire;
    matrix::TxCell finished;
};

}  // namespace

Result<ProbeSet> make_probes(const matrix::ProbeMaker& maker, matrix::Matrix matrix,
                             std::uint32_t each) {
    ProbeSet set{.maker = maker, .matrix = std::move(matrix), .probes = {}};
    for (std::uint32_t row = 0; row < set.matrix.rows.size(); ++row) {
        for (std::uint32_t index = 0; index < each; ++index) {
            auto probe = TRY(maker.make(set.matrix.rows[row], {.row = row, .index = index}));
            set.probes.push_back(std::move(probe));
        }
    }
    return set;
}

Status send_and_judge(const Path& path, std::size_t most_frames, const ProbeSet& set,
                      const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome,
                      StallWatch* watch) {
    std::vector<matrix::Probe> probes;
    std::ranges::copy_if(set.probes, std::back_inserter(probes),
                         [&](const matrix::Probe& probe) { return wanted(probe.label.row); });
    if (watch != nullptr) {
        watch->set_left([&](const matrix::Probe& probe) {
            return left_by(set.matrix.rows[probe.label.row], outcome.taken);
        });
    }
    const auto carried = TRY(carry(path, probes, set.maker, most_frames, outcome.tally, watch));
    if (watch != nullptr) {
        watch->set_left(nullptr);
    }
    std::map<std::size_t, RowCells> cells;
    Trail trail;
    std::optional<std::uint32_t> sum_before;
    for (std::size_t at = 0; at < probes.size(); ++at) {
        const matrix::Probe& probe = probes[at];
        const Carried& seen = carried[at];
        RowOutcome& row = outcome.rows[probe.label.row];
        if (!seen.refusal.empty()) {
            ++row.refusals[seen.refusal];
            continue;
        }
        RowCells& cell =
            cells.try_emplace(probe.label.row, set.matrix.rows[probe.label.row]).first->second;
        const LeftToWire left = left_by(set.matrix.rows[probe.label.row], outcome.taken);
        const Finished finished = finish(probe, seen.wire, left);
        trail.add(probe, seen.wire, finished.frames, left, sum_before);
        row.asked += left.checksums && probe.handed.front().virtio.any() ? seen.wire.size() : 0;
        row.unfinished += finished.unfinished;
        row.super_frames += finished.super_frames;
        cell.wire.add(probe, seen.wire);
        cell.finished.add(probe, finished.frames);
    }
    for (const auto& [number, cell] : cells) {
        outcome.rows[number].wire = cell.wire.result();
        outcome.rows[number].finished = cell.finished.result();
    }
    outcome.trail.append(trail);
    return {};
}

bool finishes_some(const SettingOutcome& outcome, const ProbeSet& set) {
    constexpr std::uint64_t kEnough = 3;
    struct Count {
        std::uint64_t left = 0;
        std::uint64_t finished = 0;
    };
    // A device that finishes sums of one family only leaves it to the kernel to finish the others.
    const bool any_family = is_on(outcome.taken.features, "tx-checksum-ip-generic");
    using Class = std::tuple<matrix::Vlan, bool, matrix::InnerNetwork>;
    std::map<Class, Count> classes;
    for (const auto& [number, row] : outcome.rows) {
        const matrix::Row& of_matrix = set.matrix.rows[number];
        // A super-frame may be cut in software for reasons of its own.
        if (row.asked == 0 || of_matrix.segmentation != matrix::Segmentation::kNone) {
            continue;
        }
        const auto network = any_family ? matrix::InnerNetwork::kIpv4 : of_matrix.network;
        Count& count =
            classes[{of_matrix.vlan, of_matrix.buffers != matrix::Buffers::kOne, network}];
        count.left += row.unfinished;
        count.finished += row.asked - std::min(row.asked, row.unfinished);
    }
    return std::ranges::any_of(classes, [](const auto& each) {
        return each.second.left >= kEnough && each.second.finished >= kEnough;
    });
}

namespace {

constexpr int kMostLooks = 3;

bool shows_again(const std::vector<TxFinding>& first, const std::vector<TxFinding>& then) {
    return std::ranges::any_of(first, [&](const TxFinding& finding) {
        return std::ranges::any_of(then, [&](const TxFinding& other) {
            const bool same_frames =
                finding.kind != FindingKind::kMissing ||
                (finding.frames == other.frames && finding.specimen.label == other.specimen.label);
            return finding.kind == other.kind && finding.place == other.place &&
                   finding.title == other.title && same_frames;
        });
    });
}

}  // namespace

bool is_change(const TxFinding& finding, WireKind wire) {
    return finding.kind != FindingKind::kMissing && finding.kind != FindingKind::kSurplus &&
           finding.kind != FindingKind::kRefused && !finding.specimen.wire.empty() &&
           (wire == WireKind::kCable || finding.specimen.wire != finding.specimen.handed);
}

namespace {

// Wrong checksums of one place may have another name in each row; of what else differs the name
// says what it is.
std::string place_key(const TxFinding& finding) {
    return finding.kind == FindingKind::kChecksum
               ? finding.place
               : fmt::format("{} {} {}", matrix::name(finding.kind), finding.place, finding.title);
}

// In which looks something changed at each place.
class Sightings {
  public:
    explicit Sightings(WireKind wire) : wire_(wire) {}
    void add(int look, const std::vector<TxFinding>& findings) {
        for (const TxFinding& finding : findings) {
            if (is_change(finding, wire_)) {
                looks_[place_key(finding)].insert(look);
            }
        }
    }
    std::uint64_t looks_at(const TxFinding& finding) const {
        const auto found = looks_.find(place_key(finding));
        return is_change(finding, wire_) && found != looks_.end() ? found->second.size() : 0;
    }

  private:
    WireKind wire_;
    std::map<std::string, std::set<int>> looks_;
};

// Leaves in the row what several looks showed, and moves the rest to what was seen once.
void keep_shown(const Sightings& sightings, WireKind wire, RowOutcome& row) {
    for (matrix::TxCellResult* result : {&row.wire, &row.finished}) {
        const bool judged = result == &row.seen(wire);
        std::vector<TxFinding> kept;
        for (TxFinding& finding : result->findings) {
            const std::uint64_t looks = sightings.looks_at(finding);
            if (looks > 1) {
                row.observations = judged ? std::max(row.observations, looks) : row.observations;
                kept.push_back(std::move(finding));
            } else if (judged) {
                row.once.push_back(std::move(finding));
            }
        }
        result->findings = std::move(kept);
    }
}

}  // namespace

Status confirm(const Path& path, std::size_t most_frames, const ProbeSet& set, WireKind wire,
               SettingOutcome& outcome, StallWatch* watch) {
    std::map<std::size_t, RowOutcome> doubtful;  // as they were seen first
    Sightings sightings(wire);
    for (const auto& [number, row] : outcome.rows) {
        if (!row.seen(wire).findings.empty()) {
            sightings.add(0, row.seen(wire).findings);
            doubtful.emplace(number, row);
        }
    }
    // If every frame came right, none of them is among the frames that the tester lost.
    outcome.tally.lost = doubtful.empty() ? 0 : outcome.tally.lost;
    std::uint64_t lost_beside = 0;  // by the tester, in looks that showed a row again
    for (int look = 1; look < kMostLooks && !doubtful.empty(); ++look) {
        SettingOutcome again{.setting = outcome.setting, .taken = outcome.taken};
        TRY(send_and_judge(
            path, most_frames, set, [&](std::size_t row) { return doubtful.contains(row); }, again,
            watch));
        outcome.trail.append(again.trail);
        const std::size_t before = doubtful.size();
        for (auto& [number, then] : again.rows) {
            const auto first = doubtful.find(number);
            RowOutcome& row = outcome.rows[number];
            const auto& findings = first->second.seen(wire).findings;
            sightings.add(look, then.seen(wire).findings);
            if (shows_again(findings, then.seen(wire).findings)) {
                row = std::move(first->second);
                row.observations = static_cast<std::uint64_t>(look) + 1;
                doubtful.erase(first);
                continue;
            }
            row = std::move(then);
        }
        lost_beside += doubtful.size() != before ? again.tally.lost : 0;
        outcome.tally.lost = std::max(lost_beside, again.tally.lost);
    }
    for (auto& [number, first] : doubtful) {
        RowOutcome& row = outcome.rows[number];
        const auto& findings = first.seen(wire).findings;
        if (std::ranges::any_of(findings, [&](const TxFinding& finding) {
                return sightings.looks_at(finding) > 1;
            })) {
            row = std::move(first);
        } else {
            row.once = findings;
        }
        // Findings that the last look showed for the first time are not confirmed either.
        keep_shown(sightings, wire, row);
    }
    return {};
}

std::uint64_t Judged::seen_once() const {
    std::uint64_t frames_once = 0;
    for (const Defect& defect : once) {
        frames_once += defect.frames;
    }
    return std::min(frames_once, frames);
}

std::string Judged::once_text() const {
    std::set<std::string> names;
    for (const Defect& defect : once) {
        names.insert(defect.name);
    }
    return fmt::format("seen once, not confirmed: {} of {} frames ({})", seen_once(), frames,
                       fmt::join(names, ", "));
}

verdict::Observed Judged::observed() const {
    if (probes == 0) {
        return verdict::Observed::kNotTested;
    }
    if (!defects.empty() || wrong() > 0) {
        return verdict::Observed::kWrong;
    }
    if (frames == 0) {
        return verdict::Observed::kRefused;
    }
    return unfinished > 0 ? verdict::Observed::kByDesign : verdict::Observed::kRight;
}

std::vector<std::string> Judged::defect_names() const {
    std::map<std::string, std::uint64_t> counts;
    for (const Defect& defect : defects) {
        counts[defect.name] += defect.frames;
    }
    return by_frequency(counts);
}

namespace {

NamesByPlace names_in(const SettingOutcome& outcome, const ProbeSet& set, WireKind wire) {
    std::vector<SentRow> all;
    for (const auto& [number, row] : outcome.rows) {
        all.push_back({number, &set.matrix.rows[number], row.seen(wire).findings});
    }
    return names_by_place(all);
}

void add_row(const RowOutcome& row, WireKind wire, Judged& judged) {
    const matrix::TxCellResult& result = row.seen(wire);
    judged.probes += result.probes;
    judged.frames += result.intended;
    // A frame that differs and is right all the same (TCP's computed 0 sent as 0xffff) is right.
    judged.right += result.clean() ? result.intended : std::min(result.exact, result.intended);
    for (const auto& [reason, probes] : row.refusals) {
        judged.probes += probes;
        judged.refused += probes;
        judged.refusals[reason] += probes;
    }
    if (wire == WireKind::kCable) {
        return;
    }
    judged.unfinished += row.unfinished;
    if (row.super_frames > 0) {
        judged.unfinished_names["super-frame"] += row.super_frames;
    } else if (row.unfinished > 0) {
        for (const TxFinding& finding : row.wire.findings) {
            judged.unfinished_names[name_of(finding)] += finding.frames;
        }
    }
}

}  // namespace

Judged judge_rows(const SettingOutcome& outcome, const ProbeSet& set, WireKind wire,
                  const std::function<bool(std::size_t)>& wanted) {
    Judged judged;
    std::vector<SentRow> confirmed;
    std::vector<SentRow> once;
    for (const auto& [number, row] : outcome.rows) {
        if (!wanted(number)) {
            continue;
        }
        add_row(row, wire, judged);
        const matrix::Row* of_matrix = &set.matrix.rows[number];
        confirmed.push_back({number, of_matrix, row.seen(wire).findings, row.observations});
        once.push_back({number, of_matrix, row.once});
    }
    const NamesByPlace names = names_in(outcome, set, wire);
    judged.defects = gather_sent(confirmed, names);
    judged.once = gather_sent(once, names);
    return judged;
}

std::vector<WrongRow> wrong_rows(const SettingOutcome& outcome, const ProbeSet& set, WireKind wire,
                                 const std::function<bool(std::size_t)>& wanted) {
    const NamesByPlace names = names_in(outcome, set, wire);
    std::vector<WrongRow> rows;
    for (const auto& [number, row] : outcome.rows) {
        auto causes =
            wanted(number) ? causes_of(row.seen(wire).findings, names) : std::vector<TxFinding>();
        if (!causes.empty()) {
            rows.push_back({number, std::move(causes)});
        }
    }
    return rows;
}

}  // namespace pathproof::truth
