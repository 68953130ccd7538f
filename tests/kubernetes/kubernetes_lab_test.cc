#define BOOST_TEST_MODULE kubernetes lab
// Every command line of the manifests, run as Kubernetes would: in the namespaces of a node and of its pods,
// as the user and with the capabilities of its container. The pods are attached by the real plug-in bridge;
// the cache of CNI results is written by this test, from the plug-in's real result and in libcni's format
// (the plug-ins themselves keep none).
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "dataplane/base/pattern.h"
#include "harness/process/program.h"
#include "tests/drops/senders.h"
#include "tests/metrics/strict_parser.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/needs_root.h"

using namespace pathproof;
using netfilter::lab::Namespace;
using nlohmann::json;

namespace {

constexpr const char* kPlugIns = "/usr/lib/cni";
constexpr const char* kService = "198.51.100.10";
constexpr std::uint16_t kFiltered = 9;

// A folder with the program where other users may read it.
class Folder {
  public:
    Folder() {
        char name[] = "/tmp/pathproof-kubernetes-XXXXXX";
        BOOST_REQUIRE(mkdtemp(name) != nullptr);
        path_ = name;
        BOOST_REQUIRE(chmod(name, 0755) == 0);
        std::filesystem::copy_file(std::getenv("PATHPROOF"), pathproof());
        std::filesystem::create_directories(path_ + "/cni/results");
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }
    std::string pathproof() const { return path_ + "/pathproof"; }

  private:
    std::string path_;
};

// Attaches a pod as kubelet's runtime does: the plug-in's ADD, then libcni's cache. Returns the
// pod's address.
std::string attach(const Folder& folder, const Namespace& node, const Namespace& pod,
                   const std::string& name, const std::string& bridge, const std::string& subnet) {
    const std::string config =
        R"({"name":")" + bridge + R"(","cniVersion":"1.0.0","type":"bridge","bridge":")" + bridge +
        R"(","isGateway":true,"ipam":{"type":"host-local","subnet":")" + subnet +
        R"(","routes":[{"dst":"0.0.0.0/0"}],"dataDir":")" + folder.path() + R"(/networks"}})";
    const json result = json::parse(node.run(
        {"sh", "-c",
         fmt::format("CNI_COMMAND=ADD CNI_CONTAINERID={0} CNI_NETNS=/run/netns/{0} CNI_IFNAME=eth0 "
                     "CNI_ARGS='IgnoreUnknown=1;K8S_POD_NAMESPACE=pathproof;K8S_POD_NAME={3}' "
                     "CNI_PATH={1} {1}/bridge <<'END'\n{2}\nEND",
                     pod.name(), kPlugIns, config, name)}));
    const json cached{
        {"kind", "cniCacheV1"},
        {"containerId", pod.name()},
        {"config", "e30="},
        {"ifName", "eth0"},
        {"networkName", bridge},
        {"netns", "/run/netns/" + pod.name()},
        {"cniArgs",
         json::parse(fmt::format(R"([["IgnoreUnknown","1"],["K8S_POD_NAMESPACE","pathproof"],)"
                                 R"(["K8S_POD_NAME","{}"],["K8S_POD_INFRA_CONTAINER_ID","{}"]])",
                                 name, pod.name()))},
        {"result", result}};
    std::ofstream(folder.path() + "/cni/results/" + bridge + "-" + pod.name() + "-eth0")
        << cached.dump();
    const std::string address = result["ips"][0]["address"];
    return address.substr(0, address.find('/'));
}

// The manifests by Debian's own parser of YAML, by "Kind/name".
std::map<std::string, json> manifests(const std::string& options) {
    const auto printed =
        process::run_checked({"sh", "-c",
                              std::string(std::getenv("PATHPROOF")) +
                                  " k8s manifest --client-node a --server-node a " + options});
    BOOST_REQUIRE_MESSAGE(printed, printed.error().message);
    const auto read = process::run_checked(
        {"/usr/bin/python3", "-c",
         "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))"},
        {.input = *printed});
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    std::map<std::string, json> objects;
    for (const json& object : json::parse(*read)) {
        objects[object["kind"].get<std::string>() + "/" +
                object["metadata"]["name"].get<std::string>()] = object;
    }
    return objects;
}

