#include "harness/monitor/pods.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::monitor;
using netfilter::Event;
using netfilter::EventKind;
namespace status = netfilter::status;

namespace {

const Pod kWeb{.pod_namespace = "shop", .name = "web-1"};

frame::Endpoint at(const char* text) {
    return frame::parse_endpoint(text).value();
}

Event event(EventKind kind, const char* source, std::uint32_t bits) {
    Event event{.kind = kind};
    event.entry.original = {
        .source = at(source), .destination = at("198.18.9.10:53"), .protocol = 17};
    event.entry.status = status::kConfirmed | bits;
    return event;
}

netfilter::LateAnswer late(const char* client, std::size_t number) {
    netfilter::LateAnswer late{.event = event(EventKind::kNew, "198.18.9.3:53", 0)};
    late.event.entry.original.destination = at(client);
    late.number = number;
    return late;
}

KnownPods web_at(const char* address) {
    return {.addresses = {{frame::parse_ip(address).value(), kWeb}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(flows_are_counted_for_the_pod_that_began_them) {
    PodTable table;
    table.take(event(EventKind::kNew, "198.18.9.2:4000", 0));  // nobody told of a pod
    BOOST_TEST(!table.known());
    table.know(web_at("198.18.9.2"));
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{}));
    for (const char* source : {"198.18.9.2:4000", "198.18.9.2:4001", "198.18.9.4:4000"}) {
        table.take(event(EventKind::kNew, source, 0));
    }
    table.take(event(EventKind::kUpdate, "198.18.9.2:4000", status::kSeenReply));
    table.take(event(EventKind::kDestroy, "198.18.9.2:4000", status::kSeenReply));
    table.take(event(EventKind::kDestroy, "198.18.9.2:4001", 0));
    table.take(event(EventKind::kDestroy, "198.18.9.4:4000", 0));
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{.flows = 2, .unanswered = 1}));
    BOOST_TEST(table.counts().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_hidden_entry_is_a_clash_and_no_unanswered_flow) {
    PodTable table;
    table.know(web_at("198.18.9.2"));
    const Event hidden = event(EventKind::kDestroy, "198.18.9.2:4000", status::kNatClash);
    table.take(hidden);
    table.take_clash({.hidden = hidden.entry});
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{.clashes = 1}));
}

BOOST_AUTO_TEST_CASE(a_late_answer_that_is_told_of_twice_counts_once) {
    PodTable table;
    table.know(web_at("198.18.9.2"));
    for (const std::size_t number : {0U, 1U, 0U, 2U}) {
        table.take_late_answer(late("198.18.9.2:4000", number));
    }
    table.take_late_answer(late("198.18.9.4:4000", 3));
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{.late_answers = 3}));
}

BOOST_AUTO_TEST_CASE(a_pod_keeps_its_counts_at_another_address_and_one_that_went_is_forgotten) {
    PodTable table;
    table.know(web_at("198.18.9.2"));
    table.take(event(EventKind::kNew, "198.18.9.2:4000", 0));
    table.know(web_at("198.18.9.7"));
    table.take(event(EventKind::kNew, "198.18.9.2:4000", 0));
    table.take(event(EventKind::kNew, "198.18.9.7:4000", 0));
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{.flows = 2}));
    table.know({});
    BOOST_TEST(table.counts().empty());
    BOOST_TEST(table.known().has_value());
    table.know(web_at("198.18.9.7"));
    BOOST_TEST((table.counts().at(kWeb) == PodCounts{}));
}
