// Standard streams that may go to a full disk, to a reader that ends, or nowhere.
#pragma once

#include <string_view>

namespace pathproof::process {

// First thing in main(). Opens those of descriptors 0 to 2 that are closed, so that no file of the
// run becomes one of them: reading there and writing there fail. Puts stdout and stderr on streams
// that never fail: what cannot be written is dropped and remembered, and said on stderr if it was
// standard output.
//
// Once standard output is lost, or nobody reads standard error any more, the process sends itself
// SIGPIPE, which is taken as Ctrl-C is by stop_on_signals() and by lab::SignalGuard, also if it
// came before these are at work, and stops nothing else. A standard error that cannot be written
// for another reason (a full disk) stops nothing.
void hold_standard_streams();

// All of it, also where the descriptor is non-blocking. False: errno says why not.
bool write_whole(int descriptor, std::string_view text);

// Returns whether something that was printed on standard output has not arrived.
bool output_lost();

// Flushes both streams, and gives the exit code of a process that would end with `code`: 3
// (incomplete) when standard output was lost, or when messages on standard error were and all else
// was well (0).
int exit_code_of(int code);

}  // namespace pathproof::process
