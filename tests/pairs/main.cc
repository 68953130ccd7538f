#define BOOST_TEST_MODULE pairs
#include <boost/test/unit_test.hpp>

#include "tests/port/eal_fixture.h"

namespace {

struct TwoWorkers : pathproof::port::OneEal {
    TwoWorkers() : OneEal(pathproof::port::two_workers()) {}
};

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(TwoWorkers);
