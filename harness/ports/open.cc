#include "harness/ports/open.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "dataplane/port/numa.h"
#include "harness/process/log.h"
#include "harness/process/netns.h"
#include "harness/process/typed_command.h"

namespace pathproof::ports {
namespace {

constexpr std::chrono::seconds kLinkWait{5};

std::vector<std::string> interfaces_with_programs(const std::vector<port::PortRequest>& ports) {
    std::vector<std::string> interfaces;
    for (const port::PortRequest& port : ports) {
        if (!port.xdp_interface.empty()) {
            interfaces.push_back(port.xdp_interface);
        }
    }
    return interfaces;
}

// The journal of a command for its own ports; logs what it put back that killed runs had left. Null:
// these ports change nothing that the kernel does not take back itself when the process ends.
Result<std::unique_ptr<lab::Journal>> journal_for(const std::vector<std::string>& interfaces) {
    if (interfaces.empty()) {
        return std::unique_ptr<lab::Journal>();
    }
    auto journal = TRY(lab::Journal::open_unlocked(process::typed_command()));
    for (const std::string& sentence : journal->recovered()) {
        process::log(sentence);
    }
    return journal;
}

Status open_noted(lab::Journal* journal, const std::string& netns,
                  const std::vector<std::string>& interfaces, const std::function<Status()>& open) {
    return journal == nullptr ? open() : journal->open_ports(netns, interfaces, open);
}

}  // namespace

void log_interrupted(int signal, const std::string& machine) {
    process::log(fmt::format("interrupted by {}; {}", strsignal(signal), machine));
}

Result<OwnPorts> OwnPorts::open(const OwnPortsOptions& options) {
    const auto chosen = TRY(choose_ports(options.ports, options.netns, "one port is opened once"));
    const std::vector<std::string> interfaces = interfaces_with_programs(chosen);
    auto journal = TRY(journal_for(interfaces));
    std::optional<port::PortSet> set;
    TRY(open_noted(journal.get(), options.netns, interfaces, [&]() -> Status {
        TRY(process::enter_netns(options.netns, process::SysfsView::kRemount));
        auto opened = TRY(port::PortSet::open(
            {.ports = chosen, .worker_cpus = options.cpus, .link_wait = kLinkWait}));
        set.emplace(std::move(opened));
        return {};
    }));
    return OwnPorts{std::move(journal), std::move(*set), options.cpus};
}

std::vector<std::string> OwnPorts::objections() const {
    std::vector<std::string> found;
    for (const port::Port& port : set.ports) {
        if (std::string far = port::far_cpus(port.info(), port::place(cpus)); !far.empty()) {
            found.push_back(std::move(far));
        }
    }
    return found;
}

Result<OpenTester> open_tester(const tester::TesterOptions& wanted,
                               const std::vector<port::PortRequest>& there, OnSignal on_signal) {
    const std::vector<std::string> interfaces = interfaces_with_programs(there);
    OpenTester open;
    open.journal = TRY(journal_for(interfaces));
    if (on_signal == OnSignal::kPutBack) {
        open.guard = std::make_unique<lab::SignalGuard>(open.journal.get(), log_interrupted);
    }
    TRY(open_noted(open.journal.get(), wanted.netns, interfaces, [&]() -> Status {
        open.client = TRY(tester::Client::start(wanted));
        return {};
    }));
    return open;
}

Result<std::unique_ptr<tester::Client>> open_tester(const tester::TesterOptions& wanted,
                                                    const std::vector<port::PortRequest>& there,
                                                    lab::Journal& journal) {
    std::unique_ptr<tester::Client> client;
    TRY(open_noted(&journal, wanted.netns, interfaces_with_programs(there), [&]() -> Status {
        client = TRY(tester::Client::start(wanted));
        return {};
    }));
    return client;
}

}  // namespace pathproof::ports
