// Rows of the truth table for a kernel device as receiver, from runs made by hand.
#include "harness/truth/received_table.h"

#include <boost/test/unit_test.hpp>

#include "harness/truth/condition.h"
#include "harness/truth/defects.h"

using namespace pathproof;
using namespace pathproof::truth;
using verdict::Observed;

namespace {

constexpr std::size_t kPlain = 0;  // the first condition

// A plain row with so many UDP checksums, of which so many were called valid.
RxRow plain(std::uint64_t verifiable, std::uint64_t claimed) {
    RxRow row;
    row.result.frames = verifiable;
    row.claims[static_cast<std::size_t>(judge::RxLayer::kL4)]
              [static_cast<std::size_t>(judge::Protocol::kUdp)] = {verifiable, claimed};
    row.claims[static_cast<std::size_t>(judge::RxLayer::kIp)]
              [static_cast<std::size_t>(judge::Protocol::kIpv4)] = {verifiable, 0};
    return row;
}

RxRow with(RxRow row, matrix::RxFindingKind kind, const char* title, std::uint64_t frames) {
    row.result.findings.push_back({.kind = kind, .title = title, .place = "l4", .frames = frames});
    return row;
}

verdict::Observation claims(const RxRow& row) {
    return kernel_claims({.received = {row}}, "rx.as-found").observed.at(kPlain);
}

verdict::Observation delivery(const RxRow& row) {
    return kernel_delivery({.received = {row}}, "rx.as-found").observed.at(kPlain);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_truth, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(silence_is_no_claim_and_never_right) {
    const verdict::Observation seen = claims(plain(30, 0));
    BOOST_TEST((seen.observed == Observed::kNoClaim));
    BOOST_TEST(seen.frames == 30u);
    BOOST_TEST(seen.names.empty());
}

BOOST_AUTO_TEST_CASE(silence_of_a_device_with_the_offload_is_told_apart_from_its_defects) {
    const RxRow row = with(plain(30, 0), matrix::RxFindingKind::kNotDelivered, "RX_DROP_BAD", 6);
    port::PortInfo device;
    device.rx_offloads = {"UDP_CKSUM", "TCP_CKSUM"};
    Findings findings = find_defects({.received = {row}}, device, {});
    BOOST_TEST(findings.defects.size() == 2u);
    const std::vector<Defect> silences = take_silences(findings);
    BOOST_REQUIRE(silences.size() == 1u);
    BOOST_TEST(silences.front().place == "plain.udp");
    BOOST_TEST(silences.front().frames == 30u);
    BOOST_REQUIRE(findings.defects.size() == 1u);
    BOOST_TEST(findings.defects.front().place == "frame");
    Findings spoken = find_defects({.received = {plain(30, 1)}}, device, {});
    BOOST_TEST(take_silences(spoken).empty());
}

BOOST_AUTO_TEST_CASE(a_true_claim_is_shown_with_what_was_claimed) {
    const verdict::Observation seen = claims(plain(30, 12));
    BOOST_TEST((seen.observed == Observed::kRight));
    BOOST_TEST(seen.names.at(0) == "csum valid");
    BOOST_TEST(seen.note.find("12 of 30") != std::string::npos, seen.note);
}

BOOST_AUTO_TEST_CASE(a_false_claim_is_wrong_and_leads_to_the_cell_of_its_condition) {
    const RxRow row = with(plain(30, 30), matrix::RxFindingKind::kClaim, "RX_GOOD_ON_BAD", 15);
    const verdict::Observation seen = claims(row);
    BOOST_TEST((seen.observed == Observed::kWrong));
    BOOST_TEST(seen.wrong == 15u);
    BOOST_TEST(seen.names.at(0) == "RX_GOOD_ON_BAD");
    BOOST_TEST(seen.cell == "rx.as-found.plain");
    BOOST_TEST((delivery(row).observed == Observed::kRight));
}

BOOST_AUTO_TEST_CASE(what_does_not_arrive_is_a_matter_of_delivery) {
    const RxRow row = with(plain(30, 30), matrix::RxFindingKind::kNotDelivered, "RX_DROP_BAD", 6);
    BOOST_TEST((claims(row).observed == Observed::kRight));
    const verdict::Observation seen = delivery(row);
    BOOST_TEST((seen.observed == Observed::kWrong));
    BOOST_TEST(seen.names.at(0) == "RX_DROP_BAD");
}

BOOST_AUTO_TEST_CASE(a_mended_checksum_is_a_false_statement_and_conditions_do_not_mix) {
    const RxRow row = with(plain(30, 0), matrix::RxFindingKind::kHealed, "RX_HEALED", 3);
    BOOST_TEST((claims(row).observed == Observed::kWrong));
    const verdict::TruthRow all = kernel_claims({.received = {row}}, "rx.as-found");
    BOOST_TEST(all.observed.size() == columns_by_shape().size());
    for (std::size_t i = 1; i < columns_by_shape().size(); ++i) {
        BOOST_TEST((all.observed[i].observed == Observed::kNotTested));
    }
    BOOST_TEST(count_received({.received = {row, plain(5, 2)}}).verifiable == 35u);
    BOOST_TEST(count_received({.received = {row, plain(5, 2)}}).claimed == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
