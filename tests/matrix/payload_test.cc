#include <boost/test/unit_test.hpp>
#include <vector>

#include "dataplane/matrix/row_spec.h"

using namespace pathproof::matrix;

BOOST_AUTO_TEST_SUITE(payload)

BOOST_AUTO_TEST_CASE(a_payload_is_constant_or_random_and_its_last_byte_is_not_0) {
    std::vector<std::uint8_t> bytes(64);
    write_payload(bytes, PayloadValues::kAllOnes, {1, 1}, 1);
    BOOST_TEST(bytes == std::vector<std::uint8_t>(64, 0xff), boost::test_tools::per_element());
    std::vector<std::uint8_t> others(64);
    write_payload(bytes, PayloadValues::kRandom, {1, 1}, 1);
    write_payload(others, PayloadValues::kRandom, {1, 2}, 1);
    BOOST_TEST(bytes != others);
    BOOST_TEST(bytes.back() != 0);
    bytes.clear();
    write_payload(bytes, PayloadValues::kRandom, {1, 1}, 1);
}

BOOST_AUTO_TEST_SUITE_END()
