#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/commands.h"
#include "harness/cli/lab_check.h"
#include "harness/lab/journal.h"
#include "harness/lab/nat_box.h"
#include "harness/lab/overlay.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/signals.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"
#include "harness/process/stop.h"
#include "harness/setting/cures.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

enum class Joint { kNone, kBridge };

struct UpOptions {
    bool udp_checksum = true;  // of the overlay
    bool masquerade = true;
    Joint joint = Joint::kNone;
    unsigned backends = lab::kUsualBackends;  // of the NAT box
    lab::Snat snat = lab::Snat::kNone;
    unsigned udp_timeout_s = 30;
    bool json = false;
};

// Facts about a lab that its user needs, as text and as one JSON object.
struct Description {
    json facts;
    std::string text;
};

Description describe(const lab::OverlayNames& names, const std::string& run_id, Joint joint) {
    const std::string far_pod = to_string(names.pod_b_address);
    const std::string join =
        joint == Joint::kBridge
            ? fmt::format("{} and {} are joined by a bridge of the kernel.\n", names.tester_port_a,
                          names.tester_port_b)
            : fmt::format(
                  "{0} and {1} are not joined. Join them by the DPDK wire, in another "
                  "terminal:\n  sudo pathproof wire --netns {2} {0} {1}\n",
                  names.tester_port_a, names.tester_port_b, names.tester);
    Description about;
    about.facts = {{"run", run_id},
                   {"shape", "overlay"},
                   {"namespaces",
                    {{"tester", names.tester},
                     {"node_a", names.node_a},
                     {"node_b", names.node_b},
                     {"pod_a", names.pod_a},
                     {"pod_b", names.pod_b}}},
                   {"tester_ports", {names.tester_port_a, names.tester_port_b}},
                   {"addresses",
                    {{"node_a", to_string(names.node_a_address)},
                     {"node_b", to_string(names.node_b_address)},
                     {"pod_a", to_string(names.pod_a_address)},
                     {"pod_b", far_pod}}},
                   {"vni", names.vni}};
    about.text = fmt::format(
        "overlay {0}: pod A - node A - tester {1}|{2} - node B - pod B\n"
        "  {3}   eth0 {4}\n"
        "  {5}  {6} {7}, {8} (VNI {9})\n"
        "  {10}  {1}, {2}\n"
        "  {11}  {6} {12}, {8}\n"
        "  {13}   eth0 {14}\n"
        "{15}"
        "Then:\n"
        "  sudo ip netns exec {3} ping -c 3 {14}\n"
        "  sudo ip netns exec {5} {16}\n"
        "  sudo pathproof inspect watch --netns {5}\n",
        run_id, names.tester_port_a, names.tester_port_b, names.pod_a,
        to_string(names.pod_a_address), names.node_a, names.underlay,
        to_string(names.node_a_address), names.vxlan, names.vni, names.tester, names.node_b,
        to_string(names.node_b_address), names.pod_b, far_pod, join,
        setting::with_names(setting::cure("tx-checksum-off").command, {{"$TUNNEL", names.vxlan}}));
    return about;
}

