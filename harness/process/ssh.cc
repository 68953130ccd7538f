#include "harness/process/ssh.h"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/process/foreign.h"

namespace pathproof::process {
namespace {

// Messages of ssh(1), and the cure of each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRemedies = {{
    {"IDENTIFICATION HAS CHANGED",
     "its host key is not the one that is known: find out why before you remove the old one with "
     "'ssh-keygen -R'"},
    {"Host key verification failed", "its host key is not known yet"},
    {"Permission denied (", "it refuses the user or the keys that ssh offers without a question"},
}};

}  // namespace

std::vector<std::string> ssh_command(const SshHost& host, const std::vector<std::string>& words) {
    std::vector<std::string> argv{"ssh", "-T", "-a", "-x"};
    if (!host.config.empty()) {
        argv.insert(argv.end(), {"-F", host.config});
    }
    for (const char* option : {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5",
                               "ServerAliveCountMax=3", "ClearAllForwardings=yes"}) {
        argv.insert(argv.end(), {"-o", option});
    }
    argv.insert(argv.end(), {"--", host.destination});
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
}

Failure ssh_failure(const SshHost& host, const std::string& said) {
    const auto known = std::ranges::find_if(kRemedies, [&](const auto& remedy) {
        return said.find(remedy.first) != std::string::npos;
    });
    return fail(ErrorCode::kNotPermitted,
                "no way in to {}: {}; 'ssh {}{} true' must work without a question. It says:\n{}",
                host.destination, known == kRemedies.end() ? "it cannot be reached" : known->second,
                host.config.empty() ? "" : fmt::format("-F {} ", host.config), host.destination,
                last_words(said));
}

}  // namespace pathproof::process