using Variables = std::map<std::string, std::string>;

std::string expanded(std::string text, const Variables& variables) {
    for (const auto& [name, value] : variables) {
        const std::string variable = "$(" + name + ")";
        for (auto at = text.find(variable); at != std::string::npos; at = text.find(variable)) {
            text.replace(at, variable.size(), value);
        }
    }
    BOOST_TEST(text.find("$(") == std::string::npos, text);
    return text;
}

// A container of a pod template, running.
class Container {
  public:
    Container(const Folder& folder, const json& pod, const json& container, const Namespace& place,
              const Variables& variables)
        : name_(container["name"]),
          pid_file_(fmt::format("{}/{}-{}.pid", folder.path(), name_, ++made)) {
        const auto of = [&](const char* key) {
            const json& own = container["securityContext"];
            return own.contains(key) ? own[key] : pod["securityContext"].value(key, json());
        };
        BOOST_TEST(of("allowPrivilegeEscalation") == false);
        BOOST_TEST(of("readOnlyRootFilesystem") == true);
        BOOST_TEST(of("privileged").is_null());
        BOOST_TEST(pod.value("hostPID", false) == false);
        BOOST_TEST(of("capabilities")["drop"] == json({"ALL"}));
        std::string capabilities = "-all";
        for (std::string added : of("capabilities").value("add", json::array())) {
            std::ranges::transform(added, added.begin(), [](char c) { return std::tolower(c); });
            capabilities += ",+" + added;
        }
        const std::string user = of("runAsUser").dump();
        std::string mounts;
        std::string args;
        for (const json& arg : container["args"]) {
            std::string word = expanded(arg, variables);
            for (const json& mount : container.value("volumeMounts", json::array())) {
                BOOST_TEST(mount["readOnly"] == true);
                const std::string path = mount["mountPath"];
                if (mount["name"] == "tracefs") {
                    mounts = "mount -t tracefs tracefs " + path + " && ";
                } else if (const auto at = word.find(path); at != std::string::npos) {
                    word.replace(at, path.size(), folder.path() + "/cni");
                }
            }
            args += " '" + word + "'";
        }
        // The privileges go last.
        const std::string script = fmt::format(
            "echo $$ > {}; {}mount -o remount,bind,ro / && exec setpriv --no-new-privs "
            "--inh-caps=-all "
            "--bounding-set={} --reuid={} --regid={} --clear-groups {}{}",
            pid_file_, mounts, capabilities, user, user, folder.pathproof(), args);
        thread_ = std::thread([this, script, netns = place.name()] {
            output_ = process::run_program(
                {"unshare", "--mount", "--propagation", "private", "sh", "-c", script},
                {.netns = netns, .timeout = std::chrono::seconds(60)});
        });
    }
    ~Container() {
        if (thread_.joinable()) {
            ask_to_stop();
            thread_.join();
        }
    }

    // Ends the command as Kubernetes does: with SIGTERM.
    process::ProgramOutput stop() {
        ask_to_stop();
        return finish();
    }
    process::ProgramOutput finish() {
        thread_.join();
        BOOST_REQUIRE_MESSAGE(output_, name_ << ": " << output_.error().message);
        return *output_;
    }

