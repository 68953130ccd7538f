#define BOOST_TEST_MODULE screen_lab
#include <boost/test/unit_test.hpp>
