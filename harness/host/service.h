// `pathproof agent`: answers what agent::Client asks, in the namespace that it was started in. What
// it changes of its host it writes to a journal there first, and undoes at the latest when its input
// ends, when a signal stops it, or when nothing was heard of the controller for 20 s; after a kill
// -9 the next agent on that host does, or `pathproof restore`.
#pragma once

namespace pathproof::host {

// Until the input ends.
void serve(int input, int output);

}  // namespace pathproof::host
