#define BOOST_TEST_MODULE netfilter lab
#include "tests/netfilter/needs_root.h"
