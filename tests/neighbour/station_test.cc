#define BOOST_TEST_MODULE neighbour
#include "dataplane/neighbour/station.h"

#include <boost/test/unit_test.hpp>
#include <string_view>

#include "dataplane/judge/verifier.h"

using namespace pathproof;
using namespace pathproof::neighbour;

namespace {

frame::ByteVector hex(std::string_view text) {
    frame::ByteVector bytes;
    std::string digits;
    for (const char one : text) {
        if (one != ' ' && one != '\n') {
            digits += one;
        }
    }
    for (std::size_t n = 0; n + 1 < digits.size(); n += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(n, 2), nullptr, 16)));
    }
    return bytes;
}

frame::IpAddress ip(std::string_view text) {
    return frame::parse_ip(text).value();
}

Station station(std::optional<std::vector<std::uint16_t>> vlans = std::vector<std::uint16_t>()) {
    return {.mac = frame::parse_mac("02:00:00:00:00:53").value(),
            .addresses = {{ip("198.18.0.2"), 3}, {ip("2001:2::2"), 2}},
            .vlans = std::move(vlans)};
}

// As Linux 6.18 sent it: 198.18.0.1 at 02:00:00:00:00:01 asks for 198.18.0.4.
const std::string_view kAsks4 =
    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001"
    "020000000001 c6120001 000000000000 c6120004";
// As Linux 6.18 sent it: 2001:2::1 at 02:00:00:00:00:01 asks for 2001:2::3.
const std::string_view kAsks6 =
    "3333ff000003 020000000001 86dd 60000000 0020 3a ff"
    "20010002000000000000000000000001 ff0200000000000000000001ff000003"
    "87 00 3791 00000000 20010002000000000000000000000003 01 01 020000000001";

std::string text(frame::Bytes bytes) {
    std::string out;
    for (const std::uint8_t byte : bytes) {
        out += fmt::format("{:02x}", byte);
    }
    return out;
}

frame::ByteVector answer(const frame::ByteVector& frame, const Station& of) {
    frame::ByteVector out(kMostFrame);
    out.resize(write_answer(out, frame, of));
    return out;
}

bool has_right_checksums(const frame::ByteVector& frame) {
    const judge::FrameVerdict verdict = judge::verify(frame, std::span<const std::uint16_t>());
    return !verdict.any_bad() && verdict.malformed == judge::Malformed::kNone;
}

// The one frame with another value at one place.
frame::ByteVector with(frame::ByteVector frame, std::size_t at, std::uint8_t value) {
    frame[at] = value;
    return frame;
}

frame::ByteVector tagged(frame::ByteVector frame, std::uint16_t control) {
    const std::array<std::uint8_t, 4> tag{0x81, 0, static_cast<std::uint8_t>(control >> 8),
                                          static_cast<std::uint8_t>(control)};
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_arp_request_for_an_address_of_the_station_is_answered) {
    BOOST_TEST(text(answer(hex(kAsks4), station())) ==
               text(hex("020000000001 020000000053 0806 0001 0800 06 04 0002"
                        "020000000053 c6120004 020000000001 c6120001"
                        "000000000000000000000000000000000000")));
}

BOOST_AUTO_TEST_CASE(a_solicitation_for_an_address_of_the_station_is_answered) {
    BOOST_REQUIRE(has_right_checksums(hex(kAsks6)));
    const frame::ByteVector said = answer(hex(kAsks6), station());
    BOOST_TEST(has_right_checksums(said));
    // RFC 4861 section 7.2.4: solicited and override, with the target's link-layer address.
    BOOST_TEST(text(frame::Bytes(said).first(54)) ==
               text(hex("020000000001 020000000053 86dd 60000000 0020 3a ff"
                        "20010002000000000000000000000003 20010002000000000000000000000001")));
    BOOST_TEST(said[54] == 136);
    BOOST_TEST(text(frame::Bytes(said).subspan(58)) ==
               text(hex("60000000 20010002000000000000000000000003 0201 020000000053")));
}

BOOST_AUTO_TEST_CASE(who_has_no_address_yet_is_answered_where_all_nodes_hear_it) {
    frame::ByteVector probe = hex(kAsks6);
    std::fill_n(probe.begin() + 22, 16, std::uint8_t{0});
    probe.resize(probe.size() -
                 8);  // RFC 4861 section 4.3: without the source's link-layer address
    probe[19] = 24;
    // The sum changes by the source, the length and the option.
    const frame::FrameView view = frame::parse_frame(probe, std::span<const std::uint16_t>());
    const judge::FrameVerdict verdict = judge::verify(probe, view);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        judge::write_right(probe, finding);
    }
    const frame::ByteVector said = answer(probe, station());
    BOOST_REQUIRE(has_right_checksums(said));
    BOOST_TEST(text(frame::Bytes(said).first(6)) == "333300000001");
    BOOST_TEST(text(frame::Bytes(said).subspan(38, 16)) == "ff020000000000000000000000000001");
    BOOST_TEST(said[58] == 0x20);

    const frame::ByteVector arp_probe =
        with(with(with(with(hex(kAsks4), 28, 0), 29, 0), 30, 0), 31, 0);
    BOOST_TEST(answer(arp_probe, station()).size() == 60u);
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_what_the_station_is_not_asked) {
    const struct {
        const char* what;
        frame::ByteVector frame;
    } kSilent[] = {
        {"another IPv4 address", with(hex(kAsks4), 41, 5)},
        {"the address before the first", with(hex(kAsks4), 41, 1)},
        {"another network", with(hex(kAsks4), 38, 0xc7)},
        {"a reply", with(hex(kAsks4), 21, 2)},
        {"another hardware", with(hex(kAsks4), 15, 6)},
        {"its own announcement", with(hex(kAsks4), 31, 4)},
        {"cut short",
         [] {
             auto one = hex(kAsks4);
             one.resize(40);
             return one;
         }()},
        {"a wrong checksum", with(hex(kAsks6), 56, 0x38)},
        {"a hop limit below 255", with(hex(kAsks6), 21, 254)},
        {"an advertisement", with(hex(kAsks6), 54, 136)},
        {"no frame", {}},
    };
    for (const auto& [what, frame] : kSilent) {
        BOOST_TEST(answer(frame, station()).empty(), what);
    }
}

