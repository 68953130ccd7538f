// The signals that end a run in order, and what writing to a closed pipe does.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>

namespace pathproof::process {

// SIGINT, SIGTERM, SIGPIPE (of streams.h) and SIGHUP: the last unless it is ignored, as under
// nohup(1).
sigset_t stop_signals();

// From the first call on they no longer end the process; on the first of them this becomes true.
const std::atomic<bool>& stop_on_signals();
// Has SIGPIPE alone set stopping(): a reader of our output may go away before a command listens.
void stop_on_closed_output();
// Returns whether such a signal has come.
bool stopping();

// Sleeps until `wake` or a stop.
void sleep_until(std::chrono::steady_clock::time_point wake);

// Writing to a pipe or a socket whose other end is closed is an error (EPIPE) and does not end the
// process. Who watches for SIGPIPE goes on with it.
void ignore_closed_pipes();

// In a child that becomes a program: no signal is blocked, and SIGPIPE ends it.
void give_signals_back();

}  // namespace pathproof::process
