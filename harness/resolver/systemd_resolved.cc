#include "harness/resolver/systemd_resolved.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "harness/process/children.h"
#include "harness/resolver/resolver.h"

namespace pathproof::resolver {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kServesWithin{10'000};

// The package's own path, and that of a system whose /lib is none of /usr.
Result<std::string> installed() {
    for (const char* path :
         {"/usr/lib/systemd/systemd-resolved", "/lib/systemd/systemd-resolved"}) {
        if (access(path, X_OK) == 0) {
            return std::string(path);
        }
    }
    return fail(ErrorCode::kNotFound,
                "systemd-resolved is not installed: install the package systemd-resolved (which "
                "makes it this machine's own resolver as well)");
}

// It gives up its rights, and would not end with its parent then (prctl(2), PR_SET_PDEATHSIG): the shell
// is the first process of the PID namespace, and all end with it. It makes its folder itself, and
// refuses one of somebody else. Without "~." it asks no server for names below "local". Its cache would
// answer AAAA with the CNAME or the NXDOMAIN of A wherever that came before the second query: by chance.
std::vector<std::string> command_of(const std::string& program, const std::string& server) {
    return {
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
        "sh",
        "-c",
        "unset DBUS_SYSTEM_BUS_ADDRESS NOTIFY_SOCKET && mount -t tmpfs none /run && mkdir "
        "/run/systemd && mount -t tmpfs none /etc/systemd && printf '%s' \"$1\" "
        ">/etc/systemd/resolved.conf && SYSTEMD_LOG_LEVEL=err \"$0\"; exit $?",
        program,
        fmt::format(
            "[Resolve]\nDNS={}\nFallbackDNS=\nDomains=~.\nCache=no\nLLMNR=no\nMulticastDNS=no\n",
            server)};
}

// Returns, on one line, the text that it wrote to standard error so far.
std::string words_of(int errors) {
    std::string text;
    char chunk[1024];
    pollfd ready{.fd = errors, .events = POLLIN, .revents = 0};
    for (ssize_t got = 1; got > 0 && text.size() < 4096 && poll(&ready, 1, 0) == 1;) {
        got = read(errors, chunk, sizeof chunk);
        text.append(chunk, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    while (text.ends_with('\n')) {
        text.pop_back();
    }
    std::ranges::replace(text, '\n', ' ');
    return text.empty() ? "it said nothing" : text;
}

}  // namespace

Result<SystemdResolved> SystemdResolved::start(const std::string& netns,
                                               const std::string& server) {
    const std::string program = TRY(installed());
    SystemdResolved resolved(TRY(
        process::Child::start(command_of(program, server), {.netns = netns, .keep_errors = true})));
    // It answers for names below "localhost" itself (RFC 6761, 6.3).
    const Lookup trial{
        .name = "pathproof.localhost.",
        .resolv_conf = fmt::format("nameserver {}\noptions timeout:1 attempts:1\n", kStub),
        .family = Family::kIpv4,
        .limit = milliseconds(3000)};
    const auto until = std::chrono::steady_clock::now() + kServesWithin;
    while (std::chrono::steady_clock::now() < until) {
        if (TRY(look_up(netns, Kind::kGlibc, {trial}, 1)).front().ok()) {
            return resolved;
        }
        if (process::wait_for_end(resolved.child_.pid(), milliseconds(50))) {
            return fail(ErrorCode::kUnavailable, "systemd-resolved ended: {}",
                        words_of(resolved.child_.errors()));
        }
    }
    return fail(ErrorCode::kUnavailable, "systemd-resolved did not come to serve within {} s: {}",
                kServesWithin.count() / 1000, words_of(resolved.child_.errors()));
}

SystemdResolved::~SystemdResolved() {
    if (child_.pid() > 0) {
        kill(child_.pid(), SIGKILL);
    }
}

}  // namespace pathproof::resolver
