#include "harness/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/base/version.h"
#include "harness/lab/journal.h"
#include "harness/lab/privilege.h"
#include "harness/lab/signals.h"
#include "harness/ports/open.h"
#include "harness/preflight/look.h"
#include "harness/preflight/tester_calibration.h"
#include "harness/prices/kept.h"
#include "harness/prices/run.h"
#include "harness/process/log.h"
#include "harness/report/report.h"
#include "harness/run/progress.h"
#include "harness/run/record.h"
#include "harness/run/timings.h"
#include "harness/verdict/repeat.h"

namespace pathproof::run {
namespace {

constexpr std::uint32_t kHugepageMib = 512;

// Returns whether a scenario needs ports: on the built-in NAT path all hosts belong to the kernel.
bool any_uses_ports(const SessionOptions& options) {
    return !options.place->devices().empty() ||
           std::ranges::any_of(options.scenarios, [](const scenario::Scenario* scenario) {
               return scenario->needs != lab::Role::kNatPath;
           });
}

bool take_hugepages(lab::Journal& journal) {
    const auto reserved = journal.reserve_hugepages(kHugepageMib);
    if (reserved && *reserved >= kHugepageMib) {
        return true;
    }
    if (journal.is_open()) {  // else the guard reports
        process::log(reserved
                         ? fmt::format("only {} of {} MiB of hugepages to be had; running without",
                                       *reserved, kHugepageMib)
                         : "running without hugepages: " + reserved.error().message);
    }
    return false;
}

// The chosen device where the lab has it by now.
std::optional<scenario::TruthDevice> at_its_place(const SessionOptions& options) {
    std::optional<scenario::TruthDevice> device = options.device;
    for (const lab::CabledDevice& cabled : options.place->devices()) {
        if (device && cabled.name == device->name) {
            device->netns = cabled.netns;
        }
    }
    return device;
}

SessionOptions with_seed(SessionOptions options) {
    if (options.seed == 0) {
        options.seed = std::random_device{}() % 1'000'000 + 1;
    }
    return options;
}

// Ctrl-C: the guard has put the machine back; what was measured is kept, marked INCOMPLETE.
void keep_partial_report(Record& record, const SessionOptions& options, int signal,
                         const std::string& machine) {
    const std::string sentence = fmt::format("Interrupted ({})", strsignal(signal));
    process::log(fmt::format("interrupted by {}; {}", strsignal(signal), machine));
    const verdict::RunResult result = record.finish(sentence);
    keep_for_history(result, 3, options.history);
    if (options.out_dir.empty()) {
        return;
    }
    const auto written = report::write_report(result, options.out_dir, 3);
    process::log(written
                     ? fmt::format("the report in {} holds what was measured and says INCOMPLETE",
                                   written->folder)
                     : written.error().message);
}

// The machine as the guard found it, and another host, which no longer hears from this process.
std::string machines(const lab::Lab& place, const std::string& machine) {
    const std::string other = place.other_host();
    return other.empty()
               ? machine
               : fmt::format("{}; {} puts itself back, as it hears no more of us", machine, other);
}

// A run whose lab is prepared and whose journal is open. The steps are made in the order in which
// they stand here.
class Session {
  public:
    Session(const SessionOptions& options, lab::Journal& journal, Record& record,
            StderrProgress& progress)
        : options_(options),
          journal_(journal),
          record_(record),
          progress_(progress),
          settings_{.seed = options.seed,
                    .cells = options.asked.cells,
                    .given = &options.asked.of_scenarios,
                    .least_matrix = options.least_matrix,
                    .hugepages =
                        options.use_hugepages && any_uses_ports(options) && take_hugepages(journal),
                    .cpus = options.place->lcores(),
                    .out_dir = record.folder(1),
                    .report_folder = options.out_dir,
                    .device = at_its_place(options),
                    .calibrate = options.calibrate} {}

