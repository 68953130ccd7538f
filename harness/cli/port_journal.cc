#include "harness/cli/port_journal.h"

#include <cstdio>
#include <cstring>

#include "harness/cli/commands.h"
#include "harness/cli/generate/typed_command.h"
#include "harness/process/log.h"
#include "harness/tester/port_choice.h"

namespace pathproof::cli {

Result<std::unique_ptr<lab::Journal>> port_journal(const std::vector<tester::PortRequest>& ports) {
    if (tester::interfaces_with_programs(ports).empty()) {
        return std::unique_ptr<lab::Journal>();
    }
    auto journal = TRY(lab::Journal::open_unlocked(typed_command()));
    for (const std::string& sentence : journal->recovered()) {
        process::log(sentence);
    }
    return journal;
}

Status open_noted(const std::unique_ptr<lab::Journal>& journal,
                  const std::vector<tester::PortRequest>& ports, const std::string& netns,
                  const std::function<Status()>& open) {
    return journal ? journal->open_ports(netns, tester::interfaces_with_programs(ports), open)
                   : open();
}

void tell_interrupted(int signal, const std::string& machine) {
    fmt::print(stderr, "pathproof: interrupted by {}; {}\n", strsignal(signal), machine);
}

Result<OpenTester> open_tester(const tester::TesterOptions& wanted,
                               const std::vector<tester::PortRequest>& there) {
    OpenTester open;
    open.journal = TRY(port_journal(there));
    open.guard = std::make_unique<lab::SignalGuard>(open.journal.get(), tell_interrupted);
    TRY(open_noted(open.journal, there, wanted.netns, [&]() -> Status {
        open.client = TRY(tester::Client::start(wanted));
        return {};
    }));
    return open;
}

}  // namespace pathproof::cli
