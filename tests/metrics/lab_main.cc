#define BOOST_TEST_MODULE metrics lab
#include "tests/netfilter/needs_root.h"
