#include "harness/agent/counters.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "harness/agent/operations.h"
#include "harness/process/netlink.h"

namespace pathproof::agent {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> words;
    std::size_t begin = text.find_first_not_of(separators);
    while (begin != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(separators, end);
    }
    return words;
}

void add_pair(std::string_view names_line, std::string_view values_line, CounterSet& counters) {
    const std::vector<std::string_view> names = split(names_line, " \t\r");
    const std::vector<std::string_view> values = split(values_line, " \t\r");
    if (names.size() != values.size() || names.front() != values.front()) {
        return;
    }
    const std::string group(names.front().substr(0, names.front().size() - 1));
    for (std::size_t i = 1; i < names.size(); ++i) {
        if (const auto count = whole_number<std::uint64_t>(values[i])) {
            counters[group + "." + std::string(names[i])] = *count;
        }
    }
}

bool begins_group(std::string_view line) {
    const std::vector<std::string_view> words = split(line, " \t\r");
    return !words.empty() && words.front().size() > 1 && words.front().back() == ':';
}

std::string_view group_name(std::string_view line) {
    return line.substr(0, line.find(':'));
}

using LinkStats = rtnl_link_stats64;

// As the files below /sys/class/net/DEVICE/statistics are named.
constexpr std::array<std::pair<const char*, __u64 LinkStats::*>, 24> kLinkCounters = {{
    {"collisions", &LinkStats::collisions},
    {"multicast", &LinkStats::multicast},
    {"rx_bytes", &LinkStats::rx_bytes},
    {"rx_compressed", &LinkStats::rx_compressed},
    {"rx_crc_errors", &LinkStats::rx_crc_errors},
    {"rx_dropped", &LinkStats::rx_dropped},
    {"rx_errors", &LinkStats::rx_errors},
    {"rx_fifo_errors", &LinkStats::rx_fifo_errors},
    {"rx_frame_errors", &LinkStats::rx_frame_errors},
    {"rx_length_errors", &LinkStats::rx_length_errors},
    {"rx_missed_errors", &LinkStats::rx_missed_errors},
    {"rx_nohandler", &LinkStats::rx_nohandler},
    {"rx_over_errors", &LinkStats::rx_over_errors},
    {"rx_packets", &LinkStats::rx_packets},
    {"tx_aborted_errors", &LinkStats::tx_aborted_errors},
    {"tx_bytes", &LinkStats::tx_bytes},
    {"tx_carrier_errors", &LinkStats::tx_carrier_errors},
    {"tx_compressed", &LinkStats::tx_compressed},
    {"tx_dropped", &LinkStats::tx_dropped},
    {"tx_errors", &LinkStats::tx_errors},
    {"tx_fifo_errors", &LinkStats::tx_fifo_errors},
    {"tx_heartbeat_errors", &LinkStats::tx_heartbeat_errors},
    {"tx_packets", &LinkStats::tx_packets},
    {"tx_window_errors", &LinkStats::tx_window_errors},
}};

struct Link {
    std::string name;
    LinkStats stats{};
    std::optional<std::uint32_t> carrier_down;
};

int take_attribute(const nlattr* attribute, void* data) {
    Link& link = *static_cast<Link*>(data);
    const auto* payload = mnl_attr_get_payload(attribute);
    switch (mnl_attr_get_type(attribute)) {
        case IFLA_IFNAME: link.name = static_cast<const char*>(payload); break;
        case IFLA_STATS64:  // an older kernel has fewer, a newer one more
            std::memcpy(
                &link.stats, payload,
                std::min<std::size_t>(sizeof link.stats, mnl_attr_get_payload_len(attribute)));
            break;
        case IFLA_CARRIER_DOWN_COUNT: link.carrier_down = mnl_attr_get_u32(attribute); break;
        default: break;
    }
    return MNL_CB_OK;
}

// 0 or an errno: EINTR if a device came or went meanwhile.
int dump_links(process::NetlinkSocket& socket, CounterSet& counters) {
    char room[256];
    nlmsghdr* request = mnl_nlmsg_put_header(room);
    request->nlmsg_type = RTM_GETLINK;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(request, sizeof(ifinfomsg));
    return socket.exchange(*request, [&](const nlmsghdr& message) {
        Link link;
        mnl_attr_parse(&message, sizeof(ifinfomsg), take_attribute, &link);
        for (const auto& [name, member] : kLinkCounters) {
            counters[link.name + "." + name] = link.stats.*member;
        }
        if (link.carrier_down) {
            counters[link.name + ".carrier_down_count"] = *link.carrier_down;
        }
    });
}

