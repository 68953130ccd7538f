#include "harness/lab/port_interface.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "dataplane/base/file.h"

namespace pathproof::lab {
namespace {

ErrorCode code_of(int reason) {
    return reason == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed;
}

// Its name and time stay empty when it is gone already.
XdpProgram describe_program(std::uint32_t id, std::uint32_t mode) {
    XdpProgram program{.id = id, .mode = mode, .name = "", .loaded_ns = 0};
    const Fd handle(bpf_prog_get_fd_by_id(id));
    if (!handle) {
        return program;
    }
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(handle.get(), &info, &size) == 0) {
        program.name = info.name;
        program.loaded_ns = info.load_time;
    }
    return program;
}

Result<std::vector<XdpProgram>> programs_on(const std::string& name, unsigned index) {
    libbpf_set_print(nullptr);
    LIBBPF_OPTS(bpf_xdp_query_opts, found);
    if (const int outcome = bpf_xdp_query(static_cast<int>(index), 0, &found); outcome != 0) {
        return fail(code_of(-outcome), "ask which XDP program interface {} has: {}", name,
                    std::strerror(-outcome));
    }
    std::vector<XdpProgram> programs;
    for (const auto& [id, mode] : {std::pair{found.drv_prog_id, XDP_FLAGS_DRV_MODE},
                                   std::pair{found.skb_prog_id, XDP_FLAGS_SKB_MODE},
                                   std::pair{found.hw_prog_id, XDP_FLAGS_HW_MODE}}) {
        if (id != 0) {
            programs.push_back(describe_program(id, static_cast<std::uint32_t>(mode)));
        }
    }
    return programs;
}

// libxdp pins a dispatcher and its parts in this folder where a BPF file system is mounted.
void remove_pins(unsigned index, std::uint32_t program) {
    std::error_code ignored;
    std::filesystem::remove_all(fmt::format("/sys/fs/bpf/xdp/dispatch-{}-{}", index, program),
                                ignored);
}

}  // namespace

Result<unsigned> interface_index(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) {
        return fail(ErrorCode::kNotFound,
                    "there is no network interface '{}' here; 'ip link' lists them", name);
    }
    return index;
}

Result<PortInterface> read_port_interface(const std::string& name) {
    const unsigned index = TRY(interface_index(name));
    auto programs = TRY(programs_on(name, index));
    return PortInterface{.index = index, .name = name, .programs = std::move(programs)};
}

Status take_off(const PortInterface& interface, const XdpProgram& program) {
    const Fd expected(bpf_prog_get_fd_by_id(program.id));
    if (!expected) {
        return {};  // unloaded, so it is on no interface
    }
    LIBBPF_OPTS(bpf_xdp_attach_opts, only_this, .old_prog_fd = expected.get());
    const int outcome = bpf_xdp_detach(static_cast<int>(interface.index),
                                       program.mode | XDP_FLAGS_REPLACE, &only_this);
    if (outcome != 0 && outcome != -EEXIST) {  // EEXIST: another one stands there (dev_xdp_attach)
        return fail(code_of(-outcome), "take XDP program {} ({}) off {}: {}", program.id,
                    program.name, interface.name, std::strerror(-outcome));
    }
    remove_pins(interface.index, program.id);
    return {};
}

}  // namespace pathproof::lab
