#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/drops/link_watch.h"
#include "harness/process/netns.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using namespace pathproof::drops;
using netfilter::lab::Namespace;

namespace {

// A pair of devices w0, one in each of two namespaces, that was taken down and up just now: the
// kernel tells of such a carrier (IFF_RUNNING) up to a second late, for both have one index.
struct Pair {
    Namespace here{"watch-a"};
    Namespace there{"watch-b"};
    Pair() {
        here.run("ip link add w0 type veth peer name w0 netns " + there.name());
        for (const char* state : {"up", "down", "up"}) {
            here.run(std::string("ip link set w0 ") + state);
            there.run(std::string("ip link set w0 ") + state);
        }
    }
    // Outages of w0 while `something` goes on.
    template <typename Something>
    std::vector<Outage> watch(const Something& something) const {
        std::vector<Outage> outages;
        const Status watched = process::in_netns(here.name(), [&]() -> Status {
            auto watching = LinkWatch::start();
            if (!watching) {
                return fail(watching.error(), "watch");
            }
            something();
            outages = (*watching)->stop();
            return {};
        });
        BOOST_REQUIRE_MESSAGE(watched, (watched ? "" : watched.error().message));
        std::erase_if(outages, [](const Outage& outage) { return outage.device != "w0"; });
        return outages;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_link_that_has_just_come_up_had_no_outage) {
    const Pair pair;
    BOOST_TEST(pair.watch([] { usleep(1'500'000); }).empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_goes_down_is_an_outage_until_it_is_back) {
    const Pair pair;
    const auto once = pair.watch([&] {
        pair.there.run("ip link set w0 down");
        usleep(200'000);
        pair.there.run("ip link set w0 up");
        usleep(1'500'000);
    });
    BOOST_REQUIRE(once.size() == 1u);
    BOOST_TEST(once[0].until_ns - once[0].from_ns > 100'000'000);
    BOOST_TEST(once[0].until_ns != INT64_MAX);

    const auto still = pair.watch([&] { pair.here.run("ip link set w0 down"); });
    BOOST_REQUIRE(still.size() == 1u);
    BOOST_TEST(still[0].until_ns == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_deleted_is_an_outage_until_there_is_one_of_its_name) {
    const Pair pair;
    const auto gone = pair.watch([&] {
        pair.here.run("ip link delete w0");
        usleep(200'000);
    });
    BOOST_REQUIRE(gone.size() == 1u);
    BOOST_TEST(gone[0].until_ns == INT64_MAX);

    pair.here.run("ip link add w0 type veth peer name w0 netns " + pair.there.name());
    pair.here.run("ip link set w0 up");
    pair.there.run("ip link set w0 up");
    const auto anew = pair.watch([&] {
        pair.here.run("ip link delete w0");
        usleep(200'000);
        pair.here.run("ip link add w0 type veth peer name w0 netns " + pair.there.name());
        pair.here.run("ip link set w0 up");
        pair.there.run("ip link set w0 up");
        usleep(200'000);
    });
    BOOST_REQUIRE(!anew.empty());
    BOOST_TEST(anew.back().until_ns != INT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_device_that_leaves_its_bridge_has_no_outage) {
    const Pair pair;
    pair.here.run("ip link add b0 type bridge");
    pair.here.run("ip link set w0 master b0");
    BOOST_TEST(pair.watch([&] {
                       pair.here.run("ip link set w0 nomaster");
                       usleep(200'000);
                   })
                   .empty());
}
