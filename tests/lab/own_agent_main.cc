// The running program, this test, is what is copied to a host without an agent.
#define BOOST_TEST_MODULE own_agent
#define BOOST_TEST_NO_MAIN
#include "tests/lab/own_run.h"
#include "tests/own_agent.h"

int main(int argc, char** argv) {
    if (pathproof::test::was_agent(argc, argv)) {
        return 0;
    }
    const pathproof::lab::OwnRun own;
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