  private:
    void ask_to_stop() const {
        for (int waited = 0; waited < 500 && !std::filesystem::exists(pid_file_); ++waited) {
            usleep(10'000);
        }
        int pid = 0;
        std::ifstream(pid_file_) >> pid;
        if (pid > 1) {
            kill(pid, SIGTERM);
        }
    }

    static inline int made = 0;
    const std::string name_;
    const std::string pid_file_;
    Result<process::ProgramOutput> output_;
    std::thread thread_;
};

const json& pod_of(const json& workload) {
    return workload["spec"]["template"]["spec"];
}

std::string scraped(const Namespace& node, const std::string& address) {
    return node.run({"curl", "-s", "--retry", "50", "--retry-delay", "1", "--retry-connrefused",
                     "-H", "Accept: application/openmetrics-text",
                     "http://" + address + ":9816/metrics"});
}

std::set<std::string> names_of(const std::string& lines) {
    std::set<std::string> names;
    std::istringstream all(lines);
    for (std::string family, type, sample, rest; all >> family >> type >> sample;) {
        std::getline(all, rest);
        names.insert(sample);
    }
    return names;
}

// The value of the sample that begins so; -1: there is none.
double value_of(const std::string& lines, const std::string& sample) {
    const auto at = lines.find(sample);
    if (at == std::string::npos) {
        return -1;
    }
    const auto end = lines.find('\n', at);
    return std::stod(lines.substr(lines.rfind(' ', end - 1), end));
}

json last_line(const std::string& out) {
    const auto at = out.rfind('\n', out.size() - 2);
    return json::parse(out.substr(at == std::string::npos ? 0 : at + 1));
}

// All that must be as it was.
std::string state_of(const Namespace& node) {
    std::string state;
    for (const char* command : {"iptables-save", "nft -s list ruleset", "ip -4 address show",
                                "ip -4 route show table all", "sysctl -a --pattern ^net"}) {
        std::istringstream lines(node.run(command));
        for (std::string line; std::getline(lines, line);) {
            state += line.starts_with('#') || line.find("nf_conntrack_count") != std::string::npos
                         ? ""
                         : Pattern("\\[[0-9]+:[0-9]+\\]").replace(line, "") + "\n";
        }
    }
    return state;
}

// A node with a client pod on one network, two server pods on another, and kube-proxy's way to them.
struct Cluster {
    Folder folder;
    Namespace node{"node"}, client{"client"}, server1{"server1"}, server2{"server2"};
    std::string at_client, at_server1, at_server2;

