#define BOOST_TEST_MODULE screen
#include <boost/test/unit_test.hpp>
