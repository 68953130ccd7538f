#include "harness/lab/journal.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "harness/lab/nat_box.h"
#include "harness/lab/netns_names.h"
#include "harness/lab/overlay.h"
#include "harness/lab/undo.h"
#include "harness/process/child.h"
#include "harness/process/netns.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(journal)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

std::unique_ptr<Journal> open_journal(const JournalOptions& options = {}) {
    auto journal = Journal::open("pathproof test", options);
    BOOST_REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message));
    return std::move(*journal);
}

void write_memory(const TempFolder& folder, const std::string& available_kb,
                  const std::string& free_pages, const std::string& page_kb = "2048") {
    folder.write("proc/meminfo", "MemTotal:  9 kB\nMemAvailable:  " + available_kb +
                                     " kB\nHugePages_Free: " + free_pages +
                                     "\nHugepagesize:  " + page_kb + " kB\n");
}

// A run that builds an overlay, changes a sysctl, and then waits for its end.
void run_until_killed(const TempFolder& folder, const Forked::Say& say) {
    const auto journal = Journal::open("pathproof doomed", {.proc = folder.files().proc});
    const auto overlay = Overlay::build(**journal);
    const Status set = (*journal)->set_sysctl("net.core.gro_normal_batch", "1");
    say(overlay && set ? (*journal)->run_id() : "");
    pause();
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_left_after_a_normal_end) {
    {
        const auto journal = open_journal();
        const auto overlay = Overlay::build(*journal);
        BOOST_REQUIRE_MESSAGE(overlay, (overlay ? "" : overlay.error().message));
        BOOST_TEST(netns_names().size() == 5U);
        BOOST_TEST(std::filesystem::exists("/run/pathproof/" + journal->run_id() + ".journal"));
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(nothing_is_left_after_an_exception) {
    BOOST_CHECK_THROW(
        {
            const auto journal = open_journal();
            const auto box = NatBox::build(*journal);
            BOOST_REQUIRE(box);
            throw std::runtime_error("out of the middle");
        },
        std::runtime_error);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_build_that_fails_in_the_middle_leaves_nothing) {
    const auto journal = open_journal();
    // The last of the names the overlay wants is taken: somebody else's namespace, which stays.
    const std::string taken = "pp-" + journal->run_id() + "-pod-b";
    shell("", "ip netns add " + taken);
    const auto overlay = Overlay::build(*journal);
    BOOST_REQUIRE(!overlay);
    BOOST_TEST(contains(overlay.error().message, taken));
    BOOST_REQUIRE(journal->undo());
    BOOST_TEST((netns_names() == std::vector{taken}));
    shell("", "ip netns del " + taken);
    shell("", "umount /run/netns && rmdir /run/netns");
}

BOOST_AUTO_TEST_CASE(a_killed_run_is_undone_by_restore) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/gro_normal_batch", "8\n");
    Forked run([&](const Forked::Say& say) { run_until_killed(folder, say); });
    const std::string run_id = run.hear();
    BOOST_REQUIRE(!run_id.empty());

    // A process that nobody ends with the run, as a tester's grandchild would be.
    const std::string netns = "pp-" + run_id + "-tester";
    Forked stray([&](const Forked::Say& say) {
        say(process::enter_netns(netns, process::SysfsView::kKeep) ? "inside" : "");
        pause();
    });
    BOOST_REQUIRE(stray.hear() == "inside");
    BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "1\n");

    run.signal(SIGKILL);
    BOOST_TEST(run.wait() == 128 + SIGKILL);
    wait_for_agents();
    BOOST_TEST(netns_names().size() == 5U);
    const auto dead = list_runs();
    BOOST_REQUIRE(dead);
    for (const RunInfo& each : *dead) {
        BOOST_TEST_MESSAGE(each.run_id << " " << run_state_name(each.state) << " " << each.command);
    }
    BOOST_REQUIRE(dead->size() == 1U);
    BOOST_TEST((dead->front().state == RunInfo::State::kDead));

    const auto restored = restore_all({.proc = folder.files().proc});
    BOOST_REQUIRE_MESSAGE(restored, (restored ? "" : restored.error().message));
    const std::vector<std::string> lines = in_short(*restored);
    BOOST_TEST(lines.size() == 7U);  // one sysctl, five namespaces, one mount
    BOOST_TEST(contains(lines.front(), "gro_normal_batch back from 1 to 8"));
    BOOST_TEST(contains(lines.front(), "pathproof doomed"));
    BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "8\n");
    BOOST_TEST(stray.wait() == 128 + SIGKILL);
    check_nothing_left();

    const auto again = restore_all({.proc = folder.files().proc});
    BOOST_REQUIRE(again);
    BOOST_TEST(again->empty());
}

