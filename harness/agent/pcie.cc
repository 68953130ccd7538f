#include "harness/agent/pcie.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace pathproof::agent {
namespace {

namespace fs = std::filesystem;

// "8.0 GT/s PCIe" and "4"; "Unknown" and 255 where nothing is linked.
PcieSpeed read_speed(const fs::path& folder, const char* which) {
    PcieSpeed speed;
    std::ifstream(folder / fmt::format("{}_link_speed", which)) >> speed.gt_s;
    std::ifstream(folder / fmt::format("{}_link_width", which)) >> speed.lanes;
    constexpr unsigned kMostLanes = 32;
    return speed.lanes > kMostLanes || speed.lanes == 0 || speed.gt_s <= 0 ? PcieSpeed() : speed;
}

}  // namespace

double PcieSpeed::gbit_s() const {
    constexpr double kFirst128b130b = 8;  // before it 8b/10b
    return gt_s * lanes * (gt_s < kFirst128b130b ? 8.0 / 10 : 128.0 / 130);
}

std::string to_string(const PcieSpeed& speed) {
    return speed.lanes == 0 ? "not told" : fmt::format("{:g} GT/s x{}", speed.gt_s, speed.lanes);
}

std::optional<PcieLink> read_pcie_link(const std::string& folder) {
    std::error_code none;
    const fs::path device = fs::canonical(folder, none);
    const PcieLink link{.linked = read_speed(device, "current"),
                        .device = read_speed(device, "max"),
                        .slot = read_speed(device.parent_path(), "max")};
    return none || link.linked.lanes == 0 || link.device.lanes == 0 ? std::nullopt
                                                                    : std::optional(link);
}

int read_numa_node(const std::string& folder) {
    int node = -1;
    std::ifstream file(folder + "/numa_node");
    return file >> node ? node : -1;
}

}  // namespace pathproof::agent
