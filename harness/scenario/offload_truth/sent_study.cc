#include "harness/scenario/offload_truth/sent_study.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/truth/border.h"
#include "harness/truth/feature_use.h"

namespace pathproof::scenario {
namespace {

using matrix::Probe;
using matrix::Row;
using truth::Border;
using truth::Defect;
using truth::Judged;
using truth::ProbeSet;
using truth::Sample;
using truth::Setting;
using truth::SettingOutcome;
using truth::Stall;
using truth::StallWatch;
using truth::TruthRun;

constexpr std::size_t kMostLocated = 3;  // values whose border is looked for
constexpr int kBorderTries = 16;
constexpr std::uint32_t kBorderProbes = 3;
constexpr int kMostTold = 8;  // rows that are sent to tell descriptions of one value apart
constexpr std::size_t kMostBases = 2;
constexpr std::size_t kFewSegments = 10;
constexpr int kChases = 12;
constexpr std::size_t kEnoughStalls = 3;
constexpr std::uint64_t kMostForStall = 2500;  // frames without one

// Sends rows under a setting, and puts the features back.
Status under(TruthBench& bench, const TruthRun& run, const Setting& setting,
             const std::function<Status(SettingOutcome&)>& send) {
    const Part<SettingOutcome> part{
        .id = "study", .features = run.varied, .points = {setting}, .judge = send};
    auto done = TRY(run_part(bench, part));
    return {};
}

Status send_rows(TruthBench& bench, const ProbeSet& set, StallWatch* watch,
                 const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome) {
    truth::KernelExchange cable = bench.exchange();
    return truth::send_and_judge(cable.path(), bench.pace().frames, set, wanted, outcome, watch);
}

const Probe* first_probe(const ProbeSet& set, std::size_t row) {
    const auto found = std::ranges::find_if(
        set.probes, [&](const Probe& probe) { return probe.label.row == row; });
    return found == set.probes.end() ? nullptr : &*found;
}

// Returns whether a row's frames leave a checksum to the device under that setting. With
// `super_frames`: whether its super-frames leave their cutting to the device.
bool asks(const Row& row, const SettingOutcome& outcome, bool super_frames) {
    if (super_frames && row.segmentation == matrix::Segmentation::kNone) {
        return false;
    }
    for (const std::string& name : truth::features_used(row, outcome.taken.features)) {
        const bool cuts = name == "tx-tcp-segmentation" || name == "tx-tcp6-segmentation" ||
                          name == "tx-udp-segmentation";
        const bool counts = super_frames ? cuts : name.starts_with("tx-checksum-");
        if (counts && truth::is_on(outcome.taken.features, name)) {
            return true;
        }
    }
    return false;
}

// Rows that show the value, and rows in which nothing is wrong; of work that the device does for all
// that show it, rows that leave it to the device too.
std::vector<Sample> samples_of(const ProbeSet& set, const TruthRun& run,
                               const SettingOutcome& outcome, const Defect& defect) {
    const auto leaves_sum = [&](std::size_t number) {
        return asks(set.matrix.rows[number], outcome, false);
    };
    const bool all_leave = std::ranges::all_of(defect.rows, leaves_sum);
    std::vector<Sample> samples;
    for (const auto& [number, row] : outcome.rows) {
        const bool wrong = contains(defect.rows, number);
        const bool comparable = !all_leave || leaves_sum(number);
        const bool clean = comparable && row.seen(run.wire).findings.empty() && row.once.empty();
        const Probe* probe = first_probe(set, number);
        if (probe != nullptr && row.wire.probes != 0 && (wrong || clean)) {
            samples.push_back(truth::sample_of(set.matrix.rows[number], *probe, wrong));
        }
    }
    return samples;
}

// The payload of a row's frames that gives them this number; nothing: none does.
std::optional<std::size_t> payload_for(const Sample& like, const Probe& probe, Border::Of of,
                                       std::uint32_t number) {
    switch (of) {
        case Border::Of::kPayloadBytes: return number;
        case Border::Of::kSegments:
            return probe.segment_bytes == 0
                       ? std::nullopt
                       : std::optional(std::size_t{number} * probe.segment_bytes);
        case Border::Of::kLastSegment:
            return probe.segment_bytes == 0 || number == 0 || number > probe.segment_bytes
                       ? std::nullopt
                       : std::optional(std::size_t{like.segments - 1} * probe.segment_bytes +
                                       number);
        case Border::Of::kFrameBytes: break;
    }
    const std::uint32_t headers = like.frame_bytes - std::min(like.frame_bytes, like.payload_bytes);
    return probe.segment_bytes != 0 || number < headers
               ? std::nullopt
               : std::optional<std::size_t>(number - headers);
}

// Frames as those of the row, but for their length; nothing where they cannot be made.
std::optional<ProbeSet> set_of(const ProbeSet& set, const Row& row, std::size_t payload) {
    ProbeSet made{.maker = set.maker, .matrix = {}, .probes = {}};
    made.matrix.rows = {row};
    for (std::uint32_t index = 0; index < kBorderProbes; ++index) {
        auto probe = set.maker.make(row, {0, index}, payload);
        if (!probe) {
            return std::nullopt;
        }
        made.probes.push_back(std::move(*probe));
    }
    return made;
}

// Frames of both sides of the border, made for it, beside the samples.
Status refine(TruthBench& bench, const ProbeSet& set, const TruthRun& run,
              const SettingOutcome& outcome, const Defect& defect, std::vector<Sample>& samples) {
    const truth::Description first = truth::separate(samples);
    if (!first.border) {
        return {};
    }
    const Border::Of of = first.border->of;
    // Segments are counted in super-frames, bytes in whole frames.
    const auto number = std::ranges::find_if(defect.rows, [&](std::size_t each) {
        const bool whole = set.matrix.rows[each].segmentation == matrix::Segmentation::kNone;
        return whole == (of != Border::Of::kSegments && of != Border::Of::kLastSegment);
    });
    const Probe* probe = number == defect.rows.end() ? nullptr : first_probe(set, *number);
    if (probe == nullptr) {
        return {};
    }
    Row row = set.matrix.rows[*number];
    row.values = matrix::PayloadValues::kRandom;
    const Sample like = truth::sample_of(row, *probe, true);
    const auto wrong_at = [&](std::uint32_t value) -> Result<std::optional<bool>> {
        const auto payload = payload_for(like, *probe, of, value);
        const auto made = payload ? set_of(set, row, *payload) : std::nullopt;
        if (!made) {
            return std::optional<bool>();
        }
        bool wrong = false;
        TRY(under(bench, run, outcome.setting, [&](SettingOutcome& again) -> Status {
            TRY(send_rows(
                bench, *made, nullptr, [](std::size_t) { return true; }, again));
            const truth::RowOutcome& seen = again.rows[0];
            wrong = !seen.seen(run.wire).findings.empty();
            return {};
        }));
        samples.push_back(truth::sample_of(row, made->probes.front(), wrong));
        return std::optional<bool>(wrong);
    };
    TRY(truth::find_border(*first.border, kBorderTries, wrong_at));
    return {};
}

Row with_value(const Row& row, matrix::Dimension dimension, std::size_t value) {
    auto values = matrix::values_of(row);
    values[matrix::index_of(dimension)] = static_cast<std::uint8_t>(value);
    return matrix::row_of(values);
}

// The row itself, and rows that differ from each of these in one of the dimensions.
std::vector<Row> rows_near(const std::vector<Row>& rows,
                           std::span<const matrix::Dimension> dimensions) {
    std::vector<Row> near = rows;
    for (const Row& row : rows) {
        for (const matrix::Dimension dimension : dimensions) {
            for (std::size_t value = 0; value < matrix::value_names(dimension).size(); ++value) {
                near.push_back(with_value(row, dimension, value));
            }
        }
    }
    return near;
}

// Frames that stand in one of two descriptions alone, and a plain copy of them as another row, by which the
// path proves itself.
struct Telling {
    Row row;
    ProbeSet made;
    Sample sample;
};

std::optional<Telling> made_to_tell(const TruthBench& bench, const ProbeSet& set, const Row& row,
                                    std::optional<std::size_t> payload,
                                    const truth::OpenChoice& choice) {
    if (matrix::objection(row, set.maker.limits(), matrix::Direction::kTransmit) ||
        bench.blind_to(row)) {
        return std::nullopt;
    }
    const auto first = set.maker.make(row, {0, 0}, payload);
    const std::size_t longest = set.maker.limits().mtu + 14 + 8;  // with two tags
    if (!first || std::ranges::any_of(first->intended, [&](const matrix::FrameBytes& frame) {
            return frame.size() > longest;
        })) {
        return std::nullopt;
    }
    const Sample sample = truth::sample_of(row, *first, false);
    if (!choice.tells(sample)) {
        return std::nullopt;
    }
    ProbeSet made{.maker = set.maker, .matrix = {}, .probes = {}};
    made.matrix.rows = {row, row};
    for (const std::uint32_t number : {0U, 1U}) {
        for (std::uint32_t index = 0; index < kBorderProbes; ++index) {
            auto probe = set.maker.make(row, {number, index}, payload);
            if (!probe) {
                return std::nullopt;
            }
            made.probes.push_back(number == 0 ? std::move(*probe) : matrix::as_plain(*probe));
        }
    }
    return Telling{.row = row, .made = std::move(made), .sample = sample};
}

// Rows like one that is wrong, the nearest first, and payloads for them.
struct Candidates {
    std::vector<Row> rows;
    std::vector<std::optional<std::size_t>> payloads;  // nothing: the row's own
};

std::vector<Candidates> candidates_of(const Row& base, std::span<const Sample> samples) {
    using matrix::Dimension;
    constexpr Dimension kAll[] = {Dimension::kVlan,           Dimension::kInnerNetwork,
                                  Dimension::kInnerTransport, Dimension::kLength,
                                  Dimension::kTrailer,        Dimension::kFragmentation,
                                  Dimension::kBuffers,        Dimension::kSegmentation};
    constexpr Dimension kOften[] = {Dimension::kVlan, Dimension::kInnerNetwork,
                                    Dimension::kInnerTransport, Dimension::kLength,
                                    Dimension::kSegmentation};
    Candidates one{.rows = rows_near({base}, kAll), .payloads = {std::nullopt}};
    for (std::size_t i = samples.size(); i-- > 0 && one.payloads.size() < 6;) {
        for (const std::uint32_t more : {0U, 1U}) {
            one.payloads.emplace_back(samples[i].payload_bytes + more);
        }
    }
    const Candidates two{.rows = rows_near(rows_near({base}, kOften), kOften),
                         .payloads = {std::nullopt}};
    return {one, two};
}

// Frames for the first choice that is open and was not tried in vain; nothing: there are none.
std::optional<Telling> telling(const TruthBench& bench, const ProbeSet& set,
                               const SettingOutcome& outcome, const Defect& defect,
                               std::span<const Sample> samples, const truth::OpenChoice& choice) {
    for (std::size_t i = 0; i < std::min(defect.rows.size(), kMostBases); ++i) {
        const Row& base = set.matrix.rows[defect.rows[i]];
        const bool sum = asks(base, outcome, false);
        const bool cut = asks(base, outcome, true);
        for (const Candidates& candidates : candidates_of(base, samples)) {
            for (const Row& row : candidates.rows) {
                if (asks(row, outcome, false) != sum || asks(row, outcome, true) != cut) {
                    continue;
                }
                for (const auto& payload : candidates.payloads) {
                    if (auto made = made_to_tell(bench, set, row, payload, choice)) {
                        return made;
                    }
                }
            }
        }
    }
    return std::nullopt;
}

// Sends by itself what tells descriptions apart that fit the same frames so far.
Status tell_apart(TruthBench& bench, const ProbeSet& set, const TruthRun& run,
                  const SettingOutcome& outcome, const Defect& defect,
                  std::vector<Sample>& samples) {
    std::set<std::string> in_vain;
    for (int i = 0; i < kMostTold; ++i) {
        const auto open = truth::open_choices(samples);
        const auto choice = std::ranges::find_if(
            open, [&](const truth::OpenChoice& each) { return !in_vain.contains(each.between); });
        if (choice == open.end()) {
            return {};
        }
        auto next = telling(bench, set, outcome, defect, samples, *choice);
        bool wrong = false, told = false;
        if (next) {
            TRY(under(bench, run, outcome.setting, [&](SettingOutcome& again) -> Status {
                TRY(send_rows(
                    bench, next->made, nullptr, [](std::size_t) { return true; }, again));
                const matrix::TxCellResult& seen = again.rows[0].seen(run.wire);
                const matrix::TxCellResult& plain = again.rows[1].seen(run.wire);
                wrong = !seen.findings.empty();
                told = seen.probes != 0 && plain.probes != 0 && plain.findings.empty();
                return {};
            }));
        }
        if (!told) {
            in_vain.insert(choice->between);
            continue;
        }
        next->sample.wrong = wrong;
        samples.push_back(next->sample);
    }
    return {};
}

std::string place_and_title(const Defect& defect) {
    return defect.place + " " + defect.title;
}

bool is_on_wire(const Defect& defect, truth::WireKind wire) {
    const bool cable = wire == truth::WireKind::kCable;
    return !defect.specimen.wire.empty() &&
           (cable || defect.specimen.wire != defect.specimen.handed);
}

// The work at which it stalls, as rows that leave it to the device.
std::function<bool(std::size_t)> provoking(const ProbeSet& set, const SettingOutcome& as_found,
                                           const std::vector<Stall>& stalls) {
    const bool super = std::ranges::all_of(stalls, &Stall::at_super_frame);
    const bool sums = std::ranges::all_of(stalls, &Stall::at_checksum);
    return [&set, &as_found, super, sums](std::size_t row) {
        return !(super || sums) || asks(set.matrix.rows[row], as_found, super);
    };
}

std::uint64_t frames_of(const SettingOutcome& outcome) {
    std::uint64_t frames = 0;
    for (const auto& [number, row] : outcome.rows) {
        frames += row.wire.probes;
    }
    return frames;
}

// The setting's rows, again and again, until it stalled as often, or sent so many probes.
Status send_on(TruthBench& bench, const ProbeSet& set, StallWatch& watch,
               const std::function<bool(std::size_t)>& wanted, std::size_t stalls,
               std::uint64_t most, SettingOutcome& outcome, std::uint64_t& sent) {
    sent = 0;
    while (sent < most && watch.stalls().size() < stalls) {
        const std::size_t before = watch.stalls().size();
        TRY(send_rows(bench, set, &watch, wanted, outcome));
        const std::uint64_t probes = frames_of(outcome);
        if (probes == 0) {
            break;
        }
        sent = watch.stalls().size() == before ? sent + probes : 0;
    }
    return {};
}

// `tail`: bytes behind the full segments.
matrix::Segmentation segmentation_of(bool udp, int tail) {
    using matrix::Segmentation;
    if (udp) {
        return Segmentation::kUdp;
    }
    if (tail == 0) {
        return Segmentation::kTcpExact;
    }
    return tail == 1 ? Segmentation::kTcpOneByte : Segmentation::kTcpOddRest;
}

}  // namespace

Probe plain_probe(const ProbeSet& set) {
    constexpr std::size_t kLeast = 100;
    constexpr std::size_t kMost = 600;
    const auto is_plain = [&](const Probe& probe) {
        const Row& row = set.matrix.rows[probe.label.row];
        const std::size_t bytes = probe.intended.front().size();
        return row.encap == matrix::Encap::kNone && row.vlan == matrix::Vlan::kNone &&
               row.fragmentation == matrix::Fragmentation::kNone &&
               row.trailer == matrix::Trailer::kNone && probe.intended.size() == 1 &&
               bytes >= kLeast && bytes <= kMost;
    };
    const auto found = std::ranges::find_if(set.probes, is_plain);
    return matrix::as_plain(found == set.probes.end() ? set.probes.front() : *found);
}

Status add_long_super_frames(std::uint32_t each, ProbeSet& set) {
    using matrix::InnerNetwork;
    using matrix::Segmentation;
    struct Kind {
        InnerNetwork network;
        matrix::InnerTransport transport;
        bool all;  // of the sizes below; else of every other segment size and tail one
    };
    // Full segments, and the bytes of the one behind them: tails of one byte up to one less than a
    // segment, odd and even, up to 64 segments and 64 KiB.
    struct Sizes {
        matrix::Length segment;
        std::size_t full;
        int tail;  // below 0: so much less than a segment
        bool of_all_kinds;
    };
    using matrix::Length;
    constexpr Sizes kSizes[] = {
        {Length::kMtu, 9, 0, true},     {Length::kMtu, 24, 0, true},
        {Length::kMtu, 43, 1, true},    {Length::kMtu, 2, 2, false},
        {Length::kMtu, 5, -1, false},   {Length::kMtu, 3, 731, false},
        {Length::k256, 63, 1, false},   {Length::k256, 31, 255, true},
        {Length::k256, 16, 128, false}, {Length::k171, 63, 170, true},
        {Length::k171, 63, 2, false},   {Length::k171, 32, 85, false},
    };
    constexpr std::size_t kLongestPacket = 65'535 - 40 - 60;
    for (const Kind& kind : {Kind{InnerNetwork::kIpv4, matrix::InnerTransport::kTcp, true},
                             Kind{InnerNetwork::kIpv6, matrix::InnerTransport::kTcp, false},
                             Kind{InnerNetwork::kIpv4, matrix::InnerTransport::kUdp, false}}) {
        for (const Sizes& sizes : kSizes) {
            if (!kind.all && !sizes.of_all_kinds) {
                continue;
            }
            const bool udp = kind.transport == matrix::InnerTransport::kUdp;
            const Row row{.network = kind.network,
                          .transport = kind.transport,
                          .length = sizes.segment,
                          .segmentation = segmentation_of(udp, sizes.tail),
                          .handover = matrix::Handover::kInner};
            const auto number = static_cast<std::uint32_t>(set.matrix.rows.size());
            const std::size_t segment = TRY(set.maker.make(row, {number, 0})).segment_bytes;
            const std::size_t tail = sizes.tail < 0
                                         ? segment - static_cast<std::size_t>(-sizes.tail)
                                         : static_cast<std::size_t>(sizes.tail);
            const std::size_t payload = sizes.full * segment + tail;
            if (tail >= segment || payload > kLongestPacket) {
                continue;
            }
            const std::uint32_t probes = sizes.full < kFewSegments ? each : 1;
            for (std::uint32_t index = 0; index < probes; ++index) {
                set.probes.push_back(TRY(set.maker.make(row, {number, index}, payload)));
            }
            set.matrix.rows.push_back(row);
        }
    }
    return {};
}

void study_time(TruthRun& run) {
    constexpr double kChance = 1e-6;
    truth::Trail trail;
    for (const SettingOutcome& outcome : run.outcomes) {
        trail.append(outcome.trail);
    }
    if (run.wire == truth::WireKind::kCable) {
        trail.hold_unfinished();
    }
    run.relations = truth::relations_of(trail);
    run.in_time = truth::find_in_time(trail, truth::Fate::kChanged);
    const auto lost = truth::find_in_time(trail, truth::Fate::kMissing);
    if (!lost || !lost->varies) {
        return;
    }
    const double share = static_cast<double>(lost->seen.wrong) /
                         static_cast<double>(std::max<std::uint64_t>(1, lost->seen.frames));
    const bool only_left =
        lost->others_wrong == 0 && std::pow(1 - share, static_cast<double>(lost->others)) < kChance;
    if (lost->seen.kind == truth::InTime::Kind::kEvery || only_left) {
        run.values.losses_in_time = lost->text();
    }
}

Status study_places(TruthBench& bench, const ProbeSet& set, TruthRun& run) {
    for (const SettingOutcome& outcome : run.outcomes) {
        const Judged judged = truth::judge_condition(run, outcome, std::nullopt);
        if (outcome.tally.lost != 0 || judged.defects.empty()) {
            continue;
        }
        std::vector<const Defect*> largest;
        for (const Defect& defect : judged.defects) {
            largest.push_back(&defect);
        }
        std::ranges::stable_sort(largest, std::greater<>(), &Defect::frames);
        const bool in_time = run.in_time && run.in_time->varies;
        for (std::size_t i = 0; i < largest.size(); ++i) {
            const Defect& defect = *largest[i];
            std::vector<Sample> samples = samples_of(set, run, outcome, defect);
            if (in_time) {
                run.where[place_and_title(defect)] = "among " + run.in_time->among;
                continue;
            }
            if (i < kMostLocated) {
                TRY(refine(bench, set, run, outcome, defect, samples));
                TRY(tell_apart(bench, set, run, outcome, defect, samples));
            }
            run.where[place_and_title(defect)] = truth::separate(samples).with_common();
        }
        return {};
    }
    return {};
}

Status chase(TruthBench& bench, const ProbeSet& set, StallWatch& watch, TruthRun& run) {
    for (SettingOutcome& outcome : run.outcomes) {
        const Judged judged = truth::judge_condition(run, outcome, std::nullopt);
        const bool once = std::ranges::any_of(
            judged.once, [&](const Defect& defect) { return is_on_wire(defect, run.wire); });
        if (!once || !judged.defects.empty() || outcome.tally.lost != 0) {
            continue;
        }
        std::set<std::string> places;
        for (const Defect& defect : judged.once) {
            if (is_on_wire(defect, run.wire)) {
                places.insert(defect.place);
            }
        }
        TRY(under(bench, run, outcome.setting, [&](SettingOutcome& again) -> Status {
            bool shown = false;
            for (int i = 0; i < kChases && !shown; ++i) {
                TRY(send_rows(
                    bench, set, &watch, [&](std::size_t row) { return outcome.rows.contains(row); },
                    again));
                outcome.trail.append(std::exchange(again.trail, {}));
                for (const auto& [number, row] : again.rows) {
                    for (const matrix::TxFinding& finding : row.seen(run.wire).findings) {
                        shown = shown || (truth::is_change(finding, run.wire) &&
                                          places.contains(finding.place));
                    }
                }
            }
            // Both are what the device did: the first stands for them.
            for (auto& entry : outcome.rows) {
                truth::RowOutcome& row = entry.second;
                if (!shown || row.once.empty()) {
                    continue;
                }
                matrix::TxCellResult& seen =
                    run.wire == truth::WireKind::kMemory ? row.finished : row.wire;
                std::erase_if(row.once, [&](const matrix::TxFinding& finding) {
                    const bool kept =
                        places.contains(finding.place) && !finding.specimen.wire.empty();
                    if (kept) {
                        seen.exact -= std::min(seen.exact, finding.frames);
                        seen.findings.push_back(finding);
                        row.observations = 2;
                    }
                    return kept;
                });
            }
            return {};
        }));
        return {};
    }
    return {};
}

Status study_stalls(TruthBench& bench, const ProbeSet& set, StallWatch& watch, TruthRun& run) {
    if (watch.stalls().empty() || run.outcomes.empty()) {
        run.values.stalls = watch.stalls();
        return {};
    }
    const SettingOutcome& as_found = run.outcomes.front();
    const bool ended = std::ranges::all_of(watch.stalls(), &Stall::ended);
    const auto wanted = provoking(set, as_found, watch.stalls());
    std::uint64_t sent = 0;
    if (ended) {
        watch.begin(as_found.setting.title());
        TRY(under(bench, run, as_found.setting, [&](SettingOutcome& again) {
            return send_on(bench, set, watch, wanted, kEnoughStalls, kMostForStall, again, sent);
        }));
    }
    run.values.stalls = watch.stalls();
    if (!run.values.stalls_confirmed() || !ended) {
        return {};
    }
    std::uint64_t apart = 0;
    for (const Stall& stall : run.values.stalls) {
        apart = std::max(apart, stall.at_super_frame ? stall.super_frames : stall.frames);
    }
    // One flag alone comes before all of them.
    std::vector<const SettingOutcome*> candidates;
    for (const Setting::Kind kind : {Setting::Kind::kOneOff, Setting::Kind::kAllOff}) {
        for (const SettingOutcome& outcome : run.outcomes) {
            if (outcome.setting.kind == kind) {
                candidates.push_back(&outcome);
            }
        }
    }
    const bool super = std::ranges::all_of(run.values.stalls, &Stall::at_super_frame);
    for (const SettingOutcome* candidate : candidates) {
        const SettingOutcome& outcome = *candidate;
        const bool leaves_it = std::ranges::any_of(
            set.matrix.rows, [&](const Row& row) { return asks(row, outcome, super); });
        if (leaves_it) {
            continue;
        }
        const std::size_t before = watch.stalls().size();
        watch.begin(outcome.setting.title());
        TRY(under(bench, run, outcome.setting, [&](SettingOutcome& again) {
            return send_on(bench, set, watch, wanted, before + 1,
                           std::min(3 * apart, 2 * kMostForStall), again, sent);
        }));
        if (watch.stalls().size() == before) {
            const std::string flags = outcome.setting.kind == Setting::Kind::kAllOff
                                          ? fmt::format("{} off", fmt::join(run.varied, " off "))
                                          : outcome.setting.feature + " off";
            run.values.stall_cure = fmt::format(
                "{}. Seen in this run: the same frames, {} of them, and it did not stall once.",
                run.values.path.device.command(
                    fmt::format("ethtool -K {} {}", run.values.path.device.name, flags)),
                sent);
            return {};
        }
    }
    return {};
}

}  // namespace pathproof::scenario
