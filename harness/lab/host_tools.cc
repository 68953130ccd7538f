#include "harness/lab/host_tools.h"

#include <utility>
#include <vector>

#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

std::string restore_program(frame::Family family) {
    return family == frame::Family::kIpv4 ? "iptables-restore" : "ip6tables-restore";
}

Result<process::ProgramOutput> nft(std::vector<std::string> words, const std::string& input) {
    words.insert(words.begin(), "nft");
    return process::run_program(words, {.input = input});
}

// The part that the kernel lacks is found by asking for each alone (-c: it changes nothing).
Status find_lacking_module() {
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
    return {};
}

}  // namespace

Status run_ip(const std::string& commands) {
    const auto ran = TRY(process::run_program({"ip", "-batch", "-"}, {.input = commands}));
    if (ran.exit_status == 0) {
        return {};
    }
    if (ran.err.find("Unknown device type") != std::string::npos) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel lacks a device type of the lab (CONFIG_VETH, CONFIG_VXLAN or "
                    "CONFIG_BRIDGE): {}",
                    ran.err);
    }
    return fail(ErrorCode::kFailed, "'ip -batch' failed: {}", ran.err);
}

Status load_rules(const std::string& rules, frame::Family family) {
    const std::string program = restore_program(family);
    const auto ran = TRY(process::run_program({program}, {.input = rules}));
    if (ran.exit_status == 0) {
        return {};
    }
    const bool lacking = ran.err.find("missing kernel module") != std::string::npos ||
                         ran.err.find("not supported") != std::string::npos;
    return fail(lacking ? ErrorCode::kKernelLacks : ErrorCode::kFailed, "{} failed{}: {}", program,
                lacking ? " (the kernel lacks a netfilter feature that the lab's rules need)" : "",
                ran.err);
}

Status add_rules(const std::string& rules, frame::Family family) {
    const auto ran = process::run_checked({restore_program(family), "--noflush"}, {.input = rules});
    return ran ? Status() : pass_on(ran.error());
}

Status load_nft(const std::string& text) {
    const auto ran = nft({"-f", "-"}, text);
    if (!ran) {
        return fail(ErrorCode::kKernelLacks, "{}; install nftables", ran.error().message);
    }
    if (ran->exit_status == 0) {
        return {};
    }
    TRY(find_lacking_module());
    return fail(ErrorCode::kFailed, "'nft -f -' failed: {}", ran->err);
}

}  // namespace pathproof::lab
