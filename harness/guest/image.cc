#include "harness/guest/image.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "dataplane/base/file.h"
#include "harness/agent/program_copy.h"
#include "harness/guest/cpio.h"
#include "harness/guest/init.h"
#include "harness/guest/modules.h"
#include "harness/guest/program_init.h"
#include "harness/process/program.h"

namespace pathproof::guest {
namespace {

// The agent's port, and what it stands on.
constexpr std::array kNeeded = {"virtio_pci", "virtio_console"};
// The port of a program's output, and its root folder.
constexpr std::array kForPrograms = {"virtio_pci", "virtio_console", "9pnet_virtio", "9p",
                                     "overlay"};
// Without these a part is not tested, and says so.
constexpr std::array kWanted = {"af_packet", "ipv6", "vxlan", "geneve", "ip_gre", "ipip"};
// Programs that the agent runs.
constexpr std::array kPrograms = {"ip"};

// Module that libcrc32c asks the kernel for by an alias (its softdep), where it is a module.
constexpr std::array kBeforeNat = {"crc32c_generic"};
// Modules of a NAT box: those that kube-proxy's rules need.
constexpr std::array kForNat = {"nf_conntrack", "nf_conntrack_netlink", "nf_nat",  "vxlan",
                                "xt_statistic", "xt_comment",           "xt_mark", "xt_nat",
                                "xt_tcpudp",    "xt_MASQUERADE"};
// Modules that the host's iptables speaks to: one list or the other.
constexpr std::array kNftTables = {"nf_tables", "nft_compat", "nft_chain_nat"};
constexpr std::array kLegacyTables = {"ip_tables", "iptable_nat"};
// Modules that iptables over nftables uses for matches and targets, by its version.
constexpr std::array kWantedForNat = {"nft_counter", "nft_ct", "nft_nat", "nft_masq"};
// Modules and programs that settings of the NAT path's scenarios take beyond that.
constexpr std::array kWantedForPath = {"xt_conntrack",    "xt_state",
                                       "xt_CT",           "xt_limit",
                                       "ipt_REJECT",      "ip6t_REJECT",
                                       "nf_reject_ipv4",  "nf_reject_ipv6",
                                       "nft_reject",      "nft_reject_ipv4",
                                       "nft_reject_ipv6", "nft_numgen",
                                       "nft_limit",       "iptable_filter",
                                       "iptable_raw",     "iptable_mangle",
                                       "ip6_tables",      "ip6table_nat",
                                       "ip6table_filter", "bridge",
                                       "br_netfilter",    "veth",
                                       "dummy",           "ip_vs",
                                       "ip_vs_rr",        "ipv6"};
constexpr std::array kWantedPrograms = {"conntrack", "nft", "ipvsadm", "ip6tables-save",
                                        "ip6tables-restore"};
constexpr std::array kNatPrograms = {"iptables-restore", "iptables-save", "sh", "cat", "mount",
                                     "umount",           "unshare"};
// Folders in which iptables finds its matches and targets.
constexpr std::array kExtensions = {"/usr/lib/x86_64-linux-gnu/xtables", "/usr/lib64/xtables",
                                    "/usr/lib/xtables"};

std::string find_program(const std::string& name) {
    for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
        if (access((folder + name).c_str(), X_OK) == 0) {
            return folder + name;
        }
    }
    return "";
}

Status add_file(const std::string& from, const std::string& path, CpioWriter& image) {
    const auto bytes = TRY(read_file(from));
    image.file(path, bytes, 0755);
    return {};
}

// A program or plug-in with the libraries that the loader finds for it.
Status add_object(const std::string& path, const std::string& as, const std::string& loader,
                  CpioWriter& image) {
    TRY(add_file(path, as, image));
    const auto listed = TRY(process::run_checked({loader, "--list", path}));
    std::istringstream words(listed);
    for (std::string word; words >> word;) {
        if (word.starts_with('/')) {
            TRY(add_file(word, word, image));
        }
    }
    return {};
}

Status add_program(const std::string& name, const std::string& loader, CpioWriter& image) {
    const std::string path = find_program(name);
    if (path.empty()) {
        return fail(ErrorCode::kNotFound, "a guest takes the program '{}', which is not here",
                    name);
    }
    return add_object(path, "/usr/sbin/" + name, loader, image);
}

// Adds the modules of the list that this kernel lacks.
template <typename Names>
void add_lacking(const ModuleIndex& index, const Names& names, std::vector<std::string>& lacking) {
    for (const char* name : names) {
        if (!index.files_of(name)) {
            lacking.emplace_back(name);
        }
    }
}

bool has_all(const ModuleIndex& index, const auto& names) {
    std::vector<std::string> lacking;
    add_lacking(index, names, lacking);
    return lacking.empty();
}

Status add_extensions(const std::string& loader, CpioWriter& image) {
    for (const char* folder : kExtensions) {
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
            const std::string name = entry.path().filename();
            if (name.ends_with(".so")) {
                TRY(add_file(entry.path(), entry.path(), image));
            }
        }
    }
    for (const char* program : kNatPrograms) {
        TRY(add_program(program, loader, image));
    }
    for (const char* program : kWantedPrograms) {
        TRY(find_program(program).empty() ? Status() : add_program(program, loader, image));
    }
    return {};
}

