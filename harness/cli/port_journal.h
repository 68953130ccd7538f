// The journal of a command that opens DPDK ports of the user's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal.h"
#include "harness/lab/signals.h"
#include "harness/tester/client.h"

namespace pathproof::cli {

// Says on stderr what it put back that killed runs had left. Null: these ports change nothing that
// the kernel does not take back itself when the process ends. The journal must outlive the ports.
Result<std::unique_ptr<lab::Journal>> port_journal(const std::vector<tester::PortRequest>& ports);

// Has `open` open these ports, noted in `journal`, which may be null. Errors: as
// lab::Journal::open_ports().
Status open_noted(const std::unique_ptr<lab::Journal>& journal,
                  const std::vector<tester::PortRequest>& ports, const std::string& netns,
                  const std::function<Status()>& open);

// What a lab::SignalGuard of such a command tells.
void tell_interrupted(int signal, const std::string& machine);

// In the order in which they must not go: the tester's ports are closed first.
struct OpenTester {
    std::unique_ptr<lab::Journal> journal;
    std::unique_ptr<lab::SignalGuard> guard;
    std::unique_ptr<tester::Client> client;
};
// `there`: the ports whose interfaces were there before and will be after.
Result<OpenTester> open_tester(const tester::TesterOptions& wanted,
                               const std::vector<tester::PortRequest>& there);

}  // namespace pathproof::cli
