#include "harness/cli/port_journal.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "harness/tester/port_choice.h"

namespace pathproof::cli {
namespace {

std::string own_command_line() {
    std::ifstream file("/proc/self/cmdline");
    std::string words{std::istreambuf_iterator<char>(file), {}};
    while (!words.empty() && words.back() == '\0') {
        words.pop_back();
    }
    std::ranges::replace(words, '\0', ' ');
    return words;
}

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
            auto opened = lab::Journal::open_unlocked(own_command_line());
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
