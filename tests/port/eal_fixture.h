// The one EAL of a test process, on ordinary pages and without privileges. Cases use it through
// eal().
#pragma once

#include <boost/test/unit_test.hpp>
#include <optional>

#include "dataplane/port/cpus.h"
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

// Two workers, on two CPUs where there are two.
inline EalOptions two_workers() {
    const std::vector<int> cpus = usable_cpus(2);
    return {.worker_cpus = {cpus.front(), cpus.back()}, .memory_mib = 512};
}

// A global fixture, BOOST_TEST_GLOBAL_FIXTURE(OneEal), or the base of one with options.
struct OneEal {
    std::optional<Eal> held;
    explicit OneEal(const EalOptions& options = {}) {
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
