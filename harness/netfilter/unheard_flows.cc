#include "harness/netfilter/unheard_flows.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/process/netns.h"

namespace pathproof::netfilter {

EventsOf events_of(const std::string& netns) {
    int value = -1;
    const Status read = process::in_netns(netns, [&]() -> Status {
        std::ifstream("/proc/sys/net/netfilter/nf_conntrack_events") >> value;
        return {};
    });
    if (!read) {
        return EventsOf::kNobodyKnows;
    }
    switch (value) {
        case 0: return EventsOf::kNone;
        case 1: return EventsOf::kAll;
        case 2: return EventsOf::kNewFlows;
        default: return EventsOf::kNobodyKnows;
    }
}

std::string unheard_flows(EventsOf events, std::uint64_t flows) {
    switch (events) {
        case EventsOf::kNone:
            return "net.netfilter.nf_conntrack_events is 0: the kernel sends no events; 1 makes it "
                   "send those of all flows";
        case EventsOf::kAll: return "";
        case EventsOf::kNewFlows:
        case EventsOf::kNobodyKnows: break;
    }
    return flows == 0 ? ""
                      : fmt::format(
                            "{} flows are there already; the kernel sends events of flows "
                            "that began when nobody listened only with "
                            "net.netfilter.nf_conntrack_events=1",
                            flows);
}

}  // namespace pathproof::netfilter
