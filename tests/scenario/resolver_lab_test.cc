// search-path, split-answer and large-answer with the resolvers of this host, run as a user runs them; and their
// symptoms by other causes, planted while they run, which must not be given their cause. The suite `few`
// is the shortest that shows it.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <thread>

#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(resolvers)

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

const std::string kPath = "search-path";
const std::string kSplit = "split-answer";
const std::string kLarge = "large-answer";

std::string file_bytes(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Cause that a resolver on demand must name: none for Go where answers differ.
std::string cause_on_demand(const std::string& id, const std::string& resolver) {
    if (id == kPath) {
        return kPath;
    }
    return resolver == "resolved" ? kSplit : "";
}

// Reproduced and cured; the machine's own resolv.conf and all else is as it was.
json reproduced(const std::string& id, const std::string& cells) {
    const MachineState before = MachineState::read();
    const std::string own = file_bytes("/etc/resolv.conf");
    const Scratch out;
    std::vector<std::string> words{"repro", id, "--out", out.path(), "--json"};
    if (!cells.empty()) {
        words.insert(words.end(), {"--cells", cells});
    }
    const auto run = pathproof_run(words);
    BOOST_TEST_MESSAGE(run.err);
    BOOST_TEST(run.exit_status == 0);
    const json scenario = scenario_named(json::parse(run.out), id);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    BOOST_TEST(scenario["cure_shown"] == true, scenario["cure"]);
    BOOST_TEST(scenario["unexplained"] == 0);
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
    BOOST_TEST(MachineState::read() == before);
    BOOST_TEST(file_bytes("/etc/resolv.conf") == own);
    return scenario;
}

// A cell and a control with a trap beside them: nothing is concluded, and the control names the other
// cause.
void trap(const std::string& id, const std::string& matrix, const std::string& control,
          const std::function<void(Planter&)>& plant, const std::string& cause) {
    const Sprung run =
        spring({.arguments = {"repro", id, "--cells", matrix + "," + control}, .plant = plant});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trouble);
    }
    const json& scenario = run.scenario(id);
    BOOST_TEST_MESSAGE(scenario["headline"]);
    BOOST_TEST(run.exit_status == 3);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(scenario["cause"] == "");
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
    BOOST_TEST(cell_named(scenario, control)["cause"] == cause, scenario["headline"]);
}

// Run in a namespace of the lab before the first lookup.
auto command(const std::string& role, const std::string& text) {
    return [role, text](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        lab.in(role, text);
    };
}

// Puts another server in the place of ours.
auto stranger(const std::string& options) {
    return [options](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        lab.in("server",
               "iptables -t nat -A PREROUTING -p udp --dport 53 -j REDIRECT --to-ports 5353");
        lab.in("server",
               "timeout 15 dnsmasq --conf-file=/dev/null --pid-file= --user=root --no-resolv "
               "--no-hosts --port=5353 -k " +
                   options + " >/dev/null 2>&1 &");
        while (lab.going_on()) {
            std::this_thread::sleep_for(50ms);
        }
    };
}

const char* const kEveryFortieth = " -m statistic --mode nth --every 40 --packet 3 -j DROP";

}  // namespace

BOOST_AUTO_TEST_SUITE(few)

BOOST_AUTO_TEST_CASE(a_lost_answer_to_a_name_of_the_list_delays_the_lookup) {
    const json scenario = reproduced(
        kPath, "glibc.list-6,control.first-of-list,cure.trailing-dot,glibc.list-6.after-cure");
    const json& list = cell_named(scenario, "glibc.list-6");
    BOOST_TEST(list["cause"] == kPath);
    BOOST_TEST(measure(list, "names") == 7);
    BOOST_TEST(measure(list, "queries") == 14);
    BOOST_TEST(measure(list, "fewest_queries") == 14);
    BOOST_TEST(measure(list, "withheld") == 17);  // 2 % of 60 times 14
    // A packet there and one back for each query, and the one there of a query without an answer.
    BOOST_TEST(measure(list, "packets") ==
               2 * (60 * 14 + measure(list, "resent")) - measure(list, "withheld"));
    BOOST_TEST(measure(cell_named(scenario, "cure.trailing-dot"), "queries") == 2);
}

