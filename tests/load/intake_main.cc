#define BOOST_TEST_MODULE load_intake
#include <boost/test/unit_test.hpp>
