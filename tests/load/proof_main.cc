#define BOOST_TEST_MODULE load_proof
#include <boost/test/unit_test.hpp>

#include "tests/port/eal_fixture.h"

using pathproof::port::OneEal;
BOOST_TEST_GLOBAL_FIXTURE(OneEal);
