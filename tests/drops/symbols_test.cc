#include "harness/drops/symbols.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>

using namespace pathproof::drops;

namespace {

// A file that looks like /proc/kallsyms.
class Kallsyms {
  public:
    explicit Kallsyms(const std::string& text)
        : path_("kallsyms-" + std::to_string(getpid()) + ".txt") {
        std::ofstream(path_) << text;
    }
    ~Kallsyms() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_is_named_by_the_function_that_holds_it) {
    // In no order, as modules come after the kernel; data between the functions.
    const Kallsyms file(
        "ffffffff81000200 T second\nffffffff81000100 t first.isra.0\n"
        "ffffffff81000280 d data\nffffffffc0a01000 t in_module\t[nf_conntrack]\n");
    KernelSymbols symbols(file.path());
    symbols.learn({0xffffffff81000205, 0xffffffff810001ff, 0xffffffff81000290, 0xffffffffc0a01abc,
                   0xffffffff81000050, 0xffffffff81000200});
    BOOST_TEST(symbols.name(0xffffffff81000205) == "second+0x5");
    BOOST_TEST(symbols.name(0xffffffff810001ff) == "first.isra.0+0xff");
    BOOST_TEST(symbols.name(0xffffffff81000290) == "second+0x90");
    BOOST_TEST(symbols.name(0xffffffffc0a01abc) == "in_module+0xabc");
    BOOST_TEST(symbols.name(0xffffffff81000200) == "second+0x0");
    BOOST_TEST(symbols.name(0xffffffff81000050) == "0xffffffff81000050");
}

BOOST_AUTO_TEST_CASE(hidden_addresses_leave_the_number) {
    const Kallsyms file("0000000000000000 T first\n0000000000000000 T second\n");
    KernelSymbols symbols(file.path());
    symbols.learn({0xffffffff81000205});
    BOOST_TEST(symbols.name(0xffffffff81000205) == "0xffffffff81000205");
}

BOOST_AUTO_TEST_CASE(addresses_are_learnt_one_after_the_other) {
    const Kallsyms file("ffffffff81000100 T first\nffffffff81000200 T second\n");
    KernelSymbols symbols(file.path());
    symbols.learn({0xffffffff81000110});
    symbols.learn({0xffffffff81000110, 0xffffffff81000210});
    BOOST_TEST(symbols.name(0xffffffff81000110) == "first+0x10");
    BOOST_TEST(symbols.name(0xffffffff81000210) == "second+0x10");
}
