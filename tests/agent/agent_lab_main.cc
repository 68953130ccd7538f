// Like the pathproof binary, this test is its own agent: Client::start_in_netns starts the running
// binary with the argument "agent".
#define BOOST_TEST_MODULE agent_lab
#define BOOST_TEST_NO_MAIN
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "tests/own_agent.h"

int main(int argc, char** argv) {
    if (pathproof::test::was_agent(argc, argv)) {
        return 0;
    }
    if (geteuid() != 0) {
        std::fputs("skipped: network namespaces need root\n", stderr);
        return 77;
    }
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
