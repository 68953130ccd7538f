#define BOOST_TEST_MODULE matrix
#include <boost/test/unit_test.hpp>