Description describe(const lab::NatBoxNames& names, const std::string& run_id,
                     unsigned backend_count) {
    std::vector<std::string> backends;
    for (unsigned backend = 0; backend < backend_count; ++backend) {
        backends.push_back(to_string(names.servers[backend]));
    }
    Description about;
    about.facts = {
        {"run", run_id},
        {"shape", "nat-box"},
        {"namespaces", {{"tester", names.tester}, {"dut", names.dut}}},
        {"tester_ports", {names.client_ports[0], names.client_ports[1], names.server_port}},
        {"dut_devices",
         {names.dut_client_devices[0], names.dut_client_devices[1], names.dut_server_device}},
        {"dut_macs",
         {to_string(names.dut_client_mac[0]), to_string(names.dut_client_mac[1]),
          to_string(names.dut_server_mac)}},
        {"service", to_string(names.service)},
        {"backends", backends},
        {"first_clients", {to_string(names.first_client[0]), to_string(names.first_client[1])}},
        {"first_carried_client", to_string(names.first_carried_client)},
        {"carrier",
         {{"tester", to_string(names.carrier_tester)},
          {"dut", to_string(names.carrier_dut)},
          {"vni", names.vni}}}};
    about.text = fmt::format(
        "nat-box {}: clients - tester {} and {} - DUT - tester {} - servers\n"
        "  {}  clients from {} and {}; carried ones from {} behind VTEP {}\n"
        "  {}     {} ({}), {} ({}), {} ({})\n"
        "  service {} -> {}\n"
        "Then:\n"
        "  sudo ip netns exec {} iptables -t nat -vnL\n"
        "  sudo pathproof inspect stats --netns {}\n",
        run_id, names.client_ports[0], names.client_ports[1], names.server_port, names.tester,
        to_string(names.first_client[0]), to_string(names.first_client[1]),
        to_string(names.first_carried_client), to_string(names.carrier_tester), names.dut,
        names.dut_client_devices[0], to_string(names.dut_client_mac[0]),
        names.dut_client_devices[1], to_string(names.dut_client_mac[1]), names.dut_server_device,
        to_string(names.dut_server_mac), to_string(names.service), fmt::join(backends, ", "),
        names.dut, names.dut);
    return about;
}

Result<Description> build_overlay(lab::Journal& journal, const UpOptions& options) {
    const auto overlay = TRY(lab::Overlay::build(journal));
    lab::Settings settings = overlay->tunnel(options.udp_checksum);
    if (options.masquerade) {
        settings.push_back(overlay->outer_snat());
    }
    TRY(overlay->set_anew(settings));
    if (options.joint == Joint::kBridge) {
        TRY(overlay->join_by_bridge());
    }
    TRY(overlay->hosts().leave());
    TRY(journal.keep("overlay"));
    return describe(overlay->names(), journal.run_id(), options.joint);
}

Result<Description> build_nat_box(lab::Journal& journal, const UpOptions& options) {
    const auto box = TRY(lab::NatBox::build(journal));
    const setting::Setting service = TRY(box->service(options.backends));
    TRY(box->set({service, box->snat(options.snat), lab::udp_timeout(options.udp_timeout_s)}));
    TRY(box->hosts().leave());
    TRY(journal.keep("nat-box"));
    return describe(box->names(), journal.run_id(), options.backends);
}

void tell_stopped(int signal, const std::string& machine) {
    fmt::print(stderr, "pathproof: stopped by {}; {}\n", strsignal(signal), machine);
}

using Build = Result<Description> (*)(lab::Journal&, const UpOptions&);

Result<Description> build(Build shape, const UpOptions& options) {
    const lab::SignalHold hold;
    auto journal = TRY(lab::Journal::open("pathproof lab up"));
    for (const std::string& sentence : journal->recovered()) {
        process::log(sentence);
    }
    const lab::SignalGuard guard(journal.get(), tell_stopped);
    auto about = TRY(shape(*journal, options));
    // The lab is up. The guard takes a signal to its end, the lab down and exit code 3; one that
    // comes after the guard has gone is too late to end the command with anything but success.
    process::stop_on_signals();
    return about;
}

Result<int> up(Build shape, const UpOptions& options) {
    const auto about = TRY(build(shape, options));
    if (options.json) {
        fmt::print("{}\n", process::to_text(about.facts));
        return 0;
    }
    fmt::print("{}  sudo pathproof lab down {}\n", about.text,
               about.facts["run"].get<std::string>());
    return 0;
}

Result<int> list(const bool& as_json) {
    const auto runs = TRY(lab::list_runs());
    for (const lab::RunInfo& run : runs) {
        const std::string state = run_state_name(run.state);
        if (as_json) {
            fmt::print("{}\n", process::to_text(json{{"run", run.run_id},
                                                     {"state", state},
                                                     {"shape", run.what},
                                                     {"pid", run.pid},
                                                     {"command", run.command},
                                                     {"namespaces", run.namespaces}}));
        } else {
            fmt::print("{} {:4} {:8} {}\n", run.run_id, state, run.what.empty() ? "-" : run.what,
                       fmt::join(run.namespaces, " "));
        }
    }
    if (runs.empty() && !as_json) {
        fmt::print("no lab is up\n");
    }
    return 0;
}

