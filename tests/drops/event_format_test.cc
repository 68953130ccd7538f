#include "harness/drops/event_format.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "harness/drops/packet_program.h"

using namespace pathproof;
using namespace pathproof::drops;

namespace {

// The format file of skb:kfree_skb as a kernel shows it.
std::string format_of(const std::string& kernel) {
    std::ifstream file(std::string(std::getenv("EVENT_FORMATS")) + "/" + kernel);
    BOOST_REQUIRE_MESSAGE(file, "no format file of " << kernel);
    return {std::istreambuf_iterator<char>(file), {}};
}

DropEvent event_of(const std::string& kernel) {
    const auto event = parse_drop_event(format_of(kernel));
    BOOST_REQUIRE_MESSAGE(event, event.error().message);
    return *event;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_before_5_17_is_refused_and_the_version_needed_is_named) {
    const auto event = parse_drop_event(format_of("linux-5.15"));
    BOOST_REQUIRE(!event);
    BOOST_TEST((event.error().code == ErrorCode::kKernelLacks));
    BOOST_TEST(event.error().message.find("5.17") != std::string::npos, event.error().message);
}

BOOST_AUTO_TEST_CASE(reasons_are_numbered_as_each_kernel_numbers_them) {
    struct Expected {
        const char* kernel;
        std::uint32_t not_specified, netfilter_drop;
    };
    for (const Expected& expected : {Expected{"linux-5.17", 0, 6}, Expected{"linux-6.1", 1, 7},
                                     Expected{"linux-6.8", 2, 8}, Expected{"linux-6.18", 2, 12}}) {
        BOOST_TEST_CONTEXT(expected.kernel) {
            const DropEvent event = event_of(expected.kernel);
            BOOST_TEST(event.not_specified == expected.not_specified);
            BOOST_TEST(event.reason_name(expected.netfilter_drop) == "NETFILTER_DROP");
            BOOST_TEST(event.reason_name(expected.not_specified) == "NOT_SPECIFIED");
            BOOST_TEST(event.reason_name(65537) == "reason 65537");
        }
    }
    BOOST_TEST(event_of("linux-5.17").id == 1426U);
    BOOST_TEST(event_of("linux-5.17").reasons.size() == 8U);
    BOOST_TEST(event_of("linux-6.18").reasons.size() == 127U);
    BOOST_TEST(event_of("linux-6.18").reason_name(127) == "RECURSION_LIMIT");
}

BOOST_AUTO_TEST_CASE(fields_are_taken_from_where_each_kernel_puts_them) {
    const DropEvent old = event_of("linux-6.8");
    BOOST_TEST(old.packet_offset == 8U);
    BOOST_TEST(old.location_offset == 16U);
    BOOST_TEST(old.protocol_offset == 24U);
    BOOST_TEST(old.reason_offset == 28U);
    BOOST_TEST(old.end == 32U);
    const DropEvent with_socket = event_of("linux-6.18");
    BOOST_TEST(with_socket.location_offset == 16U);
    BOOST_TEST(with_socket.protocol_offset == 32U);
    BOOST_TEST(with_socket.reason_offset == 36U);
    BOOST_TEST(with_socket.end == 40U);
}

BOOST_AUTO_TEST_CASE(a_record_is_read_at_the_places_of_its_kernel) {
    std::array<std::byte, 40> record{};
    const auto put = [&](std::size_t offset, auto value) {
        std::memcpy(record.data() + offset, &value, sizeof value);
    };
    put(16, std::uint64_t{0xffffffff81a2b3c4});
    put(32, std::uint16_t{0x0800});
    put(36, std::uint32_t{12});
    const DropEvent event = event_of("linux-6.18");
    const auto facts = read_tracepoint(record, event);
    BOOST_REQUIRE(facts);
    BOOST_TEST(facts->location == 0xffffffff81a2b3c4U);
    BOOST_TEST(facts->ethertype == 0x0800);
    BOOST_TEST(facts->reason == 12U);
    BOOST_TEST(!facts->netns_inode.has_value());
    BOOST_TEST(!read_tracepoint(std::span(record).first(39), event).has_value());
}

BOOST_AUTO_TEST_CASE(a_field_of_another_size_is_refused_by_name) {
    const std::string format = format_of("linux-6.18");
    const auto event = parse_drop_event(
        changed(format, "location;\toffset:16;\tsize:8", "location;\toffset:16;\tsize:4"));
    BOOST_REQUIRE(!event);
    BOOST_TEST(event.error().message.find("'location' of the tracepoint skb:kfree_skb has 4") !=
               std::string::npos);
    const auto missing = parse_drop_event(changed(format, "protocol;", "gone;"));
    BOOST_REQUIRE(!missing);
    BOOST_TEST(missing.error().message.find("'protocol'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_does_not_print_names_is_refused) {
    const std::string format = format_of("linux-6.1");
    const auto event = parse_drop_event(format.substr(0, format.find("print fmt:")) +
                                        "print fmt: \"%d\", REC->reason\n");
    BOOST_REQUIRE(!event);
    BOOST_TEST((event.error().code == ErrorCode::kKernelLacks));
    BOOST_TEST(event.error().message.find("does not name") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_may_be_hexadecimal_and_what_is_no_number_is_left_out) {
    const std::string format = format_of("linux-6.1");
    const auto event = parse_drop_event(
        format.substr(0, format.find("print fmt:")) +
        "print fmt: \"%s %s\", __print_symbolic(REC->reason, { 0x10, \"NOT_SPECIFIED\" }, "
        "{ SOME_ENUM, \"WORD\" }, { 3, \"THREE\" }), __print_symbolic(REC->protocol, "
        "{ 4, \"FOUR\" })\n");
    BOOST_REQUIRE_MESSAGE(event, event.error().message);
    BOOST_TEST(event->not_specified == 16U);
    BOOST_TEST(event->reasons.size() == 2U);
    BOOST_TEST(event->reason_name(3) == "THREE");
}

BOOST_AUTO_TEST_CASE(text_that_is_no_format_file_is_refused) {
    for (const char* text : {"", "\n\n", "name: kfree_skb\n", "name: kfree_skb\nID: x\nformat:\n",
                             "ID: 1\nfield:int a;\toffset:8;\tsize:4;\n"}) {
        BOOST_TEST(!parse_drop_event(text).has_value(), text);
    }
}
