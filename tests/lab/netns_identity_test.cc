#include "harness/lab/netns_identity.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

BOOST_AUTO_TEST_SUITE(netns_identity)

using namespace pathproof;
using namespace pathproof::lab;

// ip-netns(8) leaves such a file where the mount over it is gone.
BOOST_AUTO_TEST_CASE(a_file_among_the_named_ones_that_is_no_namespace_is_passed_over) {
    const std::string file = "/run/netns/pp-no-namespace";
    const bool is_new = std::filesystem::create_directories("/run/netns");
    std::ofstream(file).put('\n');
    int visited = 0;
    const Status outcome = run_where_found([&]() -> Status {
        ++visited;
        return fail(ErrorCode::kNotFound, "not here");
    });
    std::filesystem::remove(file);
    if (is_new) {
        std::filesystem::remove("/run/netns");
    }
    BOOST_REQUIRE(!outcome);
    BOOST_TEST(outcome.error().message == "not here");
    BOOST_TEST(visited >= 1);
}

BOOST_AUTO_TEST_SUITE_END()
