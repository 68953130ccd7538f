#include "harness/lab/namespaces.h"

#include "harness/agent/ethtool.h"
#include "harness/lab/host_tools.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/undo.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

using Sysctls = std::vector<std::pair<const char*, const char*>>;

const Sysctls kWithoutIpv6{{"all.disable_ipv6", "1"}, {"default.disable_ipv6", "1"}};
const Sysctls kWithIpv6{{"all.accept_dad", "0"},
                        {"default.accept_dad", "0"},
                        {"default.router_solicitations", "0"},
                        {"default.disable_ipv6", "0"},
                        {"all.disable_ipv6", "0"}};

// A kernel without IPv6 has none of them, and no stray frames either.
Status begin_namespace(const Sysctls& sysctls, bool is_needed) {
    for (const auto& [name, value] : sysctls) {
        const Status set = write_sysctl(fmt::format("net.ipv6.conf.{}", name), value, {});
        if (!set && (is_needed || set.error().code != ErrorCode::kNotFound)) {
            return set;
        }
    }
    return {};
}

}  // namespace

Namespaces::~Namespaces() {
    // A namespace that cannot be deleted now is still in the journal, which tries again and tells.
    static_cast<void>(journal_.remove_netns(names_));
}

Status Namespaces::add(const std::vector<std::string>& names, Ipv6 ipv6) {
    names_.insert(names_.end(), names.begin(), names.end());
    TRY(journal_.add_netns(names));
    for (const std::string& name : names) {
        const bool on = ipv6 == Ipv6::kOn;
        TRY(doing(process::in_netns(
                      name, [&] { return begin_namespace(on ? kWithIpv6 : kWithoutIpv6, on); }),
                  "namespace {}", name));
    }
    return {};
}

Status realise(const Topology& topology, Namespaces& namespaces, Hosts& hosts) {
    TRY(namespaces.add(topology.namespaces()));
    TRY(make_links(topology.links));
    Settings settings;
    for (const TopologyHost& host : topology.hosts) {
        if (host.roles.empty()) {
            TRY(run_ip_in(host.netns, host.commands));
            continue;
        }
        TRY(hosts.add(host.roles, host.netns));
        settings.push_back(links_of(host));
    }
    return hosts.keep(both(std::move(settings), topology.settings));
}

Status realise_host(const TopologyHost& host, Hosts& hosts) {
    TRY(hosts.add(host.roles, host.netns));
    return hosts.keep({links_of(host)});
}

Status make_links(const std::vector<Link>& links) {
    std::string commands;
    for (const Link& link : links) {
        commands += link_command(link);
    }
    return run_ip(commands);
}

Status bring_up_unheard(const std::string& netns, const std::string& device) {
    // A kernel without IPv6 has no such mode, and no frames of it either.
    static_cast<void>(run_ip_in(netns, fmt::format("link set {} addrgenmode none\n", device)));
    return run_ip_in(netns, fmt::format("link set {} arp off up\n", device));
}

Status give_to_tester(const std::string& netns, const std::string& device,
                      const std::string& tester) {
    TRY(run_ip_in(netns, fmt::format("link set {} netns {}\n", device, tester)));
    return run_ip_in(tester, fmt::format("link set {} arp off up\n", device));
}

Status run_ip_in(const std::string& netns, const std::string& commands) {
    return process::in_netns(netns, [&] { return run_ip(commands + "\n"); });
}

Status make_switch(const std::string& netns, const std::vector<std::string>& ports) {
    std::string commands = "link add name lan type bridge forward_delay 0 mcast_snooping 0\n";
    for (const std::string& port : ports) {
        commands += fmt::format("link set {} master lan up\n", port);
    }
    return run_ip_in(netns, commands + "link set lan arp off up\n");
}

Status hand_over_frames(const std::string& netns, const std::string& device) {
    std::vector<std::pair<std::string, bool>> off;
    for (const char* word : kSuperFrameWords) {
        off.emplace_back(word, false);
    }
    return process::in_netns(netns, [&]() -> Status {
        TRY(agent::change_features(device, off));
        return {};
    });
}

}  // namespace pathproof::lab
