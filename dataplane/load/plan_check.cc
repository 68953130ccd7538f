#include "dataplane/load/plan_check.h"

#include <fmt/ranges.h>
#include <rte_ether.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dataplane/load/make_workers.h"
#include "dataplane/load/sender.h"
#include "dataplane/port/device.h"

namespace pathproof::load {
namespace {

constexpr double kHighestRate = 1e9;
constexpr double kLowestRate = 1e-3;  // a frame in 17 minutes
// FCS, preamble and gap between frames: what a link carries beside what a frame has in memory.
constexpr double kOnTheWire = 4 + 20;

bool pairs(const LoadPlan& plan) {
    return plan.frames_in_unit() == 2;
}

Status check_responders(const Roles& roles, unsigned workers) {
    std::set<unsigned> taken;
    for (const Roles::Responder& role : roles.responders) {
        if (role.worker >= workers || !taken.insert(role.worker).second) {
            return fail(ErrorCode::kBadInput, "a responder on worker {} of {}: {}", role.worker,
                        workers,
                        role.worker >= workers ? "it does not exist" : "it has another already");
        }
    }
    return {};
}

// Two that wait for each other cannot be one lcore.
Status check_together(const LoadPlan& plan, const Roles& roles) {
    if (!plan.together) {
        return {};
    }
    const bool two =
        roles.senders.size() == 2 && roles.senders[0].worker != roles.senders[1].worker;
    if (!two || !pairs(plan) || !plan.punctual || plan.pair_skew.count() > 0) {
        return fail(ErrorCode::kBadInput,
                    "senders that leave together are two, on workers of their own, punctual, with "
                    "pairs and the skew of Together alone");
    }
    return {};
}

// Checks an intake that all receivers share.
Status check_intake(const LoadPlan& plan, const Roles& roles) {
    const std::set<unsigned> workers = workers_of(roles.receivers);
    if (plan.intake_instead != nullptr && workers.size() > 1) {
        return fail(ErrorCode::kBadInput,
                    "an intake of the run's own belongs to one worker, not {}", workers.size());
    }
    return {};
}

Status check_queues(const std::vector<Roles::Queue>& roles, unsigned workers, const char* what,
                    std::uint16_t port::PortConfig::*queues) {
    std::set<std::pair<const port::Port*, std::uint16_t>> taken;
    for (const Roles::Queue& role : roles) {
        if (role.port == nullptr) {
            return fail(ErrorCode::kBadInput, "a {} has no port", what);
        }
        const std::string& name = role.port->info().name;
        if (role.worker >= workers) {
            return fail(ErrorCode::kBadInput, "{} on port {}: worker {} of {} does not exist", what,
                        name, role.worker, workers);
        }
        const std::uint16_t there = role.port->config().*queues;
        if (role.queue >= there) {
            return fail(ErrorCode::kBadInput, "{} on port {}: queue {} does not exist, it has {}",
                        what, name, role.queue, there);
        }
        if (!taken.emplace(role.port, role.queue).second) {
            return fail(ErrorCode::kBadInput, "queue {} of port {} has two {}s", role.queue, name,
                        what);
        }
    }
    return {};
}

// Frames per second that the senders' links carry; 0: not known of all.
double line_rate(const Roles& roles, double frame_bytes) {
    double rate = 0;
    std::set<const port::Port*> counted;
    for (const Roles::Queue& sender : roles.senders) {
        const std::uint32_t mbps = sender.port->info().link_mbps;
        if (mbps == 0) {
            return 0;
        }
        if (counted.insert(sender.port).second) {
            rate += mbps * 1e6 / (8 * (frame_bytes + kOnTheWire));
        }
    }
    return rate;
}

Status check_rate(const TrialOrder& order, double mean_frame_bytes, const Roles& roles) {
    const double rate = order.frames_per_second;
    const bool as_fast_as_it_goes = rate == 0;
    if (!as_fast_as_it_goes && !(rate >= kLowestRate && rate <= kHighestRate)) {
        return fail(ErrorCode::kBadInput,
                    "a rate of {} frames per second is not between {} and {:.0f} (or as fast as it "
                    "goes)",
                    rate, kLowestRate, kHighestRate);
    }
    const double line = line_rate(roles, mean_frame_bytes);
    if (line > 0 && rate > line * 1.000001) {
        return fail(ErrorCode::kBadInput,
                    "a rate of {:.0f} frames per second is above line rate: frames of {:.0f} bytes "
                    "leave port {} at most {:.0f} times a second",
                    rate, mean_frame_bytes, roles.senders.front().port->info().name, line);
    }
    return {};
}

Status check_outstanding(const TrialOrder& order, const LoadPlan& plan, const Roles& roles) {
    if (order.outstanding == 0) {
        return {};
    }
    if (plan.make_source || roles.receivers.empty()) {
        return fail(ErrorCode::kBadInput,
                    "how many frames are under way is not known: {}; a limit of {} cannot be kept",
                    plan.make_source ? "frames of a capture carry no number" : "nobody receives",
                    order.outstanding);
    }
    const std::size_t each = plan.frames_in_unit();
    if (order.outstanding < roles.senders.size() * each) {
        return fail(ErrorCode::kBadInput,
                    "a limit of {} frames under way is too low: each of the sending queues ({}) "
                    "needs room for {}",
                    order.outstanding, roles.senders.size(), each);
    }
    return {};
}

}  // namespace

Status check_roles(const Roles& roles, unsigned workers) {
    if (roles.senders.empty() || roles.senders.size() > frame::kMostStreams) {
        return fail(ErrorCode::kBadInput, "{} senders: a run has 1 to {}", roles.senders.size(),
                    frame::kMostStreams);
    }
    TRY(check_queues(roles.senders, workers, "sender", &port::PortConfig::tx_queues));
    TRY(check_queues(roles.receivers, workers, "receiver", &port::PortConfig::rx_queues));
    return check_responders(roles, workers);
}

Status check_plan(const LoadPlan& plan, const Roles& roles) {
    TRY(check_together(plan, roles));
    TRY(check_intake(plan, roles));
    const unsigned least = plan.frames_in_unit();
    if (plan.burst < least || plan.burst > kMostInBurst) {
        return fail(ErrorCode::kBadInput, "a burst of {} frames is not in {}..{}", plan.burst,
                    least, kMostInBurst);
    }
    if (plan.pair_skew.count() < 0) {
        return fail(ErrorCode::kBadInput,
                    "a pair skew of {} ns is negative: the AAAA query cannot "
                    "leave before its pair's A",
                    plan.pair_skew.count());
    }
    if (plan.pair_skew.count() > 0 && plan.source.mix.size() > 1) {
        return fail(ErrorCode::kBadInput, "a pair skew of {} ns needs pairs alone, no mix",
                    plan.pair_skew.count());
    }
    if (plan.pair_skew.count() > 0 && !pairs(plan)) {
        return fail(ErrorCode::kBadInput, "a pair skew of {} ns needs pairs",
                    plan.pair_skew.count());
    }
    return {};
}

Status check_frames(const Source& source, const frame::FrameSpec& spec, const port::Port& port) {
    const unsigned longest = source.longest_frame();
    const std::uint32_t limit = port.transmit_limit();
    const unsigned tag_bytes =
        (spec.tunnel ? spec.tunnel->outer : spec.packet).vlans * RTE_VLAN_HLEN;
    if (limit > 0 && longest > limit + tag_bytes) {
        return fail(ErrorCode::kBadInput,
                    "frames of {} bytes (with FCS) are above the MTU {} of port {}, which sends at "
                    "most {}: raise it to {} or send shorter ones",
                    longest + RTE_ETHER_CRC_LEN, limit - RTE_ETHER_HDR_LEN, port.info().name,
                    limit + tag_bytes + RTE_ETHER_CRC_LEN, longest - RTE_ETHER_HDR_LEN - tag_bytes);
    }
    const unsigned room = port.transmit_room();
    if (longest > room) {
        return fail(ErrorCode::kBadInput,
                    "frames of {} bytes (with FCS) do not fit the buffers of port {}, which hold "
                    "at most {}: send shorter ones",
                    longest + RTE_ETHER_CRC_LEN, port.info().name, room + RTE_ETHER_CRC_LEN);
    }
    const std::uint64_t lacking = source.port_offloads() & ~port.config().tx_offloads;
    if (lacking != 0) {
        return fail(ErrorCode::kBadInput, "the frames need {}, which port {} was opened without",
                    fmt::join(port::tx_names(lacking), ", "), port.info().name);
    }
    return {};
}

Status check_order(const TrialOrder& order, const LoadPlan& plan, double mean_frame_bytes,
                   const Roles& roles) {
    if (order.duration.count() < 0 || order.drain.count() < 0) {
        return fail(ErrorCode::kBadInput, "a time of {} ns is negative",
                    std::min(order.duration, order.drain).count());
    }
    if (order.duration.count() == 0 && order.frames == 0) {
        return fail(ErrorCode::kBadInput, "a trial needs a duration or a number of frames");
    }
    if (pairs(plan) && order.frames % 2 != 0) {
        return fail(ErrorCode::kBadInput, "{} frames are no whole number of pairs", order.frames);
    }
    TRY(check_rate(order, mean_frame_bytes, roles));
    TRY(check_outstanding(order, plan, roles));
    const double pairs_each =
        order.frames_per_second / 2 / static_cast<double>(roles.senders.size());
    if (pairs_each * static_cast<double>(plan.pair_skew.count()) > 1e9) {
        return fail(ErrorCode::kBadInput,
                    "a pair skew of {} ns is longer than the time between two pairs at {:.0f} "
                    "frames per second",
                    plan.pair_skew.count(), order.frames_per_second);
    }
    return {};
}

}  // namespace pathproof::load
