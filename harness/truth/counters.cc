#include "harness/truth/counters.h"

#include <fmt/ranges.h>

#include <boost/algorithm/string/case_conv.hpp>

#include "dataplane/judge/rx_verdict.h"

namespace pathproof::truth {

using frame::Family;
using frame::Transport;
using verdict::Observation;
using verdict::Observed;

const std::array<CountedKind, kCountedKinds>& counted_kinds() {
    static constexpr std::array<CountedKind, kCountedKinds> kinds = {{
        {"IPv4 header", Family::kIpv4, Transport::kUdp, true, "IpExt.InCsumErrors", "Udp.NoPorts"},
        {"UDP over IPv4", Family::kIpv4, Transport::kUdp, false, "Udp.InCsumErrors", "Udp.NoPorts"},
        {"UDP over IPv6", Family::kIpv6, Transport::kUdp, false, "Udp6InCsumErrors", "Udp6NoPorts"},
        {"TCP over IPv4", Family::kIpv4, Transport::kTcp, false, "Tcp.InCsumErrors", "Tcp.OutRsts"},
        {"TCP over IPv6", Family::kIpv6, Transport::kTcp, false, "Tcp.InCsumErrors", "Tcp.OutRsts"},
        {"ICMP", Family::kIpv4, Transport::kIcmp, false, "Icmp.InCsumErrors", "Icmp.InEchos"},
        {"ICMPv6", Family::kIpv6, Transport::kIcmpv6, false, "Icmp6InCsumErrors", "Icmp6InEchos"},
    }};
    return kinds;
}

bool counts_bad_checksums(const std::string& counter) {
    const std::string lower = boost::to_lower_copy(counter);
    const auto has = [&](const char* part) { return lower.find(part) != std::string::npos; };
    return (has("csum") || has("checksum")) && (has("err") || has("bad") || has("fail")) &&
           !has("tx");
}

Observation observation_of(const KindCount& count, const CountedKind& kind) {
    Observation seen{.frames = count.good + count.bad};
    if (!count.why_not.empty()) {
        seen.frames = 0;
        seen.note = count.why_not;
        return seen;
    }
    seen.note = fmt::format("of {} good and {} bad frames {} rose by {} and {} by {}", count.good,
                            count.bad, kind.accepted, count.accepted, kind.refused, count.refused);
    if (!count.hidden.empty() || !count.once.empty()) {
        seen.note +=
            count.once.empty() ? ": " + count.hidden : "; seen once, not confirmed: " + count.once;
        return seen;
    }
    if (count.accepted == 0 && count.refused == 0) {
        seen.note = fmt::format(
            "the kernel counted none of {} frames at all: a rule of its "
            "namespace, or the device, keeps them from it",
            seen.frames);
        return seen;
    }
    if (count.refused == count.bad && count.accepted == count.good) {
        seen.observed = Observed::kRight;
        return seen;
    }
    seen.observed = Observed::kWrong;
    seen.wrong = count.refused > count.bad ? count.refused - count.bad : count.bad - count.refused;
    if (count.accepted > count.good) {
        seen.names.push_back(judge::name(judge::RxFault::kGoodOnBad));
    } else if (count.refused > count.bad) {
        seen.names.push_back(judge::name(judge::RxFault::kBadOnGood));
    } else if (count.refused < count.bad) {
        seen.names.push_back(judge::name(judge::RxFault::kDropBad));
    } else {
        seen.wrong = count.good - count.accepted;
        seen.names.push_back(judge::name(judge::RxFault::kDropGood));
    }
    if (count.refused != count.bad) {
        seen.names.push_back(judge::name(judge::RxFault::kCounterLies));
    }
    return seen;
}

namespace {

std::string why_not_observed(const KindCount& count) {
    if (!count.hidden.empty() || !count.once.empty()) {
        return count.hidden + count.once;
    }
    return count.why_not.empty() ? "the driver has no counter of bad checksums" : count.why_not;
}

}  // namespace

Observation driver_observation(const KindCount& count) {
    Observation seen;
    if (!count.why_not.empty() || count.driver.empty() || !count.hidden.empty() ||
        !count.once.empty()) {
        seen.note = why_not_observed(count);
        return seen;
    }
    seen.frames = count.good + count.bad;
    seen.observed = Observed::kRight;
    std::vector<std::string> texts;
    for (const auto& [name, delta] : count.driver) {
        texts.push_back(fmt::format("{} {}", name, delta));
        if (delta != 0 && delta != count.bad) {
            seen.observed = Observed::kWrong;
            seen.wrong = delta > count.bad ? delta - count.bad : count.bad - delta;
            seen.names = {judge::name(judge::RxFault::kCounterLies)};
        }
    }
    seen.note = fmt::format("{} bad frames; {}", count.bad, fmt::join(texts, ", "));
    return seen;
}

}  // namespace pathproof::truth
