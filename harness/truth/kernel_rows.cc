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
                      const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome) {
    std::vector<matrix::Probe> probes;
    std::ranges::copy_if(set.probes, std::back_inserter(probes),
                         [&](const matrix::Probe& probe) { return wanted(probe.label.row); });
    const auto carried = TRY(carry(path, probes, set.maker, most_frames, outcome.tally));
    std::map<std::size_t, RowCells> cells;
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
        const Finished finished =
            finish(probe, seen.wire, left_by(set.matrix.rows[probe.label.row], outcome.taken));
        row.unfinished += finished.unfinished;
        row.super_frames += finished.super_frames;
        cell.wire.add(probe, seen.wire);
        cell.finished.add(probe, finished.frames);
    }
    for (const auto& [number, cell] : cells) {
        outcome.rows[number].wire = cell.wire.result();
        outcome.rows[number].finished = cell.finished.result();
    }
    return {};
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

Status confirm(const Path& path, std::size_t most_frames, const ProbeSet& set, WireKind wire,
               SettingOutcome& outcome) {
    std::map<std::size_t, RowOutcome> doubtful;  // as they were seen first
    for (const auto& [number, row] : outcome.rows) {
        if (!row.seen(wire).findings.empty()) {
            doubtful.emplace(number, row);
        }
    }
    // Where every frame came right, what the tester lost was none of them.
    outcome.tally.lost = doubtful.empty() ? 0 : outcome.tally.lost;
    std::uint64_t lost_beside = 0;  // by the tester, in looks that showed a row again
    for (int look = 1; look < kMostLooks && !doubtful.empty(); ++look) {
        SettingOutcome again{.setting = outcome.setting, .taken = outcome.taken};
        TRY(send_and_judge(
            path, most_frames, set, [&](std::size_t row) { return doubtful.contains(row); },
            again));
        const std::size_t before = doubtful.size();
        for (auto& [number, then] : again.rows) {
            const auto first = doubtful.find(number);
            RowOutcome& row = outcome.rows[number];
            const auto& findings = first->second.seen(wire).findings;
            if (shows_again(findings, then.seen(wire).findings)) {
                row = std::move(first->second);
                row.observations = static_cast<std::uint64_t>(look) + 1;
                doubtful.erase(first);
                continue;
            }
            then.once = findings;
            row = std::move(then);
        }
        lost_beside += doubtful.size() != before ? again.tally.lost : 0;
        outcome.tally.lost = std::max(lost_beside, again.tally.lost);
    }
    // Findings that the last look showed for the first time are not confirmed either.
    for (const auto& [number, first] : doubtful) {
        RowOutcome& row = outcome.rows[number];
        for (matrix::TxCellResult* result : {&row.wire, &row.finished}) {
            if (result == &row.seen(wire)) {
                std::ranges::move(result->findings, std::back_inserter(row.once));
            }
            result->findings.clear();
        }
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
