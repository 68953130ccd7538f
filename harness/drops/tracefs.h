// Reading tracefs without changing what is mounted on the machine.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::drops {

// The format file of a tracepoint, such as "skb/kfree_skb". Read where tracefs is mounted; where it
// is not, from a mount that is attached nowhere (fsmount(2), Linux 5.2) and gone at the return:
// nobody else sees it.
Result<std::string> read_event_format(const std::string& event);

}  // namespace pathproof::drops
