// The commands `lab` and `restore` as a user types them.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/process/program.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(cli)

using namespace pathproof;
using namespace pathproof::lab;
using nlohmann::json;

namespace {

std::string binary() {
    const char* path = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF must name the binary; meson test sets it");
    return path;
}

process::ProgramOutput run(std::vector<std::string> words) {
    words.insert(words.begin(), binary());
    const auto ran = process::run_program(words);
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    return *ran;
}

[[noreturn]] void become_lab_up() {
    const std::string path = std::getenv("PATHPROOF");
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execl(path.c_str(), "pathproof", "lab", "up", "overlay", nullptr);
    _exit(99);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lab_is_up_until_it_is_taken_down) {
    const auto up = run({"lab", "up", "overlay", "--bridge", "--json"});
    BOOST_REQUIRE_MESSAGE(up.exit_status == 0, up.err);
    const json about = json::parse(up.out);
    BOOST_TEST(about["shape"] == "overlay");
    const std::string pod = about["namespaces"]["pod_a"];
    const std::string far = about["addresses"]["pod_b"];
    BOOST_TEST(shell_status(pod, "ping -q -c 2 -i 0.05 -W 1 " + far) == 0);

    const json listed = json::parse(run({"lab", "list", "--json"}).out);
    BOOST_TEST(listed["run"] == about["run"]);
    BOOST_TEST(listed["state"] == "kept");
    const auto restored = run({"restore"});
    BOOST_TEST(restored.exit_status == 0);
    BOOST_TEST(contains(restored.out, "nothing had to be put back"));
    BOOST_TEST(contains(restored.out, "is kept up"));

    const auto down = run({"lab", "down"});
    BOOST_TEST(down.exit_status == 0);
    BOOST_TEST(contains(down.out, "deleted network namespace " + pod));
    BOOST_TEST(run({"lab", "list"}).out == "no lab is up\n");
    BOOST_TEST(run({"lab", "down"}).out == "no lab is up\n");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_commands_that_lab_up_prints_work) {
    const auto up = run({"lab", "up", "nat-box", "--backends", "3", "--snat", "random-fully"});
    BOOST_REQUIRE_MESSAGE(up.exit_status == 0, up.err);
    BOOST_TEST(contains(up.out, "203.0.113.4"));
    const std::size_t at = up.out.find("sudo ip netns exec");
    BOOST_REQUIRE(at != std::string::npos);
    const std::string command = up.out.substr(at + 5, up.out.find('\n', at) - at - 5);
    const std::string rules = shell("", command);
    BOOST_TEST(contains(rules, "KUBE-SVC-TCOU7JCQXEZGVUNU"));
    BOOST_TEST(contains(rules, "random-fully"));
    const std::size_t down = up.out.find("lab down ") + 9;
    BOOST_TEST(run({"lab", "down", up.out.substr(down, 4)}).exit_status == 0);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(of_two_labs_the_one_to_take_down_must_be_named) {
    const json first = json::parse(run({"lab", "up", "nat-box", "--json"}).out);
    const json second = json::parse(run({"lab", "up", "nat-box", "--json"}).out);
    const auto which = run({"lab", "down"});
    BOOST_TEST(which.exit_status == 2);
    BOOST_TEST(contains(which.err, first["run"].get<std::string>()));
    for (const json& lab : {first, second}) {
        BOOST_TEST(run({"lab", "down", lab["run"].get<std::string>()}).exit_status == 0);
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(wrong_words_are_refused_and_nothing_is_built) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"lab", "up", "cloud"},
                                                  {"lab", "up"},
                                                  {"lab", "up", "nat-box", "--backends", "254"},
                                                  {"lab", "up", "nat-box", "--backends", "two"},
                                                  {"lab", "up", "nat-box", "--snat", "full-cone"},
                                                  {"lab", "up", "nat-box", "--udp-timeout", "0"},
                                                  {"lab", "down", "beef"},
                                                  {"lab", "check"},
                                                  {"lab", "check", "/nowhere.toml"}}) {
        const auto refused = run(words);
        BOOST_TEST(refused.exit_status == 2, words.back());
        BOOST_TEST(!refused.err.empty(), words.back());
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_lab_file_is_understood_or_its_error_is_named) {
    const TempFolder folder;
    const std::string good =
        "name = \"bench\"\n[[tester.port]]\nname = \"c0\"\nvdev = \"net_null0\"\n"
        "[dut]\nnetns = \"pp-lab-file\"\n[[dut.device]]\nname = \"dev0\"\nport = \"c0\"\n"
        "address = [\"198.18.0.1/24\"]\n";
    folder.write("good.toml", good);
    folder.write("bad.toml", good + "speed = 25\n");
    const auto understood = run({"lab", "check", "--file-only", folder.path() + "/good.toml"});
    BOOST_TEST(understood.exit_status == 0);
    BOOST_TEST(contains(understood.out, "DUT device dev0, on tester port c0: 198.18.0.1/24"));
    const auto wrong = run({"lab", "check", folder.path() + "/bad.toml"});
    BOOST_TEST(wrong.exit_status == 2);
    BOOST_TEST(contains(wrong.err, "/bad.toml:11:1: unknown key 'speed'"));
}

BOOST_AUTO_TEST_CASE(a_first_lab_file_is_written_and_what_it_names_is_looked_at) {
    const TempFolder folder;
    const std::string path = folder.path() + "/lab.toml";
    const std::vector<std::string> init{"lab",           "init",        path,         "--netns",
                                        "pp-lab-tester", "--dut-netns", "pp-lab-file"};
    const std::vector<std::string> check{"lab", "check", path};
    BOOST_TEST(contains(run(init).err, "'pp-lab-tester' does not exist"));
    shell("", "ip netns add pp-lab-file; ip netns add pp-lab-tester");
    BOOST_TEST(contains(run(init).err, "no network device to spare"));
    BOOST_TEST(!std::filesystem::exists(path));
    shell("pp-lab-file",
          "for i in 0 1; do ip link add dev$i type veth peer name c$i netns "
          "pp-lab-tester; ip link set dev$i up; done");
    shell("pp-lab-tester", "ip link set c0 up; ip link set c1 up");
    const auto written = run(init);
    BOOST_TEST(written.exit_status == 0, written.err);
    const std::string text = folder.read("lab.toml");
    const auto again = run(init);
    BOOST_TEST(again.exit_status == 2);
    BOOST_TEST(contains(again.err, "is never overwritten"), again.err);
    BOOST_TEST(folder.read("lab.toml") == text);
    // Right cables.
    const auto good = run(check);
    BOOST_TEST(good.exit_status == 0, good.out + good.err);
    BOOST_TEST(contains(good.out,
                        "ok    cable of client0 and dev0: cabling: probe frames came "
                        "through both ways"),
               good.out);
    BOOST_TEST(contains(good.out, "ok    tester port server0 (c1): link: up at"), good.out);
    BOOST_TEST(contains(good.out, "ok    DUT: agent: pathproof"), good.out);
    // Crossed ones, and one without a link.
    shell("pp-lab-tester",
          "ip link set c0 down; ip link set c1 down; ip link set c0 name x; "
          "ip link set c1 name c0; ip link set x name c1; ip link set c0 up; "
          "ip link set c1 up");
    const auto crossed = run(check);
    BOOST_TEST(crossed.exit_status == 1);
    BOOST_TEST(contains(crossed.out,
                        "BAD   cable of client0 and dev0: cabling: probe frames of "
                        "dev0 were seen at server0 of the tester ports, not at "
                        "client0"),
               crossed.out);
    const auto lines = run({"lab", "check", "--json", path});
    const json last =
        json::parse(lines.out.substr(lines.out.rfind('\n', lines.out.size() - 2) + 1));
    BOOST_TEST(last["outcome"] == "BAD");
    BOOST_TEST(last["what"] == "cabling");
    shell("pp-lab-file", "ip link set dev1 down");
    BOOST_TEST(contains(run(check).out, "BAD   DUT device dev1: link: none"));
    shell("pp-lab-file", "ip link set dev1 up");
    // Devices that must not be touched are refused.
    shell("pp-lab-file",
          "ip address add 198.18.0.1/24 dev dev0; ip route add default via "
          "198.18.0.2 dev dev0");
    const auto refused = run(check);
    BOOST_TEST(refused.exit_status == 2);
    BOOST_TEST(contains(refused.err, "dev0 is refused: it carries the default route"));
    shell("pp-lab-file", "ip route del default && ip address add 192.0.2.7/24 dev dev0");
    BOOST_TEST(contains(run(check).err, "192.0.2.7/24, which is not in the lab file"));
    shell("",
          "ip netns del pp-lab-file; ip netns del pp-lab-tester; umount /run/netns && rmdir "
          "/run/netns");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_must_not_be_bound_is_refused) {
    for (const auto& [words, why] :
         {std::pair{"0000:fe:1f.7", "no PCI device 0000:fe:1f.7"}, {"eth0", "is no PCI address"}}) {
        const auto refused = run({"lab", "bind", words});
        BOOST_TEST(refused.exit_status == 2);
        BOOST_TEST(contains(refused.err, why), refused.err);
    }
    BOOST_TEST(contains(run({"lab", "bind", "--driver", "e1000e", "0000:00:01.0"}).err,
                        "there are vfio-pci"));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_check_of_two_ports_without_a_cable_judges_nothing_and_says_so) {
    const auto checked = process::run_program({"unshare", "--net", binary(), "offload", "check",
                                               "--dpdk", "net_tap0,iface=pa", "--far",
                                               "net_tap1,iface=pb", "--quick", "--frames", "3"});
    BOOST_REQUIRE(checked);
    BOOST_TEST(checked->exit_status == 3, checked->err);
    BOOST_TEST(contains(checked->out, "the path to it is not proven"), checked->out);
}

BOOST_AUTO_TEST_CASE(a_lab_up_killed_at_any_moment_is_put_back_by_restore) {
    for (int delay_ms : {2, 8, 15, 25, 35, 50}) {
        Forked up([](const Forked::Say&) { become_lab_up(); });
        usleep(static_cast<useconds_t>(delay_ms) * 1000);
        up.signal(SIGKILL);
        up.wait();
        const auto restored = run({"restore"});
        BOOST_TEST(restored.exit_status == 0, restored.err);
        run({"lab", "down"});  // it may have been quick
        check_nothing_left();
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_put_back_is_said_with_the_command_that_forgets_it) {
    const TempFolder folder;
    const std::string boot = shell("", "tr -d '\\n' < /proc/sys/kernel/random/boot_id");
    // A folder cannot be written.
    std::filesystem::create_directories("/run/pathproof");
    std::ofstream("/run/pathproof/1a2b.journal")
        << json{{"run", "1a2b"}, {"format", 2}, {"pid", 1}, {"boot", boot}, {"command", "x"}}
        << "\n"
        << json{{"undo", "sysctl"}, {"name", "net.ipv4.conf"}, {"value", "1"}, {"set", "0"}}
        << "\n";
    const auto failed = run({"restore"});
    BOOST_TEST(failed.exit_status == 3);
    BOOST_TEST(contains(failed.err, "'pathproof restore --forget 1a2b' forgets it"), failed.err);
    // Later runs go on, and say nothing of it.
    const auto up = run({"lab", "up", "nat-box"});
    BOOST_TEST(up.exit_status == 0);
    BOOST_TEST(up.err == "");
    BOOST_TEST(run({"lab", "down"}).exit_status == 0);
    BOOST_TEST(run({"restore", "--forget", "beef"}).exit_status == 2);
    BOOST_TEST(run({"restore", "--forget", ""}).exit_status == 2);
    const auto forgotten = run({"restore", "--forget", "1a2b"});
    BOOST_TEST(forgotten.exit_status == 0);
    BOOST_TEST(contains(forgotten.out, "forgotten: could not put back sysctl net.ipv4.conf = 1"),
               forgotten.out);
    BOOST_TEST(run({"restore", "--forget"}).out == "nothing had to be forgotten\n");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(without_root_the_sentence_comes_at_once) {
    const TempFolder folder;
    const std::string copy = folder.path() + "/pathproof";
    std::filesystem::copy_file(binary(), copy);
    shell("", "chmod 755 " + folder.path() + " " + copy);
    for (const std::string words :
         {"lab up overlay", "lab up nat-box", "lab down beef", "restore"}) {
        for (const std::string as : {"--reuid=65534 --clear-groups", "--bounding-set=-all"}) {
            const auto refused =
                process::run_program({"sh", "-c", "setpriv " + as + " " + copy + " " + words});
            BOOST_REQUIRE(refused);
            BOOST_TEST(refused->exit_status == 2, words);
            BOOST_TEST(contains(refused->err, as[2] == 'r' ? "needs root" : "CAP_SYS_ADMIN"),
                       refused->err);
            BOOST_TEST(contains(refused->err, "'lab check'"), words);
        }
    }
    const auto list =
        process::run_program({"setpriv", "--reuid=65534", "--clear-groups", copy, "lab", "list"});
    BOOST_REQUIRE(list);
    BOOST_TEST(list->exit_status == 0);
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