BOOST_AUTO_TEST_CASE(tags_come_back_and_other_vlans_are_left_alone) {
    const frame::ByteVector in_7 = tagged(hex(kAsks4), 0x6007);
    const frame::ByteVector said = answer(in_7, station(std::vector<std::uint16_t>{7}));
    BOOST_REQUIRE(said.size() == 60u);
    BOOST_TEST(text(frame::Bytes(said).subspan(12, 6)) == "810060070806");
    BOOST_TEST(answer(in_7, station()).empty());
    BOOST_TEST(answer(in_7, station(std::vector<std::uint16_t>{8})).empty());
    BOOST_TEST(answer(hex(kAsks4), station(std::vector<std::uint16_t>{7})).empty());
    BOOST_TEST(!answer(in_7, station(std::nullopt)).empty());
    BOOST_TEST(has_right_checksums(
        answer(tagged(hex(kAsks6), 7), station(std::vector<std::uint16_t>{7}))));
}

BOOST_AUTO_TEST_CASE(one_station_is_told_what_another_answers) {
    const Station asks{.mac = frame::parse_mac("02:00:00:00:00:01").value(),
                       .addresses = {{ip("198.18.0.1")}, {ip("2001:2::1")}},
                       .vlans = std::vector<std::uint16_t>{7}};
    const Station answers = station(std::vector<std::uint16_t>{7});
    for (const auto& [from, asked] :
         {std::pair{ip("198.18.0.1"), ip("198.18.0.2")}, {link_local(asks.mac), ip("2001:2::2")}}) {
        frame::ByteVector question(kMostFrame);
        question.resize(write_question(question, asks, from, asked));
        BOOST_TEST(has_right_checksums(question));
        const frame::ByteVector said = answer(question, answers);
        BOOST_REQUIRE(!said.empty());
        BOOST_TEST((told_by(said, asks, asked) == answers.mac));
        BOOST_TEST(!told_by(said, asks, asked.plus(1)));
        BOOST_TEST(!told_by(question, asks, asked));
        BOOST_TEST(!told_by(said, station(), asked));
    }
}

BOOST_AUTO_TEST_CASE(a_question_for_ipv6_is_asked_of_the_solicited_nodes) {
    const Station asks{.mac = frame::parse_mac("00:11:22:33:44:55").value(), .addresses = {}};
    BOOST_TEST(to_string(link_local(asks.mac)) == "fe80::211:22ff:fe33:4455");
    frame::ByteVector question(kMostFrame);
    question.resize(write_question(question, asks, link_local(asks.mac), ip("2001:2::ab:cdef")));
    BOOST_TEST(text(frame::Bytes(question).first(6)) == "3333ffabcdef");
    BOOST_TEST(text(frame::Bytes(question).subspan(38, 16)) == "ff0200000000000000000001ffabcdef");
    frame::ByteVector small(59);
    BOOST_TEST(write_question(small, asks, ip("198.18.0.1"), ip("198.18.0.2")) == 0u);
}

BOOST_AUTO_TEST_CASE(a_link_local_address_is_the_stations_own) {
    BOOST_TEST(station().has(ip("fe80::ff:fe00:53")));
    BOOST_TEST(!station().has(ip("fe80::ff:fe00:54")));
}

BOOST_AUTO_TEST_CASE(addresses_are_read_one_by_one_or_from_first_to_last) {
    BOOST_TEST((parse_addresses("198.18.0.53").value() == AddressRange{ip("198.18.0.53"), 1}));
    BOOST_TEST((parse_addresses("198.18.0.250-198.18.1.5").value() ==
                AddressRange{ip("198.18.0.250"), 12}));
    BOOST_TEST(
        (parse_addresses("2001:2::1-2001:2::ff").value() == AddressRange{ip("2001:2::1"), 255}));
    for (const char* wrong : {"", "host", "198.18.0.2-198.18.0.1", "198.18.0.1-2001:2::1",
                              "198.18.0.1-", "2001:2::1-2001:3::1", "10.0.0.0-11.0.0.0"}) {
        const auto refused = parse_addresses(wrong);
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == ErrorCode::kBadInput), wrong);
    }
}
