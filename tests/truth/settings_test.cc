// Variation of a kernel device's features, and the features that a row's frames make use of.
#include "harness/truth/settings.h"

#include <boost/test/unit_test.hpp>

#include "harness/truth/feature_use.h"

using namespace pathproof;
using namespace pathproof::truth;
using matrix::Row;

namespace {

agent::Feature feature(const std::string& name, bool active) {
    return {.name = name, .active = active, .requested = active, .available = true};
}

agent::Feature fixed(const std::string& name, bool active) {
    agent::Feature made = feature(name, active);
    made.available = false;
    made.never_changed = true;
    return made;
}

std::vector<std::string> ids(const std::vector<Setting>& settings) {
    std::vector<std::string> all;
    for (const Setting& setting : settings) {
        all.push_back(setting.id());
    }
    return all;
}

using Words = std::vector<std::string>;

void same(const Words& seen, const Words& expected) {
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(settings, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(each_changeable_feature_is_alone_off_and_alone_on_where_that_says_something) {
    const std::vector<agent::Feature> features = {feature("tx-a", true), feature("tx-b", false),
                                                  fixed("tx-c", true)};
    const Words varied = {"tx-a", "tx-b", "tx-c"};
    same(ids(settings_for(varied, features, MatrixSize::kQuick)),
         {"as-found", "all-off", "all-on", "tx-a.off", "tx-b.off", "tx-b.on"});
    same(ids(settings_for(varied, features, MatrixSize::kFull)),
         {"as-found", "all-off", "all-on", "tx-a.off", "tx-a.on", "tx-b.off", "tx-b.on"});
}

BOOST_AUTO_TEST_CASE(what_is_fixed_or_unknown_is_left_as_it_is) {
    same(ids(settings_for({"tx-c", "tx-no-such"}, {fixed("tx-c", true)}, MatrixSize::kFull)),
         {"as-found"});
}

BOOST_AUTO_TEST_CASE(the_receive_side_is_set_off_where_it_is_on_and_all_on_where_it_is_off) {
    const auto settings = [](std::vector<agent::Feature> features) {
        features.push_back(feature("tx-a", true));
        return ids(receive_settings_for(features));
    };
    same(settings({feature("rx-checksum", true), feature("rx-gro", false)}),
         {"as-found", "rx-checksum.off", "all-on"});
    same(settings({feature("rx-checksum", true), feature("rx-gro", true)}),
         {"as-found", "rx-checksum.off", "rx-gro.off"});
    same(settings({fixed("rx-checksum", true), fixed("rx-gro", false)}), {"as-found"});
    same(settings({}), {"as-found"});
}

BOOST_AUTO_TEST_CASE(a_row_uses_the_features_that_do_its_work_and_that_the_device_has) {
    using namespace matrix;
    const std::vector<agent::Feature> features = {
        feature("tx-checksum-ip-generic", true), feature("tx-tcp-segmentation", true),
        feature("tx-tcp6-segmentation", true),   feature("tx-generic-segmentation", false),
        feature("tx-scatter-gather", true),      fixed("tx-checksum-ipv4", false)};
    Row row{.transport = InnerTransport::kTcp,
            .segmentation = Segmentation::kTcpExact,
            .handover = Handover::kInner};
    same(features_used(row, features), {"tx-checksum-ip-generic", "tx-tcp-segmentation",
                                        "tx-generic-segmentation", "tx-scatter-gather"});
    row.segmentation = Segmentation::kNone;
    same(features_used(row, features), {"tx-checksum-ip-generic"});
    row.handover = Handover::kSoftware;
    same(features_used(row, features), {});
}

BOOST_AUTO_TEST_SUITE_END()
