// The lab that a run asks for: `--lab` with the options that belong to one lab.
#pragma once

#include <string>
#include <vector>

namespace pathproof::verdict {

// Options of the lab qemu; empty: the lab chooses.
struct GuestOptions {
    std::string nic;      // names, or "all"
    std::string kernel;   // bzImage
    std::string modules;  // its folder
    std::string module;   // a file in the place of the NIC's driver
    bool operator==(const GuestOptions&) const = default;
};

// Options of the lab cni; empty: all networks that are built in, Debian's plug-ins.
struct CniOptions {
    std::string conflist;  // the name of a built-in network, a file, or one for each node: "A,B"
    std::string plugins;   // their folder
    bool operator==(const CniOptions&) const = default;
};

struct LabRequest {
    std::string name = {};  // "veth", "qemu", "cni", or a file
    GuestOptions guest = {};
    CniOptions cni = {};
    bool operator==(const LabRequest&) const = default;
};

// One option of one lab.
struct LabOption {
    const char* lab;
    const char* name;  // "nic": --nic
    const char* help;
    std::string& (*value)(LabRequest& request);
};
const std::vector<LabOption>& lab_options();

// The request as one word, "qemu:nic=e1000e,rtl8139,kernel=bzImage": reports keep it, repeat
// commands print it, and `--lab` takes it.
std::string to_text(const LabRequest& request);
// Reads that word. A word without known options is a name.
LabRequest parse_lab_request(const std::string& text);

}  // namespace pathproof::verdict
