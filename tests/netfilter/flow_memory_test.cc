#include "harness/netfilter/flow_memory.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

struct NoNote {};
using Memory = FlowMemory<NoNote>;

constexpr auto kAny = [](const RecentFlow&) { return true; };

RecentFlow flow(unsigned client, unsigned backend, std::uint32_t id) {
    return flow_of(make_entry(fmt::format("198.18.0.1:{}", 1000 + client), "198.18.9.10:53",
                              fmt::format("198.18.9.{}:53", 20 + backend), id),
                   id);
}

std::uint32_t id_by_original(const Memory& memory, const Tuple& tuple) {
    const auto slot = memory.find_by_original(tuple, kAny);
    return slot == Memory::kNone ? 0 : memory.at(slot).id;
}

std::uint32_t id_by_client(const Memory& memory, const RecentFlow& of) {
    const auto slot =
        memory.find_by_client(of.reply.destination, of.reply.protocol,
                              [&](const RecentFlow& found) { return found.reply == of.reply; });
    return slot == Memory::kNone ? 0 : memory.at(slot).id;
}

}  // namespace

BOOST_AUTO_TEST_CASE(flows_are_found_by_both_keys_and_gone_when_erased) {
    Memory memory(8);
    const auto first = memory.add(flow(1, 1, 11), {});
    memory.add(flow(2, 1, 12), {});
    BOOST_TEST(id_by_original(memory, flow(1, 1, 0).original) == 11U);
    BOOST_TEST(id_by_client(memory, flow(2, 1, 0)) == 12U);
    memory.erase(first);
    BOOST_TEST(id_by_original(memory, flow(1, 1, 0).original) == 0U);
    BOOST_TEST(id_by_client(memory, flow(1, 1, 0)) == 0U);
    BOOST_TEST(memory.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_youngest_of_equal_flows_is_found_first) {
    Memory memory(8);
    memory.add(flow(1, 1, 11), {});
    const auto youngest = memory.add(flow(1, 2, 12), {});
    BOOST_TEST(id_by_original(memory, flow(1, 1, 0).original) == 12U);
    BOOST_TEST(id_by_client(memory, flow(1, 1, 0)) == 11U);
    memory.erase(youngest);
    BOOST_TEST(id_by_original(memory, flow(1, 1, 0).original) == 11U);
}

BOOST_AUTO_TEST_CASE(the_oldest_makes_room_when_full) {
    Memory memory(3);
    for (std::uint32_t id = 1; id <= 5; ++id) {
        memory.add(flow(id, 1, id), {});
    }
    BOOST_TEST(memory.size() == 3U);
    BOOST_TEST(memory.at(memory.oldest()).id == 3U);
    BOOST_TEST(memory.at(memory.younger_than(memory.oldest())).id == 4U);
    BOOST_TEST(id_by_original(memory, flow(2, 1, 0).original) == 0U);
    BOOST_TEST(id_by_original(memory, flow(5, 1, 0).original) == 5U);
}

BOOST_AUTO_TEST_CASE(a_search_ends_among_flows_that_share_a_key) {
    Memory memory(1000);
    memory.add(flow(1, 1, 1), {});
    for (std::uint32_t id = 2; id <= Memory::kDeepest; ++id) {
        memory.add(flow(1, 2, id), {});
    }
    BOOST_TEST(id_by_client(memory, flow(1, 1, 0)) == 1U);
    memory.add(flow(1, 2, 999), {});
    BOOST_TEST(id_by_client(memory, flow(1, 1, 0)) == 0U);
}

BOOST_AUTO_TEST_CASE(any_order_of_adding_and_erasing_keeps_what_a_plain_list_keeps) {
    constexpr std::size_t kLimit = 50;
    Memory memory(kLimit);
    std::deque<std::pair<Memory::Slot, RecentFlow>> model;
    std::mt19937 engine(7);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    for (std::uint32_t id = 1; id <= 5000; ++id) {
        if (random() % 3 == 0 && !model.empty()) {
            const std::size_t victim = random() % model.size();
            memory.erase(model[victim].first);
            model.erase(model.begin() + static_cast<std::ptrdiff_t>(victim));
        } else {
            if (model.size() == kLimit) {
                model.pop_front();
            }
            const RecentFlow added = flow(random() % 20, random() % 3, id);
            model.emplace_back(memory.add(added, {}), added);
        }
        BOOST_REQUIRE_EQUAL(memory.size(), model.size());
        const RecentFlow wanted = flow(random() % 20, 1, 0);
        const auto expected = std::find_if(model.rbegin(), model.rend(), [&](const auto& kept) {
            return kept.second.original == wanted.original;
        });
        BOOST_REQUIRE_EQUAL(id_by_original(memory, wanted.original),
                            expected == model.rend() ? 0 : expected->second.id);
    }
    auto slot = memory.oldest();
    for (const auto& kept : model) {
        BOOST_REQUIRE_EQUAL(slot, kept.first);
        slot = memory.younger_than(slot);
    }
    BOOST_TEST(slot == Memory::kNone);
}
