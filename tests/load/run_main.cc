#define BOOST_TEST_MODULE load_run
#include <boost/test/unit_test.hpp>

#include "tests/port/eal_fixture.h"

using pathproof::port::OneEal;

namespace {

const bool kOptionsSet = (OneEal::options() = pathproof::port::two_workers(), true);

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(OneEal);
