// Like the pathproof binary, this test is its own agent: what is copied to a host without one is
// the running program.
#define BOOST_TEST_MODULE own_agent
#define BOOST_TEST_NO_MAIN
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "harness/host/service.h"
#include "tests/lab/own_run.h"

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "agent") == 0) {
        pathproof::host::serve(STDIN_FILENO, STDOUT_FILENO);
        return 0;
    }
    const pathproof::lab::OwnRun own;
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
