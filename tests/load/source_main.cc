#define BOOST_TEST_MODULE load_sources
#include <boost/test/unit_test.hpp>
