// Pods that Debian's CNI plug-ins attach: run as a user runs it, on the running kernel.
#define BOOST_TEST_MODULE cni_lab
#define BOOST_TEST_NO_MAIN
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dataplane/base/pattern.h"
#include "harness/lab/journal.h"
#include "harness/lab/pod_nodes.h"
#include "tests/own_agent.h"
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

// A folder of plug-ins: links to the packaged ones, and scripts in their place or beside them.
std::string plugins_with(const std::string& folder,
                         const std::vector<std::pair<std::string, std::string>>& scripts) {
    std::filesystem::create_directory(folder);
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/cni")) {
        std::filesystem::create_symlink(entry.path(),
                                        folder + "/" + entry.path().filename().string());
    }
    for (const auto& [name, text] : scripts) {
        std::filesystem::remove(folder + "/" + name);
        chmod(write(folder + "/" + name, text).c_str(), 0755);
    }
    return folder;
}

// Returns whether a proof of the scenario with such a title has these words.
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
    // The last step of each scenario is the last of as many as there are.
    for (const char* last :
         {"pod-paths ([0-9]+)/([0-9]+)  detach", "pod-residue ([0-9]+)/([0-9]+)  netns-gone"}) {
        const auto step = pathproof::Pattern(last).search(ran.err);
        BOOST_REQUIRE_MESSAGE(step, last << " in " << ran.err);
        BOOST_TEST((*step)[1] == (*step)[2], (*step)[0]);
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

BOOST_AUTO_TEST_CASE(the_tunnel_of_a_network_shows_the_checksum_failure_and_its_cure) {
    const Ran ran =
        run({"repro", "vxlan-checksum", "--lab", "cni", "--conflist", "flannel", "--cells",
             "vx-tx-on.udpcsum.no-nat.eth0-tx-off,vx-tx-on.udpcsum.masquerade.eth0-tx-"
             "off,cure.*"});
    BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
    BOOST_TEST(ran.exit_status == 0);
    const json& scenario = scenario_named(ran.report, "vxlan-checksum");
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    BOOST_TEST(scenario["cure"].get<std::string>().find("ethtool -K flannel.1") !=
               std::string::npos);
    BOOST_TEST(ran.report.dump().find("a rule that this lab adds: -o eth0 -p udp --dport 8472") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_role_that_a_network_lacks_is_refused_with_the_reason) {
    for (const auto& [scenario, chain, words] :
         {std::tuple{"vxlan-checksum", "bridge", "the nodes have routes to each other's pods"},
          {"snat-race", "macvlan", "no node translates for them"}}) {
        const Ran ran = run({"repro", scenario, "--lab", "cni", "--conflist", chain});
        BOOST_TEST(ran.exit_status == 2);
        BOOST_TEST(ran.err.find(words) != std::string::npos, ran.err);
    }
}

// Real plug-ins: host-local and bridge for ips, bandwidth for bandwidth.
BOOST_AUTO_TEST_CASE(what_a_runtime_asks_of_plugins_that_declare_it_they_do) {
    const MachineState before = MachineState::read();
    {
        auto journal = pathproof::lab::Journal::open("cni_lab_test");
        BOOST_REQUIRE_MESSAGE(journal, journal.error().message);
        const std::string list =
            bridge_list(R"("capabilities":{"ips":true},)", R"(,{"type":"bandwidth","capabilities":)"
                                                           R"({"bandwidth":true}})");
        auto nodes = pathproof::lab::PodNodes::build(
            **journal, {.name = "mynet", .texts = {list, list}, .sources = {"a", "a"}});
        BOOST_REQUIRE_MESSAGE(nodes, nodes.error().message);
        auto pod = (*nodes)->make_pod(0, "a1");
        auto other = (*nodes)->make_pod(0, "a2");
        BOOST_REQUIRE(pod && other);
        pod->attachment.ips = {"10.244.1.77/24"};
        pod->attachment.bandwidth = 8'000'000;
        // host-local takes an address from CNI_ARGS too.
        other->attachment.args = "IgnoreUnknown=1;IP=10.244.1.99";
        for (auto* each : {&*pod, &*other}) {
            const auto attached = (*nodes)->attach(*each);
            BOOST_REQUIRE_MESSAGE(attached, attached.error().message);
        }
        const auto v4 = pathproof::frame::Family::kIpv4;
        BOOST_TEST(to_string(*pod->address(v4)) == "10.244.1.77");
        BOOST_TEST(to_string(*other->address(v4)) == "10.244.1.99");
        const auto qdiscs = [&](const std::string& device) {
            return pathproof::process::run_checked({"tc", "qdisc", "show", "dev", device},
                                                   {.netns = (*nodes)->names().nodes[0]})
                .value_or("");
        };
        const std::string shaped = qdiscs(pod->node_device());
        BOOST_TEST(shaped.find("tbf") != std::string::npos, shaped);
        BOOST_TEST(shaped.find("rate 8Mbit") != std::string::npos, shaped);
        BOOST_TEST(qdiscs(other->node_device()).find("tbf") == std::string::npos);
        BOOST_TEST((*nodes)->detach(*pod).has_value());
        nodes->reset();
        BOOST_TEST((*journal)->undo().has_value());
    }
    BOOST_TEST(MachineState::read() == before);
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
    for (const char* chain : {"bridge", "ptp", "macvlan", "flannel", "calico"}) {
        const Ran ran = run({"repro", "pod-residue", "--lab", "cni", "--conflist", chain, "--cells",
                             "cycles", "--cycles", "200"});
        BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
        const json& cycles = cell_named(scenario_named(ran.report, "pod-residue"), "cycles");
        BOOST_TEST(cycles["verdict"] == "PASS", chain << ": " << text_of(cycles, "reason"));
        BOOST_TEST(measure(cycles, "times") == 200);
    }
}

BOOST_AUTO_TEST_CASE(a_hundred_pods_that_come_and_go_disturb_nothing) {
    const Ran ran =
        run({"repro", "pod-churn", "--lab", "cni", "--conflist", "bridge", "--cycles", "100"});
    BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
    const json& churn = cell_named(scenario_named(ran.report, "pod-churn"), "churn");
    BOOST_TEST(churn["verdict"] == "PASS", text_of(churn, "reason"));
    BOOST_TEST(measure(churn, "pods") == 100);
}

// The older scenarios, through what the plug-ins made.
BOOST_AUTO_TEST_CASE(failures_of_the_kernel_show_on_networks_of_plugins) {
    struct Role {
        const char *scenario, *chain, *cells, *said;
    };
    for (const Role& each : std::vector<Role>{
             {"vxlan-checksum", "calico", "*", "ethtool -K vxlan.calico"},
             {"dns-race", "bridge", "*", "NAT_CLASH"},
             {"snat-race", "ptp", "*", "insert_failed rose by"},
             {"snat-race", "flannel", "*", "insert_failed rose by"},
             {"snat-timestamps", "flannel", "small-range.*,control.no-nat,cure.timestamps-2",
              "PAWSTimewait rose by"},
             {"table-full", "bridge", "*answered*", "packets of flows that it had no room for"},
             {"nodelocal", "flannel", "*", "the policy dropped 80 packets"},
             {"bridge-unnat", "bridge", "*", "src=10.244.1."},
             {"stale-udp", "flannel", "other-endpoint,cure.*,control.*", "src=10.244.1."},
             {"pmtu-blackhole", "bridge", "*", "VTEPs discarded"}}) {
        const Ran ran = run({"repro", each.scenario, "--lab", "cni", "--conflist", each.chain,
                             "--cells", each.cells});
        BOOST_TEST_CONTEXT(each.scenario << " on " << each.chain) {
            BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
            BOOST_TEST(ran.exit_status == 0);
            const json& scenario = scenario_named(ran.report, each.scenario);
            BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
            BOOST_TEST(scenario.dump().find(each.said) != std::string::npos, scenario["cause"]);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_devices_of_pods_of_each_network_have_no_defect) {
    const Ran ran = run({"repro", "offload-truth", "--lab", "cni"});
    BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
    const json& scenario = scenario_named(ran.report, "offload-truth");
    BOOST_TEST(scenario["verdict"] == "NO DEFECT FOUND", scenario["headline"]);
    for (const char* chain : {"bridge", "ptp", "flannel", "calico"}) {
        BOOST_TEST(cell_named(scenario, std::string(chain) + ".tx.as-found")["verdict"] == "PASS");
    }
}

// Plug-ins of CNI 1.1.0 are scripts here: Debian's speak up to 1.0.0. This one has the packaged bridge
// do the work, keeps a list of what it attached, and on GC detaches what is not wanted any more.
BOOST_AUTO_TEST_CASE(gc_clears_up_after_pods_that_nobody_detached) {
    const auto scripted = [](bool collects) {
        return std::string(
                   "#!/usr/bin/python3\n"
                   "import json, os, subprocess, sys\n"
                   "conf = json.load(sys.stdin)\n"
                   "command = os.environ['CNI_COMMAND']\n"
                   "if command == 'VERSION':\n"
                   "    print(json.dumps({'cniVersion': '1.1.0', 'supportedVersions': "
                   "['1.0.0', '1.1.0']}))\n"
                   "    sys.exit()\n"
                   "folder = conf['ipam']['dataDir'] + '/scripted/'\n"
                   "os.makedirs(folder, exist_ok=True)\n"
                   "if command == 'STATUS':\n"
                   "    sys.exit()\n"
                   "conf['cniVersion'] = '1.0.0'\n"
                   "if 'prevResult' in conf: conf['prevResult']['cniVersion'] = '1.0.0'\n"
                   "def bridge(**more):\n"
                   "    return subprocess.run(['/usr/lib/cni/bridge'], input=json.dumps(conf), "
                   "text=True, env={**os.environ, **more}, stdout=subprocess.PIPE)\n"
                   "if command == 'GC':\n"
                   "    valid = [a['containerID'] for a in conf['cni.dev/valid-attachments']]\n"
                   "    for name in set(os.listdir(folder)) - set(valid):\n"
                   "        conf['prevResult'] = json.load(open(folder + name))\n") +
               (collects ? "        bridge(CNI_COMMAND='DEL', CNI_CONTAINERID=name, "
                           "CNI_IFNAME='eth0', CNI_NETNS='')\n"
                           "        subprocess.run('iptables-save -t nat | grep -v '+name+' | "
                           "iptables-restore -T nat', shell=True)\n"
                         : "        pass\n") +
               "        os.remove(folder + name)\n"
               "    sys.exit()\n"
               "ran = bridge()\n"
               "name = os.environ['CNI_CONTAINERID']\n"
               "if command == 'ADD' and ran.returncode == 0:\n"
               "    open(folder + name, 'w').write(ran.stdout)\n"
               "if command == 'DEL' and os.path.exists(folder + name):\n"
               "    os.remove(folder + name)\n"
               "print(ran.stdout.replace('1.0.0', '1.1.0') if command == 'ADD' else ran.stdout)\n"
               "sys.exit(ran.returncode)\n";
    };
    for (const bool collects : {true, false}) {
        const Scratch scratch;
        const std::string plugins =
            plugins_with(scratch.path() + "/plugins",
                         {{"scripted-bridge", scripted(collects)},
                          {"host-local",
                           "#!/bin/sh\n[ $CNI_COMMAND = VERSION ] || exec /usr/lib/cni/host-local\n"
                           "echo '{\"supportedVersions\":[\"1.0.0\",\"1.1.0\"]}'\n"}});
        std::string list = bridge_list();
        list.replace(list.find("1.0.0"), 5, "1.1.0");
        list.replace(list.find("\"bridge\""), 8, "\"scripted-bridge\"");
        const Ran ran =
            run({"repro", "pod-residue", "--lab", "cni", "--cells", "status,gc", "--plugins",
                 plugins, "--conflist", write(scratch.path() + "/a.conflist", list)});
        BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
        const json& scenario = scenario_named(ran.report, "pod-residue");
        BOOST_TEST(cell_named(scenario, "first")["verdict"] == "PASS",
                   text_of(cell_named(scenario, "first"), "reason"));
        BOOST_TEST(cell_named(scenario, "status")["verdict"] == "PASS");
        const json& gc = cell_named(scenario, "gc");
        BOOST_TEST(gc["verdict"] == (collects ? "PASS" : "FAIL"), text_of(gc, "reason"));
        BOOST_TEST(text_of(gc, "cause") == (collects ? "" : "left-behind"));
    }
}

// Faults of public reports, planted in plug-ins: entries of conntrack and of a neighbour that outlive their
// pod, a bridge that takes another MAC when a container goes. Debian's plug-ins have none of them.
BOOST_AUTO_TEST_CASE(what_a_pod_leaves_to_the_next_one_and_to_others_is_told) {
    const std::string portmap = R"(,{"type":"portmap","capabilities":{"portMappings":true}})";
    const std::string keeps_entry =
        "#!/bin/sh\nold=$(conntrack -L -p udp --orig-port-dst 30054 2>/dev/null | "
        "sed -n 's/.*UNREPLIED. src=\\([0-9.]*\\).*/\\1/p')\n"
        "out=$(/usr/lib/cni/portmap); rc=$?; echo \"$out\"\n"
        "[ $CNI_COMMAND = ADD ] && [ \"$old\" ] && conntrack -I -t 60 -p udp -s 198.18.0.1 -d "
        "198.18.0.1 --sport 40054 --dport 30054 --dst-nat $old >/dev/null 2>&1\nexit $rc\n";
    const std::string old_neighbour =
        "#!/bin/sh\nout=$(/usr/lib/cni/bridge); rc=$?; echo \"$out\"\n"
        "case $CNI_COMMAND$CNI_ARGS in ADD*IP=*) ip neigh replace ${CNI_ARGS##*IP=} lladdr "
        "02:00:00:00:00:99 nud reachable dev cni0;; esac\nexit $rc\n";
    const std::string other_mac =
        "#!/bin/sh\n/usr/lib/cni/bridge; rc=$?\n[ $CNI_COMMAND = DEL ] && ip link set cni0 address "
        "02:00:00:00:$(date +%M:%S) && ip neigh flush dev cni0\nexit $rc\n";
    struct Fault {
        const char *plugin, *scenario, *cell, *cause, *words;
        std::string script;
    };
    for (const Fault& fault :
         std::vector<Fault>{{"portmap", "pod-residue", "port-again", "stale-entry",
                             "went on to pod a1, which was detached", keeps_entry},
                            {"bridge", "pod-residue", "address-again", "stale-neighbour",
                             "the node did not reach pod a2 by pod a1's address", old_neighbour},
                            {"bridge", "pod-churn", "churn-outside", "disturbed",
                             "datagrams were lost", other_mac}}) {
        for (const bool planted : {false, true}) {
            const Scratch scratch;
            const std::string plugins = plugins_with(
                scratch.path() + "/plugins",
                planted
                    ? std::vector<std::pair<std::string, std::string>>{{fault.plugin, fault.script}}
                    : std::vector<std::pair<std::string, std::string>>{});
            const Ran ran = run(
                {"repro", fault.scenario, "--lab", "cni", "--cells", fault.cell, "--plugins",
                 plugins, "--conflist",
                 write(scratch.path() + "/a.conflist", bridge_list("\"ipMasq\":true,", portmap))});
            BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
            const json& cell = cell_named(scenario_named(ran.report, fault.scenario), fault.cell);
            BOOST_TEST(cell["verdict"] == (planted ? "FAIL" : "PASS"),
                       fault.cell << ": " << text_of(cell, "reason"));
            BOOST_TEST(text_of(cell, "cause") == (planted ? fault.cause : ""));
            const bool tells = text_of(cell, "reason").find(fault.words) != std::string::npos;
            BOOST_TEST(tells == planted, text_of(cell, "reason"));
        }
    }
}

// Debian's plug-ins leave a process of the node without its port, a lease after a reboot, and the node
// without its route. Each is told beside a plug-in that does it right, and one that is wrong otherwise.
BOOST_AUTO_TEST_CASE(what_a_reboot_and_a_process_of_the_node_meet_is_told) {
    const auto after = [](const char* plugin, const char* command, const std::string& does) {
        return fmt::format(
            "#!/bin/sh\n/usr/lib/cni/{}; rc=$?\n[ $CNI_COMMAND = {} ] && {{ {}; }} "
            ">/dev/null 2>&1\nexit $rc\n",
            plugin, command, does);
    };
    const auto before_add = [](const char* plugin, const std::string& does) {
        return fmt::format(
            "#!/bin/sh\ninput=$(cat)\n[ $CNI_COMMAND = ADD ] && {{ {}; }} >/dev/null "
            "2>&1\necho \"$input\" | /usr/lib/cni/{}\n",
            does, plugin);
    };
    const std::string frees_leases =
        "dir=$(echo \"$input\" | sed -n 's/.*\"dataDir\":\"\\([^\"]*\\)\".*/\\1/p'); "
        "case $CNI_CONTAINERID in *new*) rm -f $(grep -l pathproof-old $dir/*/*);; esac";
    struct Fault {
        const char *cell, *cause, *words;
        std::vector<std::pair<std::string, std::string>> scripts;
    };
    const std::string takes_ra = "sysctl -qw net.ipv6.conf.eth0.accept_ra=2";
    for (const Fault& fault : std::vector<Fault>{
             {"port-to-host", "stale-entry", "went on to pod a1", {}},
             {"port-to-host",
              "",
              "",
              {{"portmap", after("portmap", "DEL", "conntrack -D -p udp --orig-port-dst 30056")}}},
             {"port-to-host",
              "stale-rule",
              "to the host port goes to pod a1, which is gone",
              {{"portmap", "#!/bin/sh\n[ $CNI_COMMAND = DEL ] || exec /usr/lib/cni/portmap\n"}}},
             {"port-to-host",
              "port-lost",
              "a new flow to the host port reaches",
              {{"portmap", after("portmap", "DEL",
                                 "conntrack -D -p udp --orig-port-dst 30056; iptables -I INPUT -p "
                                 "udp --dport 30056 -m length --length 30:900 -j DROP")}}},
             {"reboot", "leaked-lease", "DEL of that pod frees it", {}},
             {"reboot", "", "", {{"bridge", before_add("bridge", frees_leases)}}},
             {"reboot",
              "unreachable",
              "the node reached pod old1 before its reboot",
              {{"bridge",
                after("bridge", "ADD",
                      "case $CNI_CONTAINERID in *new*) iptables -I OUTPUT -p icmp -o cni0 "
                      "-j DROP;; esac")}}},
             {"reboot-rules", "stale-rule", "by the rule ip nat: -A CNI-HOSTPORT-DNAT", {}},
             {"reboot-rules",
              "leaked-lease",
              "from before the reboot",
              {{"portmap", before_add("portmap", "iptables -t nat -F CNI-HOSTPORT-DNAT")}}},
             {"ra-route", "ra-route-lost", "with accept_ra=2 it reaches it again", {}},
             {"ra-route", "", "", {{"bridge", before_add("bridge", takes_ra)}}},
             {"ra-route",
              "unreachable",
              "though its default route is still there",
              {{"bridge", before_add("bridge", takes_ra + "; ip6tables -I OUTPUT -d "
                                                          "2001:db8:ff::1 -j DROP")}}}}) {
        BOOST_TEST_CONTEXT(fault.cell << " " << fault.cause) {
            const Scratch scratch;
            const Ran ran = run(
                {"repro", "pod-residue", "--lab", "cni", "--cells", fault.cell, "--plugins",
                 plugins_with(scratch.path() + "/plugins", fault.scripts), "--conflist", "bridge"});
            BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
            const json& cell = cell_named(scenario_named(ran.report, "pod-residue"), fault.cell);
            BOOST_TEST(cell["verdict"] == (*fault.cause == 0 ? "PASS" : "FAIL"),
                       text_of(cell, "reason"));
            BOOST_TEST(text_of(cell, "cause") == fault.cause);
            BOOST_TEST(text_of(cell, "reason").find(fault.words) != std::string::npos,
                       text_of(cell, "reason"));
        }
    }
}

// An error of a plug-in while pods are attached is a cell's reason, and the nodes are removed as
// always.
BOOST_AUTO_TEST_CASE(plugins_that_misbehave_are_told_of_with_their_words) {
    const std::string version =
        "#!/bin/sh\ninput=$(cat)\n[ $CNI_COMMAND = VERSION ] && echo "
        "'{\"supportedVersions\":[\"1.0.0\"]}' && exit\n[ $CNI_COMMAND = DEL ] && exit\n";
    for (const auto& [body, words] :
         {std::pair{"sleep 100", "did not end within 10000 ms and was killed"},
          {"echo panic: no", "no JSON object: panic: no"},
          {"echo '{\"code\":7,\"msg\":\"no room\"}'; exit 1", "code 7, \"no room\""},
          {"echo '{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"8.8.8.8/24\"}]}'",
           "8.8.8.8 is outside"},
          {"echo '{\"cniVersion\":\"1.0.0\"}'", "the pod got no address"}}) {
        const Scratch scratch;
        const Ran ran = run(
            {"repro", "pod-paths", "--lab", "cni", "--cells", "pod-pod.same-node.icmp.ipv4",
             "--plugins", plugins_with(scratch.path() + "/plugins", {{"bridge", version + body}}),
             "--conflist", write(scratch.path() + "/a.conflist", bridge_list())});
        BOOST_REQUIRE_MESSAGE(ran.report.is_object(), ran.err);
        const json& attach = cell_named(scenario_named(ran.report, "pod-paths"), "attach");
        BOOST_TEST(attach["verdict"] == "FAIL");
        BOOST_TEST(text_of(attach, "reason").find(words) != std::string::npos,
                   text_of(attach, "reason"));
    }
}

// `inspect export` beside the lab names the pods by the cache that the lab keeps as a runtime does.
BOOST_AUTO_TEST_CASE(an_exporter_on_a_node_names_the_pods_of_its_flows) {
    const Scratch scratch;
    std::string text;
    {
        Background churn({"repro", "pod-churn", "--lab", "cni", "--conflist", "bridge", "--cells",
                          "churn", "--cycles", "1000", "--no-hugepages"},
                         scratch.path() + "/log");
        BOOST_REQUIRE(churn.comes("  churn", 60s));
        std::string cache, node;
        for (const auto& run : std::filesystem::directory_iterator("/run/pathproof")) {
            const std::string path = run.path().string() + "/results-1";
            cache = std::filesystem::exists(path) ? path : cache;
        }
        for (const std::string& netns : MachineState::read().namespaces) {
            node = netns.ends_with("-node-a") ? netns : node;
        }
        std::this_thread::sleep_for(1s);  // flows of its stream and transfers
        const auto exported =
            pathproof_run({"inspect", "export", "--netns", node, "--cni-cache", cache, "--file",
                           scratch.path() + "/a.prom", "--interval", "0.5", "--duration", "3"});
        BOOST_TEST(exported.exit_status == 0, exported.err);
        std::ifstream file(scratch.path() + "/a.prom");
        text = {std::istreambuf_iterator<char>(file), {}};
        kill(churn.pid(), SIGTERM);
        churn.end();
    }
    const std::string flows = ",pod_namespace=\"default\",pod_name=\"a1\"} ";
    const std::size_t at = text.find("-node-a\"" + flows);
    BOOST_TEST(at != std::string::npos, text);
    BOOST_TEST(text.substr(text.find("} ", at) + 2, 2) != "0\n", text);  // the first is the flows'
    BOOST_TEST(text.find("pathproof_cni_cache_up{netns=") != std::string::npos, text);
    BOOST_TEST(pathproof_run({"restore"}).exit_status == 0);
}

// Another list or another plug-in is planted in the place of the first: `compare` names what
// differs.
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
    // Hands the result on, once its command has run on the node.
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
    const std::string masquerade = R"("ipMasq":true,)", hairpin = R"("hairpinMode":true,)";
    const std::string own = bridge_list(masquerade + hairpin, portmap + planted);
    const std::string bare = bridge_list(hairpin, portmap + planted);
    // Rule that flannel adds, now and before it knew --random-fully.
    const std::string old_form =
        "iptables -t nat -A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE";
    struct Regression {
        std::string list, rule;
        std::vector<std::string> said;
    };
    const auto compare_all = [&](const std::string& list, const std::string& rule,
                                 const std::vector<Regression>& regressions) {
        plant(rule);
        BOOST_REQUIRE(qualify(list, before).report.is_object());
        for (const Regression& each : regressions) {
            plant(each.rule);
            BOOST_TEST(qualify(each.list, now).report.is_object());
            const auto compared = pathproof_run({"compare", before, now});
            const std::string told = pathproof::Pattern("\n? +").replace(compared.out, " ");
            BOOST_TEST_MESSAGE(compared.out);
            for (const std::string& words : each.said) {
                BOOST_TEST(told.find(words) != std::string::npos, words);
            }
        }
    };
    compare_all(
        own, "true",
        {{bridge_list(masquerade, portmap + planted),
          "true",
          {"hairpin-mode: none -> hairpin off",
           "new failure pod-paths/pod-itself.tcp.ipv4: PASS -> FAIL hairpin-off"}},
         {bare,
          "true",
          {"-j MASQUERADE: there -> not recorded", "disappeared pod-paths/external.tcp.ipv4"}},
         {bridge_list(masquerade + hairpin, planted),
          "true",
          {"plug-in portmap: in the list -> not recorded",
           "disappeared pod-paths/host-port.tcp.ipv4"}},
         {bridge_list(masquerade + hairpin + R"("mtu":9000,)", portmap + planted),
          "true",
          {"cni0: bridge mtu 1500 -> bridge mtu 9000",
           "changed cause pod-paths/pod-pod.across.udp.ipv4: FAIL masqueraded -> FAIL too-big"}},
         {own,
          "iptables -I FORWARD -p udp -m length --length 1400:65535 -j DROP",
          {"-j DROP: not recorded -> there",
           "new failure pod-paths/pod-pod.same-node.udp.ipv4: PASS -> FAIL dropped-by-rule"}},
         {own,
          "iptables -t nat -I POSTROUTING -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE",
          {"-d 10.244.0.0/16 -j MASQUERADE: not recorded -> there",
           "new failure pod-paths/pod-pod.same-node.udp.ipv4: PASS -> FAIL masqueraded"}},
         // kube-proxy's rules as they were before 1.15.
         {own,
          "iptables -D KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP || true",
          {"invalid-rst: none -> ",
           "KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP: there -> not recorded"}},
         {own,
          "sysctl -qw net.bridge.bridge-nf-call-iptables=0",
          {"bridge-unnat: none -> ", "net.bridge.bridge-nf-call-iptables: 1 -> 0"}}});
    compare_all(bare, old_form + " --random-fully",
                {{bare,
                  old_form,
                  {"MASQUERADE; -A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE "
                   "known hazards",
                   "MASQUERADE --random-fully: there (2 times) -> not recorded"}},
                 {bare, "true", {"disappeared pod-paths/external.tcp.ipv4"}}});
}

BOOST_AUTO_TEST_SUITE_END()

int main(int argc, char** argv) {
    return pathproof::test::was_agent(argc, argv)
               ? 0
               : boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
