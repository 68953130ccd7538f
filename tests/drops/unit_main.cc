#define BOOST_TEST_MODULE drops
#include <boost/test/unit_test.hpp>
