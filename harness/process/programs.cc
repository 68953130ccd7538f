#include "harness/process/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace pathproof::process {
namespace {

constexpr std::array kPrograms = std::to_array<KnownProgram>({
    {"apt-cache", "apt", NeededBy::kDebian},
    {"bridge", "iproute2", NeededBy::kLabs},
    {"conntrack", "conntrack", NeededBy::kLabs},
    {"crictl", "cri-tools", NeededBy::kWhoAsks},
    {"depmod", "kmod", NeededBy::kLabs},
    {"dnsmasq", "dnsmasq-base", NeededBy::kLabs},
    {"docker", "docker.io", NeededBy::kWhoAsks},
    {"dpkg-query", "dpkg", NeededBy::kDebian},
    {"gzip", "gzip", NeededBy::kDebian},
    {"ip", "iproute2", NeededBy::kLabs},
    {"ip6tables", "iptables", NeededBy::kLabs},
    {"ip6tables-legacy-save", "iptables", NeededBy::kLabs},
    {"ip6tables-nft-save", "iptables", NeededBy::kLabs},
    {"ip6tables-restore", "iptables", NeededBy::kLabs},
    {"ip6tables-save", "iptables", NeededBy::kLabs},
    {"iptables", "iptables", NeededBy::kLabs},
    {"iptables-legacy-save", "iptables", NeededBy::kLabs},
    {"iptables-nft-save", "iptables", NeededBy::kLabs},
    {"iptables-restore", "iptables", NeededBy::kLabs},
    {"iptables-save", "iptables", NeededBy::kLabs},
    {"ipvsadm", "ipvsadm", NeededBy::kLabs},
    {"kubectl", "kubernetes-client", NeededBy::kWhoAsks},
    {"modinfo", "kmod", NeededBy::kLabs},
    {"modprobe", "kmod", NeededBy::kLabs},
    {"nerdctl", "nerdctl", NeededBy::kWhoAsks},
    {"nft", "nftables", NeededBy::kLabs},
    {"podman", "podman", NeededBy::kWhoAsks},
    {"qemu-system-x86_64", "qemu-system-x86", NeededBy::kQemuLab},
    {"sh", "dash", NeededBy::kDebian},
    {"ssh", "openssh-client", NeededBy::kWhoAsks},
    {"ssh-keygen", "openssh-client", NeededBy::kWhoAsks},
    {"tar", "tar", NeededBy::kDebian},
    {"tc", "iproute2", NeededBy::kLabs},
    {"timeout", "coreutils", NeededBy::kDebian},
    {"unshare", "util-linux", NeededBy::kDebian},
    {"xz", "xz-utils", NeededBy::kWhoAsks},
    {"zstd", "zstd", NeededBy::kWhoAsks},
});
static_assert(std::ranges::is_sorted(kPrograms, {}, &KnownProgram::name));

std::atomic<bool> known_only = false;

const KnownProgram* find(std::string_view name) {
    const auto at = std::ranges::lower_bound(kPrograms, name, {}, &KnownProgram::name);
    return at == kPrograms.end() || at->name != name ? nullptr : &*at;
}

}  // namespace

std::span<const KnownProgram> known_programs() {
    return kPrograms;
}

std::string package_hint(std::string_view program) {
    const KnownProgram* known = find(program);
    return known == nullptr ? "" : fmt::format(" (Debian's {})", known->package);
}

void start_known_programs_only() {
    known_only = true;
}

Status check_known(std::string_view program) {
    if (!known_only || program.find('/') != std::string_view::npos || find(program) != nullptr) {
        return {};
    }
    return fail(ErrorCode::kFailed,
                "run {}: it is not in the list of programs that pathproof starts "
                "(harness/process/programs.cc)",
                program);
}

}  // namespace pathproof::process
