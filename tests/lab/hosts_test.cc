// Changes to the hosts of a built-in lab go through their agents and are taken back.
#include "harness/lab/hosts.h"

#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/lab/nat_path.h"
#include "harness/lab/path_settings.h"
#include "harness/setting/cures.h"
#include "tests/lab/support.h"

BOOST_AUTO_TEST_SUITE(hosts)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

const std::string kTimestampsNow = "sysctl -n net.ipv4.tcp_timestamps";

struct Lab {
    std::unique_ptr<Journal> journal;
    std::unique_ptr<NatPath> path;

    Lab() {
        auto opened = Journal::open("pathproof test");
        BOOST_REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
        journal = std::move(*opened);
        auto built = NatPath::build(*journal);
        BOOST_REQUIRE_MESSAGE(built, (built ? "" : built.error().message));
        path = std::move(*built);
    }
    const NatPathNames& names() const { return path->names(); }
    void set(const Settings& settings) const {
        const Status done = path->hosts().set(settings);
        BOOST_REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
    }
    // State that a cell may change. A table that iptables made stays, without a rule.
    std::string state() const {
        return shell(names().dut, "iptables-save | grep '^-'; ip -o link; ip route") +
               shell(names().dut, "nft list tables ip 2>/dev/null | grep kube-proxy || true") +
               shell(names().client, kTimestampsNow + "; sysctl -n net.ipv4.ip_local_port_range");
    }
};

Settings all_kinds(const NatPathNames& names) {
    Settings settings = {
        masquerade(names, {.snat = Snat::kMasquerade}), client_ports({40'000, 40'099}),
        setting::nft_table(HostRole::kDut, "nft", "kube-proxy",
                           "table ip kube-proxy {\nchain c { ct state new accept; }\n}\n"),
        setting::links(HostRole::kDut, "bridge", "$TO_SERVER",
                       {{"link add pp-test type bridge", "link delete pp-test"},
                        {"link set pp-test up", "link set pp-test down"}})};
    for (const char* id : {"timestamps-2", "be-liberal", "drop-invalid"}) {
        settings = both(settings, setting::cure(id).settings);
    }
    return settings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_set_is_there_and_what_is_not_set_again_is_taken_back) {
    {
        const Lab lab;
        const std::string found = lab.state();
        lab.set(all_kinds(lab.names()));
        const std::string set = lab.state();
        for (const char* words :
             {"-A PATH-POSTROUTING -o d1 -p tcp -j MASQUERADE", "--ctstate INVALID -j DROP",
              "kube-proxy", "pp-test", "40000\t40099"}) {
            BOOST_TEST(contains(set, words), words << " in " << set);
        }
        BOOST_TEST(shell(lab.names().client, kTimestampsNow) == "2\n");
        // Setting once more adds nothing twice.
        lab.set(all_kinds(lab.names()));
        BOOST_TEST(difference(set, lab.state()) == "");
        lab.set({});
        BOOST_TEST(difference(found, lab.state()) == "");
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_cure_on_top_amends_the_rules_that_are_set) {
    {
        const Lab lab;
        lab.set(both({masquerade(lab.names(), {.snat = Snat::kMasquerade})},
                     setting::cure("random-fully").settings));
        BOOST_TEST(contains(lab.state(), "-p tcp -j MASQUERADE --random-fully"));
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(after_a_setting_that_failed_the_next_ones_are_whole) {
    {
        const Lab lab;
        const std::string found = lab.state();
        const auto device = [](const char* type) {
            return setting::links(
                HostRole::kDut, "device", "$TO_SERVER",
                {{std::string("link add pp-test type ") + type, "link delete pp-test"},
                 {"address add 198.18.77.1/32 dev pp-test",
                  "address delete 198.18.77.1/32 dev pp-test"}});
        };
        BOOST_TEST(!lab.path->hosts().set({device("no-such-type")}));
        lab.set({device("bridge")});
        BOOST_TEST(
            contains(shell(lab.names().dut, "ip -o address show dev pp-test"), "198.18.77.1/32"));
        BOOST_TEST(!lab.path->hosts().set(
            {setting::sysctl(HostRole::kDut, "net.ipv4.no_such_sysctl", "1")}));
        lab.set({});
        BOOST_TEST(difference(found, lab.state()) == "");
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_a_killed_agent_had_set_is_put_back_by_the_next_one_on_that_host) {
    {
        const Lab lab;
        lab.set(all_kinds(lab.names()));
        kill(lab.path->hosts().agent(HostRole::kDut).pid(), SIGKILL);
        usleep(200'000);
        BOOST_TEST(!lab.path->hosts().set({}));
        BOOST_TEST(contains(lab.state(), "INVALID -j DROP"));
        const auto next = agent::Client::start_in_netns(lab.names().dut);
        BOOST_REQUIRE(next);
        BOOST_REQUIRE((*next)->apply(
            {setting::sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1").changes[0]}));
        const std::string now = lab.state();
        for (const char* words : {"INVALID -j DROP", "MASQUERADE", "kube-proxy", "pp-test"}) {
            BOOST_TEST(!contains(now, words), words);
        }
        BOOST_TEST((*next)->put_back().has_value());
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_killed_controller_leaves_nothing_set) {
    std::string netns;
    {
        Forked run([](const Forked::Say& say) {
            const Lab lab;
            lab.set(all_kinds(lab.names()));
            say(lab.names().dut);
            pause();
        });
        netns = run.hear();
        BOOST_REQUIRE(!netns.empty());
        run.signal(SIGKILL);
        run.wait();
    }
    // The agents of the killed run hear that it is gone.
    std::string rules;
    for (int tenths = 0; tenths < 50; ++tenths) {
        rules = shell(netns, "iptables-save | grep -v '^[#:]' || true");
        if (!contains(rules, "MASQUERADE")) {
            break;
        }
        usleep(100'000);
    }
    BOOST_TEST(!contains(rules, "MASQUERADE"), rules);
    wait_for_agents();
    BOOST_TEST(restore_all().has_value());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_the_kernel_lacks_is_told_before_anything_is_set) {
    {
        const Lab lab;
        setting::Setting setting = setting::sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1");
        setting.needs = {.probe = {"false"}, .package = "p", .kernel = "part of that name"};
        const auto lacks = lab.path->hosts().lacks({setting});
        BOOST_REQUIRE(lacks);
        BOOST_TEST(*lacks == "this kernel has no part of that name");
        BOOST_TEST(*lab.path->hosts().lacks(all_kinds(lab.names())) == "");
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
