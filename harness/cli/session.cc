#include "harness/cli/session.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <sstream>

#include "dataplane/base/clock.h"
#include "dataplane/port/port.h"
#include "harness/cli/commands.h"
#include "harness/cli/offload_check.h"
#include "harness/cli/progress.h"
#include "harness/fingerprint/host.h"
#include "harness/guest/program.h"
#include "harness/lab/journal.h"
#include "harness/lab/privilege.h"
#include "harness/lab/signals.h"
#include "harness/prices/cures.h"
#include "harness/prices/kept.h"
#include "harness/prices/run.h"
#include "harness/process/netns.h"
#include "harness/report/report.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/service_path/snat_timestamps.h"
#include "harness/tester/port_choice.h"
#include "harness/truth/device_class.h"
#include "harness/verdict/repeat.h"

namespace pathproof::cli {
namespace {

constexpr std::uint32_t kHugepageMib = 512;

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

// Of this machine, its tester ports and the DUT's devices that the lab names.
std::vector<verdict::FactGroup> serial_facts(const lab::Lab& place) {
    std::vector<std::string> devices;
    std::vector<std::string> ports;
    std::string tester_netns;
    for (const lab::CabledDevice& cabled : place.devices()) {
        devices.push_back(cabled.name);
        tester_netns = cabled.tester_netns;
        if (const auto behind = tester::kernel_port(cabled.tester_port)) {
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
    // One that is gone is told of elsewhere.
    if (const auto dut = place.dut()) {
        if (auto facts = dut->serials(devices)) {
            groups.push_back({"Serial numbers, asked for: the DUT", std::move(*facts)});
        }
    }
    return groups;
}

// A command line with the guest that it was run in.
std::string typed_in_guest(const std::string& command) {
    constexpr std::string_view kProgram = "pathproof ";
    const std::string guest = guest::guest_of_this_program();
    return guest.empty() || !command.starts_with(kProgram)
               ? command
               : fmt::format("{}{} {}", kProgram, guest, command.substr(kProgram.size()));
}

// The run so far. The signal guard's thread reads it while the main thread may still write.
class Run {
  public:
    explicit Run(const SessionOptions& options) : options_(options) {
        result_.command = typed_in_guest(options.command);
        result_.options = options.asked;
        result_.seed = options.seed;
        result_.repeat_command = typed_in_guest(
            fmt::format("{} --seed {}", verdict::repeat_command(options.asked), options.seed));
        result_.lab = options.lab;
        result_.profile = options.profile ? options.profile->id : "";
        result_.version = PATHPROOF_VERSION;
        result_.started_at = utc_now();
        result_.evidence_class = port::evidence_name(options.evidence);
        result_.evidence_note = !options.evidence_note.empty()
                                    ? options.evidence_note
                                    : "DPDK ports on veth devices (net_af_packet) and, between the "
                                      "overlay's nodes, a software wire in place of NICs. "
                                      "The kernel under test is real; this says something of its "
                                      "software path, nothing of any hardware.";
        if (const std::string guest = guest::guest_of_this_program(); !guest.empty()) {
            result_.evidence_note +=
                " It ran in a guest of QEMU, whose times are those of an emulated machine.";
        }
    }

    scenario::Measured& measured() { return measured_; }

    // One more repetition of a scenario; the last one makes a result of them.
    void add(verdict::ScenarioResult scenario) {
        const std::lock_guard lock(mutex_);
        repetitions_.push_back(std::move(scenario));
        if (repetitions_.size() == options_.asked.repeat) {
            result_.scenarios.push_back(combined(std::move(repetitions_)));
            repetitions_.clear();
        }
        measured_.end();
    }

    // One that the lab has no role for.
    void add_not_run(verdict::ScenarioResult scenario) {
        const std::lock_guard lock(mutex_);
        describe(scenario);
        result_.scenarios.push_back(std::move(scenario));
    }

    // Judged; with an interruption's sentence it is INCOMPLETE whatever was measured.
    verdict::RunResult finish(const std::string& interruption) {
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
        result.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        scenario::tell_side_effects(result.scenarios);
        tell_prices(result);
        std::tie(result.verdict, result.reasons) = verdict::judge_run(result.scenarios);
        tell_left_out(result.reasons);
        if (!interruption.empty()) {
            result.verdict = verdict::RunVerdict::kIncomplete;
            result.reasons.insert(result.reasons.begin(),
                                  interruption + ": what was measured before is below.");
        }
        result.environment =
            fingerprint::read_environment({.pathproof_version = PATHPROOF_VERSION,
                                           .dpdk_version = measured_.dpdk_version(),
                                           .root = ""});
        if (!options_.place->other_host().empty()) {
            agent::Client& dut = *options_.place->dut();
            result.environment.push_back(dut_facts(dut.hello()));
            // One that is gone is told of elsewhere.
            if (const auto of_host = scenario::host_facts(dut)) {
                std::ranges::copy(*of_host, std::back_inserter(result.environment));
            }
        }
        std::ranges::move(measured_.devices(), std::back_inserter(result.environment));
        if (options_.asked.serials) {
            std::ranges::move(serial_facts(*options_.place),
                              std::back_inserter(result.environment));
        }
        return result;
    }

    void take_prices(verdict::PriceTable table) {
        const std::lock_guard lock(mutex_);
        result_.prices = std::make_shared<verdict::PriceTable>(std::move(table));
    }
    const std::string& started_at() const { return result_.started_at; }

    // What was asked for of it.
    void describe(verdict::ScenarioResult& scenario) const {
        const scenario::Options asked{
            .cells = scenario::patterns_for(scenario.id, options_.asked.cells)};
        scenario.part = fmt::format("{}", fmt::join(asked.cells, ","));
        const scenario::Scenario* known = scenario::find_scenario(scenario.id);
        if (known != nullptr && known->cells != nullptr && scenario.planned.empty()) {
            scenario.planned = known->cells();
            std::erase_if(scenario.planned,
                          [&](const std::string& id) { return !asked_for(asked, id); });
        }
    }

    // Where a repetition keeps its evidence; empty: nowhere.
    std::string folder(std::size_t repetition) const {
        return options_.out_dir.empty() ? ""
               : options_.asked.repeat == 1
                   ? report::unfinished_folder(options_.out_dir)
                   : fmt::format("{}/repetition-{}", report::unfinished_folder(options_.out_dir),
                                 repetition);
    }

  private:
    // Of cures that are named here: by the table of this run, or by one that is kept.
    void tell_prices(verdict::RunResult& result) const {
        const auto here = [&](const auto& scenario) {
            return !scenario.cure.empty() && !prices::cures_shown_by(scenario.id).empty();
        };
        if (result.prices || std::ranges::none_of(result.scenarios, here)) {
            prices::tell_prices(result.scenarios, result.prices.get(), prices::Source::kThisRun);
            return;
        }
        const auto kept =
            prices::find_kept(prices::kept_file(), prices::key_here(PATHPROOF_VERSION));
        if (!kept) {
            tell(kept.error().message);
        }
        prices::tell_prices(result.scenarios, kept && *kept ? &**kept : nullptr,
                            prices::Source::kKept);
    }

    // What `qualify` leaves out of itself.
    void tell_left_out(std::vector<std::string>& reasons) const {
        std::vector<std::string> left_out;
        for (const scenario::Scenario& each : scenario::all_scenarios()) {
            if (options_.asked.scenarios.empty() && each.when == scenario::Scenario::When::kAsked) {
                left_out.emplace_back(each.id);
            }
        }
        if (options_.asked.command == "qualify" && !left_out.empty()) {
            reasons.push_back(fmt::format("left out, as they take longer (run by --only NAME): {}",
                                          fmt::join(left_out, ", ")));
        }
    }

    // With the evidence of the repetitions that it speaks of, in its place.
    verdict::ScenarioResult combined(std::vector<verdict::ScenarioResult> all) const {
        verdict::ScenarioResult result = verdict::combine(std::move(all), options_.seed);
        if (options_.asked.repeat == 1 || options_.out_dir.empty()) {
            return result;
        }
        const auto take = [&](const std::vector<verdict::EvidenceFile>& files, std::size_t from) {
            for (const verdict::EvidenceFile& file : files) {
                std::error_code lost;  // is found missing, and said, when the report is written
                std::filesystem::rename(
                    folder(from) + "/" + file.path,
                    report::unfinished_folder(options_.out_dir) + "/" + file.path, lost);
            }
        };
        take(result.evidence, result.kept);
        for (const verdict::Cell& cell : all_cells(result)) {
            take(cell.evidence, cell.runs ? cell.runs->kept : 1);
        }
        return result;
    }

    const SessionOptions& options_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    verdict::RunResult result_;
    std::vector<verdict::ScenarioResult> repetitions_;  // of the scenario in progress
    scenario::Measured measured_;
};

// What lab_with() put together. Values may have commas: what follows one and is no option goes on.
struct NamedLab {
    std::string name;
    lab::GuestOptions guest = {};
    lab::CniOptions cni = {};
};
NamedLab split_lab(const std::string& text) {
    NamedLab named{.name = text};
    const std::map<std::string, std::string*> options{
        {"nic", &named.guest.nic},         {"kernel", &named.guest.kernel},
        {"modules", &named.guest.modules}, {"module", &named.guest.module},
        {"conflist", &named.cni.conflist}, {"plugins", &named.cni.plugins}};
    std::size_t begin = std::string::npos;
    for (const auto& [key, value] : options) {
        begin = std::min(begin, text.find(fmt::format(":{}=", key)));
    }
    if (begin == std::string::npos) {
        return named;
    }
    std::string* last = nullptr;
    std::istringstream parts(text.substr(begin + 1));
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t equals = part.find('=');
        const auto option = options.find(part.substr(0, equals));
        if (equals != std::string::npos && option != options.end()) {
            last = option->second;
            *last = part.substr(equals + 1);
        } else {
            *last += "," + part;
        }
    }
    named.name = text.substr(0, begin);
    return named;
}

// On the NAT path all hosts are of the kernel.
bool any_uses_ports(const std::vector<const scenario::Scenario*>& scenarios) {
    return std::ranges::any_of(scenarios, [](const scenario::Scenario* scenario) {
        return scenario->needs != lab::Role::kNatPath;
    });
}

bool take_hugepages(lab::Journal& journal) {
    const auto reserved = journal.reserve_hugepages(kHugepageMib);
    if (reserved && *reserved >= kHugepageMib) {
        return true;
    }
    if (journal.is_open()) {  // else the guard has the word
        tell(reserved ? fmt::format("only {} of {} MiB of hugepages to be had; running without",
                                    *reserved, kHugepageMib)
                      : "running without hugepages: " + reserved.error().message);
    }
    return false;
}

// Ctrl-C: the guard has put the machine back; what was measured is kept, marked INCOMPLETE.
void keep_partial_report(Run& run, const std::string& out_dir, int signal,
                         const std::string& machine) {
    const std::string sentence = fmt::format("Interrupted ({})", strsignal(signal));
    tell(fmt::format("interrupted by {}; {}", strsignal(signal), machine));
    if (out_dir.empty()) {
        return;
    }
    const auto written = report::write_report(run.finish(sentence), out_dir, 3);
    tell(written ? fmt::format("the report in {} holds what was measured and says INCOMPLETE",
                               written->folder)
                 : written.error().message);
}

}  // namespace

void add_lab_option(CLI::App& command, std::string& lab) {
    command.add_option("--lab", lab, fmt::format("the lab: {}", fmt::join(lab::labs(), ", or ")))
        ->capture_default_str();
}

std::string lab_with(const std::string& lab, const std::string& key, const std::string& value) {
    const bool first = split_lab(lab).name == lab;
    return fmt::format("{}{}{}={}", lab, first ? ":" : ",", key, value);
}

Status take_lab(const std::string& name, SessionOptions& session) {
    const NamedLab lab = split_lab(name);
    session.place = TRY(lab::open_lab(lab.name, lab.guest, lab.cni));
    session.evidence_note = session.place->evidence_note();
    session.lab = session.place->name();
    const std::shared_ptr<agent::Client> dut = session.place->dut();
    if (dut && !dut->hello().copied.empty()) {
        tell(fmt::format("{}: {}; it was copied there for this run", session.place->other_host(),
                         dut->hello().copied));
    }
    for (const lab::CabledDevice& cabled : session.place->devices()) {
        auto choice = TRY(choose_cabled_device(cabled, dut.get()));
        const bool first = !session.device;
        session.evidence =
            first ? choice.evidence : truth::class_of_ports(session.evidence, choice.evidence);
        if (first) {
            session.device = std::move(choice.device);
        }
        if (first || session.evidence == choice.evidence) {
            session.evidence_note = choice.evidence_note;
        }
    }
    return {};
}

Status check_roles(const SessionOptions& session) {
    for (const scenario::Scenario* scenario : session.scenarios) {
        if (const std::string why = session.place->lacks(scenario->needs); !why.empty()) {
            return fail(ErrorCode::kBadInput, "lab {} cannot run {}: {}", session.asked.lab,
                        scenario->id, why);
        }
    }
    return {};
}

namespace {

// Measures the table, and keeps one that is whole.
void price_cures(const SessionOptions& options, Run& run, lab::Journal& journal,
                 StderrProgress& progress, const scenario::Options& settings) {
    const std::vector<std::string> patterns = prices::price_patterns(options.asked.cells);
    scenario::Context context{*options.place, journal,         progress,
                              settings,       options.profile, run.measured()};
    auto table = prices::measure_prices(context, prices::key_here(PATHPROOF_VERSION),
                                        run.started_at(), patterns);
    if (!journal.is_open()) {
        return;  // the guard tells of what was measured
    }
    const Status kept = patterns.empty() ? prices::keep(prices::kept_file(), table) : Status();
    if (!kept) {
        tell("the prices are not kept for other runs: " + kept.error().message);
    }
    run.take_prices(std::move(table));
}

}  // namespace

Result<verdict::RunResult> run_session(const SessionOptions& options) {
    TRY(lab::needs_root("'" + options.command + "'"));
    SessionOptions seeded = options;
    if (seeded.seed == 0) {
        seeded.seed = std::random_device{}() % 1'000'000 + 1;
    }
    const lab::SignalHold hold;
    auto journal = TRY(lab::Journal::open(options.command));
    TRY(seeded.place->prepare(*journal));
    // Only once this run is certain: a refused one leaves no folder behind.
    if (!seeded.out_dir.empty()) {
        TRY(report::prepare_output(seeded.out_dir));
    }
    Run run(seeded);
    StderrProgress progress(run.measured());
    const lab::SignalGuard guard(
        journal.get(),
        [&](int signal, const std::string& machine) {
            const std::string other = seeded.place->other_host();
            keep_partial_report(
                run, seeded.out_dir, signal,
                other.empty() ? machine
                              : fmt::format("{}; {} puts itself back, as it hears no more of us",
                                            machine, other));
        },
        [&] { progress.silence(); });
    for (const std::string& sentence : journal->recovered()) {
        tell(sentence);
    }
    scenario::Options settings{.seed = seeded.seed,
                               .cells = seeded.asked.cells,
                               .given = seeded.given,
                               .hugepages = seeded.use_hugepages &&
                                            any_uses_ports(seeded.scenarios) &&
                                            take_hugepages(*journal),
                               .cpus = seeded.place->lcores(),
                               .out_dir = run.folder(1),
                               .device = seeded.device,
                               .calibrate = seeded.calibrate};
    const std::uint32_t repeat = seeded.asked.repeat;
    std::map<std::string, verdict::ScenarioVerdict> earlier;
    for (const scenario::Scenario* scenario : seeded.scenarios) {
        if (const std::string why = seeded.place->lacks(scenario->needs); !why.empty()) {
            run.add_not_run(scenario::not_run(*scenario, why));
            continue;
        }
        settings.cells = scenario::patterns_for(scenario->id, seeded.asked.cells);
        for (std::uint32_t number = 1; number <= repeat && journal->is_open(); ++number) {
            settings.seed = verdict::seed_of_repetition(seeded.seed, number);
            settings.out_dir = run.folder(number);
            settings.calibrate = number == 1 ? seeded.calibrate : scenario::Calibrate::kNo;
            if (repeat > 1) {
                tell(fmt::format("{}: repetition {} of {}, seed {}", scenario->id, number, repeat,
                                 settings.seed));
            }
            if (repeat > 1 && !settings.out_dir.empty()) {
                std::error_code full;  // said when the evidence is missed
                std::filesystem::create_directories(settings.out_dir + "/evidence", full);
            }
            scenario::Context context{*seeded.place,  *journal,       progress, settings,
                                      seeded.profile, run.measured(), earlier};
            run.measured().begin(
                {.id = scenario->id, .title = scenario->title, .question = scenario->question});
            auto result = scenario::run_scenario(*scenario, context);
            if (!journal->is_open()) {
                break;  // the guard tells of what was measured
            }
            verdict::ScenarioResult made =
                result ? std::move(*result) : *run.measured().cut_short(result.error().message);
            run.describe(made);
            earlier.emplace(scenario->id, made.verdict);
            run.add(std::move(made));
        }
    }
    if (seeded.asked.prices && journal->is_open()) {
        price_cures(seeded, run, *journal, progress, settings);
    }
    const auto put_back = seeded.place->put_back();
    for (const std::string& sentence : put_back.value_or(std::vector<std::string>())) {
        tell(sentence);
    }
    const Status undone = journal->undo();
    for (const std::string& sentence : journal->left_alone()) {
        tell(sentence);
    }
    verdict::RunResult result = run.finish("");
    const auto not_complete = [&](const std::string& why) {
        tell(why);
        result.verdict = verdict::RunVerdict::kIncomplete;
        result.reasons.insert(result.reasons.begin(), why);
    };
    if (!put_back) {
        not_complete(put_back.error().message);
    }
    if (!undone) {
        not_complete("The machine could not be put back: " + undone.error().message);
    }
    return result;
}

int conclude(const verdict::RunResult& result, const std::string& out_dir, int exit_code,
             const std::function<void(const std::string& report)>& print) {
    const auto written = out_dir.empty() ? Result<report::Written>(report::Written{})
                                         : report::write_report(result, out_dir, exit_code);
    print(written && !out_dir.empty()
              ? std::filesystem::absolute(written->folder + "/report.html").string()
              : "");
    if (!written) {
        tell(written.error().message);
        return 3;
    }
    if (written->folder != out_dir) {
        tell(fmt::format(
            "this run is not complete: the earlier report in {} stays, this one is in {}", out_dir,
            written->folder));
    }
    if (!written->lost.empty()) {
        tell(
            fmt::format("evidence that was to be kept is not there, and not in the report: {}; is "
                        "there room in {}?",
                        fmt::join(written->lost, ", "), out_dir));
    }
    return written->lost.empty() ? exit_code : 3;
}

}  // namespace pathproof::cli
