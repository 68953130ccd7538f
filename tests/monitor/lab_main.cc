#define BOOST_TEST_MODULE monitor lab
#include "tests/netfilter/needs_root.h"
