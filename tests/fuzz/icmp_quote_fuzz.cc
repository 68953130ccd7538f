// Judging of the packet that an ICMP error quotes, in bytes that anybody may have sent.
#include "dataplane/load/icmp_errors.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const frame::Bytes bytes(data, size);
    load::SourcePlan plan;
    plan.spec.packet.source = {frame::IpAddress::v4(0xc6120002), 10'000};
    plan.spec.packet.destination = {frame::IpAddress::v4(0xc6336414), 53};
    const auto judge = load::QuoteJudge::make(plan);
    for (const frame::Network network : {frame::Network::kIpv4, frame::Network::kIpv6}) {
        std::vector<load::IcmpErrorCount> counts;
        load::count_icmp_error(bytes, network, 0, size, 0, &*judge, counts);
        for (const load::IcmpErrorCount& count : counts) {
            if (count.wrong_quotes > count.ours || count.ours > count.frames ||
                load::text(count.kind).empty()) {
                __builtin_trap();
            }
        }
    }
    return 0;
}
