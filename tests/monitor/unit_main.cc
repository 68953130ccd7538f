#define BOOST_TEST_MODULE monitor
#include <boost/test/unit_test.hpp>