BOOST_AUTO_TEST_CASE(a_search_ends_where_answers_differ) {
    const json scenario = reproduced(
        kSplit, "glibc.nx-cname,glibc.nx-empty,control.nx-nx,cure.trailing-dot,*.after-cure");
    const json& split = cell_named(scenario, "glibc.nx-cname");
    BOOST_TEST(split["cause"] == kSplit);
    BOOST_TEST(measure(split, "queries") == 2);
    BOOST_TEST(measure(split, "by_split") == 3);
    BOOST_TEST(cell_named(scenario, "glibc.nx-empty")["verdict"] == "PASS");
    BOOST_TEST(measure(cell_named(scenario, "control.nx-nx"), "queries") == 8);
}

BOOST_AUTO_TEST_CASE(an_answer_in_fragments_does_not_arrive) {
    const json scenario = reproduced(
        kLarge,
        "glibc.4096.fragments-dropped,control.1500,cure.edns-1232,*.fragments-dropped.after-cure");
    const json& lost = cell_named(scenario, "glibc.4096.fragments-dropped");
    BOOST_TEST(lost["cause"] == "size-not-lowered");
    BOOST_TEST(measure(lost, "fragments_in") >= 9);  // three of each answer
    BOOST_TEST(measure(lost, "fragments_out") == 0);
    BOOST_TEST(measure(lost, "reassembled") == 0);
    const json& cured = cell_named(scenario, "cure.edns-1232");
    BOOST_TEST(measure(cured, "fragments_in") == 0);
    BOOST_TEST(measure(cured, "cut") >= 3);
    BOOST_TEST(measure(cured, "fewest") == measure(cured, "addresses"));
}

// The whole datagram is dropped behind conntrack, which joined its fragments.
BOOST_AUTO_TEST_CASE(a_large_answer_that_a_rule_drops_has_another_cause) {
    const Sprung run = spring(
        {.arguments = {"repro", kLarge, "--cells", "glibc.4096.fragments-pass,control.512"},
         .plant = command("dut",
                          "iptables -t mangle -A FORWARD -p udp --sport 53 -m length --length "
                          "1000:65535 -j DROP")});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    const json& scenario = run.scenario(kLarge);
    BOOST_TEST(cell_named(scenario, "glibc.4096.fragments-pass")["cause"] == "answer-lost",
               scenario["headline"]);
    BOOST_TEST(scenario["cause"] == "");
}

BOOST_AUTO_TEST_CASE(a_cache_that_knows_no_name_has_another_cause) {
    trap(kSplit, "glibc.nx-cname", "control.nx-nx", stranger("--address=/#/"), "foreign-answer");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(all)

BOOST_AUTO_TEST_CASE(each_list_and_option_multiplies_as_computed) {
    const json scenario = reproduced(kPath, "");
    for (const auto& [id, queries] : {std::pair{"glibc.list-3", 8},
                                      {"glibc.list-6", 14},
                                      {"glibc.list-6.no-aaaa", 7},
                                      {"musl.list-3", 8},
                                      {"musl.list-6", 14},
                                      {"glibc.list-6.single-request-reopen", 14}}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == kPath, id);
        BOOST_TEST(measure(cell, "queries") == queries, id);
        BOOST_TEST(measure(cell, "by_search") + measure(cell, "by_name") == measure(cell, "hit"),
                   id);
    }
    // Losses are drawn anew with each seed: three standard deviations.
    const json& list = cell_named(scenario, "glibc.list-6");
    BOOST_TEST(std::abs(measure(list, "hit") - 14.8) < 3 * std::sqrt(60 * 0.247 * 0.753));
    BOOST_TEST(measure(cell_named(scenario, "musl.list-6.lost-twice"), "resolved") < 30);
    BOOST_TEST(measure(cell_named(scenario, "glibc.list-6.lost-twice"), "resolved") == 30);
    for (const char* id : {"control.no-loss", "control.musl.no-loss"}) {
        BOOST_TEST(measure(cell_named(scenario, id), "hit") == 0, id);
    }
    BOOST_TEST(cell_named(scenario, "musl.ndots-1.service-name")["verdict"] == "PASS");
    BOOST_TEST(cell_named(scenario, "use-vc.lost-answer")["verdict"] == "PASS");
}

