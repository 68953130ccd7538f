#include "harness/netfilter/planted.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

CpuStats rose(std::vector<std::pair<std::string, std::uint64_t>> counters) {
    return {.counters = std::move(counters)};
}

// Linux 6.18.
Planted usual() {
    return {.refused = rose({{"insert_failed", 1}, {"drop", 1}}),
            .invalid = rose({{"invalid", 1}})};
}

std::vector<CounterMeaning> meanings() {
    return {{.counter = "found", .text = "of NAT", .unknown = ""},
            {.counter = "drop", .text = "as it was read", .unknown = ""}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(planted)

BOOST_AUTO_TEST_CASE(counters_count_as_known_only_where_each_packet_raised_its_own) {
    BOOST_TEST(counts_as_known(usual()));
    Planted untangled = usual();
    untangled.refused = rose({{"drop", 1}});
    BOOST_TEST(!counts_as_known(untangled));
    Planted nothing = usual();
    nothing.invalid = rose({});
    BOOST_TEST(!counts_as_known(nothing));
}

BOOST_AUTO_TEST_CASE(what_was_measured_is_said_and_what_was_read_only_where_it_fits) {
    auto told = meanings();
    put_measured(told, usual());
    BOOST_TEST(told[0].text == "of NAT");
    BOOST_TEST(told[1].text ==
               "as it was read; measured here: +1 with a packet refused for a clash, +0 with an "
               "invalid packet");
    Planted other = usual();
    other.refused = rose({{"insert_failed", 1}});
    told = meanings();
    put_measured(told, other);
    BOOST_TEST(told[1].text.starts_with("measured here: +0 with a packet refused"));
}

BOOST_AUTO_TEST_CASE(without_a_measurement_there_are_raw_values_only) {
    auto told = meanings();
    put_measured(told, fail(ErrorCode::kKernelLacks, "it takes nft_ct"));
    BOOST_TEST(told[0].text == "of NAT");
    BOOST_TEST(told[1].text.empty());
    BOOST_TEST(told[1].unknown.starts_with("raw value only"));
    BOOST_TEST(told[1].unknown.find("it takes nft_ct") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_module_is_loaded_for_it) {
    BOOST_TEST(needs_no_module(""));
    BOOST_TEST(needs_no_module("veth 40960 0 - Live 0x0\n"));
    BOOST_TEST(!needs_no_module("nf_conntrack 172032 2 - Live 0x0\n"));
    BOOST_TEST(!needs_no_module("nf_tables 1 0 - Live 0x0\nnf_conntrack 172032 2 - Live 0x0\n"));
    BOOST_TEST(
        needs_no_module("nft_ct 1 0 - Live 0x0\nnf_tables 1 0 - Live 0x0\n"
                        "nf_conntrack 172032 2 - Live 0x0\n"));
    BOOST_TEST(
        !needs_no_module("nft_ct_more 1 0 - Live\nnf_tables 1 0 - Live\nnf_conntrack 1 2 -\n"));
}

BOOST_AUTO_TEST_SUITE_END()
