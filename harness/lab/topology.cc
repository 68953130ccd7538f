#include "harness/lab/topology.h"

#include "harness/agent/ethtool.h"
#include "harness/lab/undo.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

std::string in_namespace(const std::string& netns) {
    return netns.empty() ? "" : fmt::format(" in namespace '{}'", netns);
}

}  // namespace

Namespaces::~Namespaces() {
    // What cannot be deleted now is still in the journal, which tries again and tells.
    static_cast<void>(journal_.remove_netns(names_));
}

Status Namespaces::add(const std::vector<std::string>& names) {
    names_.insert(names_.end(), names.begin(), names.end());
    TRY(journal_.add_netns(names));
    for (const std::string& name : names) {
        // A kernel without IPv6 does not have these, and no stray frames either.
        const Status quiet = set_sysctls(name, {{"net.ipv6.conf.all.disable_ipv6", "1"},
                                                {"net.ipv6.conf.default.disable_ipv6", "1"}});
        if (!quiet && quiet.error().code != ErrorCode::kNotFound) {
            return quiet;
        }
    }
    return {};
}

Status run_ip(const std::string& netns, const std::string& commands) {
    std::vector<std::string> argv{"ip"};
    if (!netns.empty()) {
        argv.insert(argv.end(), {"-n", netns});
    }
    argv.insert(argv.end(), {"-batch", "-"});
    const auto ran = TRY(process::run_program(argv, {.input = commands}));
    if (ran.exit_status == 0) {
        return {};
    }
    if (ran.err.find("Unknown device type") != std::string::npos) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel lacks a device type of the lab (CONFIG_VETH, CONFIG_VXLAN or "
                    "CONFIG_BRIDGE): {}",
                    ran.err);
    }
    return fail(ErrorCode::kFailed, "'ip -batch'{} failed: {}", in_namespace(netns), ran.err);
}

Status run_ip(const std::vector<Script>& scripts) {
    for (const Script& script : scripts) {
        TRY(run_ip(script.netns, script.commands));
    }
    return {};
}

Status load_rules(const std::string& netns, const std::string& rules, frame::Family family) {
    const std::string program =
        family == frame::Family::kIpv4 ? "iptables-restore" : "ip6tables-restore";
    const auto ran = TRY(process::run_program({program}, {.netns = netns, .input = rules}));
    if (ran.exit_status == 0) {
        return {};
    }
    const bool lacking = ran.err.find("missing kernel module") != std::string::npos ||
                         ran.err.find("not supported") != std::string::npos;
    return fail(lacking ? ErrorCode::kKernelLacks : ErrorCode::kFailed, "{}{} failed{}: {}",
                program, in_namespace(netns),
                lacking ? " (the kernel lacks a netfilter feature that the lab's rules need)" : "",
                ran.err);
}

Status add_rules(const std::string& netns, const std::string& rules, frame::Family family) {
    const std::string program =
        family == frame::Family::kIpv4 ? "iptables-restore" : "ip6tables-restore";
    const auto ran = process::run_checked({program, "--noflush"}, {.netns = netns, .input = rules});
    return ran ? Status() : pass_on(ran.error());
}

Status load_nft(const std::string& netns, const std::string& text) {
    const auto nft = [&](std::vector<std::string> words, const std::string& input) {
        words.insert(words.begin(), "nft");
        return process::run_program(words, {.netns = netns, .input = input});
    };
    const auto ran = nft({"-f", "-"}, text);
    if (!ran) {
        return fail(ErrorCode::kKernelLacks, "{}; install nftables", ran.error().message);
    }
    if (ran->exit_status == 0) {
        return {};
    }
    // Which part it is that the kernel lacks is found by asking for each alone (-c: it changes nothing).
    for (const auto& [module, rule] :
         {std::pair{"nf_tables", ""},
          {"nft_chain_nat", "chain t { type nat hook prerouting priority 0; }"},
          {"nft_ct", "chain c { ct state new accept; }"},
          {"nft_numgen", "chain c { numgen random mod 2 0 accept; }"},
          {"nft_nat", "chain t { type nat hook prerouting priority 0; dnat to 192.0.2.1; }"},
          {"nft_masq", "chain t { type nat hook postrouting priority 0; masquerade; }"}}) {
        const auto tried =
            TRY(nft({"-c", "-f", "-"}, fmt::format("table ip probe {{\n{}\n}}\n", rule)));
        if (tried.exit_status != 0) {
            return fail(ErrorCode::kKernelLacks, "the kernel lacks the module {}: {}", module,
                        tried.err);
        }
    }
    return fail(ErrorCode::kFailed, "'nft -f -'{} failed: {}", in_namespace(netns), ran->err);
}

Status make_watchable(const std::string& netns) {
    const Status set = set_sysctls(netns, {{"net.netfilter.nf_conntrack_acct", "1"},
                                           {"net.netfilter.nf_conntrack_timestamp", "1"}});
    if (!set && set.error().code != ErrorCode::kNotFound) {
        return set;
    }
    return process::in_netns(netns, [&]() -> Status {
        const auto events = read_sysctl("net.netfilter.nf_conntrack_events", {});
        return events && *events == "0" ? write_sysctl("net.netfilter.nf_conntrack_events", "1", {})
                                        : Status();
    });
}

Status set_sysctls(const std::string& netns, const Sysctls& values) {
    return process::in_netns(netns, [&]() -> Status {
        for (const auto& [name, value] : values) {
            TRY(doing(write_sysctl(name, value, {}), "namespace {}", netns));
        }
        return {};
    });
}

Status switch_off(const std::string& netns, const std::string& device,
                  const std::vector<std::string>& words) {
    std::vector<std::pair<std::string, bool>> wanted;
    for (const std::string& word : words) {
        wanted.emplace_back(word, false);
    }
    TRY(process::in_netns(netns, [&] { return agent::change_features(device, wanted); }));
    return {};
}

Status take_off_super_frames(const std::string& netns, const std::string& device) {
    return switch_off(netns, device, {"tso", "gso", "tx-udp-segmentation"});
}

}  // namespace pathproof::lab
