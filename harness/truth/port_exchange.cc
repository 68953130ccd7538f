#include "harness/truth/port_exchange.h"

#include "harness/truth/batch.h"

namespace pathproof::truth {

Result<Exchanged> PortExchange::send(Way way, std::span<const matrix::Probe> probes) {
    traffic::ExchangePlan plan = plan_of(probes);
    plan.from = way == Way::kFromDevice ? 0 : 1;
    plan.to = 1 - plan.from;
    auto report = TRY(tester_.exchange(plan));
    return Exchanged{.report = std::move(report)};
}

}  // namespace pathproof::truth
