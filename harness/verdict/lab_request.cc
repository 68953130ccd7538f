#include "harness/verdict/lab_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace pathproof::verdict {
namespace {

const LabOption* option_named(const std::string& name) {
    const auto found = std::ranges::find(lab_options(), name, &LabOption::name);
    return found == lab_options().end() ? nullptr : &*found;
}

// The colon before the first option; npos: there is none.
std::size_t options_begin(const std::string& text) {
    std::size_t begin = std::string::npos;
    for (const LabOption& option : lab_options()) {
        begin = std::min(begin, text.find(fmt::format(":{}=", option.name)));
    }
    return begin;
}

}  // namespace

const std::vector<LabOption>& lab_options() {
    static const std::vector<LabOption> kOptions{
        {"qemu", "nic", "the guest's NICs, separated by commas, or all (default: e1000e)",
         [](LabRequest& request) -> std::string& { return request.guest.nic; }},
        {"qemu", "kernel",
         "the guest's kernel: a bzImage, or Debian's linux-image-... (default: one is found)",
         [](LabRequest& request) -> std::string& { return request.guest.kernel; }},
        {"qemu", "modules", "the folder with the modules of --kernel",
         [](LabRequest& request) -> std::string& { return request.guest.modules; }},
        {"qemu", "module", "a .ko file in the place of the NIC's driver",
         [](LabRequest& request) -> std::string& { return request.guest.module; }},
        {"cni", "conflist",
         "the network: bridge, ptp, macvlan, ipvlan, flannel, calico, a conflist file, or one "
         "for each node: A,B (default: all that are built in)",
         [](LabRequest& request) -> std::string& { return request.cni.conflist; }},
        {"cni", "plugins", "the folder of the plug-ins (default: /usr/lib/cni)",
         [](LabRequest& request) -> std::string& { return request.cni.plugins; }}};
    return kOptions;
}

std::string to_text(const LabRequest& request) {
    LabRequest copy = request;
    std::string text = request.name;
    char before = ':';
    for (const LabOption& option : lab_options()) {
        if (const std::string& value = option.value(copy); !value.empty()) {
            text += fmt::format("{}{}={}", before, option.name, value);
            before = ',';
        }
    }
    return text;
}

// A value may have commas: a part that begins no option continues the value before it.
LabRequest parse_lab_request(const std::string& text) {
    const std::size_t begin = options_begin(text);
    LabRequest request{.name = text.substr(0, begin)};
    if (begin == std::string::npos) {
        return request;
    }
    std::string* last = nullptr;
    std::istringstream parts(text.substr(begin + 1));
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t equals = part.find('=');
        const LabOption* option =
            equals == std::string::npos ? nullptr : option_named(part.substr(0, equals));
        if (option != nullptr) {
            last = &option->value(request);
            *last = part.substr(equals + 1);
        } else {
            *last += "," + part;
        }
    }
    return request;
}

}  // namespace pathproof::verdict
