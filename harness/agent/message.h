// What the controller and the agent tell each other, as JSON. One line of the protocol
// (process/rpc.h) holds one of these as "args" or "ok".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/base/result.h"
#include "harness/agent/client.h"
#include "harness/verdict/result.h"

namespace pathproof::agent {

// Results, as the agent sends them. from_json lets json::exception out for what is no such value.
void to_json(nlohmann::json& out, const Feature& feature);
void from_json(const nlohmann::json& in, Feature& feature);
void to_json(nlohmann::json& out, const FeatureChange& change);
void from_json(const nlohmann::json& in, FeatureChange& change);
void to_json(nlohmann::json& out, const ProbeResult& result);
void from_json(const nlohmann::json& in, ProbeResult& result);
nlohmann::json device_to_json(const DeviceInfo& info);
Result<DeviceInfo> device_from_json(const nlohmann::json& in);
nlohmann::json facts_to_json(const std::vector<verdict::Fact>& facts);
std::vector<verdict::Fact> facts_from_json(const nlohmann::json& in);
nlohmann::json fact_groups_to_json(const std::vector<verdict::FactGroup>& groups);
std::vector<verdict::FactGroup> fact_groups_from_json(const nlohmann::json& in);
nlohmann::json event_log_to_json(const netfilter::EventLog& log);
netfilter::EventLog event_log_from_json(const nlohmann::json& in);

nlohmann::json connects_report_to_json(const ConnectsReport& report);
ConnectsReport connects_report_from_json(const nlohmann::json& in);

nlohmann::json dnsmasq_report_to_json(const DnsmasqReport& report);
DnsmasqReport dnsmasq_report_from_json(const nlohmann::json& in);
nlohmann::json tcp_queue_to_json(const TcpQueue& queue);
Result<TcpQueue> tcp_queue_from_json(const nlohmann::json& in);
nlohmann::json forwarder_report_to_json(const ForwarderReport& report);
ForwarderReport forwarder_report_from_json(const nlohmann::json& in);
nlohmann::json load_report_to_json(const DnsLoadReport& report);
DnsLoadReport load_report_from_json(const nlohmann::json& in);

nlohmann::json path_events_to_json(const PathEvents& seen);
PathEvents path_events_from_json(const nlohmann::json& in);

// Requests, as the controller sends them. Reading one checks the addresses in it (kBadInput); what
// is missing or of a wrong type leaves as json::exception, which RpcServer answers with kBadInput.
nlohmann::json ping_to_json(const PingOptions& options);
Result<PingOptions> ping_from_json(const nlohmann::json& in);
nlohmann::json lookup_to_json(const DnsLookupOptions& options);
Result<DnsLookupOptions> lookup_from_json(const nlohmann::json& in);
nlohmann::json transfer_to_json(const TransferOptions& options);
Result<TransferOptions> transfer_from_json(const nlohmann::json& in);
nlohmann::json dns_server_to_json(const DnsServerOptions& options);
Result<DnsServerOptions> dns_server_from_json(const nlohmann::json& in);
nlohmann::json closing_server_to_json(const ClosingServerOptions& options);
Result<ClosingServerOptions> closing_server_from_json(const nlohmann::json& in);
nlohmann::json connects_to_json(const ConnectsOptions& options);
Result<ConnectsOptions> connects_from_json(const nlohmann::json& in);
nlohmann::json dnsmasq_to_json(const DnsmasqOptions& options);
Result<DnsmasqOptions> dnsmasq_from_json(const nlohmann::json& in);
nlohmann::json forwarder_to_json(const ForwarderOptions& options);
Result<ForwarderOptions> forwarder_from_json(const nlohmann::json& in);
nlohmann::json load_to_json(const DnsLoadOptions& options);
Result<DnsLoadOptions> load_from_json(const nlohmann::json& in);
nlohmann::json fill_to_json(const ConntrackFill& what);
Result<ConntrackFill> fill_from_json(const nlohmann::json& in);
nlohmann::json filter_to_json(const ConntrackFilter& filter);
ConntrackFilter filter_from_json(const nlohmann::json& in);

}  // namespace pathproof::agent
