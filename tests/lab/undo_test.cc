// Order of undoing, and what stays in the journal, on files in the place of the kernel's.
#include "harness/lab/undo.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/lab/recovery.h"
#include "harness/lab/run_lock.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(undo)

using namespace pathproof;
using namespace pathproof::lab;
using Kind = UndoAction::Kind;

namespace {

UndoAction sysctl(const std::string& name, const std::string& value, const std::string& set) {
    return {.kind = Kind::kSysctl, .name = name, .value = value, .set = set};
}

UndoAction hugepages(const std::string& set) {
    return {.kind = Kind::kHugepages,
            .name = "vm.nr_hugepages",
            .value = "10 pages, 0 surplus",
            .set = set};
}

void write_hugepages(const TempFolder& folder, int pages, int surplus, int free_pages) {
    folder.write("proc/sys/vm/nr_hugepages", fmt::format("{}\n", pages));
    folder.write("proc/meminfo",
                 fmt::format("HugePages_Free:  {}\nHugePages_Surp:  {}\n", free_pages, surplus));
}

JournalContent of_this_boot(std::vector<UndoAction> actions) {
    return {
        .header = {.run_id = "1a2b", .pid = 1, .boot_id = "this-boot", .command = "pathproof x"},
        .actions = std::move(actions)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_several_changes_of_one_thing_the_oldest_value_goes_back) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "3\n");
    const UndoReport report =
        undo_content(of_this_boot({sysctl("net.core.x", "1", "2"), sysctl("net.core.x", "2", "3")}),
                     folder.files());
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "1\n");
    BOOST_TEST((in_short(report.done) ==
                std::vector<std::string>{"set sysctl net.core.x back from 3 to 1"}));
    BOOST_TEST(report.problems.empty());
}

BOOST_AUTO_TEST_CASE(a_folder_of_a_run_goes_with_all_that_is_in_it_and_no_other_does) {
    const TempFolder folder;
    folder.write("1a2b-cni/1/net/lock", "");
    folder.write("etc/kept", "");
    const auto at = [&](const std::string& name) {
        return UndoAction{.kind = Kind::kFolder, .name = folder.path() + "/" + name};
    };
    const UndoReport report = undo_content(
        of_this_boot({at("1a2b-cni"), at("etc"), at("1a2b-cni/../etc")}), folder.files());
    BOOST_TEST((in_short(report.done) ==
                std::vector<std::string>{"deleted folder " + folder.path() + "/1a2b-cni"}));
    BOOST_TEST(report.problems.size() == 2);
    BOOST_TEST(folder.has("etc/kept"));
    BOOST_TEST(!folder.has("1a2b-cni"));
}

BOOST_AUTO_TEST_CASE(what_somebody_else_set_since_is_left_and_said) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "16\n");
    write_hugepages(folder, 300, 0, 300);
    const UndoReport report = undo_content(
        of_this_boot({sysctl("net.core.x", "8", "1"), hugepages("at most 256"), hugepages("256")}),
        folder.files());
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "16\n");
    BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "300\n");
    BOOST_TEST(report.done.empty());
    BOOST_TEST(report.problems.empty());
    BOOST_TEST(report.left.empty());
    BOOST_TEST(
        (report.left_alone ==
         std::vector<std::string>{"vm.nr_hugepages is 300, set by somebody else since: left",
                                  "sysctl net.core.x is 16, set by somebody else since: left"}));
}

BOOST_AUTO_TEST_CASE(undoing_twice_does_nothing_the_second_time) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "3\n");
    write_hugepages(folder, 64, 0, 64);
    const JournalContent content =
        of_this_boot({sysctl("net.core.x", "1", "3"),
                      hugepages("64"),
                      {.kind = Kind::kNetns, .name = "pp-no-such-namespace"},
                      {.kind = Kind::kFeature,
                       .name = "tx",
                       .value = "on",
                       .set = "off",
                       .place = "1:1:1",
                       .device = "vx"}});
    BOOST_TEST(undo_content(content, folder.files()).done.size() == 2U);
    const UndoReport again = undo_content(content, folder.files());
    BOOST_TEST(again.done.empty());
    BOOST_TEST(again.problems.empty());
    BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == "10\n");
}

BOOST_AUTO_TEST_CASE(hugepages_of_a_run_killed_while_the_kernel_took_them_are_ours) {
    const TempFolder folder;
    for (const auto& [now, then] : {std::pair{41, "10\n"}, {4, "4\n"}, {65, "65\n"}}) {
        write_hugepages(folder, now, 0, now);
        const UndoReport report =
            undo_content(of_this_boot({hugepages("at most 64")}), folder.files());
        BOOST_TEST(folder.read("proc/sys/vm/nr_hugepages") == then);
        BOOST_TEST(report.problems.empty());
        BOOST_TEST(report.left_alone.size() == (now == 41 ? 0U : 1U));
    }
}

