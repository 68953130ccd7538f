#include "dataplane/frame/stamp.h"

namespace pathproof::frame {

const char* name(TrafficClass traffic) {
    switch (traffic) {
        case TrafficClass::kDnsA:
            return "dns-a";
        case TrafficClass::kDnsAaaa:
            return "dns-aaaa";
        case TrafficClass::kTcpSyn:
            return "tcp-syn";
        case TrafficClass::kIcmpEcho:
            return "icmp-echo";
        case TrafficClass::kUdp:
            return "udp";
        case TrafficClass::kReplay:
            break;
    }
    return "replay";
}

}  // namespace pathproof::frame