// Modules in the order in which they are loaded.
class ModuleList {
  public:
    ModuleList(const Kernel& kernel, ModuleIndex index, CpioWriter& image)
        : folder_(kernel.modules), index_(std::move(index)), image_(image) {}

    // `replacement`: the file in the place of its own.
    Status add(const std::string& name, const std::string& replacement = "") {
        const auto files = TRY(index_.files_of(name));
        for (const std::string& file : files) {
            const std::string own = module_name(file);
            const bool replaced = !replacement.empty() && &file == &files.back();
            const auto bytes = TRY(read_module(replaced ? replacement : folder_ + "/" + file));
            const std::string path = std::string(kModuleFolder) + "/" + own + ".ko";
            if (std::ranges::find(paths_, path) == paths_.end()) {
                image_.file(path, bytes);
                paths_.push_back(path);
            }
        }
        return {};
    }
    // Adds those of the modules that this kernel has.
    Status add_there(const auto& names) {
        for (const char* name : names) {
            if (index_.files_of(name)) {
                TRY(add(name));
            }
        }
        return {};
    }
    std::string text() const {
        std::string lines;
        for (const std::string& path : paths_) {
            lines += path + "\n";
        }
        return lines;
    }

  private:
    std::string folder_;
    ModuleIndex index_;
    CpioWriter& image_;
    std::vector<std::string> paths_;
};

// This program as /init, with its libraries, and the folders of a root. Gives the loader's path.
Result<std::string> add_init(CpioWriter& image) {
    auto objects = TRY(agent::objects_of_program());
    TRY(add_file(fmt::format("/proc/{}/exe", getpid()), kInit, image));
    for (const std::string& path : objects.paths) {
        TRY(add_file(path, path, image));
    }
    for (const char* folder : {"/proc", "/sys", "/dev", "/run", "/tmp"}) {
        image.folder(folder);
    }
    image.character_device("/dev/console", 5, 1);
    return std::move(objects.loader);
}

}  // namespace

Result<std::vector<std::string>> lacking_for_nat(const Kernel& kernel) {
    const auto index = TRY(ModuleIndex::read(kernel.modules));
    std::vector<std::string> lacking;
    add_lacking(index, kForNat, lacking);
    if (!has_all(index, kLegacyTables)) {
        add_lacking(index, kNftTables, lacking);
    }
    return lacking;
}

bool has_nat_programs() {
    return std::ranges::none_of(kNatPrograms,
                                [](const char* name) { return find_program(name).empty(); });
}

Result<std::string> make_program_image(const Kernel& kernel, const std::string& program) {
    CpioWriter image;
    TRY(add_init(image));
    ModuleList modules(kernel, TRY(ModuleIndex::read(kernel.modules)), image);
    for (const char* name : kForPrograms) {
        if (const Status added = modules.add(name); !added) {
            return fail(ErrorCode::kNotSupported,
                        "{} ({}) cannot run a program of this machine's: {}", kernel.release,
                        kernel.origin, added.error().message);
        }
    }
    image.file(kModuleList, modules.text());
    image.file(kProgramFile, program);
    return image.finish();
}

Result<Image> make_image(const Kernel& kernel, const ImagePlan& plan) {
    const auto index = TRY(ModuleIndex::read(kernel.modules));
    if (const auto driver = index.files_of(plan.module); !driver) {
        return fail(ErrorCode::kNotSupported,
                    "{} ({}) has no driver {}; a kernel of another flavour may (--kernel)",
                    kernel.release, kernel.origin, plan.module);
    }
    if (!plan.replacement.empty()) {
        if (module_name(plan.replacement) != module_name(plan.module + ".ko")) {
            return fail(ErrorCode::kBadInput, "--module {} is not the driver of this NIC, {}.ko",
                        plan.replacement, plan.module);
        }
        if (index.is_built_in(plan.module)) {
            return fail(ErrorCode::kBadInput, "--module {}: {} is built into {}", plan.replacement,
                        plan.module, kernel.release);
        }
    }
    Image made;
    CpioWriter image;
    const auto loader = TRY(add_init(image));
    for (const char* program : kPrograms) {
        TRY(add_program(program, loader, image));
    }
    ModuleList modules(kernel, index, image);
    for (const char* name : kNeeded) {
        TRY(modules.add(name));
    }
    add_lacking(index, kWanted, made.without);
    TRY(modules.add_there(kWanted));
    if (plan.work == Work::kNatBox) {
        const auto lacking = TRY(lacking_for_nat(kernel));
        if (!lacking.empty()) {
            return fail(ErrorCode::kNotSupported, "{} ({}) is no NAT box: it has no {}",
                        kernel.release, kernel.origin, fmt::join(lacking, ", "));
        }
        TRY(modules.add_there(kBeforeNat));
        TRY(modules.add_there(kForNat));
        TRY(modules.add_there(kNftTables));
        TRY(modules.add_there(kLegacyTables));
        TRY(modules.add_there(kWantedForNat));
        TRY(modules.add_there(kWantedForPath));
        TRY(add_extensions(loader, image));
    }
    TRY(modules.add(plan.module, plan.replacement));
    image.file(kModuleList, modules.text());
    made.archive = image.finish();
    return made;
}

}  // namespace pathproof::guest
