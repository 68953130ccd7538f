#define BOOST_TEST_MODULE bench_lab
#include <boost/test/unit_test.hpp>
