// Choice of the truth table's column for a row of the matrix.
#include "harness/truth/condition.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/matrix/matrix.h"

using namespace pathproof;
using namespace pathproof::truth;
using namespace pathproof::matrix;

namespace {

std::string shape_of(const Row& row) {
    return columns_by_shape().of(row).word;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(condition, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(what_is_left_to_a_kernel_device_decides_its_column) {
    const auto column = [](const Row& row) {
        return std::string(columns_by_request().of(row).name);
    };
    const Row udp{.handover = Handover::kInner};
    BOOST_TEST(column(udp) == "plain UDP");
    Row row = udp;
    row.transport = InnerTransport::kTcp;
    BOOST_TEST(column(row) == "plain TCP");
    row.segmentation = Segmentation::kTcpExact;
    row.vlan = Vlan::kOne;
    BOOST_TEST(column(row) == "TSO");
    row.segmentation = Segmentation::kUdp;
    BOOST_TEST(column(row) == "USO");
    row = udp;
    row.handover = Handover::kSoftware;
    row.vlan = Vlan::kOne;
    BOOST_TEST(column(row) == "nothing offloaded");
    row.handover = Handover::kInner;
    BOOST_TEST(column(row) == "VLAN");
    row.vlan = Vlan::kNone;
    row.network = InnerNetwork::kIpv6HopByHop;
    BOOST_TEST(column(row) == "options");
    row.encap = Encap::kVxlanOverIpv4;
    BOOST_TEST(column(row) == "tunnel inner");
    row.handover = Handover::kOuter;
    row.outer_checksum = OuterChecksum::kComputed;
    BOOST_TEST(column(row) == "tunnel outer");
}

BOOST_AUTO_TEST_CASE(the_shape_of_a_frame_decides_its_column_at_a_port) {
    Row row;
    BOOST_TEST(shape_of(row) == "plain");
    row.network = InnerNetwork::kIpv4Options;
    BOOST_TEST(shape_of(row) == "ip-options-extension-headers");
    row.vlan = Vlan::kOne;
    BOOST_TEST(shape_of(row) == "vlan");
    row.trailer = Trailer::kZero;
    BOOST_TEST(shape_of(row) == "short-or-padded");
    row.fragmentation = Fragmentation::kThree;
    BOOST_TEST(shape_of(row) == "fragments");
    row.encap = Encap::kGre;
    BOOST_TEST(shape_of(row) == "gre-ip-in-ip");
    row.encap = Encap::kVxlanGpe;
    BOOST_TEST(shape_of(row) == "geneve-vxlan-gpe");
    row.encap = Encap::kVxlanOverIpv6;
    row.tunnel_port = TunnelPort::k8472;
    BOOST_TEST(shape_of(row) == "vxlan-elsewhere");
    row.tunnel_port = TunnelPort::k4789;
    BOOST_TEST(shape_of(row) == "vxlan-on-4789");
    row.segmentation = Segmentation::kUdp;
    BOOST_TEST(shape_of(row) == "tso-uso");
}

// The inner packet is what the matrix fragments. The device is asked for the outer checksum, over a
// datagram that is whole (csum_start lies at the outer UDP header), so a kernel device and a port
// are judged alike.
BOOST_AUTO_TEST_CASE(a_fragment_inside_a_tunnel_is_a_frame_of_the_tunnel_for_both) {
    const Row row{.encap = Encap::kVxlanOverIpv4,
                  .outer_checksum = OuterChecksum::kComputed,
                  .tunnel_port = TunnelPort::k4789,
                  .fragmentation = Fragmentation::kThree,
                  .handover = Handover::kOuter};
    BOOST_TEST(columns_by_request().of(row).word == std::string("tunnel-outer"));
    BOOST_TEST(shape_of(row) == "vxlan-on-4789");
}

BOOST_AUTO_TEST_CASE(each_row_of_a_matrix_has_a_column) {
    const auto rows = [](const DutLimits& limits) {
        return make_matrix(limits, matrix::Direction::kTransmit, Strength::kPairs, 1).rows;
    };
    for (const Row& row : rows(kernel_device_limits(9000))) {
        BOOST_TEST(columns_by_request().index_of(row) < columns_by_request().size());
        // Nobody asks a kernel device for the checksum of a plain fragment: there is no column for
        // it.
        const bool plain_fragment =
            row.encap == Encap::kNone && row.fragmentation != Fragmentation::kNone;
        BOOST_TEST(!(plain_fragment && asks_for_checksum(row)), describe(row));
    }
    for (const Row& row : rows(dpdk_port_limits(9000, 16))) {
        BOOST_TEST(columns_by_shape().index_of(row) < columns_by_shape().size());
    }
}

BOOST_AUTO_TEST_SUITE_END()
