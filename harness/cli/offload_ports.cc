#include "harness/cli/offload_ports.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "dataplane/base/clock.h"
#include "dataplane/base/version.h"
#include "dataplane/port/cpus.h"
#include "dataplane/port/device_name.h"
#include "dataplane/port/port_request.h"
#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/faults.h"
#include "harness/cli/truth_text.h"
#include "harness/fingerprint/host.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/signals.h"
#include "harness/ports/open.h"
#include "harness/process/log.h"
#include "harness/report/report.h"
#include "harness/run/expected.h"
#include "harness/run/ocp_file.h"
#include "harness/run/publish.h"
#include "harness/truth/check.h"
#include "harness/truth/device_class.h"

namespace pathproof::cli {
namespace {

constexpr std::uint32_t kSoftwareNicMtu = 9216;
constexpr std::uint32_t kEthernetMtu = 1500;

Status check_options(const OffloadCheckOptions& options) {
    const bool ports = !options.dpdk.empty() || !options.far.empty();
    if (options.software_nic && ports) {
        return fail(ErrorCode::kBadInput,
                    "--software-nic takes the place of ports; leave --dpdk and --far out");
    }
    if (!options.software_nic && (options.dpdk.empty() || options.far.empty())) {
        return fail(ErrorCode::kBadInput,
                    "a DPDK port is judged by what comes in at the other end of its cable: name "
                    "the port under test with --dpdk and the other end with --far");
    }
    if (!options.software_nic && !options.faults.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--fault plants a defect in the software NIC: it needs --software-nic");
    }
    for (const std::string& text : options.faults) {
        TRY(doing(softnic::parse_fault(text), "--fault {}", text));
    }
    return {};
}

// The interface that a net_tap port makes when it is opened, and that no one can look at before.
std::string tap_interface(const std::string& device) {
    return device.starts_with("net_tap") ? port::interface_argument(device) : "";
}

Result<port::PortRequest> far_port(const OffloadCheckOptions& options) {
    if (options.far == tap_interface(options.dpdk) && !options.far.empty()) {
        return port::PortRequest{.name = options.far,
                                 .device = port::af_packet_device(options.far)};
    }
    return ports::choose_port(options.far, options.netns);
}

std::vector<int> two_cpus() {
    std::vector<int> cpus = port::usable_cpus(2);
    cpus.resize(2, cpus.empty() ? 0 : cpus.front());
    return cpus;
}

Result<ports::OpenTester> start_tester(const OffloadCheckOptions& options) {
    tester::TesterOptions wanted{.netns = options.netns, .worker_cpus = two_cpus()};
    if (options.software_nic) {
        wanted.software_nic = tester::SoftwareNic{options.faults, options.seed};
        return ports::open_tester(wanted, {});
    }
    auto device = TRY(ports::choose_port(options.dpdk, options.netns));
    auto far = TRY(far_port(options));
    device.offloads = port::PortOffloads::kAll;
    wanted.ports = {std::move(device), std::move(far)};
    std::vector<port::PortRequest> there = wanted.ports;
    // The interface of net_tap comes and goes with its port.
    std::erase_if(there, [&](const port::PortRequest& port) {
        return port.name == tap_interface(options.dpdk);
    });
    return ports::open_tester(wanted, there);
}

// The one named, before any port is opened.
Result<std::optional<profile::Profile>> named_profile(const OffloadCheckOptions& options) {
    if (options.profile.empty()) {
        return std::optional<profile::Profile>();
    }
    auto named = TRY(profile::find_profile(profile::profile_directory(), options.profile));
    return named;
}

// The one that fits the port, if any does.
Result<std::optional<profile::Profile>> fitting_profile(const port::PortInfo& device) {
    const auto all = TRY(profile::load_all(profile::profile_directory()));
    auto fitting = profile::matching_profile(all, {.pmd = device.driver});
    return fitting ? std::optional(std::move(*fitting)) : std::nullopt;
}

std::string command_of(const OffloadCheckOptions& options) {
    std::string command = "pathproof offload check";
    command += options.software_nic ? " --software-nic"
                                    : fmt::format(" --dpdk {} --far {}", options.dpdk, options.far);
    for (const std::string& fault : options.faults) {
        command += fmt::format(" --fault '{}'", fault);
    }
    command += options.netns.empty() ? "" : " --netns " + options.netns;
    command += options.profile.empty() ? "" : " --profile " + options.profile;
    command += options.mtu == 0 ? "" : fmt::format(" --mtu {}", options.mtu);
    command += options.quick ? " --quick" : "";
    return command + fmt::format(" --frames {} --seed {}", options.frames, options.seed);
}

std::string in_words(const port::PortInfo& device) {
    return device.driver == softnic::kSoftwareNicName
               ? std::string(softnic::kSoftwareNicName) + " (stands in for hardware)"
               : fmt::format("{} ({})", device.name, device.driver);
}

verdict::RunResult describe_run(const OffloadCheckOptions& options, tester::Client& tester) {
    verdict::RunResult run;
    const auto& ports = tester.ports();
    const port::Evidence evidence = truth::class_of_ports(ports[0].evidence, ports[1].evidence);
    run.evidence_class = port::evidence_name(evidence);
    run.evidence_note =
        truth::evidence_note(evidence, fmt::format("{} ({})", ports[0].name, ports[0].driver));
    run.command = run.repeat_command = command_of(options);
    run.options.command = "offload check";
    run.seed = options.seed;
    run.lab = options.software_nic ? softnic::kSoftwareNicName : "two DPDK ports";
    run.version = version();
    run.started_at = utc_now();
    run.environment = fingerprint::read_environment(
        {.pathproof_version = version(), .dpdk_version = tester.dpdk_version(), .root = ""});
    return run;
}

void print_run(const verdict::RunResult& run) {
    const verdict::ScenarioResult& scenario = run.scenarios.front();
    if (!scenario.truth_tables.empty()) {  // none of a run that judged nothing
        fmt::print("{}\n", truth_text(scenario.truth_tables.front()));
    }
    for (const verdict::Proof& proof : scenario.proofs) {
        fmt::print("{}\n", proof_text(proof));
    }
    run::print_summary(run);
}

// One line that is rewritten on a terminal; elsewhere nothing until the end.
truth::RowProgress tell_progress(bool terminal) {
    return [terminal](std::size_t done, std::size_t all) {
        if (terminal) {
            fmt::print(stderr, "\roffload check: {} of {} rows{}", done, all,
                       done == all ? "\r\x1b[K" : "");
        }
    };
}

Result<verdict::RunResult> run_on_ports(const OffloadCheckOptions& options) {
    const lab::SignalHold hold;
    auto errata = TRY(profile::load_errata(profile::profile_directory()));
    auto expected = TRY(named_profile(options));
    auto tester = TRY(start_tester(options));
    const port::PortInfo& device = tester.client->ports().front();
    if (!expected) {
        expected = TRY(fitting_profile(device));
    }
    // Everything that could be refused has been checked; only now is anything written.
    if (!options.out.empty()) {
        TRY(report::prepare_output(options.out));
    }
    verdict::RunResult run = describe_run(options, *tester.client);
    run.profile = expected ? expected->id : "";
    truth::CheckSettings settings{
        .rows = {.strength = options.quick ? matrix::Strength::kPairs : matrix::Strength::kTriples,
                 .seed = options.seed,
                 .probes = options.frames,
                 .mtu = options.mtu != 0       ? options.mtu
                        : options.software_nic ? kSoftwareNicMtu
                                               : kEthernetMtu},
        .truth = {.device = in_words(device), .profile = std::move(expected)},
        .errata = std::move(errata),
        .planted = options.faults,
        .out_dir = options.out.empty() ? "" : report::unfinished_folder(options.out)};
    settings.progress = tell_progress(isatty(STDERR_FILENO) == 1);
    auto result = truth::check_ports(*tester.client, settings);
    if (!result) {
        if (!options.out.empty()) {
            report::discard_output(options.out);
        }
        return pass_on(result.error());
    }
    run.seconds = result->seconds;
    run.scenarios.push_back(std::move(*result));
    std::tie(run.verdict, run.reasons) = verdict::judge_run(run.scenarios);
    const verdict::ScenarioResult& scenario = run.scenarios.front();
    if (run.verdict == verdict::RunVerdict::kNotQualified) {
        run.reasons = scenario.explanation;
        constexpr std::size_t kMostReasons = 6;
        if (run.reasons.size() > kMostReasons) {
            const std::size_t more = run.reasons.size() - kMostReasons;
            run.reasons.resize(kMostReasons);
            run.reasons.push_back(fmt::format("and {} more, listed with the findings", more));
        }
    } else if (run.verdict == verdict::RunVerdict::kQualified) {
        run.reasons = {scenario.headline};
    }
    return run;
}

}  // namespace

void declare_port_check(CLI::App& check, OffloadCheckOptions& options) {
    check.add_option("--dpdk", options.dpdk,
                     "DPDK port under test: a PCI address, a virtual device with its arguments "
                     "(net_tap,iface=t0), or a network interface");
    check.add_option("--far", options.far, "the DPDK port at the other end of its cable");
    check.add_flag("--software-nic", options.software_nic,
                   "test a software NIC that stands in for hardware");
    check
        .add_option("--fault", options.faults,
                    "plant this defect in the software NIC: dir.layer.field.MECH@predicate!rate")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    check
        .add_option("--mtu", options.mtu,
                    "longest IP packet that the ports carry (1500; the software NIC 9216)")
        ->check(CLI::Range(1280, 9728))
        ->excludes(check.get_option("DEV"));
}

bool is_port_check(const OffloadCheckOptions& options) {
    return options.software_nic || !options.dpdk.empty() || !options.far.empty() ||
           !options.faults.empty();
}

Result<int> run_port_check(const OffloadCheckOptions& options) {
    TRY(check_options(options));
    TRY(options.views.check());
    TRY(options.history.check());
    const auto expected = TRY(run::Expected::read(options.baseline));
    const auto ocp =
        options.views.ocp.empty() ? nullptr : TRY(run::OcpFile::open(options.views.ocp));
    auto run = TRY(run_on_ports(options));
    int exit_code = options.views.write(run, expected.judge(run, verdict::exit_code(run.verdict)));
    if (ocp) {  // all of it at once: nothing of such a run is known before its end
        ocp->begin(run);
        if (const Status written = ocp->end(run, exit_code); !written) {
            process::log(written.error().message);
            exit_code = 3;
        }
    }
    return run::publish(run, options.out, exit_code, options.history, [&](const std::string&) {
        if (!options.views.print(run, exit_code)) {
            print_run(run);
        }
    });
}

}  // namespace pathproof::cli
