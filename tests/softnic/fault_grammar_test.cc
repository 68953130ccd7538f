#include <boost/test/unit_test.hpp>

#include "dataplane/softnic/faults.h"
#include "dataplane/softnic/mechanisms.h"

using namespace pathproof;
using namespace pathproof::softnic;

BOOST_AUTO_TEST_SUITE(fault_grammar)

namespace {

Fault parsed(std::string_view text) {
    auto fault = parse_fault(text);
    BOOST_REQUIRE_MESSAGE(fault, fault.error().message);
    return *fault;
}

void refused(std::string_view text, std::string_view because) {
    const auto fault = parse_fault(text);
    BOOST_REQUIRE_MESSAGE(!fault, text << " was read");
    BOOST_TEST((fault.error().code == ErrorCode::kBadInput));
    BOOST_TEST(fault.error().message.find(because) != std::string::npos,
               fault.error().message << " does not say " << because);
    BOOST_TEST(fault.error().message.find(text) != std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_parts_of_a_fault_are_read) {
    const Fault fault = parsed("tx.outer.udp.STALE_SPORT@nat:port,dport!=4789|8472!0.25,after=7");
    BOOST_TEST((fault.direction == FaultDirection::kTx));
    BOOST_TEST((fault.layer == FaultLayer::kOuter));
    BOOST_TEST((fault.field == FaultField::kUdp));
    BOOST_TEST(mechanism_name(fault) == "STALE_SPORT");
    BOOST_REQUIRE(fault.predicate.conditions.size() == 2u);
    BOOST_TEST(
        (fault.predicate.conditions[0] == Condition{Fact::kNatPort, 0, Compare::kNotZero, {}}));
    BOOST_TEST((fault.predicate.conditions[1] ==
                Condition{Fact::kDestinationPort, 0, Compare::kNotEqual, {4789, 8472}}));
    BOOST_TEST(fault.rate == 0.25);
    BOOST_TEST(fault.after == 7u);
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_always_and_at_rate_one) {
    const Fault fault = parsed("rx.inner.l4.GOOD_ON_BAD");
    BOOST_TEST(fault.predicate.conditions.empty());
    BOOST_TEST(fault.rate == 1);
    BOOST_TEST(to_string(parsed("rx.inner.l4.GOOD_ON_BAD!1")) == "rx.inner.l4.GOOD_ON_BAD");
    // The '!' of a comparison is no rate.
    BOOST_TEST(parsed("tx.inner.tcp.PSEUDO@dport!=4789").rate == 1);
}

BOOST_AUTO_TEST_CASE(every_model_is_printed_as_it_is_written) {
    for (const auto models : {fault_models(), open_world_models()}) {
        for (const FaultModel& model : models) {
            BOOST_TEST(to_string(fault_of(model)) == model.text);
        }
    }
}

BOOST_AUTO_TEST_CASE(conditions_and_rates_survive_printing) {
    for (const std::string_view text :
         {"tx.inner.l4.PSEUDO@flow%8==3", "tx.any.ip.DOUBLE@used<60,frame<=64,ttl>3,mss>=100",
          "tx.plain.sctp.FIELD_ZERO!1e-05", "wire.any.frame.LOSE@queue==1!0.5,after=10",
          "rx.any.counter.STUCK_ZERO!1,after=3"}) {
        const Fault fault = parsed(text);
        BOOST_TEST(to_string(fault) == text);
        BOOST_TEST((parsed(to_string(fault)) == fault));
    }
}

BOOST_AUTO_TEST_CASE(all_48_rows_of_the_list_are_there) {
    for (int row = 1; row <= 48; ++row) {
        const std::string id = fmt::format("F{:02}", row);
        BOOST_TEST(std::ranges::any_of(fault_models(),
                                       [&](const FaultModel& model) { return model.id == id; }),
                   id << " is missing");
    }
    BOOST_TEST(open_world_models().size() >= 10u);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_no_fault_says_what_is_allowed) {
    refused("", "direction.layer.field.MECHANISM");
    refused("tx.inner.PSEUDO", "direction.layer.field.MECHANISM");
    refused("up.inner.tcp.PSEUDO", "allowed are tx, wire, rx");
    refused("tx.middle.tcp.PSEUDO", "allowed are outer, inner, plain");
    refused("tx.inner.icmp.PSEUDO", "allowed are ip, l4, udp");
    refused("tx.inner.tcp.PSUEDO", "PSEUDO_NOLEN");
    refused("rx.inner.tcp.PSEUDO", "GOOD_ON_BAD");
    refused("tx.inner.ip.PSEUDO", "it acts on l4, udp, tcp");
    refused("tx.inner.tcp.PSEUDO@", "'' is not known");
    refused("tx.inner.tcp.PSEUDO@dpotr==4789", "dport");
    refused("tx.inner.tcp.PSEUDO@dport=4789", "==, !=");
    refused("tx.inner.tcp.PSEUDO@dport==http", "no whole number");
    refused("tx.inner.tcp.PSEUDO@dport<1|2", "after == and != only");
    refused("tx.inner.tcp.PSEUDO@flow%0==1", "from 1");
    refused("tx.inner.tcp.PSEUDO@encap!0", "above 0 and at most 1");
    refused("tx.inner.tcp.PSEUDO!1.5", "above 0 and at most 1");
    refused("tx.inner.tcp.PSEUDO!nan", "above 0 and at most 1");
    refused("tx.inner.tcp.PSEUDO!often", "above 0 and at most 1");
    refused("tx.inner.tcp.PSEUDO!1,later=3", "after=N");
    refused("tx.inner.tcp.PSEUDO!1,after=", "after=N");
}

BOOST_AUTO_TEST_CASE(comparisons_mean_what_they_say) {
    Facts facts;
    facts[Fact::kDestinationPort] = 4790;
    const auto holds = [&](std::string_view text) { return parse_predicate(text)->holds(facts); };
    BOOST_TEST(holds("dport"));
    BOOST_TEST(!holds("sport"));
    BOOST_TEST(holds("dport==4789|4790"));
    BOOST_TEST(!holds("dport==4789"));
    BOOST_TEST(!holds("dport!=4789|4790"));
    BOOST_TEST(holds("dport!=4789"));
    BOOST_TEST(holds("dport<4791"));
    BOOST_TEST(!holds("dport<4790"));
    BOOST_TEST(holds("dport<=4790"));
    BOOST_TEST(holds("dport>4789"));
    BOOST_TEST(!holds("dport>4790"));
    BOOST_TEST(holds("dport>=4790"));
    BOOST_TEST(holds("dport%4789==1"));
    BOOST_TEST(!holds("dport,sport"));
}

BOOST_AUTO_TEST_CASE(no_two_mechanisms_of_a_direction_share_a_name) {
    for (const auto direction : {FaultDirection::kTx, FaultDirection::kWire, FaultDirection::kRx}) {
        const std::string names = ", " + mechanism_names(direction) + ",";
        std::size_t at = 0;
        while ((at = names.find(", ", at)) != std::string::npos && at + 2 < names.size()) {
            const std::string name = names.substr(at, names.find(',', at + 1) - at + 1);
            BOOST_TEST(names.find(name, at + 1) == std::string::npos, name << " twice");
            ++at;
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
