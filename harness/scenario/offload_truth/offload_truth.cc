// offload-truth: what each offload of a device really does to the frames on the wire.
//
// Set:  every ethtool feature that decides over checksums and segmentation: as found, all off, all
//       on, each alone off; in the full form each alone on as well.
// Sent: the rows of the qualification matrix through packet sockets with exact offload metadata,
//       and in the lab or a guest datagrams through the kernel's own tunnels with and without NAT.
// Seen: every frame that arrives at the tester's port, held against what a perfect sender sends.
//
// And the other way: good and bad frames sent to the device, what its driver and the kernel say of
// each, and what the kernel counts.

#include "harness/scenario/offload_truth/offload_truth.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "dataplane/judge/explain.h"
#include "dataplane/port/device_name.h"
#include "dataplane/port/port_request.h"
#include "harness/agent/host_change.h"
#include "harness/fingerprint/kernel_log.h"
#include "harness/lab/link_changes.h"
#include "harness/scenario/calibration_result.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth/cells.h"
#include "harness/scenario/offload_truth/duts.h"
#include "harness/scenario/offload_truth/part.h"
#include "harness/scenario/offload_truth/path.h"
#include "harness/scenario/offload_truth/receive.h"
#include "harness/scenario/offload_truth/segments.h"
#include "harness/scenario/offload_truth/sent_study.h"
#include "harness/scenario/offload_truth/tunnels.h"
#include "harness/truth/errata.h"
#include "harness/truth/feature_use.h"

