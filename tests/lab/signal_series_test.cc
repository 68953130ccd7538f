// INT, TERM, HUP and PIPE at random moments of every command that changes the machine: afterwards
// everything is as it was found.
//
// PATHPROOF_SERIES is how many signals are sent, PATHPROOF_SERIES_SEED what their moments are drawn
// from, PATHPROOF_SERIES_ONLY (a word) leaves only commands with that word.
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using namespace pathproof::lab;

namespace {

struct Command {
    const char* words;
    double longest_s;  // the moment of a signal lies before that, more often early than late
    bool quick;        // in a short series too
};

constexpr std::array<Command, 7> kCommands = {{
    {"offload check c0 --netns a --quick", 8, true},
    {"generate c0 --netns a --destination 198.51.100.10 --destination-mac 02:00:00:00:00:11 "
     "--rate 1000 --duration 30",
     3, true},
    {"generate af_xdp:c0 --netns a --destination 198.51.100.10 "
     "--destination-mac 02:00:00:00:00:11 --rate 1000 --duration 30",
     3, true},
    {"lab up overlay --bridge", 0.8, true},
    {"repro dns-race", 12, true},
    {"repro vxlan-checksum", 15, false},
    {"qualify --out report", 30, false},
}};

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// All of the machine that a run could leave changed. Counters are left out, and what the kernel
// writes itself; so are the folders of DPDK and libxdp in /run, which these make for themselves.
constexpr const char* kState = R"(
for netns in a b; do
    echo "== $netns"
    ip -n $netns -d link; ip -n $netns address; ip -n $netns route show table all
    ip netns exec $netns sh -c 'ethtool -k c0 2>/dev/null || ethtool -k d0'
    ip netns exec $netns sysctl -a -r '^net\.' 2>/dev/null | grep -v nf_conntrack
done
echo "== machine"
ip -d link; ip address
sysctl -a -r '^(net\.core|vm\..*huge)' 2>/dev/null
grep HugePages_ /proc/meminfo
find /run /sys/fs/bpf 2>/dev/null | grep -v -e ^/run/dpdk -e ^/run/xdp | sort
cut -d' ' -f5- /proc/self/mountinfo | grep -v ' nsfs ' | sort
)";

struct Stop {
    const Command& command;
    int signal;
    double moment_s;
    std::string text() const {
        return fmt::format("{} after {:.3f} s of '{}'", strsignal(signal), moment_s, command.words);
    }
};

// Exit status; what it said is in `said`.
int run_and_stop(const Stop& stop, const std::string& folder, std::string& said) {
    Started run(stop.command.words, folder);
    usleep(static_cast<useconds_t>(stop.moment_s * 1e6));
    run.signal(stop.signal);
    const int status = run.wait();
    said = read_file(folder + "/said").value_or("");
    return status;
}

// Returns the differences that stay once the kernel has had a moment to remove what is gone.
std::string changed_since(const std::string& before) {
    std::string changed;
    for (int look = 0; look < 5; ++look) {
        changed = difference(before, shell("", kState));
        if (changed.empty()) {
            return {};
        }
        usleep(200'000);
    }
    return changed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(whenever_a_run_is_stopped_the_machine_is_as_it_was_found) {
    const TempFolder folder;
    const int count = std::atoi(variable("PATHPROOF_SERIES", "20").c_str());
    const std::string only = variable("PATHPROOF_SERIES_ONLY", "");
    std::mt19937_64 random(std::stoull(variable("PATHPROOF_SERIES_SEED", "12")));
    std::vector<Command> commands;
    for (const Command& command : kCommands) {
        if ((command.quick || count > 40) && contains(command.words, only)) {
            commands.push_back(command);
        }
    }
    BOOST_REQUIRE(!commands.empty());
    shell("",
          "ip netns add a; ip netns add b; "
          "ip -n a link add c0 type veth peer name d0 netns b; "
          "ip netns exec a sysctl -qw net.ipv6.conf.c0.accept_dad=0; "
          "ip netns exec b sysctl -qw net.ipv6.conf.d0.accept_dad=0; "
          "ip -n a link set c0 up; ip -n b link set d0 up; "
          "ip netns exec a ethtool -K c0 sg off");
    // Carrier and addresses come up to a second later.
    std::string before;
    for (int look = 0; look < 10 && shell("", kState) != before; ++look) {
        before = shell("", kState);
        usleep(1'500'000);
    }
    int same = 0;
    std::ofstream log(variable("PATHPROOF_SERIES_LOG", "/dev/null"), std::ios::app);
    for (int number = 0; number < count; ++number) {
        const Command& command = commands[static_cast<std::size_t>(number) % commands.size()];
        const double share = std::uniform_real_distribution<double>(0, 1)(random);
        // A short series sends the signals of long runs early.
        const double longest = count > 40 ? command.longest_s : std::min(command.longest_s, 2.5);
        const Stop stop{command, kSignals[random() % kSignals.size()], share * share * longest};
        std::string said;
        const int status = run_and_stop(stop, folder.path(), said);
        if (contains(command.words, "lab up") && status == 0) {
            shell("", binary_path() + " lab down");
        }
        const std::string changed = changed_since(before);
        same += changed.empty() ? 1 : 0;
        log << fmt::format("{} {}: exit {} {}\n", number, stop.text(), status,
                           changed.empty() ? "same" : "CHANGED")
            << std::flush;
        BOOST_TEST(changed == "", stop.text() << ": exit " << status << "\n"
                                              << changed << "it said:\n"
                                              << said);
        if (!changed.empty()) {
            shell_status("", binary_path() + " restore");
            shell_status("",
                         "sysctl -qw vm.nr_hugepages=64; sysctl -qw vm.nr_hugepages=0; "
                         "ip netns exec a ethtool -K c0 gso on tso on tx on sg off");
        }
    }
    BOOST_TEST_MESSAGE(same << " of " << count << " left the machine as it was found");
    BOOST_TEST(same == count);
    shell("", "ip netns del a; ip netns del b; umount /run/netns; rmdir /run/netns");
}