    Cluster() {
        BOOST_REQUIRE_MESSAGE(std::filesystem::exists(std::string(kPlugIns) + "/bridge"),
                              "install containernetworking-plugins");
        at_client = attach(folder, node, client, "pathproof-client-x", "cni0", "198.18.1.0/24");
        at_server1 = attach(folder, node, server1, "pathproof-server-x", "cni1", "198.18.2.0/24");
        at_server2 = attach(folder, node, server2, "pathproof-server-y", "cni1", "198.18.2.0/24");
        // The rules are those of kube-proxy.
        node.run(
            {"sh", "-ec",
             fmt::format("for chain in SVC-X SEP-1 SEP-2; do iptables -t nat -N KUBE-$chain; done;"
                         "iptables -t nat -A KUBE-SEP-1 -p udp -j DNAT --to-destination {1}:5300;"
                         "iptables -t nat -A KUBE-SEP-2 -p udp -j DNAT --to-destination {2}:5300;"
                         "iptables -t nat -A KUBE-SVC-X -m statistic --mode random --probability "
                         "0.5 -j KUBE-SEP-1;"
                         "iptables -t nat -A KUBE-SVC-X -j KUBE-SEP-2;"
                         "iptables -t nat -A PREROUTING -d {0}/32 -p udp --dport 53 -j KUBE-SVC-X",
                         kService, at_server1, at_server2)});
        node.run(fmt::format("iptables -A FORWARD -p udp --dport {} -j DROP", kFiltered));
        node.run("iptables-legacy -t mangle -N SOMEBODYS");
    }
};

// Exit status that must go with a client's report.
int status_for(const json& pairs) {
    if (!pairs["failed"].empty()) {
        return 1;
    }
    return pairs["sent"] == pairs["asked_for"] ? 0 : 3;
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_of_it_runs_with_the_privileges_that_it_names_and_changes_nothing) {
    Cluster here;
    const auto objects = manifests("");
    const auto traced = manifests("--only exporter --allow drops");
    const Variables variables{{"PATHPROOF_SERVER_SERVICE_HOST", kService}};
    const auto with = [&](const char* name, const std::string& value) {
        Variables more = variables;
        more[name] = value;
        return more;
    };
    const std::string before = state_of(here.node);
    std::map<std::string, std::unique_ptr<Container>> running;
    const auto run = [&](const std::string& as, const json& workload, std::size_t index,
                         const Namespace& place, const Variables& known) {
        const json& pod = pod_of(workload);
        BOOST_TEST(pod.value("hostNetwork", false) == (&place == &here.node));
        BOOST_TEST(pod["automountServiceAccountToken"] == false);
        running[as] = std::make_unique<Container>(here.folder, pod, pod["containers"].at(index),
                                                  place, known);
    };
    const json& server = objects.at("Job/pathproof-server");
    BOOST_TEST(server["spec"]["parallelism"] == 2);
    BOOST_TEST(server["spec"]["backoffLimit"] == 0);
    run("server1", server, 0, here.server1, with("POD_IP", here.at_server1));
    run("server2", server, 0, here.server2, with("POD_IP", here.at_server2));
    const json& exporter = objects.at("DaemonSet/pathproof-exporter");
    run("exporter", exporter, 0, here.node, with("NODE_IP", "198.18.1.1"));
    run("tracing exporter", traced.at("DaemonSet/pathproof-exporter"), 0, here.node,
        with("NODE_IP", "198.18.2.1"));
    const json& inspector = objects.at("Job/pathproof-inspector");
    BOOST_REQUIRE_EQUAL(pod_of(inspector)["containers"].size(), 3U);
    run("clashes", inspector, 0, here.node, variables);
    run("stats", inspector, 1, here.node, variables);
    scraped(here.node, "198.18.1.1");
    scraped(here.node, "198.18.2.1");
    drops::lab::send_udp(here.client.name(), here.at_server1, kFiltered, 3);
    run("client", objects.at("Job/pathproof-client"), 0, here.client, variables);

    const auto client = running.at("client")->finish();
    const json pairs = json::parse(client.out);
    BOOST_TEST_MESSAGE(client.out);
    BOOST_TEST(pairs["asked_for"] == 3000);
    BOOST_TEST(pairs["both"] > 0);
    // A busy machine may lose some, or be late with some: then this is said.
    BOOST_TEST(client.exit_status == status_for(pairs));

    const std::string lines =
        metrics::test::parsed(scraped(here.node, "198.18.2.1"), metrics::Dialect::kOpenMetrics);
    const std::string untraced =
        metrics::test::parsed(scraped(here.node, "198.18.1.1"), metrics::Dialect::kOpenMetrics);
    for (const std::string* text : {&lines, &untraced}) {
        const std::string pod = "{netns=,pod_namespace=pathproof,pod_name=pathproof-client-x} ";
        // The flows include the first question whether the server is there.
        BOOST_TEST(value_of(*text, "pathproof_pod_flows_total " + pod) >= pairs["sent"], *text);
        for (const auto& [address, name] : {std::pair{here.at_server1, "pathproof-server-x"},
                                            {here.at_server2, "pathproof-server-y"}}) {
            BOOST_TEST(
                value_of(*text, fmt::format("pathproof_backend_flows_total {{netns=,service={}:"
                                            "53,protocol=udp,backend={}:5300,backend_namespace="
                                            "pathproof,backend_pod={}}} ",
                                            kService, address, name)) > 0,
                *text);
        }
        BOOST_TEST(value_of(*text, "pathproof_pod_clashes_total " + pod) ==
                   value_of(*text, "pathproof_conntrack_clashes_total {netns=} "));
        BOOST_TEST(value_of(*text, "pathproof_refusals_watched {netns=} ") == 1);
        BOOST_TEST(value_of(*text, "pathproof_cni_cache_up {netns=} ") == 1);
        BOOST_TEST(value_of(*text, "pathproof_cni_cache_unreadable_files {netns=} ") == 0);
    }
    BOOST_TEST(value_of(untraced, "pathproof_drops_available {netns=} ") == 0);
    BOOST_TEST(value_of(lines, "pathproof_drops_total {netns=,reason=NETFILTER_DROP,scope=") >= 3,
               lines);
    // Each metric that the dashboard queries is exported.
    const json dashboard = json::parse(
        objects.at("ConfigMap/pathproof-dashboard")["data"]["pathproof.json"].get<std::string>());
    const std::set<std::string> exported = names_of(lines);
    std::size_t asked = 0;
    for (const json& panel : dashboard["panels"]) {
        for (const json& target : panel["targets"]) {
            const std::string query = target["expr"];
            for (const auto& metric : Pattern("(pathproof_\\w+)[{]").search_all(query)) {
                BOOST_TEST(exported.contains(metric[1]), metric[1]);
                ++asked;
            }
        }
    }
    BOOST_TEST(asked > 15U);

    run("hazards", inspector, 2, here.node, variables);
    const auto hazards = running.at("hazards")->finish();
    BOOST_TEST(hazards.exit_status == 1, hazards.err);
    BOOST_TEST(hazards.out.find("\"hazard\":\"dns-race\"") != std::string::npos, hazards.out);
    BOOST_TEST(last_line(hazards.out)["unread"] == 0, hazards.out);
    for (const char* name :
         {"clashes", "stats", "exporter", "tracing exporter", "server1", "server2"}) {
        const auto ended = running.at(name)->stop();
        BOOST_TEST(ended.exit_status == 0, name << ": " << ended.err);
        BOOST_TEST_MESSAGE(
            name << ": " << ended.out.substr(ended.out.size() > 500 ? ended.out.size() - 500 : 0));
        if (std::string_view(name) == "clashes") {
            BOOST_TEST(last_line(ended.out).contains("summary"), ended.out);
        } else if (std::string_view(name) == "stats") {
            BOOST_TEST(ended.out.find("\"insert_failed\"") != std::string::npos, ended.out);
        } else if (std::string_view(name).starts_with("server")) {
            BOOST_TEST(std::stoul(ended.out) > 0, ended.out);
        }
    }
    BOOST_TEST((state_of(here.node) == before));
}

BOOST_AUTO_TEST_CASE(a_lookup_that_a_rule_took_is_lost_and_no_other) {
    const Namespace place("pairs");
    place.run(
        "iptables -A INPUT -p udp --sport 5300 -m statistic --mode nth --every 10 --packet 0 -j "
        "DROP");
    const auto k8s = [&](const std::string& words) {
        const auto ran = process::run_program(
            {"sh", "-c", std::string("exec ") + std::getenv("PATHPROOF") + " k8s " + words},
            {.netns = place.name()});
        BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        return *ran;
    };
    const auto nobody = k8s("client 127.0.0.1 --port 5300 --wait 0.1");
    BOOST_TEST(nobody.exit_status == 3);
    BOOST_TEST(nobody.err.find("connection refused") != std::string::npos, nobody.err);

    const auto client = process::run_program(
        {"sh", "-c",
         fmt::format(
             "{0} k8s server 127.0.0.1 2>/dev/null >&2 & {0} k8s client 127.0.0.1 --port 5300 "
             "--pairs 200 --json; status=$?; kill $!; wait $! || status=99; exit $status",
             std::getenv("PATHPROOF"))},
        {.netns = place.name()});
    BOOST_REQUIRE_MESSAGE(client, client.error().message);
    BOOST_TEST(client->exit_status == 1, client->err);
    const json pairs = json::parse(client->out);
    std::istringstream rule(place.run("iptables -L INPUT -v -x -n"));
    std::string line;
    std::getline(rule, line);
    std::getline(rule, line);
    std::size_t dropped = 0;
    rule >> dropped;
    // Each answer that it took is another lookup's, but for those to the question whether the server is there.
    BOOST_TEST(pairs["failed"].size() + 2 >= dropped, client->out << dropped);
    BOOST_TEST(pairs["failed"].size() <= dropped, client->out << dropped);
    BOOST_TEST(pairs["one"] == pairs["failed"].size());
}

// A name with 100 addresses, served by dnsmasq: its whole answer travels in two fragments.
BOOST_AUTO_TEST_CASE(answers_that_are_too_long_for_one_packet_are_told) {
    const Namespace place("sizes");
    const Folder folder;
    std::ofstream hosts(folder.path() + "/hosts");
    for (int i = 1; i <= 100; ++i) {
        hosts << "192.0.2." << i << " big.example\n";
    }
    hosts << "192.0.2.200 small.example\n" << std::flush;
    place.run("ip link set lo mtu 1500");
    const std::string serve = fmt::format(
        "dnsmasq -k -p 5300 --no-resolv --local=/example/ --no-hosts --addn-hosts={} "
        "--edns-packet-max=4096 "
        "--user=root --pid-file= --log-facility=- --listen-address=127.0.0.1 --bind-interfaces "
        "2>/dev/null & server=$!; ",
        folder.path() + "/hosts");
    const auto client = [&](const std::string& words) {
        const auto ran = process::run_program(
            {"sh", "-c",
             serve + std::getenv("PATHPROOF") + " k8s client 127.0.0.1 --port 5300 --pairs 20 " +
                 "--rate 100 --timeout 0.3 --wait 5 " + words + "; s=$?; kill $server; exit $s"},
            {.netns = place.name()});
        BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        return *ran;
    };
    const auto says = [](const process::ProgramOutput& ran, int status, const char* sentence) {
        BOOST_TEST(ran.exit_status == status, ran.out << ran.err);
        BOOST_TEST(ran.out.find(sentence) != std::string::npos, ran.out << ran.err);
    };
    says(client("--name small.example"), 0, "UDP, EDNS 4096    58 bytes, 1 record\n");
    const auto whole = client("--name big.example");
    says(whole, 0, "UDP, no EDNS      truncated (TC)");
    says(whole, 0, "UDP, EDNS 4096    1640 bytes, 100 records\n");
    says(whole, 0, "truncated (TC)        20   which is no answer; over TCP then 20\n");

    place.run("iptables -t raw -A PREROUTING -f -j DROP");
    says(client("--name big.example"), 1, "one of them is dropped on the way");
    says(client("--name small.example"), 0, "each size is answered");

    place.run("iptables -t raw -F");
    place.run("iptables -A INPUT -p tcp --dport 5300 -j DROP");
    const auto no_tcp = client("--name big.example --json");
    BOOST_TEST(no_tcp.exit_status == 1, no_tcp.err);
    const json result = json::parse(no_tcp.out);
    BOOST_TEST(result["truncated"] == 20);
    BOOST_TEST(result["over_tcp"] == 0);
    BOOST_TEST(result["failed"].size() == 20U);
    BOOST_TEST(result["sizes"].back()["trouble"] == "no connection within 300 ms");
}

BOOST_AUTO_TEST_CASE(later_pods_are_known_soon_and_a_cache_that_goes_is_said) {
    Cluster here;
    const auto objects = manifests("--only exporter");
    const json& exporter = pod_of(objects.at("DaemonSet/pathproof-exporter"));
    Container running(here.folder, exporter, exporter["containers"][0], here.node,
                      {{"NODE_IP", "198.18.1.1"}});
    const auto becomes = [&](const std::string& sample, double value) {
        for (int tries = 0; tries < 100; ++tries) {
            const std::string lines = metrics::test::parsed(scraped(here.node, "198.18.1.1"),
                                                            metrics::Dialect::kOpenMetrics);
            if (value_of(lines, sample) == value) {
                return true;
            }
            usleep(100'000);
        }
        return false;
    };
    const std::string late =
        "pathproof_pod_flows_total {netns=,pod_namespace=pathproof,pod_name=late} ";
    const std::string results = here.folder.path() + "/cni/results";
    // The runtime has made the file and not written it yet.
    std::ofstream(results + "/cni0-late-eth0") << "";
    BOOST_TEST(becomes("pathproof_cni_cache_unreadable_files {netns=} ", 1));
    const Namespace pod("late");
    std::filesystem::remove(results + "/cni0-late-eth0");
    const std::string address =
        attach(here.folder, here.node, pod, "late", "cni0", "198.18.1.0/24");
    BOOST_TEST(becomes(late, 0));
    drops::lab::send_udp(pod.name(), here.at_server1, 5300, 1);
    BOOST_TEST(becomes(late, 1));
    std::filesystem::remove_all(results);
    BOOST_TEST(becomes("pathproof_cni_cache_up {netns=} ", 0));
    BOOST_TEST(becomes(late, -1));
    const auto ended = running.stop();
    BOOST_TEST(ended.exit_status == 0, ended.err);
    BOOST_TEST(ended.err.find("cni0-late-eth0: not an object of JSON") != std::string::npos,
               ended.err);
    BOOST_TEST(ended.err.find(results + ": No such file") != std::string::npos, ended.err);
}

// A raced query's hidden entry lives for a second: what is answered later comes with the server's own address.
BOOST_AUTO_TEST_CASE(late_answers_are_lost_lookups_and_count_for_the_pod) {
    Cluster here;
    const json objects = manifests("");
    const Variables variables{{"PATHPROOF_SERVER_SERVICE_HOST", kService}};
    const auto run = [&](const char* name, const Namespace& place, const char* variable,
                         const std::string& value, const std::string& more) {
        json pod = pod_of(objects[name]);
        if (!more.empty()) {
            pod["containers"][0]["args"].push_back(more);
        }
        Variables known = variables;
        known[variable] = value;
        return std::make_unique<Container>(here.folder, pod, pod["containers"][0], place, known);
    };
    const auto server1 =
        run("Job/pathproof-server", here.server1, "POD_IP", here.at_server1, "--delay-ms=1300");
    const auto server2 =
        run("Job/pathproof-server", here.server2, "POD_IP", here.at_server2, "--delay-ms=1300");
    const auto exporter =
        run("DaemonSet/pathproof-exporter", here.node, "NODE_IP", "198.18.1.1", "");
    scraped(here.node, "198.18.1.1");
    const auto client =
        run("Job/pathproof-client", here.client, "UNUSED", "", "--timeout=4")->finish();
    const json pairs = json::parse(client.out);
    const std::string lines =
        metrics::test::parsed(scraped(here.node, "198.18.1.1"), metrics::Dialect::kOpenMetrics);
    const std::string pod = " {netns=,pod_namespace=pathproof,pod_name=pathproof-client-x} ";
    const double late = value_of(lines, "pathproof_pod_late_answers_total" + pod);
    BOOST_TEST_MESSAGE(pairs["failed"].size()
                       << " of " << pairs["sent"] << " failed, " << late << " late, "
                       << value_of(lines, "pathproof_pod_clashes_total" + pod) << " clashes");
    BOOST_TEST(client.exit_status == 1);
    BOOST_TEST(pairs["failed"].size() > 0U);
    BOOST_TEST(pairs["one"] == pairs["failed"].size());
    BOOST_TEST(late == pairs["failed"].size());
}
