// For the first source of a program whose tests build network namespaces: without root they are skipped.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>

namespace {

// Meson takes exit status 77 for a skipped test.
struct NeedsRoot {
    NeedsRoot() {
        if (geteuid() != 0) {
            std::puts("skipped: these tests build network namespaces and need root");
            std::exit(77);
        }
    }
};

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(NeedsRoot);
