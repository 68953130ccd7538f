// Whatever the command: a device that something else needs is not touched, and what is no regular
// file is not replaced.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/process/program.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(gate)

using namespace pathproof;
using namespace pathproof::lab;
namespace fs = std::filesystem;

namespace {

const std::string kSpace = "pp-gate";

process::ProgramOutput pathproof_run(std::vector<std::string> words) {
    const char* binary = std::getenv("PATHPROOF");
    BOOST_REQUIRE(binary != nullptr);
    words.insert(words.begin(), binary);
    const auto done = process::run_program(words);
    BOOST_REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
    return *done;
}

// A namespace with a veth pair c0, d0 in it.
class Space {
  public:
    Space() {
        shell("", "ip netns add " + kSpace);
        shell(kSpace,
              "ip link add c0 type veth peer name d0 && ip link set c0 up && ip link set d0 up");
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space() {
        shell("", "ip netns del " + kSpace + "; umount /run/netns; rmdir /run/netns; true");
    }
};

// Every way in which a command is given a device to touch, or to send on.
std::vector<std::vector<std::string>> all_commands(const std::string& device) {
    const std::vector<std::string> to{
        "--netns", kSpace, "--destination", "203.0.113.2", "--destination-mac", "02:00:00:00:00:11",
        "--count", "1"};
    std::vector<std::vector<std::string>> commands;
    for (const std::string& port :
         {device, "af_packet:" + device, "af_xdp:" + device, "net_af_packet,iface=" + device,
          "net_af_packet7,qpairs=1,iface=" + device, "net_tap,iface=t9,remote=" + device,
          "net_pcap,rx_iface=" + device}) {
        commands.push_back({"generate", port});
        commands.back().insert(commands.back().end(), to.begin(), to.end());
    }
    commands.push_back(
        {"respond", device, "--netns", kSpace, "--rule", "address=192.0.2.1", "--duration", "0.1"});
    commands.push_back({"wire", device, "net_null0", "--netns", kSpace, "--duration", "0.1"});
    commands.push_back({"wire", "net_null0", device, "--netns", kSpace, "--duration", "0.1"});
    commands.push_back({"search", "mlr", device, "--netns", kSpace, "--destination", "203.0.113.2",
                        "--destination-mac", "02:00:00:00:00:11"});
    commands.push_back({"offload", "set", device, "tx=off", "--netns", kSpace});
    commands.push_back({"offload", "check", device, "--netns", kSpace});
    commands.push_back(
        {"offload", "check", "--dpdk", device, "--far", "net_null0", "--netns", kSpace});
    commands.push_back(
        {"offload", "check", "--dpdk", "net_null0", "--far", device, "--netns", kSpace});
    commands.push_back({"profile", "probe", "--dpdk", device, "--netns", kSpace});
    return commands;
}

void all_refuse(const std::string& device, const std::string& because, std::size_t one_in = 1) {
    // The state leaves out parts of `ip -d link`: a bridge's timers run.
    const std::string state = "ethtool -k " + device + "; ip link show " + device +
                              "; ip -d link show " + device + " | grep -o 'promiscuity [0-9]*'";
    const std::string before = shell(kSpace, state);
    std::size_t number = 0;
    for (const std::vector<std::string>& words : all_commands(device)) {
        if (number++ % one_in != 0) {
            continue;
        }
        const auto refused = pathproof_run(words);
        BOOST_TEST_CONTEXT(words[0] << " " << words[1] << " " << words[2] << ": " << because) {
            BOOST_TEST(refused.exit_status == 2, refused.err);
            BOOST_TEST(contains(refused.err, because), refused.err);
        }
    }
    BOOST_TEST(shell(kSpace, state) == before);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_command_refuses_what_the_default_route_goes_through) {
    const Space space;
    shell(kSpace,
          "ip link add br0 type bridge && ip link set c0 master br0 && ip link set br0 up && "
          "ip address add 192.168.7.2/24 dev br0");
    all_refuse("c0", "has the address 192.168.7.2/24", 5);
    shell(kSpace, "ip address del 192.168.7.2/24 dev br0 && ip address add 198.18.0.2/24 dev br0");
    shell(kSpace, "ip route add default via 198.18.0.1");
    all_refuse("c0", "carries the default route");
    all_refuse("br0", "carries the default route", 5);
}

BOOST_AUTO_TEST_CASE(the_default_route_is_found_through_what_sits_on_a_device_and_under_it) {
    unsigned kinds = 0;
    for (const std::string upper :
         {"link c0 name up0 type vlan id 5", "link c0 name up0 type macvlan",
          "link c0 name up0 type ipvlan", "name up0 type vxlan id 5 dev c0 dstport 4789"}) {
        for (const std::string through : {"c0", "up0"}) {
            for (const std::string version : {"-4", "-6"}) {
                const Space space;
                if (shell_status(
                        kSpace, "ip link add " + upper + " 2>&1 | grep -q 'Unknown device'") == 0) {
                    BOOST_TEST_MESSAGE("this kernel has no such device: " << upper);
                    continue;
                }
                ++kinds;
                shell(kSpace, "ip link set up0 up");
                shell(kSpace, "ip " + version + " route add default dev " + through);
                BOOST_TEST_CONTEXT(upper << " " << version) {
                    for (const std::string device : {"c0", "up0"}) {
                        const auto refused =
                            pathproof_run({"offload", "set", device, "tx=off", "--netns", kSpace});
                        BOOST_TEST(refused.exit_status == 2);
                        BOOST_TEST(contains(refused.err, "default route"), refused.err);
                    }
                }
            }
        }
    }
    BOOST_TEST(kinds > 0U);
}

BOOST_AUTO_TEST_CASE(a_device_with_test_addresses_or_none_is_taken_as_ever) {
    const Space space;
    const std::vector<std::string> generate{
        "generate",      "c0",          "--netns",           kSpace,
        "--destination", "203.0.113.2", "--destination-mac", "02:00:00:00:00:11",
        "--count",       "2",           "--drain",           "0"};
    BOOST_TEST(pathproof_run(generate).exit_status != 2);
    for (const std::string address :
         {"198.18.0.1/24", "192.0.2.1/24", "198.51.100.1/24", "203.0.113.1/24", "2001:db8::1/64"}) {
        shell(kSpace, "ip address add " + address + " dev c0");
    }
    const auto sent = pathproof_run(generate);
    BOOST_TEST(sent.exit_status != 2, sent.err);
    BOOST_TEST(pathproof_run({"offload", "set", "c0", "tx=off", "--netns", kSpace}).exit_status ==
               0);
}

BOOST_AUTO_TEST_CASE(a_device_over_which_a_disk_is_served_is_refused) {
    const Space space;
    shell(kSpace, "ip link set lo up && ip address add 198.18.0.1/24 dev c0");
    // An established session to nbd's port; its own address leads to lo.
    const auto refused = process::run_program(
        {"bash", "-c",
         "python3 -c 'import socket,time\n"
         "s=socket.create_server((\"198.18.0.1\",10809))\n"
         "c=socket.create_connection((\"198.18.0.1\",10809))\n"
         "print(flush=True)\ntime.sleep(8)' > /tmp/pp-gate-ready & s=$!; "
         "for n in $(seq 50); do [ -s /tmp/pp-gate-ready ] && break; sleep 0.1; done; "
         "$PATHPROOF offload set lo tx=off; code=$?; kill $s; rm /tmp/pp-gate-ready; exit $code"},
        {.netns = kSpace});
    BOOST_REQUIRE(refused);
    BOOST_TEST(refused->exit_status == 2, refused->err);
    BOOST_TEST(contains(refused->err, "file system or disk that 198.18.0.1 serves"), refused->err);
}

BOOST_AUTO_TEST_CASE(no_command_gives_away_what_is_no_network_device) {
    std::error_code none;
    for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", none)) {
        std::ifstream file(device.path() / "class");
        std::string code;
        file >> code;
        if (code.starts_with("0x02")) {
            continue;  // whether the machine can spare it, is another test's
        }
        const auto refused = pathproof_run({"respond", device.path().filename(), "--rule",
                                            "address=192.0.2.1", "--duration", "0.1"});
        BOOST_TEST(refused.exit_status == 2, refused.err);
        BOOST_TEST(!contains(refused.err, "lab bind"), refused.err);
        BOOST_TEST(contains(refused.err, "no network device"), refused.err);
    }
}

BOOST_AUTO_TEST_CASE(only_regular_files_are_replaced) {
    const Space space;
    const TempFolder folder;
    const std::string fifo = folder.path() + "/fifo";
    const std::string device = folder.path() + "/full";
    const std::string link = folder.path() + "/link";
    const std::string target = folder.path() + "/target";
    BOOST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    BOOST_REQUIRE(mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0);
    std::ofstream(target) << "precious";
    fs::create_symlink("target", link);
    for (const std::string& path : {fifo, device, link, folder.path()}) {
        const auto type = fs::symlink_status(path).type();
        const auto refused = pathproof_run({"inspect", "export", "--netns", kSpace, "--no-drops",
                                            "--duration", "0.05", "--file", path});
        BOOST_TEST(refused.exit_status == 2, refused.err);
        BOOST_TEST((fs::symlink_status(path).type() == type), path);
    }
    BOOST_TEST(folder.read("target") == "precious");
    const auto written = pathproof_run({"inspect", "export", "--netns", kSpace, "--no-drops",
                                        "--duration", "0.05", "--file", target});
    BOOST_TEST(written.exit_status == 0, written.err);
    BOOST_TEST(contains(folder.read("target"), "# TYPE"));
}

BOOST_AUTO_TEST_CASE(a_full_disk_costs_no_verdict_and_leaves_no_empty_file) {
    const TempFolder folder;
    for (const char* size : {"4k", "60k", "200k"}) {
        const std::string out = folder.path() + "/" + size;
        fs::create_directory(out);
        shell("", std::string("mount -t tmpfs -o size=") + size + " none " + out);
        const auto full = pathproof_run(
            {"offload", "check", "--software-nic", "--quick", "--frames", "3", "--fault",
             "tx.inner.tcp.PSEUDO@dport!=4789!1", "--out", out + "/report"});
        BOOST_TEST(full.exit_status == 3, full.err);
        BOOST_TEST(contains(full.out, "NOT QUALIFIED"), full.out + full.err);
        for (const auto& file : fs::recursive_directory_iterator(out)) {
            BOOST_TEST((!file.is_regular_file() || file.file_size() > 0), file.path());
        }
        shell("", "umount " + out);
    }
}

BOOST_AUTO_TEST_SUITE_END()
