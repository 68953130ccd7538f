// Opening of chosen ports: noted in a journal, then opened, in this process or in a tester. This is
// the one way to open a port that belongs to the user.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port_set.h"
#include "harness/lab/journal.h"
#include "harness/lab/signals.h"
#include "harness/ports/choose.h"
#include "harness/tester/client.h"

namespace pathproof::ports {

struct OwnPortsOptions {
    std::vector<Wanted> ports;
    std::string netns;            // this process moves into it; empty: it stays
    std::vector<int> cpus = {0};  // one worker lcore each: worker 0 on the first
};

// Ports in this process, for the commands that are a data plane on their own.
struct OwnPorts {
    std::unique_ptr<lab::Journal> journal;  // of the kernel interfaces behind the ports, or null
    port::PortSet set;                      // closed before the journal undoes
    std::vector<int> cpus;                  // of the lcores

    // Lcores on another NUMA node than a port's device.
    std::vector<std::string> objections() const;

    // Errors: those of choose_ports(), lab::Journal::open_ports() and PortSet::open(); a link that
    // did not come up.
    static Result<OwnPorts> open(const OwnPortsOptions& options);
};

// For a lab::SignalGuard of a command that opens ports.
void log_interrupted(int signal, const std::string& machine);

enum class OnSignal : std::uint8_t {
    kPutBack,   // a lab::SignalGuard ends the process and puts back
    kToCaller,  // the caller waits for signals
};

// A tester on the user's ports with a journal of its own. The members go in the reverse order: the
// tester's ports are closed first.
struct OpenTester {
    std::unique_ptr<lab::Journal> journal;  // null: these ports change nothing that stays
    std::unique_ptr<lab::SignalGuard> guard;
    std::unique_ptr<tester::Client> client;
};
// `there`: those of its ports whose interfaces were there before and will be after.
Result<OpenTester> open_tester(const tester::TesterOptions& wanted,
                               const std::vector<port::PortRequest>& there,
                               OnSignal on_signal = OnSignal::kPutBack);

// A tester of a run, which has a journal. The lab's own interfaces are not `there`: they go with
// their namespaces.
Result<std::unique_ptr<tester::Client>> open_tester(const tester::TesterOptions& wanted,
                                                    const std::vector<port::PortRequest>& there,
                                                    lab::Journal& journal);

}  // namespace pathproof::ports
