// Pods that Debian's CNI plug-ins attach: run as a user runs it, on the running kernel.
#define BOOST_TEST_MODULE cni_lab
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/scenario/background.h"
#include "tests/scenario/lab_run.h"

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

struct Ran {
    int exit_status = -1;
    std::string err;
    json report;
};

// Leaves the machine as it was, whatever came of it.
Ran run(std::vector<std::string> arguments, const std::string& out = "") {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    const std::string folder = out.empty() ? scratch.path() + "/out" : out;
    arguments.insert(arguments.end(), {"--out", folder, "--no-hugepages"});
    arguments.insert(arguments.begin(), binary());
    const auto done = pathproof::process::run_program(arguments, {.timeout = 20min});
    BOOST_REQUIRE_MESSAGE(done, done.error().message);
    const auto& ran = *done;
    BOOST_TEST_MESSAGE(ran.out + ran.err);
    BOOST_TEST(MachineState::read() == before);
    for (const std::string& place : {folder, folder + ".incomplete"}) {
        std::ifstream file(place + "/report.json");
        if (file) {
            return {ran.exit_status, ran.err, json::parse(file)};
        }
    }
    return {ran.exit_status, ran.err, json()};
}

std::string write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    return path;
}

// A list of a bridge, with words for its object and plug-ins after it.
std::string bridge_list(const std::string& words = "", const std::string& more = "",
                        const std::string& subnet = "10.244.{{node}}.0/24") {
    return R"({"name":"mynet","cniVersion":"1.0.0","plugins":[{"type":"bridge","isGateway":true,)" +
           words + R"("ipam":{"type":"host-local","subnet":")" + subnet +
           R"(","routes":[{"dst":"0.0.0.0/0"}]}})" + more + "]}";
}

