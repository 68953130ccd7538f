// Results: what TRY makes of them, and the names that errors have between processes.
#include "dataplane/base/result.h"

#include <boost/test/unit_test.hpp>
#include <memory>

#include "dataplane/base/exit_code.h"

using namespace pathproof;

namespace {

Result<std::unique_ptr<int>> made(bool possible, int& calls) {
    ++calls;
    if (!possible) {
        return fail(ErrorCode::kNotFound, "no number {}", calls);
    }
    return std::make_unique<int>(7);
}

Status done(bool possible) {
    return possible ? Status() : fail(ErrorCode::kUnavailable, "not done");
}

// Adds 1 to `ends` on its way out, whichever way that is.
struct Ending {
    int& ends;
    ~Ending() { ++ends; }
};

Result<int> value_plus_one(bool first, bool second, int& calls, int& ends) {
    const Ending ending{ends};
    const auto number = TRY(made(first, calls));
    TRY(done(second));
    return *number + 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(result)

BOOST_AUTO_TEST_CASE(try_gives_the_value_and_asks_once) {
    int calls = 0;
    int ends = 0;
    const auto value = value_plus_one(true, true, calls, ends);
    BOOST_TEST_REQUIRE(value.has_value());
    BOOST_TEST(*value == 8);
    BOOST_TEST(calls == 1);
    BOOST_TEST(ends == 1);
}

BOOST_AUTO_TEST_CASE(try_ends_the_function_with_the_error) {
    int calls = 0;
    int ends = 0;
    const auto none = value_plus_one(false, true, calls, ends);
    BOOST_TEST_REQUIRE(!none.has_value());
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    BOOST_TEST(none.error().message == "no number 1");
    const auto undone = value_plus_one(true, false, calls, ends);
    BOOST_TEST_REQUIRE(!undone.has_value());
    BOOST_TEST(undone.error().message == "not done");
    BOOST_TEST(calls == 2);
    BOOST_TEST(ends == 2);
}

BOOST_AUTO_TEST_CASE(an_error_code_survives_its_name) {
    for (const ErrorCode code :
         {ErrorCode::kBadInput, ErrorCode::kNotPermitted, ErrorCode::kNotSupported,
          ErrorCode::kKernelLacks, ErrorCode::kNotFound, ErrorCode::kUnavailable,
          ErrorCode::kFailed}) {
        BOOST_TEST((error_code_from_name(error_code_name(code)) == code), error_code_name(code));
    }
    BOOST_TEST((error_code_from_name("no such code") == ErrorCode::kFailed));
}

// An error that the user can correct by typing something else is a usage error. One that only
// another kernel or a later day corrects makes the run incomplete.
BOOST_AUTO_TEST_CASE(each_error_has_its_exit_code) {
    for (const ErrorCode code : {ErrorCode::kBadInput, ErrorCode::kNotPermitted,
                                 ErrorCode::kNotSupported, ErrorCode::kNotFound}) {
        BOOST_TEST(exit_code(code) == 2, error_code_name(code));
    }
    for (const ErrorCode code :
         {ErrorCode::kKernelLacks, ErrorCode::kUnavailable, ErrorCode::kFailed}) {
        BOOST_TEST(exit_code(code) == 3, error_code_name(code));
    }
}

BOOST_AUTO_TEST_SUITE_END()
