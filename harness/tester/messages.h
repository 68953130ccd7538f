// What the controller and the tester process say to each other: options, plans and reports as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/base/result.h"
#include "dataplane/judge/pair_report.h"
#include "dataplane/port/port.h"
#include "dataplane/softnic/wire.h"
#include "dataplane/traffic/pair_plan.h"
#include "harness/tester/client.h"

namespace pathproof::tester {

// What the tester says of itself once its ports are open.
struct Opened {
    std::string dpdk_version;
    std::vector<port::PortInfo> ports;
};

// Each type below has both; decode gives kBadInput with what does not fit.
template <typename T>
nlohmann::json encode(const T& value);
template <typename T>
Result<T> decode(const nlohmann::json& in);

extern template nlohmann::json encode(const TesterOptions&);
extern template nlohmann::json encode(const Opened&);
extern template nlohmann::json encode(const traffic::PairPlan&);
extern template nlohmann::json encode(const traffic::ResponderPlan&);
extern template nlohmann::json encode(const softnic::WirePlan&);
extern template nlohmann::json encode(const traffic::ExchangePlan&);
extern template nlohmann::json encode(const traffic::ExchangeReport&);
extern template nlohmann::json encode(const softnic::NicLinkReport&);
extern template nlohmann::json encode(const traffic::RecordPlan&);
extern template nlohmann::json encode(const traffic::RecordEnd&);
extern template nlohmann::json encode(const traffic::Recording&);
extern template nlohmann::json encode(const judge::PairReport&);
extern template nlohmann::json encode(const softnic::WireReport&);
extern template Result<TesterOptions> decode(const nlohmann::json&);
extern template Result<Opened> decode(const nlohmann::json&);
extern template Result<traffic::PairPlan> decode(const nlohmann::json&);
extern template Result<traffic::ResponderPlan> decode(const nlohmann::json&);
extern template Result<softnic::WirePlan> decode(const nlohmann::json&);
extern template Result<traffic::ExchangePlan> decode(const nlohmann::json&);
extern template Result<traffic::ExchangeReport> decode(const nlohmann::json&);
extern template Result<softnic::NicLinkReport> decode(const nlohmann::json&);
extern template Result<traffic::RecordPlan> decode(const nlohmann::json&);
extern template Result<traffic::RecordEnd> decode(const nlohmann::json&);
extern template Result<traffic::Recording> decode(const nlohmann::json&);
extern template Result<judge::PairReport> decode(const nlohmann::json&);
extern template Result<softnic::WireReport> decode(const nlohmann::json&);

}  // namespace pathproof::tester
