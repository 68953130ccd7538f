// Conclusions of large-answer from plain values and from frames.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/large_answer.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(large_answer_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

const frame::Endpoint kClient = frame::parse_endpoint("198.18.0.2:40000").value();
const frame::Endpoint kServer = frame::parse_endpoint("203.0.113.2:53").value();

void put16(std::vector<std::uint8_t>& bytes, std::size_t at, unsigned value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(value);
}

std::vector<std::uint8_t> ip_frame(const frame::Endpoint& from, const frame::Endpoint& to,
                                   std::uint8_t protocol, std::size_t payload) {
    std::vector<std::uint8_t> bytes(14 + 20 + payload);
    put16(bytes, 12, 0x0800);
    bytes[14] = 0x45;
    put16(bytes, 16, static_cast<unsigned>(20 + payload));
    bytes[22] = 64;
    bytes[23] = protocol;
    std::copy_n(from.address.bytes.begin(), 4, bytes.begin() + 26);
    std::copy_n(to.address.bytes.begin(), 4, bytes.begin() + 30);
    if (payload >= 8) {
        put16(bytes, 34, from.port);
        put16(bytes, 36, to.port);
    }
    return bytes;
}

// A part of an answer of the server: bytes of the IP payload from an offset on.
agent::CapturedFrame fragment(unsigned id, unsigned offset, unsigned bytes, bool more) {
    agent::CapturedFrame frame;
    frame.bytes = ip_frame(kServer, kClient, 17, bytes);
    put16(frame.bytes, 18, id);
    put16(frame.bytes, 20, (more ? 0x2000u : 0u) | offset / 8);
    if (offset == 0) {
        put16(frame.bytes, 38, 4008);  // the length of UDP
    }
    return frame;
}

agent::CapturedFrame tcp(const frame::Endpoint& from, const frame::Endpoint& to,
                         std::uint8_t flags) {
    agent::CapturedFrame frame;
    frame.bytes = ip_frame(from, to, 6, 20);
    frame.bytes[34 + 12] = 0x50;
    frame.bytes[34 + 13] = flags;
    return frame;
}

const std::vector<agent::CapturedFrame> kWholeAnswer = {
    fragment(7, 0, 1480, true), fragment(7, 1480, 1480, true), fragment(7, 2960, 1048, false)};

// One lookup, whose query the server took.
LookupTrail lookup(const std::string& word, std::size_t addresses, bool truncated, bool came) {
    LookupTrail trail;
    trail.outcome = {.word = word,
                     .milliseconds = word == "ok" ? 3.0 : 9'000.0,
                     .addresses = {},
                     .unlisted = addresses};
    trail.queries = {{.name = "n1.many.example.com",
                      .type = 1,
                      .client = kClient,
                      .taken = true,
                      .answered = true,
                      .answer_bytes = truncated ? 500u : 4000u,
                      .truncated = truncated,
                      .came = came,
                      .came_after_ms = 1}};
    return trail;
}

LargeAnswerValues judged(const LookupTrail& trail, const RoundFrames& frames,
                         std::uint64_t reassembled = 0) {
    LargeAnswerValues seen{.addresses = 250, .reassembled = reassembled};
    judge_large_answers(large_answer_plan()[0], {trail}, frames, kServer.address, seen);
    BOOST_TEST(seen.lookups == 1u);
    BOOST_TEST(seen.whole + seen.harmed() == 1u);
    return seen;
}

