// With the arguments --in-guest PACKAGE it runs itself in a guest of QEMU, on that kernel of Debian's.
#define BOOST_TEST_MODULE fate lab
#define BOOST_TEST_NO_MAIN
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <string_view>

#include "harness/guest/init.h"
#include "harness/guest/kernel.h"
#include "harness/guest/program.h"

namespace {

int run_in_guest(const char* package, std::vector<std::string> words) {
    using namespace pathproof;
    const auto kernel = guest::find_kernel(package, "");
    const auto status = kernel ? guest::run_in_guest({.kernel = *kernel,
                                                      .words = std::move(words),
                                                      .typed = "--in-guest",
                                                      .writable = {}})
                               : Result<int>(pass_on(kernel.error()));
    if (!status) {
        std::fprintf(stderr, "%s\n", status.error().message.c_str());
    }
    return status.value_or(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (pathproof::guest::is_init(argv[0])) {
        pathproof::guest::run_init();
    }
    if (argc > 2 && std::string_view(argv[1]) == "--in-guest") {
        return run_in_guest(argv[2], {argv + 3, argv + argc});
    }
    if (geteuid() != 0) {
        std::fputs("skipped: network namespaces need root\n", stderr);
        return 77;
    }
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