BOOST_AUTO_TEST_CASE(a_killed_run_is_undone_by_the_next_start) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/gro_normal_batch", "8\n");
    Forked run([&](const Forked::Say& say) { run_until_killed(folder, say); });
    BOOST_REQUIRE(!run.hear().empty());
    run.signal(SIGKILL);
    run.wait();
    {
        const auto journal = open_journal({.proc = folder.files().proc});
        BOOST_TEST(journal->recovered().size() == 7U);
        BOOST_TEST(netns_names().empty());
        BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "8\n");
    }
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(two_runs_at_once_are_refused_and_the_live_one_is_not_touched) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/gro_normal_batch", "8\n");
    Forked run([&](const Forked::Say& say) { run_until_killed(folder, say); });
    BOOST_REQUIRE(!run.hear().empty());

    const auto second = Journal::open("pathproof second");
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::kBusy));
    BOOST_TEST(contains(second.error().message, "pid " + std::to_string(run.pid())));
    BOOST_TEST(contains(second.error().message, "'pathproof doomed'"));
    const auto restored = restore_all();
    BOOST_REQUIRE(!restored);
    BOOST_TEST(contains(restored.error().message, "'pathproof doomed'"));

    // The live run stays untouched even when somebody took the lock file away.
    std::filesystem::remove("/run/pathproof/lock");
    BOOST_TEST(restore_all().value_or(std::vector<RestoredRun>{{}}).empty());
    BOOST_TEST(netns_names().size() == 5U);
    BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "1\n");

    run.signal(SIGKILL);
    run.wait();
    wait_for_agents();
    BOOST_REQUIRE(restore_all({.proc = folder.files().proc}));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_mount_of_run_netns_stays_while_somebody_else_uses_it) {
    {
        const auto journal = open_journal();
        BOOST_REQUIRE(journal->add_netns({"pp-" + journal->run_id() + "-x"}));
        shell("", "ip netns add pp-somebody-else");
    }
    BOOST_TEST((netns_names() == std::vector<std::string>{"pp-somebody-else"}));
    BOOST_TEST(shell_status("pp-somebody-else", "ip link show lo") == 0);
    shell("", "ip netns del pp-somebody-else");
    BOOST_REQUIRE(restore_all());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_mount_of_run_netns_that_was_there_before_stays) {
    shell("", "ip netns add pp-somebody-else && ip netns del pp-somebody-else");
    {
        const auto journal = open_journal();
        BOOST_REQUIRE(journal->add_netns({"pp-" + journal->run_id() + "-x"}));
    }
    BOOST_TEST(netns_names().empty());
    BOOST_TEST(shell_status("", "mountpoint -q /run/netns") == 0);
    shell("", "umount /run/netns && rmdir /run/netns");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_sysctl_set_twice_goes_back_to_its_first_value) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "8\n");
    const auto journal = open_journal({.proc = folder.files().proc});
    BOOST_REQUIRE(journal->set_sysctl("net.core.x", "1"));
    BOOST_REQUIRE(journal->set_sysctl("net.core.x", "2"));
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "2\n");
    BOOST_REQUIRE(journal->restore_sysctl("net.core.x"));
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "8\n");
    // The sysctl is out of the journal: a value that somebody sets from now on is theirs.
    folder.write("proc/sys/net/core/x", "5\n");
    BOOST_REQUIRE(journal->undo());
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "5\n");
}

BOOST_AUTO_TEST_CASE(a_sysctl_of_the_real_kernel_is_set_and_put_back) {
    Forked alone([](const Forked::Say& say) {
        unshare(CLONE_NEWNET);  // the sysctls of a namespace of our own
        const auto journal = Journal::open("pathproof test");
        const Status set = (*journal)->set_sysctl("net.ipv4.ip_default_ttl", "77");
        say(set ? read_sysctl("net.ipv4.ip_default_ttl", {}).value_or("?") : set.error().message);
        say((*journal)->undo() ? read_sysctl("net.ipv4.ip_default_ttl", {}).value_or("?")
                               : "failed");
    });
    BOOST_TEST(alone.hear() == "77");
    BOOST_TEST(alone.hear() == "64");
    BOOST_TEST(alone.wait() == 0);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_sysctl_the_kernel_lacks_or_refuses_is_an_error) {
    const auto journal = open_journal();
    BOOST_TEST((journal->set_sysctl("net.core.nosuch", "1").error().code == ErrorCode::kNotFound));
    // Read-only for everybody: nothing changes on the machine.
    const Status refused = journal->set_sysctl("kernel.ngroups_max", "1");
    BOOST_REQUIRE(!refused);
    BOOST_TEST(contains(refused.error().message, "kernel.ngroups_max"));
}

