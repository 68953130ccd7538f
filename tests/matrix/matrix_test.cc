#include "dataplane/matrix/matrix.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

using namespace pathproof::matrix;

namespace {

std::vector<DutLimits> devices() {
    return {software_nic_limits(), dpdk_port_limits(1500, 8), kernel_device_limits(1500)};
}

std::uint64_t different_tuples(const Matrix& matrix) {
    std::set<std::uint64_t> seen;
    const std::size_t strength = static_cast<std::size_t>(matrix.strength);
    for (const Row& row : matrix.rows) {
        const auto values = values_of(row);
        const auto key = [&](std::size_t d) { return d << 5 | values[d]; };
        for (std::size_t a = 0; a < kDimensions; ++a) {
            for (std::size_t b = a + 1; b < kDimensions; ++b) {
                if (strength == 2) {
                    seen.insert(key(a) << 12 | key(b));
                    continue;
                }
                for (std::size_t c = b + 1; c < kDimensions; ++c) {
                    seen.insert(key(a) << 24 | key(b) << 12 | key(c));
                }
            }
        }
    }
    return seen.size();
}

std::set<std::pair<std::size_t, std::uint8_t>> values_in(const Matrix& matrix) {
    std::set<std::pair<std::size_t, std::uint8_t>> seen;
    for (const Row& row : matrix.rows) {
        const auto values = values_of(row);
        for (std::size_t d = 0; d < kDimensions; ++d) {
            seen.emplace(d, values[d]);
        }
    }
    return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matrix_rows)

BOOST_AUTO_TEST_CASE(rows_hold_all_feasible_tuples_and_none_breaks_a_rule) {
    for (const DutLimits& device : devices()) {
        for (const Direction direction : {Direction::kTransmit, Direction::kReceive}) {
            for (const Strength strength : {Strength::kPairs, Strength::kTriples}) {
                // Triples take long enough to try two kinds of them only.
                const bool software = device.kind == DutKind::kSoftwareNic;
                const bool kernel = device.kind == DutKind::kKernelDevice;
                const bool sent = direction == Direction::kTransmit;
                if (strength == Strength::kTriples && !(software && sent) && !(kernel && !sent)) {
                    continue;
                }
                const Matrix matrix = make_matrix(device, direction, strength, 1);
                for (const Row& row : matrix.rows) {
                    const auto why = objection(row, device, direction);
                    BOOST_REQUIRE_MESSAGE(!why, describe(row) << ": " << why.value_or(""));
                }
                BOOST_TEST(different_tuples(matrix) == matrix.feasible_tuples);
                BOOST_TEST_MESSAGE(static_cast<int>(device.kind)
                                   << " direction " << static_cast<int>(direction) << " strength "
                                   << static_cast<int>(strength) << ": " << matrix.rows.size()
                                   << " rows, " << matrix.feasible_tuples << " tuples");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_software_nic_meets_every_value_there_is) {
    const auto sent =
        values_in(make_matrix(software_nic_limits(), Direction::kTransmit, Strength::kPairs, 1));
    const auto received =
        values_in(make_matrix(software_nic_limits(), Direction::kReceive, Strength::kPairs, 1));
    for (std::size_t d = 0; d < kDimensions; ++d) {
        const auto names = value_names(static_cast<Dimension>(d));
        for (std::uint8_t value = 0; value < names.size(); ++value) {
            BOOST_TEST((sent.contains({d, value}) || received.contains({d, value})),
                       name(static_cast<Dimension>(d)) << " " << names[value]);
        }
    }
}

BOOST_AUTO_TEST_CASE(directed_rows_are_run_where_the_device_can_take_them) {
    const Matrix matrix =
        make_matrix(software_nic_limits(), Direction::kTransmit, Strength::kPairs, 3);
    BOOST_TEST(matrix.left_out.empty());
    const std::vector<DirectedRow> directed = directed_rows(Direction::kTransmit);
    BOOST_TEST(std::ranges::equal(directed, std::span(matrix.rows).first(directed.size()), {},
                                  &DirectedRow::row));
    const Matrix kernel =
        make_matrix(kernel_device_limits(1500), Direction::kTransmit, Strength::kPairs, 3);
    BOOST_TEST(std::ranges::any_of(kernel.left_out, [](const std::string& why) {
        return why.find("no tag to insert") != std::string::npos;
    }));
}

BOOST_AUTO_TEST_CASE(rules_say_why_a_row_is_infeasible) {
    const auto why = [](const Row& row) {
        return objection(row, software_nic_limits(), Direction::kTransmit).value_or("feasible");
    };
    BOOST_TEST(why({}) == "feasible");
    BOOST_TEST(why({.tunnel_port = TunnelPort::k4789}).find("no tunnel port") != std::string::npos);
    BOOST_TEST(why({.encap = Encap::kVxlanOverIpv4,
                    .outer_checksum = OuterChecksum::kDisabled,
                    .tunnel_port = TunnelPort::kTwo}) == "feasible");
    BOOST_TEST(why({.network = InnerNetwork::kIpv6, .transport = InnerTransport::kUdpZero})
                   .find("RFC 8200") != std::string::npos);
    BOOST_TEST(
        why({.transport = InnerTransport::kUnknown, .length = Length::k0}).find("RFC 2675") !=
        std::string::npos);
    BOOST_TEST(why({.rx_input = RxInput::kBadInnerIp}).find("meant to be good") !=
               std::string::npos);
    const Row no_mistake{.encap = Encap::kIpInIp,
                         .transport = InnerTransport::kTcp,
                         .values = PayloadValues::kSumsToZero,
                         .rx_input = RxInput::kBadOuterIp,
                         .rx_mistake = RxMistake::kZero};
    BOOST_TEST(objection(no_mistake, software_nic_limits(), Direction::kReceive)
                   .value_or("feasible")
                   .find("in the place of a sum of 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_row_is_its_values_and_back) {
    const Matrix matrix =
        make_matrix(software_nic_limits(), Direction::kReceive, Strength::kPairs, 2);
    for (const Row& row : matrix.rows) {
        BOOST_TEST((row_of(values_of(row)) == row));
    }
    BOOST_TEST(describe({}) == "plain UDP");
    BOOST_TEST(describe({.encap = Encap::kGre, .length = Length::k1}) ==
               "encapsulation gre, length 1");
}

BOOST_AUTO_TEST_SUITE_END()
