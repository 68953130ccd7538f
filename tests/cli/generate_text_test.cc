// Reading of the words that are typed for `pathproof generate`.
#define BOOST_TEST_MODULE generate_text
#include <boost/test/unit_test.hpp>

#include "harness/cli/generate/amounts.h"
#include "harness/cli/generate/mix_text.h"
#include "harness/cli/generate/rate_text.h"
#include "harness/cli/generate/remedies.h"
#include "harness/cli/generate/result.h"
#include "harness/process/typed_command.h"

using namespace pathproof;
using namespace pathproof::cli;
using frame::TrafficClass;

namespace {

constexpr auto kExact = 1e-9;

double per_second(const std::string& text, unsigned per_unit = 1, double bytes = 60,
                  std::uint32_t mbps = 0) {
    const auto rate = parse_rate(text);
    BOOST_REQUIRE_MESSAGE(rate, text);
    const auto pps = frames_per_second(*rate, per_unit, bytes, mbps, "p0");
    BOOST_REQUIRE_MESSAGE(pps, pps.error().message);
    return *pps;
}

void refused_rate(const std::string& text, const std::string& words) {
    const auto rate = parse_rate(text);
    BOOST_REQUIRE_MESSAGE(!rate, text);
    BOOST_TEST((rate.error().code == ErrorCode::kBadInput));
    BOOST_TEST(rate.error().message.find(words) != std::string::npos, rate.error().message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rates_are_read_with_their_units) {
    BOOST_TEST(per_second("1000") == 1000);
    BOOST_TEST(per_second("20k") == 20'000);
    BOOST_TEST(per_second("1.5M") == 1.5e6);
    BOOST_TEST(per_second("max") == 0);
    BOOST_TEST(per_second("0.5") == 0.5);
}

BOOST_AUTO_TEST_CASE(a_pair_counts_as_one_but_not_in_bits) {
    BOOST_TEST(per_second("1000", 2) == 2000);
    BOOST_TEST(per_second("1Gbit", 2) == per_second("1Gbit", 1));
}

BOOST_AUTO_TEST_CASE(bits_and_shares_are_those_of_the_wire) {
    // 10GbE carries 14,880,952 frames of 64 bytes: RFC 2544 and every data sheet.
    BOOST_TEST(per_second("10Gbit") == 14'880'952.38, boost::test_tools::tolerance(1e-8));
    BOOST_TEST(per_second("100%", 1, 60, 10'000) == 14'880'952.38,
               boost::test_tools::tolerance(1e-8));
    BOOST_TEST(per_second("10%", 1, 1514, 10'000) == 81'274.38, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(per_second("500Mbit") * 2 == per_second("1Gbit"),
               boost::test_tools::tolerance(kExact));
}

BOOST_AUTO_TEST_CASE(a_share_of_an_unknown_speed_is_refused) {
    const auto pps = frames_per_second(*parse_rate("10%"), 1, 60, 0, "p0");
    BOOST_REQUIRE(!pps);
    BOOST_TEST(pps.error().message.find("p0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rates_that_make_no_sense_are_refused) {
    refused_rate("0", "above 0");
    refused_rate("-5", "above 0");
    refused_rate("inf", "above 0");
    refused_rate("nan", "above 0");
    refused_rate("101%", "above line rate");
    for (const char* text : {"", "fast", "10 k", "10Tbit", "1e", "5%%", "maximum"}) {
        refused_rate(text, "none of");
    }
}

BOOST_AUTO_TEST_CASE(a_mix_is_read_with_its_weights) {
    const auto mix = parse_mix("dns-a=8,tcp-syn,icmp-echo=2");
    BOOST_REQUIRE(mix);
    BOOST_REQUIRE(mix->size() == 3u);
    BOOST_TEST(((*mix)[0].traffic == TrafficClass::kDnsA && (*mix)[0].weight == 8));
    BOOST_TEST(((*mix)[1].traffic == TrafficClass::kTcpSyn && (*mix)[1].weight == 1));
    BOOST_TEST(((*mix)[2].traffic == TrafficClass::kIcmpEcho && (*mix)[2].weight == 2));
}

BOOST_AUTO_TEST_CASE(mixes_that_make_no_sense_are_refused) {
    const auto refused = [](const std::string& text, const std::string& words) {
        const auto mix = parse_mix(text);
        BOOST_REQUIRE_MESSAGE(!mix, text);
        BOOST_TEST(mix.error().message.find(words) != std::string::npos, mix.error().message);
    };
    refused("http=1", "'http' is no traffic class; there are dns-a, dns-aaaa, tcp-syn");
    refused("replay=1", "'replay' is no traffic class");
    refused("dns-a=0", "weight of '0'");
    refused("dns-a=x", "weight of 'x'");
    refused("dns-a=-1", "weight of '-1'");
    refused("udp=1,udp=2", "twice");
    refused("dns=1,dns-a=1", "twice");
    refused("", "traffic class");
    refused("udp=1,", "traffic class");
}

BOOST_AUTO_TEST_CASE(sizes_are_with_fcs_for_all_or_by_class) {
    auto mix = *parse_mix("dns-a,dns-aaaa,udp");
    BOOST_REQUIRE(set_sizes(mix, "512"));
    for (const load::MixPart& part : mix) {
        BOOST_TEST(part.frame_bytes == 508u);
    }
    BOOST_REQUIRE(set_sizes(mix, "dns=128,udp=1518"));
    BOOST_TEST(mix[0].frame_bytes == 124u);
    BOOST_TEST(mix[1].frame_bytes == 124u);
    BOOST_TEST(mix[2].frame_bytes == 1514u);
    for (const char* text : {"63", "9239", "x", "", "tcp-syn=64", "udp=", "http=64"}) {
        BOOST_TEST(!set_sizes(mix, text), text);
    }
}

BOOST_AUTO_TEST_CASE(an_order_counts_frames_and_ends_somewhere) {
    const UnitFacts pair{.frames = 2, .mean_frame_bytes = 100, .port = "p0"};
    const auto order = [&](const AmountOptions& options) {
        auto made = order_of(options, *parse_rate(options.rate_text()), pair);
        BOOST_REQUIRE(made);
        return *made;
    };
    BOOST_TEST(order({}).frames == 2'000u);
    BOOST_TEST(order({}).frames_per_second == 2'000);
    BOOST_TEST(order({.count = 7}).frames == 14u);
    BOOST_TEST(order({.seconds = 2}).frames == 0u);
    BOOST_TEST(order({.seconds = 2}).duration.count() == 2'000'000'000);
    BOOST_TEST(order({.count = 7, .rate = "max", .seconds = 2}).frames == 14u);
    BOOST_TEST(order({.seconds = 1e300}).duration.count() > 0);
}

BOOST_AUTO_TEST_CASE(who_limits_what_is_under_way_asks_for_no_rate_but_may) {
    const UnitFacts pair{.frames = 2, .mean_frame_bytes = 100, .port = "p0"};
    BOOST_TEST(AmountOptions{}.rate_text() == "1000");
    const AmountOptions closed{.outstanding = 100};
    BOOST_TEST(closed.rate_text() == "max");
    BOOST_TEST(order_of(closed, *parse_rate("max"), pair)->outstanding == 200u);
    const AmountOptions both{.rate = "20k", .outstanding = 100};
    BOOST_TEST(both.rate_text() == "20k");
}

BOOST_AUTO_TEST_CASE(a_command_is_written_as_a_shell_takes_it_back) {
    BOOST_TEST(process::shell_words({"pathproof", "generate", "net_tap,iface=t0", "--rate",
                                     "10%"}) == "pathproof generate net_tap,iface=t0 --rate 10%");
    BOOST_TEST(process::shell_words({"a b", "", "it's", "$HOME"}) ==
               R"('a b' '' 'it'\''s' '$HOME')");
}

BOOST_AUTO_TEST_CASE(what_may_help_is_what_fits_the_trouble_and_the_ports) {
    const port::PortInfo packets{.name = "c0", .driver = "net_af_packet"};
    const port::PortInfo back{.name = "s0", .driver = "net_af_packet"};
    const port::PortInfo xdp{.name = "x0", .driver = "net_af_xdp"};
    const port::PortInfo nic{.name = "n0", .driver = "net_ixgbe"};
    const auto has = [](const std::vector<std::string>& sentences, const std::string& words) {
        return remedy_rows(sentences).find(words) != std::string::npos;
    };
    BOOST_TEST(remedies({}, packets, back).empty());

    BOOST_TEST(has(remedies({.disturbed = true}, packets, back), "rps_cpus"));
    BOOST_TEST(has(remedies({.disturbed = true}, nic, packets), "rps_cpus"));
    BOOST_TEST(has(remedies({.disturbed = true}, nic, nic), "isolcpus"));
    BOOST_TEST(!has(remedies({.disturbed = true}, packets, back), "af_xdp:"));

    BOOST_TEST(has(remedies({.limited = true}, packets, back), ": af_xdp:c0 and af_xdp:s0: "));
    BOOST_TEST(has(remedies({.limited = true}, packets, packets), ": af_xdp:c0: "));
    BOOST_TEST(has(remedies({.limited = true}, xdp, back), ": af_xdp:s0: "));
    BOOST_TEST(remedies({.limited = true}, xdp, xdp).empty());
    BOOST_TEST(has(remedies({.limited = true}, nic, nic), "--queues"));
    BOOST_TEST(remedies({.disturbed = true, .limited = true}, nic, nic).size() == 2u);
}

BOOST_AUTO_TEST_CASE(harm_that_is_certain_is_a_verdict_though_the_tester_lacked_cpu) {
    using Expects = load::IntakePlan::Expects;
    enum class Held { kNothing, kCpu, kOther };
    struct Case {
        const char* name;
        Held held;
        Expects expects;
        load::ClassTotals udp;
        std::uint64_t wrong_quotes;
        int code;
    };
    const load::ClassTotals right{.unique = 100};
    const load::ClassTotals wrong{.unique = 100, .wrong = 5};
    const load::ClassTotals cut{.unique = 95, .damaged = 5};
    const load::ClassTotals twice{.unique = 100, .duplicates = 5};
    const load::ClassTotals few{.unique = 95};
    const Case cases[] = {
        {"right", Held::kNothing, Expects::kFrames, right, 0, 0},
        {"right, disturbed", Held::kCpu, Expects::kFrames, right, 0, 3},
        {"wrong", Held::kNothing, Expects::kFrames, wrong, 0, 1},
        {"wrong, disturbed", Held::kCpu, Expects::kFrames, wrong, 0, 1},
        {"wrong, otherwise in doubt", Held::kOther, Expects::kFrames, wrong, 0, 3},
        {"damaged, disturbed", Held::kCpu, Expects::kFrames, cut, 0, 1},
        {"twice, disturbed", Held::kCpu, Expects::kFrames, twice, 0, 1},
        {"answers twice, disturbed", Held::kCpu, Expects::kAnswers, twice, 0, 3},
        {"missing", Held::kNothing, Expects::kFrames, few, 0, 1},
        {"missing, disturbed", Held::kCpu, Expects::kFrames, few, 0, 3},
        {"answers missing", Held::kNothing, Expects::kAnswers, few, 0, 0},
        {"a wrong quote", Held::kNothing, Expects::kFrames, right, 1, 1},
    };
    for (const Case& each : cases) {
        GenerateResult result;
        result.expects = each.expects;
        result.report.sent = 100;
        result.report.intake.classes[static_cast<std::size_t>(TrafficClass::kUdp)] = each.udp;
        result.report.intake.icmp_errors = {{.frames = 1, .wrong_quotes = each.wrong_quotes}};
        if (each.held != Held::kNothing) {
            result.report.objections = {"worker 0 waited for its CPU"};
        }
        if (each.held == Held::kCpu) {
            result.report.disturbances = result.report.objections;
        }
        BOOST_TEST(result.exit_code() == each.code, each.name);
    }
}
