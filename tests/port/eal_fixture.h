// The one EAL of a test process, on ordinary pages and without privileges. Cases use it through
// eal().
#pragma once

#include <boost/test/unit_test.hpp>
#include <optional>

#include "dataplane/port/eal.h"

namespace pathproof::port {

inline Eal*& current_eal() {
    static Eal* the_eal = nullptr;
    return the_eal;
}

inline Eal& eal() {
    BOOST_REQUIRE(current_eal() != nullptr);
    return *current_eal();
}

// A global fixture: BOOST_TEST_GLOBAL_FIXTURE(OneEal).
struct OneEal {
    static inline EalOptions options;  // set by the test before main() through a static initialiser
    std::optional<Eal> held;
    OneEal() {
        auto started = Eal::start(options);
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
        held.emplace(std::move(*started));
        current_eal() = &*held;
    }
    ~OneEal() {
        current_eal() = nullptr;
        held.reset();
    }
};

}  // namespace pathproof::port
