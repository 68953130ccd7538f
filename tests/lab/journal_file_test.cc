#include "harness/lab/journal_file.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(journal_file)

using namespace pathproof::lab;
using Kind = UndoAction::Kind;

namespace {

const JournalHeader kHeader{
    .run_id = "1a2b", .pid = 77, .boot_id = "this-boot", .command = "pathproof qualify \"x\"\n"};
const UndoAction kNetns{.kind = Kind::kNetns, .name = "pp-1a2b-dut"};
const UndoAction kSysctl{
    .kind = Kind::kSysctl, .name = "net.core.gro_normal_batch", .value = "8", .set = "1"};
const UndoAction kHugepages{.kind = Kind::kHugepages,
                            .name = "vm.nr_hugepages",
                            .value = "0 pages, 0 surplus",
                            .set = "at most 256"};
const UndoAction kFeature{.kind = Kind::kFeature,
                          .name = "tx-checksum-ip-generic",
                          .value = "off [requested on]",
                          .set = "off",
                          .place = "4026532:12:3 02:00:00:00:00:01",
                          .netns = "pp-1a2b-node-a",
                          .device = "vx"};

const UndoAction kIp{.kind = Kind::kIp,
                     .name = "address delete 198.19.255.1/30 dev e0",
                     .place = "4026532:12:3",
                     .netns = "pp-1a2b-dut",
                     .device = "e0"};

const UndoAction kXdp{
    .kind = Kind::kXdp, .value = "program 5420", .place = "4026532:12:3", .device = "r0"};

UndoAction sysctl(const std::string& name, const std::string& value) {
    return {.kind = Kind::kSysctl, .name = name, .value = value};
}

std::string whole_journal() {
    return header_line(kHeader) + action_line(kNetns) + action_line(kSysctl) +
           action_line(kHugepages) + action_line(kFeature) + action_line(kIp) + action_line(kXdp);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
    const JournalContent content = parse_journal(whole_journal());
    BOOST_TEST((content.header == kHeader));
    BOOST_TEST((content.actions == std::vector{kNetns, kSysctl, kHugepages, kFeature, kIp, kXdp}));
    BOOST_TEST(!content.told);
    BOOST_TEST(parse_journal(whole_journal() + told_line()).told);
    BOOST_TEST(!content.kept);
    BOOST_TEST(content.unreadable.empty());
}

BOOST_AUTO_TEST_CASE(a_journal_cut_anywhere_keeps_its_whole_lines) {
    const std::string whole = whole_journal();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string cut = whole.substr(0, length);
        const JournalContent content = parse_journal(cut);
        const auto lines = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n'));
        BOOST_TEST(content.actions.size() == (lines == 0 ? 0 : lines - 1));
        BOOST_TEST(content.unreadable.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_done_line_takes_all_earlier_actions_of_that_thing_and_no_later_ones) {
    const UndoAction second = sysctl(kSysctl.name, "1");
    const UndoAction other = sysctl("net.ipv4.ip_forward", "0");
    const UndoAction later = sysctl(kSysctl.name, "16");
    const JournalContent content =
        parse_journal(header_line(kHeader) + action_line(kSysctl) + action_line(other) +
                      action_line(second) + done_line(kSysctl) +
                      done_line({.kind = Kind::kNetns, .name = other.name}) + action_line(later));
    BOOST_TEST((content.actions == std::vector{other, later}));
    UndoAction elsewhere = kFeature;
    elsewhere.place = "4026532:12:4";
    BOOST_TEST((parse_journal(action_line(kFeature) + done_line(elsewhere)).actions ==
                std::vector{kFeature}));
}

BOOST_AUTO_TEST_CASE(a_kept_journal_says_what_for) {
    const JournalContent content =
        parse_journal(header_line(kHeader) + action_line(kNetns) + kept_line("overlay"));
    BOOST_REQUIRE(content.kept);
    BOOST_TEST(*content.kept == "overlay");
    BOOST_TEST(content.actions.size() == 1U);
}

BOOST_AUTO_TEST_CASE(lines_that_are_none_of_ours_are_put_aside_and_the_rest_is_read) {
    const std::vector<std::string> strange{"not json",
                                           "[1]",
                                           "{}",
                                           R"({"undo":"reformat","name":"sda"})",
                                           R"({"undo":7})",
                                           R"({"done":"everything"})",
                                           std::string("\xff\0\xfe", 3)};
    std::string text = header_line(kHeader);
    for (const std::string& line : strange) {
        text.append(line).append("\n");
    }
    const JournalContent content = parse_journal(text + action_line(kNetns));
    BOOST_TEST((content.unreadable == strange));
    BOOST_TEST((content.actions == std::vector{kNetns}));
}

BOOST_AUTO_TEST_CASE(a_header_with_values_of_the_wrong_type_is_no_crash) {
    const JournalContent content = parse_journal(
        std::string(R"({"run":12,"pid":"many","boot":null,"command":[]})").append("\n") +
        action_line(kNetns));
    BOOST_TEST(content.header.run_id.empty());
    BOOST_TEST(content.header.format == 0);
    BOOST_TEST(content.header.pid == 0);
    BOOST_TEST(content.actions.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
