#include "dataplane/matrix/payload.h"

#include <boost/test/unit_test.hpp>
#include <string_view>
#include <vector>

using namespace pathproof::matrix;

BOOST_AUTO_TEST_SUITE(payload)

BOOST_AUTO_TEST_CASE(the_digest_is_crc64_of_xz) {
    const std::string_view check = "123456789";
    const std::vector<std::uint8_t> bytes(check.begin(), check.end());
    BOOST_TEST(crc64(bytes) == 0x995dc9bbdf1939fau);
}

BOOST_AUTO_TEST_CASE(a_signed_payload_says_who_it_is_and_any_changed_bit_shows) {
    for (const PayloadValues values : {PayloadValues::kRandom, PayloadValues::kSumsToZero}) {
        for (const std::size_t size : {18u, 19u, 171u, 256u}) {
            std::vector<std::uint8_t> bytes(size);
            write_payload(bytes, values, {7, 9}, 3);
            BOOST_TEST((read_payload(bytes, values).state == PayloadState::kIntact));
            BOOST_TEST((read_payload(bytes, values).label == Label{7, 9}));
            for (std::size_t i = 0; i < size; ++i) {
                const bool tuned = values == PayloadValues::kSumsToZero &&
                                   (i == tuning_word(size) || i == tuning_word(size) + 1);
                bytes[i] ^= 0x10;
                const PayloadState wanted = tuned ? PayloadState::kIntact : PayloadState::kChanged;
                BOOST_REQUIRE((read_payload(bytes, values).state == wanted));
                bytes[i] ^= 0x10;
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(constant_and_short_payloads_are_not_signed) {
    std::vector<std::uint8_t> bytes(64);
    write_payload(bytes, PayloadValues::kAllOnes, {1, 1}, 1);
    BOOST_TEST(bytes == std::vector<std::uint8_t>(64, 0xff), boost::test_tools::per_element());
    BOOST_TEST((read_payload(bytes, PayloadValues::kAllOnes).state == PayloadState::kUnsigned));
    bytes.resize(15);
    write_payload(bytes, PayloadValues::kRandom, {1, 1}, 1);
    BOOST_TEST((read_payload(bytes, PayloadValues::kRandom).state == PayloadState::kUnsigned));
    BOOST_TEST(bytes.back() != 0);
    bytes.clear();
    write_payload(bytes, PayloadValues::kRandom, {1, 1}, 1);
}

BOOST_AUTO_TEST_SUITE_END()
