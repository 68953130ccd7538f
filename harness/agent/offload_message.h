// Offload frames and feature trials as JSON. Bytes are hexadecimal text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/base/result.h"
#include "harness/agent/client.h"
#include "harness/agent/offload_frames.h"

namespace pathproof::agent {

// Results, as the agent sends them. from_json lets json::exception out for what is no such value.
void to_json(nlohmann::json& out, const FeatureTrial& trial);
void from_json(const nlohmann::json& in, FeatureTrial& trial);
nlohmann::json send_report_to_json(const SendReport& report);
SendReport send_report_from_json(const nlohmann::json& in);
nlohmann::json capture_to_json(const Capture& capture);
Result<Capture> capture_from_json(const nlohmann::json& in);

// Requests, as the controller sends them; errors as in message.h.
nlohmann::json frames_to_json(const std::vector<OffloadFrame>& frames);
Result<std::vector<OffloadFrame>> frames_from_json(const nlohmann::json& in);
nlohmann::json capture_options_to_json(const CaptureOptions& options);
Result<CaptureOptions> capture_options_from_json(const nlohmann::json& in);
nlohmann::json datagrams_to_json(const DatagramOptions& options);
Result<DatagramOptions> datagrams_from_json(const nlohmann::json& in);

}  // namespace pathproof::agent