    // Looks at a lab file's machines as `lab check` does, for the report. A run does not depend on it.
    void look_before() {
        const lab::LabFile* const file = options_.place->file();
        const auto dut = options_.place->dut();
        if (file == nullptr || dut == nullptr || options_.asked.command != "qualify") {
            return;
        }
        const auto with_tester = [&](const std::function<Status(tester::Client&)>& look) -> Status {
            tester::TesterOptions wanted{.netns = file->tester_netns,
                                         .ports = {},
                                         .worker_cpus = {settings_.cpus.back()},
                                         .hugepages = settings_.hugepages};
            for (const lab::TesterPort& port : file->ports) {
                auto chosen = TRY(ports::choose_port(port.device, file->tester_netns, port.queues,
                                                     &port.addresses));
                wanted.ports.push_back(std::move(chosen));
            }
            const auto tester = TRY(ports::open_tester(wanted, wanted.ports, journal_));
            return look(*tester);
        };
        lab::Sightings seen;
        const auto checks = preflight::look_at(
            *file, dut.get(), lab::check_tester_machine(*file, preflight::lcores_in(*file), {}),
            with_tester, seen);
        record_.add_preflight(preflight::describe(*file, dut.get(), checks, seen));
    }

    void run_scenarios() {
        for (const scenario::Scenario* scenario : options_.scenarios) {
            if (const std::string why = options_.place->lacks(scenario->needs); !why.empty()) {
                record_.add_not_run(scenario::not_run(*scenario, why));
            } else {
                run_repetitions(*scenario);
            }
        }
    }

    // Measures the table of cures and probes, and keeps a whole one for later runs.
    void price_cures() {
        if (!options_.asked.prices || !journal_.is_open()) {
            return;
        }
        const std::vector<std::string> patterns = prices::price_patterns(options_.asked.cells);
        scenario::Context context{*options_.place, journal_,         progress_,
                                  settings_,       options_.profile, record_.measured()};
        auto table = prices::measure_prices(context, prices::key_here(version()),
                                            record_.started_at(), patterns);
        if (!journal_.is_open()) {
            return;  // the guard reports what was measured
        }
        const Status kept = patterns.empty() ? prices::keep(prices::kept_file(), table) : Status();
        if (!kept) {
            process::log("the prices are not kept for other runs: " + kept.error().message);
        }
        record_.add_prices(std::move(table));
    }

    // Puts hosts and machine back, and gives the judged run: INCOMPLETE where something is not as
    // it was found.
    verdict::RunResult put_back() {
        const auto hosts = options_.place->put_back();
        for (const std::string& sentence : hosts.value_or(std::vector<std::string>())) {
            process::log(sentence);
        }
        const Status undone = journal_.undo();
        for (const std::string& sentence : journal_.left_alone()) {
            process::log(sentence);
        }
        verdict::RunResult result = record_.finish("");
        const auto not_complete = [&](const std::string& why) {
            process::log(why);
            result.verdict = verdict::RunVerdict::kIncomplete;
            result.reasons.insert(result.reasons.begin(), why);
        };
        if (!hosts) {
            not_complete(hosts.error().message);
        }
        if (!undone) {
            not_complete("The machine could not be put back: " + undone.error().message);
        }
        return result;
    }

  private:
    void run_repetitions(const scenario::Scenario& scenario) {
        const std::uint32_t repeat = options_.asked.repeat;
        if (options_.observer && journal_.is_open()) {
            options_.observer->begin_scenario(scenario.id);
        }
        settings_.cells = scenario::patterns_for(scenario.id, options_.asked.cells);
        for (std::uint32_t number = 1; number <= repeat && journal_.is_open(); ++number) {
            begin_repetition(scenario, number);
            run_once(scenario);
        }
    }

    void begin_repetition(const scenario::Scenario& scenario, std::uint32_t number) {
        const std::uint32_t repeat = options_.asked.repeat;
        settings_.seed = verdict::seed_of_repetition(options_.seed, number);
        settings_.out_dir = record_.folder(number);
        settings_.calibrate = number == 1 ? options_.calibrate : scenario::Calibrate::kNo;
        if (repeat == 1) {
            return;
        }
        process::log(fmt::format("{}: repetition {} of {}, seed {}", scenario.id, number, repeat,
                                 settings_.seed));
        if (!settings_.out_dir.empty()) {
            std::error_code full;  // said when the evidence is missed
            std::filesystem::create_directories(settings_.out_dir + "/evidence", full);
        }
    }