BOOST_AUTO_TEST_CASE(hugepages_are_raised_by_what_is_missing_and_put_back) {
    const TempFolder folder;
    folder.write("proc/sys/vm/nr_hugepages", "10\n");
    write_memory(folder, "8000000", "4");
    {
        const auto journal = open_journal({.proc = folder.files().proc});
        const auto got = journal->reserve_hugepages(64);
        BOOST_REQUIRE(got);
        BOOST_TEST(*got == 64U);
        BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "38\n");  // 10 + 32 - 4
    }
    BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "10\n");
}

BOOST_AUTO_TEST_CASE(hugepages_take_at_most_half_of_the_memory_that_is_available) {
    const TempFolder folder;
    folder.write("proc/sys/vm/nr_hugepages", "0\n");
    write_memory(folder, "81920", "0");
    const auto journal = open_journal({.proc = folder.files().proc});
    BOOST_TEST(journal->reserve_hugepages(1024).value_or(0) == 40U);
    BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "20\n");
}

BOOST_AUTO_TEST_CASE(enough_free_hugepages_are_left_as_they_are) {
    const TempFolder folder;
    folder.write("proc/sys/vm/nr_hugepages", "600\n");
    write_memory(folder, "8000000", "512");
    const auto journal = open_journal({.proc = folder.files().proc});
    BOOST_TEST(journal->reserve_hugepages(1024).value_or(0) == 1024U);
    BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "600\n");
    write_memory(folder, "8000000", "0", "1048576");
    BOOST_TEST((journal->reserve_hugepages(1024).error().code == ErrorCode::kNotSupported));
}

BOOST_AUTO_TEST_CASE(what_ip_changed_is_changed_back_and_what_is_gone_is_no_problem) {
    const std::string netns = "pp-ip-test";
    shell("", "ip netns add " + netns);
    shell(netns, "ip link add f0 type veth peer name f1");
    const auto addresses = [&] { return shell(netns, "ip -brief address show dev f0"); };
    const std::string before = addresses();
    {
        const auto journal = open_journal();
        const auto add = [&](const std::string& prefix) {
            return journal->change_ip(netns, "f0", "address add " + prefix + " dev f0",
                                      "address delete " + prefix + " dev f0");
        };
        BOOST_REQUIRE(add("198.19.255.1/30"));
        BOOST_REQUIRE(add("198.19.255.5/30"));
        BOOST_TEST(!add("198.19.255.1/30"));
        shell(netns, "ip address add 198.19.255.9/30 dev f0");
        BOOST_TEST(!add("198.19.255.9/30"));
        BOOST_REQUIRE(journal->undo_ip("address delete 198.19.255.5/30 dev f0"));
        BOOST_TEST(contains(addresses(), "198.19.255.1/30"));
        BOOST_TEST(!contains(addresses(), "198.19.255.5/30"));
        BOOST_REQUIRE(journal->undo_ip("address delete 198.19.255.5/30 dev f0"));
        shell(netns, "ip link set f0 name f9");
    }
    shell(netns, "ip link set f9 name f0");
    BOOST_TEST(contains(addresses(), "198.19.255.9/30"));
    shell(netns, "ip address delete 198.19.255.9/30 dev f0");
    BOOST_TEST(addresses() == before);
    shell("", "ip netns del " + netns + "; umount /run/netns && rmdir /run/netns");
}

