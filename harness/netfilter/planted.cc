#include "harness/netfilter/planted.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/socket.h"
#include "harness/process/program.h"

namespace pathproof::netfilter {
namespace {

constexpr std::uint16_t kServerPort = 9;
constexpr std::uint16_t kClientPort = 4000;
constexpr const char* kMoved[] = {"insert_failed", "drop", "invalid"};

// `ct state` has the namespace track its flows. What is invalid ends at the input, before conntrack
// sees it a second time.
constexpr const char* kTrackingRules =
    "table ip planted {\n"
    "chain out { type filter hook output priority 0; ct state new accept; }\n"
    "chain in { type filter hook prerouting priority -400; tcp flags & (fin | syn) == (fin | syn) "
    "drop; }\n"
    "}\n";

Result<Fd> open_raw(int type, int protocol) {
    Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, protocol));
    if (!socket) {
        return fail(ErrorCode::kFailed, "no socket: {}", std::strerror(errno));
    }
    return socket;
}

sockaddr_in at_loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

Status link_up() {
    const Fd socket = TRY(open_raw(SOCK_DGRAM, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0
               ? Status()
               : fail(ErrorCode::kFailed, "lo: {}", std::strerror(errno));
}

// An entry of another flow whose answers would look like those of the planted one.
Status occupy_reply() {
    const frame::IpAddress loopback = frame::IpAddress::v4(INADDR_LOOPBACK);
    Entry entry;
    entry.original = {{frame::IpAddress::v4(0xc0000201), 1},
                      {frame::IpAddress::v4(0xc0000202), 2},
                      IPPROTO_TCP,
                      {}};
    entry.reply = {{loopback, kServerPort}, {loopback, kClientPort}, IPPROTO_TCP, {}};
    entry.status = status::kConfirmed;
    auto socket = TRY(Socket::open({}));
    return create_entry(socket, entry);
}

// One SYN from the port whose answers are taken.
Status send_clashing() {
    const Fd socket = TRY(open_raw(SOCK_STREAM | SOCK_NONBLOCK, 0));
    const sockaddr_in from = at_loopback(kClientPort);
    const sockaddr_in to = at_loopback(kServerPort);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) {
        return fail(ErrorCode::kFailed, "bind: {}", std::strerror(errno));
    }
    // The SYN is on its way, whatever becomes of it: the socket is closed before it is sent again.
    (void)!connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    return {};
}

Status send_invalid() {
    const Fd socket = TRY(open_raw(SOCK_RAW, IPPROTO_TCP));
    tcphdr segment{};
    segment.th_sport = htons(kClientPort + 1);
    segment.th_dport = htons(kServerPort);
    segment.th_off = 5;
    segment.th_flags = TH_SYN | TH_FIN;
    const sockaddr_in to = at_loopback(kServerPort);
    return sendto(socket.get(), &segment, sizeof segment, 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) < 0
               ? Status(fail(ErrorCode::kFailed, "send: {}", std::strerror(errno)))
               : Status();
}

Result<CpuStats> rise_with(const Status& prepared, const std::function<Status()>& send) {
    TRY(prepared);
    const auto before = TRY(cpu_stats({}));
    TRY(send());
    const auto after = TRY(cpu_stats({}));
    return summed(delta(before, after));
}

Result<Planted> plant_here() {
    TRY(link_up());
    TRY(process::run_checked({"nft", "-f", "-"}, {.netns = "", .input = kTrackingRules}));
    Planted planted;
    planted.refused = TRY(rise_with(occupy_reply(), send_clashing));
    planted.invalid = TRY(rise_with({}, send_invalid));
    return planted;
}

}  // namespace

bool needs_no_module(std::string_view proc_modules) {
    const auto loaded = [&](const std::string& name) {
        return proc_modules.starts_with(name + " ") ||
               proc_modules.find("\n" + name + " ") != std::string_view::npos;
    };
    return !loaded("nf_conntrack") || (loaded("nf_tables") && loaded("nft_ct"));
}

Result<Planted> plant_packets() {
    if (!needs_no_module(read_file("/proc/modules").value_or(""))) {
        return fail(ErrorCode::kKernelLacks,
                    "it takes nf_tables and nft_ct, and no module is loaded for it");
    }
    Result<Planted> planted = fail(ErrorCode::kFailed, "no network namespace could be made");
    // A thread may leave its namespace alone; the new one ends with it.
    std::thread scratch([&] {
        if (unshare(CLONE_NEWNET) == 0) {
            planted = plant_here();
        }
    });
    scratch.join();
    return planted;
}

const Result<Planted>& planted_packets() {
    static const Result<Planted> planted = plant_packets();
    return planted;
}

bool counts_as_known(const Planted& planted) {
    return planted.refused.value("insert_failed") == 1 && planted.refused.value("drop") == 1 &&
           planted.refused.value("invalid") == 0 && planted.invalid.value("insert_failed") == 0 &&
           planted.invalid.value("drop") == 0 && planted.invalid.value("invalid") == 1;
}

void put_measured(std::vector<CounterMeaning>& meanings, const Result<Planted>& planted) {
    for (CounterMeaning& meaning : meanings) {
        if (std::ranges::find(kMoved, meaning.counter) == std::end(kMoved)) {
            continue;
        }
        if (!planted) {
            meaning.text.clear();
            meaning.unknown =
                fmt::format("raw value only: what it counts here was not measured ({})",
                            planted.error().message);
            continue;
        }
        // Keep the meaning read from the source only where this kernel was seen to count so.
        const std::string read = counts_as_known(*planted) ? meaning.text : "";
        meaning.text = fmt::format(
            "{}{}measured here: +{} with a packet refused for a clash, +{} with an invalid packet",
            read, read.empty() ? "" : "; ", planted->refused.value(meaning.counter),
            planted->invalid.value(meaning.counter));
    }
}

}  // namespace pathproof::netfilter