BOOST_AUTO_TEST_CASE(each_pair_of_answers_comes_to_what_it_must) {
    const json scenario = reproduced(kSplit, "");
    for (const auto& [id, cause] : {std::pair{"glibc.nx-cname", kSplit},
                                    {"glibc.cname-nx", kSplit},
                                    {"glibc.cache-expiry", kSplit},
                                    {"glibc.nx-cname.single-request", kSplit},
                                    {"glibc.nx-cname.use-vc", kSplit},
                                    {"glibc.cname-cname", std::string("nodata-answer")},
                                    {"musl.empty-empty", std::string("nodata-answer")}}) {
        BOOST_TEST(cell_named(scenario, id)["cause"] == cause, id);
    }
    for (const char* id : {"glibc.empty-empty", "glibc.nx-empty", "musl.nx-cname"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
    const json& cache = cell_named(scenario, "glibc.cache-expiry");
    BOOST_TEST(measure(cache, "failed_for") <= measure(cache, "split_for"));
    BOOST_TEST(measure(cache, "failed_for") > 0.6 * measure(cache, "split_for"));
    BOOST_TEST(measure(cache, "resolved") > 0);
    const json& pairs = scenario["proofs"][0];
    BOOST_TEST(pairs["rows"].size() == 64U);
}

BOOST_AUTO_TEST_CASE(each_size_and_path_comes_to_what_it_must) {
    const json scenario = reproduced(kLarge, "");
    for (const auto& [id, cause] :
         {std::pair{"glibc.1500.fragments-dropped", "size-not-lowered"},
          {"glibc.4096.edns0.fragments-dropped", "size-not-lowered"},
          {"glibc.1184.edns0.mtu-1000.fragments-dropped", "fragments-dropped"},
          {"glibc.1232.tcp-filtered", "tcp-filtered"},
          {"glibc.1232.edns0.tcp-filtered", "tcp-filtered"},
          {"glibc.4096.no-tcp", "no-tcp"},
          {"musl.4096.fragments-dropped", "size-not-lowered"}}) {
        BOOST_TEST(cell_named(scenario, id)["cause"] == cause, id);
    }
    for (const char* id :
         {"glibc.512.tcp-filtered", "glibc.1232.fragments-dropped", "glibc.4096.fragments-pass",
          "cure.use-vc", "cure.allow-dns-tcp", "cure.edns-1232"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
}

BOOST_AUTO_TEST_CASE(answers_that_the_path_loses_have_another_cause) {
    trap(kPath, "glibc.list-3", "control.no-loss",
         command("dut",
                 std::string("iptables -t mangle -A FORWARD -p udp --sport 53") + kEveryFortieth),
         "answer-lost");
}

BOOST_AUTO_TEST_CASE(queries_that_the_path_loses_have_another_cause) {
    trap(kPath, "glibc.list-3", "control.no-loss",
         command("dut",
                 std::string("iptables -t mangle -A FORWARD -p udp --dport 53") + kEveryFortieth),
         "query-lost");
}

BOOST_AUTO_TEST_CASE(a_slow_path_has_another_cause) {
    trap(kPath, "glibc.list-3", "control.no-loss",
         command("dut", "tc qdisc add dev d0 root tbf rate 16kbit burst 400 limit 1000000"),
         "late-answer");
}

BOOST_AUTO_TEST_CASE(an_access_list_that_refuses_has_another_cause) {
    trap(kPath, "glibc.list-3", "control.no-loss", stranger(""), "foreign-answer");
    trap(kSplit, "glibc.nx-cname", "control.nx-nx", stranger(""), "foreign-answer");
}

// A cache in front keeps each answer for an hour, whatever its TTL is: names that are asked for
// once do not show it.
BOOST_AUTO_TEST_CASE(a_cache_that_lies_about_ttl_has_another_cause) {
    trap(kSplit, "control.nx-nx", "glibc.cache-expiry",
         stranger("--server=203.0.113.2 --cache-size=1000 --min-cache-ttl=3600 --neg-ttl=3600"),
         "foreign-answer");
}

// A client without IPv6 asks for AAAA all the same, and is told of the search alone.
BOOST_AUTO_TEST_CASE(a_client_without_ipv6_is_given_no_other_cause) {
    const Sprung run = spring(
        {.arguments = {"repro", kSplit, "--cells", "glibc.nx-cname,glibc.nx-empty,control.nx-nx"},
         .plant = command("client", "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1")});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    const json& scenario = run.scenario(kSplit);
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
    BOOST_TEST(cell_named(scenario, "control.nx-nx")["verdict"] == "PASS", scenario["headline"]);
    BOOST_TEST(cell_named(scenario, "glibc.nx-cname")["cause"] == kSplit);
    BOOST_TEST(cell_named(scenario, "glibc.nx-empty")["verdict"] == "PASS");
}

BOOST_AUTO_TEST_CASE(queries_that_a_filter_rejects_have_another_cause) {
    trap(kSplit, "glibc.nx-cname", "control.nx-nx",
         command("dut", "iptables -A FORWARD -p udp --dport 53 -j REJECT"), "query-lost");
}

BOOST_AUTO_TEST_CASE(a_server_that_answers_rubbish_has_another_cause) {
    const auto plant =
        command("server", rubbish_server(5353) +
                              " iptables -t nat -A PREROUTING -p udp --dport 53 -j REDIRECT "
                              "--to-ports 5353");
    trap(kPath, "glibc.list-3", "control.no-loss", plant, "rubbish-answer");
    trap(kSplit, "glibc.nx-cname", "control.nx-nx", plant, "rubbish-answer");
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_said_and_nothing_concluded) {
    const Sprung run =
        spring({.arguments = {"repro", kPath, "--cells", "glibc.list-3,control.no-loss"},
                .plant = command("server", rubbish_server(53))});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    BOOST_TEST(run.exit_status == 3);
    const json& cell = cell_named(run.scenario(kPath), "glibc.list-3");
    BOOST_TEST(cell["verdict"] == "ERROR");
    BOOST_TEST(cell["reason"].get<std::string>().find(":53 is already in use") != std::string::npos,
               cell["reason"]);
}

// In copies of /etc, which this run alone sees.
BOOST_AUTO_TEST_CASE(a_resolv_conf_that_cannot_be_replaced_is_said) {
    const std::string own = file_bytes("/etc/resolv.conf");
    for (const std::string& conf :
         {std::string("ln -s /no/such/file"), std::string("mkdir"), std::string("true")}) {
        const Scratch folder;
        const auto ran = pathproof::process::run_program(
            {"unshare", "-m", "sh", "-c",
             "cp -a /etc " + folder.path() + "/etc && mount --bind " + folder.path() +
                 "/etc /etc && rm -f /etc/resolv.conf && " + conf + " /etc/resolv.conf && " +
                 binary() + " repro " + kSplit + " --cells glibc.nx-cname,control.nx-nx"});
        BOOST_REQUIRE(ran.has_value());
        BOOST_TEST(ran->exit_status == 3, conf);
        std::string text = ran->out;
        std::erase(text, '\n');
        BOOST_TEST(text.find("NOT RUN") != std::string::npos, text);
        BOOST_TEST(text.find("/etc/resolv.conf: ") != std::string::npos, text);
    }
    BOOST_TEST(file_bytes("/etc/resolv.conf") == own);
}

// A resolver that is installed must send its known number of queries and end for its known cause;
// one that is not installed is skipped, and the reason names its package.
BOOST_AUTO_TEST_CASE(resolvers_on_demand_multiply_and_go_on_where_answers_differ) {
    for (const auto& [id, cells] :
         {std::pair{
              kPath,
              "glibc.list-6,*go.*,*resolved.*,control.no-loss,cure.trailing-dot,*.after-cure"},
          {kSplit, "glibc.nx-cname,*go.*,*.go,*resolved.*,control.nx-nx,*.after-cure"}}) {
        const auto run = pathproof_run({"repro", id, "--resolvers", "--cells", cells, "--json"});
        BOOST_TEST(run.exit_status == 0, run.err);
        const json scenario = scenario_named(json::parse(run.out), id);
        BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
        for (const auto& [who, package] :
             {std::pair{"go", "golang-go"}, {"resolved", "systemd-resolved"}}) {
            const json& first =
                cell_named(scenario, std::string(who) + (id == kPath ? ".list-6" : ".nx-cname"));
            const json& control = cell_named(
                scenario, std::string("control.") + who + (id == kPath ? ".no-loss" : ".nx-nx"));
            if (first["verdict"] == "SKIP") {
                BOOST_TEST_MESSAGE(first["reason"]);
                BOOST_TEST(first["reason"].get<std::string>().find(package) != std::string::npos);
                continue;
            }
            BOOST_TEST(control["verdict"] == "PASS", control["reason"]);
            BOOST_TEST(measure(control, "queries") == (id == kPath ? 14 : 8), who);
            BOOST_TEST(first["cause"] == cause_on_demand(id, who), first["reason"]);
        }
    }
}

// Only lookups over TCP fail, and nobody saw what became of them.
BOOST_AUTO_TEST_CASE(a_filter_of_tcp_has_another_cause) {
    const Sprung run =
        spring({.arguments = {"repro", kSplit, "--cells", "glibc.nx-cname.use-vc,control.nx-nx"},
                .plant = command("dut", "iptables -A FORWARD -p tcp --dport 53 -j DROP")});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    BOOST_TEST(run.exit_status == 3);
    const json& scenario = run.scenario(kSplit);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(cell_named(scenario, "control.nx-nx")["verdict"] == "PASS");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