BOOST_AUTO_TEST_CASE(surplus_hugepages_that_nobody_uses_are_given_back) {
    const TempFolder folder;
    write_hugepages(folder, 10, 33, 40);
    // The files stay as they are: it tries, reads back, and says that they stayed.
    const UndoReport stuck = undo_content(of_this_boot({hugepages("43")}), folder.files());
    BOOST_REQUIRE(!stuck.done.empty());
    BOOST_TEST(stuck.done[0].what == "gave back 33 surplus hugepages; their number is 10");
    BOOST_REQUIRE(stuck.problems.size() == 1U);
    BOOST_TEST(stuck.problems[0].starts_with("does not stay as it was put back: "));
    BOOST_TEST(stuck.left.size() == 1U);
    write_hugepages(folder, 10, 33, 0);
    const UndoReport used = undo_content(of_this_boot({hugepages("43")}), folder.files());
    BOOST_TEST(used.done.empty());
    BOOST_TEST((used.left_alone ==
                std::vector<std::string>{"33 hugepages more than before are in use by another "
                                         "program, and go with its end"}));
}

BOOST_AUTO_TEST_CASE(what_a_run_cannot_put_back_is_said_once_and_can_be_forgotten) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    folder.write("proc/sys/net/core/stuck/value", "3\n");
    folder.write("run/1a2b.journal", header_line(of_this_boot({}).header) +
                                         action_line(sysctl("net.core.stuck", "1", "3")));
    const Recovery first = recover(run, folder.files(), Tell::kOnce);
    BOOST_REQUIRE(first.problems.size() == 1U);
    BOOST_TEST(first.problems[0].find("'pathproof restore --forget 1a2b' forgets it") !=
               std::string::npos);
    BOOST_TEST(recover(run, folder.files(), Tell::kOnce).problems.empty());
    BOOST_TEST(recover(run, folder.files(), Tell::kAlways).problems.size() == 1U);
    BOOST_TEST(folder.has("run/1a2b.journal"));
}

BOOST_AUTO_TEST_CASE(a_journal_of_another_version_is_not_undone_and_said_once) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    folder.write("proc/sys/a", "9\n");
    folder.write("run/aaaa.journal",
                 R"({"run":"aaaa","pid":1,"boot":"this-boot","command":"pathproof x"})"
                 "\n"
                 R"({"undo":"sysctl","name":"a","value":"1"})"
                 "\n");
    const Recovery first = recover(run, folder.files(), Tell::kOnce);
    BOOST_REQUIRE(first.problems.size() == 1U);
    BOOST_TEST(first.problems[0].find("another version of pathproof") != std::string::npos);
    BOOST_TEST(folder.read("proc/sys/a") == "9\n");
    BOOST_TEST(recover(run, folder.files(), Tell::kOnce).problems.empty());
    BOOST_TEST(folder.has("run/aaaa.journal"));
}

BOOST_AUTO_TEST_CASE(a_sysctl_whose_device_is_gone_is_done) {
    const TempFolder folder;
    const UndoReport report = undo_content(
        of_this_boot({sysctl("net.ipv4.conf.gone.rp_filter", "1", "0")}), folder.files());
    BOOST_TEST(report.done.empty());
    BOOST_TEST(report.problems.empty());
    BOOST_TEST(report.left.empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_undone_is_named_and_the_rest_is_undone_all_the_same) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "3\n");
    folder.write("proc/sys/net/core/y", "3\n");
    // A folder where the value should be cannot be read, by root neither.
    folder.write("proc/sys/net/core/stuck/value", "3\n");
    const JournalContent content =
        of_this_boot({sysctl("net.core.x", "1", "3"), sysctl("net.core.stuck", "1", "3"),
                      sysctl("net.core.y", "1", "3")});
    const UndoReport report = undo_content(content, folder.files());
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "1\n");
    BOOST_TEST(folder.read("proc/sys/net/core/y") == "1\n");
    BOOST_REQUIRE(report.problems.size() == 1U);
    BOOST_TEST(report.problems[0].find("net.core.stuck") != std::string::npos);

    const std::string path = folder.path() + "/1a2b.journal";
    BOOST_REQUIRE(finish_journal(path, content, report));
    const JournalContent left = parse_journal(folder.read("1a2b.journal"));
    BOOST_TEST((left.header == content.header));
    BOOST_TEST((left.actions == std::vector{sysctl("net.core.stuck", "1", "3")}));
}

