// Collects the log lines of the EAL and its drivers, in place of the user's terminal.
#pragma once

#include <functional>
#include <string>

namespace pathproof::port {

// Directs rte_log() into a buffer of this process. Call it before rte_eal_init; further calls do
// nothing.
void collect_eal_log();

// All lines so far.
std::string eal_log_text();

// The lines of level error or worse since `from` (a size that eal_log_text() had), joined by "; ".
std::string eal_log_errors(std::size_t from);

// Returns whether one of these lines gives want of memory as the reason.
bool says_out_of_memory(const std::string& lines);

// Runs `work` with standard output and error turned away from the terminal (and from the socket on
// which the tester answers): rte_eal_init() prints its usage and fatal messages there. They join
// the log.
void with_standard_streams_aside(const std::function<void()>& work);

}  // namespace pathproof::port
