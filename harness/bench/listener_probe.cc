#include "harness/bench/listener_probe.h"

#include <linux/netfilter/nfnetlink_compat.h>
#include <linux/netlink.h>

#include <sstream>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/process/netns.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 5ms;

// A file of /proc/net as the namespace sees it.
Result<std::string> read_in_netns(const std::string& netns, const std::string& name) {
    return process::in_netns(netns, [&] { return read_file("/proc/thread-self/net/" + name); });
}

}  // namespace

Listeners parse_netlink_table(std::string_view text) {
    Listeners all;
    std::istringstream lines{std::string(text)};
    std::string line;
    std::getline(lines, line);  // the columns' names
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string socket, groups;
        int protocol = 0;
        std::uint64_t port = 0, queued = 0, sending = 0, dumping = 0, users = 0, drops = 0;
        words >> socket >> protocol >> port >> groups >> queued >> sending >> dumping >> users >>
            drops;
        if (!words || protocol != NETLINK_NETFILTER) {
            continue;
        }
        const std::uint64_t joined = std::strtoull(groups.c_str(), nullptr, 16);
        if ((joined & NF_NETLINK_CONNTRACK_NEW) == 0) {
            continue;
        }
        ++all.sockets;
        all.queued_bytes += queued;
        all.drops += drops;
    }
    return all;
}

Result<Listeners> read_listeners(const std::string& netns) {
    const auto text = TRY(read_in_netns(netns, "netlink"));
    return parse_netlink_table(text);
}

Status wait_for_listener(const std::string& netns, std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (true) {
        const auto listeners = TRY(read_listeners(netns));
        if (listeners.sockets > 0) {
            return {};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return fail(ErrorCode::kUnavailable, "it does not listen to events after {} ms",
                        limit.count());
        }
        std::this_thread::sleep_for(kLookEvery);
    }
}

Result<Listeners> wait_until_drained(const std::string& netns, std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (true) {
        auto listeners = read_listeners(netns);
        if (!listeners || listeners->queued_bytes == 0 ||
            std::chrono::steady_clock::now() >= deadline) {
            return listeners;
        }
        std::this_thread::sleep_for(kLookEvery);
    }
}

Result<std::uint64_t> parse_packets_sent(std::string_view text, const std::string& device) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        const std::size_t name = line.find_first_not_of(' ');
        if (colon == std::string::npos || line.substr(name, colon - name) != device) {
            continue;
        }
        std::istringstream words(line.substr(colon + 1));
        // Receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets
        // errs drop ...
        std::uint64_t skipped = 0, packets = 0, errors = 0, dropped = 0;
        for (int i = 0; i < 9; ++i) {
            words >> skipped;
        }
        if (words >> packets >> errors >> dropped) {
            return packets + dropped;
        }
    }
    return fail(ErrorCode::kNotFound, "/proc/net/dev has no device '{}'", device);
}

Result<std::uint64_t> packets_sent(const std::string& netns, const std::string& device) {
    const auto text = read_in_netns(netns, "dev");
    return text ? parse_packets_sent(*text, device) : pass_on(text.error());
}

}  // namespace pathproof::bench
