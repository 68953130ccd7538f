// The test program is its own tester and agent: their clients start the running binary with the
// word "tester" or "agent".
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "harness/agent/server.h"
#include "harness/tester/service.h"

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "tester") == 0) {
        const int channel = dup(STDIN_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        return pathproof::tester::serve(channel, channel);
    }
    if (argc == 2 && std::strcmp(argv[1], "agent") == 0) {
        pathproof::agent::serve(STDIN_FILENO, STDOUT_FILENO);
        return 0;
    }
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