namespace pathproof::scenario {
namespace {

using truth::Condition;
using truth::Defect;
using truth::is_on;
using truth::Judged;
using truth::MatrixSize;
using truth::PathFacts;
using truth::ProbeSet;
using truth::Setting;
using truth::SettingOutcome;
using truth::TruthRun;
using truth::WireKind;
using truth::WrongValue;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observed;

constexpr std::uint32_t kLabMtu = 9000;

// Node A of the overlay lab, and the tester where the cable of its underlay ends.
struct TruthLab {
    std::unique_ptr<lab::Overlay> overlay;
    TruthDevice device;
};

port::PortRequest long_frame_port(const std::string& interface) {
    return {.name = interface,
            .device = port::af_packet_device_for_long_frames(interface),
            .pool_mbufs = port::kLongFrameMbufs};
}

Result<TruthLab> build_lab(Context& context) {
    auto overlay = TRY(context.lab.overlay(context.journal));
    const lab::OverlayNames& names = overlay->names();
    TRY(overlay->lengthen_cable(kLabMtu));
    // The lab is without IPv6; here its frames are counted. Without stray ones of the kernel's own.
    const std::string ipv6 = fmt::format("net.ipv6.conf.{}.", names.underlay);
    for (const auto& [name, value] : {std::pair{"accept_ra", "0"},
                                      {"router_solicitations", "0"},
                                      {"addr_gen_mode", "1"},
                                      {"disable_ipv6", "0"}}) {
        setting::Setting on = setting::sysctl(lab::HostRole::kNodeA, ipv6 + name, value);
        on.changes.front().allowed = agent::HostChange::Allowed::kIsMissing;
        TRY(overlay->hosts().keep({std::move(on)}));
    }
    TruthLab built{.overlay = std::move(overlay)};
    built.device = {.netns = names.node_a,
                    .name = names.underlay,
                    .tester_netns = names.tester,
                    .tester_port = long_frame_port(names.tester_port_a)};
    return built;
}

// "6.1.0" of "Linux 6.1.0 x86_64".
std::string kernel_release(const agent::Hello& hello) {
    std::istringstream words(hello.kernel);
    std::string system, release;
    words >> system >> release;
    return release;
}

// Adds knowledge about the device that the run does not measure: errata, its profile, and whether
// its frames leave the machine.
Status add_knowledge(const Context& context, lab::Finish finish, TruthRun& run) {
    const std::string folder = profile::profile_directory();
    run.errata = TRY(profile::load_errata(folder));
    const auto all = TRY(profile::load_all(folder));
    auto own = profile::matching_profile(all, {.kernel_driver = run.driver});
    const bool in_memory =
        finish == lab::Finish::kBehindIt ||
        (finish == lab::Finish::kAsItsDriverIs && own && own->evidence_class == "virtual");
    run.wire = in_memory ? WireKind::kMemory : WireKind::kCable;
    run.profile = context.profile;
    if (!run.profile && own) {
        run.profile = std::move(*own);
    }
    return {};
}

struct Plan {
    MatrixSize size = MatrixSize::kQuick;
    ProbeSet set;
};

Result<Plan> make_plan(const Context& context, const TruthBench& bench) {
    const MatrixSize size = context.options.matrix();
    const bool full = size == MatrixSize::kFull;
    const matrix::DutLimits limits = matrix::kernel_device_limits(bench.device().longest_packet);
    const matrix::ProbeMaker maker(limits, matrix::Direction::kTransmit, {}, context.options.seed);
    matrix::Matrix rows = matrix::make_matrix(
        limits, matrix::Direction::kTransmit,
        full ? matrix::Strength::kTriples : matrix::Strength::kPairs, context.options.seed);
    std::ranges::copy(
        truth::plain_rows({.handover = matrix::Handover::kInner}, {matrix::RxInput::kGood}),
        std::back_inserter(rows.rows));
    const std::uint32_t each = full ? kProbesFull : kProbesQuick;
    auto set = TRY(truth::make_probes(maker, std::move(rows), each));
    TRY(add_long_super_frames(each, set));
    return Plan{size, std::move(set)};
}

std::vector<std::string> varied_features(const ProbeSet& set,
                                         const std::vector<agent::Feature>& features) {
    std::set<std::string> varied;
    for (const matrix::Row& row : set.matrix.rows) {
        const auto used = truth::features_used(row, features);
        varied.insert(used.begin(), used.end());
    }
    return {varied.begin(), varied.end()};
}

// A feature alone changes nothing for frames that make no use of any.
bool is_worth_sending(const Setting& setting, const matrix::Row& row) {
    const bool single =
        setting.kind == Setting::Kind::kOneOff || setting.kind == Setting::Kind::kOneOn;
    return !single || truth::columns_by_request().of(row).condition != Condition::kSoftware ||
           row.buffers != matrix::Buffers::kOne;
}

Status send_setting(Context& context, TruthBench& bench, const Plan& plan, truth::StallWatch& watch,
                    TruthRun& run, SettingOutcome& outcome) {
    context.progress.step(cell_id(outcome.setting));
    watch.begin(outcome.setting.title());
    const std::vector<matrix::Row>& rows = plan.set.matrix.rows;
    const auto wanted = [&](std::size_t row) {
        return !bench.blind_to(rows[row]) && is_worth_sending(outcome.setting, rows[row]);
    };
    truth::KernelExchange cable = bench.exchange();
    const truth::Path path = cable.path();
    const std::size_t most_frames = bench.pace().frames;
    TRY(send_and_judge(path, most_frames, plan.set, wanted, outcome, &watch));
    if (run.wire == WireKind::kMemory && finishes_some(outcome, plan.set)) {
        // Whoever finishes frames leaves none to the next by design.
        run.wire = WireKind::kCable;
    }
    return confirm(path, most_frames, plan.set, run.wire, outcome, &watch);
}

std::vector<std::string> left_out_of(const TruthBench& bench, const ProbeSet& set) {
    std::vector<std::string> left = set.matrix.left_out;
    left.erase(std::unique(left.begin(), left.end()), left.end());
    std::map<std::string, std::size_t> blind;
    for (const matrix::Row& row : set.matrix.rows) {
        if (const auto why = bench.blind_to(row)) {
            ++blind[*why];
        }
    }
    for (const auto& [why, rows] : blind) {
        left.push_back(fmt::format("{} rows: {}", rows, why));
    }
    return left;
}

const SettingOutcome& as_found(const TruthRun& run) {
    return run.outcomes.front();
}

// Frames that leave nothing to the device must be right whatever its offloads do.
Cell control_cell(const TruthRun& run) {
    const Judged judged = judge_condition(run, as_found(run), Condition::kSoftware);
    Cell cell{.id = "control.nothing-offloaded",
              .toggles = {{"offloads", "as found"}, {"frames", "nothing left to the device"}}};
    cell.verdict = judged.observed() == Observed::kRight ? CellVerdict::kPass : CellVerdict::kFail;
    cell.reason = cell.verdict == CellVerdict::kPass
                      ? ""
                      : fmt::format("{} of {} frames wrong", judged.wrong(), judged.frames);
    cell.measures = {count_of("frames_right", "frames exactly as intended", judged.right)};
    return cell;
}

// A setting under which everything that is wrong as found comes out right.
const SettingOutcome* cure_of(const TruthRun& run, Setting::Kind kind) {
    for (const SettingOutcome& outcome : run.outcomes) {
        bool cures = outcome.setting.kind == kind;
        for (const truth::Column& column : truth::columns_by_request()) {
            const Condition condition = column.condition;
            if (cures &&
                judge_condition(run, as_found(run), condition).observed() == Observed::kWrong) {
                cures = judge_condition(run, outcome, condition).observed() == Observed::kRight;
            }
        }
        if (cures) {
            return &outcome;
        }
    }
    return nullptr;
}

const SettingOutcome* shown_cure(const TruthRun& run) {
    const SettingOutcome* cure = cure_of(run, Setting::Kind::kOneOff);
    return cure != nullptr ? cure : cure_of(run, Setting::Kind::kAllOff);
}

bool is_change(const Defect& defect) {
    return !defect.specimen.wire.empty();
}

std::string where_of(const TruthRun& run, const Defect& defect) {
    const auto found = run.where.find(defect.place + " " + defect.title);
    return found != run.where.end()
               ? found->second
               : fmt::format("for example in rows '{}'",
                             matrix::describe(run.set->matrix.rows[defect.rows.front()]));
}

// Each wrong value of the first setting that shows any, and what was seen once under each.
void add_values(const SettingOutcome& outcome, const Judged& judged,
                const std::vector<Defect>& defects, TruthRun& run) {
    std::vector<WrongValue> values;
    for (const Defect& defect : defects) {
        WrongValue value{.setting = outcome.setting.title(),
                         .title = defect.name,
                         .place = defect.place,
                         .where = where_of(run, defect),
                         .wrong = std::min(defect.frames, judged.frames),
                         .frames = judged.frames,
                         .observations = defect.observations};
        const auto relation = run.relations.find(defect.place);
        const bool named = defect.checksum != judge::ChecksumName::kUnknown;
        if (named) {
            value.meaning = fmt::format("{}: {}.", judge::name(defect.checksum),
                                        judge::meaning(defect.checksum));
        } else if (relation != run.relations.end() && defect.name == relation->second.name) {
            value.meaning = fmt::format("{}: {}.", relation->second.name, relation->second.meaning);
        }
        if (run.in_time && run.in_time->varies && is_change(defect)) {
            value.in_time = run.in_time->text();
        }
        values.push_back(std::move(value));
    }
    std::ranges::sort(values, {}, [](const WrongValue& value) {
        return std::pair<const std::string&, const std::string&>(value.place, value.title);
    });
    const SettingOutcome* cure = &outcome == &as_found(run) ? shown_cure(run) : nullptr;
    for (WrongValue& value : values) {
        if (cure != nullptr && value.observations > 1) {
            const std::string feature = cure->setting.kind == Setting::Kind::kAllOff
                                            ? fmt::format("{} off", fmt::join(run.varied, " off "))
                                            : cure->setting.feature + " off";
            value.cure =
                fmt::format("{}. Seen in this run: every frame that was wrong is right then.",
                            run.values.path.device.command(fmt::format(
                                "ethtool -K {} {}", run.values.path.device.name, feature)));
            value.before = cell_id(as_found(run).setting);
            value.after = cell_id(cure->setting);
        }
        run.values.wrong.push_back(std::move(value));
    }
}

// Adds the sending side's values to the report on the device.
void add_sent(TruthRun& run, verdict::ScenarioResult& result) {
    run.values.settings = run.outcomes.size();
    bool told = false;
    std::size_t hidden = 0;
    for (const SettingOutcome& outcome : run.outcomes) {
        if (outcome.tally.lost != 0) {
            ++hidden;  // any of its frames may be among those
            continue;
        }
        const Judged judged = judge_condition(run, outcome, std::nullopt);
        run.values.sent += judged.frames;
        run.values.unfinished += judged.unfinished;
        add_values(outcome, judged, judged.once, run);
        if (told || judged.defects.empty()) {
            continue;
        }
        told = true;
        add_values(outcome, judged, judged.defects, run);
        for (const verdict::KnownErratum& erratum : known_errata(run, judged.defects)) {
            result.explanation.push_back(fmt::format("{} ({}): {} Workaround: {} Source: {}",
                                                     erratum.id, erratum.certainty, erratum.title,
                                                     erratum.workaround, erratum.source));
        }
    }
    if (hidden != 0) {
        run.values.hidden.push_back(
            fmt::format("what was sent in {} of {} settings: the tester's own port lost or cut "
                        "frames",
                        hidden, run.outcomes.size()));
    }
}

// The frames of a path's faults, each as it was sent and as it came.
void keep_faults(const PathFacts& path, TruthBench& bench, Cell& cell) {
    std::vector<matrix::FrameBytes> frames;
    std::string text;
    for (const truth::PathFault& fault : path.faults) {
        const bool from = fault.way == truth::Way::kFromDevice;
        text += fault_sentence(fault, from ? path.device.name : path.far.name,
                               from ? path.far.name : path.device.name) +
                "\n";
        for (const matrix::Specimen& specimen : fault.specimens) {
            frames.push_back(specimen.intended);
            text += fmt::format("frame {} of the pcapng, as sent:\n{}\n", frames.size(),
                                judge::explain(specimen.intended, judge::Evidence{}));
            if (specimen.wire.empty()) {
                text += "it never came\n\n";
                continue;
            }
            frames.push_back(specimen.wire);
            text += fmt::format("frame {} of the pcapng, as it came:\n{}\n", frames.size(),
                                judge::explain(specimen.wire, judge::Evidence{}));
        }
    }
    bench.keep(frames, text, cell);
}

// An unproven path is a cell of its own, and the only one that is judged.
Cell path_cell(const PathFacts& path, TruthBench& bench) {
    const bool faulty = !path.own_faults().empty();
    const CellVerdict unproven = faulty ? CellVerdict::kFail : CellVerdict::kInconclusive;
    Cell cell{.id = "path",
              .toggles = {{"offloads", "all off"}, {"frames", "plain, of every kind"}},
              .verdict = path.proven() ? CellVerdict::kPass : unproven,
              .reason = fmt::format("{}", fmt::join(path_sentences(path), "; ")),
              .cause = faulty ? "path" : ""};
    if (!path.faults.empty()) {
        keep_faults(path, bench, cell);
    }
    cell.measures = {
        count_of("frames_to_tester", "plain frames sent by the device", path.to_tester.sent),
        count_of("right_at_tester", "of them right at the tester", path.to_tester.right),
        count_of("frames_to_device", "plain frames sent to the device", path.to_device.sent),
        count_of("right_at_device", "of them right at the device", path.to_device.right),
        count_of("mtu", "longest packet that passes", path.mtu, "bytes")};
    return cell;
}

// One cell for all settings: a stall belongs to no kind of frame.
void add_stall_cells(const TruthRun& run, std::vector<Cell>& cells) {
    const std::vector<truth::Stall>& stalls = run.values.stalls;
    if (stalls.empty()) {
        return;
    }
    std::set<std::string> settings;
    double longest = 0;
    for (const truth::Stall& stall : stalls) {
        settings.insert(stall.setting);
        longest = std::max(longest, stall.seconds);
    }
    Cell cell{
        .id = "tx.stalls",
        .toggles = {{"offloads", fmt::format("{}", fmt::join(settings, "; "))},
                    {"frames", "all kinds"}},
        .verdict = run.values.stalls_confirmed() ? CellVerdict::kFail : CellVerdict::kInconclusive,
        .reason = stalls_text(stalls),
        .cause = "STALL"};
    cell.measures = {
        count_of("stalls", "times that it stopped sending", stalls.size()),
        milliseconds_of("longest_stall_ms", "the longest", longest * 1000),
        count_of("super_frames_apart", "super-frames from one to the next, where equal",
                 super_frames_apart(stalls))};
    cells.push_back(std::move(cell));
}

// A guest by its name, a namespace by its own; another machine is the DUT, whatever its user calls it.
std::string place_in_reports(const TruthDevice& device) {
    if (device.host.empty()) {
        return device.netns;
    }
    return device.label.empty() ? "the DUT" : device.host;
}

Result<TruthRun> judge_device(Context& context, TruthBench& bench, const Plan& plan,
                              const PathFacts& path, verdict::ScenarioResult& result) {
    TruthRun run{.driver = bench.info().driver,
                 .kernel = kernel_release(bench.dut().hello()),
                 .set = &plan.set};
    const std::string where = place_in_reports(bench.device());
    run.device = fmt::format("{} ({}{}{})", bench.device().name, run.driver,
                             where.empty() ? "" : " in ", where);
    TRY(add_knowledge(context, bench.device().finish, run));
    run.values.device = run.device;
    run.values.path = path;
    auto features = TRY(bench.dut().features(bench.device().name));
    run.varied = varied_features(plan.set, features);
    run.as_found = features;
    run.left_out = left_out_of(bench, plan.set);
    context.progress.step("path");
    truth::StallWatch watch(plain_probe(plan.set));
    watch.begin("all off, plain frames");
    bench.watch_stalls(&watch);
    // The path is proven with the device's offloads off, those of both directions.
    Part<SettingOutcome> proof{.id = "tx",
                               .features = run.varied,
                               .points = {{Setting::Kind::kAllOff, ""}},
                               .judge = [&](SettingOutcome&) {
                                   return prove_path(bench, plan.set, receive_rows(context, bench),
                                                     run.values.path);
                               }};
    std::ranges::copy(truth::receive_features(features), std::back_inserter(proof.features));
    const auto proven = run_part(bench, proof);
    bench.watch_stalls(nullptr);
    if (!proven) {
        return pass_on(proven.error());
    }
    result.cells.push_back(path_cell(run.values.path, bench));
    if (!run.values.path.proven()) {
        result.cells.push_back(proven->put_back);
        return run;
    }
    const Part<SettingOutcome> part{.id = "tx",
                                    .features = run.varied,
                                    .points = settings_for(run.varied, features, plan.size),
                                    .judge = [&](SettingOutcome& outcome) {
                                        return send_setting(context, bench, plan, watch, run,
                                                            outcome);
                                    }};
    auto sent = TRY(run_part(bench, part));
    run.outcomes = std::move(sent.outcomes);
    TRY(chase(bench, plan.set, watch, run));
    study_time(run);
    TRY(study_places(bench, plan.set, run));
    TRY(study_stalls(bench, plan.set, watch, run));
    std::ranges::move(truth_cells(run, bench), std::back_inserter(result.cells));
    result.cells.push_back(sent.put_back);
    add_stall_cells(run, result.cells);
    result.controls.push_back(control_cell(run));
    result.truth_tables.push_back(truth_table(run));
    add_sent(run, result);
    return run;
}

Status describe(Context& context, TruthBench& bench) {
    const TruthDevice& device = bench.device();
    TRY(know_device(context.measured, bench.dut(), device.name,
                    fmt::format("DUT device {}{} of the offload truth table", device.name,
                                device.label.empty() ? "" : " of " + device.host)));
    context.measured.know(
        port_facts({bench.tester_port()}, "Tester port of the offload truth table"));
    return {};
}

// Switches on the features that the overlay has off (lab/link_changes.h).
setting::Settings super_frames(const std::string& device) {
    setting::Settings settings;
    for (const char* word : lab::kSuperFrameWords) {
        settings.push_back(setting::feature(lab::HostRole::kDut, device, word, true));
    }
    return settings;
}

Status run_on(Context& context, const TruthDevice& device, std::shared_ptr<agent::Client> dut,
              lab::Overlay* overlay, verdict::ScenarioResult& result) {
    auto bench = TRY(TruthBench::open(context, device, std::move(dut)));
    if (overlay != nullptr) {  // the lab takes super-frames off; here they are what is looked at
        TRY(overlay->hosts().keep(super_frames(device.name)));
    }
    TRY(describe(context, *bench));
    auto far = TRY(FarEnd::take(device));
    const agent::DeviceInfo& info = bench->info();
    PathFacts path{
        .to_tester = {}, .to_device = {}, .device = device_end(*bench), .far = far.end()};
    const std::uint32_t longest =
        std::min({info.mtu, device.longest_packet, path.far.mtu == 0 ? info.mtu : path.far.mtu});
    const auto mtu = TRY(find_mtu(*bench, longest));
    path.mtu = mtu;
    bench->limit_packets(mtu == 0 ? longest : mtu);
    const auto plan = TRY(make_plan(context, *bench));
    // Rules of a host that others use are not ours to replace, and what leaves unfinished by design
    // says nothing of its tunnels.
    const bool has_tunnels = overlay != nullptr || device.finish == lab::Finish::kByItself;
    const auto features = TRY(bench->dut().features(device.name));
    const std::size_t settings =
        settings_for(varied_features(plan.set, features), features, plan.size).size();
    context.progress.begin("offload-truth", 1 + settings + receive_steps(features) +
                                                segment_steps() +
                                                (has_tunnels ? tunnel_steps() : 0));
    auto run = TRY(judge_device(context, *bench, plan, path, result));
    if (!run.values.path.proven()) {
        conclude_truth(run.values, result);
        return {};
    }
    TRY(judge_receipt(context, *bench, run, result));
    TRY(judge_tunnel_segments(context, *bench, run, result));
    const Status judged =
        has_tunnels ? judge_tunnels(context, *bench, overlay, run, result) : Status();
    conclude_truth(run.values, result);
    return judged;
}

TruthDevice device_of(const lab::MadeDut& dut, const std::string& name) {
    const lab::CabledDevice& cabled = dut.device;
    return {.netns = cabled.netns,
            .host = cabled.host,
            .name = cabled.name,
            .tester_netns = cabled.tester_netns,
            .tester_port = long_frame_port(cabled.tester_port),
            .finish = dut.finish,
            .label = name};
}

// Notes what a DUT that the lab made did while it was there: from its boot on, as nobody else has it.
void end_dut(Context& context, const lab::MadeDut& dut) {
    const std::string& host = dut.device.host;
    std::vector<verdict::Item> items = context.measured.items();
    std::erase_if(items, [&](const verdict::Item& item) {
        return item.title.find(" of " + host + " ") == std::string::npos;
    });
    for (const verdict::Item& item : items) {
        if (const auto now = dut.agent->item_readings(item.device)) {
            context.measured.end_item(item, *now);
        }
    }
    auto watch =
        host.empty()
            ? Result<verdict::HostWatch>(fail(ErrorCode::kNotFound, "no kernel of its own"))
            : dut.agent->watch_since({});
    if (watch) {
        watch->host = host;
        fingerprint::mark_against(*watch, items, true);
        context.measured.know_host(std::move(*watch));
    }
}

// One DUT, from its start to its end. What kept it from being judged is a cell.
Result<DutResult> run_on_dut(Context& context, const std::string& name) {
    DutResult one{.name = name, .result = {.id = "offload-truth"}};
    context.progress.begin(fmt::format("offload-truth of {}", name), 1);
    context.progress.step(name + ".boot");
    auto dut = context.lab.make_dut(name, context.journal);
    const Status judged =
        dut ? run_on(context, device_of(*dut, name), dut->agent, nullptr, one.result)
            : Status(pass_on(dut.error()));
    if (dut) {
        const std::string& host = dut->device.host;
        context.measured.know(
            role_facts(dut->facts, "DUT: " + (host.empty() ? "a pod of " + name : host)));
        if (auto of_host = host_facts(*dut->agent); of_host && !host.empty()) {
            for (verdict::FactGroup& group : *of_host) {
                context.measured.know(std::move(group));
            }
        }
        end_dut(context, *dut);
    }
    if (!judged && !context.journal.is_open()) {
        return pass_on(judged.error());
    }
    if (!judged) {
        one.failure = unjudged_cell(judged.error(), dut ? dut->log() : "");
        if (dut && one.failure->verdict == CellVerdict::kError) {
            keep_evidence(context.options.out_dir, name + ".console.txt",
                          "what the guest's kernel said", dut->log(), one.failure->evidence);
        }
    }
    return one;
}

Status run_on_duts(Context& context, verdict::ScenarioResult& result) {
    std::vector<DutResult> all;
    for (const std::string& name : context.lab.duts()) {
        auto one = TRY(run_on_dut(context, name));
        all.push_back(std::move(one));
    }
    conclude_duts(std::move(all), result);
    return {};
}

Result<verdict::ScenarioResult> run_offload_truth(Context& context) {
    verdict::ScenarioResult result;
    if (context.options.device) {
        TRY(run_on(context, *context.options.device, nullptr, nullptr, result));
    } else if (!context.lab.duts().empty()) {
        TRY(run_on_duts(context, result));
    } else {
        auto built = TRY(build_lab(context));
        TRY(run_on(context, built.device,
                   built.overlay->hosts().shared_agent(lab::HostRole::kNodeA), built.overlay.get(),
                   result));
    }
    return result;
}

Result<verdict::ScenarioResult> run_calibrated_offload_truth(Context& context) {
    if (context.options.calibrate == Calibrate::kNo) {
        return run_offload_truth(context);
    }
    CalibrationBeside calibration(context.options);
    auto result = run_offload_truth(context);
    if (result) {
        calibration.attach_to(context, *result);
    }
    return result;
}

}  // namespace

Scenario offload_truth_scenario() {
    return {
        "offload-truth",
        "Offload truth table: profile expects, driver advertises, wire shows",
        "Is every frame on the wire right, and everything true that is said of received ones, "
        "whichever of the device's offloads are on or off?",
        lab::Role::kDevice,
        run_calibrated_offload_truth,
        nullptr,
        Scenario::When::kAlways,
        {{"full", "all triples of its matrix instead of all pairs (up to two minutes more)", {}}}};
}

}  // namespace pathproof::scenario
