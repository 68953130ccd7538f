#include "harness/bench/veth/drop_counter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/drops/bpf_code.h"
#include "harness/process/netns.h"

namespace pathproof::bench {
namespace {

using drops::Register;
using drops::Width;

std::vector<bpf_insn> count_and_drop(int map) {
    drops::BpfCode code;
    const auto done = code.label();
    constexpr std::int16_t kKey = -8;
    code.store(Width::k4, Register::frame, kKey, 0);
    code.load_map(Register::r1, map);
    code.arithmetic(BPF_MOV, Register::r2, Register::frame);
    code.arithmetic(BPF_ADD, Register::r2, kKey);
    code.call(BPF_FUNC_map_lookup_elem);
    code.jump_if(Register::r0, BPF_JEQ, 0, done);
    code.load(Width::k8, Register::r1, Register::r0, 0);
    code.arithmetic(BPF_ADD, Register::r1, 1);
    code.store(Width::k8, Register::r0, 0, Register::r1);
    code.place(done);
    code.move32(Register::r0, XDP_DROP);
    code.exit();
    return code.finish();
}

ErrorCode code_of(int error_number) {
    return error_number == EPERM || error_number == EACCES ? ErrorCode::kNotPermitted
                                                           : ErrorCode::kKernelLacks;
}

}  // namespace

Result<DropCounter> DropCounter::attach(const std::string& netns, const std::string& device) {
    libbpf_set_print(nullptr);
    Fd map(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "pathproof_drops", 4, 8, 1, nullptr));
    if (!map) {
        return fail(code_of(errno), "create a BPF map: {}", std::strerror(errno));
    }
    const std::vector<bpf_insn> code = count_and_drop(map.get());
    // The device holds it once it is attached.
    const Fd program(bpf_prog_load(BPF_PROG_TYPE_XDP, "pathproof_sink", "GPL", code.data(),
                                   code.size(), nullptr));
    if (!program) {
        return fail(code_of(errno), "load an XDP program: {}", std::strerror(errno));
    }
    DropCounter counter(std::move(map), netns);
    TRY(process::in_netns(netns, [&]() -> Status {
        const int index = static_cast<int>(if_nametoindex(device.c_str()));
        const int wrong =
            index == 0 ? -errno : bpf_xdp_attach(index, program.get(), XDP_FLAGS_DRV_MODE, nullptr);
        if (wrong != 0) {
            return fail(code_of(-wrong), "attach an XDP program to {}: {}", device,
                        std::strerror(-wrong));
        }
        counter.index_ = index;
        return {};
    }));
    return counter;
}

DropCounter::DropCounter(DropCounter&& other) noexcept
    : map_(std::move(other.map_)),
      index_(std::exchange(other.index_, 0)),
      netns_(std::move(other.netns_)) {}

DropCounter::~DropCounter() {
    if (index_ != 0) {
        // The device may be gone with its namespace: then so is the program.
        (void)process::in_netns(netns_, [&]() -> Status {
            bpf_xdp_detach(index_, XDP_FLAGS_DRV_MODE, nullptr);
            return {};
        });
    }
}

Result<std::uint64_t> DropCounter::frames() const {
    const int cpus = libbpf_num_possible_cpus();
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(map_.get(), &key, counts.data()) != 0) {
        return fail(ErrorCode::kFailed, "the counter of the XDP program cannot be read: {}",
                    std::strerror(errno));
    }
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace pathproof::bench
