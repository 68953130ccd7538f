#define BOOST_TEST_MODULE lab_namespaces
#include <boost/test/unit_test.hpp>

#include "tests/lab/own_run.h"

using pathproof::lab::OwnRun;
BOOST_TEST_GLOBAL_FIXTURE(OwnRun);
