#define BOOST_TEST_MODULE netfilter
#include <boost/test/unit_test.hpp>
