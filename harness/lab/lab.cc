#include "harness/lab/lab.h"

#include <fmt/ranges.h>

#include <array>
#include <filesystem>

namespace pathproof::lab {
namespace {

class VethLab final : public Lab {
  public:
    const std::string& name() const override { return name_; }
    std::string lacks(Role role) const override {
        return role == Role::kPods ? "it takes pods that CNI plug-ins attach: --lab cni" : "";
    }
    Result<std::unique_ptr<Overlay>> overlay(Journal& journal) override {
        return Overlay::build(journal);
    }
    Result<std::unique_ptr<NatBox>> nat_box(Journal& journal) override {
        return NatBox::build(journal);
    }
    Result<std::unique_ptr<NatPath>> nat_path(Journal& journal, ClientAt /*client*/) override {
        return NatPath::build(journal);
    }

  private:
    std::string name_ = "veth";
};

struct Row {
    const char* name;
    const char* what;
    bool (*is_meant)(const std::string& name);
    Result<std::unique_ptr<Lab>> (*make)(const verdict::LabRequest& request);
};

constexpr const char* kQemu = "qemu";
constexpr const char* kCni = "cni";

constexpr std::array kRows{
    Row{"veth", "built in: namespaces, veth and vxlan devices of this kernel",
        [](const std::string& name) { return name == "veth"; },
        [](const verdict::LabRequest&) -> Result<std::unique_ptr<Lab>> {
            return std::make_unique<VethLab>();
        }},
    Row{kQemu, "kernel drivers on NICs that QEMU emulates: --nic",
        [](const std::string& name) { return name == kQemu; },
        [](const verdict::LabRequest& request) { return make_qemu_lab(request.guest); }},
    Row{kCni, "pods that real CNI plug-ins attach to two nodes: --conflist, --plugins",
        [](const std::string& name) { return name == kCni; },
        [](const verdict::LabRequest& request) { return make_cni_lab(request.cni); }},
    Row{"net.config",
        "the environment of the kernel's selftests: NETIF, LOCAL_V4, REMOTE_TYPE, ...",
        [](const std::string& name) {
            return std::filesystem::path(name).filename() == "net.config";
        },
        [](const verdict::LabRequest& request) { return make_net_config_lab(request.name); }},
    Row{"FILE.toml", "the tester's ports and the DUT that the file names",
        [](const std::string& name) { return name.ends_with(".toml"); },
        [](const verdict::LabRequest& request) { return make_file_lab(request.name); }},
};

}  // namespace

Result<std::unique_ptr<Lab>> open_lab(const verdict::LabRequest& request) {
    const auto& [name, guest, cni] = request;
    if (name != kCni && cni != verdict::CniOptions{}) {
        return fail(ErrorCode::kBadInput, "--conflist and --plugins are of the lab {}", kCni);
    }
    if (name != kQemu && guest != verdict::GuestOptions{}) {
        return fail(ErrorCode::kBadInput,
                    "--nic, --kernel, --modules and --module are of the lab {}", kQemu);
    }
    for (const Row& row : kRows) {
        if (row.is_meant(name)) {
            return row.make(request);
        }
    }
    return fail(ErrorCode::kBadInput, "unknown lab '{}'; there are: {}", name,
                fmt::join(labs(), ", "));
}

std::vector<std::string> labs() {
    std::vector<std::string> lines;
    for (const Row& row : kRows) {
        lines.push_back(fmt::format("{} ({})", row.name, row.what));
    }
    return lines;
}

}  // namespace pathproof::lab