// Whether a text of that kind is in a proof of the scenario.
bool proves(const json& scenario, const std::string& title, const std::string& words) {
    for (const json& proof : scenario["proofs"]) {
        if (proof["title"].get<std::string>().starts_with(title) &&
            proof.dump().find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

std::string text_of(const json& cell, const char* key) {
    return cell.value(key, std::string());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(few)

BOOST_AUTO_TEST_CASE(the_fewest_cells_of_a_plain_bridge) {
    const Ran ran = run({"qualify", "--lab", "cni", "--conflist", "bridge", "--only",
                         "pod-paths,pod-residue", "--cells",
                         "pod-paths/check,pod-paths/pod-pod.same-node.icmp.ipv6,pod-paths/"
                         "pod-pod.across.udp.ipv4,pod-paths/pod-itself.tcp.ipv4,pod-paths/"
                         "host-port.sctp.ipv4,pod-paths/external.tcp.ipv4,pod-residue/del-twice,"
                         "pod-residue/netns-gone"});
    BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
    BOOST_TEST(ran.exit_status == 1);
    const json& paths = scenario_named(ran.report, "pod-paths");
    BOOST_TEST(paths["verdict"] == "DEFECT FOUND");
    for (const char* id : {"attach", "detach", "pod-pod.same-node.icmp.ipv6", "pod-itself.tcp.ipv4",
                           "host-port.sctp.ipv4", "external.tcp.ipv4"}) {
        const json& cell = cell_named(paths, id);
        BOOST_TEST(cell["verdict"] == "PASS", id << ": " << text_of(cell, "reason"));
    }
    // ipMasq knows the subnet of its own node only.
    const json& across = cell_named(paths, "pod-pod.across.udp.ipv4");
    BOOST_TEST(text_of(across, "cause") == "masqueraded", text_of(across, "reason"));
    BOOST_TEST(text_of(across, "reason").find("MASQUERADE of node A counted") != std::string::npos);
    BOOST_TEST(measure(across, "wire_frames") > 0);
    BOOST_TEST(measure(across, "wire_bad") == 0);
    BOOST_TEST(measure(across, "entries") > 0);
    BOOST_TEST(proves(paths, "Connectivity of bridge", "n/a"));
    BOOST_TEST(proves(paths, "Known hazards", "snat-race"));
    const json& residue = scenario_named(ran.report, "pod-residue");
    BOOST_TEST(cell_named(residue, "first")["verdict"] == "PASS");
    BOOST_TEST(cell_named(residue, "del-twice")["verdict"] == "PASS");
    // The plug-in finds the pod's addresses in a namespace that is gone.
    const json& gone = cell_named(residue, "netns-gone");
    BOOST_TEST(text_of(gone, "cause") == "left-behind", text_of(gone, "reason"));
    BOOST_TEST(measure(gone, "rules") > 0);
    BOOST_TEST(measure(gone, "leases") == 0);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_list_is_said_before_anything_is_changed) {
    const Scratch scratch;
    const std::string path = scratch.path() + "/a.conflist";
    const std::string scripts = scratch.path() + "/plugins";
    std::filesystem::create_directory(scripts);
    for (const auto& [name, body] : {std::pair{"bridge", "echo rubbish"}, {"host-local", "true"}}) {
        chmod(write(scripts + "/" + name, std::string("#!/bin/sh\n") + body + "\n").c_str(), 0755);
    }
    for (const auto& [text, options, words] :
         {std::tuple{std::string("{"), std::vector<std::string>{}, "a.conflist: it is no JSON"},
          {bridge_list("", R"(,{"type":"gone"})"), {}, "plugins[1]: there is no plug-in 'gone'"},
          {bridge_list("", R"(,{"type":"cilium-cni"})"), {}, "cilium-agent"},
          {bridge_list("", "", "10.1.0.0/24"), {}, "both nodes would give out"},
          {bridge_list("", "", "8.8.{{node}}.0/24"),
           {},
           "plugins[0].ipam.subnet: 8.8.1.0 is outside"},
          {bridge_list(), {"--plugins", scripts}, "names no supportedVersions: rubbish"},
          {bridge_list(), {"--plugins", "/nonexistent"}, "install containernetworking-plugins"}}) {
        std::vector<std::string> arguments{
            "qualify", "--lab", "cni", "--only", "pod-paths", "--conflist", write(path, text)};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Ran ran = run(arguments);
        BOOST_TEST(ran.exit_status == 2);
        BOOST_TEST(ran.err.find(words) != std::string::npos, ran.err);
    }
    BOOST_TEST(run({"qualify", "--lab", "veth", "--conflist", "bridge"}).exit_status == 2);
    BOOST_TEST(run({"repro", "pod-paths"}).exit_status == 2);
}

BOOST_AUTO_TEST_CASE(after_a_kill_the_next_restore_puts_everything_back) {
    const MachineState before = MachineState::read();
    {
        const Scratch scratch;
        Background run(
            {"repro", "pod-paths", "--lab", "cni", "--conflist", "flannel", "--no-hugepages"},
            scratch.path() + "/log");
        BOOST_REQUIRE(run.comes("  check", 60s));
        kill(run.pid(), SIGKILL);
    }
    const auto restored = pathproof_run({"restore"});
    BOOST_TEST(restored.exit_status == 0, restored.err);
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(all)

BOOST_AUTO_TEST_CASE(all_built_in_networks) {
    const Ran ran = run({"qualify", "--lab", "cni", "--only", "pod-paths,pod-residue,pod-churn"});
    BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
    BOOST_TEST(ran.exit_status == 1);
    const json& paths = scenario_named(ran.report, "pod-paths");
    BOOST_TEST(paths["unexplained"] == 0, paths["headline"]);
    for (const json& cell : paths["cells"]) {
        const std::string id = cell["id"], cause = text_of(cell, "cause");
        const bool known = cause == "masqueraded" ? id.find("across") != std::string::npos ||
                                                        id.find("pod-service") != std::string::npos
                                                  : cause == "check-failed";
        BOOST_TEST((cell["verdict"] != "FAIL" || known), id << ": " << text_of(cell, "reason"));
    }
    for (const json& cell : scenario_named(ran.report, "pod-churn")["cells"]) {
        BOOST_TEST((cell["verdict"] == "PASS" || cell["verdict"] == "SKIP"),
                   cell["id"] << ": " << text_of(cell, "reason"));
    }
}

BOOST_AUTO_TEST_CASE(two_hundred_pods_leave_nothing) {
    for (const char* chain : {"bridge", "ptp", "macvlan", "flannel"}) {
        const Ran ran = run({"repro", "pod-residue", "--lab", "cni", "--conflist", chain, "--cells",
                             "cycles", "--cycles", "200"});
        BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
        const json& cycles = cell_named(scenario_named(ran.report, "pod-residue"), "cycles");
        BOOST_TEST(cycles["verdict"] == "PASS", chain << ": " << text_of(cycles, "reason"));
        BOOST_TEST(measure(cycles, "times") == 200);
    }
}

// Another list, or another plug-in, in the place of the first: `compare` names what differs.
BOOST_AUTO_TEST_CASE(a_planted_regression_is_found_and_named) {
    const Scratch scratch;
    const std::string before = scratch.path() + "/before", now = scratch.path() + "/now";
    const std::string scripts = scratch.path() + "/plugins";
    std::filesystem::create_directory(scripts);
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/cni")) {
        std::filesystem::create_symlink(entry.path(),
                                        scripts + "/" + entry.path().filename().string());
    }
    const std::string portmap = R"(,{"type":"portmap","capabilities":{"portMappings":true}})";
    const std::string planted = R"(,{"type":"planted"})";
    // Hands the result on; its rule comes and goes with the pod.
    const auto plant = [&](const std::string& rule) {
        const std::string path = scripts + "/planted";
        write(path,
              "#!/usr/bin/python3\nimport json, os, subprocess, sys\n"
              "conf = json.load(sys.stdin)\n"
              "command = os.environ['CNI_COMMAND']\n"
              "if command == 'VERSION':\n"
              "    print(json.dumps({'cniVersion': '1.0.0', 'supportedVersions': ['1.0.0']}))\n"
              "elif command == 'ADD':\n"
              "    subprocess.check_call(['sh', '-c', '" +
                  rule +
                  "'])\n"
                  "    print(json.dumps(conf['prevResult']))\n");
        chmod(path.c_str(), 0755);
    };
    const auto qualify = [&](const std::string& list, const std::string& out) {
        return run(
            {"qualify", "--lab", "cni", "--only", "pod-paths", "--cells",
             "check,pod-pod.*.udp.ipv4,pod-pod.*.tcp.ipv4,pod-itself.tcp.ipv4,"
             "host-port.tcp.ipv4,external.tcp.ipv4",
             "--plugins", scripts, "--conflist", write(scratch.path() + "/a.conflist", list)},
            out);
    };
    plant("true");
    const std::string masquerade = R"("ipMasq":true,)", hairpin = R"("hairpinMode":true,)";
    BOOST_REQUIRE(
        qualify(bridge_list(masquerade + hairpin, portmap + planted), before).report.is_object());
    struct Regression {
        std::string list, rule, named, cell;
    };
    for (const Regression& each : std::vector<Regression>{
             {bridge_list(masquerade, portmap + planted), "true", "hairpin off",
              "pod-itself.tcp.ipv4"},
             {bridge_list(hairpin, portmap + planted), "true", "MASQUERADE", "external.tcp.ipv4"},
             {bridge_list(masquerade + hairpin, planted), "true", "CNI-HOSTPORT-DNAT",
              "host-port.tcp.ipv4"},
             {bridge_list(masquerade + hairpin + R"("mtu":1400,)", portmap + planted), "true",
              "mtu 1400", ""},
             {bridge_list(masquerade + hairpin, portmap + planted),
              "iptables -I FORWARD -p udp -m length --length 1400:65535 -j DROP", "-j DROP",
              "pod-pod.across.udp.ipv4"},
             {bridge_list(masquerade + hairpin, portmap + planted),
              "iptables -t nat -I POSTROUTING -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE",
              "-d 10.244.0.0/16 -j MASQUERADE", "pod-pod.same-node.udp.ipv4"}}) {
        plant(each.rule);
        BOOST_TEST(qualify(each.list, now).report.is_object());
        const auto compared = pathproof_run({"compare", before, now});
        BOOST_TEST_MESSAGE(compared.out);
        BOOST_TEST(compared.out.find(each.named) != std::string::npos, each.named);
        BOOST_TEST(compared.out.find(each.cell) != std::string::npos, each.cell);
    }
}

BOOST_AUTO_TEST_SUITE_END()
