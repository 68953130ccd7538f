// pathproof lab calibrate: the tester's own ports, cabled to each other.

#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "dataplane/base/clock.h"
#include "dataplane/base/version.h"
#include "dataplane/port/cpus.h"
#include "harness/cli/lab_check.h"
#include "harness/lab/lcores.h"
#include "harness/lab/privilege.h"
#include "harness/ports/open.h"
#include "harness/preflight/tester_calibration.h"

namespace pathproof::cli {
namespace {

struct LabCalibrateOptions {
    std::string path;
    std::vector<std::string> ports;
    std::uint32_t trial_ms = 1000;
};

Result<std::size_t> place_of(const lab::LabFile& file, const std::string& port) {
    const auto found = std::ranges::find(file.ports, port, &lab::TesterPort::name);
    if (found == file.ports.end()) {
        std::vector<std::string> names;
        std::ranges::transform(file.ports, std::back_inserter(names), &lab::TesterPort::name);
        return fail(ErrorCode::kBadInput,
                    "--ports: the lab file has no tester port '{}'; it has {}", port,
                    fmt::join(names, ", "));
    }
    return static_cast<std::size_t>(found - file.ports.begin());
}

Result<ports::OpenTester> open_for_calibration(const lab::LabFile& file) {
    const lab::SignalHold hold;
    tester::TesterOptions wanted{.netns = file.tester_netns,
                                 .ports = {},
                                 .worker_cpus = lab::lcores_of_run(file, port::usable_cpus())};
    for (const lab::TesterPort& port : file.ports) {
        auto chosen =
            TRY(ports::choose_port(port.device, file.tester_netns, port.queues, &port.addresses));
        wanted.ports.push_back(std::move(chosen));
        wanted.hugepages |= port.kind == lab::TesterPort::Kind::kPci;
    }
    return ports::open_tester(wanted, wanted.ports);
}

Result<int> run_calibrate(const LabCalibrateOptions& options) {
    lab::LabFile file = TRY(lab::load_lab_file(options.path));
    if (file.ports.size() < 2) {
        return fail(ErrorCode::kBadInput,
                    "{}: a calibration takes two tester ports that are cabled to each other, and "
                    "it has one",
                    options.path);
    }
    const std::size_t first = options.ports.empty() ? 0 : TRY(place_of(file, options.ports[0]));
    const std::size_t second = options.ports.empty() ? 1 : TRY(place_of(file, options.ports[1]));
    if (first == second) {
        return fail(ErrorCode::kBadInput, "--ports: it takes two different ports");
    }
    TRY(lab::needs_root("'pathproof lab calibrate'"));
    TRY(doing(lab::place_lcores(file), "{}", options.path));
    auto open = TRY(open_for_calibration(file));
    utsname kernel{};
    uname(&kernel);
    preflight::TesterCalibration made{
        .lab = file.name, .date = utc_now(), .version = version(), .kernel = kernel.release};
    for (const std::size_t n : {first, second}) {
        const port::PortInfo& info = open.client->ports().at(n);
        made.ports.push_back(
            {file.ports[n].name, file.ports[n].device, info.driver, to_string(info.mac)});
    }
    made.ways = TRY(preflight::calibrate(*open.client, file, first, second,
                                         std::chrono::milliseconds(options.trial_ms)));
    TRY(preflight::keep_calibration(preflight::calibrations_file(), made));
    fmt::print("{}kept in {}: each report of a run on this lab has it\n", preflight::text_of(made),
               preflight::calibrations_file());
    return 0;
}

}  // namespace

void add_lab_calibrate(CLI::App& lab, Command& chosen) {
    CLI::App* command = lab.add_subcommand("calibrate",
                                           "Measure the tester alone, two of its ports cabled to "
                                           "each other: highest rate, loss, latency and "
                                           "clock; kept, and printed in each report of the lab");
    const auto options = options_for<LabCalibrateOptions>(*command, chosen, run_calibrate);
    command->add_option("file", options->path, "TOML file")->required();
    command
        ->add_option("--ports", options->ports,
                     "the two tester ports that are cabled to each other (the first two)")
        ->delimiter(',')
        ->expected(2)
        ->type_name("A,B");
    command->add_option("--trial-ms", options->trial_ms, "milliseconds of a trial (1000)")
        ->check(CLI::Range(50, 60'000));
}

}  // namespace pathproof::cli
