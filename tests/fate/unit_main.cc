#define BOOST_TEST_MODULE fate
#include <boost/test/unit_test.hpp>