Result<std::vector<std::string>> labs_to_take_down(const std::optional<std::string>& run_id) {
    if (run_id) {
        return std::vector{*run_id};
    }
    const auto runs = TRY(lab::list_runs());
    std::vector<std::string> kept;
    for (const lab::RunInfo& run : runs) {
        if (run.state == lab::RunInfo::State::kKept) {
            kept.push_back(run.run_id);
        }
    }
    if (kept.size() > 1) {
        return fail(ErrorCode::kBadInput,
                    "several labs are up: {}; say which one, as 'lab down {}'",
                    fmt::join(kept, ", "), kept.front());
    }
    return kept;
}

Result<int> down(const std::optional<std::string>& run_id) {
    const auto labs = TRY(labs_to_take_down(run_id));
    if (labs.empty()) {
        fmt::print("no lab is up\n");
        return 0;
    }
    const auto undone = TRY(lab::take_down(labs.front()));
    for (const std::string& sentence : undone) {
        fmt::print("{}\n", sentence);
    }
    return 0;
}

void add_overlay(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("overlay", "Two nodes with a pod each, VXLAN between them");
    const auto options = options_for<UpOptions>(
        *command, chosen, [](const UpOptions& typed) { return up(build_overlay, typed); });
    command->add_flag_callback(
        "--no-udp-checksum", [options] { options->udp_checksum = false; },
        "vxlan devices without outer UDP checksum (noudpcsum)");
    command->add_flag_callback(
        "--no-masquerade", [options] { options->masquerade = false; },
        "no NAT of the outer addresses (default: " + to_string(lab::Snat::kMasqueradeRandomFully) +
            ")");
    command->add_flag_callback(
        "--bridge", [options] { options->joint = Joint::kBridge; },
        "join the nodes by a bridge of the kernel instead of leaving it to the DPDK wire");
    command->add_flag("--json", options->json, "print names and addresses as one JSON object");
}

void add_nat_box(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "nat-box", "A NAT box with kube-proxy's rules between clients and servers");
    const auto options = options_for<UpOptions>(
        *command, chosen, [](const UpOptions& typed) { return up(build_nat_box, typed); });
    command->add_option("--backends", options->backends, "servers behind the service (default 2)");
    static const std::map<std::string, lab::Snat> kSnat{
        {"none", lab::Snat::kNone},
        {"masquerade", lab::Snat::kMasquerade},
        {"random-fully", lab::Snat::kMasqueradeRandomFully}};
    command
        ->add_option_function<std::string>(
            "--snat", [options](const std::string& name) { options->snat = kSnat.at(name); },
            "source NAT towards the servers: none (default), masquerade, random-fully")
        ->check(CLI::IsMember(kSnat));
    constexpr unsigned kDay = 86400;
    command
        ->add_option("--udp-timeout", options->udp_timeout_s,
                     "seconds that conntrack keeps a UDP flow (default 30)")
        ->check(CLI::Range(1u, kDay));
    command->add_flag("--json", options->json, "print names and addresses as one JSON object");
}

}  // namespace

void add_lab(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("lab", "Build a lab and leave it up; write and check lab files");
    command->require_subcommand(1);

    CLI::App* up_app = command->add_subcommand("up", "Build a lab of namespaces and leave it up");
    up_app->require_subcommand(1);
    add_overlay(*up_app, chosen);
    add_nat_box(*up_app, chosen);

    CLI::App* down_app = command->add_subcommand("down", "Take a lab down");
    const auto run_id = options_for<std::optional<std::string>>(*down_app, chosen, down);
    down_app->add_option("run", *run_id,
                         "which one, as 'lab list' names it (default: the only one)");

    CLI::App* list_app = command->add_subcommand("list", "The labs that are up, and runs");
    const auto as_json = options_for<bool>(*list_app, chosen, list);
    list_app->add_flag("--json", *as_json, "one JSON object a line");

    add_lab_check(*command, chosen);
    add_lab_calibrate(*command, chosen);
    add_lab_init(*command, chosen);
    add_lab_bind(*command, chosen);
}

}  // namespace pathproof::cli
