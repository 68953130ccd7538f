#include <algorithm>

#include "dataplane/pairs/pair_run.h"
#include "dataplane/traffic/responder.h"

namespace pathproof::pairs {
namespace {

// Largest number of pairs: the records of their queries still fit the memory of a lab machine
// (about 150 bytes each).
constexpr std::uint64_t kMostPairs = 5'000'000;
constexpr double kHighestRate = 1e6;
constexpr auto kLongestSkew = std::chrono::seconds(1);

Status check_amounts(const PairPlan& plan) {
    if (plan.pairs == 0 || plan.pairs > kMostPairs) {
        return fail(ErrorCode::kBadInput, "{} pairs are not in 1..{}", plan.pairs, kMostPairs);
    }
    if (!(plan.pairs_per_second > 0 && plan.pairs_per_second <= kHighestRate)) {
        return fail(ErrorCode::kBadInput, "a rate of {} pairs per second is not in 0..{:.0f}",
                    plan.pairs_per_second, kHighestRate);
    }
    if (plan.answer_timeout <= Nanoseconds(0) || plan.drain < Nanoseconds(0)) {
        return fail(ErrorCode::kBadInput,
                    "the answer timeout must be positive and the drain not negative");
    }
    return {};
}

Status check_source_ports(const PairPlan& plan) {
    for (const PairMember& member : plan.members) {
        const unsigned last =
            plan.first_source_port + member.source_port_offset + plan.source_ports - 1u;
        if (plan.source_ports == 0 || last > 65'535) {
            return fail(ErrorCode::kBadInput, "{} source ports from {} on end at {}, beyond 65535",
                        plan.source_ports, plan.first_source_port + member.source_port_offset,
                        last);
        }
    }
    return {};
}

// Two queries from one socket differ in their type, else one answer would fit both questions in all
// but the name.
Status check_members(const PairPlan& plan, std::size_t ports) {
    for (const PairMember& member : plan.members) {
        if (member.port >= ports) {
            return fail(ErrorCode::kBadInput, "the plan sends from port {}, but there are {}",
                        member.port, ports);
        }
        if (member.first_client.family != plan.service.address.family) {
            return fail(ErrorCode::kBadInput,
                        "client {} and service {} are of two address families",
                        to_string(member.first_client), to_string(plan.service));
        }
    }
    return {};
}

Status check_departure(const PairPlan& plan, std::size_t workers) {
    const bool one_port = plan.members[0].port == plan.members[1].port;
    const Nanoseconds apart(static_cast<std::int64_t>(1e9 / plan.pairs_per_second));
    const Nanoseconds skew = plan.skew < Nanoseconds(0) ? -plan.skew : plan.skew;
    if (skew > kLongestSkew || (plan.departure != Departure::kOneBurst && skew >= apart)) {
        return fail(ErrorCode::kBadInput,
                    "a skew of {} us does not fit between pairs that are {} us apart",
                    plan.skew.count() / 1000, apart.count() / 1000);
    }
    switch (plan.departure) {
        case Departure::kTwoPorts:
            if (one_port || workers < 2) {
                return fail(ErrorCode::kBadInput,
                            "leaving by two ports needs two ports and two worker lcores: this plan "
                            "has {} port and {} worker{}",
                            one_port ? "one" : "two", workers, workers == 1 ? "" : "s");
            }
            return {};
        case Departure::kOneBurst:
            if (!one_port || plan.skew != Nanoseconds(0)) {
                return fail(
                    ErrorCode::kBadInput,
                    "a burst leaves by one port and has no skew: both members need the same "
                    "port, and skew must be 0");
            }
            return {};
        case Departure::kInTurn:
            if (!one_port || plan.skew <= Nanoseconds(0)) {
                return fail(ErrorCode::kBadInput,
                            "in turn, the second query leaves by the same port, some time after "
                            "the first: both members need that port, and skew must be positive");
            }
            return {};
    }
    return {};
}

Status check_responder(const PairPlan& plan, const traffic::ResponderPlan& responder,
                       std::size_t ports) {
    if (responder.port >= ports) {
        return fail(ErrorCode::kBadInput, "the responder is on port {}, but there are {}",
                    responder.port, ports);
    }
    const bool shared = std::ranges::any_of(
        plan.members, [&](const PairMember& member) { return member.port == responder.port; });
    if (shared) {
        return fail(ErrorCode::kBadInput,
                    "port {} cannot be a client's and the responder's at once", responder.port);
    }
    TRY(traffic::expectations(responder.rules));
    return {};
}

}  // namespace

Status check_plan(const PairPlan& plan, const std::optional<traffic::ResponderPlan>& responder,
                  std::size_t ports, std::size_t workers) {
    if (workers == 0) {
        return fail(ErrorCode::kBadInput, "no worker lcore: the EAL was started without one");
    }
    TRY(check_amounts(plan));
    TRY(check_source_ports(plan));
    TRY(check_members(plan, ports));
    TRY(check_departure(plan, workers));
    return responder ? check_responder(plan, *responder, ports) : Status();
}

}  // namespace pathproof::pairs
