#include "harness/monitor/backend.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <array>

#include "dataplane/base/contains.h"
#include "dataplane/base/plural.h"
#include "harness/verdict/interval.h"

namespace pathproof::monitor {
namespace {

BackendVerdict verdict_of_flows(const BackendHealth& health, const BackendRules& rules) {
    if (health.judged < rules.enough) {
        return BackendVerdict::kTooFew;
    }
    const double unanswered = health.unanswered_fraction();
    if (unanswered > rules.dead_share) {
        return health.refused >= rules.refusals ? BackendVerdict::kRefusing : BackendVerdict::kDead;
    }
    if (unanswered > rules.lossy_share) {
        return BackendVerdict::kLossy;
    }
    return health.median_answer_ns.value_or(0) > rules.slow_after_ns ? BackendVerdict::kSlow
                                                                     : BackendVerdict::kHealthy;
}

// Protocols over UDP whose receivers do not answer, and tunnels, whose ends each choose a port of
// their own for what they send.
bool is_never_answered(const BackendHealth& health) {
    constexpr std::array<std::uint16_t, 12> kPorts{162,  514,  2055, 4739, 4789,  6081,
                                                   6343, 8125, 8472, 9995, 12201, 25826};
    return health.protocol == IPPROTO_UDP && contains(kPorts, health.address.port);
}

// Returns whether enough packets went without an answer for long enough.
bool is_silent(const BackendHealth& health, const BackendRules& rules) {
    const BackendTraffic& traffic = *health.traffic;
    const std::uint64_t enough =
        health.protocol == IPPROTO_TCP ? rules.silent_segments : rules.silent_packets;
    return traffic.unanswered >= enough && traffic.silent_ns >= rules.silent_after_ns &&
           traffic.idle_ns < rules.silent_idle_ns;
}

std::string silence_text(const BackendTraffic& traffic) {
    return fmt::format("{} unanswered in {:.0f} s", plural(traffic.unanswered, "packet"),
                       static_cast<double>(traffic.silent_ns) / 1e9);
}

// By the packets of the window, where they say more than the flows.
void judge_by_traffic(BackendHealth& health, const BackendRules& rules) {
    const BackendTraffic& traffic = *health.traffic;
    const bool flows_say_dead =
        health.verdict == BackendVerdict::kDead || health.verdict == BackendVerdict::kTooFew;
    const bool silent = is_silent(health, rules);
    if (traffic.answered != 0 || health.answered_before) {
        if (silent && health.refused < rules.refusals) {
            health.verdict = BackendVerdict::kSilent;
            health.note = "has answered before, " + silence_text(traffic);
        }
        return;
    }
    if (!flows_say_dead || is_never_answered(health) || health.refused != 0 || traffic.asked == 0) {
        return;
    }
    if (traffic.acknowledged) {
        health.verdict = BackendVerdict::kOneWay;
        health.note =
            "answers take another way: no answer passes here, and those who ask acknowledge them";
    } else if (!health.translated && !traffic.address_seen &&
               health.verdict != BackendVerdict::kTooFew) {
        health.verdict = BackendVerdict::kOneWay;
        health.note =
            "no packet of its address passes here: it is silent, or its answers take another way";
    } else if (silent && health.translated) {
        health.verdict = BackendVerdict::kDead;
        health.note = silence_text(traffic);
    }
}

}  // namespace

const char* name(BackendVerdict verdict) {
    switch (verdict) {
        case BackendVerdict::kHealthy: return "healthy";
        case BackendVerdict::kSlow: return "slow";
        case BackendVerdict::kLossy: return "lossy";
        case BackendVerdict::kRefusing: return "refusing";
        case BackendVerdict::kDead: return "dead";
        case BackendVerdict::kTooFew: return "too few";
        case BackendVerdict::kOneWay: return "one way";
        case BackendVerdict::kSilent: return "silent";
    }
    return "too few";
}

double BackendHealth::unanswered_fraction() const {
    return judged == 0 ? 0 : static_cast<double>(unanswered) / static_cast<double>(judged);
}

void judge(BackendHealth& health, const BackendRules& rules) {
    health.unanswered_share = verdict::fraction_interval(health.unanswered, health.judged);
    health.verdict = verdict_of_flows(health, rules);
    if (health.astray != 0) {
        health.note =
            fmt::format("{} came from {}", plural(health.astray, "answer"), health.astray_from);
    }
    if (health.verdict == BackendVerdict::kDead && is_never_answered(health) &&
        !health.answered_before) {
        health.verdict = BackendVerdict::kOneWay;
        health.note = "nobody answers packets to this port";
    }
    if (health.traffic) {
        judge_by_traffic(health, rules);
    }
}

}  // namespace pathproof::monitor