BOOST_AUTO_TEST_CASE(values_of_before_a_reboot_are_left_alone) {
    const TempFolder folder;
    folder.write("proc/sys/net/core/x", "3\n");
    JournalContent content = of_this_boot({sysctl("net.core.x", "1", "3")});
    content.header.boot_id = "the boot before";
    const UndoReport report = undo_content(content, folder.files());
    BOOST_TEST(report.done.empty());
    BOOST_TEST(report.left.empty());
    BOOST_TEST(folder.read("proc/sys/net/core/x") == "3\n");
}

BOOST_AUTO_TEST_CASE(recovery_undoes_dead_journals_and_leaves_kept_and_live_ones) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    folder.write("proc/sys/a", "9\n");
    folder.write("proc/sys/b", "9\n");
    folder.write("proc/sys/c", "9\n");
    const auto journal = [&](const std::string& name) {
        const JournalContent content = of_this_boot({});
        return header_line(content.header) + action_line(sysctl(name, "1", "9"));
    };
    folder.write("run/aaaa.journal", journal("a") + R"({"undo":"sysctl","na)");
    folder.write("run/bbbb.journal", journal("b") + kept_line("overlay"));
    folder.write("run/cccc.journal", journal("c"));
    Fd live = open_locked(run + "/cccc.journal", O_RDWR);
    BOOST_REQUIRE(static_cast<bool>(live));

    const Recovery report = recover(run, folder.files(), Tell::kOnce);
    BOOST_TEST(folder.read("proc/sys/a") == "1\n");
    BOOST_TEST(folder.read("proc/sys/b") == "9\n");
    BOOST_TEST(folder.read("proc/sys/c") == "9\n");
    BOOST_TEST(!folder.has("run/aaaa.journal"));
    BOOST_TEST(folder.has("run/bbbb.journal"));
    BOOST_TEST(folder.has("run/cccc.journal"));
    const std::vector<std::string> restored = in_short(report.runs);
    BOOST_REQUIRE(restored.size() == 1U);
    BOOST_TEST(restored[0] == "set sysctl a back from 9 to 1, left by run 1a2b ('pathproof x')");

    const auto runs = list_runs({.directory = run});
    BOOST_REQUIRE(runs);
    BOOST_REQUIRE(runs->size() == 2U);
    BOOST_TEST((runs->at(0).state == RunInfo::State::kKept));
    BOOST_TEST((runs->at(1).state == RunInfo::State::kLive));

    live.reset();
    BOOST_TEST(recover(run, folder.files(), Tell::kOnce).runs.size() == 1U);
    BOOST_TEST(folder.read("proc/sys/c") == "1\n");
}

BOOST_AUTO_TEST_CASE(a_line_that_cannot_be_read_is_shown_and_does_not_come_back) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    folder.write("proc/sys/a", "9\n");
    folder.write("run/aaaa.journal", header_line(of_this_boot({}).header) + "garbage\n" +
                                         action_line(sysctl("a", "1", "9")));
    const Recovery report = recover(run, folder.files(), Tell::kOnce);
    BOOST_TEST(folder.read("proc/sys/a") == "1\n");
    BOOST_REQUIRE(report.problems.size() == 1U);
    BOOST_TEST(report.problems[0].find("'garbage'") != std::string::npos);
    BOOST_TEST(recover(run, folder.files(), Tell::kOnce).problems.empty());
}

BOOST_AUTO_TEST_CASE(sysctl_names_are_taken_as_sysctl_8_takes_them) {
    const TempFolder folder;
    folder.write("proc/sys/net/ipv4/conf/eth0.5/rp_filter", "2\n");
    BOOST_TEST(read_sysctl("net.ipv4.conf.eth0/5.rp_filter", folder.files()).value_or("") == "2");
    BOOST_TEST(read_sysctl("net/ipv4/conf/eth0.5/rp_filter", folder.files()).value_or("") == "2");
    for (const char* name :
         {"", "/etc/passwd", "..kernel", "net/../../secret", "net.core.nosuch"}) {
        const auto value = read_sysctl(name, folder.files());
        BOOST_TEST(!value, name);
    }
    BOOST_TEST(
        (read_sysctl("net.core.nosuch", folder.files()).error().code == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(lists_compare_without_regard_to_tabs_and_blanks) {
    const TempFolder folder;
    folder.write("proc/sys/range", "1024\t65535\n");
    const UndoReport report =
        undo_content(of_this_boot({sysctl("range", "1024 65535", "1 2")}), folder.files());
    BOOST_TEST(report.done.empty());
}

BOOST_AUTO_TEST_SUITE_END()