// As glibc 2.36 and musl 1.2.3 do.
LargeAnswerValues as_usual(const LargeAnswerCell& what) {
    LargeAnswerValues seen{.lookups = 3,
                           .whole = 3,
                           .addresses = addresses_in(what.bytes, 23),
                           .fewest_addresses = addresses_in(what.bytes, 23),
                           .longest_ms = 5,
                           .largest_udp = what.bytes,
                           .query_takes = what.options == "edns0" ? 1200u : 512u};
    const bool by_vc = what.options == "use-vc";
    const bool is_larger = what.bytes > seen.query_takes;
    const bool in_fragments =
        !by_vc && what.bytes + 28 > what.server_mtu && (what.ignores_query_size || !is_larger);
    const auto harm = [&](std::uint64_t LargeAnswerValues::*by, std::uint64_t addresses) {
        seen.whole = 0;
        seen.*by = 3;
        seen.fewest_addresses = addresses;
        seen.outcome = addresses == 0 ? "killed" : "ok";
    };
    seen.oversized = what.ignores_query_size && is_larger && !by_vc ? 3 : 0;
    if (in_fragments) {
        seen.fragments_in = 9;
        seen.fragments_out = what.drops_fragments ? 0 : 9;
        seen.reassembled = what.drops_fragments ? 0 : 3;
        if (what.drops_fragments) {
            harm(&LargeAnswerValues::by_fragments, 0);
        }
        return seen;
    }
    if (is_larger && !what.ignores_query_size) {
        seen.cut = 3;
        const bool tries = what.who != resolver::Kind::kMusl;
        const bool filtered = what.filters_tcp && !what.allows_tcp;
        seen.syns_in = tries ? 3 : 0;
        seen.syns_out = tries && !filtered ? 3 : 0;
        seen.refusals = tries && !what.serves_tcp ? 3 : 0;
        if (!tries) {
            harm(&LargeAnswerValues::by_resolver, 29);
        } else if (filtered) {
            harm(&LargeAnswerValues::by_filter, 0);
        } else if (!what.serves_tcp) {
            harm(&LargeAnswerValues::by_refusal, 0);
        }
    }
    return seen;
}

void make_whole(LargeAnswerValues& seen) {
    seen.whole = seen.lookups;
    seen.by_fragments = seen.by_filter = seen.by_refusal = seen.by_resolver = 0;
    seen.fewest_addresses = seen.addresses;
    seen.outcome.clear();
}

constexpr const char* kInFragments = "glibc.4096.fragments-dropped";

// Makes every lookup fail for one reason.
auto harmed_by(std::uint64_t LargeAnswerValues::*by) {
    return [by](LargeAnswerValues& seen) {
        seen.whole = seen.fewest_addresses = 0;
        seen.*by = 3;
    };
}

using Rows = std::vector<Row<LargeAnswerCell, LargeAnswerValues>>;

Rows other_losses() {
    Rows rows;
    for (const std::string other : {"foreign-answer", "query-lost", "answer-lost", "late-answer"}) {
        rows.push_back({.name = other + "_is_not_given_this_cause",
                        .changes = {{kInFragments,
                                     [other](LargeAnswerValues& seen) {
                                         seen.by_fragments = 0;
                                         seen.by_other = 3;
                                         seen.other = other;
                                     }}},
                        .concluded = nothing(kInFragments, {{kInFragments, other}})});
    }
    return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_answer_has_as_many_addresses_as_its_size_takes) {
    for (const unsigned bytes : {512u, 1232u, 1500u, 4096u}) {
        const unsigned addresses = addresses_in(bytes, 23);
        const unsigned length = 12 + 23 + 2 + 4 + 16 * addresses;
        BOOST_TEST(length <= bytes);
        BOOST_TEST(length + 16 > bytes);
    }
}

BOOST_AUTO_TEST_CASE(fragments_that_come_to_the_dut_alone_are_the_cause) {
    const RoundFrames lost{.at_client = {}, .at_dut = kWholeAnswer, .at_server = {}};
    const auto seen = judged(lookup("killed", 0, false, false), lost);
    BOOST_TEST(seen.by_fragments == 1u);
    BOOST_TEST(seen.fragments_in == 3u);
    BOOST_TEST(seen.fragments_out == 0u);
    BOOST_TEST(seen.oversized == 1u);
    // Only one of three fragments came to the client: the datagram is not whole there.
    const RoundFrames part{.at_client = {kWholeAnswer[0]}, .at_dut = kWholeAnswer, .at_server = {}};
    BOOST_TEST(judged(lookup("killed", 0, false, false), part).by_fragments == 1u);
}

BOOST_AUTO_TEST_CASE(fragments_that_the_dut_joined_or_never_had_are_not_the_cause) {
    const RoundFrames lost{.at_client = {}, .at_dut = kWholeAnswer, .at_server = {}};
    const auto joined = judged(lookup("killed", 0, false, false), lost, 1);
    BOOST_TEST(joined.by_fragments == 0u);
    BOOST_TEST(joined.other == "answer-lost");
    const RoundFrames part{
        .at_client = {}, .at_dut = {kWholeAnswer[0], kWholeAnswer[2]}, .at_server = {}};
    const auto before = judged(lookup("killed", 0, false, false), part);
    BOOST_TEST(before.by_fragments == 0u);
    BOOST_TEST(before.other == "answer-lost");
    const RoundFrames carried{.at_client = kWholeAnswer, .at_dut = kWholeAnswer, .at_server = {}};
    BOOST_TEST(judged(lookup("killed", 0, false, true), carried).unexplained == 1u);
}

