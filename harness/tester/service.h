// The tester process: holds the EAL and the ports, and does what the controller asks over JSON
// lines (client.h).
#pragma once

namespace pathproof::tester {

// Serves until `input` ends; the calling thread becomes EAL's main lcore. Gives the process's exit
// status.
int serve(int input, int output);

}  // namespace pathproof::tester