// Adds the counters of all devices at once: read from files, each counter takes three system calls.
Status add_links(CounterSet& counters) {
    constexpr int kMostTries = 20;
    int problem = EINTR;
    for (int tried = 0; problem == EINTR && tried < kMostTries; ++tried) {
        // Anew: a device that is gone by now is left out, and so is the rest of the last answer.
        auto socket = TRY(process::NetlinkSocket::open(NETLINK_ROUTE));
        CounterSet links;
        problem = dump_links(socket, links);
        if (problem == 0) {
            counters.merge(links);
        }
    }
    return problem == 0
               ? Status()
               : Status(fail(ErrorCode::kFailed, "read the counters of network devices: {}",
                             std::strerror(problem)));
}

}  // namespace

CounterSet parse_paired_counters(std::string_view text) {
    CounterSet counters;
    std::string_view names;
    for (std::string_view line : split(text, "\n")) {
        if (!begins_group(line)) {
            names = {};
            continue;
        }
        if (names.empty() || group_name(names) != group_name(line)) {
            names = line;
            continue;
        }
        add_pair(names, line, counters);
        names = {};
    }
    return counters;
}

CounterSet parse_listed_counters(std::string_view text) {
    CounterSet counters;
    for (std::string_view line : split(text, "\n")) {
        const std::vector<std::string_view> words = split(line, " \t\r");
        const auto count = words.size() == 2 ? whole_number<std::uint64_t>(words[1]) : std::nullopt;
        if (count) {
            counters[std::string(words[0])] = *count;
        }
    }
    return counters;
}

CounterSet parse_socket_counts(std::string_view text) {
    CounterSet counters;
    for (std::string_view line : split(text, "\n")) {
        const std::vector<std::string_view> words = split(line, " \t\r");
        if (!begins_group(line)) {
            continue;
        }
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            if (const auto count = whole_number<std::uint64_t>(words[i + 1])) {
                counters[fmt::format("{}.{}", group_name(line), words[i])] = *count;
            }
        }
    }
    return counters;
}

CounterSet parse_neighbour_table(std::string_view text) {
    CounterSet counters;
    const std::vector<std::string_view> lines = split(text, "\n");
    for (std::size_t line = 1; line < lines.size(); ++line) {
        const std::vector<std::string_view> names = split(lines.front(), " \t\r");
        const std::vector<std::string_view> values = split(lines[line], " \t\r");
        for (std::size_t i = 0; i < names.size() && names.size() == values.size(); ++i) {
            if (const auto count = whole_number<std::uint64_t>(values[i], 16)) {
                std::uint64_t& sum = counters[std::string(names[i])];
                sum = names[i] == "entries" ? *count : sum + *count;
            }
        }
    }
    return counters;
}

Result<CounterSet> read_limits(const std::string& proc_net) {
    CounterSet counters = TRY(read_protocol_counters(proc_net));
    for (const char* file : {"sockstat", "sockstat6"}) {
        if (const auto text = read_file(proc_net + "/" + file)) {
            counters.merge(parse_socket_counts(*text));
        }
    }
    for (const char* table : {"arp", "ndisc"}) {
        if (const auto text = read_file(fmt::format("{}/stat/{}_cache", proc_net, table))) {
            for (const auto& [name, value] : parse_neighbour_table(*text)) {
                counters[fmt::format("{}.{}", table, name)] = value;
            }
        }
    }
    return counters;
}

Result<CounterSet> read_protocol_counters(const std::string& proc_net) {
    CounterSet counters;
    for (const char* file : {"snmp", "netstat"}) {
        if (const auto text = read_file(proc_net + "/" + file)) {
            counters.merge(parse_paired_counters(*text));
        }
    }
    if (const auto text = read_file(proc_net + "/snmp6")) {
        counters.merge(parse_listed_counters(*text));
    }
    if (counters.empty()) {
        return fail(ErrorCode::kKernelLacks, "no counters can be read below {}; is /proc mounted?",
                    proc_net);
    }
    return counters;
}

Result<CounterSet> read_counters() {
    CounterSet counters = TRY(read_protocol_counters());
    TRY(add_links(counters));
    return counters;
}

CounterSet delta(const CounterSet& before, const CounterSet& after) {
    CounterSet grown;
    for (const auto& [name, value] : after) {
        const auto earlier = before.find(name);
        const std::uint64_t base = earlier == before.end() ? 0 : earlier->second;
        if (value > base) {
            grown[name] = value - base;
        }
    }
    return grown;
}

std::uint64_t backlog_drops() {
    std::ifstream file("/proc/net/softnet_stat");
    std::uint64_t dropped = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::uint64_t processed = 0;
        std::uint64_t of_cpu = 0;
        words >> std::hex >> processed >> of_cpu;
        dropped += of_cpu;
    }
    return dropped;
}

Result<CounterSet> Client::counters() {
    return impl_->ask<CounterSet>("counters");
}

void add_counters(Operations& operations) {
    operations.add("counters", read_counters);
}

}  // namespace pathproof::agent