BOOST_AUTO_TEST_CASE(a_cut_answer_is_told_apart_by_what_became_of_tcp) {
    const agent::CapturedFrame syn = tcp(kClient, kServer, 0x02);
    const agent::CapturedFrame reset = tcp(kServer, kClient, 0x14);
    const LookupTrail cut = lookup("killed", 0, true, true);
    const RoundFrames nothing;
    const RoundFrames filtered{.at_client = {}, .at_dut = {syn}, .at_server = {}};
    const RoundFrames refused{.at_client = {reset}, .at_dut = {syn}, .at_server = {syn}};
    const RoundFrames silent{.at_client = {}, .at_dut = {syn}, .at_server = {syn}};
    BOOST_TEST(judged(cut, nothing).by_resolver == 1u);
    BOOST_TEST(judged(cut, filtered).by_filter == 1u);
    BOOST_TEST(judged(cut, refused).by_refusal == 1u);
    BOOST_TEST(judged(cut, silent).unexplained == 1u);
    // A REJECT of the DUT answers in the server's name; connections of others are not the resolver's.
    const RoundFrames rejected{.at_client = {reset}, .at_dut = {syn}, .at_server = {}};
    BOOST_TEST(judged(cut, rejected).by_filter == 1u);
    const frame::Endpoint elsewhere = frame::parse_endpoint("203.0.113.9:53").value();
    const RoundFrames foreign{
        .at_client = {}, .at_dut = {tcp(kClient, elsewhere, 0x02)}, .at_server = {}};
    BOOST_TEST(judged(cut, foreign).by_resolver == 1u);
    // The resolver gave fewer addresses than there are.
    BOOST_TEST(judged(lookup("ok", 29, true, true), nothing).by_resolver == 1u);
    BOOST_TEST(judged(lookup("ok", 250, true, true), nothing).whole == 1u);
}

const Rows kRows = {
    {.name = "what_the_path_and_resolvers_do_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "An answer in fragments does not arrive: "},
                            {"headline", "TCP to the server is dropped: "},
                            {"cause", "to a query that takes 512"},
                            {"cure", "`max-udp-size 1232`"},
                            {"cure", "`iptables -I FORWARD -p tcp --dport 53 -j ACCEPT`"}},
                   .causes = {{kInFragments, "size-not-lowered"},
                              {"glibc.1184.edns0.mtu-1000.fragments-dropped", "fragments-dropped"},
                              {"glibc.1500.tcp-filtered", "tcp-filtered"},
                              {"glibc.4096.no-tcp", "no-tcp"},
                              {"musl.1500", "resolver-without-tcp"}},
                   .cured = true}},
    {.name = "a_control_that_fails_proves_nothing",
     .changes = {{"control.1500", harmed_by(&LargeAnswerValues::by_filter)}},
     .concluded = nothing("control.1500")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.edns-1232", harmed_by(&LargeAnswerValues::by_fragments)}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced, .says = {{"cure", "not shown"}}}},
    {.name = "a_path_that_carries_all_is_not_accused",
     .changes = {{"*", make_whole}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    {.name = "lookups_that_fail_for_nothing_are_unexplained",
     .changes = {{"musl.1500",
                  [](LargeAnswerValues& seen) {
                      seen.by_resolver = 0;
                      seen.unexplained = 3;
                  }}},
     .concluded = nothing("for nothing that was seen", {}, 3)},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_lookup_concludes_nothing",
     .changes = {{kInFragments, [](LargeAnswerValues& seen) { seen = {}; }}},
     .concluded = nothing("no name was looked up"),
     .only = kInFragments},
};

[[maybe_unused]] const bool kAdded =
    add_cases(large_answer_plan, as_usual, {kRows, other_losses()});

BOOST_AUTO_TEST_SUITE_END()
