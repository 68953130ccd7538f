// Rows and objects that the figures of all commands with ports have in common.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dataplane/judge/intake.h"
#include "dataplane/port/port.h"

namespace pathproof::cli {

std::string row(const char* what, const std::string& value);
std::string row(const char* what, std::uint64_t value);

// Layers that were seen, by state; empty without any.
std::string checksum_rows(const judge::ChecksumCounts& checksums);
nlohmann::json checksum_json(const judge::ChecksumCounts& checksums);

// `wanted`: what the frames are called that were looked for.
std::string received_rows(const judge::ReceiveTally& tally, const char* wanted);
nlohmann::json received_json(const judge::ReceiveTally& tally, const char* wanted);

std::string objection_rows(const std::vector<std::string>& objections);

// {"port", "driver", "evidence"}
nlohmann::json head_json(const port::PortInfo& port);

}  // namespace pathproof::cli
