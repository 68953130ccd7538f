#define BOOST_TEST_MODULE drops lab
#include "tests/netfilter/needs_root.h"
