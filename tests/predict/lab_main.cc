#define BOOST_TEST_MODULE predict lab
#include "tests/netfilter/needs_root.h"
