#include "harness/run/record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/version.h"
#include "dataplane/port/device_name.h"
#include "harness/fingerprint/host.h"
#include "harness/guest/program.h"
#include "harness/preflight/tester_calibration.h"
#include "harness/prices/cures.h"
#include "harness/prices/kept.h"
#include "harness/prices/run.h"
#include "harness/process/log.h"
#include "harness/process/netns.h"
#include "harness/process/uuid.h"
#include "harness/report/report.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/service_path/snat_timestamps.h"
#include "harness/verdict/repeat.h"

namespace pathproof::run {
namespace {

constexpr const char* kBuiltInEvidence =
    "DPDK ports on veth devices (net_af_packet) and, between the overlay's nodes, a software wire "
    "in place of NICs. The kernel under test is real; this says something of its software path, "
    "nothing of any hardware.";

verdict::FactGroup dut_facts(const agent::Hello& hello) {
    const auto said = [](const char* name, const std::string& value) {
        return verdict::Fact{
            .name = name,
            .value = value,
            .status = value.empty() ? verdict::Fact::Status::kAbsent : verdict::Fact::Status::kRead,
            .source = "the agent there"};
    };
    return {.title = "DUT: another machine, over SSH",
            .facts = {said("kernel", hello.kernel), said("CPUs", std::to_string(hello.cpus)),
                      said("pathproof", hello.version)}};
}

// Serial numbers of this machine, its tester ports and the DUT's devices that the lab names.
std::vector<verdict::FactGroup> serial_facts(const lab::Lab& place) {
    std::vector<std::string> devices;
    std::vector<std::string> ports;
    std::string tester_netns;
    for (const lab::CabledDevice& cabled : place.devices()) {
        devices.push_back(cabled.name);
        tester_netns = cabled.tester_netns;
        if (const auto behind = port::kernel_port(cabled.tester_port)) {
            ports.push_back(behind->interface);
        } else if (!cabled.tester_port.starts_with("net_")) {
            ports.push_back(cabled.tester_port);
        }
    }
    verdict::FactGroup here{.title =
                                "Serial numbers, asked for: this machine and the tester's ports"};
    const auto read = [&]() -> Status {
        here.facts = fingerprint::read_serials(ports);
        return {};
    };
    if (!process::in_netns(tester_netns, read)) {
        here.facts = fingerprint::read_serials({});
    }
    std::vector<verdict::FactGroup> groups{std::move(here)};
    // A DUT that died is reported by its own error.
    if (const auto dut = place.dut()) {
        if (auto facts = dut->serials(devices)) {
            groups.push_back({"Serial numbers, asked for: the DUT", std::move(*facts)});
        }
    }
    return groups;
}

// The kept calibration of a lab's tester with its age, or why there is none.
verdict::FactGroup calibration_facts(const lab::LabFile& file) {
    const auto kept = preflight::find_calibration(preflight::calibrations_file(), file.name);
    const std::string why =
        kept ? preflight::why_not_of(*kept, file) : std::string(kept.error().message);
    if (why.empty()) {
        return preflight::facts_of(**kept, realtime_ns() / 1'000'000'000);
    }
    return {.title = "Tester calibration",
            .facts = {{.name = "calibration",
                       .value = why,
                       .status = verdict::Fact::Status::kRead,
                       .source = "pathproof lab calibrate"}}};
}

// A command line with the guest that it was run in.
std::string typed_in_guest(const std::string& command) {
    constexpr std::string_view kProgram = "pathproof ";
    const std::string guest = guest::guest_of_this_program();
    return guest.empty() || !command.starts_with(kProgram)
               ? command
               : fmt::format("{}{} {}", kProgram, guest, command.substr(kProgram.size()));
}

}  // namespace

Record::Record(const SessionOptions& options) : options_(options) {
    result_.id = process::new_uuid();
    result_.parties = options.parties;
    result_.command = typed_in_guest(options.command);
    result_.options = options.asked;
    result_.seed = options.seed;
    result_.repeat_command = typed_in_guest(
        fmt::format("{} --seed {}", verdict::repeat_command(options.asked), options.seed));
    result_.lab = options.lab;
    result_.profile = options.profile ? options.profile->id : "";
    result_.version = version();
    result_.started_at = utc_now();
    result_.evidence_class = port::evidence_name(options.evidence);
    result_.evidence_note =
        options.evidence_note.empty() ? kBuiltInEvidence : options.evidence_note;
    if (!guest::guest_of_this_program().empty()) {
        result_.evidence_note +=
            " It ran in a guest of QEMU, whose times are those of an emulated machine.";
    }
}

void Record::begin_watch() {
    const auto serials =
        options_.asked.serials ? fingerprint::Serials::kAsked : fingerprint::Serials::kLeftOut;
    RunWatch watch(*options_.place, serials, measured_);
    const std::lock_guard lock(mutex_);
    watch_.emplace(std::move(watch));
    if (options_.observer) {
        verdict::RunResult head = result_;
        head.items = measured_.items();
        options_.observer->begin(head);
    }
}

void Record::end_watch() {
    auto hosts = watch_->end();
    const std::lock_guard lock(mutex_);
    hosts_ = std::move(hosts);
}

void Record::add(verdict::ScenarioResult scenario) {
    const std::lock_guard lock(mutex_);
    repetitions_.push_back(std::move(scenario));
    if (repetitions_.size() == options_.asked.repeat) {
        result_.scenarios.push_back(combined(std::move(repetitions_)));
        repetitions_.clear();
        if (options_.observer) {
            options_.observer->end_scenario(result_.scenarios.back());
        }
    }
    measured_.end();
}

void Record::add_not_run(verdict::ScenarioResult scenario) {
    const std::lock_guard lock(mutex_);
    describe(scenario);
    result_.scenarios.push_back(std::move(scenario));
}

void Record::add_prices(verdict::PriceTable table) {
    const std::lock_guard lock(mutex_);
    result_.prices = std::make_shared<verdict::PriceTable>(std::move(table));
}

void Record::add_preflight(verdict::Preflight looked) {
    const std::lock_guard lock(mutex_);
    result_.preflight = std::make_shared<verdict::Preflight>(std::move(looked));
}

void Record::describe(verdict::ScenarioResult& scenario) const {
    const scenario::Options asked{.cells =
                                      scenario::patterns_for(scenario.id, options_.asked.cells)};
    scenario.part = fmt::format("{}", fmt::join(asked.cells, ","));
    const scenario::Scenario* known = scenario::find_scenario(scenario.id);
    if (known != nullptr && known->cells != nullptr && scenario.planned.empty()) {
        scenario.planned = known->cells();
        std::erase_if(scenario.planned,
                      [&](const std::string& id) { return !asked_for(asked, id); });
    }
}

std::string Record::folder(std::size_t repetition) const {
    if (options_.out_dir.empty()) {
        return "";
    }
    const std::string unfinished = report::unfinished_folder(options_.out_dir);
    return options_.asked.repeat == 1 ? unfinished
                                      : fmt::format("{}/repetition-{}", unfinished, repetition);
}

verdict::RunResult Record::finish(const std::string& interruption) {
    const std::lock_guard lock(mutex_);
    verdict::RunResult result = result_;
    std::vector<verdict::ScenarioResult> open = repetitions_;
    if (auto cut = measured_.cut_short(interruption)) {
        describe(*cut);
        open.push_back(std::move(*cut));
    }
    if (!open.empty()) {
        result.scenarios.push_back(combined(std::move(open)));
    }
    result.ended_at = utc_now();
    result.issued_at = result.ended_at;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    scenario::tell_side_effects(result.scenarios);
    attach_prices(result);
    add_watch(result);
    options_.held.judge(result.scenarios);
    std::tie(result.verdict, result.reasons) = verdict::judge_run(result.scenarios);
    list_left_out(result.reasons);
    if (!interruption.empty()) {
        result.verdict = verdict::RunVerdict::kIncomplete;
        result.reasons.insert(result.reasons.begin(),
                              interruption + ": what was measured before is below.");
    }
    add_environment(result);
    return result;
}

// Adds the items, what the hosts did, and a scenario of the faults that their kernels reported of what is tested.
void Record::add_watch(verdict::RunResult& result) {
    result.items = measured_.items();
    for (verdict::Item& item : result.items) {
        item.title = item.title.empty() ? "DUT device " + item.device : item.title;
    }
    if (hosts_) {
        result.meanwhile = *hosts_;
    } else if (watch_) {
        result.meanwhile = watch_->end_here();
    }
    auto faults = kernel_log_scenario(result.meanwhile);
    if (!faults || result.scenarios.empty()) {
        return;
    }
    const std::string name = "evidence/kernel-log.txt";
    if (!options_.out_dir.empty() &&
        replace_file(report::unfinished_folder(options_.out_dir) + "/" + name,
                     kernel_log_text(result.meanwhile))) {
        faults->evidence.push_back({name, "what the kernels logged meanwhile, with its traces"});
    }
    result.scenarios.push_back(std::move(*faults));
}

void Record::add_environment(verdict::RunResult& result) {
    result.environment = fingerprint::read_environment(
        {.pathproof_version = version(), .dpdk_version = measured_.dpdk_version(), .root = ""});
    if (!options_.place->other_host().empty()) {
        agent::Client& dut = *options_.place->dut();
        result.environment.push_back(dut_facts(dut.hello()));
        // A DUT that died is reported by its own error.
        if (const auto of_host = scenario::host_facts(dut)) {
            std::ranges::copy(*of_host, std::back_inserter(result.environment));
        }
    }
    std::ranges::move(measured_.devices(), std::back_inserter(result.environment));
    if (options_.place->file() != nullptr) {
        result.environment.push_back(calibration_facts(*options_.place->file()));
    }
    if (options_.asked.serials) {
        std::ranges::move(serial_facts(*options_.place), std::back_inserter(result.environment));
    }
}

// Adds the prices of the cures that this run names: from its own table, or from one that is kept.
void Record::attach_prices(verdict::RunResult& result) const {
    const auto here = [&](const auto& scenario) {
        return !scenario.cure.empty() && !prices::cures_shown_by(scenario.id).empty();
    };
    if (result.prices || std::ranges::none_of(result.scenarios, here)) {
        prices::tell_prices(result.scenarios, result.prices.get(), prices::Source::kThisRun);
        return;
    }
    const auto kept = prices::find_kept(prices::kept_file(), prices::key_here(version()));
    if (!kept) {
        process::log(kept.error().message);
    }
    prices::tell_prices(result.scenarios, kept && *kept ? &**kept : nullptr, prices::Source::kKept);
}

// Names the scenarios that `qualify` leaves out by itself.
void Record::list_left_out(std::vector<std::string>& reasons) const {
    std::vector<std::string> left_out;
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        if (options_.asked.scenarios.empty() && each.when == scenario::Scenario::When::kAsked &&
            std::ranges::count(options_.scenarios, &each) == 0) {
            left_out.emplace_back(each.id);
        }
    }
    if (options_.asked.command == "qualify" && !left_out.empty()) {
        reasons.push_back(fmt::format("left out, as they take longer (run by --only NAME): {}",
                                      fmt::join(left_out, ", ")));
    }
}

// Makes one result of all repetitions; the evidence that it refers to moves to its place.
verdict::ScenarioResult Record::combined(std::vector<verdict::ScenarioResult> all) const {
    verdict::ScenarioResult result = verdict::combine(std::move(all), options_.seed);
    if (options_.asked.repeat == 1 || options_.out_dir.empty()) {
        return result;
    }
    const auto take = [&](const std::vector<verdict::EvidenceFile>& files, std::size_t from) {
        for (const verdict::EvidenceFile& file : files) {
            std::error_code lost;  // is found missing, and said, when the report is written
            std::filesystem::rename(folder(from) + "/" + file.path,
                                    report::unfinished_folder(options_.out_dir) + "/" + file.path,
                                    lost);
        }
    };
    take(result.evidence, result.kept);
    for (const verdict::Cell& cell : all_cells(result)) {
        take(cell.evidence, cell.runs ? cell.runs->kept : 1);
    }
    return result;
}

}  // namespace pathproof::run