// A veth f0 in a namespace of its own, and a hand that sets its features as an agent's does.
struct FeatureDevice {
    const std::string netns = "pp-feature-test";
    FeatureDevice() {
        shell("", "ip netns add " + netns);
        shell(netns, "ip link add f0 type veth peer name f1");
    }
    ~FeatureDevice() {
        shell("", "ip netns del " + netns + "; umount /run/netns && rmdir /run/netns");
        check_nothing_left();
    }
    std::string state(const std::string& device = "f0") const {
        return shell(netns, "ethtool -k " + device + " | sed 1d");
    }
    Status set(Journal& journal, const std::string& feature, bool on) const {
        return journal.change_features(netns, "f0", {{feature, on}}, [&] {
            // The command fails where a feature needs another one; the request is kept all the
            // same.
            shell_status(netns, "ethtool -K f0 " + feature + (on ? " on" : " off"));
            return Status();
        });
    }
    // Killed when it has turned checksums, and with them segmentation, off.
    void be_left_by_a_killed_run() const {
        Forked doomed([&](const Forked::Say& say) {
            const auto journal = Journal::open("pathproof doomed");
            say(journal && set(**journal, "tx-checksum-ip-generic", false) &&
                        set(**journal, "tx-generic-segmentation", false)
                    ? "off"
                    : "");
            pause();
        });
        BOOST_REQUIRE(doomed.hear() == "off");
        doomed.signal(SIGKILL);
        doomed.wait();
    }
};

BOOST_AUTO_TEST_CASE(features_go_back_whatever_was_changed_along_with_them) {
    const FeatureDevice device;
    for (const std::string found : {"gro off", "sg off", "tx off", "tso off", "gso off"}) {
        shell(device.netns, "ethtool -K f0 " + found);
        const std::string before = device.state();
        {
            const auto journal = open_journal();
            for (const bool on : {false, true, false}) {
                for (const char* feature :
                     {"tx-checksum-ip-generic", "tx-scatter-gather", "tx-tcp-segmentation",
                      "rx-gro", "tx-generic-segmentation"}) {
                    BOOST_TEST(device.set(*journal, feature, on).has_value());
                }
            }
            BOOST_TEST((found == "gso off" || device.state() != before), found);
            const auto nothing = [] { return Status(); };
            BOOST_REQUIRE(!journal->change_features(device.netns, "f0", {{"no-such-feature", true}},
                                                    nothing));
            const Status undone = journal->undo();
            BOOST_REQUIRE_MESSAGE(undone, (undone ? "" : undone.error().message));
            BOOST_TEST(journal->machine() == "the machine is as it was found");
        }
        BOOST_TEST(device.state() == before, found);
    }
}

BOOST_AUTO_TEST_CASE(what_somebody_else_set_since_stays_and_is_said) {
    const FeatureDevice device;
    const auto journal = open_journal();
    BOOST_REQUIRE(device.set(*journal, "rx-gro", true));
    BOOST_REQUIRE(device.set(*journal, "rx-gro", false));
    shell(device.netns, "ethtool -K f0 rx-gro on tx-udp-segmentation off");
    BOOST_TEST(journal->undo().has_value());
    BOOST_TEST(contains(journal->machine(),
                        "f0 in network namespace pp-feature-test: rx-gro is on, set by somebody "
                        "else since: left"),
               journal->machine());
    BOOST_TEST(journal->left_alone().size() == 2U);
    BOOST_TEST(contains(device.state(), "generic-receive-offload: on"));
}

BOOST_AUTO_TEST_CASE(features_of_a_device_go_back_together_and_are_told_in_one_line) {
    const FeatureDevice device;
    const std::string before = device.state();
    device.be_left_by_a_killed_run();
    const auto restored = restore_all();
    BOOST_REQUIRE_MESSAGE(restored, (restored ? "" : restored.error().message));
    const std::vector<std::string> lines = in_short(*restored);
    BOOST_REQUIRE(lines.size() == 1U);
    BOOST_TEST(contains(lines[0], "f0 in network namespace pp-feature-test: 2 features as before"),
               lines[0]);
    BOOST_TEST(device.state() == before);
}

BOOST_AUTO_TEST_CASE(a_renamed_device_is_found_and_another_one_with_its_name_is_not_touched) {
    const FeatureDevice device;
    const std::string before = device.state();
    device.be_left_by_a_killed_run();
    shell(device.netns,
          "ip link set f0 name f9 && ip link add f0 type veth peer name f2 && "
          "ethtool -K f0 tx off");
    const std::string other = device.state();
    const auto restored = restore_all();
    BOOST_REQUIRE_MESSAGE(restored, (restored ? "" : restored.error().message));
    BOOST_TEST(contains(in_short(*restored).at(0), "f9 in network namespace"));
    BOOST_TEST(device.state("f9") == before);
    BOOST_TEST(device.state() == other);
    // Undoing a device that is gone is done, whoever has its name.
    shell(device.netns, "ip link del f0; ip link set f9 name f0");
    device.be_left_by_a_killed_run();
    shell(device.netns,
          "ip link del f0; ip link add f0 type veth peer name f1; "
          "ethtool -K f0 tx off");
    BOOST_TEST(restore_all().value_or(std::vector<RestoredRun>{{}}).empty());
    BOOST_TEST(device.state() == other);
}

