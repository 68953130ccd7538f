#include "harness/truth/kernel_rx.h"

#include <rte_mbuf_core.h>

namespace pathproof::truth {
namespace {

// In the words of an mbuf, which the judges of a port read.
traffic::ArrivedFrame as_arrived(agent::CapturedFrame&& captured) {
    traffic::ArrivedFrame frame{.bytes = std::move(captured.bytes)};
    switch (captured.checksum) {
        case agent::ChecksumStatus::kUnknown: break;
        case agent::ChecksumStatus::kValid: frame.mbuf_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD; break;
        case agent::ChecksumStatus::kPartial:
            frame.mbuf_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
            break;
    }
    if (captured.vlan_tci) {
        frame.mbuf_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        frame.vlan_tci = *captured.vlan_tci;
    }
    return frame;
}

// The tester sends; what the device received stands in for what would have come back.
Result<traffic::ExchangeReport> exchange_with_kernel(tester::Client& tester, agent::Client& agent,
                                                     const std::string& device,
                                                     traffic::ExchangePlan plan,
                                                     std::chrono::milliseconds patience) {
    plan.quiet = patience;
    plan.from = 0;
    plan.to = 0;
    TRY(agent.start_capture({.device = device}));
    auto report = tester.exchange(plan);
    auto capture = agent.stop_capture();
    if (!report || !capture) {
        return pass_on(report ? capture.error() : report.error());
    }
    report->arrived.clear();
    for (agent::CapturedFrame& captured : capture->frames) {
        report->arrived.push_back(as_arrived(std::move(captured)));
    }
    if (capture->missing() != 0) {
        report->objections.push_back(
            fmt::format("the agent on {} lost {} frames itself", device, capture->missing()));
    }
    return report;
}

// The receiver reads no tunnels here, and outside of one a UDP checksum of 0 over IPv6 is wrong
// (RFC 8200 section 8.1). In these rows it is a tunnel's, 0 by agreement (RFC 6935), and who calls
// it good is not wrong.
bool is_zero_by_agreement(const matrix::Row& row) {
    return row.encap == matrix::Encap::kVxlanOverIpv6 &&
           row.outer_checksum != matrix::OuterChecksum::kComputed;
}

void forgive_zero(RxRow& row) {
    const std::string outermost = judge::name(judge::RxLayer::kL4);
    std::erase_if(row.result.findings, [&](const matrix::RxFinding& finding) {
        return finding.kind == matrix::RxFindingKind::kClaim && finding.place == outermost;
    });
    row.result.bad = 0;
}

}  // namespace

Result<RowsRun> receive_by_kernel(tester::Client& tester, agent::Client& agent,
                                  const std::string& device, const RowSettings& settings) {
    // The kernel's device is the port under test; what it promises, a driver's profile says.
    port::PortInfo kernel{.name = device, .device = device, .driver = kKernelDriver};
    const Path path{{kernel, tester.ports().front()}, [&](const traffic::ExchangePlan& plan) {
                        return exchange_with_kernel(tester, agent, device, plan, settings.patience);
                    }};
    RowSettings received = settings;
    received.directions = Directions::kReceived;
    auto run =
        TRY(run_rows(path, {.device = 0, .far = 1}, received, [](std::size_t, std::size_t) {}));
    for (RxRow& row : run.received) {
        if (is_zero_by_agreement(row.row)) {
            forgive_zero(row);
        }
    }
    return run;
}

}  // namespace pathproof::truth
