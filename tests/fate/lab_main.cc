#define BOOST_TEST_MODULE fate lab
#include "tests/netfilter/needs_root.h"
