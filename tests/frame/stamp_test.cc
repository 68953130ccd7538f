#include "dataplane/frame/stamp.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(stamps)

using namespace pathproof::frame;

namespace {

using Octets = std::vector<std::uint8_t>;

Octets dns(std::string_view name) {
    Octets message(12, 0);
    message.push_back(9);
    for (const char c : name) {
        message.push_back(static_cast<std::uint8_t>(c == '.' ? 13 : c));
    }
    message.resize(message.size() + 5);
    return message;
}

Octets binary() {
    return {0x70, 0x70, 4, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc};
}

// Makes a TCP header with NOP, NOP and timestamps 0x01020304 and 0x0a0b0c0d.
Octets tcp(std::uint8_t flags) {
    return {0xc0, 0x01, 0, 53, 0x31, 0x23, 0x45, 0x67, 0x31, 0x23, 0x45, 0x68, 0x80, flags, 0,  64,
            0,    0,    0, 0,  1,    1,    8,    10,   1,    2,    3,    4,    10,   11,    12, 13};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_name_is_read_whatever_case_its_letters_are_in) {
    const Stamp expected{2, 0x0123abcd, 0xfedcba987654};
    BOOST_TEST((read_dns_stamp(dns("q0123abcd.cfedcba987654")) == expected));
    BOOST_TEST((read_dns_stamp(dns("Q0123aBcD.CFedCBA987654")) == expected));
}

BOOST_AUTO_TEST_CASE(other_names_are_no_stamps) {
    BOOST_TEST(!read_dns_stamp(dns("w0123abcd.cfedcba987654")));
    BOOST_TEST(!read_dns_stamp(dns("q0123abcg.cfedcba987654")));
    BOOST_TEST(!read_dns_stamp(dns("q0123abcd.qfedcba987654")));  // stream 16
    BOOST_TEST(!read_dns_stamp(dns("q0123abcd.Afedcba98765/")));
    Octets other_length = dns("q0123abcd.cfedcba987654");
    other_length[12] = 8;
    BOOST_TEST(!read_dns_stamp(other_length));
    other_length = dns("q0123abcd.cfedcba987654");
    other_length[22] = 12;
    BOOST_TEST(!read_dns_stamp(other_length));
}

BOOST_AUTO_TEST_CASE(a_payload_is_read_by_its_magic) {
    BOOST_TEST((read_binary_stamp(binary()) == Stamp{4, 0xdeadbeef, 0x123456789abc}));
    for (const std::size_t at : {0u, 1u, 3u}) {
        Octets other = binary();
        other[at] ^= 1;
        BOOST_TEST(!read_binary_stamp(other));
    }
    Octets stream = binary();
    stream[2] = 16;
    BOOST_TEST(!read_binary_stamp(stream));
}

BOOST_AUTO_TEST_CASE(a_syn_is_read_and_other_segments_are_not) {
    BOOST_TEST((read_syn_stamp(tcp(0x02)) == Stamp{3, 0x01234567, 0x01020304ull << 10}));
    BOOST_TEST(!read_syn_stamp(tcp(0x12)));
    BOOST_TEST(!read_syn_stamp(tcp(0x10)));
    Octets no_timestamps = tcp(0x02);
    no_timestamps[22] = 9;
    BOOST_TEST(!read_syn_stamp(no_timestamps));
}

BOOST_AUTO_TEST_CASE(what_answers_a_syn_is_read_by_its_acknowledgement) {
    const SynAnswer answered{3, 0x01234567, 0x0a0b0c0dull << 10};
    BOOST_TEST((read_syn_answer(tcp(0x12)) == answered));
    BOOST_TEST((read_syn_answer(tcp(0x14)) == answered));
    BOOST_TEST(!read_syn_answer(tcp(0x02)));
    BOOST_TEST(!read_syn_answer(tcp(0x10)));
    Octets bare = tcp(0x14);
    bare.resize(20);
    bare[12] = 0x50;
    BOOST_TEST((read_syn_answer(bare) == SynAnswer{3, 0x01234567, std::nullopt}));
}

BOOST_AUTO_TEST_CASE(acknowledging_sequence_zero_wraps_within_the_stream) {
    Octets last = tcp(0x12);
    last[8] = 0x40;
    last[9] = last[10] = last[11] = 0;
    BOOST_TEST((read_syn_answer(last)->stream == 3));
    BOOST_TEST((read_syn_answer(last)->sequence == 0x0fffffff));
}

BOOST_AUTO_TEST_CASE(what_is_cut_short_is_no_stamp_and_nothing_behind_it_is_read) {
    const Octets name = dns("q0123abcd.cfedcba987654");
    for (std::size_t size = 0; size < 36; ++size) {
        BOOST_TEST(!read_dns_stamp(std::span(name).first(size)));
    }
    const Octets payload = binary();
    for (std::size_t size = 0; size < 16; ++size) {
        BOOST_TEST(!read_binary_stamp(std::span(payload).first(size)));
    }
    for (std::size_t size = 0; size < 32; ++size) {
        const Octets segment = tcp(0x02);
        BOOST_TEST(!read_syn_stamp(
            Octets(segment.begin(), segment.begin() + static_cast<std::ptrdiff_t>(size))));
    }
}

BOOST_AUTO_TEST_CASE(options_that_lie_about_their_length_are_not_followed) {
    for (const unsigned length : {0u, 1u, 11u, 255u}) {
        Octets segment = tcp(0x02);
        segment[23] = static_cast<std::uint8_t>(length);
        BOOST_TEST(!read_syn_stamp(segment));
    }
}

BOOST_AUTO_TEST_CASE(an_option_longer_than_the_header_is_not_read) {
    Octets segment = tcp(0x02);
    segment[12] = 0x70;
    BOOST_TEST(!read_syn_stamp(segment));
}

BOOST_AUTO_TEST_CASE(ids_differ_by_seed_stream_and_sequence) {
    std::set<std::uint16_t> of_sequence;
    unsigned same_seed = 0;
    unsigned same_stream = 0;
    for (std::uint32_t sequence = 0; sequence < 1'000; ++sequence) {
        const std::uint16_t id = StampIds(1, 0).of(sequence);
        of_sequence.insert(id);
        same_seed += id == StampIds(2, 0).of(sequence) ? 1 : 0;
        same_stream += id == StampIds(1, 1).of(sequence) ? 1 : 0;
    }
    BOOST_TEST(of_sequence.size() > 980u);
    BOOST_TEST(same_seed < 5u);
    BOOST_TEST(same_stream < 5u);
}

BOOST_AUTO_TEST_SUITE_END()