BOOST_AUTO_TEST_CASE(a_killed_run_is_undone_once_its_processes_are_gone) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/gro_normal_batch", "8\n");
    Forked doomed([&](const Forked::Say& say) {
        const auto journal = Journal::open("pathproof doomed", {.proc = folder.files().proc});
        const Status set = (*journal)->set_sysctl("net.core.gro_normal_batch", "1");
        // The child outlives its run by a while, as a tester with much memory does.
        const auto child = process::Child::start(
            {"setpriv", "--pdeathsig", "clear", "sh", "-c",
             "sleep 1.5; echo 1 > " + folder.files().proc + "/sys/net/core/gro_normal_batch"},
            {});
        say(set && child ? "set" : "");
        pause();
    });
    BOOST_REQUIRE(doomed.hear() == "set");
    usleep(300'000);
    doomed.signal(SIGKILL);
    doomed.wait();
    BOOST_TEST(restore_all({.proc = folder.files().proc}).has_value());
    BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "8\n");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_sealed_journal_refuses_every_change) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/gro_normal_batch", "8\n");
    const auto journal = open_journal({.proc = folder.files().proc});
    journal->seal();
    BOOST_TEST(!journal->is_open());
    bool made = false;
    const auto make = [&] {
        made = true;
        return Status();
    };
    for (const Status& refused :
         {journal->set_sysctl("net.core.gro_normal_batch", "1"),
          journal->add_netns({"pp-" + journal->run_id() + "-late"}),
          journal->change_ip("", "lo", "link set lo up", "link set lo down"),
          journal->change_features("", "lo", {{"rx-gro", true}}, make),
          journal->open_ports("", {}, make), journal->keep("overlay"), journal->change({}, make)}) {
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == ErrorCode::kUnavailable));
        BOOST_TEST(contains(refused.error().message, "being stopped"));
    }
    BOOST_TEST(!made);
    BOOST_TEST(folder.read("proc/sys/net/core/gro_normal_batch") == "8\n");
    BOOST_TEST(journal->undo().has_value());
}

BOOST_AUTO_TEST_CASE(a_journal_that_was_undone_takes_no_more_changes) {
    const auto journal = open_journal();
    BOOST_REQUIRE(journal->undo());
    const Status late = journal->add_netns({"pp-" + journal->run_id() + "-late"});
    BOOST_REQUIRE(!late);
    BOOST_TEST((late.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(netns_names().empty());
}

BOOST_AUTO_TEST_CASE(a_kept_lab_outlives_its_run_and_the_next_ones_until_it_is_taken_down) {
    std::string run_id;
    {
        const auto journal = open_journal();
        const auto box = NatBox::build(*journal);
        BOOST_REQUIRE(box);
        BOOST_REQUIRE((*box)->hosts().leave());
        BOOST_REQUIRE(journal->keep("nat-box"));
        run_id = journal->run_id();
    }
    {
        const auto next = open_journal();
        BOOST_TEST(next->recovered().empty());
        const auto box = NatBox::build(*next);
        BOOST_REQUIRE(box);
        BOOST_TEST(netns_names().size() == 4U);
    }
    BOOST_TEST(restore_all().value_or(std::vector<RestoredRun>{{}}).empty());
    BOOST_TEST(netns_names().size() == 2U);
    const auto runs = list_runs();
    BOOST_REQUIRE(runs);
    BOOST_REQUIRE(runs->size() == 1U);
    BOOST_TEST((runs->front().state == RunInfo::State::kKept));
    BOOST_TEST(runs->front().what == "nat-box");
    BOOST_TEST((runs->front().namespaces ==
                std::vector<std::string>{"pp-" + run_id + "-tester", "pp-" + run_id + "-dut"}));

    BOOST_TEST((take_down("beef").error().code == ErrorCode::kNotFound));
    BOOST_TEST((take_down("../" + run_id).error().code == ErrorCode::kNotFound));
    BOOST_REQUIRE(take_down(run_id));
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_note_of_a_mount_that_a_run_never_came_to_goes) {
    const TempFolder folder;
    const std::string note = folder.path() + "/netns-mount";
    BOOST_REQUIRE(note_netns_mount(folder.path()));
    BOOST_TEST(std::filesystem::exists(note));
    BOOST_TEST(!undo_netns_mount(folder.path()).has_value());
    BOOST_TEST(!std::filesystem::exists(note));
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
