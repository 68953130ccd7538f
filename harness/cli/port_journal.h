// The journal of a command that opens DPDK ports of the user's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal.h"
#include "harness/tester/client.h"

namespace pathproof::cli {

// Notes how the kernel interfaces behind these ports are, before the ports are opened, and says on
// stderr what it put back that killed runs had left. Null: none of the ports has a kernel
// interface. The journal must outlive the ports. Errors: as lab::Journal::note_port().
Result<std::unique_ptr<lab::Journal>> note_ports(const std::vector<tester::PortRequest>& ports,
                                                 const std::string& netns);

// Once the ports are open; `journal` may be null.
Status note_opened(const std::unique_ptr<lab::Journal>& journal);

}  // namespace pathproof::cli
