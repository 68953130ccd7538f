#define BOOST_TEST_MODULE predict
#include <boost/test/unit_test.hpp>
