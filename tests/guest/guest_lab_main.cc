// Like the pathproof binary, this test is the first process of its guests, and their agent.
#define BOOST_TEST_MODULE guest_lab
#define BOOST_TEST_NO_MAIN
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "harness/guest/init.h"
#include "harness/host/service.h"
#include "tests/lab/own_run.h"

int main(int argc, char** argv) {
    if (pathproof::guest::is_init(argv[0])) {
        pathproof::guest::run_init();
    }
    if (argc == 2 && std::strcmp(argv[1], "agent") == 0) {
        pathproof::host::serve(STDIN_FILENO, STDOUT_FILENO);
        return 0;
    }
    const pathproof::lab::OwnRun own;
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
