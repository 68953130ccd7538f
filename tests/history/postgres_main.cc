#define BOOST_TEST_MODULE history in PostgreSQL
#include <boost/test/unit_test.hpp>
