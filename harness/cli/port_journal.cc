#include "harness/cli/port_journal.h"

#include <cstdio>

#include "harness/cli/generate/typed_command.h"
#include "harness/tester/port_choice.h"

namespace pathproof::cli {
namespace {

lab::PortKind kind_of(tester::KernelPort::Sockets sockets) {
    return sockets == tester::KernelPort::Sockets::kXdp ? lab::PortKind::kXdpSocket
                                                        : lab::PortKind::kPacketSocket;
}

}  // namespace

Result<std::unique_ptr<lab::Journal>> note_ports(const std::vector<tester::PortRequest>& ports,
                                                 const std::string& netns) {
    std::unique_ptr<lab::Journal> journal;
    for (const tester::PortRequest& port : ports) {
        const auto behind = tester::kernel_port(port.device);
        if (!behind) {
            continue;
        }
        if (!journal) {
            auto opened = lab::Journal::open_unlocked(typed_command());
            if (!opened) {
                return pass_on(opened.error());
            }
            journal = std::move(*opened);
            for (const std::string& sentence : journal->recovered()) {
                fmt::print(stderr, "pathproof: {}\n", sentence);
            }
        }
        const Status noted = journal->note_port(netns, behind->interface, kind_of(behind->sockets));
        if (!noted) {
            return pass_on(noted.error());
        }
    }
    return journal;
}

Status note_opened(const std::unique_ptr<lab::Journal>& journal) {
    return journal ? journal->note_loaded_programs() : Status();
}

}  // namespace pathproof::cli
