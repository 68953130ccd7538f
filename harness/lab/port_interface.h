// The XDP program that steers frames to sockets: an AF_XDP port attaches it to a kernel interface,
// and leaves it there if it is killed. Each function works in the calling thread's network
// namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::lab {

struct XdpProgram {
    std::uint32_t id = 0;         // never given twice while the machine runs
    std::uint32_t mode = 0;       // XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE or XDP_FLAGS_HW_MODE
    std::string name;             // "xsk_def_prog"
    std::uint64_t loaded_ns = 0;  // CLOCK_BOOTTIME
};

struct PortInterface {
    unsigned index = 0;
    std::string name;
    std::vector<XdpProgram> programs;
};

// kNotFound: there is no such interface.
Result<unsigned> interface_index(const std::string& name);
Result<PortInterface> read_port_interface(const std::string& name);

// Takes this program off, unless another one came in its place meanwhile; and what libxdp pinned
// for it.
Status take_off(const PortInterface& interface, const XdpProgram& program);

}  // namespace pathproof::lab