    void run_once(const scenario::Scenario& scenario) {
        scenario::Context context{*options_.place,  journal_,           progress_, settings_,
                                  options_.profile, record_.measured(), earlier_};
        record_.measured().begin({.id = scenario.id,
                                  .title = scenario.title,
                                  .question = scenario.question,
                                  .area = scenario.area});
        auto result = scenario::run_scenario(scenario, context);
        if (!journal_.is_open()) {
            return;  // the guard reports what was measured
        }
        verdict::ScenarioResult made =
            result ? std::move(*result) : *record_.measured().cut_short(result.error().message);
        for (verdict::Cell& cell : verdict::all_cells(made)) {
            cell.seconds = record_.measured().seconds_of(cell.id);
        }
        record_.describe(made);
        earlier_.emplace(scenario.id, made.verdict);
        record_.add(std::move(made));
    }

    const SessionOptions& options_;
    lab::Journal& journal_;
    Record& record_;
    StderrProgress& progress_;
    scenario::Options settings_;
    std::map<std::string, verdict::ScenarioVerdict> earlier_;  // by scenario
};

// Checks that the tester's calibration is as young as the user requires. kBadInput: it is not, or
// there is none.
Status check_calibration(const SessionOptions& options) {
    if (!options.calibrated_within_s) {
        return {};
    }
    const lab::LabFile* const file = options.place->file();
    if (file == nullptr) {
        return fail(
            ErrorCode::kBadInput,
            "--calibrated-within: the lab {} has no lab file, and so no tester that is calibrated",
            options.lab);
    }
    const auto kept = TRY(preflight::find_calibration(preflight::calibrations_file(), file->name));
    if (const std::string why = preflight::why_not_of(kept, *file); !why.empty()) {
        return fail(ErrorCode::kBadInput, "--calibrated-within: {}", why);
    }
    const auto age = preflight::age_of(*kept, realtime_ns() / 1'000'000'000);
    if (!age || *age > *options.calibrated_within_s) {
        return fail(
            ErrorCode::kBadInput,
            "--calibrated-within: the tester's calibration is of {}, which is longer ago than {}; "
            "'pathproof lab calibrate' makes a new one",
            kept->date, duration_text(*options.calibrated_within_s));
    }
    return {};
}

// Opens the journal, which takes the lab, with the stop signals held from then on. While another run has
// the lab it waits as long as was asked for; a signal ends that wait.
Result<std::unique_ptr<lab::Journal>> open_journal(const SessionOptions& options,
                                                   std::optional<lab::SignalHold>& hold) {
    const auto deadline = std::chrono::steady_clock::now() + options.wait;
    for (bool told = false;; told = true) {
        hold.emplace();
        auto journal = lab::Journal::open(options.command);
        const bool is_busy = !journal && journal.error().code == ErrorCode::kBusy;
        if (!is_busy || std::chrono::steady_clock::now() >= deadline) {
            return journal;
        }
        hold.reset();
        if (!told) {
            process::log(fmt::format("{} (--wait {}: waiting)", journal.error().message,
                                     options.wait.count()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

}  // namespace

Result<verdict::RunResult> run_session(const SessionOptions& options) {
    TRY(lab::needs_root("'" + options.command + "'"));
    TRY(check_calibration(options));
    const SessionOptions seeded = with_seed(options);
    std::optional<lab::SignalHold> hold;
    auto journal = TRY(open_journal(options, hold));
    TRY(seeded.place->prepare(*journal));
    // Only once this run is certain: a refused one leaves no folder behind.
    if (!seeded.out_dir.empty()) {
        TRY(report::prepare_output(seeded.out_dir));
    }
    Record record(seeded);
    StderrProgress progress(record.measured());
    Timings timings = Timings::read();
    progress.expect(expected_times(seeded, timings));
    const lab::SignalGuard guard(
        journal.get(),
        [&](int signal, const std::string& machine) {
            if (seeded.observer) {
                seeded.observer->interrupt(fmt::format("interrupted by {}", strsignal(signal)));
            }
            keep_partial_report(record, seeded, signal, machines(*seeded.place, machine));
        },
        [&] { progress.silence(); });
    for (const std::string& sentence : journal->recovered()) {
        process::log(sentence);
    }
    Session session(seeded, *journal, record, progress);
    session.look_before();
    record.begin_watch();
    session.run_scenarios();
    session.price_cures();
    record.end_watch();
    verdict::RunResult result = session.put_back();
    timings.note(result);
    if (const Status kept = timings.keep(); !kept) {
        process::log("how long the scenarios took is not kept for other runs: " +
                     kept.error().message);
    }
    return result;
}

}  // namespace pathproof::run
