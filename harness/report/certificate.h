// The rows that an auditor looks for first: what was tested, for whom, by which plan, with what, and what the hosts
// did meanwhile. Page, terminal and Markdown show the same ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

// The scenario of what kernels under test complained of: no run asks for it, and only a run that has such
// complaints has it.
inline constexpr const char* kKernelLog = "kernel-log";

// Name and value; what is not known has no row.
std::vector<std::pair<std::string, std::string>> certificate_rows(const verdict::RunResult& run);

// "ACME 25G NIC, part number P-1, driver ice 1.2 (in tree, SHA-256 0123456789ab...), firmware fw.mgmt 4.90".
std::string item_text(const verdict::Item& item);

// "12 lines, 1 warning of ice; taint unchanged (0)"; says why where the log was not read.
std::string host_text(const verdict::HostWatch& host);

}  // namespace pathproof::report
