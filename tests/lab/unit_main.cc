#define BOOST_TEST_MODULE lab
#include <boost/test/unit_test.hpp>
