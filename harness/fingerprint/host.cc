#include "harness/fingerprint/host.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string_view>

#include "dataplane/base/contains.h"
#include "dataplane/base/file.h"
#include "dataplane/base/plural.h"
#include "harness/fingerprint/nic.h"
#include "harness/fingerprint/serials.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"

namespace pathproof::fingerprint {
namespace {

using verdict::Fact;
using verdict::FactGroup;

constexpr const char* kEmptyFile = "(empty)";
constexpr const char* kCommandLine = "/proc/cmdline";

std::string trimmed(const std::string& text) {
    return boost::trim_copy_if(text, boost::is_any_of(" \t\r\n"));
}

struct Text {
    std::string content;
    int error = 0;  // errno; 0: it was read
};

Text read_text(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return {"", errno};
    }
    Text text;
    std::array<char, 65536> chunk;
    while (true) {
        const ssize_t got = read(file.get(), chunk.data(), chunk.size());
        if (got <= 0) {
            text.error = got < 0 ? errno : 0;
            return text;
        }
        text.content.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

std::string sysctl_path(std::string name) {
    std::ranges::replace(name, '.', '/');
    return "/proc/sys/" + name;
}

// The value behind "key : value" or "key: value" in files such as /proc/cpuinfo.
std::string value_after(const std::string& text, const std::string& key) {
    for (const std::string& line : process::lines_of(text)) {
        const std::size_t colon = line.find(':');
        if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key) {
            return trimmed(line.substr(colon + 1));
        }
    }
    return "";
}

Fact keyed_fact(const std::string& name, const Text& text, const std::string& path,
                const std::string& key) {
    const std::string source = path + " " + key;
    return fact_of(name, source, text.error, value_after(text.content, key));
}

std::string first_line(const std::string& text) {
    return trimmed(text.substr(0, text.find('\n')));
}

// The first line that a program prints about itself.
Fact program_fact(const std::string& name, const std::vector<std::string>& argv) {
    const std::string source = fmt::format("{}", fmt::join(argv, " "));
    const auto output = process::run_program(argv, {.timeout = std::chrono::seconds(5)});
    if (!output || output->exit_status != 0) {
        return fact_of(name, source, ENOENT, "");
    }
    return fact_of(name, source, 0, first_line(output->out.empty() ? output->err : output->out));
}

struct KernelConfig {
    std::map<std::string, std::string> values;
    std::string source;
    int error = 0;
};

// The lines NAME=VALUE of a file.
std::map<std::string, std::string> assignments_in(const std::string& text) {
    std::map<std::string, std::string> values;
    for (const std::string& line : process::lines_of(text)) {
        if (const std::size_t equals = line.find('='); equals != std::string::npos) {
            values.try_emplace(line.substr(0, equals), line.substr(equals + 1));
        }
    }
    return values;
}

KernelConfig read_config(const std::string& root, const std::string& release) {
    const std::string packed = "/proc/config.gz";
    if (access((root + packed).c_str(), R_OK) == 0) {
        const auto text = process::run_checked({"gzip", "-dc", root + packed});
        if (text) {
            return {assignments_in(*text), packed, 0};
        }
    }
    const std::string plain = "/boot/config-" + release;
    const Text text = read_text(root + plain);
    return {assignments_in(text.content), text.error == 0 ? plain : packed + ", " + plain,
            text.error};
}

constexpr const char* kBoardFolder = "/sys/class/dmi/id/";
using Files = std::vector<std::pair<const char*, const char*>>;  // name of the fact, path

void add_files(std::vector<Fact>& facts, const std::string& root, const std::string& folder,
               const Files& files) {
    for (const auto& [name, path] : files) {
        facts.push_back(file_fact(name, folder + path, root));
    }
}

// Parameters of the kernel that decide what a packet path costs or does. Others may name a host, a disk
// or a secret.
constexpr std::string_view kPacketPathParameters[] = {
    "amd_iommu",
    "amd_pstate",
    "clocksource",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "irqaffinity",
    "isolcpus",
    "l1tf",
    "maxcpus",
    "mds",
    "mitigations",
    "net.ifnames",
    "nohz",
    "nohz_full",
    "nopti",
    "nosmt",
    "nospectre_v1",
    "nospectre_v2",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "pci",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "retbleed",
    "rcupdate.rcu_normal",
    "skew_tick",
    "spec_store_bypass_disable",
    "spectre_v2",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "vfio-pci.ids",
    "vfio_iommu_type1.allow_unsafe_interrupts",
};

// The kernel's command line without what is of no matter to packets; --serials has all of it.
Fact command_line_fact(const std::string& root) {
    Fact fact = file_fact("command line", kCommandLine, root);
    if (fact.status != Fact::Status::kRead || fact.value == kEmptyFile) {
        return fact;
    }
    std::istringstream words(fact.value);
    std::string kept;
    std::size_t withheld = 0;
    for (std::string word; words >> word;) {
        if (contains(kPacketPathParameters, std::string_view(word).substr(0, word.find('=')))) {
            kept += (kept.empty() ? "" : " ") + word;
        } else {
            ++withheld;
        }
    }
    if (withheld != 0) {
        kept += fmt::format("{}({} withheld; --serials shows all)", kept.empty() ? "" : " ",
                            plural(withheld, "parameter"));
    }
    fact.value = kept;
    return fact;
}

FactGroup kernel_facts(const std::string& root) {
    FactGroup group{"Kernel", {}};
    add_files(
        group.facts, root, "",
        {{"release", "/proc/sys/kernel/osrelease"},
         {"version", "/proc/sys/kernel/version"},
         {"taint flags", "/proc/sys/kernel/tainted"},
         {"clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"}});
    group.facts.insert(group.facts.begin() + 2, command_line_fact(root));
    return group;
}

// An option that the configuration file leaves out is switched off: that is read, not guessed.
FactGroup config_facts(const std::string& root, const std::string& release) {
    FactGroup group{"Kernel configuration", {}};
    const KernelConfig config = read_config(root, release);
    for (const char* option :
         {"CONFIG_NF_CONNTRACK", "CONFIG_NF_CONNTRACK_EVENTS", "CONFIG_NF_CONNTRACK_TIMESTAMP",
          "CONFIG_NF_CONNTRACK_ZONES", "CONFIG_NF_CONNTRACK_PROCFS", "CONFIG_NF_CT_NETLINK",
          "CONFIG_NF_NAT", "CONFIG_NETFILTER_XT_MATCH_STATISTIC", "CONFIG_NETFILTER_XT_TARGET_CT",
          "CONFIG_VXLAN", "CONFIG_VETH", "CONFIG_RPS", "CONFIG_XDP_SOCKETS", "CONFIG_TUN",
          "CONFIG_HZ"}) {
        const auto found = config.values.find(option);
        group.facts.push_back(fact_of(option, config.source, config.error,
                                      found == config.values.end() ? "not set" : found->second));
    }
    return group;
}

FactGroup sysctl_facts(const std::string& root, const std::string& title,
                       const std::vector<std::string>& names) {
    FactGroup group{title, {}};
    for (const std::string& name : names) {
        group.facts.push_back(file_fact(name, sysctl_path(name), root));
    }
    return group;
}

FactGroup cpu_facts(const std::string& root) {
    FactGroup group{"CPU", {}};
    const std::string info = "/proc/cpuinfo";
    const Text text = read_text(root + info);
    group.facts.push_back(keyed_fact("model", text, info, "model name"));
    group.facts.push_back(keyed_fact("microcode", text, info, "microcode"));
    add_files(group.facts, root, "/sys/devices/system/cpu/",
              {{"online", "online"},
               {"isolated", "isolated"},
               {"frequency governor of CPU 0", "cpu0/cpufreq/scaling_governor"}});
    const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
    std::vector<std::string> names;
    std::error_code wrong;
    for (const auto& entry : std::filesystem::directory_iterator(root + folder, wrong)) {
        names.push_back(entry.path().filename());
    }
    if (wrong) {
        group.facts.push_back(fact_of("mitigations", folder, wrong.value(), ""));
        return group;
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
        Fact mitigation = file_fact("mitigation: " + name, folder + "/" + name, root);
        if (mitigation.value != "Not affected") {
            group.facts.push_back(std::move(mitigation));
        }
    }
    return group;
}

// Firmware tables (SMBIOS), without the numbers that name one machine.
FactGroup board_facts(const std::string& root) {
    FactGroup group{"Board", {}};
    add_files(group.facts, root, kBoardFolder,
              {{"system vendor", "sys_vendor"},
               {"system", "product_name"},
               {"board vendor", "board_vendor"},
               {"board", "board_name"},
               {"board version", "board_version"},
               {"BIOS vendor", "bios_vendor"},
               {"BIOS version", "bios_version"},
               {"BIOS date", "bios_date"}});
    return group;
}

// Makes a fact of a file of bytes. A file shorter than `least` is denied: the kernel gives less to
// those who may not see the rest.
Fact serial_fact(const std::string& name, const std::string& path, const std::string& root,
                 std::string (*read)(std::span<const std::uint8_t>), std::size_t least = 0) {
    const Text text = read_text(root + path);
    const bool cut = text.error == 0 && text.content.size() < least;
    return fact_of(
        name, path, cut ? EPERM : text.error,
        read({reinterpret_cast<const std::uint8_t*>(text.content.data()), text.content.size()}));
}

FactGroup memory_facts(const std::string& root) {
    FactGroup group{"Memory", {}};
    const std::string info = "/proc/meminfo";
    const Text text = read_text(root + info);
    for (const auto& [name, key] : {std::pair{"total", "MemTotal"},
                                    {"available", "MemAvailable"},
                                    {"hugepages, total", "HugePages_Total"},
                                    {"hugepages, free", "HugePages_Free"},
                                    {"hugepage size", "Hugepagesize"}}) {
        group.facts.push_back(keyed_fact(name, text, info, key));
    }
    return group;
}

std::string os_name(const std::string& text) {
    std::string value = assignments_in(text)["PRETTY_NAME"];
    std::erase(value, '"');
    return value;
}

FactGroup software_facts(const EnvironmentOptions& options) {
    FactGroup group{"Software", {}};
    group.facts.push_back(fact_of("pathproof", "built in", 0, options.pathproof_version));
    group.facts.push_back(fact_of("DPDK", "rte_version()", 0, options.dpdk_version));
    const Text release = read_text(options.root + "/etc/os-release");
    group.facts.push_back(release.error != 0
                              ? fact_of("operating system", "/etc/os-release", release.error, "")
                              : fact_of("operating system", "/etc/os-release PRETTY_NAME", 0,
                                        os_name(release.content)));
    group.facts.push_back(program_fact("iptables", {"iptables", "--version"}));
    group.facts.push_back(program_fact("iproute2", {"ip", "-V"}));
    group.facts.push_back(program_fact(
        "libnetfilter_conntrack",
        {"dpkg-query", "--show", "--showformat=${Version}", "libnetfilter-conntrack3"}));
    return group;
}

}  // namespace

Fact fact_of(const std::string& name, const std::string& source, int error, std::string value) {
    Fact fact{.name = name, .source = source};
    if (error == EPERM || error == EACCES) {
        fact.status = Fact::Status::kDenied;
    } else if (error == 0 && !value.empty()) {
        fact.status = Fact::Status::kRead;
        fact.value = std::move(value);
    }
    return fact;
}

Fact file_fact(const std::string& name, const std::string& path, const std::string& root) {
    const Text text = read_text(root + path);
    const std::string value = first_line(text.content);
    return fact_of(name, path, text.error, value.empty() ? kEmptyFile : value);
}

std::vector<Fact> read_serials(const std::vector<std::string>& devices, const std::string& root) {
    std::vector<Fact> facts;
    add_files(facts, root, kBoardFolder,
              {{"system serial number", "product_serial"},
               {"chassis serial number", "chassis_serial"},
               {"board serial number", "board_serial"}});
    facts.push_back(file_fact("kernel command line", kCommandLine, root));
    for (const std::string& device : devices) {
        constexpr std::size_t kToAnyone = 64;  // pci_read_config() without CAP_SYS_ADMIN
        const bool is_pci = device.find(':') != std::string::npos;
        const std::string folder =
            is_pci ? "/sys/bus/pci/devices/" + device : "/sys/class/net/" + device + "/device";
        facts.push_back(
            serial_fact(device + ": serial number (VPD)", folder + "/vpd", root, vpd_serial));
        facts.push_back(serial_fact(device + ": PCIe device serial number", folder + "/config",
                                    root, device_serial_number, kToAnyone + 1));
        if (!is_pci) {
            facts.push_back(read_module_serial(device));
            facts.back().name = device + ": " + facts.back().name;
        }
    }
    return facts;
}

std::vector<FactGroup> read_host(const std::string& root) {
    return {kernel_facts(root), board_facts(root), cpu_facts(root)};
}

std::vector<FactGroup> read_environment(const EnvironmentOptions& options) {
    const std::string& root = options.root;
    FactGroup kernel = kernel_facts(root);
    const std::string release = kernel.facts.front().value;
    return {
        std::move(kernel),
        software_facts(options),
        config_facts(root, release),
        sysctl_facts(root, "Connection tracking (sysctls of the controller's namespace)",
                     {"net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_buckets",
                      "net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_events",
                      "net.netfilter.nf_conntrack_timestamp", "net.netfilter.nf_conntrack_checksum",
                      "net.netfilter.nf_conntrack_udp_timeout",
                      "net.netfilter.nf_conntrack_udp_timeout_stream"}),
        sysctl_facts(
            root, "Network (sysctls of the controller's namespace)",
            {"net.core.gro_normal_batch", "net.core.netdev_max_backlog", "net.core.netdev_budget",
             "net.core.dev_weight", "net.core.rmem_default", "net.core.rmem_max",
             "net.core.rps_sock_flow_entries", "net.ipv4.ip_local_port_range"}),
        board_facts(root),
        cpu_facts(root),
        memory_facts(root)};
}

}  // namespace pathproof::fingerprint
